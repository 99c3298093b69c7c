"""Long contexts for question answering, in numbers only: windows over wordpieces, the words they
cover, and the best spans of scores.

As released by Poerner et al. 2020: the wordpieces of a context are divided into active parts of N =
⌊(size − question − 3) / 2⌋; each is read with as much context around it as fits, and only its own
scores are kept. So each wordpiece is scored once, in context.
"""

import re
import string
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError, check_choice
from vocadapt.settings import CheckedSettings, setting

SPANS = 1 << 20  # spans scored at a time
SPECIAL = 3  # [CLS] question [SEP] context [SEP]
PUNCTUATION = re.escape(string.punctuation)
WORDS = {
    "code": re.compile(rf"[{PUNCTUATION}]+|[^\s{PUNCTUATION}]+"),
    "paper": re.compile(r"\S+"),
}
WORD_RULES = {
    "code": (
        "at whitespace and at runs of ASCII punctuation, as the program released with Poerner et"
        " al. 2020"
    ),
    "paper": "at whitespace only, as described by Poerner et al. 2020",
}


@dataclass(frozen=True)
class AnswerSettings(CheckedSettings):
    """Settings of the windows over a context, and of the answers in it."""

    size: int = setting(
        512,
        "wordpieces of a window, special tokens included",
        low=1,
        high=32_768,
        label="Window size",
        flag="",
    )
    characters: int = setting(
        500, "maximum characters of an answer", low=1, high=1_000_000, flag=""
    )
    words: str = setting(
        "code",
        "rule that splits the context into words",
        choices=lambda: WORD_RULES,
        label="Word rule",
        flag="",
    )


def check_word_rule(rule: str) -> str:
    """Return the rule; raise InputError if it is unknown."""
    check_choice("word rule", rule, WORD_RULES)
    return rule


@dataclass(frozen=True)
class Window:
    """Context wordpieces `left` to `right` are read, and the scores of `active_left` to
    `active_right` are kept; ends exclusive.
    """

    left: int
    active_left: int
    active_right: int
    right: int


def divide_into_windows(context: int, question: int, size: int = 512) -> tuple[Window, ...]:
    """Return the windows over `context` wordpieces with a question of `question` wordpieces.

    Room besides the active part is filled first on the right and then alternately; what one side
    cannot use the other takes. Raises InputError if the question leaves no room.
    """
    stride = (size - question - SPECIAL) // 2
    if stride < 1:
        raise InputError(
            f"The question has {question:,} pieces; a window of {size} has room for"
            f" {size - SPECIAL - 2} at most.",
            "Ask a shorter question, or use a larger window.",
            code="long-question",
        )
    room = size - question - SPECIAL
    return tuple(
        _build_window(start, min(context, start + stride), context, room)
        for start in range(0, context, stride)
    )


def _build_window(start: int, end: int, context: int, room: int) -> Window:
    # Half of the spare room on the right, more if the left side cannot use its half; then the left.
    spare = room - (end - start)
    right = min(context - end, max((spare + 1) // 2, spare - start))
    left = min(start, spare - right)
    return Window(start - left, start, end, end + right)


@lru_cache(maxsize=256)  # many questions share a long context
def find_word_bounds(context: str, words: str = "code") -> NDArray[np.int64]:
    """Return start and end of every word of a context in characters: (words, 2) int64,
    read-only.
    """
    found = np.array(
        [match.span() for match in WORDS[words].finditer(context)], dtype=np.int64
    ).reshape(-1, 2)
    found.setflags(write=False)
    return found


def find_covered_words(bounds: NDArray[np.int64], start: int, end: int) -> tuple[int, int] | None:
    """Return the first and last word that overlap the characters `start` to `end`; None if none
    does.
    """
    first = int(np.searchsorted(bounds[:, 1], start, side="right"))
    last = int(np.searchsorted(bounds[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None


def find_best_spans(
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    bounds: NDArray[np.int64],
    characters: int = 500,
    max_spans: int = 1,
) -> list[tuple[int, int, float]]:
    """Return first word, last word and score (start[first] + end[last]) of the best answers within
    a length in characters.

    Best first, the earlier first among equals. Time grows with words of the context × words of the
    longest answer; spans are scored in blocks of SPANS, so that memory does not grow with the
    context.
    """
    # 1. The best spans of each block of first words: a row of scores holds the spans that begin at
    # one word and are 1, 2, … `width` words long.
    width = _count_widest(bounds, characters)
    step = max(1, SPANS // width)
    first, last, found = [], [], []
    for begin in range(0, len(bounds), step):
        scores = _score_spans(
            start, end, bounds, characters, (begin, min(begin + step, len(bounds)), width)
        )
        flat = scores.ravel()
        places = _find_highest(flat, max_spans)
        first.append(begin + places // width)
        last.append(begin + places // width + places % width)
        found.append(flat[places])
    if not found:
        return []

    # 2. The best of all blocks.
    firsts = np.concatenate(first)
    lasts = np.concatenate(last)
    all_scores = np.concatenate(found)
    order = _find_highest(all_scores, max_spans)
    return [(int(firsts[place]), int(lasts[place]), float(all_scores[place])) for place in order]


def _score_spans(
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    bounds: NDArray[np.int64],
    characters: int,
    block: tuple[int, int, int],
) -> NDArray[np.float64]:
    """Score the spans that begin in a block (first word, end, maximum words): (words, maximum
    words), -inf if invalid.
    """
    begin, stop, width = block
    scores = np.full((stop - begin, width), -np.inf)
    for more in range(width):
        # Words of the block that are followed by `more` words.
        count = max(0, min(stop, len(bounds) - more) - begin)
        own = slice(begin, begin + count)
        later = slice(begin + more, begin + more + count)
        short = bounds[later, 1] - bounds[own, 0] <= characters
        scores[:count, more] = np.where(short, start[own] + end[later], -np.inf)
    return scores


def _find_highest(scores: NDArray[np.float64], max_spans: int) -> NDArray[np.int64]:
    """Return the indices of at most `max_spans` highest finite scores, best first; the earlier
    first among equals.
    """
    # The usual case, without partitioning: argmax returns the first of equal scores.
    if max_spans == 1 and len(scores):
        best = int(scores.argmax())
        return np.array([best] if np.isfinite(scores[best]) else [], dtype=np.int64)
    wanted = min(max_spans, int(np.isfinite(scores).sum()))
    if not wanted:
        return np.zeros(0, dtype=np.int64)
    lowest = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    # All spans as high as the last wanted one; the stable sort keeps the earlier of them.
    places = np.flatnonzero(scores >= lowest)
    return places[np.argsort(-scores[places], kind="stable")][:wanted]


def _count_widest(bounds: NDArray[np.int64], characters: int) -> int:
    """Return the largest number of words within `characters` characters anywhere; at least 1."""
    if not len(bounds):
        return 1
    last = np.searchsorted(bounds[:, 1], bounds[:, 0] + characters, side="right")
    return max(1, int((last - np.arange(len(bounds))).max()))
