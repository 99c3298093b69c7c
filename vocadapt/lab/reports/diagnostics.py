"""Diagnostics of spaces for command line and page: which tokens count, names of spaces, all
figures.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.diagnostics.evaluation import PairScore, score_pairs
from vocadapt.spaces.diagnostics.geometry import (
    AddedNorms,
    FrequencyBias,
    Hubness,
    Isotropy,
    Norms,
    compare_added_norms,
    measure_frequency_bias,
    measure_hubness,
    measure_isotropy,
    measure_norms,
)
from vocadapt.spaces.diagnostics.relations import (
    PermutationSettings,
    RelationScore,
    score_relations,
)
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


@dataclass(frozen=True)
class Diagnosis:
    """Diagnostics of one space; hubness is None if not requested, or for fewer than two rows.

    added: norms of the embeddings of added and of original tokens; None if no token was added.
    original_norms: norms of the original tokens alone; those of all tokens if none was added.
    added_norms: norms of the added tokens alone.
    """

    isotropy: Isotropy
    norms: Norms
    frequency_bias: FrequencyBias
    hubness: Hubness | None = None
    added: AddedNorms | None = None
    original_norms: Norms | None = None
    added_norms: Norms | None = None


@dataclass(frozen=True)
class ListScores:
    """Scores of a list of word pairs in one space: one per relation, and Spearman's correlation if
    people rated the pairs.
    """

    relations: tuple[RelationScore, ...]
    similarity: PairScore | None


def select_tokens(opened: OpenedSpace, tokens: str = "all") -> EmbeddingSpace:
    """Select the tokens of a space by one of TOKENS; word vectors have words only.

    Raises InputError if no token is left.
    """
    if tokens not in TOKENS:
        raise InputError(
            f"Unknown choice of tokens {tokens!r}.", f"Choose one of: {', '.join(TOKENS)}."
        )
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


def diagnose(
    space: EmbeddingSpace,
    hubs: bool = True,
    progress: Progress = silent,
    added: Collection[str] = frozenset(),
    unnormalized: bool = True,
) -> Diagnosis:
    """Compute the diagnostics of one space; hubs: also compute hubness, which takes seconds.

    added: its added tokens (`Opened.added`), excluded from the correlation with frequency.
    unnormalized: also measure the isotropy of the rows without normalizing.
    """
    progress(0.0, "measuring isotropy")
    even, lengths, bias = (
        measure_isotropy(space, unnormalized),
        measure_norms(space),
        measure_frequency_bias(space, added),
    )
    found = measure_hubness(space, progress=part(progress, 0.2, 1.0)) if hubs else None
    beside, original, new = compare_added_norms(space, added), lengths, None
    if beside is not None:
        is_added = np.array([word in added for word in space.words], dtype=bool)
        original = measure_norms(space.take(np.flatnonzero(~is_added)))
        new = measure_norms(space.take(np.flatnonzero(is_added)))
    return Diagnosis(even, lengths, bias, found, beside, original, new)


def score_lists(
    opened: OpenedSpace,
    lists: Sequence[RelationList],
    own_mean: float | None,
    permutations: PermutationSettings = PERMUTATIONS,
    progress: Progress = silent,
) -> tuple[ListScores, ...]:
    """Score lists of word pairs in one space, corrected by its own mean cosine."""
    space, splitter = opened.space, opened.splitter
    scored = []
    for done, one in enumerate(lists):
        list_progress = part(progress, done / len(lists), (done + 1) / len(lists), one.name)
        relations = score_relations(
            space, one.relations, splitter, own_mean, permutations, list_progress
        )
        scored.append(
            ListScores(relations, score_pairs(space, one.judged, splitter) if one.judged else None)
        )
    return tuple(scored)
