"""The time that a running job still needs, from its progress and that of the latest job of its step."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.queue import iterate_jobs
from vocadapt.lab.jobs.status import Status, read_metrics

MIN_POINTS = 4  # points of a profile; with fewer, progress counts as steady
STEADY = ([0.0, 1.0], [0.0, 1.0])  # profile of a step whose progress keeps one pace


def estimate_seconds_left(job: Job, status: Status) -> float | None:
    """Estimate the remaining seconds of a running job; None if its progress shows too little.

    Progress may be uneven, because a step has phases. So the fraction done is replaced by the
    fraction of the time that the latest finished job of the step had taken when it reported the
    same progress.
    """
    profiles = (
        _read_profile(earlier.folder, ended.updated - ended.started)
        for earlier in iterate_jobs(job.workspace, job.spec.step)
        if (ended := earlier.status()).state == "done" and not ended.past
    )
    fractions, times = next(profiles, STEADY)
    return status.estimate_seconds_left(
        lambda fraction: float(np.interp(fraction, fractions, times))
    )


@lru_cache(maxsize=64)
def _read_profile(folder: Path, seconds: float) -> tuple[list[float], list[float]]:
    """Return fractions of the progress of a finished job, increasing, and the fraction of its time
    of work that had passed at each of them.

    seconds: its duration. A job with few reports counts as steady.

    Example, start-up 2 s, 12 s in all: reports (2 s, 0), (4 s, .5) -> fractions [0 .5 1], times
    [0 .2 1].
    """
    points = [(line["fraction"], line["seconds"]) for line in read_metrics(folder)]
    points = [(fraction, at) for fraction, at in points if fraction is not None]
    if len(points) < MIN_POINTS or seconds <= points[0][1]:
        return STEADY
    begin = points[0][1]
    fractions, times = [points[0][0]], [0.0]
    for fraction, at in points[1:]:
        # A fraction may go back where a phase begins again: the profile only increases.
        if fraction > fractions[-1] and fraction < 1:
            fractions.append(fraction)
            times.append(min(1.0, (at - begin) / (seconds - begin)))
    return [*fractions, 1.0], [*times, 1.0]
