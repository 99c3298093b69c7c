"""MarkedVocabulary: the base class of vocabularies that mark the start of a word: byte-level BPE
(Ġ), Unigram and SentencePiece BPE (▁).
"""

from typing import ClassVar

from vocadapt.vocabulary.vocabulary import Notation, Vocabulary


class MarkedVocabulary(Vocabulary):
    """A vocabulary in which tokens at the start of a word have a mark.

    mark: the character that stands for the space before a word.
    """

    mark: ClassVar[str]

    @property
    def notation(self) -> Notation:
        """The mark of a word start."""
        return Notation(word_start=self.mark)

    @property
    def continuation_name(self) -> str:
        """The name of continuations in messages."""
        return f"tokens without {self.mark}"

    def spell(self, body: str, continues: bool = False) -> str:
        """Return the token with this text after a space, or without one: "tension" → "▁tension"."""
        return body if continues else self.mark + body

    def fold_word(self, word: str) -> str:
        """Return the word in lower case, which all of its forms have in common."""
        return word.lower()

    def lacks_word(self, word: str) -> bool:
        """Return whether no token spells a word alone.

        A symbol occurs more often after a word than after a space, so the token without a mark
        suffices: if "," is a token, "Ġ," is not needed.
        """
        is_symbol = not any(character.isalnum() for character in word)
        if is_symbol and self.spell(word, continues=True) in self.ids:
            return False
        return super().lacks_word(word)
