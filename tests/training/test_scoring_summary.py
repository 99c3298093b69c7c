"""Summaries of several runs: seeds, collapsed runs, and groups of tasks."""

import pytest

from vocadapt.training.examples.examples import Answer, Question, Sentence, Split, Text
from vocadapt.training.scoring.summary import (
    Baseline,
    compute_group_means,
    is_collapsed,
    summarize_seeds,
)
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.predictions import score_baseline


def baseline_given(kind, gold, scorer=""):
    """The baseline of examples of which only the gold labels matter."""
    made = {
        "ner": lambda tags: Sentence(("w",) * len(tags), tuple(tags)),
        "qa": lambda answers: Question("", "", "", tuple(Answer(text, None) for text in answers)),
    }.get(kind, lambda labels: Text("", "", labels))
    chosen = TASK_KINDS[kind]
    return score_baseline(chosen, Split(tuple(map(made, gold))), chosen.scorer(scorer))


def test_mean_and_deviation_over_seeds_by_hand():
    found = summarize_seeds([0.8, 0.82, 0.84])
    assert (found.mean, found.sd) == pytest.approx((0.82, 0.02))
    assert (found.collapsed, found.mean_learned) == (0, pytest.approx(0.82))
    assert summarize_seeds([0.5]).sd is None
    with pytest.raises(ValueError, match="no value"):
        summarize_seeds([])


def test_a_collapsed_run_is_shown_beside_the_mean_without_it():
    found = summarize_seeds([0.9, 0.0, 0.8], [False, True, False])
    assert (found.mean, found.collapsed) == (pytest.approx(1.7 / 3), 1)
    assert (found.mean_learned, found.sd_learned) == pytest.approx((0.85, 0.05 * 2**0.5))
    every = summarize_seeds([0.0, 0.0], [True, True])
    assert (every.mean, every.mean_learned, every.sd_learned) == (0.0, None, None)


def test_collapsed_is_never_leaving_the_baseline():
    gold = [("0",)] * 6 + [("1",)] * 4
    baseline = baseline_given("relations", gold, "accuracy")
    assert baseline == Baseline(0.6, (0.6, 0.4))
    assert is_collapsed([0.6, 0.6, 0.6], baseline)
    assert is_collapsed([0.4, 0.6], baseline)
    assert is_collapsed([0.5], baseline)
    assert not is_collapsed([0.6, 0.7, 0.6], baseline)
    assert not is_collapsed([], baseline)


def test_always_answering_the_rarer_class_is_collapsed_too():
    """Binary F1 of always 0 is 0, of always 1 is .57: a run stuck at either has learned nothing."""
    baseline = baseline_given("relations", [("0",)] * 6 + [("1",)] * 4, "binary-f1")
    assert baseline.majority == 0.0 and max(baseline.constants) == pytest.approx(4 / 7)
    assert is_collapsed([4 / 7, 0.0], baseline) and not is_collapsed([0.55], baseline)


def test_baselines_of_the_other_kinds():
    assert baseline_given("ner", [["B", "O"], ["O"]]).majority == 0.0
    assert baseline_given(
        "ner", [["B", "O"], ["O", "O"]], "wordpiece-macro"
    ).majority == pytest.approx(2 * 0.75 / 1.75 / 2)
    assert baseline_given("qa", [("x",), ()]).majority == 0.5  # no answer is right once
    found = baseline_given("multilabel", [("a",), ("a",), ("b", "c"), ()])
    assert found.constants[0] == found.majority and len(found.constants) == 3


def test_means_of_groups_say_how_many_tasks_they_hold():
    groups = {"PubMed": ("a", "b"), "clinical": ("c",)}
    found = compute_group_means(
        {"a": 0.8, "b": 0.6, "other": 0.1}, groups, {"a": 1, "other": 2, "absent": 4}
    )
    assert found["PubMed"] == {"mean": pytest.approx(0.7), "scored": 2, "of": 2, "collapsed": 1}
    assert found["clinical"] == {"mean": None, "scored": 0, "of": 1, "collapsed": 0}
    assert found["all"] == {"mean": pytest.approx(0.5), "scored": 3, "of": 4, "collapsed": 3}


def test_equal_scores_deviate_by_zero_and_not_by_a_rounding_error():
    """.1 + .1 + .1 is not .3 in floating point, and the mean of three .1 not .1."""
    found = summarize_seeds([0.1, 0.1, 0.1])
    assert (found.mean, found.sd) == (0.1, 0.0)
    assert summarize_seeds([0.2, 0.4]).sd == pytest.approx(0.2 / 2**0.5)


def test_a_perfect_score_on_one_class_is_no_collapse():
    """The majority baseline is perfect, too, where all examples have the same label."""
    one_class = Baseline(1.0, (1.0,))
    assert not is_collapsed([1.0], one_class)
    assert is_collapsed([0.75], Baseline(0.75, (0.75, 0.25)))
