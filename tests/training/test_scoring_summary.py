"""Summaries of several runs: seeds, collapsed runs, and groups of tasks."""

import pytest

from vocadapt.training.examples.examples import Answer, Question, Sentence, Split, Text
from vocadapt.training.scoring.summary import Baseline, is_collapsed, summarize_seeds
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
