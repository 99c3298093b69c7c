"""Where the cells of a study run: opens the pool for the setting `on`."""

from pathlib import Path

from vocadapt.lab.cluster.ray_cluster import CLIENT
from vocadapt.lab.experiments.studies.pools import LocalPool, Pool
from vocadapt.lab.experiments.studies.study_file import Study
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.settings import check_known
from vocadapt.system.cores import count_cores

CELL_MEMORY = 2.0e9  # approximate bytes of a cell, in addition to the copies of its weights
WEIGHTS_COPIES = 6  # weights, gradients, two moments, and a checkpoint while it is written

PLACES = {  # value of `on` → what it means
    "local": "worker processes on this machine",
    "ray": "the Ray cluster that runs here or that RAY_ADDRESS names; without one, Ray is started",
    "slurm": "an array script for SLURM is written, and nothing is run",
}


def check_place(on: str) -> str:
    """Return `on` if it is a key of PLACES or ray://HOST:PORT; else raise InputError."""
    if not on.startswith(CLIENT):
        check_known(on, (*PLACES, f"{CLIENT}HOST:PORT"), "place to run a study", "on")
    return on


def open_pool(on: str, workers: int, gpus: float, study: Study, root: Path) -> Pool:
    """Open the pool that runs the cells of a study, whose folder is `root`.

    on: a key of PLACES, or ray://HOST:PORT. workers: cells that run at once, 0 for as many as fit.
    gpus: of each cell, on Ray. Raises InputError for any other value of `on`, and for a cluster
    that cannot be used.
    """
    if not check_place(on).startswith("ray"):
        return LocalPool(count_workers(workers, study), study.threads)
    from vocadapt.lab.experiments.studies.ray_pool import Demand, RayPool

    demand = Demand(study.threads, measure_cell_memory(study), gpus)
    return RayPool(on, root, demand, workers, study.retries)


def count_workers(workers: int, study: Study) -> int:
    """Return how many cells run at once: the requested number, or for 0 as many as fit on this
    machine, by its cores and free memory.
    """
    import psutil

    if workers:
        return workers
    by_memory = int(psutil.virtual_memory().available / measure_cell_memory(study))
    return max(1, min(by_memory, count_cores() // study.threads))


def measure_cell_memory(study: Study) -> float:
    """Estimate the bytes of memory that a cell with the largest model needs."""
    largest = max(measure_weights(variant.model) for variant in study.variants)
    return CELL_MEMORY + WEIGHTS_COPIES * largest
