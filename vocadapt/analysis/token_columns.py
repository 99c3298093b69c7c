"""Columns of token values that color a projection or fill a table: length, id, frequency, origin,
slice, or a user's table.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.space import NO_KINDS, TokenKinds
from vocadapt.system.files import check_cell_count, read_document
from vocadapt.text.spreadsheet import unescape_cell

MAX_CATEGORIES = 8  # categories that colors and marks can tell apart; the rest are `other`
OTHER, UNKNOWN = "other", "no value"
ORIGINS = ("source", "added", "target", "new row", "dropped")
REST = "the others"
HEADINGS = ("token", "tokens", "word", "words")


@dataclass(frozen=True, eq=False)
class Column:
    """A value for each token: numbers (n,) float32 with NaN for missing values, or n categories
    (`words`) with "" for missing values.

    `logarithmic`: whether it is drawn on a logarithmic scale. `order`: categories that come first;
    the others follow by size.
    """

    name: str
    numbers: NDArray[np.float32] | None = None
    words: tuple[str, ...] | None = None
    logarithmic: bool = False
    order: tuple[str, ...] = ()

    @property
    def known(self) -> int:
        """Number of tokens with a value."""
        return sum(value is not None for value in self.values)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories: those of `order`, then the others by size.

        If there are more than MAX_CATEGORIES, the smallest are merged into `other`.
        """
        sizes = Counter(word for word in self.words or () if word)
        # `pop` keeps the categories of `order` out of the others.
        names = [name for name in self.order if sizes.pop(name, 0)]
        names += sorted(sizes, key=lambda name: (-sizes[name], name))
        if len(names) > MAX_CATEGORIES:
            names = [*names[: MAX_CATEGORIES - 1], OTHER]
        return tuple(names)

    @cached_property
    def codes(self) -> NDArray[np.int16]:
        """Category of each token as an index into `categories`, (n,) int16; −1 if missing."""
        place = {name: code for code, name in enumerate(self.categories)}
        code_of = dict.fromkeys(self.words or (), place.get(OTHER, -1)) | place | {"": -1}
        return np.array([code_of[word] for word in self.words or ()], dtype=np.int16)

    @property
    def values(self) -> list[float | str | None]:
        """The values as plain Python values; None if missing."""
        if self.numbers is None:
            return [word or None for word in self.words or ()]
        values = self.numbers.astype(object)
        values[~np.isfinite(self.numbers)] = None
        return list(values.tolist())


def build_length_column(tokens: Sequence[str], kinds: TokenKinds = NO_KINDS) -> Column:
    """Build a column of token lengths in characters, without continuation marks."""
    return Column(
        "length", np.array([len(kinds.body(token)) for token in tokens], dtype=np.float32)
    )


def build_id_column(rows: ArrayLike) -> Column:
    """Build a column of token ids, the rows of the tokens in the space."""
    return Column("id", np.asarray(rows).astype(np.float32))


def build_frequency_column(counts: ArrayLike) -> Column:
    """Build a column of token counts, (n,), on a logarithmic scale."""
    return Column("frequency", np.asarray(counts).astype(np.float32), logarithmic=True)


def build_origin_column(tokens: Sequence[str], plan: Mapping[str, Any]) -> Column:
    """Build a column of ORIGINS from the plan in an adapted model's record.

    "target": from another model's vocabulary. "source": in none of the plan's lists.
    """
    origin_of_added = "added"
    refills = plan.get("kind") in ("combined", "extend")
    from_target = refills and plan.get("settings", {}).get("add_by") == "target"
    if from_target or plan.get("kind") == "transfer":
        origin_of_added = "target"
    # For a token in several lists the last one counts.
    origins = {str(word[0]): origin_of_added for word in plan.get("added_tokens", ())}
    origins |= {str(token): "new row" for token in plan.get("replaced_tokens", ())}
    origins |= {str(token): "dropped" for token in plan.get("dropped_tokens", ())}
    return Column(
        "origin", words=tuple(origins.get(token, "source") for token in tokens), order=ORIGINS
    )


def build_membership_column(tokens: Sequence[str], chosen: Iterable[str], name: str) -> Column:
    """Build a column of two categories: the tokens in a selection, and the others."""
    label = name
    if name == REST:
        label = f"{name} (slice)"
    label_of = dict.fromkeys(tokens, REST) | dict.fromkeys(chosen, label)
    return Column(name, words=tuple(label_of[token] for token in tokens), order=(label, REST))


def column_from_table(tokens: Sequence[str], table: Mapping[str, str], name: str) -> Column:
    """Build a column from a user's table: numbers if all matching values are numbers, else
    categories.
    """
    found = [table.get(token, "").strip() for token in tokens]
    numbers = np.array([_parse_number(value) for value in found])
    n_filled = sum(map(bool, found))
    if n_filled and np.isfinite(numbers).sum() == n_filled:
        return Column(name, numbers.astype(np.float32))
    return Column(name, words=tuple(found))


def read_token_table(path: Path) -> dict[str, str]:
    """Read a file of tokens and values, one pair per line, separated by comma or tab: token →
    value.

    A header line is skipped; the last value of a repeated token counts. Raises InputError if the
    file is not UTF-8, is empty, or has a line with fewer than two fields.
    """
    # 1. Read the rows, by the separator of the first line.
    text = read_document(path)
    file = StringIO(text, newline="")
    tabs = "\t" in file.readline()
    check_cell_count(text, "\t" if tabs else ",", path)
    file.seek(0)
    # In tab-separated files a quotation mark is a token; in CSV files it may enclose a field.
    rows = csv.reader(file, strict=True)
    if tabs:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        lines = [line for line in rows if line]
    except csv.Error as error:
        raise InputError(
            f"{path.name}: cannot be read: {error}.", "Write lines of: token,value"
        ) from error
    # 2. Skip a header, and reject lines without a value.
    if lines and lines[0][0].strip().lower() in HEADINGS:
        lines = lines[1:]
    short = [n for n, line in enumerate(lines, start=1) if len(line) < 2]
    if short or not lines:
        found = f"got one field in pair {short[0]}" if short else "found none"
        raise InputError(
            f"{path.name}: expected lines of a token and a value, {found}.",
            "Write lines of: token,value",
        )
    return {unescape_cell(line[0]): unescape_cell(line[1]) for line in lines}


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
