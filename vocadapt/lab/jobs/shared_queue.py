"""The order of the jobs of several visitors, whose jobs run one at a time.

Each visitor has folders of its own, and a job first waits in the queue of its workspace. The job
that is next there takes a ticket in `<visitors>/.queue/`, a file that its process keeps locked. The
next job is that of the visitor who has waited longest since the start of the last own job. So a
visitor with many jobs does not delay a visitor with one.

Example: ann has three jobs and ben has one. They run in the order ann, ben, ann, ann.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace.limits import find_visitor_folder, read_max_jobs
from vocadapt.lab.workspace.locks import acquire_lock, is_locked

FOLDER = ".queue"  # locked while a job runs
# Ending of the file whose modification time is the last start of a visitor's job.
SERVED = ".served"
TRY_EVERY = 0.5  # seconds
MIN_AGE = 60.0  # seconds; a younger ticket without a lock is perhaps just being made


@dataclass(frozen=True, order=True)
class Ticket:
    """A job that waits for its turn; tickets are sorted by their turns.

    served: time at which a job of the visitor started last, 0 if none did. taken: time since the
    machine started at which the ticket was taken; a clock that is set back does not change it. Both
    in nanoseconds.
    """

    served: int
    taken: int
    job: str
    file: Path


def check_number_of_jobs(root: Path) -> None:
    """Raise InputError if the visitor with the workspace at `root` may not start one more job."""
    most, visitor = read_max_jobs(), find_visitor_folder(root)
    if most is None or visitor is None:
        return
    alive = sum(map(is_locked, visitor.glob("*/jobs/*/")))
    if alive >= most:
        raise InputError(
            f"You have {alive} jobs that run or wait, and a visitor of this lab may have {most}.",
            "Wait until one has ended, or cancel one on the page Jobs.",
        )


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
    file.touch()
    ticket = acquire_lock(file, patience=MIN_AGE)
    turn = None
    try:
        # 2. Wait for the turn.
        while turn is None:
            look()
            if _find_next(queue) == file:
                turn = acquire_lock(queue)
            if turn is None:
                time.sleep(TRY_EVERY)
        (queue / f"{visitor.name}{SERVED}").touch()
        file.unlink(missing_ok=True)
        # 3. Run.
        yield
    finally:
        file.unlink(missing_ok=True)
        for descriptor in (ticket, turn):
            if descriptor is not None:
                os.close(descriptor)


def count_jobs_before(folder: Path) -> int:
    """Return how many jobs of visitors run before the job with this folder, which has a ticket; 0 if
    it has none.
    """
    visitor = find_visitor_folder(folder)
    if visitor is None:
        return 0
    queue = visitor.parent / FOLDER
    waiting = [ticket.job for ticket in _list_tickets(queue)]
    if folder.name not in waiting:
        return 0
    return waiting.index(folder.name) + is_locked(queue)


def _find_next(queue: Path) -> Path | None:
    """Return the ticket whose turn it is; None if there is none."""
    tickets = _list_tickets(queue)
    return tickets[0].file if tickets else None


def _list_tickets(queue: Path) -> list[Ticket]:
    """List the tickets of living processes in the order of their turns; remove those of dead ones."""
    tickets = []
    for file in queue.glob("*.*.*"):
        visitor, taken, job = file.name.split(".", 2)
        with suppress(FileNotFoundError):  # its turn has come
            if is_locked(file):
                served = _find_last_start(queue / f"{visitor}{SERVED}")
                tickets.append(Ticket(served, int(taken), job, file))
            elif time.time() - file.stat().st_mtime > MIN_AGE:
                file.unlink(missing_ok=True)
    return sorted(tickets)


def _find_last_start(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
