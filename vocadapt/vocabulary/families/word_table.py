"""WordTable: the words of a text, prepared to be tokenized again and again without some tokens.

Reduction heuristics and studies of growth try thousands of vocabularies on one text. How a family
does this fast is its own affair (see `longest_match`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tokenization:
    """The tokens of all words of a WordTable.

    pieces: (words,) int64, number of tokens of each word; 1 for an unknown word.
    unknown: (words,) bool, whether a word becomes the unknown token.
    places, tokens, words: (all tokens,) int64, the place in the table at which each token begins,
        its id, and the index of its word. Unknown words have none.
    """

    pieces: Ints
    unknown: Mask
    places: Ints
    tokens: Ints
    words: Ints


@dataclass(frozen=True, eq=False)
class WordTable(ABC):
    """Distinct words with their counts, prepared for a vocabulary of V tokens.

    counts: (words,) float64, occurrences of each word.
    """

    counts: NDArray[np.float64]

    @property
    @abstractmethod
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""

    @abstractmethod
    def tokenize(self, removed: Mask | None = None) -> Tokenization:
        """Tokenize every word without the tokens in `removed`, a mask over ids (V,)."""

    @abstractmethod
    def removal_costs(self, removed: Mask | None = None) -> NDArray[np.float64]:
        """Count for each token the additional tokens of the text if that token is removed too,
        (V,) float64.
        """

    def count_tokens(self, removed: Mask | None = None) -> int:
        """Count the tokens of the whole text without those in `removed` (V,); an unknown word is
        one.
        """
        return round(float(self.counts @ self.tokenize(removed).pieces))

    def count_occurrences(self, tokenization: Tokenization) -> NDArray[np.float64]:
        """Count how often each token occurs in the text, by id, (V,) float64; the unknown token is
        not counted.
        """
        return sum_by_id(tokenization.tokens, self.counts[tokenization.words], self.size)


def sum_by_id(ids: Ints, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Sum the weights of each id, (size,) float64; ids of `size` and above are ignored."""
    return np.bincount(ids, weights=weights, minlength=size)[:size].astype(np.float64, copy=False)
