"""How long a job takes in all: what its work takes, and what comes before that, as it was with the latest jobs of its step."""

from statistics import median

from vocadapt.lab.jobs import list_jobs
from vocadapt.lab.workspace import Workspace

# Seconds until the first progress of a tiny job with the demo's model: processor time of two cores (2.5 GHz), once and a half,
# since libraries come from the disk. The longest part is importing torch and transformers.
START_UP = {"vectors": 3.0, "map": 5.0, "contextual": 11.0, "finetune": 12.0}
LATEST = 5  # jobs whose start counts


def job_seconds(workspace: Workspace, step: str, work: float) -> float:
    """About how long a job of a step takes whose work takes so many seconds: with starting, importing and reading the model."""
    return start_up(workspace, step) + work


def start_up(workspace: Workspace, step: str) -> float:
    """How long a job of a step takes to begin its work: the median of the latest ones in the workspace, else as measured once."""
    found: list[float] = []
    for job in list_jobs(workspace):  # the newest first
        status = job.status()
        if job.spec.step == step and status.paced and not status.past and len(found) < LATEST:
            found.append(max(0.0, status.paced - status.started))
    return median(found) if found else START_UP.get(step, 0.0)
