"""The folders of the visitors of a served lab: `<visitors>/visitor-<hash>/`, which holds the
workspaces of one visitor, and the file `.last-visit`.

A folder that was not used for some days is removed. The visitors are known by an identity, such as
a random cookie; only its hash is a name, so an identity can never be a path.
"""

import logging
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from vocadapt.lab.workspace.disk_space import RESERVATION, measure_files
from vocadapt.lab.workspace.limits import VISITOR_FOLDER
from vocadapt.lab.workspace.locks import hold_lock, is_locked, wait_for_lock
from vocadapt.report.formats import format_size

LAST_VISIT = ".last-visit"  # its modification time is the time of the last visit
WRITE_EVERY = 600.0  # seconds between two writes of the time of the last visit
WORKSPACE = "workspace"  # the workspace that a visitor begins with
REMOVED = ".removed-"  # a folder that is being removed
DAY = 86_400.0  # seconds
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Removed:
    """A removed folder: its name, the days without a visit, and its size in bytes."""

    name: str
    days: float
    size: int


def name_folder(kind: str, *identity: str) -> str:
    """Return the name of the folder of a visitor.

    kind: how the visitor is known; the same text as a cookie and as an account gives two folders.
    """
    # The lengths keep ("ab", "c") and ("a", "bc") apart.
    text = "".join(f"{len(part)}:{part}" for part in (kind, *identity))
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"visitor-{digest[:32]}"


def record_visit(folder: Path) -> None:
    """Record that a visitor's folder is in use; do nothing if it does not exist yet."""
    file = folder / LAST_VISIT
    with suppress(OSError):  # no folder yet, or a full disk
        if file.exists() and time.time() - file.stat().st_mtime < WRITE_EVERY:
            return
        with wait_for_lock(folder):
            file.touch()


def find_last_use(folder: Path) -> float:
    """Return when a visitor's folder was last used: a visit, a job's end, or a file at its top."""
    # A job may end long after the visit that started it.
    places = [folder, folder / LAST_VISIT, *folder.glob("*/jobs/*/status.json")]
    times = [0.0]
    for place in places:
        with suppress(OSError):
            times.append(place.stat().st_mtime)
    return max(times)


def is_in_use(folder: Path) -> bool:
    """Return whether a job of a visitor runs or waits, or something is being written there."""
    drafts = (*folder.glob("*/*/.*.draft/"), *folder.glob(".*.draft/"))
    locked = (*folder.glob("*/jobs/*/"), *drafts, *folder.glob(f".*{RESERVATION}"))
    return any(map(is_locked, locked))


def remove_unused_folders(visitors: Path, days: float) -> list[Removed]:
    """Remove the folders of visitors that were not used for so many days, and log each removal.

    A folder in use is never removed.
    """
    # 1. Finish removals that were interrupted.
    for left in visitors.glob(f"{REMOVED}*/"):
        shutil.rmtree(left, ignore_errors=True)

    # 2. Remove what is old. The age is read again under the lock that a visit takes.
    removed = []
    for folder in sorted(visitors.glob("visitor-*/")):
        if not VISITOR_FOLDER.fullmatch(folder.name) or _find_age(folder) < days:
            continue
        place = visitors / f"{REMOVED}{folder.name}-{uuid4().hex[:8]}"
        with suppress(BlockingIOError, FileNotFoundError), hold_lock(folder):
            age = _find_age(folder)
            if age < days or is_in_use(folder):
                continue
            size = measure_files([str(folder)])
            os.rename(folder, place)
            removed.append(Removed(folder.name, age, size))
            log.info("removed %s: not used for %.1f days, %s", folder.name, age, format_size(size))
        shutil.rmtree(place, ignore_errors=True)
    return removed


def _find_age(folder: Path) -> float:
    """Return the days since the last use of a visitor's folder."""
    return (time.time() - find_last_use(folder)) / DAY
