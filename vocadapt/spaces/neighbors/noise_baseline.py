"""Noise baseline of a neighborhood change: the overlap of two spaces that differ only by chance.

Such spaces come from two training runs that differ only in the seed, or from two runs on bootstrap
resamples of the same text. Rare words agree less than frequent ones, so a word is compared with the
words of its own frequency band.
"""

from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.report.table import Finding
from vocadapt.spaces.neighbors.change import (
    AMONG,
    ChangeSettings,
    NeighborhoodChange,
    find_zero_words,
    measure_neighborhood_change,
)
from vocadapt.spaces.space import BoolArray, EmbeddingSpace, FloatArray, IntArray

NONE = "No noise baseline: overlap cannot be called change"
MAX_BANDS = 10  # frequency bands
MIN_BAND_WORDS = 200  # words in each band
LOW = 0.05  # quantile of the baseline below which a word is called changed


@dataclass(frozen=True, eq=False)
class NoiseBaseline:
    """A change compared with its noise baseline; arrays are (words,), in the order of the change.

    overlap: overlap of the baseline's two spaces. band: frequency band, 0 the rarest (all 0 if
    counts are unknown). quantile: fraction of the baseline's overlaps in the band that are smaller,
    ties counted half. z: difference from their mean in standard deviations, NaN if they are equal.
    threshold: their 5 % quantile. below: whether the word's overlap is below it.
    """

    about: str
    names: tuple[str, str]
    overlap: FloatArray
    band: IntArray
    quantile: FloatArray
    z: FloatArray
    threshold: FloatArray
    below: BoolArray

    @property
    def mean(self) -> float:
        """Mean overlap of the baseline."""
        return float(self.overlap.mean())

    @property
    def bands(self) -> int:
        """Number of frequency bands."""
        return int(self.band.max()) + 1

    @property
    def fraction_below(self) -> float:
        """Fraction of words whose overlap is below the baseline's 5 % quantile."""
        return float(self.below.mean())

    @property
    def baseline_fraction_below(self) -> float:
        """The same for the baseline itself; overlaps are multiples of 1/k, so at most 5 %."""
        return float((self.overlap < self.threshold).mean())

    @property
    def same(self) -> bool:
        """Whether the two spaces agree completely, so they do not measure noise."""
        return bool((self.overlap == 1).all())


@dataclass(frozen=True, eq=False)
class BaselinePair:
    """Two spaces that differ only by chance, and a description of how they were made."""

    about: str
    first: EmbeddingSpace
    second: EmbeddingSpace

    def words(self) -> frozenset[str]:
        """Return the shared words whose vectors are not zero."""
        zero = find_zero_words(self.first) | find_zero_words(self.second)
        return frozenset(self.first.words).intersection(self.second.words) - zero


def measure_change_with_baseline(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    settings: ChangeSettings,
    pair: BaselinePair | None = None,
    progress: Progress = silent,
    counted: EmbeddingSpace | None = None,
) -> tuple[NeighborhoodChange, NoiseBaseline | None]:
    """Measure the change between two spaces and compare it with the noise baseline of `pair`.

    counted: a space whose counts are used if neither of the two has any. With a baseline, only
    words that it also has are compared, so all four spaces have the same candidates. Raises
    InputError if that leaves too few words, or if the candidates are all words of each space,
    because the baseline has other words.
    """
    if pair is None:
        change = measure_neighborhood_change(before, after, settings, None, progress, counted)
        return change, None
    if settings.among != "shared":
        raise InputError(
            "A noise baseline needs the same candidates in all spaces: the shared words.",
            "Compare the neighbors among the shared words, or without a noise baseline.",
            code="unlike-candidates",
        )
    # 1. The change of the words that the baseline also has.
    change = measure_neighborhood_change(
        before, after, settings, pair.words(), part(progress, 0.0, 0.5), counted
    )
    # 2. The change of the same words between the two spaces of the baseline.
    first = pair.first.take(pair.first.rows(change.words))
    second = pair.second.take(pair.second.rows(change.words))
    baseline = measure_neighborhood_change(
        first, second, settings, progress=part(progress, 0.5, 1.0)
    )
    # 3. Compare the two by frequency band.
    return change, _compare_with_baseline(change, baseline, pair)


def explain_missing_baseline(change: NeighborhoodChange) -> Finding:
    """Explain what a comparison without a noise baseline means.

    None is needed if the compared words have the same vectors in both spaces, because these leave
    nothing to chance.
    """
    is_shared = change.settings.among == "shared"
    if change.same_vectors:
        cause = "every difference comes from the words that only one space has"
        if is_shared:
            cause = "their neighbors among each other are the same"
        return Finding(
            "no_baseline_needed",
            "No noise baseline is needed: the compared words have the same vectors in both spaces,"
            f" so {cause}.",
        )
    if is_shared:
        return Finding("no_baseline", f"{NONE}.")
    return Finding(
        "no_baseline_possible",
        f"{NONE}; it needs the same candidates in all spaces: compare among {AMONG['shared']}.",
    )


def average_by_frequency(counts: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return median count and mean value of each frequency band, rarest first, both (bands,)."""
    band = assign_frequency_bands(counts, len(counts))
    numbers = range(int(band.max()) + 1)
    medians = np.array([np.median(counts[band == n]) for n in numbers])
    return medians, np.array([values[band == n].mean() for n in numbers])


def assign_frequency_bands(counts: IntArray | None, words: int) -> IntArray:
    """Return the frequency band of each word (words,) int64, 0 the rarest.

    Bands are quantiles of the counts (words,); equal counts share a band. A band of fewer than 200
    words is merged with the smaller of its neighbors. Without counts there is one band.
    """
    bands = min(MAX_BANDS, words // MIN_BAND_WORDS)
    if counts is None or bands < 2:
        return np.zeros(words, dtype=np.int64)
    edges = np.unique(np.quantile(counts, np.arange(1, bands) / bands))
    _, band = np.unique(np.searchsorted(edges, counts, side="right"), return_inverse=True)
    return _merge_small_bands(np.bincount(band))[band]


def _merge_small_bands(sizes: IntArray) -> IntArray:
    """Return the new number of each band (bands,) int64; the smallest band is merged first.

    Example: sizes [150 400 300 500] -> [550 300 500] -> new numbers [0 0 1 2].
    """
    merged, n_original = sizes.tolist(), [1] * len(sizes)  # words and original bands of each band
    while len(merged) > 1 and min(merged) < MIN_BAND_WORDS:
        small = merged.index(min(merged))
        neighbors = [band for band in (small - 1, small + 1) if 0 <= band < len(merged)]
        first, second = sorted((small, min(neighbors, key=merged.__getitem__)))
        n_original[first] += n_original.pop(second)
        merged[first] += merged.pop(second)
    return np.repeat(np.arange(len(n_original), dtype=np.int64), n_original)


def _compare_with_baseline(
    change: NeighborhoodChange, baseline: NeighborhoodChange, pair: BaselinePair
) -> NoiseBaseline:
    band = assign_frequency_bands(change.counts, len(change.words))
    quantile = np.empty(len(band))
    z = np.empty(len(band))
    threshold = np.empty(len(band))
    for number in range(int(band.max()) + 1):
        in_band = band == number
        quantile[in_band], z[in_band], threshold[in_band] = _compare_with_band(
            change.overlap[in_band], baseline.overlap[in_band]
        )
    below = change.overlap < threshold
    return NoiseBaseline(
        pair.about,
        (pair.first.name, pair.second.name),
        baseline.overlap,
        band,
        quantile,
        z,
        threshold,
        below,
    )


def _compare_with_band(
    overlap: FloatArray, baseline: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the quantile and z of each overlap (words,) among the baseline's overlaps of its band,
    and their 5 % quantile.

    Example: overlap .5 among [.4 .5 .5 .8]: 1 smaller, 3 not larger -> quantile (1 + 3) / 8 = .5.
    """
    ordered = np.sort(baseline)
    smaller = np.searchsorted(ordered, overlap, side="left")
    not_larger = np.searchsorted(ordered, overlap, side="right")
    z = np.full(len(overlap), np.nan)
    if deviation := float(baseline.std()):
        z = (overlap - baseline.mean()) / deviation
    threshold = float(np.quantile(baseline, LOW, method="inverted_cdf"))
    return (smaller + not_larger) / (2 * len(baseline)), z, threshold
