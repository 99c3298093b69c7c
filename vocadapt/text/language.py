"""Filter for the main language of a corpus, by the words that are frequent in the corpus itself.

It needs neither the name of the language nor a word list: the profile is the most frequent words of
the corpus. In a test on English papers, contracts, reviews and encyclopedia articles (profile of
the first megabyte), it dropped sentences in ten other languages, except a French one with many of
the Latin words of the papers. It also dropped up to 1.3 % of the English lines (tables, addresses,
names). Lines of fewer than 30 letters are too short to judge and are kept. In languages without
spaces between words, nearly every line is kept.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

COMMON_WORDS = 1000
MIN_COUNT = 5  # of a common word: in a small corpus, every word is among the first 1000
MIN_LETTERS = 30
MIN_FRACTION = 0.25  # of the median of the corpus
LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class LanguageProfile:
    """The most frequent words of a corpus, and the minimum fraction of a line's letters in them."""

    common: frozenset[str]
    min_fraction: float

    def common_fraction(self, line: str) -> float | None:
        """Return the fraction of the letters that are in common words; None for a short line."""
        words = LETTERS.findall(line.lower())
        letters = sum(map(len, words))
        if letters < MIN_LETTERS:
            return None
        return sum(len(word) for word in words if word in self.common) / letters

    def fits(self, line: str) -> bool:
        """Return whether the line looks like the main language or is too short to judge."""
        fraction = self.common_fraction(line)
        return fraction is None or fraction >= self.min_fraction


def build_language_profile(lines: Iterable[str]) -> LanguageProfile:
    """Build the profile of the given lines.

    1. Take the most frequent words of the lines as the common words.
    2. Compute the fraction of letters in common words of each line; skip short lines.
    3. The minimum is a quarter of the median: a line in another language has few common words.
    """
    lines = list(lines)
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(LETTERS.findall(line.lower()))
    frequent = counts.most_common(COMMON_WORDS)
    common = frozenset(word for word, count in frequent if count >= MIN_COUNT)
    profile = LanguageProfile(common, 0.0)
    fractions = sorted(
        fraction for fraction in map(profile.common_fraction, lines) if fraction is not None
    )
    if not fractions:
        return profile
    return LanguageProfile(common, MIN_FRACTION * fractions[len(fractions) // 2])
