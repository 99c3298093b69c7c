"""Reader of one column of a .csv or .tsv file with a header row, also gzipped.

People write such files in several ways, so the header and the whole file decide how cells are read:

1. The separator is the most frequent of comma, semicolon and tab in the header. Without any there
   is one column, and a line is a cell, whatever it contains.
2. Cells between commas or semicolons may be quoted. In any other table, quotation marks quote cells
   only if the whole file can be read so (`_fits_quoting`); else they are characters.
3. A row with more cells than the header is refused, or, if the text is the last column, its last
   cells are joined and counted.

Example: under the header `text`, the line `fever, cough` is one cell; under `id,text`, the line
`1,fever, cough` has the cells `1` and `fever, cough`.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_LINE_BYTES
from vocadapt.text.formats import readers, text_file
from vocadapt.text.formats.readers import Block, ReaderNotes, choose_field, join_lines
from vocadapt.text.formats.text_file import Source, build_line_error, open_text_file, split_lines

ONE_COLUMN = "\x1f"  # the separator of a table without separators: no text contains it
QUOTED_CELL = re.compile(r'(?m)(?:^|\t)"')


@dataclass(frozen=True)
class Dialect:
    """How the rows of a table are divided into cells.

    is_literal: whether quotation marks are characters. A table may have none, then it is False.
    """

    separator: str
    is_literal: bool = False


def read_text_table(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Yield the lines in one column of a table.

    Raises InputError, with the line, for a row with fewer cells than the column's number, or more
    than the header.
    """
    dialect = _detect_dialect(path, max_line)
    with open_text_file(path, max_line) as source:
        rows = _Rows(source, dialect)
        header = next(rows.batches(1), [(1, [])])[0][1]
        column = header.index(choose_field(header, field, str(path)))
        is_literal = dialect.is_literal  # counted once, in the first block
        for batch in rows.batches(readers.RECORDS):
            cells = []
            for line, row in batch:
                while len(row) > len(header) and not row[-1]:  # separators at the end of the line
                    row.pop()
                _check_row(row, column, header, f"{path}, line {line:,}")
                end = column + 1 if len(row) <= len(header) else None
                cells.append(dialect.separator.join(row[column:end]))
            joined = sum(len(row) > len(header) for _, row in batch)
            notes = ReaderNotes(rows_joined=joined, files_with_literal_quotes=int(is_literal))
            yield Block(join_lines(cells), source.position(), notes)
            is_literal = False


def _check_row(row: list[str], column: int, header: list[str], place: str) -> None:
    """Raise InputError if a row has no cell in the column, or more cells than the header and its
    text is not the last.
    """
    if len(row) <= column:
        raise InputError(
            f"{place} has fewer than {column + 1} columns.",
            f"Every row needs the {len(header)} columns of the header.",
            code="too-few-columns",
        )
    if len(row) > len(header) and column < len(header) - 1:
        raise InputError(
            f"{place} has {len(row)} columns, the header {len(header)}.",
            'Quote cells that contain separators ("fever, cough"), or move the text to the last'
            " column.",
            code="unlike-header",
        )


def _detect_dialect(path: Path, max_line: int) -> Dialect:
    """Detect how a table is divided into cells, from its header and, if there may be quoted cells,
    the whole file.
    """
    with open_text_file(path, max_line) as source:
        header = next((line for line in source.lines() if line != "\n"), "")
    separator = max(",;\t", key=header.count)
    if separator not in header:
        separator = ONE_COLUMN
    if separator in ",;":
        return Dialect(separator)
    with open_text_file(path, max_line) as source:
        if not any(map(QUOTED_CELL.search, source.blocks())):
            return Dialect(separator)
    return Dialect(separator, is_literal=not _fits_quoting(path, separator, max_line))


def _fits_quoting(path: Path, separator: str, max_line: int) -> bool:
    """Return whether all rows of a table have the columns of its header if cells may be quoted.

    Two cells that only begin and end with a mark, many lines apart, would look like one cell. So
    no cell may contain several lines if every line has the columns of the header by itself.
    Example: `1\\t"Hot`, `2\\tcold"` are two rows, `1\\t"Hot`, `and cold"` are one.
    """
    width, n_rows = 0, 0
    try:
        with open_text_file(path, max_line) as source:
            rows = _Rows(source, Dialect(separator))
            for batch in rows.batches(readers.RECORDS):
                width = width or len(batch[0][1])
                if any(len(row) != width for _, row in batch):
                    return False
                n_rows += len(batch)
    except InputError:
        return False
    if width == 1:  # a cell of several lines becomes several lines of text, in any case
        return True
    n_lines = 0
    with open_text_file(path, max_line) as source:
        for line in source.lines():
            if line == "\n":
                continue
            if line.count(separator) + 1 != width:
                return True
            n_lines += 1
    return n_rows == n_lines


class _Rows:
    """The rows of an open table with their first line numbers, in batches, without empty rows."""

    def __init__(self, source: Source, dialect: Dialect) -> None:
        self.source = source
        self.line = 0  # number of lines read
        self.taken = 0  # characters read for the current batch
        lines = self._lines()
        self.rows: Iterator[list[str]]
        if dialect.is_literal:
            self.rows = (line.removesuffix("\n").split(dialect.separator) for line in lines)
        else:
            self.rows = csv.reader(lines, delimiter=dialect.separator, strict=True)

    def batches(self, size: int) -> Iterator[list[tuple[int, list[str]]]]:
        """Yield batches of at most `size` rows and about a megabyte, or of one longer row."""
        while batch := self._read_batch(size):
            yield batch

    def _read_batch(self, size: int) -> list[tuple[int, list[str]]]:
        batch: list[tuple[int, list[str]]] = []
        path, self.taken = self.source.path, 0
        # The limit is global to the csv module, so it is set for each batch and restored.
        before = csv.field_size_limit(self.source.max_line)
        first = self.line + 1
        try:
            for row in self.rows:
                if row not in ([], [""]):
                    batch.append((first, row))
                elif not batch:
                    self.taken = 0
                if batch and (len(batch) == size or self.taken > text_file.BLOCK):
                    break
                first = self.line + 1
        except csv.Error as error:
            if "field limit" in str(error):
                raise build_line_error(path, first, self.source.max_line) from None
            raise InputError(
                f"{path}, line {self.line:,}: not valid csv ({error}; the row begins on line"
                f" {first:,}).",
                "Correct the quoting.",
                code="invalid-csv",
            ) from None
        finally:
            csv.field_size_limit(before)
        return batch

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the file; raise InputError if a row of several lines is too long."""
        for block in self.source.blocks():
            # A batch ends after BLOCK characters, so all these characters belong to one row.
            if self.taken > self.source.max_line + text_file.BLOCK:
                raise build_line_error(self.source.path, self.line, self.source.max_line)
            self.taken += len(block)
            for line in split_lines(block):
                self.line += 1
                yield f"{line}\n"
