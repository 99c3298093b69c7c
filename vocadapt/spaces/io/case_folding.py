"""Merging of spellings that a model normalizes to one word (`Aspirin`, `aspirin` → `aspirin`)."""

import numpy as np

from vocadapt.errors import InputError, check_choice
from vocadapt.spaces.io.row_files import ImportedSpace
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.text.splitter import Splitter

COLLISIONS = {
    "first": "the first one's vector was kept",
    "mean": "their vectors were averaged, weighted by counts if there are any",
}


def fold_case(
    space: EmbeddingSpace, splitter: Splitter, collisions: str = "first"
) -> ImportedSpace:
    """Normalize each word as a model does; merge words that become equal, drop words that the model
    splits.

    collisions: "first" keeps the first vector (that of the most frequent spelling if the file is
    sorted by frequency), "mean" takes the mean, weighted by the counts if the space has them.
    Counts are summed. The notes report the numbers. Raises InputError for an unknown rule, and if
    no word is left.
    """
    check_choice("rule for merging words", collisions, COLLISIONS)
    # 1. Group the rows by normalized word, without the words that the model splits.
    groups: dict[str, list[int]] = {}
    for row, word in enumerate(space.words):
        words = splitter.words(word)
        if len(words) == 1:
            groups.setdefault(words[0], []).append(row)
    if not groups:
        raise InputError(
            f"{space.name}: the model splits every one of its {len(space):,} words.",
            "Check that the file contains single words.",
            code="no-word-left",
        )

    # 2. One vector for each group, and the sum of its counts.
    matrix = space.matrix[[rows[0] for rows in groups.values()]]
    if collisions == "mean":
        for number, rows in enumerate(groups.values()):
            if len(rows) > 1:
                matrix[number] = _compute_mean(space, rows)
    counts = space.counts
    if counts is not None:
        counts = np.array([counts[rows].sum() for rows in groups.values()], dtype=np.int64)

    # 3. The new space, with notes on what was dropped and merged.
    folded = EmbeddingSpace(tuple(groups), matrix, counts, space.name)
    return ImportedSpace(folded, "folded", _describe_folding(space, groups, collisions))


def describe_capitals(space: EmbeddingSpace, splitter: Splitter | None = None) -> list[str]:
    """Describe how many words have capitals, unless the model keeps them; [] if none has.

    splitter: that of the model, if it is known.
    """
    if splitter is not None and splitter.words("A") == ["A"]:
        return []
    n_capitalized = sum(word != word.lower() for word in space.words)
    if not n_capitalized:
        return []
    return [
        f"{n_capitalized:,} of {len(space):,} words have capitals, which an uncased model never"
        " reads: fold their case for such a model"
    ]


def _compute_mean(space: EmbeddingSpace, rows: list[int]) -> Matrix:
    """Return the mean of rows (dim,), weighted by their counts if any are known and positive."""
    weights = None
    if space.counts is not None and space.counts[rows].any():
        weights = space.counts[rows]
    return np.asarray(np.average(space.matrix[rows], axis=0, weights=weights))


def _describe_folding(
    space: EmbeddingSpace, groups: dict[str, list[int]], collisions: str
) -> tuple[str, ...]:
    notes = []
    left = sum(map(len, groups.values()))
    if left < len(space):
        notes.append(
            f"{len(space) - left:,} of {len(space):,} words are split by the model: left out"
        )
    if len(groups) < left:
        notes.append(
            f"{left:,} spellings became {len(groups):,} words; where several became one,"
            f" {COLLISIONS[collisions]}"
        )
    return tuple(notes)
