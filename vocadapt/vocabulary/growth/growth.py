"""How much longer a text becomes under a reduced vocabulary: exact, from its distinct words and
their counts.

Table 6.10 of the thesis on low-layer information integration (2023), and its figure 3.1: what the
model gets smaller by.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.vocabulary.families.wordpiece import Vocabulary
from vocadapt.vocabulary.growth.retokenization import Cut, Ints, Mask, WordTable, word_table
from vocadapt.vocabulary.overlap import length_of
from vocadapt.vocabulary.plan.reduction import ReductionSettings, leaving, ranking

KEEPS = (0.75, 0.5, 0.25)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Growth:
    """A text under a reduced vocabulary: tokens left in the vocabulary, wordpieces of the text, and
    how many more they are.

    growth: share of the uncut total. unknown: running words that became [UNK] and were none before.
    sd: of the growth over seeds, where the heuristic draws; `tokens` is then the mean.
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
    """A vocabulary and the words of a text, ready to be reduced again and again: each order of
    leaving is found once.
    """

    vocabulary: Vocabulary
    counts: Mapping[str, int]
    _rankings: dict[tuple[str, int, bool], Ints] = field(default_factory=dict)

    @cached_property
    def table(self) -> WordTable:
        """The words, laid out for cutting."""
        return word_table(self.vocabulary, self.counts)

    @cached_property
    def cut(self) -> Cut:
        """The words, as the whole vocabulary cuts them."""
        return self.table.cut()

    @cached_property
    def tokens(self) -> int:
        """Wordpieces of the text under the whole vocabulary, without special tokens."""
        return round(float(self.table.counts @ self.cut.pieces))

    @cached_property
    def token_counts(self) -> Ints:
        """How often each token stands in the text, by id; [UNK] under its own."""
        counts = self.table.token_counts(self.cut).astype(np.int64)
        counts[self.vocabulary.ids[self.vocabulary.unknown]] += int(
            self.table.counts[self.cut.unknown].sum()
        )
        return counts

    @cached_property
    def lengths(self) -> Ints:
        """Characters of each token, without its mark, by id."""
        return np.array(
            [length_of(token, self.vocabulary) for token in self.vocabulary.tokens], dtype=np.int64
        )

    def ranking(self, settings: ReductionSettings) -> Ints:
        """The ids that may leave, first to leave first."""
        key = (
            settings.heuristic,
            settings.seed if settings.heuristic == "random" else 0,
            settings.count_marks,
        )
        if key not in self._rankings:
            self._rankings[key] = ranking(self.vocabulary, settings, self.table)
        return self._rankings[key]

    def gone(self, settings: ReductionSettings) -> Mask:
        """The tokens that leave, as a mask over ids (V,)."""
        mask = np.zeros(len(self.vocabulary), dtype=np.bool_)
        if going := leaving(self.vocabulary, settings):
            mask[self.ranking(settings)[:going]] = True
        return mask

    def growth(self, settings: ReductionSettings) -> Growth:
        """How much longer the text becomes."""
        gone = self.gone(settings)
        cut = self.table.cut(gone)
        tokens = round(float(self.table.counts @ cut.pieces))
        unknown = round(float(self.table.counts @ (cut.unknown & ~self.cut.unknown)))
        kept = len(self.vocabulary) - int(gone.sum())
        return Growth(
            settings.heuristic,
            settings.keep,
            kept,
            tokens,
            tokens / max(self.tokens, 1) - 1,
            unknown,
        )


@dataclass(frozen=True, eq=False)
class Study:
    """Growth for every heuristic and share: `tokens` uncut, and the shares that a vocabulary cannot
    be reduced to, and why.
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
    """Reduce by every heuristic to every share; `random` once for each seed, as mean and standard
    deviation (n - 1).

    A share below what must stay is left out and said; raises InputError where that leaves none.
    """
    if not (heuristics and keeps and seeds):
        raise InputError("A study needs a heuristic, a share to keep, and a seed.")
    possible, left_out = _possible(reducer.vocabulary, keeps, count_marks)
    cells = [(heuristic, keep) for heuristic in dict.fromkeys(heuristics) for keep in possible]
    rows = []
    for i, (heuristic, keep) in enumerate(cells):
        progress(i / len(cells), f"{heuristic}, {keep:g}")
        rows.append(
            growth_over_seeds(
                reducer, ReductionSettings(heuristic, keep, seeds[0], count_marks), seeds
            )
        )
    return Study(reducer.tokens, tuple(rows), left_out)


def growth_over_seeds(
    reducer: Reducer, settings: ReductionSettings, seeds: Sequence[int]
) -> Growth:
    """Growth, for `random` over several seeds: the mean, and its standard deviation where there are
    two or more.
    """
    if settings.heuristic != "random":
        return reducer.growth(settings)
    drawn = [
        reducer.growth(
            ReductionSettings(settings.heuristic, settings.keep, seed, settings.count_marks)
        )
        for seed in dict.fromkeys(seeds)
    ]
    growths = np.array([one.growth for one in drawn])
    return Growth(
        settings.heuristic,
        settings.keep,
        drawn[0].vocabulary,
        round(float(np.mean([one.tokens for one in drawn]))),
        float(growths.mean()),
        max(one.unknown for one in drawn),
        float(growths.std(ddof=1)) if len(drawn) > 1 else None,
    )


def parameter_share(parameters: int, rows: int, width: int, keep: float) -> float:
    """By what share of its parameters a model with tied rows gets smaller when `keep` of its
    wordpiece rows stay.
    """
    return (rows - round(keep * rows)) * width / parameters


def _possible(
    vocabulary: Vocabulary, keeps: Sequence[float], count_marks: bool
) -> tuple[list[float], dict[float, str]]:
    """The shares that can be kept, and why others cannot; raises InputError where none can, or one
    is no share.
    """
    possible, why = [], dict[float, InputError]()
    for keep in dict.fromkeys(keeps):
        settings = ReductionSettings("last", keep, count_marks=count_marks)
        try:
            leaving(vocabulary, settings)
            possible.append(keep)
        except InputError as error:
            why[keep] = error
    if not possible:
        raise next(iter(why.values()))
    return possible, {keep: f"{error.problem} {error.remedy}" for keep, error in why.items()}
