"""Estimates of a job's duration, from the start-up and speed of the latest jobs of its step.

Without such jobs constants are used that were measured on one machine (2.5 GHz, two cores).
Estimates assume an idle machine; `estimate_slowdown` adapts them to the current load.
"""

import os
from functools import lru_cache
from itertools import islice
from pathlib import Path
from statistics import median

from vocadapt.cores import count_cores
from vocadapt.errors import InputError
from vocadapt.lab.jobs.queue import iterate_jobs
from vocadapt.lab.steps.step import STEPS
from vocadapt.lab.workspace.workspace import Workspace, open_artifact

MAX_JOBS = 5  # number of latest jobs and results that are considered
MIN_SECONDS = 5.0  # shorter results are ignored: they do not show the speed
IDLE_SLOWDOWN = 1.25  # slowdown below which a machine is considered idle
MAX_SLOWDOWN = 20.0


def estimate_slowdown(load: float | None = None, cores: int | None = None) -> float:
    """Estimate how many times longer work takes under the current load, rounded to halves; 1 if
    idle.

    A job uses all cores and shares them with the other processes.
    load: mean number of running or waiting processes over the last minute; measured by default.
    """
    if load is None:
        load = _read_load_average()
    cores = cores or count_cores()
    factor = min(1 + max(load, 0.0) / cores, MAX_SLOWDOWN)
    if factor < IDLE_SLOWDOWN:
        return 1.0
    return max(1.5, round(2 * factor) / 2)


def _read_load_average() -> float:
    """Return the load average of the last minute; 0 if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows; a container without /proc
        return 0.0


def estimate_job_seconds(workspace: Workspace, step: str, work: float) -> float:
    """Estimate the duration of a job: its start-up, then its work at the speed of earlier jobs.

    work: seconds of work, modeled from its size and constants of one machine.
    """
    start_up = measure_start_up(workspace, step)
    return start_up + work * measure_slowness(workspace, step, start_up)


def measure_start_up(workspace: Workspace, step: str) -> float:
    """Return the seconds in which the jobs of a step start up: import libraries and load a model.

    The median of the latest jobs; if there are none, the time that the step declares.
    """
    # Resumed jobs are ignored, since they also load a checkpoint.
    statuses = (job.status() for job in iterate_jobs(workspace) if job.spec.step == step)
    start_ups = (one.paced - one.started for one in statuses if one.paced and not one.past)
    latest = [max(0.0, seconds) for seconds in islice(start_ups, MAX_JOBS)]
    return median(latest or [STEPS[step].start_up])


def measure_slowness(workspace: Workspace, step: str, start_up: float = 0.0) -> float:
    """Return the ratio of actual to modeled seconds of the latest results of a step; 1 if there are
    none.

    start_up: seconds of the start-up, which are not work.
    """
    # The ratio of the sums, not the mean ratio: long results show the speed better than short ones.
    taken, expected, count = 0.0, 0.0, 0
    for artifact in workspace.artifacts(STEPS[step].makes):
        seconds = artifact.manifest.seconds - start_up
        if artifact.manifest.step != step or seconds < MIN_SECONDS or count == MAX_JOBS:
            continue
        modeled = _estimate_result(step, artifact.folder, artifact.stamp)
        if modeled > 0:
            taken, expected, count = taken + seconds, expected + modeled, count + 1
    if not count:
        return 1.0
    return taken / expected


@lru_cache(maxsize=64)
def _estimate_result(step: str, folder: Path, stamp: str) -> float:
    """Return the modeled seconds of work of a result; 0 if unknown."""
    try:
        return STEPS[step].estimate(open_artifact(folder))
    except (InputError, KeyError, TypeError, OSError):  # a damaged result, or a missing model
        return 0.0
