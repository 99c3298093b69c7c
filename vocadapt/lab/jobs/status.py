"""Status of a job: status.json, and metrics.jsonl (progress over time)."""

import os
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.lab.workspace.writing import is_disk_full

STATES = ("waiting", "running", "done", "failed", "canceled", "interrupted")
ALIVE = ("waiting", "running")
STATUS, METRICS = "status.json", "metrics.jsonl"
SOON = 3.0  # seconds of progress before a pace can be told
MAX_LINES = 2000  # of metrics.jsonl: a job of days keeps a coarser record, not a larger one
MAX_MESSAGE_LENGTH = 300  # of a message


@dataclass(frozen=True)
class Status:
    """Status of a job: state, progress, error; times in seconds since 1970.

    `first`: the first fraction that this run reported, at time `paced` (a resumed job does not
    start at 0). `process_started` counts from boot, so that setting the clock does not change it.
    `past`: how and when earlier runs ended.
    """

    state: str = "waiting"
    fraction: float | None = None
    message: str = ""
    error: str = ""
    remedy: str = ""
    pid: int = 0
    process_started: float = 0.0
    queued: float = 0.0
    started: float = 0.0
    updated: float = 0.0
    first: float = 0.0
    paced: float = 0.0
    past: tuple[tuple[str, float], ...] = ()

    @property
    def alive(self) -> bool:
        """Whether the job is waiting or running."""
        return self.state in ALIVE

    @property
    def seconds(self) -> float:
        """Run time in seconds; of a resumed job, since it was resumed."""
        return (
            max(0.0, (time.time() if self.state == "running" else self.updated) - self.started)
            if self.started
            else 0.0
        )

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left at the current pace; None if unknown."""
        passed = time.time() - (self.paced or self.started)
        if (
            self.state != "running"
            or self.fraction is None
            or self.fraction <= self.first
            or passed < SOON
        ):
            return None
        return passed * (1 - self.fraction) / (self.fraction - self.first)


def read_status(folder: Path) -> Status:
    """The status as the job wrote it last."""
    if not os.path.isfile(folder / STATUS):
        return Status()
    return _STATUSES(folder / STATUS)


def _parse_status(path: Path) -> Status:
    content = strict_json.read(path)
    known = {
        key: value
        for key, value in content.items()
        if key in {entry.name for entry in fields(Status)}
    }
    return Status(
        **{
            **known,
            "past": tuple((str(state), float(when)) for state, when in known.get("past", ())),
        }
    )


_STATUSES = CachedReader(_parse_status)


def write_status(folder: Path, status: Status) -> None:
    """Write the status, on a full disk over the old one: that place is taken already."""
    try:
        strict_json.write(folder / STATUS, asdict(status))
    except OSError as error:
        if not is_disk_full(error):
            raise
        path = folder / STATUS
        content = (strict_json.dumps(asdict(status)) + "\n").encode()
        with path.open("r+b", buffering=0) as file:
            file.write(
                content.ljust(path.stat().st_size)
            )  # in one go, blanks at the end: no reader meets a part


class Metrics:
    """The record of a job's progress: a line for each moment, thinned out by half whenever there
    are too many.
    """

    def __init__(self, folder: Path, every: float) -> None:
        self.path, self.every, self._last = folder / METRICS, every, float("-inf")
        self._lines, torn = _whole_lines(self.path)
        if torn:
            self.path.write_text("".join(self._lines), encoding="utf-8")

    def add(self, values: dict[str, Any]) -> None:
        """Write a line, if it is time to."""
        if time.monotonic() - self._last < self.every:
            return
        self._last = time.monotonic()
        self._lines.append(strict_json.dumps(values) + "\n")
        if len(self._lines) > MAX_LINES:
            self._lines, self.every = self._lines[::2], 2 * self.every
            draft = self.path.with_name(f".{METRICS}.{os.getpid()}")
            draft.write_text("".join(self._lines), encoding="utf-8")
            os.replace(draft, self.path)
        else:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(self._lines[-1])


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The progress of a job over time, as far as it can be read: `run`, `seconds` into it,
    `fraction`, `message`.
    """
    found = []
    for line in _whole_lines(folder / METRICS)[0]:
        try:
            values = strict_json.loads(line, METRICS)
        except InputError:
            continue
        if {"run", "seconds", "fraction", "message"} <= set(values):
            found.append(values)
    return found


def _whole_lines(path: Path) -> tuple[list[str], bool]:
    """Return the complete lines of a file, and whether an incomplete one follows (from a killed
    process).
    """
    if not path.exists():
        return [], False
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines(keepends=True)
    torn = bool(lines) and not text.endswith("\n")
    return lines[: len(lines) - torn], torn
