"""Measure how much longer a text becomes under a reduced vocabulary: exact, from its distinct words
and their counts.

These are the figures of Fast 2023, table 6.10 (more tokens) and figure 3.1 (fewer parameters).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.families.word_table import Ints, Mask, Tokenization, WordTable
from vocadapt.vocabulary.plan.reduction import (
    REDUCTIONS,
    ReductionSettings,
    count_removed,
    rank_removable,
)

KEEPS = (0.75, 0.5, 0.25)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Growth:
    """Length of a text under a reduced vocabulary.

    vocabulary: tokens left in the vocabulary.
    tokens: wordpieces of the text; the mean over seeds if the heuristic is random.
    growth: additional wordpieces, as a fraction of those under the whole vocabulary.
    unknown: running words that became [UNK] by the reduction.
    sd: standard deviation of the growth over seeds; None if the heuristic is not random.
    """

    heuristic: str
    keep: float
    vocabulary: int
    tokens: int
    growth: float
    unknown: int = 0
    sd: float | None = None


@dataclass(frozen=True, eq=False)
class Reducer:
    """A vocabulary and the word counts of a text, to measure many reductions; rankings are
    cached.
    """

    vocabulary: Vocabulary
    counts: Mapping[str, int]
    _rankings: dict[tuple[str, int, bool], Ints] = field(default_factory=dict)

    @cached_property
    def table(self) -> WordTable:
        """The words of the text, prepared for tokenization."""
        return self.vocabulary.build_word_table(self.counts)

    @cached_property
    def tokenization(self) -> Tokenization:
        """The tokenization under the whole vocabulary."""
        return self.table.tokenize()

    @cached_property
    def tokens(self) -> int:
        """Number of wordpieces of the text under the whole vocabulary, without special tokens."""
        return round(float(self.table.counts @ self.tokenization.pieces))

    @cached_property
    def token_counts(self) -> Ints:
        """Occurrences of each token in the text, by id, (V,) int64; [UNK] included."""
        counts = self.table.count_occurrences(self.tokenization).astype(np.int64)
        unknown_words = int(self.table.counts[self.tokenization.unknown].sum())
        if unknown_words:
            counts[self.vocabulary.ids[self.vocabulary.unknown]] += unknown_words
        return counts

    def rank(self, settings: ReductionSettings) -> Ints:
        """Return the ids that may be removed, (n,) int64, in the order of removal."""
        seed = settings.seed if REDUCTIONS[settings.heuristic].seeded else 0
        key = (settings.heuristic, seed, settings.count_marks)
        if key not in self._rankings:
            self._rankings[key] = rank_removable(self.vocabulary, settings, self.table)
        return self._rankings[key]

    def removed_mask(self, settings: ReductionSettings) -> Mask:
        """Return a mask over ids, (V,) bool, that is True for the removed tokens."""
        mask = np.zeros(len(self.vocabulary), dtype=np.bool_)
        if n_removed := count_removed(self.vocabulary, settings):
            mask[self.rank(settings)[:n_removed]] = True
        return mask

    def measure_growth(self, settings: ReductionSettings) -> Growth:
        """Measure how much longer the text becomes by a reduction."""
        removed = self.removed_mask(settings)
        tokenization = self.table.tokenize(removed)
        tokens = round(float(self.table.counts @ tokenization.pieces))
        newly_unknown = tokenization.unknown & ~self.tokenization.unknown
        return Growth(
            settings.heuristic,
            settings.keep,
            len(self.vocabulary) - int(removed.sum()),
            tokens,
            tokens / max(self.tokens, 1) - 1,
            round(float(self.table.counts @ newly_unknown)),
        )


@dataclass(frozen=True, eq=False)
class Study:
    """Growth by heuristic and by fraction kept.

    tokens: wordpieces of the text under the whole vocabulary.
    left_out: fractions to which the vocabulary cannot be reduced, with the reason.
    """

    tokens: int
    rows: tuple[Growth, ...]
    left_out: Mapping[float, str] = field(default_factory=dict)


def study(
    reducer: Reducer,
    heuristics: Sequence[str],
    keeps: Sequence[float] = KEEPS,
    seeds: Sequence[int] = SEEDS,
    count_marks: bool = False,
    progress: Progress = silent,
) -> Study:
    """Measure the growth for every heuristic and every fraction kept.

    `random` is measured once for each seed, and given as mean and standard deviation (n − 1).
    Fractions that are too small for the protected tokens are left out with a reason; raises
    InputError if none is left.
    """
    if not (heuristics and keeps and seeds):
        raise InputError(
            "A study needs a heuristic, a fraction of the vocabulary to keep, and a seed."
        )
    possible, left_out = _split_possible(reducer.vocabulary, keeps, count_marks)
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
    """Measure the growth; for a random heuristic the mean over seeds, with its standard deviation if there
    are two or more.
    """
    if not REDUCTIONS[settings.heuristic].seeded:
        return reducer.measure_growth(settings)
    runs = [reducer.measure_growth(replace(settings, seed=seed)) for seed in dict.fromkeys(seeds)]
    growths = np.array([run.growth for run in runs])
    return Growth(
        settings.heuristic,
        settings.keep,
        runs[0].vocabulary,
        round(float(np.mean([run.tokens for run in runs]))),
        float(growths.mean()),
        max(run.unknown for run in runs),
        float(growths.std(ddof=1)) if len(runs) > 1 else None,
    )


def parameter_fraction(parameters: int, rows: int, width: int, keep: float) -> float:
    """Return the fraction of a model's parameters that a reduction removes, if the output layer
    shares the embeddings.

    rows, width: shape of the embedding matrix; keep: fraction of its rows that is kept.
    """
    return (rows - round(keep * rows)) * width / parameters


def _split_possible(
    vocabulary: Vocabulary, keeps: Sequence[float], count_marks: bool
) -> tuple[list[float], dict[float, str]]:
    """Return the fractions that can be kept, and for the others the reason why they cannot.

    Raises InputError if none can, and for a number that is not a fraction.
    """
    possible, errors = [], dict[float, InputError]()
    for keep in dict.fromkeys(keeps):
        settings = ReductionSettings("last", keep, count_marks=count_marks)
        try:
            count_removed(vocabulary, settings)
            possible.append(keep)
        except InputError as error:
            errors[keep] = error
    if not possible:
        raise next(iter(errors.values()))
    return possible, {keep: f"{error.problem} {error.remedy}" for keep, error in errors.items()}
