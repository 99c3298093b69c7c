"""The comparison over seeds and units: known answers, invariants, and how often it errs."""

from dataclasses import replace

import numpy as np
import pytest

from vocadapt.analysis.comparison import (
    BETTER,
    COLLAPSED,
    EQUAL,
    MIN_SEEDS,
    NO_DIFFERENCE,
    UNTESTED,
    WORSE,
    Difference,
    compare_over_seeds,
    correct_by_holm,
    correct_family,
    judge,
)
from vocadapt.training.scoring.counts import Tally
from vocadapt.training.scoring.uncertainty import Draws
from vocadapt.training.tasks.kinds import TASK_KINDS

ACCURACY = TASK_KINDS["classification"].scorer("accuracy")
SIZES = {"seeds": 5, "shared": 5, "units": 100, "rounds": 1000, "seed": 0}
FOUND = Difference(value=0.1, low=0.05, high=0.15, detectable=0.07, p=0.01, p_units=0.02, **SIZES)


def tally(right) -> Tally:
    """A tally of examples that are right or wrong."""
    gold = [("a",)] * len(right)
    return ACCURACY.tally(gold, [("a",) if one else ("b",) for one in right])


def make_runs(rates, units=60, seed=0) -> dict[int, Tally]:
    """Seed → a tally in which each unit is right with the rate of the seed."""
    random = np.random.default_rng(seed)
    return {place: tally(random.random(units) < rate) for place, rate in enumerate(rates, start=1)}


def test_the_value_is_the_difference_of_the_means():
    base = {seed: tally([1] * 5 + [0] * 5) for seed in range(5)}
    ours = {seed: tally([1] * (5 + seed) + [0] * (5 - seed)) for seed in range(5)}
    found = compare_over_seeds(base, ours, ACCURACY)
    assert found.value == pytest.approx(0.2)  # means .5 and .7
    assert (found.seeds, found.shared, found.units) == (5, 5, 10)
    assert found.low < 0.2 < found.high and found.detectable > 0


def test_the_two_sides_are_symmetric():
    one, other = make_runs([0.6] * 5), make_runs([0.75] * 5, seed=1)
    found, mirrored = (
        compare_over_seeds(one, other, ACCURACY),
        compare_over_seeds(other, one, ACCURACY),
    )
    assert mirrored.value == pytest.approx(-found.value)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low), abs=1e-12)
    assert mirrored.p == found.p and mirrored.detectable == pytest.approx(found.detectable)


def test_equal_runs_do_not_differ():
    runs = make_runs([0.5, 0.6, 0.7, 0.8, 0.9])
    found = compare_over_seeds(runs, runs, ACCURACY)
    assert (found.value, found.low, found.high, found.detectable, found.p) == (0, 0, 0, 0, 1)
    assert judge(found) == EQUAL


def test_shared_seeds_are_compared_as_pairs():
    """Seeds of very different difficulty, and a small gain on each."""
    right = [[1] * n + [0] * (100 - n) for n in (20, 40, 60, 80, 90)]
    base = {seed: tally(own) for seed, own in enumerate(right)}
    ours = {seed: tally([1] * 5 + own[:-5]) for seed, own in enumerate(right)}
    paired = compare_over_seeds(base, ours, ACCURACY)
    apart = compare_over_seeds(base, {seed + 10: one for seed, one in ours.items()}, ACCURACY)
    assert paired.value == pytest.approx(apart.value) == pytest.approx(0.05)
    assert (paired.shared, apart.shared) == (5, 0)
    assert paired.high - paired.low < (apart.high - apart.low) / 3


def test_a_difference_between_seeds_widens_the_interval():
    """With one score for all units, the interval is that of the mean over seeds: ± 1.96 sd / √5."""
    ahead = np.array([0.00, 0.01, 0.02, 0.03, 0.04])
    base = {seed: tally([1] * 500 + [0] * 500) for seed in range(5)}
    ours = {
        seed: tally([1] * (500 + int(1000 * gain)) + [0] * (500 - int(1000 * gain)))
        for seed, gain in enumerate(ahead)
    }
    found = compare_over_seeds(base, ours, ACCURACY, draws=Draws(rounds=4000))
    over_units = np.sqrt(ahead.mean() * (1 - ahead.mean()) / 1000)  # right in ours alone
    expected = np.hypot(ahead.std(ddof=1) / np.sqrt(5), over_units)
    assert found.detectable / 2.8 == pytest.approx(expected, rel=0.1)


def test_below_five_seeds_only_the_units_are_tested():
    found = compare_over_seeds(make_runs([0.2] * 4), make_runs([0.9] * 9, seed=1), ACCURACY)
    assert (found.low, found.high, found.detectable, found.p) == (None,) * 4
    assert found.p_units < 0.01 and found.seeds == 4 < MIN_SEEDS
    assert judge(found) == UNTESTED and f"at least {MIN_SEEDS} seeds" in UNTESTED.explanation


@pytest.mark.parametrize("spread", [0.0, 0.08])
def test_models_that_do_not_differ_are_rarely_called_different(spread):
    """Both sides have the same expected score; seeds of each side vary on their own."""
    random = np.random.default_rng(3)
    called = 0
    for trial in range(120):
        base, ours = (
            make_runs(np.clip(random.normal(0.7, spread, 6), 0, 1), 80, 2 * trial + side)
            for side in (0, 1)
        )
        found = compare_over_seeds(base, ours, ACCURACY, draws=Draws(rounds=300))
        called += judge(found) in (BETTER, WORSE)
    assert called <= 14  # 6 are expected at 5 %


def test_verdicts():
    assert judge(FOUND) == BETTER and judge(replace(FOUND, value=-0.1)) == WORSE
    assert judge(FOUND, collapsed=True) == COLLAPSED
    assert judge(replace(FOUND, p=0.2)) == NO_DIFFERENCE
    assert judge(replace(FOUND, p=0.2, low=-0.004, high=0.009)) == EQUAL
    assert judge(replace(FOUND, p=0.2, low=-0.004, high=0.011)) == NO_DIFFERENCE
    assert judge(replace(FOUND, p=None)) == UNTESTED


def test_each_verdict_is_explained():
    assert all(
        one.explanation for one in (BETTER, WORSE, EQUAL, NO_DIFFERENCE, UNTESTED, COLLAPSED)
    )


def test_p_is_corrected_for_what_is_shown_together():
    family = [replace(FOUND, p=0.02), None, replace(FOUND, p=0.04), replace(FOUND, p=None)]
    first, nothing, second, untested = correct_family(family)
    assert (first.p, second.p, first.family) == (0.04, 0.04, 2)
    assert nothing is None and untested.p is None
    assert judge(first) == BETTER


def test_holm_by_hand():
    assert correct_by_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_by_holm([]) == [] and correct_by_holm([0.7, 0.9]) == [1.0, 1.0]
