"""Statistics of how a vocabulary tokenizes the words of a text, from distinct words and their
counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vocadapt.vocabulary.families import Vocabulary

MAX_PROFILE_PIECES = 6  # last class of the profile: this many wordpieces or more

Pieces = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TokenizationStatistics:
    """Counts of the words of a text by how they are tokenized.

    All fields except `running` and `tokens` count only words that contain a letter: numbers and
    punctuation are no evidence about a vocabulary.

    words, distinct: running words, and distinct words.
    split, split_distinct: those of them with several wordpieces.
    unknown: running words with a piece that is [UNK].
    profile: running words with 1, 2, …, and MAX_PROFILE_PIECES or more wordpieces.
    running, tokens: all running words of the text, and their wordpieces.
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
        """Return the fraction of the running words by number of wordpieces: "1", "2", …, "6+"."""
        names = [*map(str, range(1, MAX_PROFILE_PIECES)), f"{MAX_PROFILE_PIECES}+"]
        total = max(self.words, 1)
        return {name: count / total for name, count in zip(names, self.profile, strict=True)}

    @property
    def share(self) -> float:
        """Fraction of the running words that are split."""
        return self.split / self.words if self.words else 0.0

    @property
    def share_distinct(self) -> float:
        """Fraction of the distinct words that are split."""
        return self.split_distinct / self.distinct if self.distinct else 0.0

    @property
    def unknown_share(self) -> float:
        """Fraction of the running words that the model cannot read."""
        return self.unknown / self.words if self.words else 0.0

    @property
    def fertility(self) -> float:
        """Wordpieces per word, over all running words."""
        return self.tokens / self.running if self.running else 0.0


def tokenize_words(vocabulary: Vocabulary, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the wordpieces of each word; the words are already normalized."""
    return {word: vocabulary.tokenize(word) for word in words}


def has_letter(word: str) -> bool:
    """Return whether a word contains a letter of any script."""
    return any(map(str.isalpha, word))


def measure_tokenization(
    counts: Mapping[str, int], pieces: Pieces, unknown: str
) -> TokenizationStatistics:
    """Measure the tokenization of words with these counts.

    pieces: wordpieces of each of the words; unknown: the unknown token, [UNK].
    """
    lettered = {word: count for word, count in counts.items() if has_letter(word)}
    split = [word for word in lettered if len(pieces[word]) > 1]
    profile = [0] * MAX_PROFILE_PIECES
    unknown_words = 0
    for word, count in lettered.items():
        profile[min(len(pieces[word]), MAX_PROFILE_PIECES) - 1] += count
        if unknown in pieces[word]:
            unknown_words += count
    return TokenizationStatistics(
        words=sum(lettered.values()),
        distinct=len(lettered),
        split=sum(lettered[word] for word in split),
        split_distinct=len(split),
        unknown=unknown_words,
        profile=tuple(profile),
        running=sum(counts.values()),
        tokens=sum(count * len(pieces[word]) for word, count in counts.items()),
    )
