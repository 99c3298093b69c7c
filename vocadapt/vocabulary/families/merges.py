"""Merges of byte-pair encoding (BPE): apply them to a pre-token, and append merges for new tokens.

A merge joins two adjacent tokens. Its rank is its place in the list; the merge with the lowest rank
comes first (Sennrich et al. 2016). An appended merge has the highest rank, so every token that the
earlier merges make is made as before.

Example: with the merges (h, e), (r, t), hert becomes he rt. To make hert one token, append (he,
rt).
"""

from collections.abc import Collection, Iterable
from itertools import pairwise

Merge = tuple[str, str]


class MergeList:
    """Merges by rank, to which merges can be appended."""

    def __init__(self, merges: Iterable[Merge]) -> None:
        self.merges = list(merges)
        self._ranks: dict[Merge, int] = {}
        for rank, merge in enumerate(self.merges):
            self._ranks.setdefault(merge, rank)

    def apply(self, symbols: Iterable[str]) -> list[str]:
        """Return the tokens of symbols, such as the characters of a pre-token."""
        tokens = list(symbols)
        while len(tokens) > 1:
            # 1. The adjacent pair with the lowest rank.
            known = [pair for pair in pairwise(tokens) if pair in self._ranks]
            if not known:
                break
            best = min(known, key=self._ranks.__getitem__)
            # 2. Merge it everywhere, from the left.
            tokens = merge_pair(tokens, best, "".join(best))
        return tokens

    def append_for(self, token: str) -> list[str]:
        """Append the merges that make `token` of the tokens into which it is split, from the left.

        Returns the tokens that the new merges make, `token` last; [] if merges make it already.
        Example: ta chy card with no merge of them → tachy, tachycard.
        """
        tokens = self.apply(token)
        made: list[str] = []
        while len(tokens) > 1:
            left, right = tokens[:2]
            self._ranks[left, right] = len(self.merges)
            self.merges.append((left, right))
            made.append(left + right)
            # The merge applies wherever the pair occurs: tata, t a t a → ta ta → tata.
            tokens = self.apply(token)
        return made


def merge_pair(tokens: Iterable[str], pair: Merge, merged: str) -> list[str]:
    """Replace each occurrence of a pair by one token, from the left: a a a, (a, a) → aa a."""
    left, right = pair
    found: list[str] = []
    for token in tokens:
        if token == right and found and found[-1] == left:
            found[-1] = merged
        else:
            found.append(token)
    return found


def keep_merges(merges: Iterable[Merge], tokens: Collection[str]) -> list[Merge]:
    """Return the merges whose two parts and result are among the tokens, in their order."""
    return [
        (left, right)
        for left, right in merges
        if left in tokens and right in tokens and left + right in tokens
    ]
