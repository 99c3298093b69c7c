"""Lexical relations (Fast 2023, section 3.4): cosines of related words, corrected by the mean.

A cosine of .5 is high in a space with a mean cosine of 0, and average in one with .5, so table 3.4
of Fast 2023 subtracts the diagonal of table 3.2. Words of one kind (two capitals) are still similar
for that reason alone; a permutation test pairs the same words at random to control for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vocadapt.progress import Progress, silent
from vocadapt.settings import LARGEST_SEED, check_settings, setting
from vocadapt.spaces.diagnostics.evaluation import build_lookup
from vocadapt.spaces.diagnostics.mean_cosines import compute_mean_cosine
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter

Rows = NDArray[np.int64]
Values = NDArray[np.float64]
NOISE = 1e-6  # of a mean of cosines in float32


@dataclass(frozen=True)
class Relation:
    """Distinct word pairs of one relation, with the name of their list and of the relation."""

    source: str
    name: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PermutationSettings:
    """Settings of the permutation test."""

    draws: int = setting(
        200, "number of random re-pairings", low=1, high=1_000_000, label="Random re-pairings"
    )
    seed: int = setting(1, "random seed of the re-pairings", high=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class RelationScore:
    """A relation in a space, over the `usable` of `of` pairs: both words there, different, and with
    a direction.

    mean and sd: of the pairs' cosines (sample sd). corrected: mean − the space's own mean cosine.
    null_mean and null_sd: the mean cosine of the same words re-paired at random, over the draws. z:
    (mean − null_mean) / null_sd. p: the share of draws at least as high, the pairs themselves
    counted as one. None where there are too few pairs to say, or nothing to vary. lacking: those
    words of the pairs that the space does not have, each once, in the order of the list.
    """

    usable: int
    of: int
    mean: float | None
    sd: float | None
    corrected: float | None
    null_mean: float | None
    null_sd: float | None
    z: float | None
    p: float | None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairCosine:
    """One pair in a space: its cosine, None where it is not usable, and that minus the space's mean
    cosine.
    """

    first: str
    second: str
    cosine: float | None
    corrected: float | None


def summarize_words(words: Sequence[str], named: int = 3) -> str:
    """Describe words by their number and the first few; "" for none."""
    more = " …" if len(words) > named else ""
    return f"{len(words):,}: {', '.join(words[:named])}{more}" if words else ""


def build_relation(source: str, name: str, pairs: Iterable[tuple[str, str]]) -> Relation:
    """Build a relation without duplicates; (a, b) and (b, a) are one pair."""
    kept: dict[frozenset[str], tuple[str, str]] = {}
    for first, second in pairs:
        kept.setdefault(frozenset((first, second)), (first, second))
    return Relation(source, name, tuple(kept.values()))


def score_relations(
    space: EmbeddingSpace,
    relations: Sequence[Relation],
    splitter: Splitter | None = None,
    own_mean: float | None = None,
    permutations: PermutationSettings = PermutationSettings(),
    progress: Progress = silent,
) -> tuple[RelationScore, ...]:
    """Score each relation; words are looked up as spelled, or as `splitter` normalizes them.

    own_mean: the mean cosine to correct by, the space's over all its tokens where none is given.
    Raises InputError for draws < 1.
    """
    own_mean = compute_mean_cosine(space) if own_mean is None else own_mean
    scores, row = [], build_lookup(space, splitter)
    for done, relation in enumerate(relations):
        progress(done / len(relations), relation.name)
        first, second, _ = _usable(space, relation, splitter)
        lacking = dict.fromkeys(word for pair in relation.pairs for word in pair if row(word) < 0)
        scores.append(
            replace(
                _score(space, first, second, len(relation.pairs), own_mean, permutations),
                lacking=tuple(lacking),
            )
        )
    return tuple(scores)


def compute_pair_cosines(
    space: EmbeddingSpace,
    relation: Relation,
    splitter: Splitter | None = None,
    own_mean: float | None = None,
) -> tuple[PairCosine, ...]:
    """Return the cosine of every pair of a relation, in its order; corrected as in
    `score_relations`.
    """
    own_mean = compute_mean_cosine(space) if own_mean is None else own_mean
    first, second, places = _usable(space, relation, splitter)
    found = dict(zip(places.tolist(), _cosines(space, first, second).tolist(), strict=True))
    less = own_mean or 0.0
    return tuple(
        PairCosine(
            one,
            other,
            found.get(i),
            found[i] - less if i in found and own_mean is not None else None,
        )
        for i, (one, other) in enumerate(relation.pairs)
    )


def _usable(
    space: EmbeddingSpace, relation: Relation, splitter: Splitter | None
) -> tuple[Rows, Rows, Rows]:
    """Row numbers of the first and second words of the usable pairs, and the places of these pairs
    in the relation.
    """
    row = build_lookup(space, splitter)
    rows = np.array(
        [(row(first), row(second)) for first, second in relation.pairs], dtype=np.int64
    ).reshape(-1, 2)
    known = (rows >= 0).all(axis=1) & (rows[:, 0] != rows[:, 1])
    places = np.flatnonzero(known)
    some: NDArray[np.bool_] = (space.matrix != 0).any(axis=1)
    places = places[some[rows[places, 0]] & some[rows[places, 1]]]
    return rows[places, 0], rows[places, 1], places


def _score(
    space: EmbeddingSpace,
    first: Rows,
    second: Rows,
    of: int,
    own_mean: float | None,
    permutations: PermutationSettings,
) -> RelationScore:
    n = len(first)
    if not n:
        return RelationScore(0, of, None, None, None, None, None, None, None)
    cosines = _cosines(space, first, second)
    mean = float(cosines.mean())
    sd = float(cosines.std(ddof=1)) if n > 1 else None
    corrected = mean - own_mean if own_mean is not None else None
    drawn = _permute(space, first, second, permutations)
    if not len(drawn):
        return RelationScore(n, of, mean, sd, corrected, None, None, None, None)
    middle, spread = float(drawn.mean()), float(drawn.std())
    varies = (
        spread > NOISE
    )  # re-paired, one word with three others gives the same three pairs again
    p = (1 + int((drawn >= mean - NOISE).sum())) / (1 + len(drawn))
    return RelationScore(
        n,
        of,
        mean,
        sd,
        corrected,
        middle,
        spread,
        (mean - middle) / spread if varies else None,
        p if varies else None,
    )


def _permute(
    space: EmbeddingSpace, first: Rows, second: Rows, permutations: PermutationSettings
) -> Values:
    """Return the mean cosine of each random pairing (draws,) float64, without words paired with
    themselves.
    """
    if len(first) < 2:
        return np.empty(0)
    rng, means = np.random.default_rng(permutations.seed), []
    left, right = space.unit[first], space.unit[second]
    for _ in range(permutations.draws):
        order = rng.permutation(len(second))
        apart = first != second[order]
        if apart.any():
            means.append(np.einsum("nd,nd->n", left, right[order])[apart].mean(dtype=np.float64))
    return np.array(means)


def _cosines(space: EmbeddingSpace, first: Rows, second: Rows) -> Values:
    """The cosine of each pair of rows, in float64."""
    cosines: Values = np.einsum(
        "nd,nd->n", space.unit[first].astype(np.float64), space.unit[second].astype(np.float64)
    )
    return cosines
