"""Helpers that tests and benchmarks of word tables share."""

from collections.abc import Collection, Sequence

import numpy as np

from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.vocabulary import Mask, Tokenization


def token_mask(vocabulary: Vocabulary, tokens: Collection[str]) -> Mask:
    """Return a mask over the ids of a vocabulary, (V,) bool, that is True for `tokens`."""
    mask = np.zeros(len(vocabulary), dtype=np.bool_)
    mask[[vocabulary.ids[token] for token in tokens]] = True
    return mask


def group_tokens_by_word(
    words: Sequence[str], tokenization: Tokenization, vocabulary: Vocabulary
) -> dict[str, tuple[str, ...]]:
    """Return the tokens of each word as text, in the order of the word."""
    order = np.lexsort((tokenization.places, tokenization.words))
    by_word: dict[str, list[str]] = {word: [] for word in words}
    word_of_piece = tokenization.words[order].tolist()
    token_of_piece = tokenization.tokens[order].tolist()
    for word, token in zip(word_of_piece, token_of_piece, strict=True):
        by_word[words[word]].append(vocabulary.tokens[token])
    for word in np.flatnonzero(tokenization.unknown).tolist():
        by_word[words[word]] = [vocabulary.unknown]
    return {word: tuple(pieces) for word, pieces in by_word.items()}
