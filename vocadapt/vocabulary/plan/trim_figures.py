"""How much of its text a trimmed vocabulary keeps.

The figures are exact: every distinct pre-token is tokenized with and without the removed tokens,
and counts as changed if the two differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vocadapt.vocabulary.vocabulary import Ints, Mask, Tokenization


@dataclass(frozen=True, kw_only=True)
class TextFigures:
    """How much of a text a trim keeps.

    coverage: fraction of the running tokens that are kept.
    changed_pretokens_fraction: fraction of the running pre-tokens whose tokens change.
    tokens, kept_tokens: number of running tokens of the text, and of those that are kept.
    tokens_after: number of running tokens of the text after the trim.
    pretokens, changed_pretokens: number of running pre-tokens, and of those whose tokens change.
    distinct, distinct_changed: the same for distinct pre-tokens.
    unknown_before, unknown_after: number of running pre-tokens with an unknown token.
    """

    coverage: float
    changed_pretokens_fraction: float
    tokens: int
    kept_tokens: int
    tokens_after: int
    pretokens: int
    changed_pretokens: int
    distinct: int
    distinct_changed: int
    unknown_before: int
    unknown_after: int


@dataclass(frozen=True, kw_only=True)
class TrimFigures(TextFigures):
    """How much of its text a trim keeps.

    stay: number of kept tokens that the text does not contain, by the reason why they are kept.
    held_out: how much of the held-out lines is kept by the tokens that the other lines alone would
    choose, as it is in other texts of the domain; None if no line is held out. The trim itself
    keeps the tokens of all lines.
    """

    stay: Mapping[str, int]
    held_out: TextFigures | None = None


def find_changed_words(before: Tokenization, after: Tokenization) -> Mask:
    """Return whether the tokens of each word of a table differ, (words,) bool."""
    # 1. Words whose number of tokens differs, or that are unknown in only one of the two.
    is_changed: Mask = (before.pieces != after.pieces) | (before.unknown != after.unknown)
    # 2. All others have equally many tokens: sort both by word and place, and compare.
    tokens, words = _sort_tokens(before, ~is_changed)
    other_tokens, _ = _sort_tokens(after, ~is_changed)
    is_changed[words[tokens != other_tokens]] = True
    return is_changed


def _sort_tokens(tokenization: Tokenization, is_chosen: Mask) -> tuple[Ints, Ints]:
    """Return ids and words of the tokens of the chosen words, two (tokens,), by word and place.

    is_chosen: (words,) bool.
    """
    chosen = np.flatnonzero(is_chosen[tokenization.words])
    tokens = tokenization.tokens[chosen]
    words = tokenization.words[chosen]
    order = np.lexsort((tokenization.places[chosen], words))
    return tokens[order], words[order]


def find_unknown_words(tokenization: Tokenization, unknown: int | None) -> Mask:
    """Return whether each word of a table has an unknown token, (words,) bool.

    unknown: id of the unknown token; None if the model has none.
    """
    is_unknown = tokenization.unknown.copy()
    if unknown is not None:
        is_unknown[tokenization.words[tokenization.tokens == unknown]] = True
    return is_unknown
