"""Estimates of a job's duration: its work, and the start-up time of the latest jobs of its step.

Estimates assume an idle machine; `scale_to_current_load` adapts them to the current load.
"""

import os
from itertools import islice
from statistics import median

from vocadapt.cores import count_cores
from vocadapt.lab.jobs.queue import each_job
from vocadapt.lab.workspace.workspace import Workspace

# Seconds until the first progress of a tiny job with the demo's model: processor time of two cores
# (2.5 GHz), once and a half, since libraries come from the disk. The longest part is importing
# torch and transformers.
START_UP = {"vectors": 3.0, "projection": 5.0, "contextual": 11.0, "finetune": 12.0}
LATEST = 5  # jobs whose start counts
QUIET = 1.25  # slowdown below which a machine counts as idle
MOST = 20.0  # highest slowdown assumed


def estimate_slowdown(load: float | None = None, cores: int | None = None) -> float:
    """Estimate how many times longer work takes under the current load, to the nearest half; 1 if
    idle.

    Our jobs use every core and share them with the other processes.
    load: mean number of running or waiting processes over the last minute; measured by default.
    """
    if load is None:
        load = _read_load_average()
    cores = cores or count_cores()
    factor = min(1 + max(load, 0.0) / cores, MOST)
    return max(1.5, round(2 * factor) / 2) if factor >= QUIET else 1.0


def scale_to_current_load(seconds: float) -> float:
    """Scale an estimate in seconds for an idle machine to the current load of this one."""
    return seconds * estimate_slowdown()


def _read_load_average() -> float:
    """Return the load average of the last minute; 0 if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows; a container without /proc
        return 0.0


def job_seconds(workspace: Workspace, step: str, work: float) -> float:
    """Estimate the duration of a job from that of its work, adding start, imports and model
    loading.
    """
    return start_up(workspace, step) + work


def start_up(workspace: Workspace, step: str) -> float:
    """Return the start-up time of a step's jobs: the median of the latest ones, or a measured
    default.
    """
    stands = (job.status() for job in each_job(workspace) if job.spec.step == step)
    begun = (status.paced - status.started for status in stands if status.paced and not status.past)
    found = [max(0.0, seconds) for seconds in islice(begun, LATEST)]
    return median(found) if found else START_UP.get(step, 0.0)
