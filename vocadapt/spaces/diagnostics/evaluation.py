"""Intrinsic evaluation of a space: word similarity (Spearman) and analogies (Mikolov et al. 2013).

Each score comes with its coverage (`covered`, `of`): a score over few questions is unreliable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vocadapt.progress import Progress, silent
from vocadapt.spaces.diagnostics.statistics import compute_spearman
from vocadapt.spaces.diagnostics.word_lists import AnalogySection, PairList
from vocadapt.spaces.space import BoolArray, EmbeddingSpace, IntArray
from vocadapt.text.splitter import Splitter

BLOCK = 1 << 24  # similarities in memory at a time


@dataclass(frozen=True)
class PairScore:
    """Spearman's rank correlation of cosine and human score; None for fewer than three pairs."""

    spearman: float | None
    covered: int
    of: int


@dataclass(frozen=True)
class AnalogyScore:
    """Accuracy on the covered questions; None if none is covered."""

    accuracy: float | None
    covered: int
    of: int


def detect_casing(space: EmbeddingSpace) -> Splitter | None:
    """Return a lowercasing splitter if the space has no word with a capital, else None."""
    if any(word != word.lower() for word in space.words):
        return None
    return Splitter.bert(lowercase=True)


def score_pairs(
    space: EmbeddingSpace, pairs: PairList, splitter: Splitter | None = None
) -> PairScore:
    """Correlate the cosines of word pairs with people's scores.

    Words are looked up as they are spelled, or as `splitter` normalizes them.
    """
    find_row = build_lookup(space, splitter)
    found = [(find_row(pair.first), find_row(pair.second), pair.score) for pair in pairs.pairs]
    known = [pair for pair in found if min(pair[:2]) >= 0]
    if len(known) < 3:
        return PairScore(None, len(known), len(pairs.pairs))
    first, second, scores = map(np.array, zip(*known, strict=True))
    cosines = np.einsum("nd,nd->n", space.unit[first], space.unit[second])
    return PairScore(compute_spearman(cosines, scores), len(known), len(pairs.pairs))


def score_analogies(
    space: EmbeddingSpace,
    sections: Sequence[AnalogySection],
    splitter: Splitter | None = None,
    progress: Progress = silent,
) -> dict[str, AnalogyScore]:
    """Answer a : b = c : ? by 3CosAdd: the word nearest to b − a + c (unit vectors), excluding a, b
    and c.

    Returns a score for each section and "total". Candidates are all words of the space; the tool of
    Mikolov et al. 2013 used the first 30 000.
    """
    find_row = build_lookup(space, splitter)
    scores: dict[str, AnalogyScore] = {}
    correct = [np.zeros(0, dtype=bool)]  # of the covered questions of each section
    for done, section in enumerate(sections):
        progress(done / len(sections), section.name)
        found = [list(map(find_row, question)) for question in section.questions]
        covered = [question for question in found if min(question) >= 0]
        correct.append(answer_analogies(space, np.array(covered, dtype=np.int64).reshape(-1, 4)))
        scores[section.name] = _summarize_answers(correct[-1], len(found))
    n_questions = sum(len(section.questions) for section in sections)
    return {**scores, "total": _summarize_answers(np.concatenate(correct), n_questions)}


def answer_analogies(space: EmbeddingSpace, questions: IntArray) -> BoolArray:
    """Return which questions are answered correctly (n,) bool; questions: (n, 4) row numbers."""
    correct = np.zeros(len(questions), dtype=bool)
    size = max(1, BLOCK // max(1, len(space)))
    for start in range(0, len(questions), size):
        a, b, c, d = questions[start : start + size].T
        scores = (space.unit[b] - space.unit[a] + space.unit[c]) @ space.unit.T
        for given in (a, b, c):
            scores[np.arange(len(given)), given] = -np.inf
        correct[start : start + size] = scores.argmax(axis=1) == d
    return correct


def _summarize_answers(correct: BoolArray, n_questions: int) -> AnalogyScore:
    """Summarize the answers to the covered questions (n,) bool of `n_questions` questions."""
    if not len(correct):
        return AnalogyScore(None, 0, n_questions)
    return AnalogyScore(float(correct.mean()), len(correct), n_questions)


def build_lookup(space: EmbeddingSpace, splitter: Splitter | None) -> Callable[[str], int]:
    """Return a function from word to row number, −1 for an unknown word.

    With a splitter, words are normalized as the model does.
    """

    def find_row(word: str) -> int:
        if splitter is not None:
            words = splitter.words(word)
            if len(words) == 1:
                word = words[0]
        return space.index.get(word, -1)

    return find_row
