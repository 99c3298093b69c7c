"""Estimates of a job's duration, from the start-up and speed of the latest jobs of its step on this
machine, and of the time that a running job still needs.

Before the first job of a step, constants are used that were measured on one machine (2.5 GHz, two
cores). Estimates assume an idle machine; `load.estimate_slowdown` adapts them to the current load.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np

from vocadapt.errors import InputError
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.queue import find_job, iterate_jobs
from vocadapt.lab.jobs.status import Status, read_metrics
from vocadapt.lab.steps.step import STEPS
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact

MAX_JOBS = 5  # number of latest jobs of a step that are considered
MIN_SECONDS = 1.0  # jobs with less work are ignored: they do not show the speed
MIN_POINTS = 4  # points of a profile; with fewer, progress counts as steady
STEADY = ([0.0, 1.0], [0.0, 1.0])  # profile of a step whose progress keeps one pace


def estimate_job_seconds(workspace: Workspace, step: str, work: float) -> float:
    """Estimate the duration of a job: its start-up, then its work at the speed of earlier jobs.

    work: seconds of work, modeled from its size and constants of one machine.
    """
    start_up = measure_start_up(workspace, step)
    return start_up + work * measure_slowness(workspace, step)


def measure_start_up(workspace: Workspace, step: str) -> float:
    """Return the seconds in which the jobs of a step start up: import libraries and load a model.

    The median of the latest jobs; if there are none, the time that the step declares.
    """
    # Resumed jobs are ignored, since they also load a checkpoint.
    start_ups = (
        max(0.0, status.paced - status.started) / job.slowdown
        for job, status in _iterate_jobs_of(workspace, step)
        if status.paced and not status.past
    )
    return median(list(islice(start_ups, MAX_JOBS)) or [STEPS[step].start_up])


def measure_slowness(workspace: Workspace, step: str) -> float:
    """Return the ratio of actual to modeled seconds of work of the latest jobs of a step; 1 if there
    are none.

    The actual seconds are divided by the slowdown of the job.
    """
    # The ratio of the sums, not the mean ratio: long jobs show the speed better than short ones.
    taken, expected, count = 0.0, 0.0, 0
    for job, status in _iterate_jobs_of(workspace, step):
        if count == MAX_JOBS:
            break
        if status.state != "done" or status.past:
            continue
        seconds = status.updated - (status.paced or status.started)
        modeled = _find_work(job)
        if modeled > 0 and seconds >= MIN_SECONDS:
            taken += seconds / job.slowdown
            expected, count = expected + modeled, count + 1
    if not count:
        return 1.0
    return taken / expected


@dataclass(frozen=True)
class MeasuredSpeed:
    """Speed of this machine when it is idle, relative to the modeled speed, measured in earlier
    results.

    n_results: number of results that it was computed from. is_corrected: whether they were made
    while the machine was busy.
    """

    ratio: float
    n_results: int
    is_corrected: bool

    def describe(self, noun: str) -> str:
        """Return how the speed was found; noun: what a result is called."""
        if self.n_results == 1:
            found = f"scaled from 1 {noun} on this machine"
        elif self.is_corrected:
            found = f"scaled from the median of {self.n_results} {noun}s on this machine"
        else:
            found = f"scaled from the fastest of {self.n_results} {noun}s on this machine"
        if self.is_corrected:
            found += ", corrected for the load of the machine at that time"
        return found


def measure_speed(
    workspace: Workspace, results: Iterable[tuple[Artifact | None, float]]
) -> MeasuredSpeed | None:
    """Measure the speed of this machine when it is idle, relative to the modeled speed; None if no
    job of this workspace made one of the results.

    results: comparable results, newest first, each with its measured speed divided by its modeled
    speed, 0 if unknown. The latest MAX_JOBS of them are considered. Those without a job are
    ignored: they may come from another machine, such as those of the demo.

    1. Of the results whose jobs were started on an idle machine, the fastest counts: programs that
       were started during a job only make it slower, up to ten times for threads that wait for each
       other.
    2. If there are none, the median of the others counts, each multiplied by the slowdown when its
       job was started. It is less exact: that load may have ended during the job.

    Example: ratios 10 at slowdown 3, 20 and 15 when idle -> 20; without the last two -> 30.
    """
    idle, corrected = list[float](), list[float]()
    for artifact, ratio in results:
        slowdown = find_slowdown(workspace, artifact)
        if slowdown is None or ratio <= 0:
            continue
        if slowdown > 1:
            corrected.append(ratio * slowdown)
        else:
            idle.append(ratio)
        if len(idle) + len(corrected) == MAX_JOBS:
            break
    if idle:
        return MeasuredSpeed(max(idle), len(idle), False)
    if corrected:
        return MeasuredSpeed(median(corrected), len(corrected), True)
    return None


def find_slowdown(workspace: Workspace, artifact: Artifact | None) -> float | None:
    """Return the slowdown of the job that made an artifact.

    None if no job of this workspace made it, or a resumed one, which ran under two loads.
    """
    if artifact is None or not artifact.manifest.job:
        return None
    with suppress(InputError):
        job = find_job(workspace, artifact.manifest.job)
        if not job.status().past:
            return job.slowdown
    return None


def estimate_seconds_left(job: Job, status: Status) -> float | None:
    """Estimate the remaining seconds of a running job; None if its progress shows too little.

    Progress may be uneven, because a step has phases. So the fraction done is replaced by the
    fraction of the time that the latest finished job of the step had taken when it reported the
    same progress.
    """
    profiles = (
        _read_profile(earlier.folder, ended.updated - ended.started)
        for earlier, ended in _iterate_jobs_of(job.workspace, job.spec.step)
        if ended.state == "done" and not ended.past
    )
    fractions, times = next(profiles, STEADY)
    return status.estimate_seconds_left(
        lambda fraction: float(np.interp(fraction, fractions, times))
    )


def _iterate_jobs_of(workspace: Workspace, step: str) -> Iterator[tuple[Job, Status]]:
    """Yield the jobs of a step with their statuses, newest first."""
    return ((job, job.status()) for job in iterate_jobs(workspace, step))


def _find_work(job: Job) -> float:
    """Return the modeled seconds of work of a finished job; 0 if unknown."""
    if job.work:
        return job.work
    try:
        result = open_artifact(job.target)
        return _estimate_result(job.spec.step, job.target, result.stamp)
    except InputError:  # the result was deleted
        return 0.0


@lru_cache(maxsize=64)
def _estimate_result(step: str, folder: Path, stamp: str) -> float:
    """Return the modeled seconds of work of a result; 0 if unknown."""
    try:
        return STEPS[step].estimate(open_artifact(folder))
    except (InputError, KeyError, TypeError, OSError):  # a damaged result, or a missing model
        return 0.0


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
