"""Rows of a task file as names and values, with their place: tab-separated columns, or
JSON lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.system.files import MEGABYTE, parse_json
from vocadapt.text.formats.text_file import Source, open_text_file

Row = dict[str, Any]
# What columns are called, ours first; a header is a first line that holds the name of what every
# row needs, or all names chosen.
NAMES = {
    "text": ("text", "sentence", "sentence1", "premise"),
    "pair": ("pair", "sentence2", "hypothesis"),
    "label": ("label", "labels", "gold_label"),
    "id": ("id", "index", "pairID"),
}
KNOWN = {name.lower(): role for role, names in NAMES.items() for name in names}
# Of a file of examples, uncompressed: all are kept in memory.
MAX_TASK_BYTES = 512 * MEGABYTE
MAX_TASK_LINES = 3_000_000
MAX_NAME_LENGTH = 40  # characters of a column's name


@dataclass(frozen=True)
class Shape:
    """The columns of a task's files, required and optional, and their order in files without a
    header.

    columns: usual column names, for messages. called: names of the required columns.
    labels: the possible labels, to recognize the label column if the order is ambiguous (NLI).
    """

    needs: str
    without_header: Mapping[int, tuple[str, ...]]
    columns: str
    called: tuple[str, ...]
    labels: frozenset[str] = frozenset()

    def roles(self, cells: Sequence[str]) -> tuple[str, ...] | None:
        """Infer the roles of the columns from a first line that is not a header; None if
        ambiguous.
        """
        if not self.labels:
            return self.without_header.get(len(cells))
        return self.without_header.get(len(cells)) or _roles_of_pair(cells, self.labels)

    def check_label(self, row: Row, place: str) -> None:
        """Raise InputError if a row's label is not one of the possible labels, so that its column
        was probably mistaken for another.
        """
        if self.labels and row.get("label", "-").strip().lower() not in self.labels:
            raise InputError(
                f"{place}: {row['label']!r:.60} is none of the labels"
                f" {', '.join(sorted(self.labels))}.",
                f"Name the columns on the first line: {self.columns}.",
                code="unknown-label",
            )


def _roles_of_pair(cells: Sequence[str], labels: frozenset[str]) -> tuple[str, ...] | None:
    """Infer the columns of a labeled sentence pair from the first line; None if ambiguous.

    1. The label is the only cell that is one of the labels.
    2. Of three other cells, the id is the first or last one, whichever contains no space.

    Example: "p1", "No fever.", "He is afebrile.", "entailment" -> id, text, pair, label.
    """
    # 1. The label.
    places = [place for place, cell in enumerate(cells) if cell.strip().lower() in labels]
    others = [place for place in range(len(cells)) if place not in places]
    if len(places) != 1 or len(others) not in (2, 3):
        return None
    # 2. The id: identifiers have no spaces, sentences do.
    roles = {places[0]: "label"}
    if len(others) == 3:
        ids = [
            place
            for place in (others[0], others[2])
            if cells[place].strip() and len(cells[place].split()) == 1
        ]
        if len(ids) != 1:
            return None
        roles[ids[0]] = "id"
        others.remove(ids[0])
    roles |= {others[0]: "text", others[1]: "pair"}
    return tuple(roles[place] for place in range(len(cells)))


USUAL_COLUMNS = {1: ("text",), 2: ("text", "label"), 3: ("id", "text", "label")}
TEXTS = Shape("text", USUAL_COLUMNS, "id, text, label", ("text", "sentence"))
PREDICTIONS = Shape(
    "label",
    {1: ("label",), 2: ("id", "label"), 3: ("id", "text", "label")},
    "id, label",
    NAMES["label"],
)


def read_table_rows(
    path: Path, chosen: Mapping[str, str] | None = None, shape: Shape = TEXTS
) -> Iterator[tuple[str, Row]]:
    """Read the place and row of every line; a row maps roles (text, pair, label, id) to cells.

    The file is JSON lines if the first line is a JSON object, else tab-separated without quoting.
    Without a header the columns are: text; or text and label; or id, text and label; for NLI two
    sentences, with label and id if unambiguous.
    chosen: role -> column, instead of the usual names. Raises InputError, with the line, for a
    ragged row, invalid JSON, a missing column, and a file without rows.
    """
    if _is_json(path):
        # Such as {"id": "…", "text": "…", "label": "…"}.
        fields = ", ".join(f'"{name}": "…"' for name in shape.columns.split(", "))
        rows = read_json_rows(path, f"{{{fields}}}")
    else:
        rows = _table_rows(path, shape, frozenset((chosen or {}).values()))
    empty = True
    for place, row in rows:
        empty = False
        yield place, _by_role(row, chosen or {}, place, shape)
    if empty:
        raise InputError(
            f"{path}: holds no example.",
            "Give a file with a line for each example.",
            code="no-examples",
        )


def read_json_rows(path: Path, example: str = '{"text": "…"}') -> Iterator[tuple[str, Row]]:
    """Read the place and object of every JSON line, skipping blank lines; example: a valid line,
    for messages.
    """
    with open_task_file(path) as source:
        for number, line in enumerate(source.lines(), start=1):
            if not line.strip():
                continue
            place = f"{path}: line {number:,}"
            row = parse_json(line, place, "Mend or remove the line.")
            if not isinstance(row, dict):
                raise InputError(
                    f"{place}: expected a JSON object, found {type(row).__name__}.",
                    f"Such as {example}.",
                    code="not-a-json-object",
                )
            yield place, row


def open_task_file(path: Path) -> AbstractContextManager[Source]:
    """Open a file of examples; raises InputError if it cannot be read, or is too large."""
    return open_text_file(path, max_bytes=MAX_TASK_BYTES, max_lines=MAX_TASK_LINES)


def _is_json(path: Path) -> bool:
    with open_task_file(path) as source:
        return next((line for line in source.lines() if line.strip()), "").lstrip().startswith("{")


def _table_rows(path: Path, shape: Shape, chosen: frozenset[str]) -> Iterator[tuple[str, Row]]:
    with open_task_file(path) as source:
        names: Sequence[str] = ()
        named = True
        for number, line in enumerate(source.lines(), start=1):
            cells = line.rstrip("\r\n").split("\t")
            if not any(cells):
                continue
            place = f"{path}: line {number:,}"
            if not names:
                # 1. The first line tells the columns; if it is no header, it is also the first row.
                names = cells if chosen and chosen <= {*cells} else _header(cells, place, shape)
                if tuple(names) == tuple(cells):
                    _refuse_equal_names(names, place)
                    continue
                named = False
            # 2. Every row has the same columns. Without a header their order was only inferred, so
            # the labels are checked too.
            if len(cells) != len(names):
                raise InputError(
                    f"{place} has {len(cells)} columns where {len(names)} were expected"
                    f" ({', '.join(names)}).",
                    "Mend it.",
                    code="ragged-row",
                )
            row = dict(zip(names, cells, strict=True))
            if not named:
                shape.check_label(row, place)
            yield place, row


def _header(cells: list[str], place: str, shape: Shape) -> Sequence[str]:
    """Return the column names: those of the first line if it is a header, else inferred from the
    number of columns.
    """
    lowered = [cell.strip().lower() for cell in cells]
    if any(KNOWN.get(name) == shape.needs for name in lowered) and all(
        len(name) <= MAX_NAME_LENGTH for name in lowered
    ):
        return cells
    roles = shape.roles(cells)
    if roles is None:
        raise InputError(
            f"{place} has {len(cells)} columns and no header that names them.",
            f"Name them on the first line: {shape.columns}.",
            code="no-header",
        )
    return roles


def _refuse_equal_names(names: Sequence[str], place: str) -> None:
    if len({name.lower() for name in names}) < len(names):
        raise InputError(
            f"{place}: two columns are called alike ({', '.join(names)}).",
            "Rename one.",
            code="repeated-column",
        )


def _by_role(row: Row, chosen: Mapping[str, str], place: str, shape: Shape) -> Row:
    found: Row = {}
    for role, name in chosen.items():
        if name not in row:
            raise InputError(
                f"{place}: there is no {name!r}.",
                f"It has: {', '.join(row) or 'nothing'}.",
                code="missing-column",
            )
        found[role] = row[name]
    # Columns under their usual names, the earlier name first; chosen columns take precedence.
    usual = {name.lower(): value for name, value in row.items()}
    for role, names in NAMES.items():
        for name in names:
            if role not in found and name.lower() in usual:
                found[role] = usual[name.lower()]
    if shape.needs not in found:
        raise InputError(
            f"{place}: no {shape.called[0]} among {', '.join(row) or 'nothing'}.",
            f"Name it one of: {', '.join(shape.called)}.",
            code="missing-column",
        )
    return found
