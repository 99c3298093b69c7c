"""A published table: its source, its rows and columns, and its cells with their definitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from vocadapt.errors import InputError
from vocadapt.settings import check_known

Value = float | str

ALL = "all"  # the group of all rows
TEXT = "text"  # the unit of a cell whose value is text
SCALES = {"percent": 100.0, "points": 100.0}  # unit → its value of a score of 1; otherwise 1
KINDS = {
    "printed": "a table, with its values as printed",
    "prose": "numbers that are printed in sentences",
    "frame": "a table or figure whose values are not at hand",
}
PLOTS = {  # figures that publications make of a table
    "module sizes": "F1 by the size of exBERT's module",
    "hours": "F1 by hours of pretraining",
    "discs": "F1 by hours of pretraining, a disc for each model",
    "epochs": "F1 by number of epochs, a line for each seed",
    "fractions": "fraction of the gap that is covered",
}


@dataclass(frozen=True)
class Source:
    """A publication. year: 0 if it is not known here."""

    authors: tuple[str, ...]
    title: str
    venue: str
    year: int = 0

    @property
    def citation(self) -> str:
        """Authors and year, such as "Poerner et al. 2020"."""
        names = [author.split()[-1] for author in self.authors]
        short = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return f"{short} {self.year or ''}".rstrip()


@dataclass(frozen=True)
class Facts:
    """What a table declares about its cells; a column, a row or a single cell may override it.

    "" means not declared at this level.

    unit: "percent", "points" (of a percentage), "fraction", TEXT, or any other.
    data: a benchmark card such as "bio-lm/LINNAEUS", or another version of data.
    split, scorer, figure: of the score, such as "test", "entity-strict" and "f1".
    recipe: the preset that produces the value; no_recipe: why there is none.
    change_from: column that the value is a change against.
    reason: why an empty cell is not at hand.
    """

    unit: str = ""
    definition: str = ""
    base_model: str = ""
    data: str = ""
    split: str = ""
    scorer: str = ""
    figure: str = ""
    recipe: str = ""
    no_recipe: str = ""
    change_from: str = ""
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Heading(Facts):
    """A row or a column. mean_of: the group of rows that it is the mean of; "all" for all rows.

    groups: the groups that a row belongs to, from its benchmark card.
    """

    name: str = ""
    mean_of: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedCell:
    """One cell of a table: its value, or None with the reason, and how it was measured.

    data, split, scorer, figure: "" if the publication does not say. imported: by whom, when and
    from which file the value was filled in; "" for published values. collapsed: whether the
    publication reports that this run failed.
    """

    table: str
    row: str
    column: str
    value: Value | None
    source: Source
    where: str
    facts: Facts
    decimals: int = 2
    collapsed: bool = False
    imported: str = ""

    @property
    def at_hand(self) -> bool:
        """Whether there is a value, printed or imported."""
        return self.value is not None

    @property
    def reason(self) -> str:
        """Why the value is not at hand; "" if it is."""
        return "" if self.at_hand else self.facts.reason

    @property
    def scale(self) -> float:
        """The value, in the cell's unit, of a score of 1."""
        return SCALES.get(self.facts.unit, 1.0)

    @property
    def number(self) -> float | None:
        """The value as a number; None for text and for an empty cell."""
        return None if isinstance(self.value, str) else self.value

    def format_value(self) -> str:
        """Return the value as printed, "" if it is not at hand."""
        if self.value is None or isinstance(self.value, str):
            return self.value or ""
        # A few cells of a table have more decimals than the others.
        rounded = f"{self.value:.{self.decimals}f}"
        return rounded if float(rounded) == self.value else repr(self.value)


@dataclass(frozen=True)
class Gap:
    """Three columns: the gap is from `low` to `high`, and `ours` covers a fraction of it."""

    name: str
    low: str
    high: str
    ours: str


@dataclass(frozen=True)
class TableHead:
    """What a file states about a table, or about the numbers of a figure or a section, in addition
    to facts and values.

    where: its number, such as "table 6.6". kind: a key of KINDS. decimals: as printed.
    study: the computation that produces it. ranked: whether the best cells are marked, as in
    `styles`. notes: what a reader may misread.

    method: how its cells are computed, a key of MEASURES or "fine-tuning"; "" for a table that is
    not computed, for which `needs` says what is missing. settings: fine-tuning preset of the
    publication. target: model whose vocabulary is transferred.

    plot: the figure that the publication makes of it, a key of PLOTS; gaps: between its columns.
    """

    id: str = ""
    title: str = ""
    where: str = ""
    kind: str = "printed"
    study: str = ""
    method: str = ""
    settings: str = ""
    target: str = ""
    needs: str = ""
    plot: str = ""
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    decimals: int = 2
    ranked: bool = False
    rows: tuple[Heading, ...] = ()
    columns: tuple[Heading, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PublishedTable(TableHead):
    """A table with its source, its facts and its cells."""

    source: Source
    facts: Facts
    cells: tuple[PublishedCell, ...]

    @cached_property
    def grid(self) -> dict[tuple[str, str], PublishedCell]:
        """The cells by row and column; a place where no cell is printed is missing."""
        return {(cell.row, cell.column): cell for cell in self.cells}

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of the rows."""
        return tuple(row.name for row in self.rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The rows of each group that the table prints a mean of, in the order of the means.

        The group "all" has every row that is not a mean itself.
        """
        tasks = [row for row in self.rows if not row.mean_of]
        wanted = [row.mean_of for row in self.rows if row.mean_of]
        return {
            group: tuple(task.name for task in tasks if group in (ALL, *task.groups))
            for group in wanted
        }

    @property
    def empty(self) -> tuple[PublishedCell, ...]:
        """The cells whose value is not at hand."""
        return tuple(cell for cell in self.cells if not cell.at_hand)

    def find_cell(self, row: str, column: str) -> PublishedCell:
        """Return a cell; raises InputError, with the nearest name, if there is none."""
        check_known(row, self.row_names, f"row of {self.id}")
        check_known(column, self.column_names, f"column of {self.id}")
        cell = self.grid.get((row, column))
        if cell is None:
            raise InputError(
                f"{self.id} has no cell in row {row!r}, column {column!r}: nothing is printed"
                " there.",
                "Leave this cell out.",
                code="nothing-printed",
            )
        return cell

    def replace_cells(self, cells: Sequence[PublishedCell]) -> "PublishedTable":
        """Return the table with these cells instead of those at the same places."""
        new = {(cell.row, cell.column): cell for cell in cells}
        kept = tuple(new.get((cell.row, cell.column), cell) for cell in self.cells)
        return replace(self, cells=kept)
