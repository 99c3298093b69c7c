"""A layout of another program: a table with the columns token, x and y, as CSV or TSV."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.spaces.projection.methods import MIN_TOKENS
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray, Matrix
from vocadapt.system.files import check_cell_count, read_document
from vocadapt.text.spreadsheet import unescape_cell

MAX_BYTES = 100 * 2**20  # of a layout file: about two million tokens
MAX_LISTED = 5  # tokens that a sentence names
MAX_COORDINATE = 1e30  # larger ones overflow float32 when the quality is measured
SEPARATORS = (",", ";", "\t")  # spreadsheets that write decimal commas separate by semicolons
# Why tokens are left out.
UNKNOWN = "are unknown to the space"
NOT_FINITE = "lack a finite x or y"
REPEATED = "occur again: the first occurrence is used"
EXAMPLE = "Write a first line token,x,y, and then one line per token."
# Names of each column, in lower case.
TOKEN_NAMES = ("token", "tokens", "word", "words", "label", "name")
X_NAMES = ("x", "x1", "dim1", "pc1", "component1", "tsne1", "umap1", "projection_x")
Y_NAMES = ("y", "x2", "y1", "dim2", "pc2", "component2", "tsne2", "umap2", "projection_y")


@dataclass(frozen=True, eq=False)
class LayoutFile:
    """A layout as read: n tokens, and their coordinates (n, 2) float64, NaN if missing."""

    tokens: tuple[str, ...]
    xy: FloatArray


@dataclass(frozen=True, eq=False)
class MatchedLayout:
    """The tokens of a layout that a space has: their rows (n,) int64 and coordinates (n, 2)
    float32.

    notes: a sentence for each reason why tokens of the file were left out.
    """

    rows: IntArray
    xy: Matrix
    notes: tuple[str, ...]


def read_layout(path: Path) -> LayoutFile:
    """Read a layout from a CSV or TSV file with a header that names its columns.

    Other columns, such as ids, are ignored. A coordinate that is no number counts as missing.
    Raises InputError if the file is not UTF-8 or too large, or lacks a column, and for a line whose
    number of fields is not that of the header.
    """
    # 1. Read the lines, by the separator that occurs most often in the header.
    text = read_document(path, MAX_BYTES)
    header, _, _ = text.lstrip("\n").partition("\n")
    separator = max(SEPARATORS, key=header.count)
    check_cell_count(text, separator, path)
    # In a TSV file, a quotation mark is a token.
    quoting: Any = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator, quoting=quoting)
    try:
        lines = [(rows.line_num, fields) for fields in rows if fields]
    except csv.Error as error:
        raise InputError(
            f"{path.name}: cannot be read as a table: {error}.", EXAMPLE, code="invalid-table"
        ) from error
    if len(lines) < 2:
        raise InputError(f"{path.name}: it has no tokens.", EXAMPLE, code="no-tokens")

    # 2. Find the columns; every line must have those of the header.
    (_, names), *lines = lines
    token, x, y = find_columns(names, path.name)
    _check_lines(lines, len(names), path)

    # 3. Read the fields.
    tokens = tuple(unescape_cell(fields[token]) for _, fields in lines)
    xy = [[_parse_coordinate(fields[x]), _parse_coordinate(fields[y])] for _, fields in lines]
    return LayoutFile(tokens, np.array(xy))


def _check_lines(lines: Sequence[tuple[int, list[str]]], width: int, path: Path) -> None:
    """Raise InputError for fields that span several lines, and for lines without `width` fields."""
    broken = [number for number, fields in lines if any("\n" in field for field in fields)]
    if broken:
        raise InputError(
            f"{path.name}: a quotation mark opens a field that spans several lines, up to line"
            f" {broken[0]:,}.",
            'Write a quotation mark as """" in a CSV file, or save the table as TSV.',
            code="open-quote",
        )
    unlike = [number for number, fields in lines if len(fields) != width]
    if unlike:
        raise InputError(
            f"{path.name}: {len(unlike):,} of {len(lines):,} lines do not have the {width}"
            f" fields of the header, the first is line {unlike[0]:,}.",
            'Quote a token that contains the separator ("a,b").',
            code="unlike-header",
        )


def find_columns(header: Sequence[str], name: str) -> tuple[int, int, int]:
    """Return the numbers of the columns of tokens, x and y; raise InputError if one is missing."""
    names = [one.strip().lower() for one in header]
    found = []
    for column, known in (("token", TOKEN_NAMES), ("x", X_NAMES), ("y", Y_NAMES)):
        place = next((names.index(one) for one in known if one in names), -1)
        if place < 0:
            shown = ", ".join(repr(one[:40]) for one in header[:8])
            raise InputError(
                f"{name}: expected the columns token, x and y, but found no {column} among"
                f" {shown}.",
                EXAMPLE,
                code="missing-column",
            )
        found.append(place)
    return found[0], found[1], found[2]


def match_layout(layout: LayoutFile, space: EmbeddingSpace) -> MatchedLayout:
    """Match a layout to a space: leave out what cannot be drawn, and say how much that is.

    Raises InputError, with the same numbers, if fewer than three tokens are left, or if all of them
    have the same place.
    """
    # 1. Sort the lines by what can be done with them.
    left_out: dict[str, list[str]] = {UNKNOWN: [], NOT_FINITE: [], REPEATED: []}
    places: dict[str, int] = {}
    for number, token in enumerate(layout.tokens):
        if token not in space.index:
            left_out[UNKNOWN].append(token)
        elif token in places:
            left_out[REPEATED].append(token)
        elif not np.isfinite(layout.xy[number]).all():
            left_out[NOT_FINITE].append(token)
        else:
            places[token] = number

    # 2. Say what is left out.
    of = f"of {len(layout.tokens):,} tokens"
    notes = [
        f"{len(tokens):,} {of} {why}: {_list_tokens(tokens)}"
        for why, tokens in left_out.items()
        if tokens
    ]

    # 3. The rest must be a picture.
    kept = np.array(list(places.values()), dtype=np.int64)
    xy = layout.xy[kept].astype(np.float32)
    if len(kept) < MIN_TOKENS:
        few = f"{len(kept):,} {of} can be drawn, at least {MIN_TOKENS} are needed"
        raise InputError(
            f"{'; '.join([few, *notes])}.",
            "Choose the space whose tokens the file has.",
            code="too-few-tokens",
        )
    if (xy == xy[0]).all():
        raise InputError(f"All {len(kept):,} tokens have the same place.", code="one-place")
    return MatchedLayout(space.rows([layout.tokens[number] for number in kept]), xy, tuple(notes))


def _list_tokens(tokens: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(tokens))
    listed = ", ".join(repr(token[:40]) for token in distinct[:MAX_LISTED])
    if len(distinct) > MAX_LISTED:
        listed += ", …"
    return listed


def _parse_coordinate(text: str) -> float:
    """Parse a coordinate; NaN if it is missing, too large or no number."""
    try:
        value = float(unescape_cell(text).replace(",", "."))
    except ValueError:
        return math.nan
    return value if abs(value) <= MAX_COORDINATE else math.nan
