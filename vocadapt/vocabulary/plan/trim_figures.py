"""TrimFigures: how much of its text a trimmed vocabulary keeps.

The figures are exact: every distinct pre-token is tokenized with and without the removed tokens,
and counts as changed if the two differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vocadapt.vocabulary.vocabulary import Ints, Mask, Tokenization


@dataclass(frozen=True, kw_only=True)
class TextNumbers:
    """How much of a text a trim keeps; as in `TrimFigures`, with fractions."""

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
class TrimNumbers(TextNumbers):
    """How much of its text a trim keeps; `held_out`: how much of the held-out lines is kept by the
    tokens that the other lines alone would choose, as it is in other texts of the domain.
    """

    stay: Mapping[str, int]
    held_out: TextNumbers | None = None


@dataclass(frozen=True, eq=False)
class TrimFigures:
    """How much of its text a trim keeps.

    tokens, kept_tokens: number of running tokens of the text, and of those that are kept.
    tokens_after: number of running tokens of the text after the trim.
    pretokens, changed_pretokens: number of running pre-tokens, and of those whose tokens change.
    distinct, distinct_changed: the same for distinct pre-tokens.
    unknown_before, unknown_after: number of running pre-tokens with an unknown token.
    stay: number of kept tokens that the text does not contain, by the reason why they are kept.
    changed: the distinct pre-tokens that change.
    held_out: the figures of held-out lines, for the tokens that the other lines alone would choose;
    None if no line is held out. The trim itself keeps the tokens of all lines.
    """

    tokens: int
    kept_tokens: int
    tokens_after: int
    pretokens: int
    changed_pretokens: int
    distinct: int
    distinct_changed: int
    unknown_before: int
    unknown_after: int
    stay: Mapping[str, int]
    changed: frozenset[str] = field(default=frozenset(), repr=False)
    held_out: "TrimFigures | None" = None

    @property
    def coverage(self) -> float:
        """Fraction of the running tokens of the text that are kept."""
        return self.kept_tokens / self.tokens

    @property
    def growth(self) -> float:
        """Additional tokens of the text, as a fraction of those before."""
        return self.tokens_after / self.tokens - 1

    @property
    def numbers(self) -> TrimNumbers:
        """The figures with fractions, without the list of changed pre-tokens."""
        held_out = None
        if self.held_out is not None:
            held_out = self.held_out._measure_text()
        return TrimNumbers(**vars(self._measure_text()), stay=self.stay, held_out=held_out)

    def _measure_text(self) -> TextNumbers:
        """Return the figures of the text, with fractions."""
        return TextNumbers(
            coverage=self.coverage,
            changed_pretokens_fraction=self.changed_pretokens / max(self.pretokens, 1),
            tokens=self.tokens,
            kept_tokens=self.kept_tokens,
            tokens_after=self.tokens_after,
            pretokens=self.pretokens,
            changed_pretokens=self.changed_pretokens,
            distinct=self.distinct,
            distinct_changed=self.distinct_changed,
            unknown_before=self.unknown_before,
            unknown_after=self.unknown_after,
        )


def find_changed_words(before: Tokenization, after: Tokenization) -> Mask:
    # 1. Words whose number of tokens differs, or that are unknown in only one of the two.
    """Return whether the tokens of each word of a table differ, (words,) bool."""
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
