"""The rules of the advice, in one table: when to keep a vocabulary, and when to be careful, with
the reason for each threshold. Also here: the forecast of how precisely new words can be placed.

The thresholds were measured with MiniLM (uncased), November 2026, on five English texts (biomedical
papers and abstracts, contracts, encyclopedia, film reviews), on program messages in German, French,
Spanish and Italian, and on a Bulgarian encyclopedia.

The forecast is P@5 of stacked embeddings, the default, for words like the new ones: the fraction
whose own wordpiece is among the five nearest of all wordpieces. Before training it is

    logit P@5 = INTERCEPT + SLOPE · log10(words)

fitted on the runs of `experiments/advise.py` with more than MIN_WORDS running words (November
2026): lines of the five texts, drawn with seed 1, counted vectors, MiniLM (width 384), five folds.
HALF is from the error on a text that was left out. It is no reason to adapt or not: whether a task
gains by precision is another question (`measured_gains`), and no rule compares P@5 with a
threshold. No other model and no other language was measured: the rule "not measured" says so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vocadapt.progress import percent
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
# Number of the most frequent words that could be added; it is fixed, so that more text does not
# change the verdict.
TOP = 1_000
# Fraction of the tokens saved by adding the TOP words: general texts save .008 and .015, biomedical
# and legal texts .05 and more.
MIN_SAVED = 0.03
# Number of new words that occur 20 times or more: fewer have no measurable effect on a test set.
MIN_ADDED = 100
# A task alone is a sufficient reason if this fraction of its entity words is split, and adding the
# words of the text turns at least the second fraction of those into one token each.
MIN_SPLIT_ENTITIES, MIN_JOINED = 0.25, 0.10
MAX_RARE = 0.5  # fraction of the words that could be added

# The forecast: its coefficients, and half of the 95 % interval of the logit.
INTERCEPT = -1.745
SLOPE = 0.32
HALF = 0.53
# Running words that get a vector. P@5 for words like the new ones was .37 to .52 with 78 000 to 95
# 000 of them, .20 to .41 with 27 000 or fewer: there, the form of a word decides.
MIN_WORDS = 75_000
MAX_WORDS = 9_700_000  # measured
WIDTH = 384
K = 5


@dataclass(frozen=True)
class Forecast:
    """Expected P@5 of the embeddings of new words, with a 95 % interval from `low` to `high`.

    chance: P@5 by chance; words: running words that get a vector; candidates: number of wordpieces.
    outside: descriptions of the inputs that were not measured.
    """

    value: float
    low: float
    high: float
    chance: float
    words: int
    candidates: int
    outside: tuple[str, ...] = ()


def forecast(words: int, candidates: int, width: int | None) -> Forecast:
    """Forecast P@5 for vectors of `words` running words among this number of wordpieces; it is
    never below chance.
    """
    chance = min(1.0, K / max(candidates, 1))
    logit = INTERCEPT + SLOPE * math.log10(max(words, 1))
    shifts = np.array([-HALF, 0.0, HALF])
    low, value, high = np.maximum(chance, 1 / (1 + np.exp(-(logit + shifts)))).tolist()
    return Forecast(
        value, low, high, chance, words, candidates, _describe_extrapolation(words, width)
    )


def _describe_extrapolation(words: int, width: int | None) -> tuple[str, ...]:
    """Describe the inputs that were not measured; too few words are a finding of their own."""
    outside = []
    if words > MAX_WORDS:
        outside.append(f"{words:,} words, measured were at most {MAX_WORDS:,}")
    if width is None:
        outside.append(f"a model of unknown width, measured was {WIDTH}")
    elif width != WIDTH:
        outside.append(f"a model of width {width}, measured was {WIDTH}")
    return tuple(outside)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures that the rules compare with thresholds.

    task: statistics of the entity words of a task.
    lines, lines_read: number of lines that were counted, and that were read.
    anchors: number of words with both a vector and a wordpiece.
    expected: precision of the new embeddings.
    added: gains by increasing minimum count; the first is `min_count`, below which a word has no
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
    expected: Forecast
    added: tuple[Gain, ...]
    top_saved: float
    held_out_lines: int = 0

    def gain(self, floor: int) -> Gain:
        """Return the gain at a minimum count, or at `min_count` if that is higher."""
        return next(gain for gain in self.added if gain.min_count >= max(floor, self.min_count))

    @property
    def task_needs_words(self) -> bool:
        """Whether a task's entity words are often split, and enough of them become one token if
        the words of the text are added.
        """
        joined = self.gain(FEW_OCCURRENCES).mended_task or 0.0
        return (
            self.task is not None and self.task.split >= MIN_SPLIT_ENTITIES and joined >= MIN_JOINED
        )


@dataclass(frozen=True)
class Rule:
    """A reason to keep the vocabulary or to be careful.

    stops: reason in the sentence of the verdict; empty if the rule is only a warning.
    describe: formats the finding with its figures; why: the reason for the threshold.
    """

    name: str
    stops: str
    applies: Callable[[Figures], bool]
    describe: Callable[[Figures], str]
    why: str


RULES: tuple[Rule, ...] = (
    Rule(
        "unknown script",
        "the model cannot read the text",
        lambda f: f.corpus.unknown >= MAX_UNKNOWN,
        lambda f: f"The model cannot read {percent(f.corpus.unknown)} of the running words at all.",
        f"At {percent(MAX_UNKNOWN)} or more, the text has a script or characters that the model"
        " does not know. Choose a model for this script.",
    ),
    Rule(
        "other language",
        "the text seems to have another language or casing than the model",
        lambda f: f.corpus.split >= MAX_SPLIT,
        lambda f: (
            f"{percent(f.corpus.split)} of the running words are split: the text seems to have"
            " another language or casing."
        ),
        f"The threshold is {percent(MAX_SPLIT)}: English texts have at most 12 %. Choose a model"
        " for this language and casing.",
    ),
    Rule(
        "too few words",
        "too few new words occur often enough",
        lambda f: f.gain(FEW_OCCURRENCES).words < MIN_ADDED,
        lambda f: (
            f"{f.gain(FEW_OCCURRENCES).words:,} words that the model lacks occur"
            f" {f.gain(FEW_OCCURRENCES).min_count} times or more."
        ),
        f"With fewer than {MIN_ADDED} words the gain is negligible.",
    ),
    Rule(
        "hardly split",
        "hardly worth it, because the model knows nearly all frequent words of this text",
        lambda f: f.top_saved < MIN_SAVED and not f.task_needs_words,
        lambda f: (
            f"Adding the {min(TOP, f.gain(0).words):,} most frequent"
            f" word{'s' * (f.gain(0).words != 1)} that the model lacks would save"
            f" {percent(f.top_saved)} of the tokens."
        ),
        f"Below {percent(MIN_SAVED)} the text is similar to general texts, which save at most 1.5"
        " %.",
    ),
    Rule(
        "little text",
        "",
        lambda f: f.expected.words < MIN_WORDS,
        lambda f: (
            f"Only words that occur {f.min_count} times or more get a vector:"
            f" {f.expected.words:,} running words."
        ),
        f"With fewer than {MIN_WORDS:,} a new word is placed by its form, not by its contexts, and"
        " the forecast is too high. More text helps.",
    ),
    Rule(
        "rare words",
        "",
        lambda f: f.gain(0).under_few >= MAX_RARE,
        lambda f: (
            f"{percent(f.gain(0).under_few)} of the {f.gain(0).words:,} words that could be added"
            f" occur fewer than {FEW_OCCURRENCES} times, {percent(f.gain(0).under_enough)} fewer"
            f" than {ENOUGH_OCCURRENCES} times."
        ),
        "Words with 5 occurrences were placed with a P@5 of .27 to .47, with 20 of .42 to .60, with"
        " 100 of .66 to .76, where form alone has .22 to .36.",
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
        lambda f: f.task is not None and f.task.split < f.corpus.split,
        lambda f: (
            f"The task's entity words are split less ({percent(f.task.split if f.task else None)})"
            " than the text's words."
        ),
        "The gain, if any, will not come from the entities.",
    ),
    Rule(
        "not measured",
        "",
        lambda f: bool(f.expected.outside),
        lambda f: f"The forecast was not measured for this: {'; '.join(f.expected.outside)}.",
        "The forecast may be wrong.",
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
