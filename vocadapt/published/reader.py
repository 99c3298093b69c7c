"""Published tables, read from TOML.

A file has a [source], [common] facts of all its tables, named sets of rows under [row_sets], and
[[tables]]:

    [[tables]]
    id = "fast-6.6"
    rows = "bio-lm"                            # a set of rows, or a list
    columns = ["BERT", { name = "+ target WE", recipe = "transfer-target" }]
    values."BC5CDR-chem" = [88.85, -16.10]     # one value for each column

A value is a number (a whole one is printed without decimals) or text; "-" means that no cell is
printed there, and { empty = "…" } a cell that is not at hand, with its reason. A frame has no
values, or only "-" and "". A fact of a cell is declared by the cell ([[tables.cells]]), else its
column, its row, the benchmark card of its data (definition only), its table or its file: the first
of them that declares it. Tests hold that each cell is complete and that each name is one of its
table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from vocadapt.published.tables import (
    Facts,
    Heading,
    PublishedCell,
    PublishedTable,
    Source,
    TableHead,
    Value,
)
from vocadapt.settings import build_settings, check_known
from vocadapt.system.files import read_toml
from vocadapt.training.tasks.benchmarks import cards

TABLES = Path(__file__).parent / "tables"
NO_CELL = "-"  # in the values: nothing is printed there
NOT_AT_HAND = ""  # in the values: an empty cell, for the reason that its row, column or table gives
FACTS = tuple(one.name for one in fields(Facts))


@dataclass(frozen=True)
class CellDeclaration(Facts):
    """Facts of a single cell."""

    row: str = ""
    column: str = ""
    collapsed: bool = False


@dataclass(frozen=True)
class TableDeclaration(Facts, TableHead):
    """A table as its file declares it."""

    values: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[CellDeclaration, ...] = ()


@cache
def load_tables() -> Mapping[str, PublishedTable]:
    """Load all published tables by id, in the order of their files."""
    found: dict[str, PublishedTable] = {}
    for path in sorted(TABLES.glob("*.toml")):
        found |= {table.id: table for table in read_tables(path)}
    return found


def find_table(name: str) -> PublishedTable:
    """Return the table of an id; raises InputError, with the nearest id, if there is none."""
    check_known(name, tuple(load_tables()), "published table")
    return load_tables()[name]


def read_tables(path: Path) -> tuple[PublishedTable, ...]:
    """Read the tables of a file; raises InputError, naming file and key, for an unknown key and a
    value of another type.
    """
    content = read_toml(path)
    source = build_settings(Source, content["source"], path.name)
    common = build_settings(Facts, content.get("common", {}), f"{path.name}: common")
    row_sets = content.get("row_sets", {})
    return tuple(
        _build_table(one, source, common, row_sets, f"{path.name}: {one['id']}")
        for one in content["tables"]
    )


def _build_table(
    values: Mapping[str, Any],
    source: Source,
    common: Facts,
    row_sets: Mapping[str, Any],
    place: str,
) -> PublishedTable:
    # 1. Read the declaration; a row or column that is only a name has no facts of its own.
    rows = values["rows"]
    if isinstance(rows, str):
        rows = row_sets[rows]
    headings = {"rows": _name_headings(rows), "columns": _name_headings(values["columns"])}
    declared = build_settings(TableDeclaration, {**values, **headings}, place)
    declared = replace(declared, rows=tuple(map(_add_groups, declared.rows)))

    # 2. Build the table without cells, then each cell from the facts of all levels.
    head = {one.name: getattr(declared, one.name) for one in fields(TableHead)}
    facts = _merge((common, declared))
    table = PublishedTable(**head, source=source, facts=facts, cells=())
    single = {(one.row, one.column): one for one in declared.cells}
    blank = [NOT_AT_HAND] * len(declared.columns)  # a row of a frame
    cells = []
    for row in declared.rows:
        given = declared.values.get(row.name, blank)
        for column, value in zip(declared.columns, given, strict=True):
            if value == NO_CELL:
                continue
            own = single.get((row.name, column.name), CellDeclaration())
            cells.append(_build_cell(table, row, column, own, value))
    return replace(table, cells=tuple(cells))


def _build_cell(
    table: PublishedTable, row: Heading, column: Heading, own: CellDeclaration, value: Any
) -> PublishedCell:
    # 1. The facts of all levels, the most specific last.
    facts = _merge((table.facts, _describe_card(row), row, column, own))
    if facts.change_from == column.name:  # the column that the others are changes against
        facts = replace(facts, change_from="")
    if facts.change_from:
        definition = f"change against {facts.change_from}: {facts.definition}"
        facts = replace(facts, definition=definition)

    # 2. The value, or the reason why there is none.
    at_hand: Value | None = None
    if isinstance(value, Mapping):
        facts = replace(facts, reason=value["empty"])
    elif value != NOT_AT_HAND:
        facts = replace(facts, reason="")
        at_hand = value if isinstance(value, str) else float(value)
    decimals = table.decimals
    if isinstance(value, int):  # printed as a whole number
        decimals = 0
    return PublishedCell(
        table.id,
        row.name,
        column.name,
        at_hand,
        table.source,
        table.where,
        facts,
        decimals,
        own.collapsed,
    )


def _merge(levels: Sequence[Facts]) -> Facts:
    """Combine the facts of several levels; a later one overrides an earlier one.

    recipe and no_recipe are one decision: a level that declares one of them overrides both.
    """
    merged: dict[str, str] = {}
    for level in levels:
        given = {name: getattr(level, name) for name in FACTS if getattr(level, name)}
        if "recipe" in given or "no_recipe" in given:
            merged.pop("recipe", None)
            merged.pop("no_recipe", None)
        merged |= given
    return Facts(**merged)


def _describe_card(row: Heading) -> Facts:
    """Return the definition of a row's score from its benchmark card, if its data is a card."""
    card = cards().get(row.data)
    return Facts(definition=card.metric) if card else Facts()


def _add_groups(row: Heading) -> Heading:
    """Add the groups of a row's benchmark card, if its data is a card."""
    card = cards().get(row.data)
    return replace(row, groups=card.groups) if card and not row.groups else row


def _name_headings(headings: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return rows or columns as tables; a heading that is only a name becomes { name = … }."""
    return [{"name": one} if isinstance(one, str) else one for one in headings]
