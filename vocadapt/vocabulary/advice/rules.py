"""The rules of the advice, in one table: when to keep a vocabulary, and what to be careful about,
with the reason for each threshold; and the forecast that some of them compare.

Measured with MiniLM (uncased), November 2026, on five English texts (biomedical papers and
abstracts, contracts, encyclopedia, film reviews), on program messages in German, French, Spanish
and Italian, on Bulgarian encyclopedia, and, for what occurrences are worth, on vectors of .28, .93
and 2.9 million words of biomedical papers (least squares, held-out P@5 of anchors by count):

    occurrences of the anchor    5–9          10–19        20–49        50–99        100–199      200–999
    P@5                          .000–.004    .003–.007    .013–.041    .065–.157    .145–.289    .176–.491

The forecast of the quality of an alignment, before anything is trained, is

    logit P@5 = INTERCEPT + SLOPE · log10(words)

fitted on 20 runs of `benchmarks/advise.py` (November 2026): lines of five English texts (biomedical
papers and their abstracts, contracts, encyclopedia, film reviews) drawn with seed 1, 78 000 to 9.7
million words, CBOW with the defaults, MiniLM (width 384, uncased), least squares over 1 646 to 18
668 anchors, P@5 held out over ten folds. Root-mean-square error of the logit: .192 leaving one run
out, .202 leaving one text out. Adding the anchors to the words took .018 off the second; their
counts nothing. Four samples of 20 000 to 27 000 words were all at chance. Two runs with vectors of
width 768 into the same model (.022 and .059, at .28 and .93 million words) lie within the interval;
no other model and no other language was measured: outside of all this the forecast says so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vocadapt.vocabulary.growth.word_tokenizations import (
    ENOUGH_OCCURRENCES,
    FEW_OCCURRENCES,
    Gain,
    TokenizationStatistics,
)

MAX_UNKNOWN = 0.02  # of running words: the five English texts have at most .0003
# Of running words: the five English texts have .05 to .12, the other languages .40 (French) to .85.
MAX_SPLIT = 0.30
# Expected P@5: at .022 new disease and drug names have neighbors of their kind twice as often as
# with random embeddings, at .063 five times.
USABLE = 0.05
# Times chance: four samples of 20 000 to 27 000 words reached .6 to 1.2 times chance, those of
# 78 000 words and more over 4 times.
NEAR_CHANCE = 3.0
# Expected P@5: what 4 to 5 million words reached; below, most new embeddings are far from words of
# their kind.
GOOD = 0.15
# The most frequent words that could be added; a fixed number, so that more text does not change the
# verdict.
TOP = 1_000
# Of the tokens, by adding these: general texts save .008 and .015, biomedical and legal ones .05
# and more.
MIN_SAVED = 0.03
# Words that occur 20 times or more: the effect of fewer would not show in any test set.
MIN_ADDED = 100
# A task alone is reason enough if this fraction of its entity words is split, and the words of the
# text join at least the second fraction of those into one token.
MIN_SPLIT_ENTITIES, MIN_JOINED = 0.25, 0.10
MAX_RARE = 0.5  # of the words that could be added

# The forecast.
INTERCEPT, SLOPE = -11.783, 1.509
# Half the 95 % interval of the logit: Student's t with 18 degrees of freedom, 2.10, times .202, the
# error on a text that was left out; 19 of the 20 runs lie within it.
HALF = 0.42
# Ranges of what was measured.
WORDS = (78_000, 9_700_000)
ANCHORS = (1_646, 18_668)
WIDTH = 384
K = 5


@dataclass(frozen=True)
class Forecast:
    """Expected held-out P@5 of a least-squares alignment, with a 95 % interval from `low` to
    `high`.

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
    """Forecast the held-out P@5 for vectors of `words` running words with this number of anchors;
    it is never below chance, and 0 without anchors.
    """
    chance = min(1.0, K / anchors) if anchors else 0.0
    logit = INTERCEPT + SLOPE * math.log10(max(words, 1))
    low = p5 = high = chance
    if anchors:
        shifts = np.array([-HALF, 0.0, HALF])
        low, p5, high = np.maximum(chance, 1 / (1 + np.exp(-(logit + shifts)))).tolist()
    return Forecast(
        p5, low, high, chance, words, anchors, tuple(_describe_extrapolation(words, anchors, width))
    )


def compute_needed_words(p5: float) -> int:
    """Return the number of running words for which a P@5 is expected: the inverse of the line."""
    return math.ceil(10 ** ((math.log(p5 / (1 - p5)) - INTERCEPT) / SLOPE))


def _describe_extrapolation(words: int, anchors: int, width: int | None) -> list[str]:
    """Describe in which ways the inputs are outside of the measured range."""
    ranges = (("words", words, WORDS), ("anchors", anchors, ANCHORS))
    outside = [
        f"{value:,} {name}, measured were {low:,} to {high:,}"
        for name, value, (low, high) in ranges
        if not low <= value <= high
    ]
    if width is None:
        outside.append(f"a model of unknown width, measured was {WIDTH}")
    elif width != WIDTH:
        outside.append(f"a model of width {width}, measured was {WIDTH}")
    return outside


@dataclass(frozen=True)
class Figures:
    """The figures that the rules compare with thresholds.

    task: statistics of the entity words of a task; anchors: words with a vector that are wordpieces
    too.
    lines, lines_read: lines that were counted, of those that were read.
    gains: by rising floor; the first is `min_count`, below which a word has no vector.
    top_saved: fraction of the tokens that adding the 1,000 most frequent words would save.
    """

    corpus: TokenizationStatistics
    task: TokenizationStatistics | None
    lines: int
    lines_read: int
    min_count: int
    width: int | None
    anchors: int
    forecast: Forecast
    gains: tuple[Gain, ...]
    top_saved: float

    def gain(self, floor: int) -> Gain:
        """Return the gain at a floor, or at `min_count` if that is higher."""
        return next(gain for gain in self.gains if gain.floor >= max(floor, self.min_count))

    @property
    def task_needs_words(self) -> bool:
        """Whether a task's entity words are often split, and enough of them become one token if
        the words of the text are added.
        """
        mended = self.gain(FEW_OCCURRENCES).mended_task or 0.0
        return (
            self.task is not None and self.task.share >= MIN_SPLIT_ENTITIES and mended >= MIN_JOINED
        )


@dataclass(frozen=True)
class Rule:
    """A reason to keep the vocabulary or to be careful.

    stops: clause of the verdict; empty if the rule is only a warning.
    says: formats the finding with its figures; why: the reason for the threshold.
    """

    name: str
    stops: str
    applies: Callable[[Figures], bool]
    says: Callable[[Figures], str]
    why: str


def format_fraction(value: float | None) -> str:
    """Format a fraction without its leading zero: .095; small ones with two digits: .00051; – for
    none.
    """
    if value is None:
        return "–"
    text = f"{value:.2g}" if 0 < value < 0.0095 else f"{value:.3f}"
    if value >= 1:
        return text
    return text.replace("0.", ".", 1)


RULES: tuple[Rule, ...] = (
    Rule(
        "unknown script",
        "the model cannot read the text",
        lambda f: f.corpus.unknown_share >= MAX_UNKNOWN,
        lambda f: (
            f"The model cannot read {format_fraction(f.corpus.unknown_share)} of the running words at all."
        ),
        f"From {format_fraction(MAX_UNKNOWN)}: the text's script or characters are not the model's. Choose a"
        " model of that script.",
    ),
    Rule(
        "other language",
        "the text seems to be of another language or casing than the model",
        lambda f: f.corpus.share >= MAX_SPLIT,
        lambda f: (
            f"{format_fraction(f.corpus.share)} of the running words are split: the text seems to be of another"
            " language or casing."
        ),
        f"From {format_fraction(MAX_SPLIT)}: English texts have at most .12. Choose a model of this language"
        " and casing.",
    ),
    Rule(
        "too few anchors",
        "too little text for an alignment",
        lambda f: f.width is not None and f.anchors < f.width,
        lambda f: (
            f"{f.anchors:,} words have a vector and a wordpiece, fewer than the model's {f.width}"
            " dimensions."
        ),
        "With fewer anchors than dimensions a least-squares alignment fits any data and does not"
        " generalize. Get more text.",
    ),
    Rule(
        "too little text",
        "too little text",
        # With few anchors, chance is high.
        lambda f: f.forecast.p5 < max(USABLE, NEAR_CHANCE * f.forecast.chance),
        lambda f: (
            f"{f.forecast.words:,} running words get a vector: expected held-out P@5"
            f" {format_fraction(f.forecast.p5)}, chance {format_fraction(f.forecast.chance)}."
        ),
        f"Below {format_fraction(USABLE)} new words were not near words of their kind: about"
        f" {compute_needed_words(USABLE):,} words that get a vector are expected to reach it. Get more text.",
    ),
    Rule(
        "too few words",
        "too few new words occur often enough",
        lambda f: f.gain(FEW_OCCURRENCES).words < MIN_ADDED,
        lambda f: (
            f"{f.gain(FEW_OCCURRENCES).words:,} words that the model lacks occur {f.gain(FEW_OCCURRENCES).floor} times or"
            " more."
        ),
        f"Under {MIN_ADDED} there is nothing to gain; rarer words get poor embeddings.",
    ),
    Rule(
        "hardly split",
        "hardly worth it, because the model knows nearly all frequent words of this text",
        lambda f: f.top_saved < MIN_SAVED and not f.task_needs_words,
        lambda f: (
            f"The {TOP:,} most frequent words that could be added would save {format_fraction(f.top_saved)}"
            " of the tokens."
        ),
        f"Under {format_fraction(MIN_SAVED)} the text is much like what the model knows: general texts save"
        " at most .015.",
    ),
    Rule(
        "weak map",
        "",
        lambda f: USABLE <= f.forecast.p5 < GOOD,
        lambda f: (
            f"Expected held-out P@5 {format_fraction(f.forecast.p5)} ({format_fraction(f.forecast.low)} to"
            f" {format_fraction(f.forecast.high)})."
        ),
        f"Under {format_fraction(GOOD)} most new embeddings are far from words of their kind:"
        " fine-tuning has to correct them. More text helps.",
    ),
    Rule(
        "rare words",
        "",
        lambda f: f.gain(0).under_few >= MAX_RARE,
        lambda f: (
            f"{format_fraction(f.gain(0).under_few)} of the {f.gain(0).words:,} words that could be added"
            f" occur under {FEW_OCCURRENCES} times, {format_fraction(f.gain(0).under_enough)} under {ENOUGH_OCCURRENCES}."
        ),
        f"Anchors seen under {FEW_OCCURRENCES} times found their wordpiece in at most .007 of the cases: cap"
        " the number of words.",
    ),
    Rule(
        "task elsewhere",
        "",
        lambda f: (
            f.task is not None
            and f.task.split > 0
            and (f.gain(FEW_OCCURRENCES).mended_task or 0.0) < MIN_JOINED
        ),
        lambda f: (
            f"{format_fraction(f.gain(FEW_OCCURRENCES).mended_task)} of the task's entity words that"
            " are split become one token if these words are added."
        ),
        f"Under {format_fraction(MIN_JOINED)} this is not the text of that task.",
    ),
    Rule(
        "task hardly split",
        "",
        lambda f: f.task is not None and f.task.share < f.corpus.share,
        lambda f: (
            f"The task's entity words are split less ({format_fraction(f.task.share if f.task else None)}) than"
            " the text's words."
        ),
        "The gain, if any, will not come from the entities.",
    ),
    Rule(
        "not measured",
        "",
        lambda f: bool(f.forecast.outside),
        lambda f: (
            f"The expectation reaches beyond what was measured: {'; '.join(f.forecast.outside)}."
        ),
        "Take it as a guess, and evaluate the alignment on held-out words first.",
    ),
    Rule(
        "sample",
        "",
        lambda f: f.lines < f.lines_read,
        lambda f: f"{f.lines:,} of {f.lines_read:,} lines were counted; all figures are of these.",
        "The whole text has more anchors, more words and more occurrences of each.",
    ),
)
