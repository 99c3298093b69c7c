"""Tokenize every distinct word of a text again after tokens were removed from a vocabulary:
exactly, and in milliseconds, because all words are tokenized together.

WordPiece takes, at each place of a word, the longest token that matches there. All tokens that
match at one place are prefixes of one another, so two tables are enough, neither of which depends
on the removed tokens:

1. `LongestMatchTable.longest`: at each place of each word, the longest token of the whole
vocabulary.
2. `LongestMatchTable.shorter`: for each token, the next shorter token that is a prefix of it.

If some tokens are removed, the token that matches at a place is the first one on the chain longest
→ shorter → shorter … that is not removed (`replace_removed`).

Example: "hypertension" with the tokens hyper, h, ##y, ##per, ##tension, ##ten, ##sion.

    place    0       1     2       5           8
    longest  hyper   ##y   ##per   ##tension   ##sion
    shorter  h                     ##ten

The whole vocabulary gives hyper ##tension (places 0 and 5). Without hyper and ##tension, `shorter`
replaces them by h and ##ten: h (0) ##y (1) ##per (2) ##ten (5) ##sion (8).

`tests/vocabulary/test_retokenization.py` compares this with the tokenizers library. One difference
is accepted: the library reads a word that begins with ## as a continuation; BERT's pre-tokenizer
splits at #, so no such word occurs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.tables.prefix_trees import (
    PrefixTrees,
    assign_places,
    build_prefix_trees,
    skip_removed,
)
from vocadapt.vocabulary.vocabulary import (
    Ints,
    Mask,
    Tokenization,
    Vocabulary,
    WordTable,
    sum_by_id,
)

UNREADABLE = 10**6  # number of pieces of the rest of a word if it cannot be tokenized
WORD_START, CONTINUATION = 0, 1  # root nodes of the two prefix trees


@dataclass(frozen=True, eq=False)
class LongestMatchTable(WordTable):
    """Distinct words with their counts, stored one after the other: one place for each character,
    and one for the end of each word.

    V is the size of the vocabulary; as a token id it means "no token".

    counts: (words,) float64, occurrences of each word.
    longest: (places,) int64, id of the longest token that matches at a place, or V.
    shorter: (V + 1,) int64, for each id the next shorter token that is a prefix of it, or V.
    length: (V + 1,) int64, characters of each token without its continuation mark.
    starts, ends: (words,) int64, place of the first character of each word, and after its last.
    whole: (words,) int64, id of the exact-word token that equals the word, or V.
    readable: (words,) bool, False if the word is longer than the longest word of the vocabulary.
    """

    longest: Ints
    shorter: Ints
    length: Ints
    starts: Ints
    ends: Ints
    whole: Ints
    readable: Mask

    @property
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""
        return len(self.shorter) - 1

    def replace_removed(self, removed: Mask | None = None) -> Ints:
        """Return for each token the one that is matched in its place, (V + 1,) int64: the token
        itself, or its longest prefix that is not in `removed` (V,); V if there is none.
        """
        return skip_removed(self.shorter, removed)

    def tokenize(self, removed: Mask | None = None) -> Tokenization:
        """Tokenize every word without the tokens in `removed`, a mask over ids (V,).

        All words advance together, one wordpiece per round; a word leaves the loop at its end, or
        at a place where no token matches.
        """
        match = self.replace_removed(removed)
        unknown = ~self.readable
        place = self.starts.copy()
        pieces = np.zeros(len(place), dtype=np.int64)

        # 1. A word that is an exact-word token, and not removed, is one token.
        is_whole = match[self.whole] == self.whole
        is_whole &= self.whole < self.size
        pieces[is_whole] = 1
        found = [(self.starts[is_whole], self.whole[is_whole], np.flatnonzero(is_whole))]

        # 2. In all other words, take the longest match at the current place, and advance.
        active = np.flatnonzero(self.readable & ~is_whole & (self.starts < self.ends))
        while len(active):
            token = match[self.longest[place[active]]]
            known = token < self.size
            unknown[active[~known]] = True
            active = active[known]
            token = token[known]
            found.append((place[active], token, active))
            pieces[active] += 1
            place[active] += self.length[token]
            active = active[place[active] < self.ends[active]]

        # 3. A word with a place at which no token matches is one [UNK]: discard its wordpieces.
        pieces[unknown] = 1
        places, tokens, words = (np.concatenate(part) for part in zip(*found, strict=True))
        known = ~unknown[words]
        return Tokenization(pieces, unknown, places[known], tokens[known], words[known])

    def count_pieces_from(self, match: Ints) -> Ints:
        """Count the wordpieces of the rest of the word from each place on, (places,) int64;
        UNREADABLE or more if it cannot be tokenized.

        match: (V + 1,) as `replace_removed` returns it.
        """
        rest = np.zeros(len(self.longest), dtype=np.int64)
        for places in self._places_by_distance:
            step = self.length[match[self.longest[places]]]
            rest[places] = np.where(step > 0, 1 + rest[places + step], UNREADABLE)
        return rest

    def compute_removal_costs(self, removed: Mask | None = None) -> NDArray[np.float64]:
        """Compute for each token how many more wordpieces the text has if that token is removed
        too, (V,) float64.

        Exact for words that contain the token once. If a word contains it twice, the second one is
        counted as if it were not removed.
        """
        match = self.replace_removed(removed)
        tokenization = self.tokenize(removed)
        rest = self.count_pieces_from(match)
        shorter_length = self.length[match[self.shorter[tokenization.tokens]]]
        places = tokenization.places
        additional = 1 + rest[places + shorter_length] - rest[places]
        weights = self.counts[tokenization.words] * additional
        return sum_by_id(tokenization.tokens, weights, self.size)

    @cached_property
    def _places_by_distance(self) -> list[Ints]:
        """The places of characters, grouped by their distance from the end of the word: 1, 2, …"""
        sizes = self.ends - self.starts
        order = np.argsort(sizes, kind="stable")
        ends = self.ends[order]
        sizes = sizes[order]
        groups = []
        for distance in range(1, int(sizes.max(initial=0)) + 1):
            first_long_enough = np.searchsorted(sizes, distance)
            groups.append(np.sort(ends[first_long_enough:] - distance))
        return groups


def build_word_table(
    vocabulary: Vocabulary,
    counts: Mapping[str, float],
    continuations: Mapping[str, float] | None = None,
) -> LongestMatchTable:
    """Build the table of some words and their counts.

    continuations: texts of tokens that continue a word, each with a weight; they are tokenized as
    continuations, and follow the words in the table.
    """
    rests = continuations or {}
    words = list(counts)
    texts = [*counts, *rests]
    # 1. Assign one place to each character, and one to the end of each word.
    places = assign_places(texts)
    # 2. Find the longest token at each place, in the tree of word starts or of continuations.
    trees = _build_prefix_trees(vocabulary)
    letters = trees.encode(places.text)
    roots = np.zeros(len(letters), dtype=np.int64) + CONTINUATION
    roots[places.starts[: len(words)]] = WORD_START
    longest = trees.find_longest(letters, roots)
    # 3. Find the words that are exact-word tokens.
    no_token = len(vocabulary)
    whole = np.full(len(texts), no_token)
    for i, word in enumerate(words):
        if word in vocabulary.whole:
            whole[i] = vocabulary.ids[word]
    return LongestMatchTable(
        np.array([*counts.values(), *rests.values()], dtype=np.float64),
        longest,
        trees.shorter,
        trees.length,
        places.starts,
        places.ends,
        whole,
        places.ends - places.starts <= vocabulary.longest_word,
    )


def _build_prefix_trees(vocabulary: Vocabulary) -> PrefixTrees:
    """Build the trees of word starts and of continuations; exact-word tokens are in neither."""
    # The tree and the text (without its mark) of each token in the trees, by id.
    bodies: dict[int, tuple[int, str]] = {}
    for i, spelling in enumerate(vocabulary.tokens):
        if vocabulary.continues(spelling):
            bodies[i] = CONTINUATION, vocabulary.body(spelling)
        elif spelling and spelling not in vocabulary.whole:
            bodies[i] = WORD_START, spelling
    return build_prefix_trees(len(vocabulary), bodies, n_trees=2)
