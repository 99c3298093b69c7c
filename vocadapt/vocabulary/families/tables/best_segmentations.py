"""Find the best segmentations of many words by a Unigram model at once, and again after tokens were
removed.

A Unigram model gives each token a score, the logarithm of its probability. Of all segmentations of
a word, it takes the one with the highest sum of scores (Kudo 2018). The Viterbi algorithm finds the
best segmentation of each prefix of a word, from the shortest to the longest, from those of shorter
prefixes and the last token. It depends on the prefix alone. So each distinct prefix (a *node*) is
segmented once for all words that have it, and all nodes of k characters together.

Example: "hyper" with the scores hyper -9, hy -4, per -4, and -3 for each letter:

    node           h      hy      hyp       hype        hyper
    segmentation   h -3   hy -4   hy p -7   hy p e -10  hy per -8     (hyper: -9)

The tokens that can be the last one are the suffixes of the prefix: the longest token that is a
suffix of it, and the suffixes of this token that are tokens too. A prefix tree of the reversed
tokens finds them (`prefix_trees`).

As in the tokenizers library, a character that is no token by itself can be taken as an unknown one,
with a score of 10 less than the lowest of all tokens; of segmentations with equal sums, the one
with the longest last token is taken, at each place.

*Removed tokens.* If the best segmentation of a node has no removed token, it remains the best: all
others can only become worse. There is one exception: an unknown character scores 10 less than the
lowest of all tokens, so it scores more if that token is removed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.tables.prefix_trees import (
    PrefixTrees,
    encode_code_points,
    skip_removed,
)
from vocadapt.vocabulary.vocabulary import Ints, Mask

Floats = NDArray[np.float64]
UNKNOWN_PENALTY = 10.0  # how much less an unknown character scores than any token


@dataclass(frozen=True, eq=False)
class Pieces:
    """The tokens of a Unigram model; as an id their number V means an unknown character.

    scores: (V,) float64; NaN for ids that are not in the model, such as added tokens.
    shorter: (V + 1,) int64, for each id the longest token that is a proper suffix of it, or V.
    length: (V + 1,) int64, characters of each token; 1 for V.
    """

    scores: Floats
    shorter: Ints
    length: Ints

    @property
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""
        return len(self.scores)

    def score_unknown(self, removed: Mask) -> float:
        """Return the score of an unknown character without the tokens in `removed`, (V,) bool."""
        kept = self.scores[~(removed | np.isnan(self.scores))]
        return float(kept.min(initial=np.inf)) - UNKNOWN_PENALTY


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The distinct prefixes of words, as nodes: the empty one first, then those of one character,
    and so on. The words are stored one after the other, in alphabetical order: one place
    for each character, and one for the end of each word.

    text: the words, NUL at the end of each.
    starts, ends: (words,) int64, place of the first character of each word, and after its last.
    nodes: (places,) int64, the node of the characters before each place.
    places: (nodes,) int64, one of the places of each node.
    firsts: (longest + 2,) int64, index of the first node of k characters.
    """

    text: str
    starts: Ints
    ends: Ints
    nodes: Ints
    places: Ints
    firsts: Ints


def list_prefixes(words: Sequence[str], separate: bool = False) -> Prefixes:
    """List the distinct prefixes of words.

    separate: give each word its own node, even if it is a prefix of another word.
    """
    # 1. Store the words in alphabetical order.
    order = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.int64)
    text = "\0".join([*(words[i] for i in order.tolist()), ""])
    sizes = np.array([len(word) for word in words], dtype=np.int64)[order]
    starts = np.cumsum(sizes + 1) - sizes - 1
    # 2. Count the characters that each word has in common with the one before it.
    shared = _count_shared(encode_code_points(text), starts, sizes)
    if separate:
        shared[1:] = np.minimum(shared[1:], sizes[:-1] - 1)
    # 3. Sort the places by the number of characters before them; a node is new if it is not shared.
    n_before = np.arange(len(text)) - np.repeat(starts, sizes + 1)
    longest = int(sizes.max(initial=0))
    small = np.min_scalar_type(longest)  # numpy sorts 16 bits faster
    by_length = np.argsort(n_before.astype(small), kind="stable")
    is_new = (n_before > np.repeat(shared, sizes + 1))[by_length]
    nodes = np.empty(len(text), dtype=np.int64)
    nodes[by_length] = np.cumsum(is_new) - 1
    places = by_length[is_new]
    firsts = np.searchsorted(n_before[places], np.arange(longest + 2))
    # 4. Return the words in their given order.
    given_starts = np.empty_like(starts)
    given_ends = np.empty_like(starts)
    given_starts[order], given_ends[order] = starts, starts + sizes
    return Prefixes(text, given_starts, given_ends, nodes, places, firsts)


def _count_shared(codes: Ints, starts: Ints, sizes: Ints) -> Ints:
    """Count the first characters that each word has in common with the one before it, (words,)
    int64; -1 for the first word.
    """
    shared = np.zeros(len(starts), dtype=np.int64)
    shared[:1] = -1
    limits = np.minimum(sizes[1:], sizes[:-1])
    active = np.arange(1, len(starts))
    depth = 0
    while len(active):
        active = active[limits[active - 1] > depth]
        is_equal = codes[starts[active] + depth] == codes[starts[active - 1] + depth]
        active = active[is_equal]
        depth += 1
        shared[active] = depth
    return shared


def find_longest_suffixes(trees: PrefixTrees, prefixes: Prefixes) -> Ints:
    """Find the longest token that is a suffix of each prefix, (nodes,) int64, or V.

    trees: of the reversed texts of the tokens.
    """
    letters = np.append(trees.encode(prefixes.text)[::-1], 0)
    last_characters = len(prefixes.text) - prefixes.places
    return trees.find_longest(letters, np.zeros_like(last_characters), last_characters)


def find_shorter_suffixes(trees: PrefixTrees, prefixes: Prefixes) -> Ints:
    """Find the longest token that is a suffix of each prefix, (nodes,) int64, or V; for the whole
    text of a token, a proper suffix.

    trees: of the reversed texts of the tokens. prefixes: of these texts, each with its own node.
    """
    longest = find_longest_suffixes(trees, prefixes)
    whole = prefixes.nodes[prefixes.ends]
    longest[whole] = trees.shorter[longest[whole]]
    return longest


@dataclass(frozen=True, eq=False)
class Segmentations:
    """The best segmentations of words.

    tokens, words, places: (tokens,) int64, id of each token (V for an unknown character), index of
        its word, and the place at which it begins.
    """

    tokens: Ints
    words: Ints
    places: Ints


@dataclass(frozen=True, eq=False)
class PrefixSegmentations:
    """The best segmentation of each prefix, as its last token and the prefix before it.

    prefixes, pieces: the segmented prefixes, and the tokens of the model.
    longest: (nodes,) int64, id of the longest token that is a suffix of a prefix, or V.
    sums: (nodes,) float64, sum of the scores. last: (nodes,) int64, the last token.
    """

    prefixes: Prefixes
    pieces: Pieces
    longest: Ints
    sums: Floats
    last: Ints

    @cached_property
    def previous(self) -> Ints:
        """The node before the last token of each node, (nodes,) int64; of the empty one, itself."""
        lengths = self.pieces.length[self.last]
        lengths[:1] = 0
        places = self.prefixes.places - lengths
        return self.prefixes.nodes.take(places)

    def without(self, removed: Mask) -> tuple["PrefixSegmentations", Mask]:
        """Return the segmentations without the tokens in `removed`, (V,) bool, and which nodes may
        have changed, (nodes,) bool.
        """
        match = skip_removed(self.pieces.shorter, removed)
        shorter = match[self.pieces.shorter]
        scores = np.append(self.pieces.scores, self.pieces.score_unknown(removed))
        is_changed = np.append(removed, False)[self.last]
        is_changed[:1] = False
        nothing = np.zeros(len(removed), dtype=np.bool_)
        if scores[-1] > self.pieces.score_unknown(nothing):
            is_changed |= self._find_unknown(match)
        segmentations = PrefixSegmentations(
            self.prefixes, self.pieces, self.longest, self.sums.copy(), self.last.copy()
        )
        firsts = self.prefixes.firsts
        for first, end in zip(firsts[1:-1].tolist(), firsts[2:].tolist(), strict=True):
            is_changed[first:end] |= is_changed[self.previous[first:end]]
            nodes = first + np.flatnonzero(is_changed[first:end])
            segmentations.segment(nodes, match[self.longest[nodes]], shorter, scores)
        return segmentations, is_changed

    def _find_unknown(self, match: Ints) -> Mask:
        """Return whether the last character of each node is no token by itself, (nodes,) bool."""
        shortest = match
        while (is_long := self.pieces.length[shortest] > 1).any():
            shortest = np.where(is_long, match[self.pieces.shorter[shortest]], shortest)
        is_unknown: Mask = shortest[self.longest] == self.pieces.size
        is_unknown[:1] = False
        return is_unknown

    def segment(self, nodes: Ints, tokens: Ints, shorter: Ints, scores: Floats) -> None:
        """Find the best segmentation of nodes of the same number of characters.

        nodes: (n,) int64. tokens: (n,) int64, the longest token that is a suffix of each, or V.
        shorter: (V + 1,) int64, as in Pieces. scores: (V + 1,) float64.
        """
        places = self.prefixes.places[nodes]
        self.sums[nodes] = -np.inf
        while len(nodes):
            # The sums with this token as the last one. If equal, the longer, tried before, stays.
            lengths = self.pieces.length[tokens]
            sums = self.sums[self.prefixes.nodes[places - lengths]] + scores[tokens]
            is_better = sums > self.sums[nodes]
            better = nodes[is_better]
            self.sums[better], self.last[better] = sums[is_better], tokens[is_better]
            # The shortest has one character: a token, or else an unknown character.
            is_long = lengths > 1
            nodes = nodes[is_long]
            places = places[is_long]
            tokens = shorter[tokens[is_long]]

    def read(self, words: Ints) -> Segmentations:
        """Return the tokens of words; `words` is (n,) int64, their indices."""
        places = self.prefixes.ends[words]
        found: list[Segmentations] = []
        while True:
            is_left = places > self.prefixes.starts[words]
            words = words[is_left]
            places = places[is_left]
            tokens = self.last[self.prefixes.nodes[places]]
            places = places - self.pieces.length[tokens]
            found.append(Segmentations(tokens, words, places))
            if not len(words):
                break
        return Segmentations(
            np.concatenate([part.tokens for part in found]),
            np.concatenate([part.words for part in found]),
            np.concatenate([part.places for part in found]),
        )


def segment_prefixes(
    prefixes: Prefixes, longest: Ints, pieces: Pieces, removed: Mask | None = None
) -> PrefixSegmentations:
    """Find the best segmentation of each prefix without the tokens in `removed`, (V,) bool.

    longest: (nodes,) int64, as in PrefixSegmentations.
    """
    n_nodes = len(prefixes.places)
    segmentations = PrefixSegmentations(
        prefixes, pieces, longest, np.zeros(n_nodes), np.full(n_nodes, pieces.size)
    )
    if removed is None:
        removed = np.zeros(pieces.size, dtype=np.bool_)
    match = skip_removed(pieces.shorter, removed)
    shorter = match[pieces.shorter]
    scores = np.append(pieces.scores, pieces.score_unknown(removed))
    firsts = prefixes.firsts
    for first, end in zip(firsts[1:-1].tolist(), firsts[2:].tolist(), strict=True):
        segmentations.segment(np.arange(first, end), match[longest[first:end]], shorter, scores)
    return segmentations
