"""Lines of a text that share a long word sequence with test data: the model could have seen the test."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LENGTH = 10  # consecutive words that two texts share only by copying
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class TestPassages:
    """The sequences of `length` consecutive words of test sentences, as hashes.

    Words are runs of letters and digits in lowercase, so tokenization, punctuation and spacing of the
    test data do not matter. A sentence with fewer words has no sequence, and matches nothing.
    """

    __test__ = False  # the name is no test's
    hashes: frozenset[int]
    length: int = LENGTH

    def are_shared(self, line: str) -> bool:
        """Return whether a line has a sequence of the test sentences."""
        return not self.hashes.isdisjoint(_hash_sequences(line, self.length))


def collect_passages(sentences: Iterable[str], length: int = LENGTH) -> TestPassages:
    """Collect the word sequences of test sentences."""
    hashes = {one for sentence in sentences for one in _hash_sequences(sentence, length)}
    return TestPassages(frozenset(hashes), length)


def _hash_sequences(line: str, length: int) -> Iterator[int]:
    words = WORD.findall(line.lower())
    for start in range(len(words) - length + 1):
        yield hash(tuple(words[start : start + length]))
