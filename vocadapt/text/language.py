"""Filter for a corpus' main language, by the words that are frequent in the corpus itself.

No language is named and no list is shipped: the profile is the corpus' own commonest words.
Measured on English papers, contracts, reviews and encyclopedia (first megabyte as profile):
sentences of ten other languages were dropped, save a French one full of the papers' Latin; so were
up to 1.3 % of the English lines (tables, addresses, names). Lines of fewer than 30 letters are
kept: too little to judge. Of no use where words are not parted by blanks: there it keeps nearly
every line.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

COMMON_WORDS = 1000
MIN_COUNT = 5  # of a common word: in a small corpus every word is among the first thousand
MIN_LETTERS = 30
LEAST_SHARE = 0.25  # of the corpus' median
LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class LanguageProfile:
    """The most frequent words of a corpus, and the minimum fraction of a line's letters in them."""

    common: frozenset[str]
    least: float

    def share(self, line: str) -> float | None:
        """Return the fraction of the line's letters that are in common words; None if it is too
        short.
        """
        words = LETTERS.findall(line.lower())
        letters = sum(map(len, words))
        return (
            sum(len(word) for word in words if word in self.common) / letters
            if letters >= MIN_LETTERS
            else None
        )

    def fits(self, line: str) -> bool:
        """Whether the line looks like the corpus' main language, or is too short to judge."""
        share = self.share(line)
        return share is None or share >= self.least


def build_language_profile(lines: Iterable[str]) -> LanguageProfile:
    """Build the profile of some lines; the minimum fraction is a quarter of their median."""
    lines = list(lines)
    counts = Counter(word for line in lines for word in LETTERS.findall(line.lower()))
    common = frozenset(
        word for word, count in counts.most_common(COMMON_WORDS) if count >= MIN_COUNT
    )
    profile = LanguageProfile(common, 0.0)
    shares = sorted(share for line in lines if (share := profile.share(line)) is not None)
    return LanguageProfile(common, LEAST_SHARE * shares[len(shares) // 2] if shares else 0.0)
