"""Check of the free disk space, and of the quota of a visitor, before something is written."""

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import MEGABYTE, expand_path, show_path
from vocadapt.lab.workspace.limits import check_not_read_only, find_visitor_folder, read_quota

FLOOR = 50 * MEGABYTE  # assumed for any step: logs, records, tokenizers, figures
WEIGHTS = (".safetensors", ".bin")


def check_disk_space(place: Path, needed: int) -> None:
    """Raise InputError if a folder cannot take `needed` bytes: the lab is read-only, the quota of
    the visitor is exceeded, or the disk has fewer bytes free.

    The folder need not exist yet.
    """
    check_not_read_only()
    check_quota(place, needed)
    folder = Path(os.path.abspath(place))
    while not folder.is_dir():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{show_path(place)}: about {format_size(needed)} are needed, but the disk has"
            f" {format_size(free)} free.",
            "Free some disk space, or choose another place.",
        )


def check_quota(place: Path, needed: int = 0) -> None:
    """Raise InputError if `needed` more bytes in a folder exceed the quota of its visitor."""
    quota, folder = read_quota(), find_visitor_folder(place)
    if quota is None or folder is None:
        return
    used = measure_files([str(folder)])
    if used + needed <= quota:
        return
    problem = f"Your storage is full: {format_size(used)} of {format_size(quota)} are used."
    if used < quota:
        problem = (
            f"This needs about {format_size(needed)}, but only {format_size(quota - used)} of your"
            f" {format_size(quota)} are free."
        )
    remedy = "Delete something on the tab Workspace of the page Jobs, and empty the trash there."
    raise InputError(problem, remedy)


def measure_weights(model: str) -> int:
    """Return the bytes of the weights in a model folder, of the larger format if it has two; 0 for
    a hub name.
    """
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


def format_size(bytes_: int) -> str:
    """Format a size: 1.2 GB, 132 MB, 0.4 MB, 31 kB."""
    if bytes_ >= 1e9:
        return f"{bytes_ / 1e9:.1f} GB"
    if bytes_ >= 1e7:
        return f"{bytes_ / 1e6:.0f} MB"
    if bytes_ >= 1e5:
        return f"{bytes_ / 1e6:.1f} MB"
    return f"{bytes_ / 1e3:.0f} kB"
