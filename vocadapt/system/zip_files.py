"""Read zip files of unknown origin: in bounded memory, and with one error for damaged ones.

Only stored and deflated members are read. Python's zip module unpacks those of other methods
without a limit: one read of a few kB may return gigabytes.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_SET
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from vocadapt.errors import InputError
from vocadapt.system.files import MEGABYTE, open_file

# What the zip module raises for a damaged file or one that it cannot read.
UNREADABLE = (
    BadZipFile,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    zlib.error,
)
METHODS = (ZIP_STORED, ZIP_DEFLATED)
MAX_DIRECTORY_BYTES = 16 * MEGABYTE  # the list of members, which is read as a whole
MAX_SHOWN = 200  # characters of an error of the zip module, which may contain a name
BLOCK = MEGABYTE


class BoundedFile:
    """A binary file that refuses to read more than MAX_DIRECTORY_BYTES at once, and to seek before
    its beginning; both raise BadZipFile.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.tell, self.seekable = file.tell, file.seekable

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Move to a position, as files do."""
        if whence == SEEK_SET and offset < 0:
            raise BadZipFile("its list of members names a position outside of it")
        return self.file.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes; all that are left if it is negative."""
        if size > MAX_DIRECTORY_BYTES:
            limit = MAX_DIRECTORY_BYTES // MEGABYTE
            raise BadZipFile(f"its list of members is larger than {limit} MB")
        return self.file.read(size)


@contextmanager
def open_zip(source: Path | IO[bytes], place: str, remedy: str) -> Iterator[ZipFile]:
    """Open a zip file for reading; errors begin with `place`.

    Raises InputError if it is none, or lists more members than fit in MAX_DIRECTORY_BYTES.
    """
    if isinstance(source, Path):
        with open_file(source) as file, open_zip(file, place, remedy) as archive:
            yield archive
        return
    with _convert_errors(place, remedy):
        archive = ZipFile(BoundedFile(source))
    with archive:
        yield archive


def read_member(archive: ZipFile, member: ZipInfo, place: str, remedy: str) -> Iterator[bytes]:
    """Yield the bytes of a member in blocks of at most BLOCK bytes, and no more than it claims.

    Raises InputError if it is damaged, encrypted, or neither stored nor deflated.
    """
    left = member.file_size
    with _convert_errors(place, remedy):
        if member.compress_type not in METHODS:
            raise BadZipFile(f"{member.filename!r} is not compressed by the method deflate")
        with archive.open(member) as source:
            while block := source.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise BadZipFile(f"{member.filename!r} is larger than the file claims")
                yield block


@contextmanager
def _convert_errors(place: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise InputError(
            f"{place}: {str(error)[:MAX_SHOWN]}.", remedy, code="invalid-zip"
        ) from error
