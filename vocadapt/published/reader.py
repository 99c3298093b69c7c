"""Published tables, read from TOML and checked.

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
of them that declares it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.published.tables import (
    ALL,
    KINDS,
    PLOTS,
    TEXT,
    Facts,
    Heading,
    PublishedCell,
    PublishedTable,
    Source,
    TableHead,
    Value,
)
from vocadapt.settings import build_settings, check_known, show_value
from vocadapt.system.files import read_toml
from vocadapt.training.tasks.benchmarks import cards

TABLES = Path(__file__).parent / "tables"
NO_CELL = "-"  # in the values: nothing is printed there
NOT_AT_HAND = ""  # in the values: an empty cell, for the reason that its row, column or table gives
REQUIRED = ("unit", "definition", "base_model")
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
        for table in read_tables(path):
            if table.id in found:
                raise InputError(f"{path}: {table.id}: another file has a table of this id.")
            found[table.id] = table
    return found


def find_table(name: str) -> PublishedTable:
    """Return the table of an id; raises InputError, with the nearest id, if there is none."""
    check_known(name, tuple(load_tables()), "published table")
    return load_tables()[name]


def read_tables(path: Path) -> tuple[PublishedTable, ...]:
    """Read the tables of a file.

    Raises InputError, naming file and key, for an unknown or missing key, row or column, for a row
    with too many or too few values, and for a cell without a unit, definition, base model, recipe
    (or why there is none) or, if it is empty, reason.
    """
    content = read_toml(path)
    place = path.name
    _check_keys(content, ("source", "common", "row_sets", "tables"), place)
    source = build_settings(Source, _read_mapping(content.get("source"), f"{place}: source"), place)
    common = build_settings(Facts, content.get("common", {}), f"{place}: common")
    row_sets = _read_mapping(content.get("row_sets", {}), f"{place}: row_sets")
    declared = content.get("tables", [])
    if not isinstance(declared, list) or not declared:
        raise InputError(f"{place}: tables: expected a list of tables.")
    tables = [
        _build_table(_read_mapping(one, f"{place}: tables"), source, common, row_sets, place)
        for one in declared
    ]
    _check_unique([table.id for table in tables], f"{place}: tables")
    return tuple(tables)


def _build_table(
    values: Mapping[str, Any],
    source: Source,
    common: Facts,
    row_sets: Mapping[str, Any],
    file: str,
) -> PublishedTable:
    """Build a table from its declaration."""
    # 1. Read the declaration; a row or column that is only a name has no facts of its own.
    place = f"{file}: {values.get('id', 'a table without id')}"
    rows = values.get("rows", [])
    if isinstance(rows, str):
        check_known(rows, tuple(row_sets), f"row set in {place}")
        rows = row_sets[rows]
    headings = {
        "rows": _name_headings(rows, f"{place}: rows"),
        "columns": _name_headings(values.get("columns"), f"{place}: columns"),
    }
    declared = build_settings(TableDeclaration, {**values, **headings}, place)
    declared = replace(declared, rows=tuple(_add_groups(row) for row in declared.rows))
    _check_declaration(declared, place)

    # 2. Build the table without cells, then each cell from the facts of all levels.
    head = {one.name: getattr(declared, one.name) for one in fields(TableHead)}
    facts = _merge((common, declared))
    table = PublishedTable(**head, source=source, facts=facts, cells=())
    single = {(one.row, one.column): one for one in declared.cells}
    cells = []
    for row in declared.rows:
        given = _get_row_values(declared, row.name, place)
        for column, value in zip(declared.columns, given, strict=True):
            if value == NO_CELL:
                continue
            own = single.get((row.name, column.name), CellDeclaration())
            cells.append(_build_cell(table, row, column, own, value, place))
    return replace(table, cells=tuple(cells))


def _build_cell(
    table: PublishedTable,
    row: Heading,
    column: Heading,
    own: CellDeclaration,
    value: Any,
    file: str,
) -> PublishedCell:
    """Build a cell; raise InputError if it lacks a required fact."""
    place = f"{file}: row {row.name!r}, column {column.name!r}"
    # 1. The facts of all levels, the most specific last.
    facts = _merge((table.facts, _describe_card(row), row, column, own))
    if facts.change_from == column.name:  # the column that the others are changes against
        facts = replace(facts, change_from="")
    if facts.change_from:
        definition = f"change against {facts.change_from}: {facts.definition}"
        facts = replace(facts, definition=definition)

    # 2. The value, or the reason why there is none.
    if isinstance(value, Mapping):
        _check_keys(value, ("empty",), place)
        facts = replace(facts, reason=str(value.get("empty", "")))
    at_hand = value != NOT_AT_HAND and not isinstance(value, Mapping)
    checked = _check_value(value, facts.unit, place) if at_hand else None
    if at_hand:
        facts = replace(facts, reason="")

    # 3. Refuse a cell without a required fact.
    missing = [name for name in REQUIRED if not getattr(facts, name)]
    if not facts.recipe and not facts.no_recipe:
        missing.append("recipe")
    if checked is None and not facts.reason:
        missing.append("reason")
    if missing:
        raise InputError(f"{place}: the key {missing[0]!r} is missing.")
    decimals = table.decimals
    if isinstance(value, int):  # printed as a whole number
        decimals = 0
    return PublishedCell(
        table.id,
        row.name,
        column.name,
        checked,
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


def _get_row_values(declared: TableDeclaration, row: str, place: str) -> Sequence[Any]:
    """Return the values of a row, one for each column; a frame only says where it has cells."""
    frame = declared.kind == "frame"
    blank = [NOT_AT_HAND] * len(declared.columns)
    values = declared.values.get(row, blank) if frame else declared.values[row]
    if not isinstance(values, list):
        raise InputError(f"{place}: values: {row!r}: expected a list, got {show_value(values)}.")
    if len(values) != len(declared.columns):
        raise InputError(
            f"{place}: values: {row!r}: expected {len(declared.columns)} values, one for each"
            f" column, got {len(values)}."
        )
    if frame and set(map(str, values)) - {NOT_AT_HAND, NO_CELL}:
        raise InputError(f"{place}: values: {row!r}: a frame has no values.")
    return values


def _check_value(value: Any, unit: str, place: str) -> Value:
    """Return the value of a cell; raise InputError unless it is a finite number, or a text."""
    if unit == TEXT:
        if isinstance(value, str) and value.strip():
            return value
        raise InputError(f"{place}: expected text, got {show_value(value)}.")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise InputError(f"{place}: expected a number, got {show_value(value)}.")
    return float(value)


def _check_declaration(declared: TableDeclaration, place: str) -> None:
    """Raise InputError for missing keys, and for names that the table does not have."""
    for key in ("id", "title", "where", "study", "rows", "columns"):
        if not getattr(declared, key):
            raise InputError(f"{place}: the key {key!r} is missing.")
    check_known(declared.kind, tuple(KINDS), f"kind in {place}")
    check_known(declared.plot, ("", *PLOTS), f"plot in {place}")
    rows = tuple(row.name for row in declared.rows)
    columns = tuple(column.name for column in declared.columns)
    _check_unique(rows, f"{place}: rows")
    _check_unique(columns, f"{place}: columns")
    _check_values(declared, rows, place)
    # Every row, column and group that another key names.
    named = {
        "column": [(one.change_from, "change_from") for one in (declared, *declared.columns)],
        "row": [],
        "group": [(row.mean_of, "mean_of") for row in declared.rows],
    }
    for cell in declared.cells:
        named["row"].append((cell.row, "cells"))
        named["column"].append((cell.column, "cells"))
    for left in declared.leaves_out:
        named["row"] += [(name, "leaves_out") for name in (*left.rows, *left.means)]
        named["column"] += [(name, "leaves_out") for name in left.columns]
    for gap in declared.gaps:
        named["column"] += [(name, "gaps") for name in (gap.low, gap.high, gap.ours)]
    groups = {ALL, *(group for row in declared.rows for group in row.groups)}
    known = {"row": rows, "column": columns, "group": tuple(groups)}
    for kind, names in named.items():
        for name, key in filter(lambda pair: pair[0], names):
            check_known(name, known[kind], f"{kind} in {place}: {key}")


def _check_values(declared: TableDeclaration, rows: Sequence[str], place: str) -> None:
    """Raise InputError unless there are values for exactly the rows; a frame needs none."""
    for name in declared.values:
        check_known(name, rows, f"row in {place}: values")
    for name in rows:
        if name not in declared.values and declared.kind != "frame":
            raise InputError(f"{place}: values: the row {name!r} is missing.")


def _name_headings(headings: Any, place: str) -> list[Any]:
    """Return rows or columns as tables; a heading that is only a name becomes { name = … }."""
    if not isinstance(headings, list):
        raise InputError(f"{place}: expected a list, got {show_value(headings)}.")
    named = [{"name": one} if isinstance(one, str) else one for one in headings]
    for one in named:
        if not isinstance(one, Mapping) or not one.get("name"):
            raise InputError(f"{place}: the key 'name' is missing in {show_value(one)}.")
    return named


def _read_mapping(value: Any, place: str) -> Mapping[str, Any]:
    """Return a TOML table; raise InputError for any other value."""
    if not isinstance(value, Mapping):
        raise InputError(f"{place}: expected a table, got {show_value(value)}.")
    return value


def _check_keys(values: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for key in values:
        check_known(key, known, f"key in {place}")


def _check_unique(names: Sequence[str], place: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{place}: {twice[0]!r} is given twice.")
