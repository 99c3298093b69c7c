"""Readers of plain text, JSON lines, csv and tsv, each also gzipped: from a file to blocks of
lines.

Every reader streams blocks of about a megabyte, or of one longer line, and starts from the
beginning when called again. A line, record or cell of more than `max_line` bytes is refused.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from vocadapt.errors import InputError
from vocadapt.files import MAX_LINE_BYTES, parse_record
from vocadapt.text.formats import text_file
from vocadapt.text.formats.text_file import Source, build_line_error, open_text_file, split_lines

RECORDS = 1000  # rows of a table in memory at a time
USUAL_FIELD = "text"


@dataclass(frozen=True)
class Articles:
    """Number of articles read, and of those left out: not in English (`foreign`), or with neither
    abstract nor body (`empty`).
    """

    read: int = 0
    foreign: int = 0
    empty: int = 0

    def __add__(self, other: "Articles") -> "Articles":
        return Articles(
            self.read + other.read, self.foreign + other.foreign, self.empty + other.empty
        )

    def __str__(self) -> str:
        return (
            f"{self.read:,} articles, of which {self.foreign:,} are not in English and"
            f" {self.empty:,} without text"
        )


NO_ARTICLES = Articles()


class Block(NamedTuple):
    """Whole lines of a file, each with a newline; the number of bytes read so far from disk; the
    number of articles.
    """

    text: str
    position: int
    articles: Articles = NO_ARTICLES


Reader = Callable[[Path, str, int], Iterator[Block]]


def read_plain_text(
    path: Path,
    field: str = "",
    max_line: int = MAX_LINE_BYTES,
    span: tuple[int, int] | None = None,
) -> Iterator[Block]:
    """Yield the lines of a plain text file, or of a span of its bytes that begins and ends with a
    line.
    """
    with open_text_file(path, max_line, span=span) as source:
        for text in source.blocks():
            yield Block(text, source.position())


def read_json_lines(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Yield the lines in one field of a file with a JSON object per line."""
    name = str(path)
    with open_text_file(path, max_line) as source:
        number = 1
        for block in source.blocks():
            lines = list(enumerate(split_lines(block), number))
            number += len(lines)
            texts = [
                _read_json_field(line, field, f"{name}, line {at:,}")
                for at, line in lines
                if line.strip()
            ]
            yield Block(join_lines(texts), source.position())


def read_text_table(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Yield the lines in one column of a .csv or .tsv file with a header row.

    The separator is the most frequent of comma, semicolon and tab in the header.
    """
    with open_text_file(path, max_line) as source:
        rows = _Rows(source)
        columns = next(rows.batches(1), [[]])[0]
        column = columns.index(choose_field(columns, field, str(path)))
        for batch in rows.batches(RECORDS):
            if any(len(row) <= column for row in batch if row):
                raise InputError(
                    f"{path}: a row before line {rows.reader.line_num + 1:,} has fewer than"
                    f" {column + 1} columns.",
                    f"Every row needs the {len(columns)} columns of the header.",
                )
            yield Block(join_lines([row[column] for row in batch if row]), source.position())


def join_lines(texts: Sequence[str]) -> str:
    """Join texts to lines, each with a newline; a text that contains newlines becomes several lines."""
    if not texts:
        return ""
    block = "\n".join(texts) + "\n"
    if "\r" in block:
        block = block.replace("\r\n", "\n")
    try:
        block.encode("utf-8")
    except UnicodeEncodeError:  # JSON can contain half a surrogate pair, which UTF-8 cannot
        block = block.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return block


def _read_json_field(line: str, field: str, place: str) -> str:
    """Return the text under `field` of a JSON line; "" for null."""
    record = parse_record(line, place, "Correct or remove the line.")
    if not isinstance(record, dict):
        raise InputError(
            f"{place}: expected a JSON object, found {type(record).__name__}.",
            'Each line looks like {"text": "…"}.',
        )
    value = record[choose_field(list(record), field, place)]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(
            f"{place}: expected text in the field, found {type(value).__name__}.",
            "Choose a field that contains text.",
        )
    return value


def choose_field(names: Sequence[str], field: str, place: str) -> str:
    """Return the field to read: `field` if given, else the only one, else `text`."""
    if field in names and field:
        return field
    if not field and len(names) == 1:
        return names[0]
    if not field and USUAL_FIELD in names:
        return USUAL_FIELD
    problem = f"{place}: several fields and none is called 'text'."
    if field:
        problem = f"{place}: no field {field!r}."
    listed = ", ".join(repr(name) for name in names[:20]) or "none"
    raise InputError(problem, f"Choose one of the fields that exist: {listed}.")


class _Rows:
    """The rows of an open table, in batches of a bounded size."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.taken = 0  # characters read for the current batch
        lines = self._lines()
        header = next(lines, "")
        self.reader = csv.reader(
            chain([header], lines), delimiter=max(",;\t", key=header.count), strict=True
        )

    def batches(self, size: int) -> Iterator[list[list[str]]]:
        """Yield batches of at most `size` rows and about a megabyte, or of one longer row."""
        while batch := self._read_batch(size):
            yield batch

    def _read_batch(self, size: int) -> list[list[str]]:
        batch: list[list[str]] = []
        path, self.taken = self.source.path, 0
        # The limit is global to the csv module, so it is set for each batch and restored.
        before = csv.field_size_limit(self.source.max_line)
        try:
            for row in islice(self.reader, size):
                batch.append(row)
                if self.taken > text_file.BLOCK:
                    break
        except csv.Error as error:
            line = self.reader.line_num
            if "field limit" in str(error):
                raise build_line_error(path, line, self.source.max_line) from None
            raise InputError(
                f"{path}, line {line:,}: not valid csv ({error}).", "Correct the quoting."
            ) from None
        finally:
            csv.field_size_limit(before)
        return batch

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the file; raise InputError if a row of many lines exceeds the
        limit.
        """
        for block in self.source.blocks():
            # A batch ends after BLOCK characters, so all these characters belong to one row.
            if self.taken > self.source.max_line + text_file.BLOCK:
                raise build_line_error(self.source.path, self.reader.line_num, self.source.max_line)
            self.taken += len(block)
            yield from (f"{line}\n" for line in split_lines(block))
