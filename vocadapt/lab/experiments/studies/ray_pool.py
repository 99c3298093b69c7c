"""Cells of a study as tasks of a Ray cluster.

Each task runs its cell in a child process of the Ray worker, which is kept for the next cell:
threads are fixed before the numerical libraries are imported, signals reach the cell's main thread,
and the child ends with the worker, so also with its node or with the study. Results, checkpoints,
progress and cancellation are files in the study's folder, which all nodes share. If a worker is
lost, Ray runs its task again on another, where the cell resumes from its checkpoint.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.cluster import ray_cluster
from vocadapt.lab.experiments.studies.pools import PATIENCE, LocalPool
from vocadapt.lab.jobs.job import FLAG, Job
from vocadapt.lab.jobs.status import read_status, write_status

MAX_PENDING = 600.0  # seconds without a running cell, after which waiting cells fail
CHECK_NODES_EVERY = 5.0  # seconds
CHECK_CELL_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class Demand:
    """The resources that one cell needs on a node. memory: in bytes."""

    threads: int = 1
    memory: float = 0.0
    gpus: float = 0.0

    def count_fitting(self, node: ray_cluster.Node) -> int:
        """Return how many cells a node can run at once."""
        counts = [node.cpus // self.threads]
        if self.gpus:
            counts.append(node.gpus // self.gpus)
        if self.memory:
            # A node with little memory still runs one cell, as a single machine does.
            counts.append(max(1, node.memory // self.memory))
        return int(min(counts))


@dataclass(eq=False)
class RayPool:
    """Cells on a Ray cluster.

    workers: cells that run at once; 0 for as many as fit on the nodes. retries: how often the task
    of a lost worker runs again. max_pending: seconds after which cells that no node runs fail.
    Raises InputError as `connect` and `check_nodes` do, and if no node can run a cell.
    """

    place: str
    root: Path
    demand: Demand
    workers: int = 0
    retries: int = 1
    max_pending: float = MAX_PENDING
    _running: dict[Any, Path] = field(default_factory=dict)
    _nodes: tuple[ray_cluster.Node, ...] = ()
    _last_check: float = 0.0
    _last_running: float = 0.0  # when a cell was last seen running

    def __post_init__(self) -> None:
        self._connected = ray_cluster.connect(self.place)
        try:
            self._nodes = ray_cluster.list_nodes()
            self._last_check = time.monotonic()
            if not self._count_fitting():
                raise InputError(
                    f"No node of the Ray cluster can run a cell: it takes {self.demand.threads}"
                    f" CPUs and {self.demand.gpus:g} GPUs.",
                    "Use fewer threads or GPUs, or add a larger node.",
                    code="no-node",
                )
            ray_cluster.check_nodes(self.root, self._nodes)
        except BaseException:
            self._disconnect()
            raise

    @property
    def capacity(self) -> int:
        """Number of cells that run at once; changes with the nodes of the cluster."""
        if self.workers:
            return self.workers
        if time.monotonic() - self._last_check > CHECK_NODES_EVERY:
            self._nodes = ray_cluster.list_nodes()
            self._last_check = time.monotonic()
        return max(1, self._count_fitting())

    def submit(self, folder: Path) -> None:
        """Submit the cell of a folder to the cluster."""
        import ray

        largest = max((node.memory for node in self._nodes), default=0.0)
        task = ray.remote(run_cell_in_child).options(
            num_cpus=self.demand.threads,
            num_gpus=self.demand.gpus,
            memory=int(min(self.demand.memory, largest)) or None,
            max_retries=self.retries,
            name=folder.name,
        )
        self._running[task.remote(str(folder), self.demand.threads)] = folder
        self._last_running = time.monotonic()

    def wait_for_ended(self, seconds: float) -> list[Path]:
        """Return the folders of cells that have ended; wait for one, at most `seconds`."""
        import ray

        if not self._running:
            return []
        try:
            ended, _ = ray.wait(list(self._running), num_returns=1, timeout=seconds)
        except (ConnectionError, ray.exceptions.RaySystemError) as error:
            raise InputError(
                f"The connection to the Ray cluster was lost ({error}).",
                "Run the study again: it continues where it stopped.",
            ) from None
        folders = []
        for task in ended:
            folder = self._running.pop(task)
            _record_loss(task, folder)
            folders.append(folder)
        return folders or self._give_up_pending()

    def close(self) -> None:
        """Stop all cells: ask them to end, then end their workers, and leave the cluster."""
        import ray

        for folder in self._running.values():
            with suppress(OSError):
                (folder / FLAG).touch()
        if self._running:
            tasks = list(self._running)
            # Without a connection, its loss is the error that the caller handles.
            with suppress(ConnectionError, ray.exceptions.RayError):
                _, left = ray.wait(tasks, num_returns=len(tasks), timeout=PATIENCE)
                for task in left:
                    ray.cancel(task, force=True)
        self._running.clear()
        self._disconnect()

    def _count_fitting(self) -> int:
        return sum(map(self.demand.count_fitting, self._nodes))

    def _disconnect(self) -> None:
        import ray

        if self._connected:
            ray.shutdown()

    def _give_up_pending(self) -> list[Path]:
        """Fail all cells if none has run for `max_pending` seconds; return their folders."""
        import ray

        if any(Job(folder).status().state == "running" for folder in self._running.values()):
            self._last_running = time.monotonic()
        waited = time.monotonic() - self._last_running
        if waited < self.max_pending:
            return []
        given_up = list(self._running.values())
        for task, folder in self._running.items():
            ray.cancel(task, force=True)
            _record_failure(
                folder,
                f"No node of the Ray cluster took this cell within {waited:.0f} s.",
                "Check the nodes with the command ray status, then run the study again.",
            )
        self._running.clear()
        return given_up


def run_cell_in_child(folder: str, threads: int) -> None:
    """Run the cell of a folder on a node, in the child process of this Ray worker."""
    pool = _open_own_pool(threads)
    pool.submit(Path(folder))
    while not pool.wait_for_ended(CHECK_CELL_EVERY):
        pass


@lru_cache(maxsize=1)
def _open_own_pool(threads: int) -> LocalPool:
    return LocalPool(1, threads)


def _record_loss(task: Any, folder: Path) -> None:
    """Record why a task failed, if the cell itself could not record it."""
    import ray

    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        _record_failure(folder, f"The Ray worker failed: {error.cause!r}", "See the logs of Ray.")
    except ray.exceptions.RayError:  # the worker was lost: the free lock of its job shows it
        return


def _record_failure(folder: Path, problem: str, remedy: str) -> None:
    status = replace(read_status(folder), state="failed", error=problem, remedy=remedy)
    write_status(folder, replace(status, rejected=True))
