"""Merging of spellings that a model normalizes to one word (`Aspirin`, `aspirin` → `aspirin`)."""

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.io.row_reader import ImportedSpace
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter

COLLISIONS = {
    "first": "the first one's vector was kept",
    "mean": "the mean of their vectors was taken",
}


def fold_case(
    space: EmbeddingSpace, splitter: Splitter, collisions: str = "first"
) -> ImportedSpace:
    """Normalize each word as a model does; words that become one are merged, words the model splits
    are left out.

    `collisions`: "first" keeps the vector that comes first (files are sorted by frequency, so the
    commonest spelling's), "mean" takes the mean, weighted by the counts where the space has them.
    Counts are added up. The notes say how many of how many. Raises InputError for an unknown rule,
    and when no word is left.
    """
    if collisions not in COLLISIONS:
        raise InputError(
            f"Unknown rule for words that become one: {collisions!r}.",
            f"Choose one of: {', '.join(COLLISIONS)}.",
        )
    groups = _groups(space, splitter)
    kept = sum(map(len, groups.values()))
    if not groups:
        raise InputError(
            f"{space.name}: the model splits every one of its {len(space):,} words.",
            "Check that these are words.",
        )
    matrix = space.matrix[[rows[0] for rows in groups.values()]]
    if collisions == "mean":
        for number, rows in enumerate(groups.values()):
            if len(rows) > 1:
                matrix[number] = _mean(space, rows)
    counts = (
        None
        if space.counts is None
        else np.array([space.counts[rows].sum() for rows in groups.values()], dtype=np.int64)
    )
    folded = EmbeddingSpace(tuple(groups), matrix, counts, space.name)
    return ImportedSpace(folded, "folded", tuple(_notes(space, kept, len(groups), collisions)))


def _groups(space: EmbeddingSpace, splitter: Splitter) -> dict[str, list[int]]:
    """Group the rows by normalized word; words that the model splits are excluded."""
    groups: dict[str, list[int]] = {}
    for row, word in enumerate(space.words):
        met = splitter.words(word)
        if len(met) == 1:
            groups.setdefault(met[0], []).append(row)
    return groups


def _mean(space: EmbeddingSpace, rows: list[int]) -> NDArray[np.float32]:
    """The mean of some rows, weighted by their counts where there are any."""
    weights = None if space.counts is None or not space.counts[rows].any() else space.counts[rows]
    mean: NDArray[np.float32] = np.average(space.matrix[rows], axis=0, weights=weights)
    return mean


def _notes(space: EmbeddingSpace, kept: int, words: int, collisions: str) -> list[str]:
    """What was left out and merged."""
    notes = []
    if kept < len(space):
        notes.append(
            f"{len(space) - kept:,} of {len(space):,} words are split by the model: left out"
        )
    if words < kept:
        weighted = (
            " (weighted by count)" if collisions == "mean" and space.counts is not None else ""
        )
        notes.append(
            f"{kept:,} spellings became {words:,} words; where several became one,"
            f" {COLLISIONS[collisions]}{weighted}"
        )
    return notes
