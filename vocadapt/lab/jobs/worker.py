"""The process of a job: waits for its turn, runs the step, and records its status."""

import logging
import os
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from vocadapt.errors import Canceled, InputError
from vocadapt.extensions import check_extensions
from vocadapt.lab.jobs.job import LOG, Job, process_start_time
from vocadapt.lab.jobs.living import unmark_living
from vocadapt.lab.jobs.queue import iterate_jobs
from vocadapt.lab.jobs.shared_queue import hold_turn
from vocadapt.lab.jobs.status import MAX_MESSAGE_LENGTH, Metrics, read_status, write_status
from vocadapt.lab.jobs.uploads import remove_copied_uploads
from vocadapt.lab.jobs.watchdog import BLOCK_SECONDS, Watchdog
from vocadapt.lab.steps.run import CHECKPOINT, run_step
from vocadapt.lab.workspace.drafts import is_disk_full
from vocadapt.lab.workspace.locks import acquire_lock
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.progress import watch_blocks

# Seconds between writing the progress, checking the cancel flag, and trying to get the lock.
WRITE_EVERY, LOOK_EVERY, TRY_EVERY = 0.5, 0.1, 0.2
MAX_LOG_BYTES = 16_000_000
KEPT_LOG_BYTES = 8_000_000
PATIENCE = 3.0  # seconds between the cancel flag and the signal
EXITS = {"done": 0, "failed": 1, "canceled": 130, "interrupted": 130}
DONE = {"state": "done", "fraction": 1.0}
ENDED_FROM_OUTSIDE = (
    "The process was terminated from outside: by a shutdown, or by another user or program."
)

log = logging.getLogger(__name__)


class Reporter:
    """The Progress of a job: writes status and metrics at most twice a second; raises Canceled on
    request.

    If the disk is full, status updates are skipped: the job may not need any space. `terminated` is
    set by SIGTERM, because other code, such as an import, may catch the exception that the signal
    raises.
    """

    def __init__(self, job: Job, terminated: threading.Event) -> None:
        self.job, self.terminated, self.metrics = job, terminated, Metrics(job.folder, WRITE_EVERY)
        self.status = replace(
            read_status(job.folder),
            pid=os.getpid(),
            process_started=process_start_time(os.getpid()),
        )
        self._written = self._looked = 0.0
        self._tenths = -1
        self.change()

    def __call__(self, fraction: float | None, message: str = "") -> None:
        """Write the progress if it is due."""
        self.look()
        if time.monotonic() - self._written < WRITE_EVERY:
            return
        if len(message) > MAX_MESSAGE_LENGTH:
            message = f"{message[: MAX_MESSAGE_LENGTH - 1]}…"
        if fraction is not None:
            fraction = min(max(fraction, 0.0), 1.0)
            # The remaining time is estimated from the first fraction that this run reports.
            if not self.status.paced:
                self.change(first=fraction, paced=time.time())
        self.change(fraction=fraction, message=message)
        line = {"run": len(self.status.past) + 1, "seconds": round(self.status.seconds, 2)}
        with suppress(OSError):
            self.metrics.add({**line, "fraction": fraction, "message": message})
        self._log(fraction, message)

    def look(self) -> None:
        """Raise Canceled if cancellation was requested, by flag or by signal."""
        if time.monotonic() - self._looked >= LOOK_EVERY:
            self._looked = time.monotonic()
            if self.terminated.is_set() or self.job.cancel_requested:
                _raise_canceled()

    def change(self, **changes: Any) -> None:
        """Change the status and write it immediately."""
        self.status = replace(self.status, **{**changes, "updated": time.time()})
        self._written = time.monotonic()
        try:
            write_status(self.job.folder, self.status)
        except OSError as error:
            if not self.job.folder.is_dir():
                raise InputError(
                    f"{self.job.folder} is gone: it was renamed or removed while the job ran.",
                    "Resume the job if its folder is elsewhere now.",
                    code="removed-job",
                ) from error
            if not is_disk_full(error):
                raise

    def _log(self, fraction: float | None, message: str) -> None:
        """Log a line for every tenth of the work."""
        tenths = -1
        if fraction is not None:
            tenths = int(10 * fraction)
            message = f"{fraction:.0%} {message}"
        if tenths != self._tenths:
            self._tenths = tenths
            log.info("%s", message)


def run_job(folder: Path, waits: bool = True) -> int:
    """Run the job of a folder; return the exit code: 0 done, 1 failed, 130 stopped.

    waits: whether to wait for other jobs of the workspace; cells of a study do not, because the
    study holds the lock. A process may run several jobs, one after the other.
    """
    # 1. Make the job cancelable by flag and by signal, even if its step does not respond.
    job = Job(folder)
    ended = threading.Event()
    reporter = Reporter(job, install_signal_handler())
    threading.Thread(target=_watch_for_cancel, args=(job, ended), daemon=True).start()
    past = len(reporter.status.past)
    log.info("%s: %s", job.id, f"run {past + 1}" if past else "waiting")

    # 2. Run the step and record the final status, which a late signal must not interrupt.
    ending = _run_job(job, reporter, waits)
    ended.set()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reporter.change(**ending)
    unmark_living(folder)
    log.info(
        "%s after %.1f s %s", ending["state"], reporter.status.seconds, ending.get("error", "")
    )
    return EXITS[ending["state"]]


def install_signal_handler() -> threading.Event:
    """Make SIGTERM raise Canceled, once; return the event that it sets."""
    terminated = threading.Event()

    def handle_signal(number: int, frame: FrameType | None) -> NoReturn:
        terminated.set()
        _raise_canceled()

    signal.signal(signal.SIGTERM, handle_signal)
    return terminated


def _run_job(job: Job, reporter: Reporter, waits: bool) -> dict[str, Any]:
    """Wait for the job's turn, run its step, and return the final status."""
    try:
        check_extensions()
        with _wait_for_turn(job, reporter) if waits else nullcontext():
            made = _make_artifact(job, reporter)
        remove_copied_uploads(job.spec, job.workspace)
        shutil.rmtree(job.folder / CHECKPOINT, ignore_errors=True)
        return {**DONE, "outcome": job.spec.declaration.outcome(made.manifest.numbers)}
    except (Canceled, KeyboardInterrupt):
        if job.finished:  # stopped too late
            return DONE
        if job.cancel_requested:
            return {"state": "canceled"}
        return {"state": "interrupted", "error": ENDED_FROM_OUTSIDE}
    except InputError as error:
        return {
            "state": "failed",
            "error": error.problem,
            "remedy": error.remedy,
            "rejected": not _is_system_error(error),
        }
    except BaseException as error:  # a bug: traceback to the log, last line to the status
        traceback.print_exc()
        return {
            "state": "failed",
            "error": f"{type(error).__name__}: {error}",
            "remedy": "See the traceback in the log.",
        }


def _make_artifact(job: Job, reporter: Reporter) -> Artifact:
    """Run the step of a job whose turn has come."""
    if job.cancel_requested:  # a short step may end before it checks the flag
        _raise_canceled()
    reporter.change(state="running", started=time.time())
    log.info("running: %s", job.command or job.spec.step)
    _check_promised_inputs(job)
    threads = job.threads
    if threads:  # bit-reproducible results need the same number
        import torch

        torch.set_num_threads(threads)
    watchdog = Watchdog(job.folder, BLOCK_SECONDS)  # kills this process if tokenizing hangs
    watch_blocks(watchdog)
    try:
        return run_step(
            job.spec,
            job.target,
            reporter,
            job.overwrite,
            job.folder,
            threads=threads,
            report_guard=lambda guard: log.info("before the start: %s", guard.sentence),
            load=job.load,
        )
    finally:
        watch_blocks(None)
        watchdog.close()


def _check_promised_inputs(job: Job) -> None:
    """Raise InputError if an input does not exist because the job that makes it is not done."""
    for path in (path for paths in job.spec.inputs.values() for path in paths):
        if not os.path.isabs(path) or os.path.exists(path):  # a hub name, or there already
            continue
        makers = (other for other in iterate_jobs(job.workspace) if str(other.target) == path)
        maker = next(makers, None)
        if maker is not None:
            raise InputError(
                f"{maker.target.name} is missing: the job that makes it"
                f" ({maker.spec.declaration.about}) is {maker.status().state}.",
                f"Resume the job that makes {maker.target.name}, then this one.",
            )


def _is_system_error(error: InputError) -> bool:
    """Return whether an error was caused by the system, such as a full disk, and not by the input."""
    cause = error.__cause__
    if not isinstance(cause, OSError):
        return False
    # The error of a damaged .gz file is an OSError, too, but without a number.
    return cause.errno is not None or is_disk_full(cause)


@contextmanager
def _wait_for_turn(job: Job, reporter: Reporter) -> Iterator[None]:
    """Wait for the workspace's job lock, in the order of the queue, then for the turn among other
    visitors; hold both during the block.
    """
    while job.waits_for() or (lock := acquire_lock(job.folder.parent)) is None:
        reporter.look()
        time.sleep(TRY_EVERY)
    try:
        with hold_turn(job.folder, reporter.look):
            yield
    finally:
        os.close(lock)


def _watch_for_cancel(job: Job, ended: threading.Event) -> None:
    """Truncate the log while the job runs; interrupt it if it does not respond to cancellation."""
    while not job.cancel_requested:
        with suppress(OSError):  # such as a full disk: the log is not truncated
            truncate_log(job.folder / LOG)
        if ended.wait(TRY_EVERY):
            return
    if not ended.wait(PATIENCE):
        os.kill(os.getpid(), signal.SIGTERM)


def truncate_log(log: Path, longest: int = MAX_LOG_BYTES, kept: int = KEPT_LOG_BYTES) -> None:
    """Remove the beginning of a log longer than `longest` bytes; keep about `kept` bytes of whole
    lines.

    A first line notes the removal. The file is changed in place because the job appends to it; a
    line that is written at the same instant may be lost.
    """
    if not log.is_file() or log.stat().st_size <= longest:
        return
    size = log.stat().st_size
    with log.open("r+b") as file:
        # Move the end of the file, starting with a whole line, to its beginning.
        file.seek(size - kept)
        end = file.read()
        end = end[end.find(b"\n") + 1 :]
        file.seek(0)
        file.write(
            f"[the first {size - len(end):,} bytes of this log were removed]\n".encode() + end
        )
        file.truncate()


def _raise_canceled() -> NoReturn:
    """Raise Canceled, once: a second signal must not disturb the cleanup."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Canceled
