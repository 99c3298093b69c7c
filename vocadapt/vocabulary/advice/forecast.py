"""Forecast the quality of an alignment from word counts, before anything is trained.

    logit P@5 = INTERCEPT + SLOPE · log10(words)

fitted on 20 runs of `benchmarks/advise.py` (November 2026): lines of five English texts (biomedical
papers and their abstracts, contracts, encyclopedia, film reviews) drawn with seed 1, 78 000 to 9.7
million words, CBOW with the defaults, MiniLM (width 384, uncased), least squares over 1 646 to 18
668 anchors, P@5 held out over ten folds. Root-mean-square error of the logit: .192 leaving one run
out, .202 leaving one text out. Adding the anchors to the words took .018 off the second; their counts
nothing. Four samples of 20 000 to 27 000 words were all at chance. Two runs with vectors of width
768 into the same model (.022 and .059, at .28 and .93 million words) lie within the interval; no
other model and no other language was measured: outside of all this the forecast says so.
"""

import math
from dataclasses import dataclass

INTERCEPT, SLOPE = -11.783, 1.509
T_95 = 2.10  # Student's t for 95 % with 18 degrees of freedom
# half the 95 % interval of the logit: T_95 · .202, the error on a text that was left out; it held
# 19 of the 20 runs
HALF = 0.42
WORDS = (78_000, 9_700_000)  # what was measured
ANCHORS = (1_646, 18_668)
WIDTH = 384
K = 5


@dataclass(frozen=True)
class Forecast:
    """Expected held-out P@5 of a least-squares alignment, with a 95 % interval from `low` to `high`.

    chance: P@5 by chance; words: running words that get a vector.
    outside: in which ways the inputs are outside of the measured range.
    """

    p5: float
    low: float
    high: float
    chance: float
    words: int
    anchors: int
    outside: tuple[str, ...] = ()


def forecast(words: int, anchors: int, width: int | None) -> Forecast:
    """Forecast the held-out P@5 for vectors of `words` running words with this number of anchors; it is
    never below chance, and 0 without anchors.
    """
    chance = min(1.0, K / anchors) if anchors else 0.0
    logit = INTERCEPT + SLOPE * math.log10(max(words, 1))
    low, p5, high = (
        max(chance, _share(logit + shift)) if anchors else chance for shift in (-HALF, 0.0, HALF)
    )
    return Forecast(p5, low, high, chance, words, anchors, tuple(_outside(words, anchors, width)))


def words_needed_for(p5: float) -> int:
    """Return the number of running words for which a P@5 is expected: the inverse of the line."""
    return math.ceil(10 ** ((math.log(p5 / (1 - p5)) - INTERCEPT) / SLOPE))


def _share(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _outside(words: int, anchors: int, width: int | None) -> list[str]:
    """Describe in which ways the inputs are outside of the measured range."""
    ranges = (("words", words, WORDS), ("anchors", anchors, ANCHORS))
    beyond = [
        f"{value:,} {name}, measured were {low:,} to {high:,}"
        for name, value, (low, high) in ranges
        if not low <= value <= high
    ]
    if width != WIDTH:
        beyond.append(
            f"a model of {'unknown width' if width is None else f'width {width}'}, measured was"
            f" {WIDTH}"
        )
    return beyond
