"""A CSV file that fills empty cells of a published table with values that its user has at hand.

The values are kept apart from the published ones, with the file, who imported it and when, and a
filled cell names them. The columns of the file are row, column, value and, optionally, note:

    row,column,value,note
    GreenBioBERT,CO2,28,table 1
"""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.published.tables import TEXT, PublishedCell, PublishedTable, Value
from vocadapt.settings import check_known, show_value
from vocadapt.system.files import MEGABYTE, read_document, show_path
from vocadapt.text.spreadsheet import unescape_cell

NEEDED = ("row", "column", "value")
OPTIONAL = ("note",)
MAX_BYTES = MEGABYTE
MAX_TEXT = 500  # characters of a value or a note
REMEDY = "Expected the columns row, column and value, separated by commas, and optionally note."


@dataclass(frozen=True)
class ImportedValue:
    """A value for one cell, with a note."""

    row: str
    column: str
    value: Value
    note: str = ""


@dataclass(frozen=True)
class ImportedValues:
    """The values of a file for a table. when: date and time; sha256: of the file's content.

    known: number of cells of the file that were at hand already, with an equal value.
    """

    table: str
    file: str
    who: str
    when: str
    sha256: str
    values: tuple[ImportedValue, ...]
    known: int = 0

    @property
    def label(self) -> str:
        """The origin of the values, shown in a filled cell."""
        by = f" by {self.who}" if self.who else ""
        return f"imported{by} from {self.file}, {self.when}"


def read_csv(
    path: str | Path, table: PublishedTable, who: str = "", when: str = ""
) -> ImportedValues:
    """Read values for the empty cells of a table.

    when: default now. Raises InputError, naming the line, for an unknown row or column (with the
    nearest name), a value that is not a finite number (for a cell of text: empty), a
    cell that the file has twice, and a cell that is at hand with another value.
    """
    text = read_document(path, MAX_BYTES)
    place = show_path(Path(path).name)
    values: dict[tuple[str, str], ImportedValue] = {}
    known = 0
    for line, cells in _parse(text, place):
        one, cell = _read_line(cells, table, line)
        if (one.row, one.column) in values:
            place_of_cell = f"row {one.row!r}, column {one.column!r}"
            raise InputError(
                f"{line}: {place_of_cell} is given twice.", "Keep one of them.", code="repeated"
            )
        if cell.at_hand:
            _check_equal(cell, one, line)
            known += 1
        else:
            values[one.row, one.column] = one
    if not values and not known:
        raise InputError(f"{place}: there is no value in it.", REMEDY, code="no-values")
    return ImportedValues(
        table.id,
        place,
        who,
        when or datetime.now().isoformat(" ", "minutes"),
        hashlib.sha256(text.encode()).hexdigest(),
        tuple(values.values()),
        known,
    )


def fill_table(table: PublishedTable, imported: ImportedValues) -> PublishedTable:
    """Return the table with imported values in its empty cells.

    Raises InputError if the values are for another table.
    """
    if imported.table != table.id:
        raise InputError(
            f"{imported.file}: its values are for {imported.table}, not for {table.id}.",
            code="other-table",
        )
    filled = []
    for one in imported.values:
        cell = table.find_cell(one.row, one.column)
        facts = replace(cell.facts, note=one.note) if one.note else cell.facts
        filled.append(replace(cell, value=one.value, facts=facts, imported=imported.label))
    return table.replace_cells(filled)


def _parse(text: str, place: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the cells of each line by column, with the place of the line for messages."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        _check_header(names, place)
        reader.fieldnames = names
        for cells in reader:
            if not any(isinstance(one, str) and one.strip() for one in cells.values()):
                continue  # a spreadsheet writes empty lines
            line = f"{place}, line {reader.line_num:,}"
            if None in cells or None in cells.values():
                problem = f"{line}: expected {len(names)} cells."
                raise InputError(problem, REMEDY, code="wrong-columns")
            yield line, {name: unescape_cell(cell.strip()) for name, cell in cells.items()}
    except csv.Error as error:
        problem = f"{place}, line {reader.line_num:,}: not valid CSV ({error})."
        raise InputError(problem, REMEDY, code="invalid-csv") from None


def _check_header(names: Sequence[str], place: str) -> None:
    for name in names:
        check_known(name, (*NEEDED, *OPTIONAL), f"column in the header of {place}")
    missing = [name for name in NEEDED if name not in names]
    if missing:
        problem = f"{place}: the column {missing[0]!r} is missing."
        raise InputError(problem, REMEDY, code="missing-column")
    if len(set(names)) < len(names):
        raise InputError(f"{place}: a column is given twice.", REMEDY, code="repeated")


def _read_line(
    cells: Mapping[str, str], table: PublishedTable, line: str
) -> tuple[ImportedValue, PublishedCell]:
    row, column, text = (cells[name] for name in NEEDED)
    try:
        cell = table.find_cell(row, column)
    except InputError as error:
        raise error.add_place(line) from None
    for name in ("value", "note"):
        if len(cells.get(name, "")) > MAX_TEXT:
            raise InputError(
                f"{line}: the {name} has more than {MAX_TEXT} characters.", code="long-text"
            )
    value: Value = text
    if cell.facts.unit != TEXT:
        value = _read_number(text, line)
    if not text:
        raise InputError(f"{line}: the value is empty.", "Leave the line out.", code="no-values")
    return ImportedValue(row, column, value, cells.get("note", "")), cell


def _read_number(text: str, line: str) -> float:
    """Read a decimal number; raise InputError for anything else, infinities included."""
    # float also reads 1_000 and the digits of other scripts.
    with suppress(ValueError):
        if text.isascii() and "_" not in text and isfinite(number := float(text)):
            return number
    raise InputError(
        f"{line}: expected a number, got {show_value(text)}.",
        "Write it with a decimal point and without a unit, such as 85.3.",
        code="wrong-type",
    )


def _check_equal(cell: PublishedCell, one: ImportedValue, line: str) -> None:
    if cell.value != one.value:
        raise InputError(
            f"{line}: row {one.row!r}, column {one.column!r} is at hand: {cell.format_value()}"
            f" ({cell.imported or cell.where}), not {show_value(one.value)}.",
            "Leave the line out: only empty cells are filled.",
            code="at-hand",
        )
