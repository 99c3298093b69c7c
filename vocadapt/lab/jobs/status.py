"""Status of a job: status.json, and metrics.jsonl (progress over time)."""

import os
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import is_disk_full
from vocadapt.lab.workspace.file_cache import CachedReader

STATES = ("waiting", "running", "done", "failed", "canceled", "interrupted")
ALIVE = ("waiting", "running")
STATUS, METRICS = "status.json", "metrics.jsonl"
Past = tuple[tuple[str, float], ...]  # final states of earlier runs of a job, with their times
MIN_PACE_SECONDS = 3.0  # seconds of progress before the remaining time can be estimated
MAX_LINES = 2000  # of metrics.jsonl: the record of a longer job is coarser, not larger
MAX_MESSAGE_LENGTH = 300  # characters


@dataclass(frozen=True)
class Status:
    """Status of a job: state, progress, error; times in seconds since 1970.

    `first`: the first fraction that this run reported, at time `paced` (a resumed job does not
    start at 0). `process_started`: seconds after boot, which clock changes do not affect. `past`:
    final states of earlier runs, with their times. `rejected`: whether the step failed because of
    its input, so that only other input helps. `outcome`: what the result of a job that is done came
    to, such as "collapsed"; "" if there is nothing else to say.
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
    past: Past = ()
    rejected: bool = False
    outcome: str = ""

    @property
    def title(self) -> str:
        """What to show as its state: a run that learned nothing is not "done"."""
        return self.outcome or self.state

    @property
    def alive(self) -> bool:
        """Whether the job is waiting or running."""
        return self.state in ALIVE

    @property
    def seconds(self) -> float:
        """Run time in seconds, for a resumed job since it was resumed."""
        if not self.started:
            return 0.0
        end = time.time() if self.state == "running" else self.updated
        return max(0.0, end - self.started)

    def estimate_seconds_left(self) -> float | None:
        """Estimate the remaining seconds at the current pace; None if unknown."""
        passed = time.time() - (self.paced or self.started)
        done = self.fraction
        if self.state != "running" or done is None or done <= self.first:
            return None
        if passed < MIN_PACE_SECONDS:
            return None
        return passed * (1 - done) / (done - self.first)


def read_status(folder: Path) -> Status:
    """Read the latest status that the job wrote."""
    if not os.path.isfile(folder / STATUS):
        return Status()
    return _STATUSES(folder / STATUS)


def _parse_status(path: Path) -> Status:
    content = strict_json.read(path)
    known = {entry.name for entry in fields(Status)} & content.keys()
    past = tuple((str(state), float(when)) for state, when in content.get("past", ()))
    return Status(**{name: content[name] for name in known} | {"past": past})


_STATUSES = CachedReader(_parse_status)


def write_status(folder: Path, status: Status) -> None:
    """Write the status; if the disk is full, overwrite the old file, whose space is allocated."""
    try:
        strict_json.write(folder / STATUS, asdict(status))
    except OSError as error:
        path = folder / STATUS
        if not is_disk_full(error) or not path.exists():
            raise
        content = (strict_json.dumps(asdict(status)) + "\n").encode()
        # A single write of at least the old length, so that readers never see a partial file.
        with path.open("r+b", buffering=0) as file:
            file.write(content.ljust(path.stat().st_size))


class Metrics:
    """The record of a job's progress over time, one line at most every `every` seconds.

    If there are too many lines, every second one is dropped and the interval is doubled.
    """

    def __init__(self, folder: Path, every: float) -> None:
        self.path, self.every, self._last = folder / METRICS, every, float("-inf")
        self._lines, torn = _whole_lines(self.path)
        if torn:
            strict_json.replace_text(self.path, "".join(self._lines))

    def add(self, values: dict[str, Any]) -> None:
        """Append a line, unless the last one is too recent."""
        if time.monotonic() - self._last < self.every:
            return
        self._last = time.monotonic()
        self._lines.append(strict_json.dumps(values) + "\n")
        if len(self._lines) > MAX_LINES:
            # Drop every second line and double the interval, so that all lines are equally spaced.
            self._lines = self._lines[::2]
            self.every = 2 * self.every
            strict_json.replace_text(self.path, "".join(self._lines))
        else:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(self._lines[-1])


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the progress of a job over time: run, seconds, fraction and message."""
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
    """Return the complete lines of a file, and whether an incomplete one follows."""
    if not path.exists():
        return [], False
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines(keepends=True)
    torn = bool(lines) and not text.endswith("\n")
    return lines[: len(lines) - torn], torn
