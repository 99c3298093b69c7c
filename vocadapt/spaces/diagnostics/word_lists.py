"""Lists of word pairs and analogies: files in several formats, and the lists bundled with gensim.

    analogy questions    `: capital` lines, four words under them   each section is a relation
    pairs with a score   tiger TAB cat TAB 7.35                      one relation and a similarity
                                                                     set (Spearman)
    paradigms            a header that begins with `lemma`           each other column is a relation
                                                                     to the lemma
    pairs of a relation  left TAB right TAB antonyms                 each value of the third column
                                                                     is a relation; of the first, if
                                                                     it has parts of speech, as in
                                                                     WordNet's lists
    pairs                left TAB right                              one relation

Columns are separated by tab, comma, semicolon or blanks, with or without a header; empty lines and
lines that start with # are ignored. Of pairs with a score, the words are the first two columns that
are not numbers and the score is the first that is. This reads SimLex-999, WordSim-353,
SimVerb-3500, Bio-SimLex, UMNSRS, MEN, RG-65 and similar lists as published.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import mode

from vocadapt.errors import InputError
from vocadapt.spaces.io.word_files import find_gensim_file, read_word_lines

BUNDLED = {"wordsim353": "wordsim353.tsv", "simlex999": "simlex999.txt"}  # bundled with gensim
SAMPLE = 20  # rows used to detect the columns
SEPARATORS = "\t;,"  # if none fits, blanks separate the columns
SCORE_REMEDY = "Expected two words and a score on each line, for example: tiger<TAB>cat<TAB>7.35"
PARTS_OF_SPEECH = frozenset(
    {"adj", "adjective", "a", "s", "adv", "adverb", "r", "verb", "v", "noun", "n"}
)
HEADERS = frozenset(
    {"first", "second", "word", "word1", "word2", "word_1", "word_2", "relation", "pos", "kind"}
)
SIMILAR, UNRELATED = 7.0, 2.0  # bounds on the scales of both lists, 0 to 10
FAST = "Fast 2023, table 3.4"
TABLE_3_4 = {
    "verb tenses": "leave",
    "synonyms": "abandoned",
    "antonyms": "right",
    "unrelated": "mountain",
}
RELATION_REMEDY = (
    "Expected two words on each line, and a score or the name of their relation after them:"
    " left<TAB>right<TAB>antonyms"
)


@dataclass(frozen=True)
class JudgedPair:
    """Two words, and their similarity or relatedness as judged by people."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class PairList:
    """A named list of judged word pairs."""

    name: str
    pairs: tuple[JudgedPair, ...]


@dataclass(frozen=True)
class TableRow:
    """The columns of a line and its number in the file."""

    number: int
    fields: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The beginning of the line, for messages."""
        return " | ".join(self.fields)[:80]


@dataclass(frozen=True)
class AnalogySection:
    """Analogy questions a : b = c : d of one kind."""

    name: str
    questions: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True)
class Relation:
    """Distinct word pairs of one relation, with the name of their list and of the relation."""

    source: str
    name: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RelationList:
    """The relations of a file, and its scored pairs if people judged them."""

    name: str
    relations: tuple[Relation, ...]
    judged: PairList | None = None


def load_bundled_pairs() -> tuple[PairList, ...]:
    """Load the pairs of WordSim-353 (relatedness) and SimLex-999 (similarity), part of gensim."""
    return tuple(
        PairList(name, read_pairs(find_gensim_file(file)).pairs) for name, file in BUNDLED.items()
    )


def read_pairs(path: Path) -> PairList:
    """Read a list of word pairs; empty lines, lines with # and one header line are skipped.

    Raises InputError, with the line number, for a line without two words and a score.
    """
    rows = read_rows(path)
    if rows and not any(map(is_number, rows[0].fields)):  # a header
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: the file contains no word pairs.", SCORE_REMEDY, code="no-pairs")
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
    """Detect the separator: the first that splits most lines into enough; None for blanks."""
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
            f"{path}: no two words and a score on its lines, for example {shown[:80]!r}.",
            SCORE_REMEDY,
            code="no-scores",
        )
    return words[0], words[1], is_numeric.index(True)


def _parse_pair(row: TableRow, first: int, second: int, score: int, path: Path) -> JudgedPair:
    if len(row.fields) <= max(first, second, score) or not is_number(row.fields[score]):
        raise InputError(
            f"{path}, line {row.number:,}: no score in column {score + 1} of {row.shown!r}.",
            SCORE_REMEDY,
            code="no-score",
        )
    return JudgedPair(row.fields[first], row.fields[second], float(row.fields[score]))


def _is_majority(answers: Iterable[bool]) -> bool:
    answers = list(answers)
    return 2 * sum(answers) > len(answers)


def is_number(field: str) -> bool:
    """Return whether a field is a finite number."""
    try:
        return isfinite(float(field))
    except ValueError:
        return False


def read_analogies(path: Path) -> tuple[AnalogySection, ...]:
    """Read questions in Google's format: `: section` lines, each followed by lines of four words.

    Raises InputError with the number of a line that is neither.
    """
    sections: list[tuple[str, list[tuple[str, str, str, str]]]] = []
    for number, line in enumerate(read_word_lines(path), 1):
        fields = line.split()
        if line.startswith(":"):
            sections.append((line[1:].strip(), []))
        elif fields and len(fields) != 4:
            raise InputError(
                f"{path}, line {number:,}: expected four words or `: section`, found {len(fields)}"
                " words.",
                "An analogy is, for example: Athens Greece Oslo Norway.",
                code="not-four-words",
            )
        elif fields:
            # Questions before the first section form a section with the name of the file.
            if not sections:
                sections.append((path.stem, []))
            sections[-1][1].append((fields[0], fields[1], fields[2], fields[3]))
    if not any(questions for _, questions in sections):
        raise InputError(
            f"{path}: the file contains no analogy questions.",
            "Expected four words per line, for example: Athens Greece Oslo Norway.",
            code="no-questions",
        )
    return tuple(AnalogySection(name, tuple(questions)) for name, questions in sections)


def load_bundled_analogies() -> tuple[AnalogySection, ...]:
    """Load Google's 19 544 analogy questions, bundled with gensim."""
    return read_analogies(find_gensim_file("questions-words.txt"))


def build_relation(source: str, name: str, pairs: Iterable[tuple[str, str]]) -> Relation:
    """Build a relation without duplicates; (a, b) and (b, a) are one pair."""
    distinct: dict[frozenset[str], tuple[str, str]] = {}
    for first, second in pairs:
        distinct.setdefault(frozenset((first, second)), (first, second))
    return Relation(source, name, tuple(distinct.values()))


def load_bundled_relations() -> tuple[RelationList, ...]:
    """Load the pairs of Fast 2023 (table 3.4), Google's analogy questions, and the most and least
    similar pairs of WordSim-353 and SimLex-999.

    All but the first are bundled with gensim.
    """
    pairs_of_left = [Relation(FAST, name, (("left", other),)) for name, other in TABLE_3_4.items()]
    related, similar = load_bundled_pairs()
    analogies = _build_section_relations("Google analogies", load_bundled_analogies())
    return (
        RelationList(FAST, tuple(pairs_of_left)),
        _select_judged(similar, f"similar (judged {SIMILAR:g} or more)", SIMILAR, 10.0),
        _select_judged(related, f"unrelated (judged {UNRELATED:g} or less)", 0.0, UNRELATED),
        RelationList("Google analogies", analogies),
    )


def read_relations(path: Path) -> RelationList:
    """Read a list of word pairs; raises InputError with the number of a line that does not fit."""
    # The format is detected from a section line, else from the header, else from the scores.
    name = path.stem
    if any(line.lstrip("\ufeff").startswith(": ") for line in read_word_lines(path)):
        return RelationList(name, _build_section_relations(name, read_analogies(path)))
    rows = read_rows(path, columns=2)
    if not rows:
        raise InputError(
            f"{path}: the file contains no word pairs.", RELATION_REMEDY, code="no-pairs"
        )
    if rows[0].fields[0].lower() == "lemma":
        return RelationList(name, _build_paradigm_relations(name, rows, path))
    if 2 * sum(map(_is_scored, rows)) > len(rows):
        judged = read_pairs(path)
        pairs = build_relation(name, name, ((pair.first, pair.second) for pair in judged.pairs))
        return RelationList(name, (pairs,), judged)
    return RelationList(name, _build_pair_relations(name, rows, path))


def _select_judged(pairs: PairList, name: str, low: float, high: float) -> RelationList:
    """Build a list of judged pairs, with those whose score is between two bounds as a relation."""
    chosen = [(pair.first, pair.second) for pair in pairs.pairs if low <= pair.score <= high]
    return RelationList(pairs.name, (build_relation(pairs.name, name, chosen),), pairs)


def _build_section_relations(
    source: str, sections: Iterable[AnalogySection]
) -> tuple[Relation, ...]:
    """Build a relation of each section of analogies; a : b = c : d gives the pairs a b and c d."""
    relations = []
    for section in sections:
        pairs: list[tuple[str, str]] = []
        for a, b, c, d in section.questions:
            pairs += [(a, b), (c, d)]
        if pairs:
            relations.append(build_relation(source, section.name, pairs))
    return tuple(relations)


def _build_paradigm_relations(
    source: str, rows: list[TableRow], path: Path
) -> tuple[Relation, ...]:
    """Build a relation from each column, paired with the first; an empty cell is a missing form."""
    header, *forms = rows
    for row in forms:
        _check_width(row, len(header.fields), path)
    if len(header.fields) < 2 or not forms:
        raise InputError(
            f"{path}: a header with nothing to pair under it.",
            RELATION_REMEDY,
            code="nothing-to-pair",
        )
    relations = []
    for column, name in enumerate(header.fields[1:], start=1):
        pairs = [(row.fields[0], row.fields[column]) for row in forms if row.fields[column]]
        relations.append(build_relation(source, f"{header.fields[0]} – {name}", pairs))
    return tuple(relations)


def _build_pair_relations(source: str, rows: list[TableRow], path: Path) -> tuple[Relation, ...]:
    """Group pairs by the column that names their relation; without one, all are one relation."""
    # 1. Skip a header, and check that all lines have the same number of columns.
    header = [field.lower() for field in rows[0].fields]
    if HEADERS.issuperset(header):
        rows = rows[1:]
    if not rows:
        raise InputError(
            f"{path}: the file contains no word pairs.", RELATION_REMEDY, code="no-pairs"
        )
    width = 2
    if 2 * sum(len(row.fields) >= 3 for row in rows) > len(rows):
        width = 3
    for row in rows:
        _check_width(row, width, path)
        if not all(row.fields):
            raise InputError(
                f"{path}, line {row.number:,}: one of its columns is empty.",
                RELATION_REMEDY,
                code="empty-column",
            )
    if width == 2:
        return (build_relation(source, source, ((row.fields[0], row.fields[1]) for row in rows)),)

    # 2. The relation is named in the first column if its header or cells say so, else in the last.
    name_column = 2
    first_cells = {row.fields[0].lower() for row in rows}
    if header[0] in ("relation", "pos", "kind") or first_cells <= PARTS_OF_SPEECH:
        name_column = 0
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        first, second = (*row.fields[:name_column], *row.fields[name_column + 1 :])
        found.setdefault(row.fields[name_column], []).append((first, second))
    return tuple(build_relation(source, name, pairs) for name, pairs in found.items())


def _check_width(row: TableRow, width: int, path: Path) -> None:
    if len(row.fields) != width:
        raise InputError(
            f"{path}, line {row.number:,}: expected {width} columns, found {len(row.fields)}:"
            f" {row.shown!r}.",
            RELATION_REMEDY,
            code="wrong-columns",
        )


def _is_scored(row: TableRow) -> bool:
    numbers = sum(map(is_number, row.fields))
    return len(row.fields) >= 3 and 1 <= numbers <= len(row.fields) - 2
