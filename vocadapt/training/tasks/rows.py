"""Rows of a task file as names and values, with the place each stands at: tab-separated columns, or JSON lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import MEGABYTE, parse_json
from vocadapt.text.source import opened

Row = dict[str, Any]
# What columns are called, ours first; a header is a first line that holds the name of what every row needs, or all names chosen.
NAMES = {
    "text": ("text", "sentence", "sentence1", "premise"),
    "pair": ("pair", "sentence2", "hypothesis"),
    "label": ("label", "labels", "gold_label"),
    "id": ("id", "index", "pairID"),
}
KNOWN = {name.lower(): role for role, names in NAMES.items() for name in names}
MAX_TASK_BYTES = 512 * MEGABYTE  # of a file of examples, unpacked: all of them are held
LONGEST_NAME = 40  # characters of a column's name


@dataclass(frozen=True)
class Shape:
    """What every row must have, and what the columns are where no header says it, by their number."""

    needs: str
    without_header: Mapping[int, tuple[str, ...]]


TEXTS = Shape("text", {1: ("text",), 2: ("text", "label"), 3: ("id", "text", "label")})
PREDICTIONS = Shape("label", {1: ("label",), 2: ("id", "label"), 3: ("id", "text", "label")})


def rows_of(path: Path, chosen: Mapping[str, str] | None = None, shape: Shape = TEXTS) -> Iterator[tuple[str, Row]]:
    """Place and row of every line: columns by what they are (text, pair, label, id), others dropped.

    JSON lines where the first line is a JSON object, else tab-separated columns without quoting; without a header line they are
    what the shape says: text, or text and label, or id, text and label. `chosen` (role → column) overrides the usual names.
    Raises InputError, with the line, for a ragged row, JSON that is none, a column that is not there, and a file without rows.
    """
    rows = json_rows(path) if _is_json(path) else _table_rows(path, shape, frozenset((chosen or {}).values()))
    empty = True
    for place, row in rows:
        empty = False
        yield place, _by_role(row, chosen or {}, place, shape)
    if empty:
        raise InputError(f"{path}: holds no example.", "Give a file with a line for each example.")


def json_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Place and object of every JSON line; blank lines are passed over."""
    with opened(path, max_bytes=MAX_TASK_BYTES) as source:
        for number, line in enumerate(source.lines(), start=1):
            if not line.strip():
                continue
            place = f"{path}: line {number:,}"
            row = parse_json(line, place, "Mend or remove the line.")
            if not isinstance(row, dict):
                raise InputError(f"{place}: expected a JSON object, found {type(row).__name__}.", 'Such as {"text": "…"}.')
            yield place, row


def _is_json(path: Path) -> bool:
    with opened(path, max_bytes=MAX_TASK_BYTES) as source:
        return next((line for line in source.lines() if line.strip()), "").lstrip().startswith("{")


def _table_rows(path: Path, shape: Shape, chosen: frozenset[str]) -> Iterator[tuple[str, Row]]:
    with opened(path, max_bytes=MAX_TASK_BYTES) as source:
        names: Sequence[str] = ()
        for number, line in enumerate(source.lines(), start=1):
            cells = line.rstrip("\r\n").split("\t")
            if not any(cells):
                continue
            place = f"{path}: line {number:,}"
            if not names:
                names = cells if chosen and chosen <= {*cells} else _header(cells, place, shape)
                if tuple(names) == tuple(cells):
                    continue
            if len(cells) != len(names):
                shown = ", ".join(names)
                raise InputError(f"{place} has {len(cells)} columns where {len(names)} were expected ({shown}).", "Mend it.")
            yield place, dict(zip(names, cells, strict=True))


def _header(cells: list[str], place: str, shape: Shape) -> Sequence[str]:
    """The names of the columns: those of the first line where it is a header, else by their number."""
    lowered = [cell.strip().lower() for cell in cells]
    if any(KNOWN.get(name) == shape.needs for name in lowered) and all(len(name) <= LONGEST_NAME for name in lowered):
        if len(set(cells)) < len(cells):
            raise InputError(f"{place}: two columns are called alike ({', '.join(cells)}).", "Rename one.")
        return cells
    if len(cells) not in shape.without_header:
        raise InputError(f"{place} has {len(cells)} columns and no header.", "Name them on the first line: id, text, label.")
    return shape.without_header[len(cells)]


def _by_role(row: Row, chosen: Mapping[str, str], place: str, shape: Shape) -> Row:
    """The values by what they are."""
    found: Row = {}
    for role, name in chosen.items():
        if name not in row:
            raise InputError(f"{place}: there is no {name!r}.", f"It has: {', '.join(row) or 'nothing'}.")
        found[role] = row[name]
    usual = {name.lower(): value for name, value in row.items()}
    for role, names in NAMES.items():
        for name in names:
            if role not in found and name.lower() in usual:
                found[role] = usual[name.lower()]
    if shape.needs not in found:
        called = ", ".join(NAMES[shape.needs])
        raise InputError(f"{place}: no {shape.needs} among {', '.join(row) or 'nothing'}.", f"Name it one of: {called}.")
    return found
