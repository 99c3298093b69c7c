"""The order in which tokens can be removed from a vocabulary of byte-pair encoding (BPE).

A token that a merge joins to a longer one cannot be removed before that one: the longer one would
be kept, but no text could contain it. So only *leaves* are removed: tokens that no kept merge uses
as a part. A token becomes a leaf when all tokens that are made from it are removed.

Example: the merges are (t, e), (te, n), (n, s), and the ranking is te, ns, ten. te is needed for
ten, so ns is removed first; then ten, which makes te a leaf; then te.
"""

import heapq
from collections.abc import Collection, Sequence


def order_leaf_removals(
    merges: Sequence[tuple[str, str]],
    ranking: Sequence[str],
    tokens: Collection[str],
    protected: Collection[str] = (),
) -> list[str]:
    """Return the tokens in the order in which they can be removed: without the first k of them, for
    any k, no kept merge uses a removed token.

    merges: pairs of tokens; those with or of a token that is not in `tokens` are ignored.
    ranking: tokens that may be removed, in order of removal. tokens: the whole vocabulary.
    protected: tokens that are never removed; neither are single characters.
    """
    # 1. Store the parts of each token, and how often merges use it as a part.
    uses = dict.fromkeys(tokens, 0)
    parts: dict[str, list[str]] = {}
    for left, right in merges:
        product = left + right
        if left in uses and right in uses and product in uses:
            uses[left] += 1
            uses[right] += 1
            parts.setdefault(product, []).extend((left, right))
    # 2. Rank the tokens that may be removed.
    kept = set(protected)
    rank: dict[str, int] = {}
    for token in ranking:
        if len(token) > 1 and token in uses and token not in kept:
            rank.setdefault(token, len(rank))
    # 3. Remove the leaf of the lowest rank, again and again; its parts may become leaves.
    leaves = [(place, token) for token, place in rank.items() if not uses[token]]
    heapq.heapify(leaves)
    order: list[str] = []
    while leaves:
        _, token = heapq.heappop(leaves)
        order.append(token)
        for part in parts.get(token, ()):
            uses[part] -= 1
            if not uses[part] and part in rank:
                heapq.heappush(leaves, (rank[part], part))
    return order
