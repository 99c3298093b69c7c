"""Anchors: the words that two spaces share; alignments are fitted and evaluated on them."""

from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.space import EmbeddingSpace, IntArray


@dataclass(frozen=True)
class AnchorFilter(CheckedSettings):
    """Which shared words to exclude from the anchors; by default none, as in Poerner et al. 2020.

    Continuations are wordpieces such as ##ing, which a corpus may contain by accident. A minimum
    count needs a source with counts.
    """

    single_characters: bool = setting(
        False,
        "kind of anchors to leave out",
        flag="--anchors-without=single-characters",
        label="Leave out single characters",
    )
    digits: bool = setting(
        False,
        "kind of anchors to leave out",
        flag="--anchors-without=digits",
        label="Leave out words with digits",
    )
    continuation: bool = setting(
        False,
        "kind of anchors to leave out",
        flag="--anchors-without=continuation",
        label="Leave out continuations",
    )
    min_count: int = setting(
        0, "minimum count of an anchor in the text of the word vectors", label="Min count"
    )

    def keeps(self, word: str) -> bool:
        """Return whether the spelling of `word` passes the filter."""
        if self.single_characters and len(word) == 1:
            return False
        return not (self.digits and any(character.isdigit() for character in word))


@dataclass(frozen=True, eq=False)
class Anchors:
    """Shared words in the source's order, and their rows in source and target, each (n,) int64.

    never_produced: shared words that are no anchors, because the tokenizer of the target's model
        never produces them: their embeddings are not trained.
    """

    words: tuple[str, ...]
    source_rows: IntArray
    target_rows: IntArray
    never_produced: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words)


def find_anchors(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    filter: AnchorFilter = AnchorFilter(),
) -> Anchors:
    """Return the shared words that pass the filter, without special tokens, placeholders such as
    [unused0], and words that the tokenizer of the target's model never produces.

    Raises InputError if no word is left, and for a minimum count on a source without counts.
    """
    if filter.min_count and source.counts is None:
        raise InputError(
            f"A minimum count of {filter.min_count} needs corpus counts, and {source.name} has"
            " none.",
            "Train the vectors here, or set the minimum count to 0.",
            code="no-counts",
        )
    excluded = target.kinds.special | target.kinds.placeholders
    if filter.continuation:
        excluded |= target.kinds.continuations
    shared = [word for word in source.words if word in target and word not in excluded]
    passed = [word for word in shared if filter.keeps(word)]
    if filter.min_count and source.counts is not None:
        counts = source.counts
        passed = [word for word in passed if counts[source.index[word]] >= filter.min_count]
    is_produced = {word: target.kinds.is_produced(word) for word in passed}
    words = tuple(word for word in passed if is_produced[word])
    if not words:
        raise InputError(
            f"{source.name} ({len(source)} words) and {target.name} ({len(target)}) share no word"
            " that could serve as an anchor.",
            "Check that both have the same language and casing, and that the anchor filter does not"
            " exclude every word.",
            code="no-anchor",
        )
    never_produced = tuple(word for word in passed if not is_produced[word])
    return Anchors(words, source.rows(words), target.rows(words), never_produced)
