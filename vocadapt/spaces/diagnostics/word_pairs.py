"""Readers of word pairs with human similarity scores, from files of many shapes.

Columns are separated by tab, comma, semicolon or blanks, with or without a header. The words are
the first two columns that are not numbers, the score is the first that is. This reads SimLex-999,
WordSim-353, SimVerb-3500, Bio-SimLex, UMNSRS, MEN, RG-65 and similar lists as published.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import mode

from vocadapt.errors import InputError
from vocadapt.spaces.io.word_files import find_gensim_file, read_word_lines

BUNDLED = {"wordsim353": "wordsim353.tsv", "simlex999": "simlex999.txt"}  # come with gensim
SAMPLE = 20  # rows from which the columns are found
SEPARATORS = "\t;,"  # else blanks
REMEDY = "Expected two words and a score on each line, for example: tiger<TAB>cat<TAB>7.35"


@dataclass(frozen=True)
class JudgedPair:
    """Two words, and the similarity or relatedness that people judged."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class PairList:
    """Word pairs under a name."""

    name: str
    pairs: tuple[JudgedPair, ...]


@dataclass(frozen=True)
class TableRow:
    """The columns of a line and its number in the file."""

    number: int
    fields: tuple[str, ...]


def load_bundled_pairs() -> tuple[PairList, ...]:
    """Load WordSim-353 (353 pairs, relatedness) and SimLex-999 (999 pairs, similarity), which come
    with gensim.
    """
    files = {name: find_gensim_file(file) for name, file in BUNDLED.items()}
    return tuple(PairList(name, read_pairs(file).pairs) for name, file in files.items())


def read_pairs(path: Path) -> PairList:
    """Read a list of word pairs; empty lines, lines that start with # and one header line are
    skipped.

    Raises InputError, with the line number, for a line without two words and a score.
    """
    rows = read_rows(path)
    if rows and not any(map(is_number, rows[0].fields)):  # a header
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: it holds no word pairs.", REMEDY)
    first, second, score = _detect_columns(rows[:SAMPLE], path)
    return PairList(path.stem, tuple(_parse_pair(row, first, second, score, path) for row in rows))


def read_rows(path: Path, columns: int = 3) -> list[TableRow]:
    """Read the lines of a table, split by tab, semicolon, comma or blanks: the first that gives
    `columns` columns. Empty lines and lines that start with # are skipped.
    """
    lines = [
        (number, line.strip(" \r\ufeff")) for number, line in enumerate(read_word_lines(path), 1)
    ]
    lines = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    separator = _detect_separator([line for _, line in lines[: SAMPLE + 1]], columns)
    return [TableRow(number, _split_columns(line, separator)) for number, line in lines]


def _detect_separator(lines: Sequence[str], columns: int) -> str | None:
    """Detect the separator: the first that splits most lines into enough columns; None for blanks."""
    for mark in SEPARATORS:
        if _is_majority(len(_split_columns(line, mark)) >= columns for line in lines):
            return mark
    return None


def _split_columns(line: str, separator: str | None) -> tuple[str, ...]:
    if separator is None:
        return tuple(line.split())
    if separator == "\t":
        return tuple(map(str.strip, line.split("\t")))
    fields = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    return tuple(map(str.strip, fields))


def _detect_columns(sample: Sequence[TableRow], path: Path) -> tuple[int, int, int]:
    """Detect the columns of the two words and of the score, by majority of the sampled rows."""
    width = mode(len(row.fields) for row in sample)
    usual = [row.fields for row in sample if len(row.fields) == width]
    is_numeric = [_is_majority(map(is_number, column)) for column in zip(*usual, strict=True)]
    words = [column for column in range(width) if not is_numeric[column]]
    if len(words) < 2 or not any(is_numeric):
        shown = " | ".join(usual[0])
        raise InputError(
            f"{path}: no two words and a score on its lines, for example {shown[:80]!r}.", REMEDY
        )
    return words[0], words[1], is_numeric.index(True)


def _parse_pair(row: TableRow, first: int, second: int, score: int, path: Path) -> JudgedPair:
    if len(row.fields) <= max(first, second, score) or not is_number(row.fields[score]):
        shown = " | ".join(row.fields)[:80]
        raise InputError(
            f"{path}, line {row.number:,}: no score in column {score + 1} of {shown!r}.", REMEDY
        )
    return JudgedPair(row.fields[first], row.fields[second], float(row.fields[score]))


def _is_majority(answers: Iterable[bool]) -> bool:
    """Return whether more than half of the answers are true."""
    answers = list(answers)
    return 2 * sum(answers) > len(answers)


def is_number(field: str) -> bool:
    """Return whether a field is a finite number."""
    try:
        return isfinite(float(field))
    except ValueError:
        return False
