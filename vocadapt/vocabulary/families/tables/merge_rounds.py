"""Byte-pair encoding (BPE) of many words at once, with a history of the merges.

BPE starts from single characters and joins, again and again, the adjacent pair with the lowest rank
(Sennrich et al. 2016). Here all words are merged in rounds: in each round, every word joins its
pair of the lowest rank, from the left.

Example: the merges are (t, e), (n, s), (te, n), (te, ns). The word tens:

    round   0         1        2       3
    tokens  t e n s   te n s   te ns   tens

A `MergeHistory` stores in which round each token was made, and in which it became a part of another
one. So a word can be resumed at any round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from vocadapt.vocabulary.families.tables.prefix_trees import list_ranges
from vocadapt.vocabulary.vocabulary import Ints, Mask

NEVER = np.iinfo(np.int64).max  # rank of a pair that cannot be joined; a round that never comes


@dataclass(frozen=True, eq=False)
class Merges:
    """M merges of a vocabulary of V tokens, sorted by pair; as an index M means "no merge".

    size: V.
    keys: (M,) int64, left part · V + right part, sorted.
    left, right, products: (M,) int64, ids of the two parts and of the token that they make.
    ranks: (M + 1,) int64, the pair with the lowest rank is joined first; NEVER for "no merge".
    repeats: (M + 1,) bool, whether all occurrences of the pair in a word can be joined in one
        round: no merge of a lower rank uses the new token.
    """

    size: int
    keys: Ints
    left: Ints
    right: Ints
    products: Ints
    ranks: Ints
    repeats: Mask

    def find(self, left: Ints, right: Ints) -> Ints:
        """Return the index of the merge of each pair of tokens, (pairs,) int64, or M."""
        none = len(self.keys)
        if not none:
            return np.full(len(left), none)
        keys = left * self.size + right
        place = np.searchsorted(self.keys, keys)
        is_found = self.keys[np.minimum(place, none - 1)] == keys
        return np.where(is_found, place, none)

    def rank_without(self, removed: Mask) -> Ints:
        """Return the ranks (M + 1,) int64; NEVER for merges with or of a token in `removed`."""
        gone = removed[self.left] | removed[self.right] | removed[self.products]
        ranks: Ints = self.ranks.copy()
        ranks[:-1][gone] = NEVER
        return ranks

    @cached_property
    def dependents(self) -> tuple[Ints, Ints]:
        """Pairs of a token and one that is made from it, directly or not, two (pairs,) int64."""
        parts = np.concatenate([self.left, self.right])
        products = np.concatenate([self.products, self.products])
        known = sort_distinct(products * self.size + parts)
        products, parts = np.divmod(known, self.size)
        firsts = np.searchsorted(products, np.arange(self.size + 1))
        # In each round, replace the part of a pair by its own parts.
        new = known
        while len(new):
            product, part = np.divmod(new, self.size)
            inner = list_ranges(firsts[part], firsts[part + 1])
            sizes = firsts[part + 1] - firsts[part]
            new = sort_distinct(np.repeat(product, sizes) * self.size + parts[inner])
            place = np.minimum(np.searchsorted(known, new), len(known) - 1)
            new = new[known[place] != new]
            known = np.sort(np.concatenate([known, new]))
        products, parts = np.divmod(known, self.size)
        return parts, products


def sort_distinct(keys: Ints) -> Ints:
    """Return the distinct keys, rising; `np.unique` of numpy 2.4 takes seconds for pairs."""
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]


def build_merges(ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> Merges:
    """Build the sorted merges; of a pair that is listed twice, the last rank counts, as in the
    tokenizers library.

    merges: pairs of tokens by rank.
    """
    size = max(ids.values(), default=-1) + 1
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    left = np.array([ids[one] for one, _ in ranks], dtype=np.int64)
    right = np.array([ids[other] for _, other in ranks], dtype=np.int64)
    products = np.array([ids[one + other] for one, other in ranks], dtype=np.int64)
    rank = np.array(list(ranks.values()), dtype=np.int64)
    first_use = np.full(size, NEVER)
    np.minimum.at(first_use, left, rank)
    np.minimum.at(first_use, right, rank)
    repeats = first_use[products] > rank
    keys = left * size + right
    order = np.argsort(keys)
    return Merges(
        size,
        keys[order],
        left[order],
        right[order],
        products[order],
        np.append(rank[order], NEVER),
        np.append(repeats[order], False),
    )


@dataclass(frozen=True, eq=False)
class Symbols:
    """The current tokens of words, in the order of the text.

    tokens, words, places: (symbols,) int64, id of each token, index of its word (rising), and the
        place at which it begins (rising).
    """

    tokens: Ints
    words: Ints
    places: Ints

    def select(self, chosen: Mask) -> "Symbols":
        """Return the chosen symbols; `chosen` is (symbols,) bool."""
        return Symbols(self.tokens[chosen], self.words[chosen], self.places[chosen])


@dataclass(eq=False)
class MergeLog:
    """The merges of each round.

    One int64 array for each round, with one value for each pair that was joined: the place of its
    left part, the place of its right part, the index of its word, the index of the merge.
    """

    places: list[Ints] = field(default_factory=list)
    right_places: list[Ints] = field(default_factory=list)
    words: list[Ints] = field(default_factory=list)
    merges: list[Ints] = field(default_factory=list)


def merge_words(
    symbols: Symbols, merges: Merges, ranks: Ints, log: MergeLog | None = None
) -> Symbols:
    """Merge words until no pair can be joined.

    ranks: (M + 1,) int64, as in Merges, NEVER for merges that cannot be applied.
    log: if given, each round is added to it.
    """
    finished: list[Symbols] = []
    symbols = Symbols(symbols.tokens.copy(), symbols.words, symbols.places)
    pairs = _find_pairs(symbols, np.arange(len(symbols.tokens)), merges)
    while len(symbols.tokens):
        # 1. Find the lowest rank of each word; words without a pair to join are finished.
        rank = ranks[pairs]
        firsts = np.flatnonzero(np.diff(symbols.words, prepend=-1))
        sizes = np.diff(np.append(firsts, len(rank)))
        lowest = np.repeat(np.minimum.reduceat(rank, firsts), sizes)
        active = lowest != NEVER
        if not active.all():
            finished.append(symbols.select(~active))
            symbols = symbols.select(active)
            pairs = pairs[active]
            rank = rank[active]
            lowest = lowest[active]
        # 2. Choose the pairs to join.
        chosen = _choose_pairs(np.flatnonzero(rank == lowest), symbols.words, merges.repeats[pairs])
        if log is not None:
            log.places.append(symbols.places[chosen])
            log.right_places.append(symbols.places[chosen + 1])
            log.words.append(symbols.words[chosen])
            log.merges.append(pairs[chosen])
        # 3. Replace the left part by the new token, and drop the right part.
        symbols.tokens[chosen] = merges.products[pairs[chosen]]
        is_kept = np.ones(len(rank), dtype=np.bool_)
        is_kept[chosen + 1] = False
        symbols = symbols.select(is_kept)
        pairs = pairs[is_kept]
        # 4. Look up the new pairs: of each new token, and of the token before it.
        new = chosen - np.arange(len(chosen))
        changed = np.concatenate([new, new[new > 0] - 1])
        pairs[changed] = _find_pairs(symbols, changed, merges)
    if not finished:
        return symbols
    return Symbols(
        np.concatenate([part.tokens for part in finished]),
        np.concatenate([part.words for part in finished]),
        np.concatenate([part.places for part in finished]),
    )


def _find_pairs(symbols: Symbols, at: Ints, merges: Merges) -> Ints:
    """Return the merge of the symbols `at` with those after them, (at,) int64, or M."""
    pairs = np.full(len(at), len(merges.keys))
    following = np.minimum(at + 1, len(symbols.tokens) - 1)
    has_next = (following > at) & (symbols.words[following] == symbols.words[at])
    left = symbols.tokens[at[has_next]]
    right = symbols.tokens[following[has_next]]
    pairs[has_next] = merges.find(left, right)
    return pairs


def _choose_pairs(at: Ints, words: Ints, repeats: Mask) -> Ints:
    """Return the pairs that are joined in one round, (pairs,) int64.

    at: index of the left part of all pairs of the lowest rank in their word, rising.
    """
    # 1. Occurrences that overlap (a a a) have the same two parts: take every second one.
    index = np.arange(len(at))
    run_start = np.maximum.accumulate(np.where(np.diff(at, prepend=-2) != 1, index, 0))
    at = at[(index - run_start) % 2 == 0]
    # 2. Take only the first in its word if the new token may be joined before the others.
    is_first = np.diff(words[at], prepend=-1) != 0
    can_join: Mask = is_first | repeats[at]
    return at[can_join]


@dataclass(frozen=True, eq=False)
class MergeHistory:
    """All tokens that words had in any round, sorted by word, place and round.

    tokens, words, places: (nodes,) int64, as in Symbols.
    made: (nodes,) int64, the round in which a token was made; 0 for the first symbols.
    until: (nodes,) int64, the round in which it became a part of another token, or NEVER.
    firsts: (words + 1,) int64, index of the first node of each word.
    """

    tokens: Ints
    words: Ints
    places: Ints
    made: Ints
    until: Ints
    firsts: Ints

    @cached_property
    def final(self) -> Symbols:
        """The tokens that are not a part of another one."""
        return Symbols(self.tokens, self.words, self.places).select(self.until == NEVER)

    def resume(self, words: Ints, removed: Mask) -> Symbols:
        """Return the tokens of words before the first round that made a token in `removed`.

        words: (n,) int64, rising, indices of words that had such a token. removed: (V,) bool.
        """
        # 1. Collect the nodes of these words.
        nodes = list_ranges(self.firsts[words], self.firsts[words + 1])
        tokens = self.tokens[nodes]
        made = self.made[nodes]
        # 2. Find the first round of each word that made a removed token.
        if not len(words):
            return Symbols(tokens, self.words[nodes], self.places[nodes])
        sizes = self.firsts[words + 1] - self.firsts[words]
        made_removed = np.where(removed[tokens], made, NEVER)
        stop = np.repeat(np.minimum.reduceat(made_removed, np.cumsum(sizes) - sizes), sizes)
        # 3. Take the tokens that the word had before it.
        nodes = nodes[(made < stop) & (self.until[nodes] >= stop)]
        return Symbols(self.tokens[nodes], self.words[nodes], self.places[nodes])


def record_merges(symbols: Symbols, n_words: int, merges: Merges) -> MergeHistory:
    """Merge words and record the history; the places of `symbols` are 0, 1, 2, …"""
    n_symbols = len(symbols.tokens)
    log = MergeLog()
    merge_words(symbols, merges, merges.ranks, log)
    # 1. Collect the nodes: first symbols, then the tokens of each round.
    rounds = [np.full(len(at), turn) for turn, at in enumerate(log.places, start=1)]
    made = np.concatenate([np.zeros(n_symbols, dtype=np.int64), *rounds])
    tokens = np.concatenate([symbols.tokens, *(merges.products[index] for index in log.merges)])
    words = np.concatenate([symbols.words, *log.words])
    places = np.concatenate([symbols.places, *log.places])
    # 2. Sort by place; at one place, the nodes are already in the order of the rounds.
    order = np.argsort(places, kind="stable")
    tokens = tokens[order]
    words = words[order]
    places = places[order]
    made = made[order]
    # 3. A token lasts until a longer one begins at its place, or it becomes a right part.
    joined_left = np.full(n_symbols, NEVER)
    for turn, at in enumerate(log.right_places, start=1):
        joined_left[at] = turn
    until = joined_left[places]
    replaced = np.flatnonzero(places[1:] == places[:-1])
    until[replaced] = made[replaced + 1]
    firsts = np.searchsorted(words, np.arange(n_words + 1))
    return MergeHistory(tokens, words, places, made, until, firsts)
