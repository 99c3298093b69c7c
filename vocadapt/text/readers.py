"""File formats → blocks of lines: plain text, JSON lines, csv and tsv, parquet; the first three may be gzipped.

Every reader streams, holds about a megabyte at a time (or one line, where a line is longer), and starts anew when called again.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from vocadapt.errors import InputError
from vocadapt.text.source import lines_of, opened

RECORDS = 1000  # rows of a table held at a time
CSV_CELL = (1 << 31) - 1
USUAL_FIELD = "text"


@dataclass(frozen=True)
class Articles:
    """How many articles were read, and how many of these left nothing: not in English, or without an abstract and a body."""

    read: int = 0
    foreign: int = 0
    empty: int = 0

    def __add__(self, other: "Articles") -> "Articles":
        return Articles(self.read + other.read, self.foreign + other.foreign, self.empty + other.empty)

    def __str__(self) -> str:
        return f"{self.read:,} articles, of which {self.foreign:,} are not in English and {self.empty:,} without text"


NO_ARTICLES = Articles()


class Block(NamedTuple):
    """Some whole lines of a file, each ended by a newline; how many bytes of the file on disk were read so far; its articles."""

    text: str
    position: int
    articles: Articles = NO_ARTICLES


Reader = Callable[[Path, str], Iterator[Block]]


def read_text(path: Path, field: str = "") -> Iterator[Block]:
    """Lines of a plain text file."""
    with opened(path) as source:
        for text in source.blocks():
            yield Block(text, source.position())


def read_json_lines(path: Path, field: str = "") -> Iterator[Block]:
    """Lines of one field of a file with a JSON object per line."""
    with opened(path) as source:
        number = 1
        for block in source.blocks():
            lines = list(enumerate(lines_of(block), number))
            number += len(lines)
            texts = [_json_field(line, field, f"{path}, line {at:,}") for at, line in lines if line.strip()]
            yield Block(ended(texts), source.position())


def read_table(path: Path, field: str = "") -> Iterator[Block]:
    """Lines of one column of a .csv or .tsv file with a header row; the separator is the commonest of , ; and tab in it."""
    with opened(path) as source:
        lines = source.lines()
        header = next(lines, "")
        rows = csv.reader(chain([header], lines), delimiter=max(",;\t", key=header.count), strict=True)
        columns = next(_csv_rows(rows, path), [[]])[0]
        column = columns.index(_chosen(columns, field, str(path)))
        for batch in _csv_rows(rows, path, RECORDS):
            if any(len(row) <= column for row in batch if row):
                raise InputError(
                    f"{path}: a row before line {rows.line_num + 1:,} has fewer than {column + 1} columns.",
                    f"Every row needs the {len(columns)} columns of the header.",
                )
            yield Block(ended([row[column] for row in batch if row]), source.position())


def read_parquet(path: Path, field: str = "") -> Iterator[Block]:
    """Lines of one text column of a parquet file, by row batches."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as table:
            column = _chosen(_text_columns(table.schema_arrow), field, f"{path} (text columns)")
            rows, size = 0, path.stat().st_size
            for batch in table.iter_batches(batch_size=RECORDS, columns=[column]):
                rows += batch.num_rows
                texts = [text or "" for text in batch.column(0).to_pylist()]
                yield Block(ended(texts), size * rows // table.metadata.num_rows)
    except (pyarrow.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read as parquet ({reason}).", "Write or download it again.") from None


def ended(texts: Sequence[str]) -> str:
    """Texts as lines, each ended by a newline; a text with newlines inside becomes several lines."""
    block = "".join(f"{text}\n" for text in texts)
    if "\r" in block:
        block = block.replace("\r\n", "\n")
    try:
        block.encode("utf-8")
    except UnicodeEncodeError:  # JSON can spell half a surrogate pair, which no UTF-8 file can hold
        block = block.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return block


def _json_field(line: str, field: str, place: str) -> str:
    """The text that a JSON line holds under `field`; null counts as empty."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not valid JSON ({error}).", "Mend or remove the line.") from None
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise InputError(f"{place}: expected a JSON object, found {kind}.", 'Each line looks like {"text": "…"}.')
    value = record[_chosen(list(record), field, place)]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}: expected text in the field, found {type(value).__name__}.", "Choose a field that holds text.")
    return value


def _chosen(names: Sequence[str], field: str, place: str) -> str:
    """The field to read: the one asked for, else the only one, else `text`."""
    if field in names and field:
        return field
    if not field and len(names) == 1:
        return names[0]
    if not field and USUAL_FIELD in names:
        return USUAL_FIELD
    wanted = f"no field {field!r}" if field else "several fields and none is called 'text'"
    listed = ", ".join(repr(name) for name in names[:20]) or "none"
    raise InputError(f"{place}: {wanted}.", f"Choose one of the fields that exist: {listed}.")


def _text_columns(schema: Any) -> list[str]:
    """Names of the columns that hold text, plain or dictionary-encoded."""
    import pyarrow.types as types

    def is_text(kind: Any) -> bool:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(kind) or types.is_large_string(kind))

    return [column.name for column in schema if is_text(column.type)]


def _csv_rows(rows: Any, path: Path, size: int = 1) -> Iterator[list[list[str]]]:
    """Batches of rows; a cell may be of any length."""
    while True:
        before = csv.field_size_limit(CSV_CELL)
        try:
            batch = list(islice(rows, size))
        except csv.Error as error:
            raise InputError(f"{path}, line {rows.line_num:,}: not valid csv ({error}).", "Mend the quoting.") from None
        finally:
            csv.field_size_limit(before)
        if not batch:
            return
        yield batch
