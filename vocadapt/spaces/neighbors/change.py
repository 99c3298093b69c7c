"""Neighborhood change: which words have other neighbors in one space than in another, measured in
the original spaces.

overlap@k of a word is the share of its k nearest (cosine) that both spaces agree on. Neighbors are
looked for among the words that both spaces have, or, where asked, among all words of each. Nothing
is projected or aligned first: two spaces that differ by a rotation, or in their width, may be
compared as they are.

An overlap below 1 is not yet a change: two trainings that differ in the seed alone do not agree
either, and on rare words least. What that does is the null (`vocadapt.spaces.neighbors.noise_baseline`); without
one, no overlap can be called change.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import bounded, check_settings
from vocadapt.spaces.neighbors.search import Neighbors, find_nearest, iterate_blocks
from vocadapt.spaces.projection.token_choice import UNUSED
from vocadapt.spaces.space import EmbeddingSpace

Flags = NDArray[np.bool_]
Values = NDArray[np.float64]
AMONG = {"shared": "the words that both spaces have", "all": "all words of each space"}
EXCLUDED_KINDS: dict[str, Callable[[str, Collection[str]], bool]] = {
    "special": lambda word, special: word in special,
    "continuation": lambda word, special: word.startswith("##") and len(word) > 2,
    "unused": lambda word, special: UNUSED.fullmatch(word) is not None,
}
PER_VALUE = 2.5e-9  # seconds to choose the nearest, for each cosine (two cores, 2.5 GHz)
PER_PRODUCT = 1.6e-11  # and for each multiplication of the product


@dataclass(frozen=True)
class ChangeSettings:
    """How many neighbors, among which words (a key of AMONG), and which kinds of words are left
    out (keys of WITHOUT).
    """

    k: int = bounded(10, 1, 10_000, "Neighbors to compare")
    among: str = "shared"
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self)
        if self.among not in AMONG:
            raise InputError(
                f"Unknown candidates {self.among!r}.", f"Choose one of: {', '.join(AMONG)}."
            )
        unknown = [name for name in self.without if name not in EXCLUDED_KINDS]
        if unknown:
            raise InputError(
                f"There is no kind of word {unknown[0]!r} to leave out.",
                f"Choose from: {', '.join(EXCLUDED_KINDS)}.",
            )


@dataclass(frozen=True)
class WordChange:
    """The neighbors of a word, with cosines, best first: in the space before only, in both
    (before, after), after only.
    """

    word: str
    overlap: float
    only_before: tuple[tuple[str, float], ...]
    both: tuple[tuple[str, float, float], ...]
    only_after: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class ComparedSpace:
    """One of the two spaces as it is compared: its candidates, and the k nearest of each shared
    word (words, k) among them.
    """

    name: str
    words: tuple[str, ...]
    near: Neighbors

    def listed(self, row: int) -> dict[str, float]:
        """The neighbors of a shared word with their cosines, best first."""
        return {
            self.words[i]: float(s)
            for i, s in zip(self.near.rows[row], self.near.scores[row], strict=True)
        }


@dataclass(frozen=True, eq=False)
class NeighborhoodChange:
    """What became of the neighbors of every shared word.

    `overlap` (words,) lies between 0 and 1, `counts` (words,) are corpus counts where one of the
    spaces knows them, `of` the sizes of the two spaces, `left_out` how many of the shared words are
    not compared, by reason.
    """

    words: tuple[str, ...]
    overlap: Values
    before: ComparedSpace
    after: ComparedSpace
    settings: ChangeSettings
    of: tuple[int, int]
    shared: int
    left_out: dict[str, int]
    counts: NDArray[np.int64] | None = None

    @cached_property
    def index(self) -> dict[str, int]:
        """Word to row."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def mean(self) -> float:
        """The mean overlap."""
        return float(self.overlap.mean())

    @property
    def chance(self) -> float:
        """The overlap of two spaces that have nothing in common: k of each side's candidates, drawn
        at random.
        """
        common = len(set(self.before.words) & set(self.after.words)) - 1
        return (
            self.settings.k * common / ((len(self.before.words) - 1) * (len(self.after.words) - 1))
        )

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Rows, most changed first; of equal overlaps the most frequent word first where counts are
        known, then by word.
        """
        counts = (
            self.counts if self.counts is not None else np.zeros(len(self.words), dtype=np.int64)
        )
        order = sorted(
            range(len(self.words)),
            key=lambda row: (self.overlap[row], -counts[row], self.words[row]),
        )
        return np.array(order, dtype=np.int64)

    @property
    def histogram(self) -> NDArray[np.int64]:
        """How many words keep 0, 1, … k of their neighbors (k + 1,)."""
        return count_by_overlap(self.overlap, self.settings.k)

    def word(self, word: str) -> WordChange:
        """The three lists of one word; raises InputError for one that is not compared."""
        if word not in self.index:
            raise InputError(
                f"{word[:60]!r} is not among the {len(self.words):,} words that are compared.",
                "It must stand in both spaces, and not be left out.",
            )
        row = self.index[word]
        before, after = self.before.listed(row), self.after.listed(row)
        both = [(other, before[other], after[other]) for other in before if other in after]
        return WordChange(
            word,
            float(self.overlap[row]),
            tuple((other, cosine) for other, cosine in before.items() if other not in after),
            tuple(sorted(both, key=lambda found: -found[1] - found[2])),
            tuple((other, cosine) for other, cosine in after.items() if other not in before),
        )


def measure_neighborhood_change(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    settings: ChangeSettings = ChangeSettings(),
    special: Collection[str] = frozenset(),
    only: Collection[str] | None = None,
    progress: Progress = silent,
) -> NeighborhoodChange:
    """Compare the neighbors of every word that two spaces have; their widths may differ.

    `special`: what `without` "special" leaves out. `only`: compare none but these (the words that a
    null has, too). A word whose vector is zero has no neighbors and is left out. Raises InputError
    for spaces that share no word, or too few for k.
    """
    shared = [word for word in before.words if word in after]
    words, left_out = select_compared_words(before, after, shared, settings, special, only)
    _enough(before, after, len(shared), len(words), settings)
    first = _side(before, words, settings, special, part(progress, 0.0, 0.5, before.name))
    second = _side(after, words, settings, special, part(progress, 0.5, 1.0, after.name))
    overlap = _agreement(first, second)
    return NeighborhoodChange(
        tuple(words),
        overlap,
        first,
        second,
        settings,
        (len(before), len(after)),
        len(shared),
        left_out,
        _counts(before, after, words),
    )


def select_compared_words(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    shared: list[str],
    settings: ChangeSettings,
    special: Collection[str] = frozenset(),
    only: Collection[str] | None = None,
) -> tuple[list[str], dict[str, int]]:
    """Which of the shared words are compared, and how many are not, by reason."""
    words, left_out = shared, dict[str, int]()
    zero = find_zero_words(before) | find_zero_words(after)
    reasons: dict[str, Collection[str]] = {
        name: {word for word in shared if EXCLUDED_KINDS[name](word, special)}
        for name in settings.without
    }
    reasons["vector is zero"] = zero.intersection(shared)
    reasons["not in the null"] = set(shared).difference(only) if only is not None else set()
    for reason, out in reasons.items():
        kept = [word for word in words if word not in out]
        if len(kept) < len(words):
            left_out[reason] = len(words) - len(kept)
        words = kept
    return words, left_out


def count_by_overlap(overlap: Values, k: int) -> NDArray[np.int64]:
    """How many words keep 0, 1, … k of their neighbors (k + 1,), from their overlaps."""
    return np.bincount(np.rint(overlap * k).astype(np.int64), minlength=k + 1)


def find_zero_words(space: EmbeddingSpace) -> frozenset[str]:
    """The words of a space whose vector is zero: nothing is near them, or everything."""
    return frozenset(space.words[row] for row in np.flatnonzero(~space.matrix.any(axis=1)))


def estimate_seconds(
    before: EmbeddingSpace, after: EmbeddingSpace, settings: ChangeSettings = ChangeSettings()
) -> float:
    """About how long a comparison takes on two cores: every word against every candidate, in both
    spaces.
    """
    words = sum(word in after for word in before.words)
    sizes = [
        (words if settings.among == "shared" else len(space), space.dim)
        for space in (before, after)
    ]
    return sum(words * candidates * (PER_VALUE + PER_PRODUCT * dim) for candidates, dim in sizes)


def _side(
    space: EmbeddingSpace,
    words: list[str],
    settings: ChangeSettings,
    special: Collection[str],
    progress: Progress,
) -> ComparedSpace:
    """The nearest candidates of each word in one space, block by block."""
    candidates = (
        space.take(space.rows(words))
        if settings.among == "shared"
        else _candidates(space, settings, special)
    )
    own = candidates.rows(words)
    k = settings.k
    rows, scores = (
        np.empty((len(words), k), dtype=np.int64),
        np.empty((len(words), k), dtype=np.float32),
    )
    for block in iterate_blocks(len(words), len(candidates)):
        progress(
            block.start / len(words),
            f"neighbors of {len(words):,} words among {len(candidates):,}",
        )
        found = find_nearest(candidates.matrix[own[block]], candidates, k, leave_out=own[block])
        rows[block], scores[block] = found.rows, found.scores
    return ComparedSpace(space.name, candidates.words, Neighbors(rows, scores))


def _candidates(
    space: EmbeddingSpace, settings: ChangeSettings, special: Collection[str]
) -> EmbeddingSpace:
    """All words of a space that may be a neighbor."""
    zero = find_zero_words(space)
    fine = [
        row
        for row, word in enumerate(space.words)
        if word not in zero
        and not any(EXCLUDED_KINDS[name](word, special) for name in settings.without)
    ]
    return space.take(fine)


def _agreement(first: ComparedSpace, second: ComparedSpace) -> Values:
    """The share of neighbors that two sides have in common, of each word (words,)."""
    ids = {word: i for i, word in enumerate(dict.fromkeys((*first.words, *second.words)))}
    left, right = (
        np.array([ids[word] for word in side.words])[side.near.rows] for side in (first, second)
    )
    common = np.zeros(len(left), dtype=np.int64)
    for column in left.T:  # k passes over (words, k): no (words, k, k) in memory
        common += (right == column[:, None]).any(axis=1)
    shares: Values = common / left.shape[1]
    return shares


def _counts(
    before: EmbeddingSpace, after: EmbeddingSpace, words: list[str]
) -> NDArray[np.int64] | None:
    known = next((space for space in (before, after) if space.counts is not None), None)
    return None if known is None or known.counts is None else known.counts[known.rows(words)]


def _enough(
    before: EmbeddingSpace, after: EmbeddingSpace, shared: int, left: int, settings: ChangeSettings
) -> None:
    """Raises InputError for too few words: with k of k candidates every neighborhood is the
    same.
    """
    if not shared:
        raise InputError(
            f"{before.name} and {after.name} have no word in common ({len(before):,} and"
            f" {len(after):,} words).",
            "Give two spaces over the same words, such as a model before and after it was adapted.",
        )
    if left < settings.k + 2:
        raise InputError(
            f"{settings.k} neighbors need {settings.k + 2} words at least, and {left:,} of the"
            f" {shared:,} shared ones are left.",
            "Ask for fewer neighbors, or leave fewer words out.",
        )
