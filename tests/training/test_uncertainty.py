"""Intervals and paired tests: known results, seeds, and properties that hold for any data."""

import random

import numpy as np
import pytest

from vocadapt.training.scoring.uncertainty import (
    Draws,
    align_labels,
    bootstrap,
    compare,
    compare_tallies,
)
from vocadapt.training.tasks.kinds import TASK_KINDS

ACCURACY = TASK_KINDS["nli"].scorer()
STRICT = TASK_KINDS["ner"].scorer()


def answers(right, of, shift=0):
    """`of` predictions for gold label x, `right` of which are right, beginning at `shift`."""
    return [("x",) if shift <= place < shift + right else ("y",) for place in range(of)]


GOLD = [("x",)] * 200


def test_the_interval_of_a_fraction_is_the_binomial_one():
    interval = bootstrap(ACCURACY, ACCURACY.tally(GOLD, answers(150, 200)), draws=Draws(4000))
    spread = 1.96 * (0.75 * 0.25 / 200) ** 0.5
    assert (interval.low, interval.high) == pytest.approx((0.75 - spread, 0.75 + spread), abs=0.012)


def test_draws_come_from_the_seed_alone():
    tally = ACCURACY.tally(GOLD, answers(150, 200))
    first = bootstrap(ACCURACY, tally, draws=Draws(200, seed=7))
    np.random.seed(99)  # noqa: NPY002 - a global seed must not matter
    random.seed(99)
    assert bootstrap(ACCURACY, tally, draws=Draws(200, seed=7)) == first
    assert bootstrap(ACCURACY, tally, draws=Draws(200, seed=8)) != first


def test_a_constant_score_has_an_interval_of_width_zero():
    interval = bootstrap(ACCURACY, ACCURACY.tally(GOLD, GOLD), draws=Draws(100))
    assert (interval.low, interval.high) == (1.0, 1.0)


def test_the_same_predictions_are_never_different():
    found = compare(ACCURACY, GOLD, answers(150, 200), answers(150, 200), draws=Draws(200))
    assert found.difference == 0.0
    assert found.p_randomisation == 1.0
    assert found.p_mcnemar == 1.0
    assert found.better_share == 0.0
    assert (found.interval.low, found.interval.high) == (0.0, 0.0)


def test_a_clear_difference_is_found_and_its_sign_kept():
    found = compare(ACCURACY, GOLD, answers(100, 200), answers(160, 200), draws=Draws(500))
    assert (found.a, found.b, found.difference) == pytest.approx((0.5, 0.8, 0.3))
    assert found.p_randomisation == pytest.approx(1 / 501) and found.better_share == 1.0
    assert found.interval.low > 0.2
    back = compare(ACCURACY, GOLD, answers(160, 200), answers(100, 200), draws=Draws(500))
    assert back.difference == pytest.approx(-0.3) and back.better_share == 0.0


def test_randomization_agrees_with_mcnemar_on_accuracy():
    gold = [("x",)] * 60
    found = compare(ACCURACY, gold, answers(40, 60), answers(40, 60, shift=12), draws=Draws(4000))
    assert found.difference == 0.0 and found.p_randomisation == found.p_mcnemar == 1.0
    found = compare(ACCURACY, gold, answers(36, 60), answers(40, 60, shift=2), draws=Draws(4000))
    assert found.p_mcnemar == pytest.approx(found.p_randomisation, abs=0.03)


def test_randomization_has_uniform_p_values_without_a_difference():
    """Two systems that err alike at random: about one in ten p values lies under .1."""
    draw = random.Random(0)
    gold = [("x",)] * 40
    small = 0
    for seed in range(120):
        a, b = ([("x",) if draw.random() < 0.7 else ("y",) for _ in gold] for _ in range(2))
        small += compare(ACCURACY, gold, a, b, draws=Draws(199, seed=seed)).p_randomisation <= 0.1
    assert small <= 22  # 12 expected; more than 22 of 120 has a chance below .003


def test_entities_are_compared_by_sentence_over_the_types_of_both():
    gold = [["B-X", "O"], ["B-X", "O"], ["O", "B-Y"]] * 10
    a, b = [["B-X", "O"], ["O", "O"], ["O", "B-Z"]] * 10, gold
    found = compare(STRICT, gold, a, b, draws=Draws(200))
    assert (found.a, found.b, found.units) == (pytest.approx(0.4 / 0.5 * 0.5), 1.0, 30)
    assert found.p_mcnemar is None and found.p_randomisation < 0.05
    first, second = align_labels([STRICT.tally(gold, a), STRICT.tally(gold, b)])
    assert first.labels == second.labels == ("X", "Y", "Z")
    assert compare_tallies(STRICT, first, second, draws=Draws(200)) == found


def test_a_single_unit_has_no_interval():
    """All resamples of one unit are equal, so their spread says nothing."""
    found = bootstrap(ACCURACY, ACCURACY.tally(GOLD[:1], answers(1, 1)))
    assert (found.low, found.high) == (None, None)
    assert "no interval" in found.describe("{:.3f}".format)
    compared = compare(ACCURACY, GOLD[:1], answers(1, 1), answers(0, 1))
    assert compared.difference == -1 and compared.interval.low is None
    two = bootstrap(ACCURACY, ACCURACY.tally(GOLD[:2], answers(1, 2)))
    assert (two.low, two.high) == (0, 1)


def test_a_task_without_any_entity_has_an_interval():
    scorer = TASK_KINDS["ner"].scorer("")
    gold = [["O", "O"], ["O"]]
    tally = scorer.tally(gold, gold)
    assert (bootstrap(scorer, tally).low, bootstrap(scorer, tally).high) == (0, 0)
    compared = compare_tallies(scorer, tally, tally)
    assert (compared.a, compared.b, compared.p_randomisation) == (0, 0, 1)
