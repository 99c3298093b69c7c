"""Uncertainty of scores: bootstrap confidence intervals, and paired tests of two sets of
predictions for the same gold.

Units are resampled whole: sentences or, if they are the examples, documents. All random numbers
depend on the seed.

Example: three units have the counts (gold, predicted, right) 1 1 1, 1 1 0 and 1 0 0. A resample
draws units 0, 0 and 2, weights 2 0 1; its sums are 3 2 2, its F1 is 2 · 2 / (3 + 2) = .8. The
interval holds the middle 95 % of such values.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting
from vocadapt.training.scoring.counts import DEFAULT_RULES, Array, Rules, Scorer, Tally

BLOCK = 1 << 22  # weights in memory at a time
ROUNDING = 1e-12


@dataclass(frozen=True)
class Draws(CheckedSettings):
    """Settings of resampling."""

    rounds: int = setting(
        1000, "number of resamples for intervals and tests", high=1_000_000, label="Resamples"
    )
    level: float = setting(
        0.95,
        "confidence level of intervals",
        low=ABOVE_ZERO,
        high=1 - ABOVE_ZERO,
        label="Confidence level",
        flag="--confidence-level",
    )
    seed: int = setting(0, "random seed of the resamples", high=MAX_SEED)


DEFAULT_DRAWS = Draws()


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval; its limits are None for a single unit, of which all
    resamples are equal.
    """

    low: float | None
    high: float | None
    level: float

    def describe(self, format: Callable[[float], str]) -> str:
        """Return the limits, or that there are none: "95 % interval .401 to .512"."""
        if self.low is None or self.high is None:
            return "no interval: one test unit"
        return f"{100 * self.level:g} % interval {format(self.low)} to {format(self.high)}"


@dataclass(frozen=True)
class Comparison:
    """Predictions A and B for the same units: the difference B − A, its interval, and p-values.

    p_randomisation: of a two-sided approximate randomization test. p_mcnemar: of the exact McNemar
    test, only for accuracy and units of one example. better_share: fraction of the paired bootstrap
    resamples in which B scores higher than A.
    """

    scorer: str
    a: float
    b: float
    difference: float
    interval: Interval
    better_share: float
    p_randomisation: float
    p_mcnemar: float | None
    units: int
    rounds: int
    seed: int


def bootstrap(
    scorer: Scorer, tally: Tally, rules: Rules = DEFAULT_RULES, draws: Draws = DEFAULT_DRAWS
) -> Interval:
    """Return the confidence interval of the headline figure over units drawn with replacement."""
    return _interval(score_resamples(scorer, [tally], rules, draws)[0], draws, len(tally.rows))


def score_resamples(
    scorer: Scorer, tallies: Sequence[Tally], rules: Rules, draws: Draws
) -> list[Array]:
    """Return the headline figure of each tally of the same units on each resample of these,
    (rounds,) float64 each.
    """
    flat = [_flatten(tally.rows) for tally in tallies]
    # The resamples are drawn once: with many units that takes longer than to score them.
    blocks = [[weights @ own for own in flat] for weights in _draw_weights(len(flat[0]), draws)]
    scores = []
    for place, tally in enumerate(tallies):
        sums = np.concatenate([block[place] for block in blocks])
        shape = (len(sums), *tally.rows.shape[1:])
        scores.append(scorer.headlines(sums.reshape(shape), tally.labels, rules))
    return scores


def _flatten(rows: Array) -> Array:
    """Return the counts of each unit, (units, labels, counts), as one row: (units, labels ·
    counts).

    A task may have no labels, so numpy cannot infer the width.
    """
    return rows.reshape(len(rows), math.prod(rows.shape[1:]))


def compare(
    scorer: Scorer,
    gold: Sequence[Any],
    a: Sequence[Any],
    b: Sequence[Any],
    rules: Rules = DEFAULT_RULES,
    draws: Draws = DEFAULT_DRAWS,
) -> Comparison:
    """Compare two sets of predictions unit by unit; raises InputError if they cannot be scored."""
    first = scorer.tally(gold, a, rules)
    second = scorer.tally(gold, b, rules)
    return compare_tallies(scorer, first, second, rules, draws)


def compare_tallies(
    scorer: Scorer, a: Tally, b: Tally, rules: Rules = DEFAULT_RULES, draws: Draws = DEFAULT_DRAWS
) -> Comparison:
    """Compare two tallies of the same units by a paired bootstrap and approximate randomization."""
    a, b = align_labels([a, b])

    def headlines(sums: Array) -> Array:
        return scorer.headlines(sums.reshape(len(sums), *a.rows.shape[1:]), a.labels, rules)

    rows_a = _flatten(a.rows)
    rows_b = _flatten(b.rows)
    sums_a = rows_a.sum(axis=0)
    sums_b = rows_b.sum(axis=0)
    score_a, score_b = headlines(np.stack([sums_a, sums_b])).tolist()
    difference = score_b - score_a

    # 1. Bootstrap: the difference over units drawn with replacement, the same for both.
    resampled = np.concatenate(
        [headlines(w @ rows_b) - headlines(w @ rows_a) for w in _draw_weights(len(rows_a), draws)]
    )

    # 2. Approximate randomization: the difference after exchanging predictions of random units.
    moves = _draw_moves(rows_b - rows_a, draws)
    exchanged = np.concatenate(
        [headlines(sums_b - move) - headlines(sums_a + move) for move in moves]
    )

    # 3. p-value: the fraction of exchanges with at least the observed difference, itself included.
    as_large = int((np.abs(exchanged) >= abs(difference) - ROUNDING).sum())
    return Comparison(
        scorer=scorer.name,
        a=score_a,
        b=score_b,
        difference=difference,
        interval=_interval(resampled, draws, len(rows_a)),
        better_share=float((resampled > 0).mean()),
        p_randomisation=(as_large + 1) / (draws.rounds + 1),
        p_mcnemar=_mcnemar(scorer, a, b),
        units=len(rows_a),
        rounds=draws.rounds,
        seed=draws.seed,
    )


def average_tallies(tallies: Sequence[Tally]) -> Tally:
    """Average the counts of every unit over tallies of the same units, such as those of several
    seeds.
    """
    aligned = align_labels(tallies)
    return Tally(np.mean([tally.rows for tally in aligned], axis=0), aligned[0].labels)


def align_labels(tallies: Sequence[Tally]) -> list[Tally]:
    """Extend tallies to the labels of all; a label that one lacks counts 0."""
    labels = tuple(sorted({label for tally in tallies for label in tally.labels}))
    aligned = []
    for tally in tallies:
        rows = np.zeros((len(tally.rows), len(labels), tally.rows.shape[2]))
        rows[:, [labels.index(label) for label in tally.labels]] = tally.rows
        aligned.append(Tally(rows, labels))
    return aligned


def mcnemar_test(right_a: NDArray[Any], right_b: NDArray[Any]) -> float:
    """Exact two-sided McNemar test: among the units that only one side has right, is one side more
    frequent than by a fair coin?

    right_a, right_b: (units,), positive if right.
    """
    from scipy.stats import binomtest

    only_a = int(((right_a > 0) & (right_b <= 0)).sum())
    only_b = int(((right_b > 0) & (right_a <= 0)).sum())
    if only_a + only_b == 0:
        return 1.0
    return float(binomtest(only_a, only_a + only_b).pvalue)


def _mcnemar(scorer: Scorer, a: Tally, b: Tally) -> float | None:
    """Run the McNemar test if it is defined: for units that are right or wrong, so neither for
    documents nor for means over seeds.
    """
    if scorer.name != "accuracy" or (a.rows[:, 0, 1] != 1).any():
        return None
    if not all(np.isin(tally.rows[:, 0, 0], (0, 1)).all() for tally in (a, b)):
        return None
    return mcnemar_test(a.rows[:, 0, 0], b.rows[:, 0, 0])


def _blocks(units: int, draws: Draws) -> Iterator[int]:
    size = max(1, BLOCK // units)
    for start in range(0, draws.rounds, size):
        yield min(size, draws.rounds - start)


def _draw_weights(units: int, draws: Draws) -> Iterator[Array]:
    """Yield how often each unit was drawn, (rounds, units) float64, in blocks."""
    random = np.random.default_rng(draws.seed)
    for rounds in _blocks(units, draws):
        # Every round has its own range of numbers, so one bincount counts all rounds.
        drawn = random.integers(0, units, size=(rounds, units)) + np.arange(rounds)[:, None] * units
        yield (
            np.bincount(drawn.ravel(), minlength=rounds * units)
            .reshape(rounds, units)
            .astype(np.float64)
        )


def _draw_moves(difference: Array, draws: Draws) -> Iterator[Array]:
    """Yield the change of both systems' sums when each unit is exchanged with probability 1/2:
    (rounds, columns) float64.
    """
    random = np.random.default_rng(draws.seed + 1)
    for rounds in _blocks(len(difference), draws):
        yield random.integers(0, 2, size=(rounds, len(difference))).astype(np.float64) @ difference


def _interval(values: Array, draws: Draws, units: int) -> Interval:
    if units < 2:
        return Interval(None, None, draws.level)
    low, high = np.quantile(values, [(1 - draws.level) / 2, (1 + draws.level) / 2])
    return Interval(float(low), float(high), draws.level)
