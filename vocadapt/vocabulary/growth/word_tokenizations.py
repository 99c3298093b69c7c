"""How a vocabulary cuts the words of a text, from their counts: each distinct word is cut once,
whatever the size of the text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vocadapt.vocabulary.families.wordpiece import Vocabulary

MOST_PIECES = 6  # of the profile: so many or more

Pieces = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Cuts:
    """How the words of a text are cut. All counts but `tokens` and `running` are of words with a
    letter: numbers and punctuation tell little of a vocabulary.

    words, distinct: with a letter, running and different ones. split, split_distinct: those of them
    cut into several pieces.
    unknown: running words of which no piece is known. profile: running words of 1, 2, …, 6 or more
    pieces.
    running, tokens: all words of the text, and the pieces they are cut into.
    """

    words: int
    distinct: int
    split: int
    split_distinct: int
    unknown: int
    profile: tuple[int, ...]
    running: int
    tokens: int

    def shares(self) -> dict[str, float]:
        """Share of the running words by number of pieces: "1" … and the last for all from there
        on.
        """
        names = [*map(str, range(1, MOST_PIECES)), f"{MOST_PIECES}+"]
        return {
            name: count / max(self.words, 1)
            for name, count in zip(names, self.profile, strict=True)
        }

    @property
    def share(self) -> float:
        """Share of the running words that are cut."""
        return self.split / self.words if self.words else 0.0

    @property
    def share_distinct(self) -> float:
        """Share of the different words that are cut."""
        return self.split_distinct / self.distinct if self.distinct else 0.0

    @property
    def unknown_share(self) -> float:
        """Share of the running words that the model cannot read at all."""
        return self.unknown / self.words if self.words else 0.0

    @property
    def fertility(self) -> float:
        """Pieces a word, over all running words."""
        return self.tokens / self.running if self.running else 0.0


def cut_words(vocabulary: Vocabulary, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The pieces of every word, which are words already: normalized, one each."""
    return {word: vocabulary.cut(word) for word in words}


def has_letter(word: str) -> bool:
    """Whether a word holds a letter of any script."""
    return any(map(str.isalpha, word))


def measure_cuts(counts: Mapping[str, int], pieces: Pieces, unknown: str) -> Cuts:
    """How words with these counts are cut; `pieces` holds each of them, `unknown` is the token of
    what cannot be read.
    """
    lettered = {word: count for word, count in counts.items() if has_letter(word)}
    profile = [0] * MOST_PIECES
    for word, count in lettered.items():
        profile[min(len(pieces[word]), MOST_PIECES) - 1] += count
    split = [word for word in lettered if len(pieces[word]) > 1]
    return Cuts(
        words=sum(lettered.values()),
        distinct=len(lettered),
        split=sum(lettered[word] for word in split),
        split_distinct=len(split),
        unknown=sum(count for word, count in lettered.items() if unknown in pieces[word]),
        profile=tuple(profile),
        running=sum(counts.values()),
        tokens=sum(count * len(pieces[word]) for word, count in counts.items()),
    )
