"""What adding words would bring and cost, from counts alone: by floors under the occurrences of an
added word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from vocadapt.vocabulary.growth.word_tokenizations import Cuts, Pieces

FLOAT32 = 4  # bytes
FEW, ENOUGH = 20, 50  # occurrences of an added word; why these: see advice_rules


@dataclass(frozen=True)
class ModelSize:
    """Width of a wordpiece row and parameters in all; None where only a vocabulary was given."""

    width: int | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class Gain:
    """The words a model lacks that occur at least `floor` times: how many, what they cost, what
    they bring.

    parameters, bytes: of the new rows in float32 (a tied output layer shares them). model_share:
    parameters against the model's.
    saved: share of the tokens that go, fertility: pieces a word after. mended: share of the cut
    running words (with a letter) that become one token, mended_task: the same of the task's words.
    under_few, under_enough: share of the added words that occur under 20 and under 50 times,
    median: of their occurrences. None where unknown, and for the median where there is no word.
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
class Text:
    """Counts of a text or of a task's words, their pieces, and how they are cut in all."""

    counts: Mapping[str, int]
    pieces: Pieces
    cuts: Cuts


def gain_of(
    added: Sequence[str], floor: int, text: Text, task: Text | None, size: ModelSize
) -> Gain:
    """What these words, all of which occur `floor` times or more in the text, would bring and
    cost.
    """
    occurrences = [text.counts[word] for word in added]
    saved = saved_tokens(added, text)
    parameters = None if size.width is None else len(added) * size.width
    return Gain(
        floor=floor,
        words=len(added),
        parameters=parameters,
        bytes=None if parameters is None else parameters * FLOAT32,
        model_share=(
            None if parameters is None or not size.parameters else parameters / size.parameters
        ),
        saved=saved / text.cuts.tokens if text.cuts.tokens else 0.0,
        fertility=(text.cuts.tokens - saved) / text.cuts.running if text.cuts.running else 0.0,
        mended=_mended(added, text),
        mended_task=None if task is None else _mended(added, task),
        under_few=_share_under(occurrences, FEW),
        under_enough=_share_under(occurrences, ENOUGH),
        median=float(median(occurrences)) if occurrences else None,
    )


def saved_tokens(added: Sequence[str], text: Text) -> int:
    """How many tokens fewer the text has when each of these words is one."""
    return sum(text.counts[word] * (len(text.pieces[word]) - 1) for word in added)


def _mended(added: Sequence[str], text: Text) -> float:
    """Share of the text's cut running words that are among these words."""
    mended = sum(
        text.counts.get(word, 0)
        for word in added
        if len(text.pieces.get(word, ())) > 1 and any(map(str.isalpha, word))
    )
    return mended / text.cuts.split if text.cuts.split else 0.0


def _share_under(occurrences: Sequence[int], floor: int) -> float:
    return sum(count < floor for count in occurrences) / len(occurrences) if occurrences else 0.0
