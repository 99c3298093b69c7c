"""Anchors: the words that two spaces share, the only thing a map between them is fitted and judged
on.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import MAX_COUNT, bounded, check_settings
from vocadapt.spaces.space import EmbeddingSpace


@dataclass(frozen=True)
class AnchorFilter:
    """Which shared words are left out of the anchors; by default none, as published (Poerner et al.
    2020 keep the noise).

    `min_count` is a floor under the source's corpus counts; it needs a source that knows them.
    """

    single_characters: bool = False
    digits: bool = False
    continuation: bool = False  # pieces such as ##ing, which a corpus may spell by accident
    min_count: int = bounded(0, 0, MAX_COUNT, "Minimum count of an anchor")

    def __post_init__(self) -> None:
        check_settings(self)

    def keeps(self, word: str) -> bool:
        """Whether the spelling of `word` passes."""
        return not (
            (self.single_characters and len(word) == 1)
            or (self.digits and any(character.isdigit() for character in word))
            or (self.continuation and word.startswith("##"))
        )


@dataclass(frozen=True, eq=False)
class Anchors:
    """Shared words in the source's order, with their row numbers in the source and in the target,
    each (n,).
    """

    words: tuple[str, ...]
    source_rows: NDArray[np.int64]
    target_rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.words)


def find_anchors(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    filter: AnchorFilter = AnchorFilter(),
    exclude: Collection[str] = (),
) -> Anchors:
    """All words of both spaces that pass the filter and are not excluded (special tokens are),
    spelled alike.

    Raises InputError where none is left, and for a frequency floor on a source without counts.
    """
    counts = _counts(source, filter.min_count)
    left_out = frozenset(exclude)
    words = tuple(
        word
        for word, count in zip(source.words, counts, strict=True)
        if word in target
        and word not in left_out
        and count >= filter.min_count
        and filter.keeps(word)
    )
    if not words:
        raise InputError(
            f"{source.name} ({len(source)} words) and {target.name} ({len(target)}) share no word"
            " that could serve as an anchor.",
            "Check that both are of one language and one casing, and that the anchor filter leaves"
            " words over.",
        )
    return Anchors(words, source.rows(words), target.rows(words))


def _counts(source: EmbeddingSpace, floor: int) -> NDArray[np.int64]:
    """Corpus counts of the source's words; zeros where they are unknown and not needed."""
    if source.counts is not None:
        return source.counts
    if floor:
        raise InputError(
            f"A frequency floor of {floor} needs corpus counts, and {source.name} has none.",
            "Train the vectors here, or leave the floor out.",
        )
    return np.zeros(len(source), dtype=np.int64)
