"""Source: one UTF-8 text file, plain or gzipped, read in blocks of whole lines."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vocadapt.errors import InputError
from vocadapt.system.files import (
    MAX_DOCUMENT_BYTES,
    MAX_LINE_BYTES,
    MEGABYTE,
    build_size_error,
    open_file,
    show_path,
)

BLOCK = 1 << 20  # bytes of uncompressed text in memory at a time
MARKS = {
    "UTF-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff"),
    "UTF-16": (b"\xff\xfe", b"\xfe\xff"),
}  # byte order marks
SNIFF = 1 << 16  # bytes checked before a file is accepted


class Source:
    """An open UTF-8 text file, gzipped or not.

    A line of more than `max_line` bytes is refused, and so is a file of more than `max_bytes`
    uncompressed bytes or `max_lines` lines, if given. `span`: first byte and the one after the last
    that are read, both at the start of a line; by default the whole file.
    """

    def __init__(
        self,
        path: Path,
        disk: IO[bytes],
        max_line: int = MAX_LINE_BYTES,
        max_bytes: int | None = None,
        span: tuple[int, int] | None = None,
        max_lines: int | None = None,
    ) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.max_lines = max_lines
        self.disk = disk
        self.max_line = max_line
        self.stream: IO[bytes] = disk
        if path.suffix.lower() == ".gz":
            self.stream = gzip.GzipFile(fileobj=disk)  # type: ignore[assignment]
        # Whether \r ends lines; None until the first read.
        self.has_returns_only: bool | None = None
        self.start = 0
        self.end: int | None = None
        if span is not None:
            self.start, self.end = span
            disk.seek(self.start)
            if self.start:  # such a part begins after a \n
                self.has_returns_only = False

    def position(self) -> int:
        """Return the number of bytes of the file on disk read so far."""
        return self.disk.tell() - self.start

    def read(self, size: int | None = None) -> bytes:
        """Read up to `size` uncompressed bytes, by default a block, with \\n for \\r where only \\r
        ends lines; raises InputError for a broken .gz file.
        """
        size = size or BLOCK
        if self.end is not None:
            size = min(size, self.end - self.disk.tell())
        with convert_read_errors(self.path, "Check the disk."):
            raw = self.stream.read(size)
        if self.has_returns_only is None:
            # A \r at the end may be the first half of a line end.
            self.has_returns_only = b"\r" in raw[:-1] and b"\n" not in raw
        return raw.replace(b"\r", b"\n") if self.has_returns_only else raw

    def read_document(self, max_bytes: int = MAX_DOCUMENT_BYTES) -> str:
        """Read the whole text; raise InputError if it has more than `max_bytes` uncompressed."""
        parts, size = [], 0
        while raw := self.read():
            parts.append(raw)
            size += len(raw)
            if size > max_bytes:
                raise build_size_error(self.path, max_bytes)
        return self.decode(b"".join(parts))

    def blocks(self) -> Iterator[str]:
        """Yield decoded blocks of whole lines, without byte order mark and with \\n for \\r\\n."""
        offset, n_lines = self.start, 0
        for raw in self._whole_lines():
            text = self.decode(raw, offset, first=offset == 0)
            offset += len(raw)
            if self.max_bytes is not None and offset > self.max_bytes:
                raise build_size_error(self.path, self.max_bytes)
            n_lines += text.count("\n")
            if self.max_lines is not None and n_lines > self.max_lines:
                raise InputError(
                    f"{show_path(self.path)}: more than {self.max_lines:,} lines, the limit for"
                    " such a file.",
                    "Name a smaller file, or split this one.",
                    code="too-many-lines",
                )
            yield text.replace("\r\n", "\n")

    def lines(self) -> Iterator[str]:
        """Yield decoded lines with their newline."""
        for text in self.blocks():
            yield from (f"{line}\n" for line in split_lines(text))

    def _whole_lines(self) -> Iterator[bytes]:
        """Yield raw blocks that end after a newline; the last one gets a newline if it lacks one.

        If a block on disk ends within a line, its beginning is kept for the next block.
        """
        begun: list[bytes] = []
        done, size = self.start, 0  # bytes before the current line, and of it
        while raw := self.read():
            # The first line of the block completes a line that may have begun in earlier blocks.
            first_line, newline, _ = raw.partition(b"\n")
            if size + len(first_line) > self.max_line:
                raise build_line_error(self.path, self._find_line_number(done), self.max_line)
            # Yield up to the last newline; keep the rest for the next block.
            if newline:
                end = raw.rfind(b"\n") + 1
                yield b"".join([*begun, raw[:end]])
                done += size + end
                begun, size = [], 0
                raw = raw[end:]
            begun.append(raw)
            size += len(raw)
        if rest := b"".join(begun):
            yield rest + b"\n"

    def _find_line_number(self, offset: int) -> int:
        """Return the number of the line at an offset of the uncompressed text, for an error."""
        with open_text_file(self.path) as again:
            number = 1
            while offset and (raw := again.read(min(BLOCK, offset))):
                number += raw.count(b"\n")
                offset -= len(raw)
        return number

    def decode(self, raw: bytes, offset: int = 0, first: bool = True) -> str:
        """Decode UTF-8 bytes that start at `offset` of the uncompressed file.

        In the first block, refuse a binary file and drop the byte order mark.
        """
        if first:
            refuse_binary(raw[:SNIFF], self.path)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            position = f"{offset + error.start:,}"
            if self.stream is not self.disk:
                position += " of the uncompressed text"
            raise InputError(
                f"{self.path}: expected UTF-8 text, found byte 0x{raw[error.start]:02X} at position"
                f" {position}.",
                "Save the file as UTF-8; from Latin-1, for instance: iconv -f LATIN1 -t UTF-8 OLD"
                " > NEW",
                code="not-utf8",
            ) from None
        if first:
            text = text.removeprefix("\ufeff")
        return text


@contextmanager
def convert_read_errors(path: Path, remedy: str) -> Iterator[None]:
    """Convert errors of gzip and of the operating system into an InputError.

    remedy: what to do about an error of the operating system.
    """
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}: not a complete gzip file ({error}).",
            "Compress or download it again.",
            code="incomplete-gzip",
        ) from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}).", remedy, code="unreadable-file"
        ) from None


@contextmanager
def open_text_file(
    path: Path,
    max_line: int = MAX_LINE_BYTES,
    max_bytes: int | None = None,
    span: tuple[int, int] | None = None,
    max_lines: int | None = None,
) -> Iterator[Source]:
    """Open a text file; raise InputError if it is not a regular file or cannot be read."""
    with open_file(path) as disk:
        yield Source(path, disk, max_line, max_bytes, span, max_lines)


def build_line_error(path: Path, number: int, max_line: int) -> InputError:
    """Return the error for a line, cell or record of more than `max_line` bytes."""
    return InputError(
        f"{show_path(path)}, line {number:,}: longer than {max_line / MEGABYTE:,.0f} MB, the limit"
        " of a line.",
        "Break the text into lines, or raise the limit of a line.",
        code="too-long-line",
    )


def refuse_binary(head: bytes, path: Path) -> None:
    """Raise InputError if the first bytes of a file are not those of UTF-8 text."""
    # The mark of UTF-32 begins with that of UTF-16.
    for name, marks in MARKS.items():
        if head.startswith(marks):
            raise InputError(
                f"{path}: expected UTF-8 text, found {name}.",
                f"Save it as UTF-8: iconv -f {name} -t UTF-8 OLD > NEW",
                code="not-utf8",
            )
    if head.startswith(b"\x1f\x8b"):
        raise InputError(
            f"{path}: expected text, found a gzip file.",
            "Rename it with the ending .gz.",
            code="unnamed-gzip",
        )
    if b"\0" in head:
        raise InputError(
            f"{path}: expected text, found a binary file (a NUL byte at position"
            f" {head.index(0):,}).",
            "Give plain text, .jsonl, .csv, .tsv, articles in .xml or .json (each also as .gz), or"
            " .parquet.",
            code="binary-file",
        )


def split_lines(text: str) -> list[str]:
    """Split a block into its lines, without their newlines."""
    return text.split("\n")[:-1]
