"""Summaries of several scores: mean and standard deviation over seeds, collapsed runs, and means
over groups of tasks.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import mean, stdev


@dataclass(frozen=True)
class SeedSummary:
    """One figure over several seeds: mean and standard deviation (n − 1) of all runs, and of those
    that did not collapse.

    The deviation of fewer than two values is None. collapsed: number of runs that never exceeded
    the majority baseline; `mean` includes them, `mean_learned` does not.
    """

    values: tuple[float, ...]
    mean: float
    sd: float | None
    collapsed: int
    mean_learned: float | None
    sd_learned: float | None


def summarize_seeds(values: Sequence[float], collapsed: Sequence[bool] = ()) -> SeedSummary:
    """Summarize one figure of several runs; `collapsed` tells for each run whether it collapsed."""
    if not values:
        raise ValueError("no value to sum up")
    flags = collapsed or [False] * len(values)
    learned = [value for value, was in zip(values, flags, strict=True) if not was]
    average, sd = _mean_sd(values)
    return SeedSummary(tuple(values), average or 0.0, sd, sum(flags), *_mean_sd(learned))


@dataclass(frozen=True)
class Baseline:
    """Scores of constant predictions: of the most frequent answer, and of every constant answer
    tried.
    """

    majority: float
    constants: tuple[float, ...]


def is_collapsed(dev_scores: Sequence[float], baseline: Baseline, tolerance: float = 1e-6) -> bool:
    """Whether no score of a run exceeds the majority baseline, other than by equaling a constant
    answer.

    dev_scores: after each epoch or, without a dev split, the score of training examples at the end.
    False for a run without scores, and where the baseline is perfect, as in a split of one class.
    """
    if baseline.majority >= 1 - tolerance:
        return False

    def left(score: float) -> bool:
        return score > baseline.majority + tolerance and all(
            abs(score - held) > tolerance for held in baseline.constants
        )

    return bool(dev_scores) and not any(map(left, dev_scores))


def compute_group_means(
    scores: Mapping[str, float],
    groups: Mapping[str, Collection[str]],
    collapsed: Mapping[str, int] | None = None,
) -> dict[str, dict[str, float | int | None]]:
    """Average scores over the tasks of each group, with the numbers of scored and of all tasks; the
    group `all` comes last.

    groups: group → names of its tasks; a task without a score is left out of the mean. collapsed:
    task → number of collapsed runs, which are included in the mean.
    """
    every = {name for names in groups.values() for name in names} | set(scores)
    summed: dict[str, dict[str, float | int | None]] = {}
    for group, names in {**groups, "all": every}.items():
        held = [name for name in names if name in scores]
        mean = sum(scores[name] for name in held) / len(held) if held else None
        runs = sum((collapsed or {}).get(name, 0) for name in held)
        summed[group] = {"mean": mean, "scored": len(held), "of": len(names), "collapsed": runs}
    return summed


def _mean_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    if len(values) == 1:
        return values[0], None
    if not all(map(isfinite, values)):
        return nan, nan
    # Exact sums: equal values deviate by 0, not by a rounding error.
    return mean(values), stdev(values)
