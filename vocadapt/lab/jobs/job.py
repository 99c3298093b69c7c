"""A job by its folder: its spec, status, position in the queue, log and cancellation.

The folder contains spec.json, status.json, metrics.jsonl (progress over time), log.txt, and
checkpoint/ until the job is done. The process locks its folder while it lives. A job whose status
is running but whose folder is not locked was therefore interrupted: it was killed, or the machine
was rebooted.
"""

import os
import signal
import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from vocadapt.errors import InputError
from vocadapt.lab.jobs.living import list_living_folders
from vocadapt.lab.jobs.status import STATES, STATUS, Status, read_status
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.run import CHECKPOINT, MADE_FROM
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import convert_write_errors, remove_abandoned_drafts
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.lab.workspace.locks import is_locked
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.system.files import show_path

SPEC, LOG, FLAG = "spec.json", "log.txt", "cancel"
KILLED = "The process exited unexpectedly: it was killed, or the machine went down."
T = TypeVar("T")
# Seconds by which two readings of the start time of one process may differ (clock corrections).
SAME_START = 2.0


@dataclass(frozen=True)
class Job:
    """A job by its folder; all of its state is read from there, by any page or command."""

    folder: Path

    @property
    def id(self) -> str:
        """Name of its folder; sorts by time."""
        return self.folder.name

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace of the job."""
        return _open_workspace(self.folder.parents[1])

    @cached_property
    def order(self) -> dict[str, Any]:
        """The request: the spec as plain values, the target, and whether to overwrite it."""
        return self._read(_ORDERS)

    @property
    def readable(self) -> bool:
        """Whether spec and status can be read."""
        try:
            return bool(self.spec and self.target) and read_status(self.folder).state in STATES
        except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError):
            return False

    @cached_property
    def spec(self) -> Spec:
        """The step that the job runs."""
        return self._read(_SPECS)

    @cached_property
    def target(self) -> Path:
        """Folder of the artifact, in the job's own workspace even if the workspace was moved."""
        return self.workspace.folder(self.spec.kind, Path(self.order["target"]).name)

    @property
    def overwrite(self) -> bool:
        """Whether an existing artifact at the target may be replaced."""
        return self.order["overwrite"] is True

    @property
    def threads(self) -> int:
        """The number of threads that a study's cell is computed with; 0 if it is not fixed."""
        return int(self._read_number("threads", 0.0))

    @property
    def load(self) -> float:
        """The load factor of the machine when the job was ordered (`vocadapt.system.forecasts`); 1
        for a study's cell, whose load is that of the other cells.
        """
        return self._read_number("load", 1.0)

    @property
    def command(self) -> str:
        """The command line of the step."""
        return build_command(self.spec, self.target)

    def status(self) -> Status:
        """Return the status; a process writes its last one before it releases the lock."""
        is_alive = is_locked(self.folder)
        status = read_status(self.folder)
        if is_alive or not status.alive:
            return status
        # The process may have been killed between completing the artifact and writing its status.
        if self.finished:
            return replace(status, state="done", fraction=1.0)
        if self.cancel_requested:
            return replace(status, state="canceled", error="")
        return replace(status, state="interrupted", error=KILLED)

    @property
    def finished(self) -> bool:
        """Whether the artifact of this job exists."""
        try:
            return Manifest.load(self.target).job == self.id
        except (InputError, OSError):
            return False

    @property
    def has_checkpoint(self) -> bool:
        """Whether the step left a checkpoint to resume from."""
        folder = self.folder / CHECKPOINT
        if not folder.is_dir():
            return False
        return any(path.name != MADE_FROM and path.name[0] != "." for path in folder.iterdir())

    @property
    def may_succeed(self) -> bool:
        """Whether resuming may help: not if the step rejected its input, which is the same."""
        status = self.status()
        if not status.rejected or self.has_checkpoint:
            return True
        paths = (path for paths in self.spec.inputs.values() for path in paths)
        return any(find_write_time(path) > status.updated for path in paths)

    @property
    def cancel_requested(self) -> bool:
        """Whether cancellation was requested."""
        return (self.folder / FLAG).exists()

    @property
    def seconds_since_cancel_request(self) -> float | None:
        """Seconds since cancellation was requested; None if it was not."""
        try:
            return max(0.0, time.time() - (self.folder / FLAG).stat().st_mtime)
        except FileNotFoundError:
            return None

    def waits_for(self) -> "Job | None":
        """Return the job before this one in the queue, or the running one; None if there is none."""
        # Jobs are ordered by the time at which they were queued, then by id. Only jobs with a
        # living process count: it holds the lock of its folder.
        mine = (read_status(self.folder).queued, self.id)
        running = None
        before = []
        for folder in list_living_folders(self.folder.parent):
            if folder == self.folder or not (folder / STATUS).is_file():
                continue
            if not Job(folder).readable:  # damaged, or of another version
                continue
            status = read_status(folder)
            if status.state == "running":
                running = Job(folder)
            elif status.state == "waiting" and (status.queued, folder.name) < mine:
                before.append((status.queued, folder.name))
        if not before:
            return running
        return Job(self.folder.parent / max(before)[1])

    def cancel(self, grace: float = 3.0) -> Status:
        """Request cancellation; after `grace` seconds send SIGTERM, then SIGKILL.

        With `grace` 0 the first call only makes the request and the next one sends the signals.
        Does nothing if the job has ended.
        """
        if not is_locked(self.folder):
            return self.status()
        # 1. Request cancellation by a file that the job checks.
        send_signals = self.cancel_requested or grace > 0
        with convert_write_errors(self.folder):
            (self.folder / FLAG).touch()

        # 2. Send signals: a long library call does not check the file.
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not send_signals or self._wait_for_end(grace):
                break
            self._send(number)
        self._wait_for_end(grace)

        # 3. Remove the draft that a killed job leaves behind.
        if not is_locked(self.folder):
            remove_abandoned_drafts(self.target.parent)
        return self.status()

    def wait(self, seconds: float) -> Status:
        """Wait until the job has ended, at most this many seconds."""
        self._wait_for_end(seconds)
        return self.status()

    def log(self, lines: int = 500) -> str:
        """Return the last lines of the log; of a progress bar, its last state."""
        try:
            with (self.folder / LOG).open("rb") as file:
                # Read only the end: the lines of a log are shorter than 400 bytes on average.
                file.seek(max(0, file.seek(0, os.SEEK_END) - 400 * lines))
                text = file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        last = text.rstrip("\n").split("\n")[-lines:]
        return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in last)

    def _read_number(self, name: str, default: float) -> float:
        """Return a positive number of the request; `default` if it has none."""
        value = self.order.get(name)
        if isinstance(value, int | float) and 0 < value < 1e300:
            return float(value)
        return default

    def _read(self, reader: CachedReader[T]) -> T:
        """Read spec.json with a cached reader; raise InputError if there is none."""
        if not os.path.isfile(self.folder / SPEC):
            raise InputError(
                f"{show_path(self.folder)}: expected the folder of a job, but it has no {SPEC}.",
                "Give a folder that is listed by python -m vocadapt jobs.",
            )
        return reader(self.folder / SPEC)

    def _wait_for_end(self, seconds: float) -> bool:
        """Wait until the process has ended, at most `seconds`; return whether it has."""
        end = time.monotonic() + seconds
        while is_locked(self.folder):
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        return True

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the process group of the job, unless its process id was reused."""
        import psutil

        status = read_status(self.folder)
        if status.pid <= 0:
            return
        try:
            started = process_start_time(status.pid)
            if abs(started - status.process_started) < SAME_START:
                os.killpg(status.pid, number)
        except (psutil.NoSuchProcess, ProcessLookupError):
            return


_ORDERS = CachedReader(strict_json.read)  # spec.json of each job, as plain values and as a spec
_SPECS = CachedReader(lambda path: Spec.from_dict(_ORDERS(path)["spec"], path.parent.name))


@lru_cache(maxsize=100)
def _open_workspace(root: Path) -> Workspace:
    """Open a workspace once for all of its jobs, of which there may be thousands."""
    return Workspace(root)


def find_write_time(path: str | Path) -> float:
    """Return when a file or folder was last written, 0 if there is none."""
    try:
        return os.stat(path).st_mtime
    except (OSError, ValueError):  # the hub name of a model
        return 0.0


def process_start_time(pid: int) -> float:
    """Return the start time of a process in seconds after boot, which clock changes do not affect."""
    import psutil

    return float(psutil.Process(pid).create_time() - psutil.boot_time())
