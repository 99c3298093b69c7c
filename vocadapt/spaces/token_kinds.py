"""TokenKinds: which words of a space are special tokens, continuations of a word, or placeholders.

A space does not know how tokens are marked; the tokenizer family of its model computes the kinds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class TokenKinds:
    """The kinds of the words of a space; by default all of them are ordinary words.

    continuations: tokens that continue a word; placeholders: tokens that no text contains.
    bodies: texts of the continuations without their mark.
    continuation_name: name of the continuations in messages.
    """

    special: frozenset[str] = frozenset()
    continuations: frozenset[str] = frozenset()
    placeholders: frozenset[str] = frozenset()
    bodies: Mapping[str, str] = field(default_factory=dict)
    continuation_name: str = "continuations"

    def body(self, word: str) -> str:
        """Return the text of a word without the mark of a continuation."""
        return self.bodies.get(word, word)


NO_KINDS = TokenKinds()
