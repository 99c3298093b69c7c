"""A worker of a study: a process that runs cells, one after the other, in a fixed number of
threads.

Libraries are imported once per worker. A cell runs as a job does, in its own folder, and does not
wait for other jobs: the study holds the lock of the workspace.
"""

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from vocadapt.lab.jobs.job import LOG, SPEC, Job
from vocadapt.lab.jobs.status import Status, read_status, write_status
from vocadapt.lab.jobs.worker import run_job
from vocadapt.lab.workspace.locks import acquire_lock
from vocadapt.system.processes import end_with_parent

PATIENCE = 30.0  # seconds to wait for a cell that another process still writes
THREADS = (  # variables that set the number of threads of the numerical libraries
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@contextmanager
def set_thread_variables(threads: int) -> Iterator[None]:
    """Set the number of threads of processes that are started in the block."""
    former = {name: os.environ.get(name) for name in THREADS}
    os.environ.update({name: str(threads) for name in THREADS})
    try:
        yield
    finally:
        for name, value in former.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def run_cells(connection: Connection) -> None:
    """Run the cells whose folders arrive on a connection, and send each back when it has ended.

    Ends with its parent process, even if that is killed.
    """
    end_with_parent()
    try:
        while folder := connection.recv():
            run_cell(Path(folder))
            connection.send(folder)
    except (EOFError, OSError, KeyboardInterrupt):  # the study has ended
        return


def run_cell(
    folder: Path,
    prepare: Callable[[], object] = lambda: None,
    patience: float = PATIENCE,
) -> int:
    """Run the job of a cell and return its exit code; its log is the file in its folder.

    Two processes never write one cell: the second one waits for the lock of its folder, for
    `patience` seconds, and does nothing if the first has finished it. prepare: called before the
    job runs, with the lock held.
    """
    lock = acquire_lock(folder, patience)
    if lock is None:
        return 1
    try:
        if (folder / SPEC).exists() and Job(folder).finished:
            return 0
        _record_loss(folder)
        prepare()
        with _log_to(folder / LOG):
            return run_job(folder, waits=False)
    finally:
        os.close(lock)


def _record_loss(folder: Path) -> None:
    """Record that an earlier process of a cell, whose lock is held now, was lost while it ran."""
    status = read_status(folder)
    if status.state == "running":
        now = time.time()
        past = (*status.past, ("interrupted", status.updated))
        write_status(folder, Status(queued=status.queued, updated=now, past=past))


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    with path.open("a", encoding="utf-8") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        kept = os.dup(1), os.dup(2)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        logging.basicConfig(
            force=True, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
        )
        logging.getLogger("vocadapt").setLevel(logging.INFO)
        logging.captureWarnings(True)
        warnings.simplefilter("default")
        try:
            yield
        finally:
            for number, descriptor in enumerate(kept, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)
