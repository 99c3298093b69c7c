"""What the vocabularies have in common in which a token that starts a word is marked: byte-level BPE
(Ġ), Unigram and BPE of SentencePiece (▁).
"""

from typing import ClassVar

from vocadapt.vocabulary.families.vocabulary import Notation, Vocabulary


class MarkedVocabulary(Vocabulary):
    """A vocabulary in which starts of words are marked.

    mark: the character that stands for the space before a word.
    """

    mark: ClassVar[str]

    @property
    def notation(self) -> Notation:
        """Starts of words are marked."""
        return Notation(word_start=self.mark)

    @property
    def continuation_name(self) -> str:
        """What continuations are called in a message."""
        return f"tokens without {self.mark}"

    def spell(self, body: str, continues: bool = False) -> str:
        """Return the token with this text after a space, or without one: "tension" → "▁tension"."""
        return body if continues else self.mark + body

    def fold_word(self, word: str) -> str:
        """Return what the forms of a word have in common: its spelling in lower case."""
        return word.lower()

    def lacks_word(self, word: str) -> bool:
        """Return whether a word needs a token of its own to be one token.

        A symbol follows a word more often than a space: if the comma is a token, Ġ, is not needed.
        """
        is_symbol = not any(character.isalnum() for character in word)
        if is_symbol and self.spell(word, continues=True) in self.ids:
            return False
        return super().lacks_word(word)
