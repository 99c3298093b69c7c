"""Diagnostics of spaces for command line and page: which tokens count, the geometry of several
spaces, and how similar related words are in them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError, check_choice
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.progress import Progress, part, silent
from vocadapt.report.formats import format_name, format_precise
from vocadapt.report.table import Column, Finding, Table
from vocadapt.spaces.diagnostics.diagnosis import GEOMETRY, Diagnosis, diagnose
from vocadapt.spaces.diagnostics.evaluation import PairScore, score_pairs
from vocadapt.spaces.diagnostics.relations import (
    PairCosine,
    PermutationSettings,
    RelationScore,
    compute_pair_cosines,
    score_relations,
    summarize_words,
)
from vocadapt.spaces.diagnostics.statistics import CosineTables, build_cosine_tables
from vocadapt.spaces.diagnostics.word_lists import RelationList
from vocadapt.spaces.space import EmbeddingSpace

TOKENS = {
    "all": (
        "all tokens of the vocabulary, including special tokens and [unusedN] (as in Fast 2023)"
    ),
    "used": "without special tokens and [unusedN]",
    "words": "without special tokens, [unusedN] and continuations",
}
PERMUTATIONS = PermutationSettings()


LIST = Column("list", "List", format="name")
RELATION = Column("relation", "Relation", format="name")
SPACE = Column("space", "Space")
COSINE = Column("cosine", "Cosine", format="precise")
CORRECTED = Column(
    "corrected",
    "Corrected",
    "Cosine (of several pairs, its mean) minus the mean cosine of the space.",
    "precise",
)
PAIRS = "A pair is used if the space has both words as single tokens."
RELATIONS = (
    LIST,
    RELATION,
    SPACE,
    CORRECTED,
    Column("sd", "Sd", "Standard deviation of the cosines (n − 1).", "precise"),
    replace(COSINE, name="mean"),
    Column("null_mean", "Random", "Mean cosine of the same words, paired at random.", "precise"),
    Column("null_sd"),
    Column("z", "z", "Difference from the random pairings in their standard deviations.", "tenths"),
    Column("p", "p", "Fraction of random pairings that are at least as similar.", "p"),
    Column("usable", "Pairs", PAIRS, "number", beside="of", between=" of "),
    Column("missing", "Missing words", format="name"),
    Column("lacking"),
)
SIMILARITY = (
    LIST,
    SPACE,
    Column("spearman", "Spearman", "Rank correlation of cosine and human score.", "precise"),
    Column("covered", "Pairs", PAIRS, "number", beside="of", between=" of "),
)
PAIR_COSINES = (
    LIST,
    RELATION,
    Column("first", "First", format="name"),
    Column("second", "Second", format="name"),
    SPACE,
    COSINE,
    CORRECTED,
)


@dataclass(frozen=True)
class Diagnostics(CosineTables):
    """Mean cosines of spaces, and their geometry; measures: its figures; tokens: one of TOKENS."""

    tokens: str
    spaces: tuple[Diagnosis, ...]
    measures: Mapping[str, str] = field(
        default_factory=lambda: {one.name: one.help for one in GEOMETRY if one.help}
    )


@dataclass(frozen=True, kw_only=True)
class RelationRow(RelationScore):
    """Scores of a relation of a list in a space."""

    list: str
    relation: str
    space: str

    @property
    def missing(self) -> str:
        """How many words the space lacks, and the first of them."""
        return summarize_words(self.lacking)


@dataclass(frozen=True, kw_only=True)
class SimilarityRow(PairScore):
    """Agreement with the people who rated a list, in a space."""

    list: str
    space: str


@dataclass(frozen=True, kw_only=True)
class PairRow(PairCosine):
    """A pair of a relation of a list in a space."""

    list: str
    relation: str
    space: str


@dataclass(frozen=True)
class ListScores:
    """A row for each relation in each space, and for each list that people rated."""

    relations: tuple[RelationRow, ...]
    similarity: tuple[SimilarityRow, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The most similar relation of each space."""
        return tuple(_find_most_similar(self.relations))


def select_tokens(opened: OpenedSpace, tokens: str = "all") -> EmbeddingSpace:
    """Select the tokens of a space by one of TOKENS; word vectors have words only.

    Raises InputError if no token is left.
    """
    check_choice("choice of tokens", tokens, TOKENS)
    space = opened.space
    if tokens == "all" or opened.model is None:
        return space
    left_out = space.kinds.special | space.kinds.placeholders
    if tokens == "words":
        left_out |= space.kinds.continuations
    rows = np.array([row for row, word in enumerate(space.words) if word not in left_out])
    if not len(rows):
        raise InputError(f"{space.name}: no token is left {TOKENS[tokens]}.", "Count all tokens.")
    return space.take(rows)


def shorten_names(names: Sequence[str]) -> tuple[str, ...]:
    """Shorten the names of spaces to the end of each path that makes them unique.

    Raises InputError if a name occurs twice.
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice[:100]} was named twice.", "Name each space once.")
    # Take one more part of each path until all names differ.
    for parts in range(1, max(len(Path(name).parts) for name in names) + 1):
        short = ["/".join(Path(name).parts[-parts:]) or name for name in names]
        if len(set(short)) == len(names):
            return tuple(short)
    return tuple(names)


def diagnose_spaces(
    opened: Sequence[OpenedSpace],
    names: Sequence[str],
    tokens: str = "all",
    hubs: bool = True,
    progress: Progress = silent,
) -> Diagnostics:
    """Compute the diagnostics of several spaces under the given names."""
    spaces = [select_tokens(one, tokens) for one in opened]
    tables = build_cosine_tables(spaces)
    found = []
    for i, space in enumerate(spaces):
        own = part(progress, i / len(spaces), (i + 1) / len(spaces), names[i])
        found.append(replace(diagnose(space, hubs, own, opened[i].added), space=names[i]))
    return Diagnostics(**vars(tables), tokens=tokens, spaces=tuple(found))


def score_lists(
    opened: OpenedSpace,
    lists: Sequence[RelationList],
    own_mean: float | None,
    permutations: PermutationSettings = PERMUTATIONS,
    progress: Progress = silent,
    name: str = "",
) -> ListScores:
    """Score lists of word pairs in one space, corrected by its own mean cosine."""
    space, splitter = opened.space, opened.splitter
    relations, similarity = [], []
    for done, one in enumerate(lists):
        list_progress = part(progress, done / len(lists), (done + 1) / len(lists), one.name)
        scores = score_relations(
            space, one.relations, splitter, own_mean, permutations, list_progress
        )
        for relation, score in zip(one.relations, scores, strict=True):
            relations.append(
                RelationRow(**vars(score), list=one.name, relation=relation.name, space=name)
            )
        if one.judged:
            agreement = score_pairs(space, one.judged, splitter)
            similarity.append(SimilarityRow(**vars(agreement), list=one.name, space=name))
    return ListScores(tuple(relations), tuple(similarity))


def join_scores(found: Sequence[ListScores]) -> ListScores:
    """Return the scores of several spaces together, the spaces of a relation next to each other."""
    relations = zip(*(one.relations for one in found), strict=True)
    similarity = zip(*(one.similarity for one in found), strict=True)
    return ListScores(tuple(chain.from_iterable(relations)), tuple(chain.from_iterable(similarity)))


def list_pair_cosines(
    opened: OpenedSpace, lists: Sequence[RelationList], own_mean: float | None, name: str
) -> Iterator[PairRow]:
    """Yield every pair of lists with its cosine in a space."""
    for one in lists:
        for relation in one.relations:
            for pair in compute_pair_cosines(opened.space, relation, opened.splitter, own_mean):
                yield PairRow(**vars(pair), list=one.name, relation=relation.name, space=name)


def build_relation_tables(found: ListScores) -> list[Table]:
    """Return the scores as tables: of relations and, if people rated a list, of their agreement."""
    notes = tuple(one.sentence for one in found.findings)
    tables = [Table("Related words", RELATIONS, found.relations, notes)]
    if found.similarity:
        tables.append(Table("Agreement with human judgment", SIMILARITY, found.similarity))
    return tables


def _find_most_similar(rows: Sequence[RelationRow]) -> Iterator[Finding]:
    """Yield the most similar relation of each space."""
    best = dict[str, RelationRow]()
    for row in rows:
        if row.corrected is not None:
            held = best.get(row.space, row)
            best[row.space] = max(held, row, key=lambda one: one.corrected or 0.0)
    for space, row in best.items():
        yield Finding(
            "most_similar",
            f"{space}: the most similar pairs are those of {format_name(row.relation)},"
            f" {format_precise(row.corrected)} above the mean cosine of the space.",
        )
    if not best:
        yield Finding("no_pair", "No pair of words is in any of the spaces.")
