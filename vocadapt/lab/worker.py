"""The process of a job: waits for its turn, runs the step, and writes down how it goes."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from vocadapt.errors import Cancelled, InputError
from vocadapt.lab import strict_json
from vocadapt.lab.jobs import METRICS, STATUS, Job, Status, list_jobs
from vocadapt.lab.locks import held, take
from vocadapt.lab.steps import run_step
from vocadapt.lab.workspace import Workspace

WRITE_EVERY, LOOK_EVERY, TRY_EVERY = 0.5, 0.1, 0.2  # seconds: progress, the cancel flag, the turn
PATIENCE = 3.0  # seconds from the flag to the signal
EXITS = {"done": 0, "failed": 1, "cancelled": 130}


class Reporter:
    """The Progress of a job: writes status and metrics at most twice a second, and raises Cancelled when asked to stop."""

    def __init__(self, job: Job) -> None:
        import psutil

        self.job = job
        self.status = Status(pid=os.getpid(), process_started=psutil.Process().create_time(), updated=time.time())
        self._written = self._looked = 0.0
        self.change()

    def __call__(self, fraction: float | None, message: str = "") -> None:
        """Write the progress down, if it is time to."""
        self.look()
        if time.monotonic() - self._written >= WRITE_EVERY:
            self.change(fraction=fraction, message=message)
            line = {"seconds": round(self.status.seconds, 2), "fraction": fraction, "message": message}
            with (self.job.folder / METRICS).open("a", encoding="utf-8") as file:
                file.write(strict_json.dumps(line) + "\n")

    def look(self) -> None:
        """Raise Cancelled where somebody asked the job to stop."""
        if time.monotonic() - self._looked >= LOOK_EVERY:
            self._looked = time.monotonic()
            if self.job.cancel_asked:
                _stop()

    def change(self, **changes: Any) -> None:
        """Write a changed status now."""
        self.status = Status(**{**asdict(self.status), **changes, "updated": time.time()})
        strict_json.write(self.job.folder / STATUS, asdict(self.status))
        self._written = time.monotonic()


def work(folder: Path) -> int:
    """Run the job of a folder to its end, whatever that is; gives the exit code: 0 done, 1 failed, 130 cancelled."""
    job = Job(folder)
    signal.signal(signal.SIGTERM, lambda number, frame: _stop())
    reporter = Reporter(job)
    threading.Thread(target=_insist, args=(job,), daemon=True).start()
    ending: dict[str, Any]
    try:
        with _turn(job, reporter):
            reporter.change(state="running", started=time.time())
            run_step(job.spec, job.target, reporter, bool(job.order["overwrite"]), folder)
        ending = {"state": "done", "fraction": 1.0}
    except (Cancelled, KeyboardInterrupt):
        ending = {"state": "cancelled"}
    except InputError as error:
        ending = {"state": "failed", "error": error.problem, "remedy": error.remedy}
    except BaseException as error:  # a bug: its trace goes to the log, its last line to the page
        traceback.print_exc()
        ending = {"state": "failed", "error": f"{type(error).__name__}: {error}", "remedy": "The log says where it happened."}
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reporter.change(**ending)
    return EXITS[ending["state"]]


@contextmanager
def _turn(job: Job, reporter: Reporter) -> Iterator[None]:
    """Wait for the lock of the workspace, first come, first served; hold it for the length of the block."""
    while (lock := _try(job)) is None:
        reporter.look()
        time.sleep(TRY_EVERY)
    try:
        yield
    finally:
        os.close(lock)


def _try(job: Job) -> int | None:
    """The lock, where it is free and no older job waits for it."""
    jobs = job.folder.parent
    older = (other for other in list_jobs(Workspace(jobs.parent)) if other.id < job.id)
    return None if any(held(other.folder) and other.status().state == "waiting" for other in older) else take(jobs)


def _insist(job: Job) -> None:
    """Interrupt a step that was asked to stop and has not looked for a while."""
    while not job.cancel_asked:
        time.sleep(TRY_EVERY)
    time.sleep(PATIENCE)
    os.kill(os.getpid(), signal.SIGTERM)


def _stop() -> NoReturn:
    """Raise Cancelled, once: a signal must not disturb the clearing up that follows."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Cancelled
