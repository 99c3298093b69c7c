"""Word pairs with people's scores, from files of many shapes.

Tab, comma, semicolon or blanks between the columns, with or without a header. On each row the words
are the first two columns that are not numbers, the score is the first that is: so SimLex-999,
WordSim-353, SimVerb-3500, Bio-SimLex, UMNSRS, MEN, RG-65 and their like are read as they were
published.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import mode

from vocadapt.errors import InputError
from vocadapt.spaces.io.bundled import find_gensim_file
from vocadapt.spaces.io.word_files import read_lines

BUNDLED = {"wordsim353": "wordsim353.tsv", "simlex999": "simlex999.txt"}  # come with gensim
SAMPLE = 20  # rows from which the columns are found
SEPARATORS = "\t;,"  # else blanks
REMEDY = "Expected two words and a score on each line, for example: tiger<TAB>cat<TAB>7.35"


@dataclass(frozen=True)
class JudgedPair:
    """Two words, and how similar or related people find them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class PairList:
    """Word pairs under a name."""

    name: str
    pairs: tuple[JudgedPair, ...]


@dataclass(frozen=True)
class Row:
    """The columns of a line and its number in the file."""

    number: int
    fields: tuple[str, ...]


def load_bundled_pairs() -> tuple[PairList, ...]:
    """WordSim-353 (353 pairs, relatedness) and SimLex-999 (999 pairs, similarity), as they come
    with gensim.
    """
    return tuple(
        PairList(name, read_pairs(find_gensim_file(file)).pairs) for name, file in BUNDLED.items()
    )


def read_pairs(path: Path) -> PairList:
    """Read a list of word pairs; empty lines, lines that start with # and one header line are
    passed over.

    Raises InputError with the number of a line that has no two words and score where the others
    have them.
    """
    rows = read_rows(path)
    if rows and not any(map(is_number, rows[0].fields)):  # a header
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: it holds no word pairs.", REMEDY)
    first, second, score = _columns(rows[:SAMPLE], path)
    return PairList(path.stem, tuple(_pair(row, first, second, score, path) for row in rows))


def read_rows(path: Path, columns: int = 3) -> list[Row]:
    """The lines that hold something, cut into columns: tab, semicolon, comma or blanks, whichever
    makes this many.
    """
    lines = [(number, line.strip(" \r\ufeff")) for number, line in enumerate(read_lines(path), 1)]
    lines = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    separator = _separator([line for _, line in lines[: SAMPLE + 1]], columns)
    return [Row(number, _cut(line, separator)) for number, line in lines]


def _separator(lines: Sequence[str], columns: int) -> str | None:
    """Detect the separator: the first that splits most lines into enough columns; None for blanks."""
    return next(
        (mark for mark in SEPARATORS if _most(len(_cut(line, mark)) >= columns for line in lines)),
        None,
    )


def _cut(line: str, separator: str | None) -> tuple[str, ...]:
    """The columns of a line."""
    if separator is None:
        return tuple(line.split())
    if separator == "\t":
        return tuple(field.strip() for field in line.split("\t"))
    return tuple(
        field.strip()
        for field in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    )


def _columns(sample: Sequence[Row], path: Path) -> tuple[int, int, int]:
    """Which columns hold the two words and the score, by what most of these rows have."""
    width = mode(len(row.fields) for row in sample)
    usual = [row.fields for row in sample if len(row.fields) == width]
    numeric = [_most(is_number(fields[column]) for fields in usual) for column in range(width)]
    words = [column for column in range(width) if not numeric[column]]
    if len(words) < 2 or not any(numeric):
        shown = " | ".join(usual[0])
        raise InputError(
            f"{path}: no two words and a score on its lines, for example {shown[:80]!r}.", REMEDY
        )
    return words[0], words[1], numeric.index(True)


def _pair(row: Row, first: int, second: int, score: int, path: Path) -> JudgedPair:
    """One row as a pair."""
    if len(row.fields) <= max(first, second, score) or not is_number(row.fields[score]):
        shown = " | ".join(row.fields)[:80]
        raise InputError(
            f"{path}, line {row.number:,}: no score in column {score + 1} of {shown!r}.", REMEDY
        )
    return JudgedPair(row.fields[first], row.fields[second], float(row.fields[score]))


def _most(answers: Iterable[bool]) -> bool:
    """Whether more than half are True."""
    answers = list(answers)
    return 2 * sum(answers) > len(answers)


def is_number(field: str) -> bool:
    """Whether a field is a finite number."""
    try:
        return isfinite(float(field))
    except ValueError:
        return False
