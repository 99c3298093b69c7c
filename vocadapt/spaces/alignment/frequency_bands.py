"""How often an alignment finds the right word, for frequent, middle and rare words.

New words are rarer than the words that both spaces share: the band of rare words is the best guess
for them.
"""

from dataclasses import dataclass

import numpy as np

from vocadapt.spaces.space import IntArray

NAMES = ("frequent", "middle", "rare")
MIN_WORDS = 10  # in a band; with fewer, a fraction means little


@dataclass(frozen=True)
class FrequencyBand:
    """A third of the held-out words by frequency: its counts in the text, and the words found.

    least, most: the lowest and highest count of its words. found: number of words whose own
    wordpiece is among the k nearest.
    """

    name: str
    least: int
    most: int
    words: int
    found: int


def measure_frequency_bands(
    ranks: IntArray, counts: IntArray, k: int = 5
) -> tuple[FrequencyBand, ...]:
    """Count the words found in each third by frequency, frequent words first; () for few words.

    ranks: (n,) int64, the number of candidates nearer than the right one. counts: (n,) int64.

    Example, k = 1: counts [9 8 5 4 1 1], ranks [0 3 0 0 7 7] -> found 1 of 2, 2 of 2, 0 of 2 (if
    bands of two words were allowed).
    """
    if len(ranks) < len(NAMES) * MIN_WORDS:
        return ()
    by_frequency = np.argsort(-counts, kind="stable")
    bands = []
    for name, rows in zip(NAMES, np.array_split(by_frequency, len(NAMES)), strict=True):
        found = int((ranks[rows] < k).sum())
        bands.append(
            FrequencyBand(name, int(counts[rows].min()), int(counts[rows].max()), len(rows), found)
        )
    return tuple(bands)
