"""The rules of the advice, in one table: when to keep a vocabulary, and when to be careful, with the
reason for each threshold. Some rules use the forecast of the quality of an alignment, also here.

The thresholds were measured with MiniLM (uncased), November 2026, on five English texts (biomedical
papers and abstracts, contracts, encyclopedia, film reviews), on program messages in German, French,
Spanish and Italian, and on a Bulgarian encyclopedia. The effect of the number of occurrences was
measured on vectors of .28, .93 and 2.9 million words of biomedical papers (least squares, held-out
P@5 of anchors by count):

    occurrences of the anchor    5–9          10–19        20–49        50–99        100–199      200–999
    P@5                          .000–.004    .003–.007    .013–.041    .065–.157    .145–.289    .176–.491

The forecast of the quality of an alignment, before training, is

    logit P@5 = INTERCEPT + SLOPE · log10(words)

fitted on 20 runs of `benchmarks/advise.py` (November 2026): lines of the five English texts, drawn
with seed 1, 78 000 to 9.7 million words, CBOW with the defaults, MiniLM (width 384, uncased), least
squares over 1 646 to 18 668 anchors, P@5 held out over ten folds. The root-mean-square error of the
logit is .192 with one run left out, and .202 with one text left out. With the number of anchors as
a second variable the latter decreases by .018, with their counts not at all. Four samples of 20 000
to 27 000 words were all at chance. Two runs with vectors of width 768 into the same model (.022 and
.059, at .28 and .93 million words) are within the interval. No other model and no other language
was measured; the rule "not measured" applies outside of the measured range.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vocadapt.progress import percent
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.vocabulary.growth.word_tokenizations import (
    ENOUGH_OCCURRENCES,
    FEW_OCCURRENCES,
    Gain,
    TokenizationStatistics,
)

# Fraction of running words that are unknown: in the five English texts at most .0003.
MAX_UNKNOWN = 0.02
# Fraction of running words that are split: in the five English texts .05 to .12, in the other
# languages .40 (French) to .85.
MAX_SPLIT = 0.30
# Expected P@5: at .022 new disease and drug names have neighbors of their kind twice as often as
# with random embeddings, at .063 five times as often.
USABLE = 0.05
# Expected P@5 divided by chance: four samples of 20 000 to 27 000 words reached .6 to 1.2, those of
# 78 000 words and more reached more than 4.
NEAR_CHANCE = 3.0
# Expected P@5: 4 to 5 million words reached it; below, most new embeddings are far from words of
# their kind.
GOOD = 0.15
# Number of the most frequent words that could be added; it is fixed, so that more text does not
# change the verdict.
TOP = 1_000
# Fraction of the tokens saved by adding the TOP words: general texts save .008 and .015, biomedical
# and legal texts .05 and more.
MIN_SAVED = 0.03
# Number of new words that occur 20 times or more: fewer would have no measurable effect on a test
# set.
MIN_ADDED = 100
# A task alone is a sufficient reason if this fraction of its entity words is split, and adding the
# words of the text turns at least the second fraction of those into one token each.
MIN_SPLIT_ENTITIES, MIN_JOINED = 0.25, 0.10
MAX_RARE = 0.5  # fraction of the words that could be added

# The forecast: the alignment that it is for, and its coefficients.
FORECAST_ALIGNMENT = AlignmentSettings()
INTERCEPT, SLOPE = -11.783, 1.509
# Half of the 95 % interval of the logit: Student's t with 18 degrees of freedom, 2.10, times .202,
# the error on a text that was left out; 19 of the 20 runs are within it.
HALF = 0.42
# Measured ranges of the inputs.
WORDS = (78_000, 9_700_000)
ANCHORS = (1_646, 18_668)
WIDTH = 384
K = 5


@dataclass(frozen=True)
class Forecast:
    """Expected held-out P@5 of a least-squares alignment, with a 95 % interval from `low` to
    `high`.

    chance: P@5 by chance; words: running words that get a vector.
    outside: descriptions of the inputs that are outside of the measured ranges.
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
    """Compute the number of running words for which the forecast reaches a P@5."""
    return math.ceil(10 ** ((math.log(p5 / (1 - p5)) - INTERCEPT) / SLOPE))


# Running words with a vector for which the forecast of P@5 reaches USABLE.
NEEDED_WORDS = round(compute_needed_words(USABLE), -4)


def _describe_extrapolation(words: int, anchors: int, width: int | None) -> list[str]:
    """Describe the inputs that are outside of the measured ranges."""
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

    task: statistics of the entity words of a task.
    lines, lines_read: number of lines that were counted, and that were read.
    anchors: number of words with both a vector and a wordpiece.
    gains: gains by increasing floor; the first floor is `min_count`, below which a word has no
        vector.
    top_saved: fraction of the tokens of held-out lines that adding the 1,000 most frequent words
        would save.
    held_out_lines: number of lines on which the gains are measured; no word is chosen by them.
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
    held_out_lines: int = 0

    def gain(self, floor: int) -> Gain:
        """Return the gain at a floor, or at `min_count` if that is higher."""
        return next(gain for gain in self.gains if gain.floor >= max(floor, self.min_count))

    @property
    def task_needs_words(self) -> bool:
        """Whether a task's entity words are often split, and enough of them become one token if
        the words of the text are added.
        """
        joined = self.gain(FEW_OCCURRENCES).mended_task or 0.0
        return (
            self.task is not None and self.task.share >= MIN_SPLIT_ENTITIES and joined >= MIN_JOINED
        )


@dataclass(frozen=True)
class Rule:
    """A reason to keep the vocabulary or to be careful.

    stops: reason in the sentence of the verdict; empty if the rule is only a warning.
    says: formats the finding with its figures; why: the reason for the threshold.
    """

    name: str
    stops: str
    applies: Callable[[Figures], bool]
    says: Callable[[Figures], str]
    why: str


def format_fraction(value: float | None) -> str:
    """Format a score without its leading zero (.095), a small one with two digits (.00051);
    None as –.
    """
    if value is None:
        return "–"
    text = f"{value:.2g}" if 0 < value < 0.0095 else f"{value:.3f}"
    if value >= 1:
        return text
    return text.replace("0.", ".", 1)


def format_chance(chance: float) -> str:
    """Format a chance level with three significant digits: "chance 1 in 1,190"; a dash if it is 0,
    because there are no anchors.
    """
    if not chance:
        return "chance –"
    rounded = float(f"{1 / chance:.3g}")
    return f"chance 1 in {int(rounded):,}"


RULES: tuple[Rule, ...] = (
    Rule(
        "unknown script",
        "the model cannot read the text",
        lambda f: f.corpus.unknown_share >= MAX_UNKNOWN,
        lambda f: (
            f"The model cannot read {percent(f.corpus.unknown_share)} of the running words at all."
        ),
        f"At {percent(MAX_UNKNOWN)} or more, the text has a script or characters that the model does"
        " not know. Choose a model for this script.",
    ),
    Rule(
        "other language",
        "the text seems to have another language or casing than the model",
        lambda f: f.corpus.share >= MAX_SPLIT,
        lambda f: (
            f"{percent(f.corpus.share)} of the running words are split: the text seems to have another"
            " language or casing."
        ),
        f"The threshold is {percent(MAX_SPLIT)}: English texts have at most 12 %. Choose a model for"
        " this language and casing.",
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
        # Chance is high if there are few anchors.
        lambda f: f.forecast.p5 < max(USABLE, NEAR_CHANCE * f.forecast.chance),
        lambda f: (
            f"Only words that occur {f.min_count} times or more get a vector:"
            f" {f.forecast.words:,} running words. The forecast is that the right word is among the"
            f" five nearest for {format_fraction(f.forecast.p5)} of held-out words"
            f" ({format_chance(f.forecast.chance)})."
        ),
        f"Below {format_fraction(USABLE)} new words were not near words of their kind. About"
        f" {NEEDED_WORDS:,} running words that get a vector should be"
        " enough: get more text.",
    ),
    Rule(
        "too few words",
        "too few new words occur often enough",
        lambda f: f.gain(FEW_OCCURRENCES).words < MIN_ADDED,
        lambda f: (
            f"{f.gain(FEW_OCCURRENCES).words:,} words that the model lacks occur {f.gain(FEW_OCCURRENCES).floor} times or"
            " more."
        ),
        f"With fewer than {MIN_ADDED} words the gain is negligible; rarer words get poor embeddings.",
    ),
    Rule(
        "hardly split",
        "hardly worth it, because the model knows nearly all frequent words of this text",
        lambda f: f.top_saved < MIN_SAVED and not f.task_needs_words,
        lambda f: (
            f"Adding the {min(TOP, f.gain(0).words):,} most frequent word{'s' * (f.gain(0).words != 1)}"
            f" that the model lacks would save {percent(f.top_saved)} of the tokens."
        ),
        f"Below {percent(MIN_SAVED)} the text is similar to general texts, which save at most 1.5 %.",
    ),
    Rule(
        "weak map",
        "",
        # Near chance, the rule "too little text" reports it.
        lambda f: max(USABLE, NEAR_CHANCE * f.forecast.chance) <= f.forecast.p5 < GOOD,
        lambda f: (
            f"Expected held-out P@5 {format_fraction(f.forecast.p5)} ({format_fraction(f.forecast.low)} to"
            f" {format_fraction(f.forecast.high)})."
        ),
        f"Below {format_fraction(GOOD)} most new embeddings are far from words of their kind, and"
        " fine-tuning has to correct them. More text helps.",
    ),
    Rule(
        "rare words",
        "",
        lambda f: f.gain(0).under_few >= MAX_RARE,
        lambda f: (
            f"{percent(f.gain(0).under_few)} of the {f.gain(0).words:,} words that could be added"
            f" occur fewer than {FEW_OCCURRENCES} times, {percent(f.gain(0).under_enough)} fewer than"
            f" {ENOUGH_OCCURRENCES} times."
        ),
        f"Embeddings of words that occur fewer than {FEW_OCCURRENCES} times were hardly better than"
        " chance (P@5 at most .007): add only words that occur more often.",
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
            f"{percent(f.gain(FEW_OCCURRENCES).mended_task)} of the task's entity words that"
            " are split become one token if these words are added."
        ),
        f"Below {percent(MIN_JOINED)} the text does not match the task.",
    ),
    Rule(
        "task hardly split",
        "",
        lambda f: f.task is not None and f.task.share < f.corpus.share,
        lambda f: (
            f"The task's entity words are split less ({percent(f.task.share if f.task else None)}) than"
            " the text's words."
        ),
        "The gain, if any, will not come from the entities.",
    ),
    Rule(
        "not measured",
        "",
        lambda f: bool(f.forecast.outside),
        lambda f: (
            f"The forecast is outside of the measured range: {'; '.join(f.forecast.outside)}."
        ),
        "The forecast may be wrong: evaluate the alignment on held-out words first.",
    ),
    Rule(
        "sample",
        "",
        lambda f: f.lines < f.lines_read,
        lambda f: (
            f"{f.lines:,} of {f.lines_read:,} lines were counted; all figures are for these lines."
        ),
        "The whole text has more anchors, more words and more occurrences of each word.",
    ),
)
