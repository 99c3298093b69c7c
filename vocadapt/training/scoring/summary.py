"""Scores of several runs put together: mean and spread over seeds, runs that collapsed, and means
over groups of tasks.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

MOST_CONSTANTS = 20  # sets of labels tried as the one answer to everything


@dataclass(frozen=True)
class SeedSummary:
    """One figure over several seeds: the mean and standard deviation (n − 1) of all of them, and of
    those that learned.

    A deviation of fewer than two values is None. `collapsed` counts the runs that never left the
    majority baseline: `mean` holds them, `mean_learned` does not, and both are shown wherever they
    differ.
    """

    values: tuple[float, ...]
    mean: float
    sd: float | None
    collapsed: int
    mean_learned: float | None
    sd_learned: float | None


def summarize_seeds(values: Sequence[float], collapsed: Sequence[bool] = ()) -> SeedSummary:
    """Sum up one figure of several runs; `collapsed` says of each run whether it is one."""
    if not values:
        raise ValueError("no value to sum up")
    flags = collapsed or [False] * len(values)
    learned = [value for value, was in zip(values, flags, strict=True) if not was]
    mean, sd = _mean_sd(values)
    return SeedSummary(tuple(values), mean or 0.0, sd, sum(flags), *_mean_sd(learned))


@dataclass(frozen=True)
class Baseline:
    """What answering without looking scores: the commonest answer, and every constant answer that
    was tried.
    """

    majority: float
    constants: tuple[float, ...]


def is_collapsed(dev_scores: Sequence[float], baseline: Baseline, tolerance: float = 1e-6) -> bool:
    """Whether a run's dev score never left the baseline: never above the majority's, or only where
    a constant answer stands.

    False for a run without dev scores.
    """

    def left(score: float) -> bool:
        return score > baseline.majority + tolerance and all(
            abs(score - held) > tolerance for held in baseline.constants
        )

    return bool(dev_scores) and not any(map(left, dev_scores))


def constant_answers(kind: str, gold: Sequence[Any]) -> list[Sequence[Any]]:
    """Predictions that do not look at the text, the commonest first."""
    if kind == "ner":
        return [[("O",) * len(tags) for tags in gold]]
    if kind == "qa":
        return [[""] * len(gold)]
    sets = Counter(frozenset(labels) for labels in gold).most_common(MOST_CONSTANTS)
    guesses = dict.fromkeys(
        [guess for guess, _ in sets] + ([frozenset()] if kind == "multilabel" else [])
    )
    return [[guess] * len(gold) for guess in guesses]


def group_means(
    scores: Mapping[str, float],
    groups: Mapping[str, Collection[str]],
    collapsed: Mapping[str, int] | None = None,
) -> dict[str, dict[str, float | int | None]]:
    """The mean over the tasks of each group, how many of its tasks have a score, and of how many;
    `all` comes last.

    `groups` is group → names of its tasks; a task without a score is left out of the mean and
    counted. `collapsed` is task → collapsed runs: the mean holds them, and how many they are stands
    beside it.
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
    mean = sum(values) / len(values)
    spread = (
        sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        if len(values) > 1
        else None
    )
    return mean, spread
