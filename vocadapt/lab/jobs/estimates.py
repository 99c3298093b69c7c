"""Estimates of a job's duration: start-up and speed of the latest jobs and results of its step;
constants of one machine (2.5 GHz, two cores) only where there are none.

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

LATEST = 5  # jobs and results that count
SHORTEST = 5.0  # seconds of work from which a result says something about the speed
QUIET = 1.25  # slowdown below which a machine counts as idle
MAX_SLOWDOWN = 20.0  # highest slowdown assumed


def estimate_slowdown(load: float | None = None, cores: int | None = None) -> float:
    """Estimate how many times longer work takes under the current load, to the nearest half; 1 if
    idle.

    Our jobs use every core and share them with the other processes.
    load: mean number of running or waiting processes over the last minute; measured by default.
    """
    if load is None:
        load = _read_load_average()
    cores = cores or count_cores()
    factor = min(1 + max(load, 0.0) / cores, MAX_SLOWDOWN)
    if factor < QUIET:
        return 1.0
    return max(1.5, round(2 * factor) / 2)


def _read_load_average() -> float:
    """Return the load average of the last minute; 0 if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows; a container without /proc
        return 0.0


def estimate_job_seconds(workspace: Workspace, step: str, work: float) -> float:
    """Estimate the duration of a job: its start-up, then its work at the speed of earlier ones.

    work: seconds as modeled from the size of the work and constants of one machine.
    """
    begin = measure_start_up(workspace, step)
    return begin + work * measure_slowness(workspace, step, begin)


def measure_start_up(workspace: Workspace, step: str) -> float:
    """Return the start-up time of a step's jobs: imports, and loading of a model.

    The median of the latest jobs; the measured time that the step declares if there is none.
    """
    # Resumed jobs are left out: they load a checkpoint, too.
    statuses = (job.status() for job in iterate_jobs(workspace) if job.spec.step == step)
    start_ups = (one.paced - one.started for one in statuses if one.paced and not one.past)
    latest = [max(0.0, seconds) for seconds in islice(start_ups, LATEST)]
    return median(latest or [STEPS[step].start_up])


def measure_slowness(workspace: Workspace, step: str, begin: float = 0.0) -> float:
    """Return how many times longer the latest results of a step took than their size suggests.

    1 if there is none to learn from. begin: start-up time that is not work.
    """
    # The sums, not the mean of the quotients: long results say more about the speed than short ones.
    taken, expected, count = 0.0, 0.0, 0
    for artifact in workspace.artifacts(STEPS[step].makes):
        seconds = artifact.manifest.seconds - begin
        if artifact.manifest.step != step or seconds < SHORTEST or count == LATEST:
            continue
        modeled = _estimate_result(step, artifact.folder, artifact.stamp)
        if modeled > 0:
            taken, expected, count = taken + seconds, expected + modeled, count + 1
    if not count:
        return 1.0
    return taken / expected


@lru_cache(maxsize=64)
def _estimate_result(step: str, folder: Path, stamp: str) -> float:
    """Return the modeled seconds of the work behind a result; 0 if that is unknown."""
    try:
        return STEPS[step].estimate(open_artifact(folder))
    except (InputError, KeyError, TypeError, OSError):  # a damaged result, or its model is gone
        return 0.0
