"""The null of a neighborhood change: how little two spaces agree between which nothing changed.

Such a pair is two trainings that differ in the seed alone, or two trainings on the same text with
its lines drawn anew. Rare words agree less than common ones, so a word is held against words of its
own frequency: its band.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.neighbors.change import (
    ChangeSettings,
    NeighborhoodChange,
    Values,
    find_zero_words,
    measure_neighborhood_change,
)
from vocadapt.spaces.space import EmbeddingSpace

NONE = "no null: overlap cannot be called change"
BANDS, FEWEST = 10, 200  # bands of frequency at most, words in one at least
LOW = 0.05  # the quantile of the null below which a word is called changed


@dataclass(frozen=True, eq=False)
class NoiseBaseline:
    """A change held against its null; everything is (words,), in the order of the change's words.

    `overlap`: of the null's two spaces. `band`: of frequency, 0 the rarest (all 0 where counts are
    not known). `quantile`: the share of the null's overlaps in the band that are smaller, equal
    ones counted half. `z`: distance from their mean in standard deviations, NaN where they do not
    vary. `threshold`: their 5 % quantile.
    """

    about: str
    names: tuple[str, str]
    overlap: Values
    band: NDArray[np.int64]
    quantile: Values
    z: Values
    threshold: Values
    below: NDArray[np.bool_]

    @property
    def mean(self) -> float:
        """The null's mean overlap."""
        return float(self.overlap.mean())

    @property
    def bands(self) -> int:
        """How many bands of frequency there are."""
        return int(self.band.max()) + 1

    @property
    def share_below(self) -> float:
        """The share of words whose overlap is under the null's 5 % quantile."""
        return float(self.below.mean())

    @property
    def own_share_below(self) -> float:
        """The same share of the null itself: what luck alone gives. Overlaps are steps of 1/k, so
        it is 5 % at most.
        """
        return float((self.overlap < self.threshold).mean())

    @property
    def same(self) -> bool:
        """Whether its two spaces agree on everything: then they say nothing of luck."""
        return bool((self.overlap == 1).all())


@dataclass(frozen=True, eq=False)
class BaselinePair:
    """Two spaces between which nothing changed, and how they came about."""

    about: str
    first: EmbeddingSpace
    second: EmbeddingSpace

    def words(self) -> frozenset[str]:
        """The words that both have a direction for."""
        zero = find_zero_words(self.first) | find_zero_words(self.second)
        return frozenset(
            word for word in self.first.words if word in self.second and word not in zero
        )


def measure_change_with_baseline(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    settings: ChangeSettings,
    pair: BaselinePair | None = None,
    special: Collection[str] = frozenset(),
    progress: Progress = silent,
) -> tuple[NeighborhoodChange, NoiseBaseline | None]:
    """The change between two spaces, held against the null that `pair` gives, where there is one.

    With a null the words that it lacks are not compared: all four spaces have the same candidates.
    Raises InputError where that leaves too few, and for a change among all words of each space,
    whose candidates the null's spaces do not share.
    """
    if pair is None:
        return measure_neighborhood_change(
            before, after, settings, special, progress=progress
        ), None
    if settings.among != "shared":
        raise InputError(
            "A null needs the same candidates on all sides: the words that the spaces share.",
            "Take the neighbors among the shared words, or leave the null out.",
        )
    change = measure_neighborhood_change(
        before, after, settings, special, pair.words(), part(progress, 0.0, 0.5)
    )
    first, second = (space.take(space.rows(change.words)) for space in (pair.first, pair.second))
    return change, _held_against(
        change,
        measure_neighborhood_change(first, second, settings, progress=part(progress, 0.5, 1.0)),
        pair,
    )


def average_by_frequency(
    counts: NDArray[np.int64], values: Values
) -> tuple[NDArray[np.float64], Values]:
    """The median count and the mean value of each band of frequency, the rarest first: both
    (bands,).
    """
    band = assign_frequency_bands(counts, len(counts))
    numbers = range(int(band.max()) + 1)
    return np.array([np.median(counts[band == n]) for n in numbers]), np.array(
        [values[band == n].mean() for n in numbers]
    )


def assign_frequency_bands(counts: NDArray[np.int64] | None, words: int) -> NDArray[np.int64]:
    """The band of each word: equal parts of the words by their count; words of one count share a
    band.

    Where that leaves a band with fewer than 200 words, it goes to the smaller of its neighbors.
    """
    bands = min(BANDS, words // FEWEST)
    if counts is None or bands < 2:
        return np.zeros(words, dtype=np.int64)
    edges = np.unique(np.quantile(counts, np.arange(1, bands) / bands))
    _, band = np.unique(np.searchsorted(edges, counts, side="right"), return_inverse=True)
    return _large_enough(np.bincount(band))[band]


def _large_enough(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The new number of each band (bands,), once the small ones are merged, the smallest first."""
    held, parts = sizes.tolist(), [1] * len(sizes)  # words of a band, and of how many it is made
    while len(held) > 1 and min(held) < FEWEST:
        small = held.index(min(held))
        beside = min(
            (place for place in (small - 1, small + 1) if 0 <= place < len(held)),
            key=held.__getitem__,
        )
        first, second = sorted((small, beside))
        parts[first] += parts.pop(second)
        held[first] += held.pop(second)
    return np.repeat(np.arange(len(parts), dtype=np.int64), parts)


def _held_against(
    change: NeighborhoodChange, null: NeighborhoodChange, pair: BaselinePair
) -> NoiseBaseline:
    """Each word's overlap among the null's overlaps in its band."""
    band = assign_frequency_bands(change.counts, len(change.words))
    quantile, z, threshold = (np.empty(len(band)) for _ in range(3))
    for number in range(int(band.max()) + 1):
        here = band == number
        quantile[here], z[here], threshold[here] = _place(change.overlap[here], null.overlap[here])
    below = change.overlap < threshold
    return NoiseBaseline(
        pair.about,
        (pair.first.name, pair.second.name),
        null.overlap,
        band,
        quantile,
        z,
        threshold,
        below,
    )


def _place(overlap: Values, null: Values) -> tuple[Values, Values, float]:
    """Where overlaps lie among the null's of their band: quantile, z, and the null's 5 %
    quantile.
    """
    ordered = np.sort(null)
    smaller, not_larger = (
        np.searchsorted(ordered, overlap, side=side) for side in ("left", "right")
    )
    deviation = float(null.std())
    z = (overlap - null.mean()) / deviation if deviation > 0 else np.full(len(overlap), np.nan)
    return (
        (smaller + not_larger) / (2 * len(null)),
        z,
        float(np.quantile(null, LOW, method="inverted_cdf")),
    )
