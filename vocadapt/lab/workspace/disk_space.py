"""The free disk space, and the quota of a visitor: checked and reserved before something is
written.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from uuid import uuid4

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.limits import check_not_read_only, find_visitor_folder, read_quota
from vocadapt.lab.workspace.locks import acquire_lock, is_locked, wait_for_lock
from vocadapt.report.formats import format_size
from vocadapt.system.files import MEGABYTE, expand_path, show_path

FLOOR = 50 * MEGABYTE  # assumed for any step: logs, records, tokenizers, figures
WEIGHTS = (".safetensors", ".bin")
RESERVATION = ".reserved"  # <visitor>/.<random>.reserved: locked while its writer lives
OWN = "VOCADAPT_RESERVATION"  # environment variable of a job: the name of its reservation


@dataclass(frozen=True)
class Reservation:
    """Bytes of a visitor's quota that a writer has not written yet.

    file: the record, in the visitor's folder. lock: the descriptor that locks it; a process that
    inherits it keeps the reservation.
    """

    file: Path
    lock: int


@contextmanager
def reserve_space(place: Path, needed: int, spare: int = 0) -> Iterator[Reservation | None]:
    """Reserve `needed` bytes for the block, which writes to `place`; every writer calls this first.

    Until the block ends, what is not written yet counts as used for other writers of the same
    visitor. Yields None without a quota, and to the job that a reservation was made for (`OWN`).

    place: the folder or file; it need not exist yet. spare: bytes that must be free, too, but are
    not reserved. Raises InputError if the lab is read-only, the quota of the visitor is exceeded,
    or the disk has fewer bytes free.
    """
    check_not_read_only()
    _check_disk(place, needed + spare)
    quota = read_quota()
    folder = find_visitor_folder(place)
    space = None
    if quota is not None and folder is not None:
        space = _reserve(folder, place, needed, spare, quota)
    try:
        yield space  # a process that was started meanwhile may keep it longer
    finally:
        if space is not None:
            os.close(space.lock)
            _forget_if_ended(space.file)


def _reserve(folder: Path, place: Path, needed: int, spare: int, quota: int) -> Reservation | None:
    """Reserve bytes of the visitor with this folder, under its lock, so that two writers never
    count on the same bytes; a job enlarges its own reservation if that has become too small.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with wait_for_lock(folder):
            own = _find_own(folder)
            if own:  # `spare` was free when the job was started
                _check_quota(folder, needed, quota)
                found = strict_json.read(own)
                content = found | {"bytes": max(needed, found["bytes"])}
                own.write_text(strict_json.dumps(content), encoding="utf-8")  # it is locked
                return None
            _check_quota(folder, needed + spare, quota)
            file = folder / f".{uuid4().hex[:12]}{RESERVATION}"
            content = {"bytes": needed, "place": str(place), "before": _measure_place(place)}
            file.write_text(strict_json.dumps(content), encoding="utf-8")
            lock = acquire_lock(file, patience=2.0)
            return None if lock is None else Reservation(file, lock)
    except OSError as error:
        raise InputError(
            f"{show_path(folder)}: cannot write there: {error.strerror}.",
            "Free some disk space, or ask the operator of the lab.",
        ) from error


def _check_disk(place: Path, needed: int) -> None:
    """Raise InputError if the disk of a folder, which need not exist, has fewer bytes free."""
    folder = Path(os.path.abspath(place))
    while not folder.is_dir():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{show_path(place)}: about {format_size(needed)} are needed, but the disk has"
            f" {format_size(free)} free.",
            "Free some disk space, or choose another place.",
            code="no-space",
        )


def _check_quota(folder: Path, needed: int, quota: int) -> None:
    """Raise InputError if `needed` more bytes exceed the quota of the visitor with this folder."""
    used = measure_files([str(folder)])
    reserved = _count_reserved(folder)
    if used + reserved + needed <= quota:
        return
    problem = f"Your storage is full: {format_size(used)} of {format_size(quota)} are used"
    if reserved:
        problem += f", {format_size(reserved)} are reserved for what is being made"
    raise InputError(
        f"{problem}, and about {format_size(needed)} are needed.",
        "Delete something on the tab Workspace of the page Jobs, and empty the trash there.",
        code="storage-full",
    )


def _count_reserved(folder: Path) -> int:
    """Return the bytes that living writers of a visitor have reserved and not yet written, without
    the reservation of this process; forget those of writers that have ended.
    """
    own = _find_own(folder)
    total = 0
    for file in folder.glob(f".*{RESERVATION}"):
        if _forget_if_ended(file) or file == own:
            continue
        with suppress(InputError, OSError):  # its writer has ended just now
            found = strict_json.read(file)
            written = _measure_place(Path(found["place"])) - found["before"]
            total += max(0, found["bytes"] - max(0, written))
    return total


def _find_own(folder: Path) -> Path | None:
    """Return the reservation that this process was started with; None if it has none here."""
    name = os.environ.get(OWN)
    if not name:
        return None
    file = folder / name
    return file if file.is_file() else None


def _measure_place(place: Path) -> int:
    """Return the bytes at a place, with its drafts."""
    place = Path(os.path.abspath(place))
    drafts = place.parent.glob(f".{escape(place.name)}.*.draft")
    return measure_files(map(str, (place, *drafts)))


def _forget_if_ended(file: Path) -> bool:
    """Remove a reservation whose writer has ended; return whether it has."""
    if is_locked(file):
        return False
    file.unlink(missing_ok=True)
    return True


def measure_weights(model: str) -> int:
    """Return the bytes of the weights in a model folder, in the larger format; 0 for a hub name."""
    folder = expand_path(model)
    if not os.path.isdir(folder):  # Path.is_dir would raise for a name that is too long
        return 0
    return max(measure_files(map(str, folder.glob(f"*{ending}"))) for ending in WEIGHTS)


def measure_files(paths: Iterable[str]) -> int:
    """Return the total bytes of files and folders; links are followed, unreadable files skipped."""
    total = 0
    for path in paths:
        files = [path]
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                files += [f"{folder}/{name}" for name in names]
        for file in files:
            # A file that was removed meanwhile, a link that leads nowhere, a name that no file has.
            with suppress(OSError, ValueError):
                state = os.stat(file)
                if stat.S_ISREG(state.st_mode):
                    total += state.st_size
    return total
