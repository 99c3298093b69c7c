"""The limits of a served lab: nothing may be written if it is read-only; if each visitor has a
workspace, a visitor has a folder, a quota, and a maximum number of jobs.

The limits are environment variables of the server, because its jobs are processes that inherit
them. Without these variables, as on the command line, there are no limits.
"""

import os
import re
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.system.files import show_path
from vocadapt.system.shipped_files import find_shipped_files

READ_ONLY = "VOCADAPT_READ_ONLY"  # "1": nothing may be written
VISITORS = "VOCADAPT_VISITORS"  # the folder that holds a folder for each visitor
QUOTA = "VOCADAPT_QUOTA_MB"  # megabytes of a visitor
MAX_JOBS = "VOCADAPT_JOBS_PER_VISITOR"  # running and waiting jobs of a visitor
KEEP_DAYS = "VOCADAPT_KEEP_DAYS"  # days without a visit after which a visitor's folder is removed
# Environment variable: a folder whose files others may open, too, if the lab is served to them.
FILES_ROOT = "VOCADAPT_FILES_ROOT"
VARIABLES = (READ_ONLY, VISITORS, QUOTA, MAX_JOBS, KEEP_DAYS)
# Names of the folders of visitors; the digits are a hash, so nobody can choose a name.
VISITOR_FOLDER = re.compile(r"visitor-[0-9a-f]{32}")


class ReadOnlyError(InputError):
    """The lab is read-only. Pages show this as a note: the visitor did nothing wrong."""


def is_read_only() -> bool:
    """Return whether this process serves a read-only lab."""
    return os.environ.get(READ_ONLY) == "1"


def check_not_read_only() -> None:
    """Raise ReadOnlyError in a read-only lab."""
    if is_read_only():
        raise ReadOnlyError(
            "This lab is read-only: you can open everything, but nothing is saved or started.",
            "To work with your own text, start a lab of your own.",
        )


def find_visitors() -> Path | None:
    """Return the folder that holds a folder for each visitor; None if visitors have none."""
    folder = os.environ.get(VISITORS)
    return Path(folder) if folder else None


def find_visitor_folder(place: Path) -> Path | None:
    """Return the folder of the visitor that a path lies in; None if it lies in none."""
    visitors = find_visitors()
    path = Path(os.path.abspath(place))
    if visitors is None or not path.is_relative_to(visitors):
        return None
    inside = path.relative_to(visitors).parts
    if not inside or not VISITOR_FOLDER.fullmatch(inside[0]):
        return None
    return visitors / inside[0]


def list_shared_folders() -> list[Path]:
    """List the folders that every visitor of a served lab may read: the demo, downloaded models,
    and the folder of FILES_ROOT.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    folders = [find_shipped_files() / "assets" / "demo", Path(HF_HUB_CACHE)]
    if shared := os.environ.get(FILES_ROOT):
        folders.append(Path(shared))
    return [folder.resolve() for folder in folders]


def check_visitor_path(place: Path, by: Path) -> None:
    """Raise InputError for a path that a file in the folder of a visitor names, but that the
    visitor may not read; there are no such paths outside of the folders of visitors.

    place: the path. by: the file.
    """
    folder = find_visitor_folder(by)
    if folder is None:
        return
    real = Path(os.path.realpath(place))
    if not any(real.is_relative_to(one) for one in (folder.resolve(), *list_shared_folders())):
        raise InputError(
            f"{by.name} names {show_path(place)}, which cannot be opened in this lab.",
            "Delete it, and create it again from files of yours.",
        )


def read_limit(variable: str) -> int | None:
    """Return the limit in QUOTA, MAX_JOBS or KEEP_DAYS; None if there is none."""
    value = os.environ.get(variable)
    return int(value) if value else None


def read_quota() -> int | None:
    """Return the quota of a visitor in bytes; None if there is none."""
    megabytes = read_limit(QUOTA)
    return None if megabytes is None else megabytes * 1_000_000
