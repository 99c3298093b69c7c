"""The fraction of a gap between two models that a third one covers."""

import math
from dataclasses import replace

import pytest

from vocadapt.published.comparison import Comparison
from vocadapt.published.coverage import (
    SeedScore,
    compute_coverage,
    compute_gaps,
    compute_mean_coverage,
    list_scores,
)
from vocadapt.published.reader import find_table


def test_a_fraction_without_the_noise_of_seeds_has_no_interval() -> None:
    found = compute_coverage(SeedScore(0.80), SeedScore(0.84), SeedScore(0.83))
    assert found.fraction == pytest.approx(0.75)
    assert (found.low, found.high) == (None, None)
    assert "no interval" in found.why


def test_the_interval_of_a_fraction() -> None:
    """By hand: t(.975, 7) = 2.364624, variance of each mean .002² / 8 = 5e-7, t² · 5e-7 =
    2.795723e-6; a = .0016 − 2 · that, b = .0012 − that, c = .0009 − 2 · that.
    """
    low, high, ours = (SeedScore(mean, 0.002, 8) for mean in (0.80, 0.84, 0.83))
    found = compute_coverage(low, high, ours)
    assert found.fraction == pytest.approx(0.75)
    noise = 2.795723e-6
    a, b, c = 0.0016 - 2 * noise, 0.0012 - noise, 0.0009 - 2 * noise
    root = math.sqrt(b * b - a * c)
    assert found.low == pytest.approx((b - root) / a, rel=1e-5)
    assert found.high == pytest.approx((b + root) / a, rel=1e-5)
    assert found.low < 0.75 < found.high
    assert found.why == ""


def test_without_noise_the_interval_is_a_point() -> None:
    found = compute_coverage(*(SeedScore(mean, 0.0, 4) for mean in (0.5, 1.0, 0.75)))
    assert (found.low, found.fraction, found.high) == (0.5, 0.5, 0.5)


def test_the_interval_covers_the_true_fraction_at_its_level() -> None:
    import numpy as np

    random = np.random.default_rng(5)
    held = rounds = 0
    for _ in range(400):
        seeds = [random.normal(mean, 0.004, 8) for mean in (0.80, 0.84, 0.82)]
        scores = [SeedScore(float(one.mean()), float(one.std(ddof=1)), 8) for one in seeds]
        found = compute_coverage(*scores)
        if found.low is not None:
            rounds += 1
            held += found.low <= 0.5 <= found.high
    assert rounds == 400
    assert 0.92 <= held / rounds <= 0.99


def test_a_gap_within_its_noise_has_no_fraction() -> None:
    low, high = SeedScore(0.80, 0.02, 3), SeedScore(0.81, 0.02, 3)
    found = compute_coverage(low, high, SeedScore(0.805, 0.02, 3))
    assert found.fraction is None
    assert found.why == "not defined: the gap is not larger than its noise"
    assert found.gap == pytest.approx(0.01)


@pytest.mark.parametrize("high", [0.80, 0.79])
def test_no_gap_no_fraction(high: float) -> None:
    found = compute_coverage(SeedScore(0.80), SeedScore(high), SeedScore(0.9))
    assert found.fraction is None
    assert found.why == "not defined: there is no gap"


def test_a_fraction_can_be_negative_or_above_one() -> None:
    low, high = SeedScore(0.80), SeedScore(0.84)
    assert compute_coverage(low, high, SeedScore(0.78)).fraction == pytest.approx(-0.5)
    assert compute_coverage(low, high, SeedScore(0.88)).fraction == pytest.approx(2.0)


def test_the_mean_of_the_fractions_is_not_the_fraction_of_the_means() -> None:
    low = {"a": SeedScore(0.0), "b": SeedScore(0.0), "c": SeedScore(0.5), "d": SeedScore(0.0)}
    high = {"a": SeedScore(1.0), "b": SeedScore(0.1), "c": SeedScore(0.5)}
    ours = {"a": SeedScore(0.1), "b": SeedScore(0.09), "c": SeedScore(0.6)}
    found = compute_mean_coverage(low, high, ours)
    assert found.fraction == pytest.approx((0.1 + 0.9) / 2)
    assert (found.n_defined, found.n_tasks) == (2, 3)
    assert found.tasks["c"].fraction is None
    assert compute_mean_coverage({}, {}, {}).fraction is None


def test_the_published_ends_of_the_gap() -> None:
    table = find_table("biobert-pytorch-ner")
    low, high = list_scores(table, "BERT, F1"), list_scores(table, "BioBERTv1.1, F1")
    assert low["LINNAEUS"].mean == pytest.approx(0.8346)
    assert len(low) == len(high) == 8
    full = compute_mean_coverage(low, high, high)
    assert full.fraction == pytest.approx(1.0)
    assert full.n_defined == 8
    gaps = {task: round(one.gap, 4) for task, one in full.tasks.items()}
    assert gaps["LINNAEUS"] == 0.0462
    assert gaps["JNLPBA"] == 0.0071
    assert "Mean (all)" not in list_scores(find_table("fast-6.2"), "BERT")


def test_the_gaps_of_a_table_are_computed_of_our_scores_with_their_noise() -> None:
    table = find_table("poerner-ner")
    assert compute_gaps(table) == {}  # none of its scores is at hand
    given = {
        "BERT, reproduction, F1": (80.0, 0.2),
        "BioBERTv1.0, reproduction, F1": (84.0, 0.2),
        "GreenBioBERT, F1": (82.0, 0.2),
    }
    compared = {
        ("NCBI-disease", column): Comparison(None, score, sd=sd, n=8)
        for column, (score, sd) in given.items()
    }
    compared["BC2GM", "GreenBioBERT, F1"] = Comparison(None, 82.0, sd=0.2, n=8)
    compared["LINNAEUS", "GreenBioBERT, F1"] = Comparison(None, None, why="not available")
    (found,) = compute_gaps(table, compared).values()
    assert found.fraction == pytest.approx(0.5) and (found.n_defined, found.n_tasks) == (1, 1)
    one = found.tasks["NCBI-disease"]
    assert one.low is not None and one.high is not None and 0.4 < one.low < 0.5 < one.high < 0.6
    # The same scores with more noise than gap.
    noisy = {place: replace(score, sd=4.0) for place, score in compared.items()}
    (found,) = compute_gaps(table, noisy).values()
    assert found.fraction is None and found.tasks["NCBI-disease"].why.endswith("than its noise")
