"""Pooled predictions: which tokenization was outvoted, and by what margin of logits."""

import numpy as np
import pytest

from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.errors.votes import find_vote
from vocadapt.training.examples.examples import Answer, Question, Sentence, Text
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.tokenizations import pool_logits
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.kinds.judgment import Unit

NO, FEVER = Unit("D", 0, 1, "no"), Unit("D", 1, 2, "fever")
SENTENCE = Sentence(("no", "fever"), ("O", "B-D"))
NER = Outputs(TASK_KINDS["ner"], ("O", "B-D", "I-D"))


def logits(base, adapted):
    both = {
        "base": [np.array(base, dtype=np.float32)],
        "adapted": [np.array(adapted, dtype=np.float32)],
    }
    return {tokenization: own[0] for tokenization, own in pool_logits(both).items()}


def test_the_base_tokenization_is_outvoted_if_the_adapted_one_has_the_larger_margin():
    rows = logits([[3, 0, 0], [1.7, 1.0, 0]], [[3, 0, 0], [0, 2.1, 0]])
    vote = find_vote(NER, rows, SENTENCE)
    assert vote.at == "fever"
    assert dict(vote.predicted) == {"base": "O", "adapted": "B-D", "pooled": "B-D"}
    assert vote.margins["adapted"] == pytest.approx(2.1)
    assert vote.margins["base"] == pytest.approx(0.7)
    assert vote.outvoted == ("base",)
    assert vote.line.startswith("base ") and find_numbers(vote.line) == [2.1, 0.7]


def test_the_adapted_tokenization_can_be_outvoted_too():
    vote = find_vote(
        NER, logits([[3, 0, 0], [2.5, 0, 0]], [[3, 0, 0], [0, 1, 0]]), SENTENCE, [FEVER]
    )
    assert vote.line.startswith("adapted ") and find_numbers(vote.line) == [2.5, 1.0]


def test_the_mean_may_predict_what_neither_tokenization_predicts():
    vote = find_vote(
        NER, logits([[0, 0, 0], [3, 0, 2.9]], [[0, 0, 0], [0, 3, 2.9]]), SENTENCE, [FEVER]
    )
    assert vote.predicted["pooled"] == "I-D"
    assert vote.outvoted == ("base", "adapted")
    assert vote.line.startswith("neither")


def test_of_several_words_the_one_that_was_decided_most_firmly():
    rows = logits([[1, 0, 0], [1, 0, 0]], [[0, 2, 0], [0, 9, 0]])
    assert find_vote(NER, rows, SENTENCE).at == "fever"
    assert find_vote(NER, rows, SENTENCE, [NO]).at == "no"


def test_there_is_no_vote_if_the_tokenizations_agree_or_there_is_only_one():
    assert find_vote(NER, logits([[1, 0, 0], [0, 1, 0]], [[2, 0, 0], [0, 3, 0]]), SENTENCE) is None
    assert find_vote(NER, {"base": np.zeros((2, 3), np.float32)}, SENTENCE, [NO]) is None


def test_whole_texts_and_labels():
    text, classes = Text("1", "t", ("a",)), Outputs(TASK_KINDS["classification"], ("a", "b"))
    vote = find_vote(classes, logits([[0, 0.5]], [[2, 0]]), text)
    assert vote.outvoted == ("base",) and vote.margins == {"base": 0.5, "adapted": 2.0}
    several = Outputs(TASK_KINDS["multilabel"], ("a", "b"))
    vote = find_vote(several, logits([[0.5, 1]], [[-2, 1]]), text, [Unit("a")])
    assert vote.predicted["pooled"] == "not a"
    assert vote.outvoted == ("base",)
    assert vote.margins == {"base": 0.5, "adapted": 2.0}
    assert find_vote(several, logits([[0.5, 1]], [[-2, 1]]), text, [Unit("b")]) is None
    assert find_vote(several, logits([[0.5, 1]], [[-2, 1]]), text, [Unit("unheard")]) is None


def test_answers_are_weighed_as_spans():
    question = Question("1", "Who?", "Ann Bob Cid", (Answer("Ann", 0),))
    base = [[4, 4], [1, 1], [0, 0]]  # Ann: 8
    adapted = [[0, 0], [0, 0], [3, 3]]  # Cid: 6
    vote = find_vote(Outputs(TASK_KINDS["qa"], ("start", "end")), logits(base, adapted), question)
    assert vote.predicted["base"] == "Ann" and vote.predicted["adapted"] == "Cid"
    assert vote.margins == {"base": 8.0, "adapted": 6.0}
    assert vote.predicted["pooled"] == "Ann"
    assert vote.outvoted == ("adapted",)
