"""An artifact's folder as one zip file: same bytes for the same files, and its size known
beforehand.

Nothing is compressed: weights hardly shrink, and the size can be given before anything is built.
"""

import os
import shutil
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO
from zipfile import ZIP64_LIMIT, ZIP_STORED, ZipFile, ZipInfo

from vocadapt.errors import InputError
from vocadapt.files import open_file
from vocadapt.lab.workspace.drafts import convert_write_errors, is_disk_full

# The earliest date that a zip file can have: real times would make two builds differ.
BEGINNING = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644 << 16
BLOCK = 1 << 20
LOCAL_HEADER, CENTRAL_HEADER, END = 30, 46, 22  # bytes, names apart


def packed_size(folder: Path) -> int:
    """Size in bytes of what `pack_artifact` writes; a few dozen bytes short for a file of 2 GB and
    more.
    """
    size = END
    for path, name in _members(folder):
        size += 2 * len(name.encode()) + LOCAL_HEADER + CENTRAL_HEADER + path.stat().st_size
    return size


def pack_artifact(folder: Path, target: IO[bytes]) -> None:
    """Write every file of a folder, under the folder's name, into a zip file; a block at a time."""
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for path, name in _members(folder):
            info = ZipInfo(name, BEGINNING)
            info.external_attr, info.create_system = MODE, 3  # 3: Unix, wherever it is packed
            info.file_size = path.stat().st_size
            big = info.file_size > ZIP64_LIMIT // 2
            with open_file(path) as source, archive.open(info, "w", force_zip64=big) as place:
                shutil.copyfileobj(source, place, BLOCK)


def packed(folder: Path, scratch: Path) -> FileIO:
    """Pack a folder into a temporary file in `scratch`, which is removed when it is closed.

    Raises InputError if the folder is gone or the disk is full.
    """
    place = None  # the system's own folder for temporary files
    if os.access(scratch, os.W_OK):
        place = scratch
    with convert_write_errors(place or Path(gettempdir())):
        file = TemporaryFile(dir=place, prefix=".zip-", buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        pack_artifact(folder, file)
        file.seek(0)
    except OSError as error:
        file.close()
        problem = f"cannot be packed: {error.strerror}"
        if is_disk_full(error):
            problem = "the disk is full"
        raise InputError(
            f"{folder.name}: {problem}.", "Make room, or copy the folder itself."
        ) from error
    return file


def _members(folder: Path) -> Iterator[tuple[Path, str]]:
    """List the files of a folder, sorted, each with its name in the zip file."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file())
    return ((path, f"{folder.name}/{path.relative_to(folder).as_posix()}") for path in inside)
