"""Lexical relations (Fast 2023, section 3.4): cosines of related words, corrected by the mean.

A cosine of .5 is high in a space with a mean cosine of 0, and average in one with .5, so table 3.4
of Fast 2023 subtracts the diagonal of table 3.2. Words of one kind, such as two capitals, are
similar even if unrelated; a permutation test pairs the same words at random to control for this.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import stdev
from typing import Any

import numpy as np

from vocadapt.progress import Progress, silent
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.spaces.diagnostics.evaluation import build_lookup
from vocadapt.spaces.diagnostics.statistics import compute_mean_cosine
from vocadapt.spaces.diagnostics.word_lists import Relation
from vocadapt.spaces.space import BoolArray, EmbeddingSpace, FloatArray, IntArray
from vocadapt.text.splitter import Splitter

NOISE = 1e-6  # rounding error of a mean of cosines in float32


@dataclass(frozen=True)
class PermutationSettings(CheckedSettings):
    """Settings of the permutation test."""

    draws: int = setting(
        200, "number of random re-pairings", low=1, high=1_000_000, label="Random re-pairings"
    )
    seed: int = setting(1, "random seed of the re-pairings", high=MAX_SEED)


@dataclass(frozen=True)
class RelationScore:
    """Statistics of a relation in a space, over the `usable` of `of` pairs.

    A pair is usable if the space has both words, they differ and neither vector is zero. mean, sd:
    mean and sample standard deviation of the cosines. corrected: mean − the space's mean cosine.
    null_mean, null_sd: mean and standard deviation of the mean cosine over random pairings of the
    same words. z: (mean − null_mean) / null_sd. p: the
    fraction of random pairings at least as high, the pairs themselves counted as one. None if there
    are too few pairs, or if all pairings are the same. lacking: words that the space lacks, each
    once, in the order of the list.
    """

    usable: int
    of: int
    mean: float | None = None
    sd: float | None = None
    corrected: float | None = None
    null_mean: float | None = None
    null_sd: float | None = None
    z: float | None = None
    p: float | None = None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairCosine:
    """One pair in a space: its cosine (None if not usable), and that minus the mean cosine."""

    first: str
    second: str
    cosine: float | None
    corrected: float | None


def summarize_words(words: Sequence[str]) -> str:
    """Describe words by their number and the first three; "" for none."""
    if not words:
        return ""
    listed = ", ".join(words[:3])
    if len(words) > 3:
        listed += " …"
    return f"{len(words):,}: {listed}"


def score_relations(
    space: EmbeddingSpace,
    relations: Sequence[Relation],
    splitter: Splitter | None = None,
    own_mean: float | None = None,
    permutations: PermutationSettings = PermutationSettings(),
    progress: Progress = silent,
) -> tuple[RelationScore, ...]:
    """Score each relation; words are looked up as spelled, or as `splitter` normalizes them.

    own_mean: the mean cosine to correct by; by default the space's, over all its tokens. Raises
    InputError for draws < 1.
    """
    if own_mean is None:
        own_mean = compute_mean_cosine(space)
    find_row = build_lookup(space, splitter)
    scores = []
    for done, relation in enumerate(relations):
        progress(done / len(relations), relation.name)
        first, second, _ = _select_usable(space, relation, splitter)
        score = _score(space, first, second, len(relation.pairs), own_mean, permutations)
        words = dict.fromkeys(chain.from_iterable(relation.pairs))
        scores.append(replace(score, lacking=tuple(word for word in words if find_row(word) < 0)))
    return tuple(scores)


def compute_pair_cosines(
    space: EmbeddingSpace,
    relation: Relation,
    splitter: Splitter | None = None,
    own_mean: float | None = None,
) -> tuple[PairCosine, ...]:
    """Return the cosine of each pair of a relation, corrected as in `score_relations`."""
    if own_mean is None:
        own_mean = compute_mean_cosine(space)
    first, second, places = _select_usable(space, relation, splitter)
    cosines = _compute_cosines(space, first, second).tolist()
    found = [PairCosine(one, other, None, None) for one, other in relation.pairs]
    for place, cosine in zip(places.tolist(), cosines, strict=True):
        found[place] = replace(found[place], cosine=cosine)
        if own_mean is not None:
            found[place] = replace(found[place], corrected=cosine - own_mean)
    return tuple(found)


def _select_usable(
    space: EmbeddingSpace, relation: Relation, splitter: Splitter | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the row numbers of the first and of the second words of the usable pairs, and the
    positions of these pairs in the relation, each (n,) int64.
    """
    find_row = build_lookup(space, splitter)
    found = [(find_row(first), find_row(second)) for first, second in relation.pairs]
    rows = np.array(found, dtype=np.int64).reshape(-1, 2)
    places = np.flatnonzero((rows >= 0).all(axis=1) & (rows[:, 0] != rows[:, 1]))
    is_nonzero: BoolArray = np.any(space.matrix, axis=1)
    places = places[is_nonzero[rows[places]].all(axis=1)]
    return rows[places, 0], rows[places, 1], places


def _score(
    space: EmbeddingSpace,
    first: IntArray,
    second: IntArray,
    n_pairs: int,
    own_mean: float | None,
    permutations: PermutationSettings,
) -> RelationScore:
    """Score a relation from the rows of its usable pairs, by a permutation test.

    1. Compute the mean cosine of the pairs.
    2. Compute it for the same words paired at random, `permutations.draws` times.
    3. z and p compare the first with the distribution of the second.
    """
    n = len(first)
    if not n:
        return RelationScore(0, n_pairs)
    # 1. The mean cosine of the pairs.
    cosines = _compute_cosines(space, first, second)
    mean = float(cosines.mean())
    found: dict[str, Any] = {"mean": mean}
    if n > 1:
        # Exact sums: equal cosines deviate by 0, not by a rounding error.
        found["sd"] = stdev(cosines.tolist())
    if own_mean is not None:
        found["corrected"] = mean - own_mean

    # 2. Random pairings.
    drawn = _draw_permutations(space, first, second, permutations)
    if len(drawn):
        null_mean = float(drawn.mean())
        null_sd = float(drawn.std())
        found |= {"null_mean": null_mean, "null_sd": null_sd}

        # 3. Compare. Pairings do not vary if, for example, one word is paired with three others.
        if null_sd > NOISE:
            found["z"] = (mean - null_mean) / null_sd
            found["p"] = (1 + int((drawn >= mean - NOISE).sum())) / (1 + len(drawn))
    return RelationScore(n, n_pairs, **found)


def _draw_permutations(
    space: EmbeddingSpace, first: IntArray, second: IntArray, permutations: PermutationSettings
) -> FloatArray:
    """Return the mean cosine of each random pairing (draws,), no word with itself."""
    if len(first) < 2:
        return np.empty(0)
    rng = np.random.default_rng(permutations.seed)
    means = []
    left = space.unit[first]
    right = space.unit[second]
    for _ in range(permutations.draws):
        order = rng.permutation(len(second))
        apart = first != second[order]
        if apart.any():
            means.append(np.einsum("nd,nd->n", left, right[order])[apart].mean(dtype=np.float64))
    return np.array(means)


def _compute_cosines(space: EmbeddingSpace, first: IntArray, second: IntArray) -> FloatArray:
    """Return the cosine of each pair of rows (n,) float64."""
    left = space.unit[first]
    right = space.unit[second]
    return np.asarray(np.einsum("nd,nd->n", left.astype(np.float64), right.astype(np.float64)))
