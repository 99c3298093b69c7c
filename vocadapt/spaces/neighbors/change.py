"""Neighborhood change: how much the nearest neighbors of a word differ between two spaces.

overlap@k of a word is the fraction of its k nearest neighbors (cosine) that both spaces have in
common. Candidates are the shared words, or all words of each space. Nothing is projected or aligned
first, so the spaces may differ by a rotation or in dimension.

An overlap below 1 is not yet a change: two training runs that differ only in the seed do not agree
either, least on rare words. The noise baseline (`vocadapt.spaces.neighbors.noise_baseline`)
measures that; without it, no overlap can be called a change.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.neighbors.search import Neighbors, find_nearest
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray

AMONG = {"shared": "the words that both spaces have", "all": "all words of each space"}


def find_numbers(space: EmbeddingSpace) -> frozenset[str]:
    """Return the words with digits and without letters: 12, 3.5, 2-0."""
    return frozenset(
        word
        for word in space.words
        if any(map(str.isdigit, word)) and not any(map(str.isalpha, word))
    )


def find_punctuation(space: EmbeddingSpace) -> frozenset[str]:
    """Return the words with neither letters nor digits: . ( --."""
    return frozenset(word for word in space.words if not any(map(str.isalnum, word)))


# Kind of token → the words of a space that are of this kind.
EXCLUDED_KINDS: dict[str, Callable[[EmbeddingSpace], frozenset[str]]] = {
    "special": lambda space: space.kinds.special,
    "continuation": lambda space: space.kinds.continuations,
    "unused": lambda space: space.kinds.placeholders,
    "punctuation": find_punctuation,
    "number": find_numbers,
}
WHOLE_WORDS = tuple(EXCLUDED_KINDS)  # with all of these excluded, only whole words are left
WEIGHTED, BY_CHANGE, BY_FREQUENCY = RANKINGS = ("change × frequency", "change", "frequency")
ZERO_VECTOR, NOT_IN_BASELINE = "vector is zero", "not in the noise baseline"
SHOWCASE_LENGTH = 5  # letters
PER_VALUE = 2.5e-9  # seconds per cosine to select the nearest (two cores, 2.5 GHz)
PER_PRODUCT = 1.6e-11  # seconds per multiplication of the matrix product


@dataclass(frozen=True)
class ChangeSettings(CheckedSettings):
    """Settings of a comparison of neighborhoods."""

    k: int = setting(
        10, "number of neighbors, by cosine", low=1, high=10_000, flag="-k", label="Neighbors"
    )
    among: str = setting(
        "shared", "candidates for neighbors", choices=lambda: AMONG, label="Candidates"
    )
    without: tuple[str, ...] = setting(
        (),
        "kinds of tokens to leave out",
        choices=lambda: EXCLUDED_KINDS,
        label="Kind of word to exclude",
    )


@dataclass(frozen=True)
class NeighborIn:
    """A neighbor in one space."""

    word: str
    cosine: float


@dataclass(frozen=True)
class NeighborInBoth:
    """A neighbor in both spaces, with its two cosines."""

    word: str
    before: float
    after: float


@dataclass(frozen=True)
class WordChange:
    """The neighbors of a word with cosines, best first: lost, kept (before, after), gained."""

    word: str
    overlap: float
    only_before: tuple[NeighborIn, ...]
    both: tuple[NeighborInBoth, ...]
    only_after: tuple[NeighborIn, ...]


@dataclass(frozen=True, eq=False)
class ComparedSpace:
    """One side of a comparison: its candidates, and each word's k nearest neighbors (words, k)."""

    name: str
    words: tuple[str, ...]
    near: Neighbors

    def list_neighbors(self, row: int) -> dict[str, float]:
        """Return the neighbors of a compared word with their cosines, best first."""
        words = [self.words[i] for i in self.near.rows[row]]
        return dict(zip(words, map(float, self.near.scores[row]), strict=True))


@dataclass(frozen=True, eq=False)
class NeighborhoodChange:
    """The neighborhood overlap of every compared word.

    overlap: (words,) float64 from 0 to 1. counts: (words,) int64 corpus counts, if one of the
    spaces has them. sizes, dims: sizes and dimensions of the two spaces. shared: number of shared
    words. left_out:
    number of shared words that are not compared, by reason. counts_from: name of the space that the
    counts come from. ids: (words,) int64 rows in the space before. same_vectors: whether the
    compared words have the same vectors in both spaces, so that only new candidates can change
    neighbors.
    """

    words: tuple[str, ...]
    overlap: FloatArray
    before: ComparedSpace
    after: ComparedSpace
    settings: ChangeSettings
    sizes: tuple[int, int]
    shared: int
    left_out: dict[str, int]
    counts: IntArray | None = None
    counts_from: str = ""
    ids: IntArray | None = None
    same_vectors: bool = False
    dims: tuple[int, int] = (0, 0)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each compared word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def mean(self) -> float:
        """The mean overlap."""
        return float(self.overlap.mean())

    @property
    def chance(self) -> float:
        """Expected overlap if both sides drew their k neighbors at random."""
        # Each side draws k of its candidates except the word itself (hypergeometric distribution).
        common = len(set(self.before.words) & set(self.after.words)) - 1
        pairs = (len(self.before.words) - 1) * (len(self.after.words) - 1)
        return self.settings.k * common / pairs

    @cached_property
    def order(self) -> IntArray:
        """Rows (words,) int64, most changed first; ties by descending count, then by word."""
        counts = self.counts
        if counts is None:
            counts = np.zeros(len(self.words), dtype=np.int64)
        keys = zip(self.overlap.tolist(), (-counts).tolist(), self.words, strict=True)
        ordered = sorted((key, row) for row, key in enumerate(keys))
        return np.array([row for _, row in ordered], dtype=np.int64)

    @cached_property
    def frequency(self) -> FloatArray:
        """Frequency of each word (words,) float64 on a logarithmic scale from 0 to 1.

        Without counts the position in the space before stands for the rank by frequency, and Zipf's
        law (count ∝ 1 / rank) for the count.
        """
        if self.counts is not None:
            weights = np.log1p(self.counts.astype(np.float64))
        else:
            ids = np.arange(len(self.words)) if self.ids is None else self.ids
            weights = np.log((self.sizes[0] + 1) / (ids + 1.0))
        highest = float(weights.max(initial=0.0))
        if highest == 0.0:
            return np.zeros(len(weights))
        return np.asarray(weights / highest)

    def rank(self, by: str) -> IntArray:
        """Return the rows (words,) int64 in the order of one of RANKINGS; ties by overlap, count
        and word.

        Example: a word that keeps 4 of 10 neighbors, of frequency .5, has the weight .6 × .5 = .3.
        """
        if by == BY_CHANGE:
            return self.order
        keys = self.frequency
        if by == WEIGHTED:
            keys = (1 - self.overlap) * self.frequency
        return self.order[np.argsort(-keys[self.order], kind="stable")]

    @cached_property
    def showcase(self) -> str:
        """The word whose neighbors changed most convincingly; "" if no suitable word changed.

        The score of a word is the fraction of its neighbors that it lost, times the rise of the
        mean cosine of its neighbors; each mean is taken relative to that of all words of its space.
        Only words of at least SHOWCASE_LENGTH letters are considered.

        Example: a word that lost all of its neighbors, mean cosine .54, to others, mean .69, where
        these means are .50 and .55 over all words, has the score (.69 − .55) − (.54 − .50) = .10.
        """
        means = [side.near.scores.mean(axis=1) for side in (self.before, self.after)]
        before, after = (mean - mean.mean() for mean in means)
        scores = (1 - self.overlap) * (after - before)
        for row in np.argsort(-scores, kind="stable").tolist():
            word: str = self.words[row]
            if len(word) >= SHOWCASE_LENGTH and word.isalpha() and self.overlap[row] < 1:
                return word
        return ""

    @property
    def histogram(self) -> IntArray:
        """Number of words that keep 0, 1, … k of their neighbors (k + 1,) int64."""
        return count_by_overlap(self.overlap, self.settings.k)

    def word(self, word: str) -> WordChange:
        """Return the neighbors of a word; raises InputError if it is not compared."""
        if word not in self.index:
            raise InputError(
                f"{word[:60]!r} is not among the {len(self.words):,} words that are compared.",
                "Choose a word that both spaces have and that is not excluded.",
                code="unknown-word",
            )
        row = self.index[word]
        before = self.before.list_neighbors(row)
        after = self.after.list_neighbors(row)
        lost = [NeighborIn(*one) for one in before.items() if one[0] not in after]
        common = [NeighborInBoth(one, before[one], after[one]) for one in before if one in after]
        gained = [NeighborIn(*one) for one in after.items() if one[0] not in before]
        common.sort(key=lambda found: -found.before - found.after)
        return WordChange(word, float(self.overlap[row]), tuple(lost), tuple(common), tuple(gained))


def measure_neighborhood_change(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    settings: ChangeSettings = ChangeSettings(),
    only: Collection[str] | None = None,
    progress: Progress = silent,
    counted: EmbeddingSpace | None = None,
) -> NeighborhoodChange:
    """Compare the nearest neighbors of every shared word of two spaces.

    only: the words to compare (those that the noise baseline also has). counted: a space whose
    counts are used if neither of the two has any. A zero vector has no neighbors, so its word is
    excluded. Raises InputError if the spaces share no word, or too few for k.
    """
    # 1. The shared words without the excluded ones.
    shared = [word for word in before.words if word in after]
    words, left_out = select_compared_words(before, after, shared, settings, only)
    _check_size(before, after, len(shared), len(words), settings)

    # 2. The nearest neighbors of each word in either space.
    first = _find_neighbors(before, words, settings, part(progress, 0, 0.5, before.name))
    second = _find_neighbors(after, words, settings, part(progress, 0.5, 1, after.name))

    # 3. The overlap of the two lists of each word, and how frequent it is.
    counts, counts_from = _get_counts((before, after, counted), words)
    return NeighborhoodChange(
        tuple(words),
        _compute_overlap(first, second),
        first,
        second,
        settings,
        (len(before), len(after)),
        len(shared),
        left_out,
        counts,
        counts_from,
        before.rows(words),
        have_same_vectors(before, after, words),
        (before.dim, after.dim),
    )


def select_compared_words(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    shared: list[str],
    settings: ChangeSettings,
    only: Collection[str] | None = None,
) -> tuple[list[str], dict[str, int]]:
    """Return the shared words to compare, and the number of excluded ones by reason."""
    # 1. The words that each reason excludes.
    reasons: dict[str, Collection[str]] = {}
    for name in settings.without:
        find_kind = EXCLUDED_KINDS[name]
        reasons[name] = find_kind(before) | find_kind(after)
    reasons[ZERO_VECTOR] = find_zero_words(before) | find_zero_words(after)
    if only is not None:
        reasons[NOT_IN_BASELINE] = set(shared).difference(only)

    # 2. Exclude them; a word with several reasons is counted under the first.
    words = shared
    left_out = dict[str, int]()
    for reason, out in reasons.items():
        left = [word for word in words if word not in out]
        if len(left) < len(words):
            left_out[reason] = len(words) - len(left)
        words = left
    return words, left_out


def count_by_overlap(overlap: FloatArray, k: int) -> IntArray:
    """Count the words that keep 0, 1, … k neighbors: overlap (words,) to counts (k + 1,) int64."""
    return np.bincount(np.rint(overlap * k).astype(np.int64), minlength=k + 1)


def have_same_vectors(before: EmbeddingSpace, after: EmbeddingSpace, words: Sequence[str]) -> bool:
    """Return whether the words have the same vectors in both spaces."""
    if before.dim != after.dim:
        return False
    return np.array_equal(before.matrix[before.rows(words)], after.matrix[after.rows(words)])


def find_zero_words(space: EmbeddingSpace) -> frozenset[str]:
    """Return the words whose vector is zero: they have no nearest neighbors."""
    return frozenset(space.words[row] for row in np.flatnonzero(~space.matrix.any(axis=1)))


def estimate_change_seconds(
    before: EmbeddingSpace, after: EmbeddingSpace, settings: ChangeSettings = ChangeSettings()
) -> float:
    """Estimate the seconds of a comparison on two cores."""
    words = sum(word in after for word in before.words)
    seconds = 0.0
    for space in (before, after):
        candidates = words
        if settings.among == "all":
            candidates = len(space)
        seconds += words * candidates * (PER_VALUE + PER_PRODUCT * space.dim)
    return seconds


def _find_neighbors(
    space: EmbeddingSpace,
    words: list[str],
    settings: ChangeSettings,
    progress: Progress,
) -> ComparedSpace:
    if settings.among == "shared":
        candidates = space.take(space.rows(words))
    else:
        # All words that may be a neighbor: neither zero nor excluded.
        excluded = set(find_zero_words(space))
        for name in settings.without:
            excluded |= EXCLUDED_KINDS[name](space)
        candidates = space.take(
            [row for row, word in enumerate(space.words) if word not in excluded]
        )
    own = candidates.rows(words)
    report = part(progress, 0, 1, f"neighbors of {len(words):,} words among {len(candidates):,}")
    return ComparedSpace(
        space.name,
        candidates.words,
        find_nearest(
            candidates.matrix[own], candidates, settings.k, leave_out=own, progress=report
        ),
    )


def _compute_overlap(first: ComparedSpace, second: ComparedSpace) -> FloatArray:
    """Return the overlap@k of each word (words,) float64.

    Example, k = 2: neighbors {a, b} before and {b, c} after -> one in common -> overlap .5.
    """
    # 1. Give each word the same id in both spaces.
    ids = {word: i for i, word in enumerate(dict.fromkeys((*first.words, *second.words)))}
    left = np.array([ids[word] for word in first.words])[first.near.rows]
    right = np.array([ids[word] for word in second.words])[second.near.rows]

    # 2. Look for each neighbor of the first space among those of the second: k passes over
    #    (words, k), which needs no array of (words, k, k).
    common = np.zeros(len(left), dtype=np.int64)
    for column in left.T:
        common += (right == column[:, None]).any(axis=1)
    return np.asarray(common / left.shape[1])


def _get_counts(
    spaces: Sequence[EmbeddingSpace | None], words: list[str]
) -> tuple[IntArray | None, str]:
    """Return the corpus counts (words,) of the first space that has them, and its name.

    A word that this space lacks has the count 0; a space that counts none of the words is skipped.
    """
    for space in spaces:
        if space is None or space.counts is None:
            continue
        known = space.index
        counts = [int(space.counts[known[word]]) if word in known else 0 for word in words]
        if any(counts):
            return np.array(counts, dtype=np.int64), space.name
    return None, ""


def _check_size(
    before: EmbeddingSpace, after: EmbeddingSpace, shared: int, left: int, settings: ChangeSettings
) -> None:
    """Raise InputError for too few words: k of k candidates are the same in any space."""
    if not shared:
        raise InputError(
            f"{before.name} and {after.name} have no word in common ({len(before):,} and"
            f" {len(after):,} words).",
            "Give two spaces over the same words, such as a model before and after adaptation.",
            code="no-common-word",
        )
    if left < settings.k + 2:
        raise InputError(
            f"{settings.k} neighbors need at least {settings.k + 2} words, but only {left:,} of the"
            f" {shared:,} shared words are left.",
            "Choose fewer neighbors, or exclude fewer words.",
            code="too-few-words",
        )
