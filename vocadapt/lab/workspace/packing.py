"""An artifact's folder as a zip file: reproducible, and of a size that is known beforehand.

Files are stored uncompressed: weights hardly shrink, and the size can be computed without packing.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO
from zipfile import ZIP64_LIMIT, ZIP_STORED, ZipFile, ZipInfo

from vocadapt.lab.workspace.drafts import convert_os_errors
from vocadapt.lab.workspace.limits import is_read_only
from vocadapt.system.files import open_file

# The earliest date that zip files support, for all files; real dates would not be reproducible.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644 << 16
BLOCK = 1 << 20
LOCAL_HEADER, CENTRAL_HEADER, END = 30, 46, 22  # bytes, without file names


def compute_packed_size(folder: Path) -> int:
    """Compute the size in bytes of the file that `pack_artifact` writes; too small by a few dozen
    bytes if there are files of 2 GB or more.
    """
    # The name of a file occurs in its local header and in the central directory.
    headers = LOCAL_HEADER + CENTRAL_HEADER
    sizes = (
        2 * len(name.encode()) + headers + path.stat().st_size for path, name in _members(folder)
    )
    return END + sum(sizes)


def pack_artifact(folder: Path, target: IO[bytes]) -> None:
    """Write all files of a folder, under the folder's name, into a zip file, block by block."""
    pack_files(_members(folder), target)


def pack_files(files: Iterable[tuple[Path, str]], target: IO[bytes]) -> None:
    """Write files, each with its name in the zip file, block by block."""
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for path, name in files:
            info = ZipInfo(name, ZIP_DATE)
            info.external_attr, info.create_system = MODE, 3  # 3: Unix, on every system
            info.file_size = path.stat().st_size
            big = info.file_size > ZIP64_LIMIT // 2
            with open_file(path) as source, archive.open(info, "w", force_zip64=big) as place:
                shutil.copyfileobj(source, place, BLOCK)


def pack_to_temporary_file(folder: Path, scratch: Path) -> FileIO:
    """Pack a folder into a temporary file in `scratch`; the file is removed when it is closed.

    Raises InputError if the folder does not exist any more, or if the disk is full.
    """
    return write_to_temporary_file(lambda file: pack_artifact(folder, file), folder.name, scratch)


def write_to_temporary_file(write: Callable[[FileIO], object], name: str, scratch: Path) -> FileIO:
    """Write a temporary file in `scratch`, or in the system's folder if it cannot be written there;
    the file is removed when it is closed. name: for the InputError if it fails.
    """
    remedy = "Free some disk space, or copy the folder itself."
    # Without a place, the system's own folder for temporary files.
    place = scratch if os.access(scratch, os.W_OK) and not is_read_only() else None
    with convert_os_errors(place or Path(gettempdir()), "cannot write there", remedy):
        file = TemporaryFile(dir=place, prefix=".zip-", buffering=0)  # noqa: SIM115 - the caller closes it
    with ExitStack() as stack:
        stack.enter_context(convert_os_errors(name, "cannot be packed", remedy))
        stack.callback(file.close)
        write(file)
        file.seek(0)
        stack.pop_all()  # success: leave the file open
    return file


def _members(folder: Path) -> Iterator[tuple[Path, str]]:
    """List the files of a folder, sorted, each with its name in the zip file."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file())
    return ((path, f"{folder.name}/{path.relative_to(folder).as_posix()}") for path in inside)
