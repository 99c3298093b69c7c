"""Pools run the cells of a study: one takes folders of cells and returns those that ended."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from vocadapt.lab.experiments.studies.cell_worker import run_cells, set_thread_variables

PATIENCE = 5.0  # seconds that a worker has to end after SIGTERM


class Pool(Protocol):
    """Runs cells: `submit` starts one, `wait_for_ended` returns those that have ended (finished or
    lost), and `close` stops all others.
    """

    @property
    def capacity(self) -> int:
        """Number of cells that run at once."""

    def submit(self, folder: Path) -> None:
        """Start the cell of a folder."""

    def wait_for_ended(self, seconds: float) -> Sequence[Path]:
        """Return the folders of cells that have ended; wait for one, at most `seconds`."""

    def close(self) -> None:
        """Stop all cells."""


@dataclass(eq=False)
class _Worker:
    """A process that runs cells. folder: that of its cell, None if it is idle."""

    process: BaseProcess
    connection: Connection
    folder: Path | None = None


@dataclass(eq=False)
class LocalPool:
    """Workers on this machine. A worker that dies is replaced: only its cell is lost."""

    capacity: int
    threads: int = 1
    _workers: list[_Worker] = field(default_factory=list)

    def submit(self, folder: Path) -> None:
        """Give a cell to an idle worker, or to a new one."""
        self._workers = [one for one in self._workers if one.folder or one.process.is_alive()]
        idle = next((worker for worker in self._workers if worker.folder is None), None)
        if idle is None:
            idle = self._start()
            self._workers.append(idle)
        idle.folder = folder
        with suppress(OSError):  # the worker died meanwhile: `wait_for_ended` notices it
            idle.connection.send(str(folder))

    def wait_for_ended(self, seconds: float) -> list[Path]:
        """Return the folders of cells that have ended; wait for one, at most `seconds`."""
        busy = [worker for worker in self._workers if worker.folder is not None]
        handles: list[Any] = [worker.connection for worker in busy]
        handles += [worker.process.sentinel for worker in busy]
        ready = wait(handles, seconds)
        ended = []
        for worker in busy:
            if worker.connection not in ready and worker.process.sentinel not in ready:
                continue
            assert worker.folder is not None
            ended.append(worker.folder)
            worker.folder = None
            try:
                # A process that it started may hold the connection of a dead worker open.
                if not worker.connection.poll():
                    raise EOFError
                worker.connection.recv()
            except (EOFError, OSError):
                self._workers.remove(worker)
                worker.process.join()
        return ended

    def close(self) -> None:
        """Stop all workers: SIGTERM, then SIGKILL."""
        for worker in self._workers:
            worker.connection.close()  # an idle worker ends by itself
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    def _start(self) -> _Worker:
        # Spawn, not fork: a forked process with threads may hang.
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=run_cells, args=(theirs,), daemon=False)
        with set_thread_variables(self.threads):
            process.start()
        theirs.close()
        return _Worker(process, ours)
