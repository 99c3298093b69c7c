"""Intrinsic evaluation of a space: word similarity (Spearman) and analogies (Mikolov et al. 2013).

Each score comes with its coverage (`covered`, `of`): a score over few questions is unreliable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.diagnostics.correlation import compute_spearman
from vocadapt.spaces.diagnostics.word_pairs import PairList
from vocadapt.spaces.io.bundled import find_gensim_file
from vocadapt.spaces.io.word_files import read_lines
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter

BLOCK = 1 << 24  # similarities held at a time


@dataclass(frozen=True)
class PairScore:
    """Spearman's rank correlation of cosine and human score; None for fewer than three pairs."""

    spearman: float | None
    covered: int
    of: int


@dataclass(frozen=True)
class AnalogySection:
    """Questions a : b = c : d of one kind."""

    name: str
    questions: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True)
class AnalogyScore:
    """Accuracy on the covered questions; None if none is covered."""

    accuracy: float | None
    covered: int
    of: int


def detect_casing(space: EmbeddingSpace) -> Splitter | None:
    """Return a lowercasing splitter if the space has no word with a capital, else None."""
    uncased = all(word == word.lower() for word in space.words)
    return Splitter.bert(lowercase=True) if uncased else None


def score_pairs(
    space: EmbeddingSpace, pairs: PairList, splitter: Splitter | None = None
) -> PairScore:
    """Correlate the cosines of word pairs with people's scores.

    Words are looked up as they are spelled, or as `splitter` normalizes them.
    """
    row = build_lookup(space, splitter)
    known = [(row(pair.first), row(pair.second), pair.score) for pair in pairs.pairs]
    known = [(first, second, score) for first, second, score in known if first >= 0 and second >= 0]
    if len(known) < 3:
        return PairScore(None, len(known), len(pairs.pairs))
    first, second, scores = map(np.array, zip(*known, strict=True))
    cosines = np.einsum("nd,nd->n", space.unit[first], space.unit[second])
    return PairScore(compute_spearman(cosines, scores), len(known), len(pairs.pairs))


def read_analogies(path: Path) -> tuple[AnalogySection, ...]:
    """Read questions in Google's format: `: section` lines, below each one four words a line.

    Raises InputError with the number of a line that is neither.
    """
    sections: list[tuple[str, list[tuple[str, str, str, str]]]] = []
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if line.startswith(":"):
            sections.append((line[1:].strip(), []))
        elif fields and len(fields) != 4:
            problem = (
                f"{path}, line {number:,}: expected four words or `: section`, found {len(fields)}"
                " words."
            )
            raise InputError(problem, "An analogy is, for example: Athens Greece Oslo Norway.")
        elif fields:
            if not sections:
                sections.append((path.stem, []))
            sections[-1][1].append((fields[0], fields[1], fields[2], fields[3]))
    if not any(questions for _, questions in sections):
        raise InputError(
            f"{path}: it holds no analogy questions.",
            "Expected four words a line: Athens Greece Oslo Norway.",
        )
    return tuple(AnalogySection(name, tuple(questions)) for name, questions in sections)


def load_bundled_analogies() -> tuple[AnalogySection, ...]:
    """Load Google's 19 544 analogy questions, which come with gensim."""
    return read_analogies(find_gensim_file("questions-words.txt"))


def score_analogies(
    space: EmbeddingSpace,
    sections: Sequence[AnalogySection],
    splitter: Splitter | None = None,
    progress: Progress = silent,
) -> dict[str, AnalogyScore]:
    """Answer a : b = c : ? by 3CosAdd: the word nearest to b − a + c (unit vectors), not a, b or c.

    Returns a score for each section and "total". Candidates are all words of the space; the tool of
    Mikolov et al. 2013 used the first 30 000.
    """
    row = build_lookup(space, splitter)
    results: dict[str, tuple[NDArray[np.bool_], int]] = {}
    for done, section in enumerate(sections):
        progress(done / len(sections), section.name)
        rows = [[row(word) for word in question] for question in section.questions]
        covered = np.array(
            [question for question in rows if min(question) >= 0], dtype=np.int64
        ).reshape(-1, 4)
        results[section.name] = _right(space, covered), len(section.questions)
    total = (
        np.concatenate([right for right, _ in results.values()]),
        sum(of for _, of in results.values()),
    )
    return {
        name: _accuracy(right, of) for name, (right, of) in [*results.items(), ("total", total)]
    }


def _right(space: EmbeddingSpace, questions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which questions are answered correctly (n,) bool; questions: (n, 4) row numbers."""
    right = np.zeros(len(questions), dtype=bool)
    size = max(1, BLOCK // max(1, len(space)))
    for start in range(0, len(questions), size):
        a, b, c, d = questions[start : start + size].T
        scores = (space.unit[b] - space.unit[a] + space.unit[c]) @ space.unit.T
        for given in (a, b, c):
            scores[np.arange(len(given)), given] = -np.inf
        right[start : start + size] = scores.argmax(axis=1) == d
    return right


def _accuracy(right: NDArray[np.bool_], of: int) -> AnalogyScore:
    """Summarize correct answers (n,) bool."""
    return AnalogyScore(float(right.mean()) if len(right) else None, len(right), of)


def build_lookup(space: EmbeddingSpace, splitter: Splitter | None) -> Callable[[str], int]:
    """Return a function from word to row number, −1 for an unknown word.

    With a splitter, words are normalized as the model does.
    """

    def row(word: str) -> int:
        if splitter is not None:
            met = splitter.words(word)
            word = met[0] if len(met) == 1 else word
        return space.index.get(word, -1)

    return row
