"""Measure the length of a text with a reduced or an extended vocabulary: exactly, from its distinct
words and their counts.

The words of held-out lines are measured, because the cost is lowest in sample: on the lines that
the tokens were chosen by. It is reported next to the held-out cost (`in_sample`). Without held-out
lines both are the same.

*Reduction* (`study`): how much longer the text becomes, as in Fast 2023, table 6.10 (more tokens)
and figure 3.1 (fewer parameters).

*Extension* (`measure_extension_curve`): how much shorter the text becomes with the first n new
tokens, and how often each of them occurs. Tai et al. 2020 (exBERT) chose their 17,748 tokens by
such a frequency curve. Tokens are added in a fixed order, so the tokens of every size are a prefix
of the same plan: the words are tokenized with the whole extended vocabulary without the later
tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import mean, stdev

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.report.table import Column, Table
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.reduction import (
    REDUCTIONS,
    ReductionSettings,
    compute_min_keep_fraction,
    count_removed,
    rank_removable,
)
from vocadapt.vocabulary.vocabulary import Ints, Mask, Tokenization, WordTable

STEPS = 9  # default number of sizes above 0; each is half of the next larger one
RARE = 20  # occurrences below which an embedding is hardly trained
SIZES = 9  # of a growth curve
KEEPS = (0.75, 0.5, 0.25)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Growth:
    """Length of the held-out lines of a text with a reduced vocabulary.

    vocabulary: number of tokens left in the vocabulary.
    tokens: wordpieces of the lines; the mean over seeds if the heuristic is random.
    growth: additional wordpieces, as a fraction of those with the whole vocabulary.
    growth_in_sample: growth of the lines that the tokens were chosen by.
    unknown: running words that become [UNK] because of the reduction.
    sd: standard deviation of the growth over seeds; None if the heuristic is not random.
    """

    heuristic: str
    keep: float
    vocabulary: int
    tokens: int
    growth: float
    growth_in_sample: float
    unknown: int = 0
    sd: float | None = None


GROWTHS = (
    Column("heuristic", "Heuristic", "Which tokens are removed."),
    Column("keep", "Keep", "Fraction of the whole vocabulary that is kept.", "number"),
    Column("vocabulary", "Vocabulary", "Number of tokens that are kept.", "number"),
    Column("tokens", "Wordpieces", "Of the held-out lines.", "number"),
    Column(
        "growth",
        "Growth",
        "Additional wordpieces of held-out lines; ± standard deviation over seeds.",
        "percent",
        beside="sd",
    ),
    Column(
        "growth_in_sample",
        "In sample",
        "Growth of the lines that the tokens were chosen by.",
        "percent",
    ),
)


@dataclass(frozen=True, eq=False)
class Reducer:
    """Measures many reductions of a vocabulary on the word counts of a text; caches the rankings.

    counts: of the lines that tokens are chosen by. held_out: of the lines on which the growth is
    measured; {} to measure it in sample.
    """

    vocabulary: Vocabulary
    counts: Mapping[str, int]
    held_out: Mapping[str, int] = field(default_factory=dict)
    _rankings: dict[tuple[str, int, bool], Ints] = field(default_factory=dict)

    @cached_property
    def in_sample(self) -> "MeasuredText":
        """The lines that tokens are chosen by, tokenized."""
        return MeasuredText.tokenize(self.vocabulary, self.counts)

    @cached_property
    def measured(self) -> "MeasuredText":
        """The lines on which the growth is measured, tokenized."""
        if not self.held_out:
            return self.in_sample
        return MeasuredText.tokenize(self.vocabulary, self.held_out)

    @property
    def table(self) -> WordTable:
        """The words of the lines that tokens are chosen by."""
        return self.in_sample.table

    @property
    def tokens(self) -> int:
        """Number of wordpieces of the measured lines with the whole vocabulary."""
        return self.measured.tokens

    @cached_property
    def token_counts(self) -> Ints:
        """Occurrences of each token in the whole text, by id, (V,) int64; [UNK] included."""
        counts = self.in_sample.count_tokens(self.vocabulary)
        if self.held_out:
            counts = counts + self.measured.count_tokens(self.vocabulary)
        return counts

    def rank(self, settings: ReductionSettings) -> Ints:
        """Return the ids that may be removed, (n,) int64, in the order of removal."""
        seed = settings.seed if REDUCTIONS[settings.heuristic].seeded else 0
        key = (settings.heuristic, seed, settings.count_marks)
        if key not in self._rankings:
            self._rankings[key] = rank_removable(self.vocabulary, settings, self.table)
        return self._rankings[key]

    def build_removed_mask(self, settings: ReductionSettings) -> Mask:
        """Return a mask over ids, (V,) bool, that is True for the removed tokens."""
        mask = np.zeros(len(self.vocabulary), dtype=np.bool_)
        if n_removed := count_removed(self.vocabulary, settings):
            mask[self.rank(settings)[:n_removed]] = True
        return mask

    def measure_growth(self, settings: ReductionSettings) -> Growth:
        """Measure how much longer a reduction makes the text."""
        removed = self.build_removed_mask(settings)
        tokens, unknown = self.measured.measure(removed)
        growth = in_sample = tokens / max(self.tokens, 1) - 1
        if self.held_out:
            in_sample = self.in_sample.measure(removed)[0] / max(self.in_sample.tokens, 1) - 1
        return Growth(
            settings.heuristic,
            settings.keep,
            len(self.vocabulary) - int(removed.sum()),
            tokens,
            growth,
            in_sample,
            unknown,
        )


@dataclass(frozen=True, eq=False)
class MeasuredText:
    """The words of a text, and their tokenization with the whole vocabulary."""

    table: WordTable
    tokenization: Tokenization

    @classmethod
    def tokenize(cls, vocabulary: Vocabulary, counts: Mapping[str, int]) -> "MeasuredText":
        """Tokenize the words of a text."""
        table = vocabulary.build_word_table(counts)
        return cls(table, table.tokenize())

    @cached_property
    def tokens(self) -> int:
        """Number of wordpieces with the whole vocabulary, without special tokens."""
        return round(float(self.table.counts @ self.tokenization.pieces))

    def measure(self, removed: Mask) -> tuple[int, int]:
        """Return the numbers of wordpieces without these tokens and of words that get unknown."""
        tokenization = self.table.tokenize(removed)
        newly_unknown = tokenization.unknown & ~self.tokenization.unknown
        tokens = float(self.table.counts @ tokenization.pieces)
        return round(tokens), round(float(self.table.counts @ newly_unknown))

    def count_tokens(self, vocabulary: Vocabulary) -> Ints:
        """Count the occurrences of each token, by id, (V,) int64; [UNK] included."""
        counts = self.table.count_occurrences(self.tokenization).astype(np.int64)
        unknown_words = int(self.table.counts[self.tokenization.unknown].sum())
        if unknown_words:
            counts[vocabulary.ids[vocabulary.unknown]] += unknown_words
        return counts


@dataclass(frozen=True, eq=False)
class Study:
    """Growth for each heuristic and each fraction kept.

    tokens: wordpieces of the measured lines with the whole vocabulary.
    left_out: fractions to which the vocabulary cannot be reduced, with the reason.
    """

    tokens: int
    rows: tuple[Growth, ...]
    left_out: Mapping[float, str] = field(default_factory=dict)

    def build_table(self, *notes: str) -> Table:
        """Return the growths as a table, with these notes and those on what was not measured."""
        unknown = tuple(
            f"{one.unknown:,} words become unknown under {one.heuristic}, {one.keep:g}."
            for one in self.rows
            if one.unknown
        )
        left_out = tuple(f"Left out: {why}" for why in self.left_out.values())
        title = f"{self.tokens:,} wordpieces with the whole vocabulary, special tokens not counted."
        return Table(title, GROWTHS, self.rows, (*notes, *unknown, *left_out))


def study(
    reducer: Reducer,
    heuristics: Sequence[str],
    keeps: Sequence[float] = KEEPS,
    seeds: Sequence[int] = SEEDS,
    count_marks: bool = False,
    progress: Progress = silent,
) -> Study:
    """Measure the growth for every heuristic and every fraction kept.

    `random` is measured once for each seed; the result is the mean and the standard deviation
    (n − 1). Fractions that are too small for the protected tokens are left out with a reason.
    Raises InputError if no fraction is left.
    """
    if not (heuristics and keeps and seeds):
        raise InputError(
            "A study needs a heuristic, a fraction of the vocabulary to keep, and a seed.",
            code="empty-study",
        )
    # 1. Leave out the fractions to which the vocabulary cannot be reduced.
    possible = list[float]()
    errors = dict[float, InputError]()
    for keep in dict.fromkeys(keeps):
        try:
            settings = ReductionSettings("last", keep, count_marks=count_marks)
            count_removed(reducer.vocabulary, settings)
            possible.append(keep)
        except InputError as error:
            errors[keep] = error
    if not possible:
        raise next(iter(errors.values()))
    left_out = {keep: f"{error.problem} {error.remedy}" for keep, error in errors.items()}
    # 2. Measure each heuristic with each of the others.
    cells = [(heuristic, keep) for heuristic in dict.fromkeys(heuristics) for keep in possible]
    rows = []
    for i, (heuristic, keep) in enumerate(cells):
        progress(i / len(cells), f"{heuristic}, {keep:g}")
        settings = ReductionSettings(heuristic, keep, seeds[0], count_marks)
        rows.append(measure_growth_over_seeds(reducer, settings, seeds))
    return Study(reducer.tokens, tuple(rows), left_out)


def measure_growth_over_seeds(
    reducer: Reducer, settings: ReductionSettings, seeds: Sequence[int]
) -> Growth:
    """Measure the growth; for a random heuristic, the mean and standard deviation over the seeds.

    The standard deviation is None for a single seed.
    """
    if not REDUCTIONS[settings.heuristic].seeded:
        return reducer.measure_growth(settings)
    runs = [reducer.measure_growth(replace(settings, seed=seed)) for seed in dict.fromkeys(seeds)]
    growths = [run.growth for run in runs]
    return Growth(
        settings.heuristic,
        settings.keep,
        runs[0].vocabulary,
        round(float(np.mean([run.tokens for run in runs]))),
        mean(growths),
        mean(run.growth_in_sample for run in runs),
        max(run.unknown for run in runs),
        stdev(growths) if len(runs) > 1 else None,
    )


def measure_growth_curves(
    reducer: Reducer, seeds: Sequence[int] = SEEDS
) -> dict[str, tuple[Growth, ...]]:
    """Measure the growth under every heuristic at SIZES sizes, down to the smallest possible."""
    least = min(1.0, np.ceil(1000 * compute_min_keep_fraction(reducer.vocabulary)) / 1000)
    keeps = np.linspace(1.0, least, SIZES).tolist()
    return {
        name: tuple(
            measure_growth_over_seeds(reducer, ReductionSettings(name, keep), seeds)
            for keep in keeps
        )
        for name in REDUCTIONS
    }


def compute_parameter_fraction(parameters: int, rows: int, width: int, keep: float) -> float:
    """Compute the fraction of a model's parameters that a reduction removes if the output layer is
    tied to the embeddings.

    rows, width: shape of the embedding matrix; keep: fraction of its rows to keep.
    """
    return (rows - round(keep * rows)) * width / parameters


@dataclass(frozen=True)
class ExtensionSize:
    """The held-out lines of a text, tokenized with the first `size` new tokens.

    tokens: wordpieces of the lines; fertility: wordpieces per word.
    new_share: fraction of the wordpieces that are new tokens.
    seldom: number of new tokens that occur less than RARE times in the whole text.
    shorter: fraction of the original wordpieces that the text needs less.
    in_sample, shorter_in_sample: the same for the lines that the tokens were chosen by.
    """

    size: int
    tokens: int
    fertility: float
    new_share: float
    seldom: int
    shorter: float
    in_sample: int
    shorter_in_sample: float


EXTENSION_SIZES = (
    Column("size", "Tokens added", "The first tokens of the plan.", "number"),
    Column("tokens", "Wordpieces", "Of the held-out lines.", "number"),
    Column("fertility", "Per word", "Wordpieces per word.", "number"),
    Column("shorter", "Text shorter by", "Fraction of the original wordpieces.", "percent"),
    Column(
        "shorter_in_sample",
        "In sample",
        "The same for the lines that the tokens were chosen by.",
        "percent",
    ),
    Column("new_share", "Added tokens", "Fraction of the wordpieces that were added.", "percent"),
    Column(
        "seldom",
        f"Under {RARE} times",
        f"Added tokens that occur less than {RARE} times in the whole text.",
        "number",
    ),
)


@dataclass(frozen=True, eq=False)
class ExtensionCurve:
    """A text tokenized with extension vocabularies of several sizes.

    sizes: smallest first; size 0 is the original vocabulary.
    counts: (new tokens,) int64, occurrences of each new token in the whole text, in the order of
        the plan.
    words: running words of the held-out lines.
    """

    sizes: tuple[ExtensionSize, ...]
    counts: Ints
    words: int

    @property
    def ranked(self) -> Ints:
        """Occurrences of the new tokens, (new tokens,) int64, most frequent first."""
        return np.sort(self.counts)[::-1]


def measure_extension_curve(
    plan: VocabularyPlan,
    counts: Mapping[str, int],
    sizes: Sequence[int] = (),
    progress: Progress = silent,
    held_out: Mapping[str, int] | None = None,
) -> ExtensionCurve:
    """Tokenize the words of a text with prefixes of a plan that appends tokens.

    counts: of the lines that the tokens were chosen by. held_out: of those that are measured; by
    default the same. sizes: numbers of new tokens; by default all, a half, a quarter, and so on.
    Raises InputError for a plan that removes or moves tokens, and for a size above the plan's.
    """
    total = len(plan.added)
    _check_sizes(plan, sizes)
    # 1. List the sizes, smallest first; 0 is the original vocabulary.
    wanted = sorted({0, total, *(sizes or (total >> half for half in range(STEPS)))})
    texts = [plan.after.build_word_table(one) for one in filter(None, (counts, held_out))]
    n_words = sum((held_out or counts).values())
    curve: list[ExtensionSize] = []
    whole = list[int]()  # wordpieces of each text by the original vocabulary
    # 2. Tokenize with each prefix of the new tokens.
    for done, size in enumerate(wanted):
        tokens, new = _tokenize_with_first(plan, texts, size)
        occurrences = np.sum(new, axis=0)  # finally of all tokens of the plan
        whole = whole or tokens
        curve.append(
            ExtensionSize(
                size,
                tokens[-1],
                fertility=tokens[-1] / max(n_words, 1),
                new_share=float(new[-1].sum()) / max(tokens[-1], 1),
                seldom=int((occurrences[:size] < RARE).sum()),
                shorter=1 - tokens[-1] / max(whole[-1], 1),
                in_sample=tokens[0],
                shorter_in_sample=1 - tokens[0] / max(whole[0], 1),
            )
        )
        progress((done + 1) / len(wanted), f"{size:,} of {total:,} tokens")
    return ExtensionCurve(tuple(curve), occurrences, n_words)


def _check_sizes(plan: VocabularyPlan, sizes: Sequence[int]) -> None:
    total = len(plan.added)
    if plan.order is not None or not total:
        raise InputError(
            "The sizes of an extension can be compared only for a plan that appends new tokens.",
            "Choose a recipe such as exbert-s3.",
            code="not-an-extension",
        )
    if sizes and not 0 <= min(sizes) <= max(sizes) <= total:
        raise InputError(
            f"Sizes range from 0 to the {total:,} tokens of the plan, got {min(sizes)} to"
            f" {max(sizes)}.",
            code="out-of-range",
        )


def _tokenize_with_first(
    plan: VocabularyPlan, texts: Sequence[WordTable], size: int
) -> tuple[list[int], list[Ints]]:
    """Tokenize texts with the first new tokens of a plan: all later ones are removed.

    Returns the tokens of each text, and how often it has each new token, (new tokens,) int64.
    """
    n_old = len(plan.base)
    removed = np.zeros(n_old + len(plan.added), dtype=np.bool_)
    removed[n_old + size :] = True
    tokens = list[int]()
    new = list[Ints]()
    for table in texts:
        tokenization = table.tokenize(removed)
        tokens.append(round(float(table.counts @ tokenization.pieces)))
        new.append(table.count_occurrences(tokenization).astype(np.int64)[n_old:])
    return tokens, new
