"""Long steps beside the page: a job is a started process in its own session that waits for its turn in the workspace.

Its folder, `<workspace>/jobs/<id>/`, holds spec.json, status.json, metrics.jsonl (progress over time) and log.txt. The process
holds the lock of its folder as long as it lives, so a job that says it runs and is not locked was interrupted: by `kill -9`,
by a machine that went down. One job runs at a time: the one that holds the lock of `<workspace>/jobs`.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import vocadapt
from vocadapt.errors import InputError
from vocadapt.lab import strict_json
from vocadapt.lab.commands import command_of
from vocadapt.lab.locks import held, take
from vocadapt.lab.spec import Spec
from vocadapt.lab.workspace import Workspace, check_name
from vocadapt.lab.writing import check_free, sweep

STATES = ("waiting", "running", "done", "failed", "cancelled", "interrupted")
ALIVE = ("waiting", "running")
SPEC, STATUS, METRICS, LOG, FLAG = "spec.json", "status.json", "metrics.jsonl", "log.txt", "cancel"
KILLED = "The process ended without a word: it was killed, or the machine went down."
SAME_START = 2.0  # seconds; start times of one process, read twice, differ by the clock's corrections


@dataclass(frozen=True)
class Status:
    """What is known of a job: state, progress, why it failed; times in seconds since 1970."""

    state: str = "waiting"
    fraction: float | None = None
    message: str = ""
    error: str = ""
    remedy: str = ""
    pid: int = 0
    process_started: float = 0.0
    started: float = 0.0
    updated: float = 0.0

    @property
    def alive(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ALIVE

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return max(0.0, (time.time() if self.state == "running" else self.updated) - self.started) if self.started else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long it will go on at this pace; None where that cannot be said yet."""
        if self.state != "running" or not self.fraction:
            return None
        return self.seconds * (1 - self.fraction) / self.fraction


@dataclass(frozen=True)
class Job:
    """A job by its folder; everything is read from there, so any page or command may watch it."""

    folder: Path

    @property
    def id(self) -> str:
        """Name of its folder; later jobs sort later."""
        return self.folder.name

    @cached_property
    def order(self) -> dict[str, Any]:
        """What was asked for: the spec as plain values, the target folder, whether to overwrite it."""
        try:
            return strict_json.loads((self.folder / SPEC).read_text(encoding="utf-8"), str(self.folder / SPEC))
        except FileNotFoundError as error:
            raise InputError(f"{self.folder}: expected the folder of a job, it has no {SPEC}.") from error

    @property
    def readable(self) -> bool:
        """Whether what was asked for and how it stands can be read."""
        try:
            return bool(self.spec and self.target) and read_status(self.folder).state in STATES
        except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError):
            return False

    @cached_property
    def spec(self) -> Spec:
        """The step that it runs."""
        return Spec.from_dict(self.order["spec"], self.id)

    @property
    def target(self) -> Path:
        """Where the artefact will lie."""
        return Path(self.order["target"])

    @property
    def command(self) -> str:
        """The same step as a command line."""
        return command_of(self.spec, self.target)

    def status(self) -> Status:
        """What it does now. Looks at the lock first: a process writes its last state before it lets go."""
        lives = held(self.folder)
        status = read_status(self.folder)
        if lives or not status.alive:
            return status
        state = "cancelled" if self.cancel_asked else "interrupted"
        return Status(**{**asdict(status), "state": state, "error": "" if self.cancel_asked else KILLED})

    @property
    def cancel_asked(self) -> bool:
        """Whether somebody asked it to stop."""
        return (self.folder / FLAG).exists()

    def cancel(self, grace: float = 3.0) -> Status:
        """Ask the job to stop, and insist where it does not within `grace` seconds: first politely, then by force.

        With `grace` 0 it only raises the flag, and insists when called again.
        """
        insist = self.cancel_asked or grace > 0
        (self.folder / FLAG).touch()
        for sign in (signal.SIGTERM, signal.SIGKILL) if insist else ():
            if self._ended(grace):
                break
            self._send(sign)
        self._ended(grace)
        if not held(self.folder):
            sweep(self.target.parent, self.target.name)
        return self.status()

    def wait(self, seconds: float) -> Status:
        """Wait until the job has ended, at most so long."""
        self._ended(seconds)
        return self.status()

    def log(self, lines: int = 500) -> str:
        """The last lines of its log."""
        try:
            with (self.folder / LOG).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 400 * lines))
                text = file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _ended(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while held(self.folder):
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        return True

    def _send(self, sign: signal.Signals) -> None:
        """Signal the job's whole group, but only if its leader is still the process that was started."""
        import psutil

        status = read_status(self.folder)
        try:
            same = status.pid > 0 and abs(psutil.Process(status.pid).create_time() - status.process_started) < SAME_START
            if same:
                os.killpg(status.pid, sign)
        except (psutil.NoSuchProcess, ProcessLookupError):
            return


def start(workspace: Workspace, spec: Spec, name: str, overwrite: bool = False) -> Job:
    """Start a job that runs `spec` into the workspace under `name`, and return at once.

    Raises InputError for a name that may not be one or is taken.
    """
    target = workspace.folder(spec.kind, name)
    check_free(target, overwrite)
    folder = _new_folder(workspace, spec.step)
    lock = take(folder)
    assert lock is not None
    try:
        strict_json.write(folder / SPEC, {"spec": spec.absolute().to_dict(), "target": str(target), "overwrite": overwrite})
        strict_json.write(folder / STATUS, asdict(Status(updated=time.time())))
        _launch(folder, lock)
    finally:
        os.close(lock)  # the process has its own copy, and with it the lock
    return Job(folder)


def again(workspace: Workspace, job: Job) -> Job:
    """Start a job anew that was interrupted, cancelled or failed."""
    return start(workspace, job.spec, job.target.name, bool(job.order["overwrite"]))


def list_jobs(workspace: Workspace) -> list[Job]:
    """All jobs of a workspace that can be read, newest first; what another version or a torn file left is not among them."""
    found = (Job(path.parent) for path in sorted((workspace.root / "jobs").glob(f"*/{SPEC}"), reverse=True))
    return [job for job in found if job.readable]


def find_job(workspace: Workspace, job_id: str) -> Job:
    """The job of this id; raises InputError where there is none."""
    folder = workspace.folder("jobs", check_name(job_id))
    if not (folder / SPEC).is_file():
        raise InputError(f"There is no job {job_id} in {workspace.root}.")
    return Job(folder)


def read_status(folder: Path) -> Status:
    """The status as the job wrote it last."""
    try:
        content = strict_json.loads((folder / STATUS).read_text(encoding="utf-8"), str(folder / STATUS))
    except FileNotFoundError:
        return Status()
    return Status(**{key: value for key, value in content.items() if key in {entry.name for entry in fields(Status)}})


def _new_folder(workspace: Workspace, step: str) -> Path:
    """An empty folder whose name sorts by time."""
    while True:
        folder = workspace.root / "jobs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{step}"
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            time.sleep(1e-6)
        except OSError as error:
            raise InputError(f"{folder.parent}: cannot write there: {error.strerror}.", "Choose another workspace.") from error


def _launch(folder: Path, lock: int) -> None:
    """Start the worker in a session of its own; it inherits the lock, and nothing but the lock."""
    package = str(Path(vocadapt.__file__).parents[1])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "vocadapt", "job", str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True, pass_fds=(lock,),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
    threading.Thread(target=process.wait, daemon=True).start()  # takes note of its end, so that no zombie stays
