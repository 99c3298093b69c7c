"""Split many words at once into the tokens of a Unigram model.

A Unigram model gives each token a score, the logarithm of its probability. Of all ways to split a
word, it takes the one with the highest sum of scores (Kudo 2018), found by the Viterbi algorithm: for
each place of a word, from the left, the best split of the characters before it. All words advance
together, one character per round. The tokens that match at a place are the longest of them, and the
prefixes of this one that are tokens too (`prefix_trees`).

Example: "hyper" with the scores hyper -9, hy -4, per -4, and -3 for each letter:

    place   1      2       3         4           5
    split   h -3   hy -4   hy p -7   hy p e -10  hy per -8     (hyper: -9)

As in the tokenizers library, a character that is no token by itself can be taken as an unknown one,
with a score of 10 less than the lowest of all tokens; of splits with equal sums, the one with the
longest last token is taken, at each place.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.tables.prefix_trees import (
    PrefixTrees,
    WordPlaces,
    skip_removed,
)
from vocadapt.vocabulary.families.vocabulary import Ints, Mask

Floats = NDArray[np.float64]
UNKNOWN_PENALTY = 10.0  # how much less an unknown character scores than any token


@dataclass(frozen=True, eq=False)
class Pieces:
    """The tokens of a Unigram model; as an id their number V means an unknown character.

    scores: (V,) float64; NaN for ids that are not in the model, such as added tokens.
    shorter: (V + 1,) int64, for each id the next shorter token that is a prefix of it, or V (the
        end of it, if the trees are those of reversed tokens).
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
class Matches:
    """The tokens that match in some words, which are stored one after the other: one place for each
    character, and one for the end of each word.

    longest: (places,) int64, id of the longest token that matches at a place, or V.
    starts, ends: (words,) int64, place of the first character of each word, and after its last.
    """

    longest: Ints
    starts: Ints
    ends: Ints


def find_matches(trees: PrefixTrees, texts: WordPlaces) -> Matches:
    """Find the tokens that match in some words."""
    letters = trees.encode(texts.text)
    longest = trees.find_longest(letters, np.zeros(len(letters), dtype=np.int64))
    return Matches(longest, texts.starts, texts.ends)


@dataclass(frozen=True, eq=False)
class Splits:
    """The best split of each of some words.

    tokens, words, places: (tokens,) int64, id of each token (V for an unknown character), index of
        its word, and the place at which it begins.
    """

    tokens: Ints
    words: Ints
    places: Ints


def find_best_splits(matches: Matches, pieces: Pieces, removed: Mask) -> Splits:
    """Find the best split of each word without the tokens in `removed`, (V,) bool."""
    last = _find_last_tokens(matches, pieces, removed)
    # Follow the last tokens from the end of each word to its start.
    words = np.arange(len(matches.starts))
    places = matches.ends
    found: list[Splits] = []
    while len(words):
        is_left = places > matches.starts[words]
        words, places = words[is_left], places[is_left]
        tokens = last[places]
        places = places - pieces.length[tokens]
        found.append(Splits(tokens, words, places))
    if not found:
        return Splits(words, words, words)
    return Splits(
        np.concatenate([part.tokens for part in found]),
        np.concatenate([part.words for part in found]),
        np.concatenate([part.places for part in found]),
    )


def _find_last_tokens(matches: Matches, pieces: Pieces, removed: Mask) -> Ints:
    """Return the last token of the best split of the characters before each place, (places,) int64.

    1. Sort the words by length, so that those that have a k-th character are the first ones.
    2. For each k, take all tokens that begin at the k-th character, the longest first.
    3. Where such a token ends, keep it if its sum is better than that of all before.
    """
    match = skip_removed(pieces.shorter, removed)
    shorter = match[pieces.shorter]
    scores = np.append(pieces.scores, pieces.score_unknown(removed))
    best = np.full(len(matches.longest), -np.inf)
    best[matches.starts] = 0
    last = np.full(len(matches.longest), pieces.size)
    sizes = matches.ends - matches.starts
    order = np.argsort(-sizes, kind="stable")
    starts = matches.starts[order]
    n_shorter = np.searchsorted(sizes[order[::-1]], np.arange(sizes.max(initial=0)), side="right")
    for k, n_words in enumerate((len(sizes) - n_shorter).tolist()):
        places = starts[:n_words] + k
        tokens = match[matches.longest[places]]
        sums = best[places]
        while len(places):
            # One token for each place, so no two end at the same place.
            lengths = pieces.length[tokens]
            ends, candidates = places + lengths, sums + scores[tokens]
            is_better = candidates > best[ends]
            best[ends[is_better]] = candidates[is_better]
            last[ends[is_better]] = tokens[is_better]
            # The shortest token has one character: a token, or else an unknown character.
            is_long = lengths > 1
            places, sums, tokens = places[is_long], sums[is_long], shorter[tokens[is_long]]
    return last
