"""The order of the jobs of several visitors, whose jobs run one at a time.

Each visitor has folders of its own, and a job first waits in the queue of its workspace. The job
that is next there takes a ticket in `<visitors>/.queue/`, a file that its process keeps locked. The
next job is that of the visitor who has waited longest since the start of the last own job. So a
visitor with many jobs does not delay a visitor with one. The starts are numbered: times would be
out of order if the clock is set back.

Example: ann has three jobs and ben has one. They run in the order ann, ben, ann, ann.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.jobs.living import list_living_folders
from vocadapt.lab.workspace.limits import MAX_JOBS, find_visitor_folder, read_limit
from vocadapt.lab.workspace.locks import acquire_lock, is_locked
from vocadapt.system.files import read_whole, write_atomically

FOLDER = ".queue"  # locked while a job runs
# Ending of the file with the number of the last start of a visitor's job.
LAST_START = ".last-start"
TRY_EVERY = 0.5  # seconds
MIN_AGE = 60.0  # seconds; a younger ticket without a lock is perhaps just being made


@dataclass(frozen=True, order=True)
class Ticket:
    """A job that waits for its turn; tickets are sorted by their turns.

    last_start: number of the last start of a job of the visitor, 0 if there was none. taken: time
    at which the ticket was taken, in nanoseconds since the machine started.
    """

    last_start: int
    taken: int
    job: str
    file: Path


def check_number_of_jobs(root: Path) -> None:
    """Raise InputError if the visitor with the workspace at `root` may not start one more job."""
    if count_free_jobs(root) == 0:
        raise InputError(
            f"A visitor of this lab may have {read_limit(MAX_JOBS)} jobs that run or wait, and you"
            " have as many.",
            "Wait until one has ended, or cancel one on the page Jobs.",
            code="too-many-jobs",
        )


def count_free_jobs(root: Path) -> int | None:
    """Return how many more jobs the visitor with the workspace at `root` may start; None for any."""
    most = read_limit(MAX_JOBS)
    visitor = find_visitor_folder(root)
    if most is None or visitor is None:
        return None
    return max(0, most - sum(len(list_living_folders(jobs)) for jobs in visitor.glob("*/jobs/")))


@contextmanager
def hold_turn(folder: Path, look: Callable[[], None]) -> Iterator[None]:
    """Wait until it is the turn of the job with this folder, and hold the turn during the block.

    look: called while waiting; it may raise to stop waiting. Does not wait if the folder does not
    belong to a visitor.
    """
    visitor = find_visitor_folder(folder)
    if visitor is None:
        yield
        return
    # 1. Take a ticket.
    queue = visitor.parent / FOLDER
    queue.mkdir(exist_ok=True)
    file = queue / f"{visitor.name}.{time.monotonic_ns()}.{folder.name}"
    ticket = turn = None
    try:
        while ticket is None:  # another process may test the lock
            look()
            file.touch()  # an old ticket without a lock is removed
            ticket = acquire_lock(file, patience=TRY_EVERY)
        # 2. Wait for the turn.
        while turn is None:
            look()
            tickets = _list_tickets(queue)
            if tickets and tickets[0].file == file:
                turn = acquire_lock(queue)
            if turn is None:
                time.sleep(TRY_EVERY)
        starts = [_read_last_start(one) for one in queue.glob(f"*{LAST_START}")]
        own = queue / f"{visitor.name}{LAST_START}"
        with suppress(OSError):  # a full disk: the visitor may get the next turn again
            write_atomically(own, str(max(starts, default=0) + 1))
        file.unlink(missing_ok=True)
        # 3. Run.
        yield
    finally:
        file.unlink(missing_ok=True)
        for descriptor in (ticket, turn):
            if descriptor is not None:
                os.close(descriptor)


def count_jobs_before(folder: Path) -> int:
    """Return how many jobs of visitors run before the job with this folder; 0 without a ticket."""
    visitor = find_visitor_folder(folder)
    if visitor is None:
        return 0
    queue = visitor.parent / FOLDER
    waiting = [ticket.job for ticket in _list_tickets(queue)]
    if folder.name not in waiting:
        return 0
    return waiting.index(folder.name) + is_locked(queue)


def _list_tickets(queue: Path) -> list[Ticket]:
    """List the tickets of living processes in the order of their turns; remove those of dead ones."""
    tickets = []
    for file in queue.glob("*.*.*"):
        visitor, taken, job = file.name.split(".", 2)
        with suppress(FileNotFoundError):  # its turn has come
            if is_locked(file):
                last_start = _read_last_start(queue / f"{visitor}{LAST_START}")
                tickets.append(Ticket(last_start, int(taken), job, file))
            elif time.time() - file.stat().st_mtime > MIN_AGE:
                file.unlink(missing_ok=True)
    return sorted(tickets)


def _read_last_start(file: Path) -> int:
    """Return the number of the last start of a visitor's job; 0 if there was none."""
    try:
        return int(read_whole(file, 100))
    except (InputError, ValueError):  # there is none, or it is damaged
        return 0
