"""Lines by their hashes: which ones are held out, which ones are copies, and how many there are.

A hash depends only on the characters of a line without the blanks around it, so it is the same in
every process, on every machine and for every division of a text. Blank lines are never copies.

Memory: `LineTally` keeps 16 bytes for each of at most MAX_LINES distinct lines (64 MB; while it
merges, three times as much). `SeenLines` must know every line: 8 bytes for each distinct one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]

HELD_OUT_EVERY = 10  # one of ten lines is held out
MAX_LINES = 4_000_000  # distinct lines that are compared; of more, a part is chosen by hash
MAX_WAITING = 1_000_000  # hashes in memory before equal ones are added up
HASH_BITS = 64


def hash_lines(lines: Sequence[str]) -> Hashes:
    """Return a hash of each line, (lines,) uint64; blanks around a line do not count."""
    raw = b"".join(blake2b(line.strip().encode(), digest_size=8).digest() for line in lines)
    return np.frombuffer(raw, dtype="<u8")


BLANK = hash_lines([""])[0]


def find_held_out(hashes: Hashes) -> Mask:
    """Return whether each line is held out, (lines,) bool: copies of a line are on one side, and a
    blank line, which has no words, is not held out.
    """
    is_held_out: Mask = (hashes % HELD_OUT_EVERY == 0) & (hashes != BLANK)
    return is_held_out


@dataclass(eq=False)
class LineTally:
    """How often each line of a text occurs, by hash; tallies of parts can be added.

    hashes: (n,) uint64, rising. counts: (n,) int64. level: only lines whose `level` highest bits
    are 0 are compared; 0 as long as there are no more than MAX_LINES distinct ones. Which lines are
    compared does not depend on their order, so a sum of parts is that of a single pass.
    """

    hashes: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    level: int = 0
    waiting: list[Hashes] = field(default_factory=list)

    def count(self, hashes: Hashes) -> None:
        """Count lines by their hashes; blank lines are left out."""
        self.waiting.append(hashes[hashes != BLANK])
        if sum(map(len, self.waiting)) > MAX_WAITING:
            self.merge()

    def merge(self) -> None:
        """Add up the waiting hashes."""
        hashes = np.concatenate([self.hashes, *self.waiting])
        counts = np.ones(len(hashes), dtype=np.int64)
        counts[: len(self.counts)] = self.counts
        self.waiting = []
        self._add_up(hashes, counts)

    def add(self, other: "LineTally") -> "LineTally":
        """Return the tally of both."""
        total = LineTally(level=max(self.level, other.level))
        self.merge()
        other.merge()
        total._add_up(
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.counts, other.counts]),
        )
        return total

    def _add_up(self, hashes: Hashes, counts: NDArray[np.int64]) -> None:
        """Set the distinct hashes with the sums of their counts, at most MAX_LINES of them."""
        # 1. Add up the counts of equal hashes.
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        counts = counts[order]
        starts = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]))
        self.hashes = hashes[starts]
        self.counts = np.add.reduceat(counts, starts)
        # 2. Keep those whose highest bits are 0: as many bits as are needed.
        self._keep_level()
        while len(self.hashes) > MAX_LINES:
            self.level += 1
            self._keep_level()

    def _keep_level(self) -> None:
        n_kept = len(self.hashes)
        if self.level:
            limit = np.uint64(1 << (HASH_BITS - self.level))
            n_kept = int(np.searchsorted(self.hashes, limit))
        self.hashes = self.hashes[:n_kept]
        self.counts = self.counts[:n_kept]

    @property
    def compared_fraction(self) -> float:
        """Fraction of the distinct lines that were compared."""
        return 0.5**self.level

    def count_identical(self) -> int:
        """Count the copies beyond the first of each line; estimated if not all were compared."""
        self.merge()
        copies = int(self.counts.sum()) - len(self.counts)
        return round(copies / self.compared_fraction)

    def find_most_frequent(self) -> tuple[int, int] | None:
        """Return the hash and the count of the line that occurs most often, of equal ones the
        lowest hash; None if no line occurs twice.
        """
        self.merge()
        if not len(self.counts) or self.counts.max() < 2:
            return None
        most = int(self.counts.argmax())
        return int(self.hashes[most]), int(self.counts[most])


class SeenLines:
    """The lines read so far: sorted arrays of hashes, each at least twice as long as the next."""

    def __init__(self) -> None:
        self.arrays: list[Hashes] = []

    def find_first(self, hashes: Hashes) -> Mask:
        """Return whether each line is read for the first time, (lines,) bool, and remember it.

        A blank line always is.
        """
        # 1. The first of equal lines of this block, if no earlier block has it.
        distinct, first = np.unique(hashes, return_index=True)
        is_new = np.ones(len(distinct), dtype=np.bool_)
        for array in self.arrays:
            places = np.minimum(np.searchsorted(array, distinct), len(array) - 1)
            is_new &= array[places] != distinct
        is_first: Mask = hashes == BLANK
        is_first[first[is_new]] = True
        # 2. Remember the new ones; merge arrays of similar length.
        if is_new.any():
            self.arrays.append(distinct[is_new])
        while len(self.arrays) > 1 and len(self.arrays[-2]) < 2 * len(self.arrays[-1]):
            last = self.arrays.pop()
            self.arrays[-1] = np.sort(np.concatenate([self.arrays[-1], last]))
        return is_first
