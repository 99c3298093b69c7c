"""Tables and findings: a result as every output shows it.

A column is declared once, beside the values that it shows: its name (in JSON and CSV), its label
and help (for readers), and its format. A writer needs nothing else.

    Table("ncbi", (Column("run", "Run"), Column("mean", "F1, mean ± sd", format="fraction",
    beside="sd")), runs)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vocadapt.report.formats import FORMATS, NONE, TEXTS


@dataclass(frozen=True)
class Finding:
    """What a result shows, in a sentence; `code` names it for programs and tests."""

    code: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Column:
    """A column of a table.

    name: of the value in JSON and CSV; norms.mean is a value of a value. label: heading for
    readers; "": only programs see the column. help: explains it. format: key of FORMATS. beside:
    name of a second value in the same cell, such as the standard deviation of a mean; between: the
    text between the two.
    """

    name: str
    label: str = ""
    help: str = ""
    format: str = "text"
    beside: str = ""
    between: str = " ± "

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its values."""
        return (self.name, self.beside) if self.beside else (self.name,)

    @property
    def is_text(self) -> bool:
        """Whether it holds texts, which are aligned to the left."""
        return self.format in TEXTS

    @property
    def is_number(self) -> bool:
        """Whether each cell is a single number."""
        return not self.beside and self.format not in (*TEXTS, "figure")

    def write(self, row: Any) -> str:
        """Return the cell of a row for readers: .834 ± .012; the first value alone without a
        second.
        """
        write_value = FORMATS[self.format]
        values = [read_value(row, name) for name in self.names]
        if len(values) == 1 or values[1] is None:
            return write_value(values[0])
        return self.between.join(map(write_value, values))


@dataclass(frozen=True)
class Table:
    """A table: its title, its columns, and a row for each value, which has an attribute or an entry
    for each name of a column.

    notes: sentences below it, such as how it was measured. best: name of a column of numbers, whose
    largest value readers find in bold; best_within: of a column, each of whose values has a best
    row. constants: values that hold for all rows, for programs.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Any]
    notes: tuple[str, ...] = ()
    best: str = ""
    best_within: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns for readers, without those that are empty in every row."""
        labeled = tuple(column for column in self.columns if column.label)
        if not self.rows:
            return labeled
        empty = {"", NONE}
        return tuple(one for one in labeled if {*map(one.write, self.rows)} - empty)

    @property
    def best_rows(self) -> frozenset[int]:
        """Places of the rows with the largest value of `best`; equal ones all count."""
        if not self.best:
            return frozenset()
        largest: dict[Any, Any] = {}
        keys = [read_value(row, self.best_within) if self.best_within else "" for row in self.rows]
        values = [read_value(row, self.best) for row in self.rows]
        for key, value in zip(keys, values, strict=True):
            if value is not None:
                largest[key] = max(value, largest.get(key, value))
        return frozenset(
            place
            for place, (key, value) in enumerate(zip(keys, values, strict=True))
            if value is not None and value == largest[key]
        )

    def take(self, number: int) -> "Table":
        """Return the table with its first rows only."""
        return replace(self, rows=self.rows[:number])

    def write_cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the cells of each row for readers."""
        shown = self.shown
        for row in self.rows:
            yield tuple(column.write(row) for column in shown)

    def list_records(self) -> list[dict[str, Any]]:
        """Return each row as name → value, for programs."""
        names = [name for column in self.columns for name in column.names]
        return [
            {**self.constants, **{name: read_value(row, name) for name in names}}
            for row in self.rows
        ]


def read_value(row: Any, name: str) -> Any:
    """Return a value of a row: an entry of a mapping, or an attribute; norms.mean is an attribute
    of an attribute, None without the first.
    """
    if isinstance(row, Mapping):
        return row.get(name)
    for part in name.split("."):
        row = None if row is None else getattr(row, part)
    return row
