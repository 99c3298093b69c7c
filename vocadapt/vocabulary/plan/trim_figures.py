"""TrimFigures: how much of its text a trimmed vocabulary keeps.

The figures are exact: every distinct pre-token is tokenized with and without the removed tokens,
and counts as changed if the two differ.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TypedDict, cast

import numpy as np

from vocadapt.vocabulary.families.vocabulary import Ints, Mask, Tokenization


class TrimNumbers(TypedDict):
    """How much of its text a trim keeps."""

    coverage: float
    changed_pretokens_fraction: float
    tokens: int
    kept_tokens: int
    pretokens: int
    changed_pretokens: int
    distinct: int
    distinct_changed: int
    unknown_before: int
    unknown_after: int
    stay: dict[str, int]


@dataclass(frozen=True, eq=False)
class TrimFigures:
    """How much of its text a trim keeps.

    tokens, kept_tokens: number of running tokens of the text, and of those that are kept.
    pretokens, changed_pretokens: number of running pre-tokens, and of those whose tokens change.
    distinct, distinct_changed: the same for distinct pre-tokens.
    unknown_before, unknown_after: number of running pre-tokens with an unknown token.
    stay: number of kept tokens that the text does not contain, by the reason why they are kept.
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

    def to_dict(self) -> TrimNumbers:
        """Return the figures with fractions, without the list of changed pre-tokens."""
        figures = asdict(self)
        del figures["changed"]
        changed_fraction = self.changed_pretokens / self.pretokens if self.pretokens else 0.0
        fractions = {
            "coverage": self.coverage,
            "changed_pretokens_fraction": changed_fraction,
        }
        return cast(TrimNumbers, {**fractions, **figures, "stay": dict(self.stay)})


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
    """Return ids and words of the tokens of the chosen words, two (tokens,) int64, by word and
    place.

    is_chosen: (words,) bool.
    """
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
