"""TrimFigures: what a trimmed vocabulary keeps of the text that it was trimmed to.

Each distinct pre-token is decided once, exactly: it changes if its tokens without the removed ones
are not those that it had. Nothing is sampled.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from vocadapt.vocabulary.families.vocabulary import Ints, Mask, Tokenization


@dataclass(frozen=True, eq=False)
class TrimFigures:
    """What a trim keeps of its text.

    tokens, kept_tokens: running tokens of the text, and those of them that are kept.
    pretokens, changed_pretokens: running pre-tokens, and those whose tokens change.
    distinct, distinct_changed: the same of distinct pre-tokens.
    unknown_before, unknown_after: running pre-tokens with an unknown token.
    stay: number of kept tokens that the text does not need, by the reason why they stay.
    changed: the distinct pre-tokens that change.
    """

    tokens: int
    kept_tokens: int
    pretokens: int
    changed_pretokens: int
    distinct: int
    distinct_changed: int
    unknown_before: int
    unknown_after: int
    stay: Mapping[str, int]
    changed: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def coverage(self) -> float:
        """Fraction of the running tokens of the text that are kept."""
        return self.kept_tokens / self.tokens

    def to_dict(self) -> dict[str, object]:
        """Return the figures, with fractions, and without the pre-tokens themselves."""
        figures = asdict(self)
        del figures["changed"]
        changed_fraction = self.changed_pretokens / self.pretokens if self.pretokens else 0.0
        return {
            "coverage": self.coverage,
            "changed_pretokens_fraction": changed_fraction,
            **figures,
            "stay": dict(self.stay),
        }


def find_changed_words(before: Tokenization, after: Tokenization) -> Mask:
    """Return whether the tokens of each word of a table differ, (words,) bool."""
    # 1. Words with another number of tokens, or that are unknown in one of the two only.
    is_changed: Mask = (before.pieces != after.pieces) | (before.unknown != after.unknown)
    # 2. All others have equally many tokens: sorted by word and place, they stand in one order.
    tokens, words = _sort_tokens(before, ~is_changed)
    other_tokens, _ = _sort_tokens(after, ~is_changed)
    is_changed[words[tokens != other_tokens]] = True
    return is_changed


def _sort_tokens(tokenization: Tokenization, is_chosen: Mask) -> tuple[Ints, Ints]:
    """Return ids and words of the tokens of some words, by word and place."""
    chosen = np.flatnonzero(is_chosen[tokenization.words])
    tokens, words = tokenization.tokens[chosen], tokenization.words[chosen]
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
