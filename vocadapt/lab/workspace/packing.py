"""An artifact's folder as one zip file: same bytes for the same files, and its size known
beforehand.

Nothing is compressed: weights hardly shrink, and the size can be given before anything is built.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO
from zipfile import ZIP64_LIMIT, ZIP_STORED, ZipFile, ZipInfo

from vocadapt.files import open_file
from vocadapt.lab.workspace.drafts import convert_write_errors

# The earliest date that a zip file can have: real times would make two builds differ.
BEGINNING = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644 << 16
BLOCK = 1 << 20
LOCAL_HEADER, CENTRAL_HEADER, END = 30, 46, 22  # bytes, names apart


def compute_packed_size(folder: Path) -> int:
    """Compute the size in bytes of what `pack_artifact` writes; a few dozen bytes short for files
    of 2 GB and more.
    """
    # A file's name stands in its local header and in the central directory.
    headers = LOCAL_HEADER + CENTRAL_HEADER
    sizes = (
        2 * len(name.encode()) + headers + path.stat().st_size for path, name in _members(folder)
    )
    return END + sum(sizes)


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


def pack_to_temporary_file(folder: Path, scratch: Path) -> FileIO:
    """Pack a folder into a temporary file in `scratch`, which is removed when it is closed.

    Raises InputError if the folder is gone or the disk is full.
    """
    place = None  # the system's own folder for temporary files
    if os.access(scratch, os.W_OK):
        place = scratch
    with convert_write_errors(place or Path(gettempdir())):
        file = TemporaryFile(dir=place, prefix=".zip-", buffering=0)  # noqa: SIM115 - the caller closes it
    remedy = "Make room, or copy the folder itself."
    with ExitStack() as stack:
        stack.enter_context(convert_write_errors(folder.name, "cannot be packed", remedy))
        stack.callback(file.close)
        pack_artifact(folder, file)
        file.seek(0)
        stack.pop_all()  # it worked: the file stays open
    return file


def _members(folder: Path) -> Iterator[tuple[Path, str]]:
    """List the files of a folder, sorted, each with its name in the zip file."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file())
    return ((path, f"{folder.name}/{path.relative_to(folder).as_posix()}") for path in inside)
