"""Estimate what adding words to a vocabulary would bring and cost, from word counts alone.

The words are those that occur at least a minimum number of times in a text (the floor).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from vocadapt.vocabulary.growth.word_tokenizations import (
    Pieces,
    TokenizationStatistics,
    has_letter,
)

FLOAT32 = 4  # bytes
FEW_OCCURRENCES, ENOUGH_OCCURRENCES = (
    20,
    50,
)  # occurrences of an added word; the reasons are in `advice.rules`


@dataclass(frozen=True)
class ModelSize:
    """Width of the wordpiece embeddings and number of parameters; None if only a vocabulary is
    known.
    """

    width: int | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class Gain:
    """Benefit and cost of adding the words that a model lacks and that occur at least `floor`
    times.

    words: number of these words.
    parameters, bytes: of the new embeddings in float32 (a tied output layer shares them).
    model_share: these parameters as a fraction of the model's.
    saved: fraction of the tokens of the text that is saved.
    fertility: wordpieces per word afterwards.
    mended: fraction of the split running words (with a letter) that become one token.
    mended_task: the same of the words of a task; None without a task.
    under_few, under_enough: fraction of the added words that occur less than 20 and 50 times.
    median: median of their occurrences; None if there are no words.
    """

    floor: int
    words: int
    parameters: int | None
    bytes: int | None
    model_share: float | None
    saved: float
    fertility: float
    mended: float
    mended_task: float | None
    under_few: float
    under_enough: float
    median: float | None


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """Word counts of a text (or of the entities of a task), their wordpieces, and statistics."""

    counts: Mapping[str, int]
    pieces: Pieces
    statistics: TokenizationStatistics


def measure_gain(
    added: Sequence[str],
    floor: int,
    text: TokenizedText,
    task: TokenizedText | None,
    size: ModelSize,
) -> Gain:
    """Measure what adding these words, which occur at least `floor` times, would bring and cost."""
    occurrences = [text.counts[word] for word in added]
    saved = count_saved_tokens(added, text)
    parameters = None if size.width is None else len(added) * size.width
    model_share = None
    if parameters is not None and size.parameters:
        model_share = parameters / size.parameters
    tokens, running = text.statistics.tokens, text.statistics.running
    return Gain(
        floor=floor,
        words=len(added),
        parameters=parameters,
        bytes=None if parameters is None else parameters * FLOAT32,
        model_share=model_share,
        saved=saved / tokens if tokens else 0.0,
        fertility=(tokens - saved) / running if running else 0.0,
        mended=_mended_fraction(added, text),
        mended_task=None if task is None else _mended_fraction(added, task),
        under_few=_fraction_below(occurrences, FEW_OCCURRENCES),
        under_enough=_fraction_below(occurrences, ENOUGH_OCCURRENCES),
        median=float(median(occurrences)) if occurrences else None,
    )


def count_saved_tokens(added: Sequence[str], text: TokenizedText) -> int:
    """Count the tokens that a text is shorter by if each of these words is one token."""
    return sum(text.counts[word] * (len(text.pieces[word]) - 1) for word in added)


def _mended_fraction(added: Sequence[str], text: TokenizedText) -> float:
    """Return the fraction of the split running words of a text that are among these words."""
    if not text.statistics.split:
        return 0.0
    mended = 0
    for word in added:
        is_split = len(text.pieces.get(word, ())) > 1
        if is_split and has_letter(word):
            mended += text.counts.get(word, 0)
    return mended / text.statistics.split


def _fraction_below(occurrences: Sequence[int], floor: int) -> float:
    """Return the fraction of the numbers that are below `floor`; 0 if there are none."""
    if not occurrences:
        return 0.0
    return sum(count < floor for count in occurrences) / len(occurrences)
