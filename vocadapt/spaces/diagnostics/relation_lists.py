"""Lists of word pairs by relation, from files of many shapes and from what comes with gensim.

    analogy questions    `: capital` lines, four words under them   each section is a relation
    pairs with a score   tiger TAB cat TAB 7.35                      one relation and a similarity
                                                                     set (Spearman)
    paradigms            a header that begins with `lemma`           each other column is a relation
                                                                     to the lemma
    pairs of a relation  left TAB right TAB antonyms                 each value of the third column
                                                                     is a relation; of the first, if
                                                                     it holds parts of speech, as in
                                                                     WordNet's lists
    pairs                left TAB right                              one relation

Columns are separated by tab, semicolon, comma or blanks; empty lines and lines that start with #
are ignored.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.spaces.diagnostics.evaluation import (
    AnalogySection,
    load_bundled_analogies,
    read_analogies,
)
from vocadapt.spaces.diagnostics.relations import Relation, build_relation
from vocadapt.spaces.diagnostics.word_pairs import (
    PairList,
    TableRow,
    is_number,
    load_bundled_pairs,
    read_pairs,
    read_rows,
)
from vocadapt.spaces.io.word_files import read_word_lines

PARTS_OF_SPEECH = frozenset(
    {"adj", "adjective", "a", "s", "adv", "adverb", "r", "verb", "v", "noun", "n"}
)
HEADERS = frozenset(
    {"first", "second", "word", "word1", "word2", "word_1", "word_2", "relation", "pos", "kind"}
)
SIMILAR, UNRELATED = 7.0, 2.0  # from the top and the bottom of scales that go from 0 to 10
FAST = "Fast 2023, table 3.4"
TABLE_3_4 = {
    "verb tenses": "leave",
    "synonyms": "abandoned",
    "antonyms": "right",
    "unrelated": "mountain",
}
REMEDY = (
    "Expected two words on each line, and a score or the name of their relation after them:"
    " left<TAB>right<TAB>antonyms"
)


@dataclass(frozen=True)
class RelationList:
    """The relations of a file, and its scored pairs if people judged them."""

    name: str
    relations: tuple[Relation, ...]
    judged: PairList | None = None


def load_bundled_relations() -> tuple[RelationList, ...]:
    """Load the pairs of Fast 2023 (table 3.4), Google's analogy questions, and the most and least
    similar pairs of WordSim-353 and SimLex-999.

    All but the first come with gensim.
    """
    pairs_of_left = [Relation(FAST, name, (("left", other),)) for name, other in TABLE_3_4.items()]
    related, similar = load_bundled_pairs()
    analogies = _relations_of_sections("Google analogies", load_bundled_analogies())
    return (
        RelationList(FAST, tuple(pairs_of_left)),
        _select_judged(similar, f"similar (judged {SIMILAR:g} or more)", SIMILAR, 10.0),
        _select_judged(related, f"unrelated (judged {UNRELATED:g} or less)", 0.0, UNRELATED),
        RelationList("Google analogies", analogies),
    )


def read_relations(path: Path) -> RelationList:
    """Read a list of word pairs of any of the shapes above; raises InputError with the number of a
    line that does not fit.
    """
    name = path.stem
    if any(line.lstrip("\ufeff").startswith(": ") for line in read_word_lines(path)):
        return RelationList(name, _relations_of_sections(name, read_analogies(path)))
    rows = read_rows(path, columns=2)
    if not rows:
        raise InputError(f"{path}: it holds no word pairs.", REMEDY)
    if rows[0].fields[0].lower() == "lemma":
        return RelationList(name, _relations_of_paradigms(name, rows, path))
    if 2 * sum(map(_is_scored, rows)) > len(rows):
        judged = read_pairs(path)
        pairs = build_relation(name, name, ((pair.first, pair.second) for pair in judged.pairs))
        return RelationList(name, (pairs,), judged)
    return RelationList(name, _relations_of_pairs(name, rows, path))


def _select_judged(pairs: PairList, name: str, least: float, most: float) -> RelationList:
    """Build a list of judged pairs, with those whose score is between two bounds as a relation."""
    chosen = [(pair.first, pair.second) for pair in pairs.pairs if least <= pair.score <= most]
    return RelationList(pairs.name, (build_relation(pairs.name, name, chosen),), pairs)


def _relations_of_sections(source: str, sections: Iterable[AnalogySection]) -> tuple[Relation, ...]:
    """Build a relation from each section of analogies; a : b = c : d gives the pairs a b and c d."""
    relations = []
    for section in sections:
        pairs: list[tuple[str, str]] = []
        for a, b, c, d in section.questions:
            pairs += [(a, b), (c, d)]
        if pairs:
            relations.append(build_relation(source, section.name, pairs))
    return tuple(relations)


def _relations_of_paradigms(source: str, rows: list[TableRow], path: Path) -> tuple[Relation, ...]:
    """Build a relation from each column, paired with the first; an empty cell is a missing form."""
    header, *forms = rows
    for row in forms:
        _check_width(row, len(header.fields), path)
    if len(header.fields) < 2 or not forms:
        raise InputError(f"{path}: a header and nothing to pair under it.", REMEDY)
    relations = []
    for column, name in enumerate(header.fields[1:], start=1):
        pairs = [(row.fields[0], row.fields[column]) for row in forms if row.fields[column]]
        relations.append(build_relation(source, f"{header.fields[0]} – {name}", pairs))
    return tuple(relations)


def _relations_of_pairs(source: str, rows: list[TableRow], path: Path) -> tuple[Relation, ...]:
    """Group pairs by the column that names their relation; without one, all are one relation."""
    # 1. Skip a header, and check that all lines have the same number of columns.
    header = [field.lower() for field in rows[0].fields]
    if HEADERS.issuperset(header):
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: it holds no word pairs.", REMEDY)
    width = 2
    if 2 * sum(len(row.fields) >= 3 for row in rows) > len(rows):
        width = 3
    for row in rows:
        _check_width(row, width, path)
        if not all(row.fields):
            raise InputError(f"{path}, line {row.number:,}: one of its columns is empty.", REMEDY)
    if width == 2:
        return (build_relation(source, source, ((row.fields[0], row.fields[1]) for row in rows)),)

    # 2. The name is in the first column if the header or all its cells say so, else in the last.
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
        shown = " | ".join(row.fields)[:80]
        raise InputError(
            f"{path}, line {row.number:,}: expected {width} columns, found {len(row.fields)}:"
            f" {shown!r}.",
            REMEDY,
        )


def _is_scored(row: TableRow) -> bool:
    """Return whether a line holds two words and a number."""
    numbers = sum(map(is_number, row.fields))
    return len(row.fields) >= 3 and 1 <= numbers <= len(row.fields) - 2
