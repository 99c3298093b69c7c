"""Long steps beside the page: a job is a started process in its own session that waits for its turn in the workspace.

Its folder, `<workspace>/jobs/<id>/`, holds spec.json, status.json, metrics.jsonl (progress over time), log.txt, and
checkpoint/ until it is done. The process holds the lock of its folder as long as it lives, so a job that says it runs and
is not locked was interrupted: by `kill -9`, by a machine that went down. One job runs at a time: the one that holds the
lock of `<workspace>/jobs`. Jobs are started one by one, under the lock of the workspace itself.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import vocadapt
from vocadapt.errors import InputError
from vocadapt.lab import strict_json
from vocadapt.lab.commands import command_of
from vocadapt.lab.corpora import sweep_counts
from vocadapt.lab.locks import alone, held, take
from vocadapt.lab.manifest import ARTEFACTS, Manifest
from vocadapt.lab.spec import Spec
from vocadapt.lab.status import METRICS, STATES, STATUS, Status, read_status, write_status
from vocadapt.lab.steps import CHECKPOINT, MADE_FROM
from vocadapt.lab.workspace import Workspace, check_name
from vocadapt.lab.writing import check_free, sweep

SPEC, LOG, FLAG = "spec.json", "log.txt", "cancel"
ID = re.compile(r"\d{8}-\d{6}-\d{6}-\w+")
KILLED = "The process ended without a word: it was killed, or the machine went down."
WORKER = ("-m", "vocadapt", "job")  # what Python runs, before the job's folder
SAME_START = 2.0  # seconds; start times of one process, read twice, differ by the clock's corrections


@dataclass(frozen=True)
class Job:
    """A job by its folder; everything is read from there, so any page or command may watch it."""

    folder: Path

    @property
    def id(self) -> str:
        """Name of its folder; later jobs sort later."""
        return self.folder.name

    @property
    def workspace(self) -> Workspace:
        """The workspace that it works for."""
        return Workspace(self.folder.parents[1])

    @cached_property
    def order(self) -> dict[str, Any]:
        """What was asked for: the spec as plain values, the target in the workspace, whether to overwrite it."""
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

    @cached_property
    def target(self) -> Path:
        """Where the artefact will lie: always in the job's own workspace, wherever that was moved."""
        return self.workspace.folder(self.spec.kind, Path(self.order["target"]).name)

    @property
    def overwrite(self) -> bool:
        """Whether what lies at the target may be replaced."""
        return self.order["overwrite"] is True

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
        if self.finished:  # it was killed after the artefact was in its place, before it could say so
            return replace(status, state="done", fraction=1.0)
        state = "cancelled" if self.cancel_asked else "interrupted"
        return replace(status, state=state, error="" if self.cancel_asked else KILLED)

    @property
    def finished(self) -> bool:
        """Whether the artefact that it makes lies in its place."""
        try:
            return Manifest.load(self.target).job == self.id
        except (InputError, OSError):
            return False

    @property
    def goes_on(self) -> bool:
        """Whether its step left something to go on from; else it starts anew when it is resumed."""
        folder = self.folder / CHECKPOINT
        return folder.is_dir() and any(path.name != MADE_FROM and path.name[0] != "." for path in folder.iterdir())

    @property
    def cancel_asked(self) -> bool:
        """Whether somebody asked it to stop."""
        return (self.folder / FLAG).exists()

    @property
    def asked_since(self) -> float | None:
        """For how many seconds somebody has been asking it to stop; None where nobody has."""
        try:
            return max(0.0, time.time() - (self.folder / FLAG).stat().st_mtime)
        except FileNotFoundError:
            return None

    def waits_for(self) -> "Job | None":
        """The job just before this one in the queue, at its head the one that runs; None where there is none."""
        mine, running, before = (read_status(self.folder).queued, self.id), None, []
        for folder in self.folder.parent.iterdir():
            if folder == self.folder or not (folder / STATUS).is_file() or not held(folder):
                continue
            status = read_status(folder)
            if status.state == "running":
                running = Job(folder)
            elif status.state == "waiting" and (status.queued, folder.name) < mine:
                before.append((status.queued, folder.name))
        return Job(self.folder.parent / max(before)[1]) if before else running

    def cancel(self, grace: float = 3.0) -> Status:
        """Ask the job to stop, and insist where it does not within `grace` seconds: first politely, then by force.

        With `grace` 0 it only raises the flag, and insists when called again. Does nothing to a job that has ended.
        """
        if not held(self.folder):
            return self.status()
        insist = self.cancel_asked or grace > 0
        (self.folder / FLAG).touch()
        for sign in (signal.SIGTERM, signal.SIGKILL) if insist else ():
            if self._ended(grace):
                break
            self._send(sign)
        self._ended(grace)
        if not held(self.folder):
            sweep(self.target.parent)
        return self.status()

    def wait(self, seconds: float) -> Status:
        """Wait until the job has ended, at most so long."""
        self._ended(seconds)
        return self.status()

    def log(self, lines: int = 500) -> str:
        """The last lines of its log; of a progress bar, which writes over itself, what stood last."""
        try:
            with (self.folder / LOG).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 400 * lines))
                text = file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.rstrip("\n").split("\n")[-lines:])

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
            if status.pid > 0 and abs(born(status.pid) - status.process_started) < SAME_START:
                os.killpg(status.pid, sign)
        except (psutil.NoSuchProcess, ProcessLookupError):
            return


def born(pid: int) -> float:
    """When a process was started, in seconds after the machine was: setting the clock does not move it."""
    import psutil

    return float(psutil.Process(pid).create_time() - psutil.boot_time())


def start(workspace: Workspace, spec: Spec, name: str, overwrite: bool = False) -> Job:
    """Start a job that runs `spec` into the workspace under `name`, and return at once.

    Raises InputError for a name that may not be one, is taken, or is what another job is making.
    """
    target = workspace.folder(spec.kind, name)
    order = {"spec": spec.absolute().to_dict(), "target": f"{spec.kind}/{name}", "overwrite": overwrite}
    with _gate(workspace):
        _check_target(workspace, target, overwrite)
        folder = _new_folder(workspace, spec.step)
        strict_json.write(folder / SPEC, order)
        _launch(folder, Status(queued=time.time(), updated=time.time()))
    return Job(folder)


def resume(workspace: Workspace, job: Job) -> Job:
    """Start a job again that was interrupted, cancelled or failed, in the same folder: its log and its states are kept.

    Where the step left a checkpoint it goes on from there, else it starts anew. Raises InputError where the job is alive or
    done, and where its target is taken.
    """
    with _gate(workspace):
        status = job.status()
        if status.alive or status.state == "done":
            raise InputError(f"The job {job.id} is {status.state}: there is nothing to resume.")
        _check_target(workspace, job.target, job.overwrite)
        (job.folder / FLAG).unlink(missing_ok=True)
        ended = (*status.past, (status.state, status.updated))
        _launch(job.folder, Status(queued=time.time(), updated=time.time(), past=ended))
    return job


def list_jobs(workspace: Workspace, most: int | None = None) -> list[Job]:
    """The jobs of a workspace that can be read, newest first, `most` at most.

    What another version or a torn file left is not among them.
    """
    found = (Job(path.parent) for path in sorted((workspace.root / "jobs").glob(f"*/{SPEC}"), reverse=True))
    return list(islice((job for job in found if job.readable), most))


def find_job(workspace: Workspace, job_id: str) -> Job:
    """The job of this id; raises InputError where there is none that can be read."""
    job = Job(workspace.folder("jobs", check_name(job_id)))
    if not job.readable:
        raise InputError(f"There is no job {job_id} in {workspace.root}.", "python -m vocadapt jobs lists them.")
    return job


def promised(workspace: Workspace, kind: str) -> set[str]:
    """Names of a kind that living jobs are going to make."""
    living = (job for job in list_jobs(workspace) if job.spec.kind == kind and job.status().alive)
    return {job.target.name for job in living}


def tidy(workspace: Workspace) -> None:
    """Clear away what killed processes left: drafts, starts that came to nothing, checkpoints of jobs that are done."""
    for kind in ARTEFACTS:
        sweep(workspace.root / kind)
    sweep_counts(workspace.root)
    for folder in (workspace.root / "jobs").glob("*/"):
        if not ID.fullmatch(folder.name) or held(folder):
            continue
        if not (folder / SPEC).exists():
            shutil.rmtree(folder, ignore_errors=True)
            continue
        for draft in (*folder.glob(f".{STATUS}.*"), *folder.glob(f".{METRICS}.*")):
            draft.unlink(missing_ok=True)
        job = Job(folder)
        if (folder / CHECKPOINT).exists() and job.readable and job.status().state == "done":
            shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)


@contextmanager
def _gate(workspace: Workspace) -> Iterator[None]:
    """Only one process at a time starts a job in a workspace; the first thing it does is to tidy up."""
    try:
        (workspace.root / "jobs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{workspace.root}: cannot write there: {error.strerror}.", "Choose another workspace.") from error
    with alone(workspace.root):
        tidy(workspace)
        yield


def _check_target(workspace: Workspace, target: Path, overwrite: bool) -> None:
    """Raise InputError where the target is taken, or is what a living job is making."""
    check_free(target, overwrite)
    making = (job for job in list_jobs(workspace) if job.target == target and job.status().alive)
    if job := next(making, None):
        raise InputError(f"{target} is what the job {job.id} is making.", "Wait for it, cancel it, or choose another name.")


def _new_folder(workspace: Workspace, step: str) -> Path:
    """An empty folder whose name sorts by time."""
    while True:
        folder = workspace.root / "jobs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{step}"
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            time.sleep(1e-6)


def _launch(folder: Path, status: Status) -> None:
    """Start the worker in a session of its own; it inherits the lock, and nothing but the lock."""
    lock = take(folder, patience=2.0)
    if lock is None:
        raise InputError(f"The job {folder.name} is alive: there is nothing to resume.")
    try:
        write_status(folder, status)
        _spawn(folder, lock)
    finally:
        os.close(lock)  # the process has its own copy, and with it the lock


def _spawn(folder: Path, lock: int) -> None:
    package = str(Path(vocadapt.__file__).parents[1])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *WORKER, str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True, pass_fds=(lock,),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
    threading.Thread(target=process.wait, daemon=True).start()  # takes note of its end, so that no zombie stays
