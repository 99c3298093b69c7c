"""Label and answer scores: against scikit-learn, the rules of SQuAD and BLUE written out here,
and worked by hand."""

import collections
import random
import re
import string

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.scoring.scorers import SCORERS, exact, normalize_answer, overlap, substring
from vocadapt.training.tasks.kinds import TASK_KINDS

CLASSES = ["CPR:3", "CPR:4", "CPR:5", "false"]


def ones(labels):
    return [(label,) for label in labels]


def drawn(seed, classes=CLASSES, size=30):
    draw = random.Random(seed)
    gold = [draw.choice(classes) for _ in range(size)]
    return gold, [draw.choice(classes) if draw.random() < 0.5 else label for label in gold]


@pytest.mark.parametrize(
    ("name", "average", "labels"),
    [
        ("micro-f1", "micro", CLASSES),
        ("micro-f1-positive", "micro", CLASSES[:3]),
        ("macro-f1", "macro", None),
        ("macro-f1-positive", "macro", CLASSES[:3]),
    ],
)
def test_averages_are_sklearns(name, average, labels):
    from sklearn.metrics import precision_recall_fscore_support

    for seed in range(20):
        gold, said = drawn(seed)
        values = TASK_KINDS["relations"].scorer(name).score(ones(gold), ones(said)).values
        expected = precision_recall_fscore_support(
            gold, said, labels=labels, average=average, zero_division=0
        )[:3]
        assert (values["precision"], values["recall"], values["f1"]) == pytest.approx(expected)


def test_binary_f1_is_sklearns_and_names_its_class():
    from sklearn.metrics import f1_score

    gold, said = drawn(3, ["0", "1"])
    assert TASK_KINDS["relations"].scorer("binary-f1").score(
        ones(gold), ones(said)
    ).value == pytest.approx(f1_score(gold, said, pos_label="1"))
    zero = (
        TASK_KINDS["relations"]
        .scorer("binary-f1")
        .score(ones(gold), ones(said), Rules(positive="0"))
    )
    assert zero.value == pytest.approx(f1_score(gold, said, pos_label="0"))
    assert TASK_KINDS["relations"].scorer("binary-f1").score(ones("00"), ones("00")).value == 0.0


def test_micro_over_all_classes_is_accuracy():
    gold, said = drawn(5)
    micro, accuracy = (
        TASK_KINDS["classification"].scorer(name).score(ones(gold), ones(said)).value
        for name in ("micro-f1", "accuracy")
    )
    assert (
        micro
        == pytest.approx(accuracy)
        == pytest.approx(sum(a == b for a, b in zip(gold, said, strict=True)) / len(gold))
    )


def test_the_negative_class_is_left_out_whatever_it_is_called():
    gold, said = ones(["none", "a", "none", "a"]), ones(["none", "a", "a", "none"])
    scorer = TASK_KINDS["relations"].scorer("micro-f1-positive")
    assert scorer.score(gold, said, Rules(negative=("none",))).value == 0.5
    assert scorer.score(ones(["false", "a"]), ones(["false", "b"])).value == 0.0
    assert scorer.score(ones(["DDI-false", "a"]), ones(["a", "a"])).value == pytest.approx(2 / 3)
    assert (
        scorer.score(ones(["false"]), ones(["false"])).value == 0.0
    )  # nothing is left: 0 by convention


def test_multilabel_micro_and_macro_are_sklearns():
    from sklearn.metrics import f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    draw = random.Random(1)
    gold, said = ([[c for c in "abc" if draw.random() < 0.5] for _ in range(25)] for _ in range(2))
    matrices = [
        MultiLabelBinarizer(classes=list("abc")).fit_transform(side) for side in (gold, said)
    ]
    for average in ("micro", "macro"):
        assert TASK_KINDS["multilabel"].scorer(f"{average}-f1").score(
            gold, said
        ).value == pytest.approx(f1_score(*matrices, average=average))


def blue_hoc(gold, said):
    """BLUE's eval_hoc, for documents that all have labels: the oracle."""
    precisions, recalls = [], []
    for ours, theirs in zip(gold, said, strict=True):
        both = len(set(ours) & set(theirs))
        precisions.append(both / len(set(theirs)) if theirs else 0)
        recalls.append(both / len(set(ours)))
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return (
        precision,
        recall,
        2 * precision * recall / (precision + recall) if precision + recall else 0.0,
    )


def test_example_based_f1_is_blues():
    for seed in range(30):
        draw = random.Random(seed)
        gold = [draw.sample("abcdefghij", draw.randint(1, 4)) for _ in range(12)]
        said = [draw.sample("abcdefghij", draw.randint(0, 4)) for _ in range(12)]
        values = TASK_KINDS["multilabel"].scorer().score(gold, said).values
        assert (values["precision"], values["recall"], values["f1"]) == pytest.approx(
            blue_hoc(gold, said)
        )


def squad_normalize(s):
    """The official script's normalize_answer: the oracle."""

    def remove_articles(text):
        return re.sub(r"\b(a|an|the)\b", " ", text)

    return " ".join(
        remove_articles(
            "".join(ch for ch in s.lower() if ch not in set(string.punctuation))
        ).split()
    )


def squad_f1(prediction, truth):
    said, gold = squad_normalize(prediction).split(), squad_normalize(truth).split()
    common = collections.Counter(said) & collections.Counter(gold)
    same = sum(common.values())
    if not said or not gold:
        return float(said == gold)
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(gold)
    return 2 * precision * recall / (precision + recall)


HOSTILE = [
    "",
    "the",
    "A. b",
    "13.3% (95% CI 6.9-23.6%)",
    "  The  cat's   toy ",
    "an-the a",
    "naïve THÉ",
    "\u2014 a\u00a0b",
    "ß SS",
    "a\tb",
]


def test_answers_are_squads():
    draw = random.Random(0)
    words = ["the", "a", "Cat", "cat,", "sat", "an", "(on)", "mat.", "13.3%", "é"]
    texts = HOSTILE + [" ".join(draw.choices(words, k=draw.randint(0, 7))) for _ in range(60)]
    for gold in texts:
        assert normalize_answer(gold) == squad_normalize(gold)
        for said in draw.sample(texts, 12):
            assert overlap(gold, said) == pytest.approx(squad_f1(said, gold))
            assert exact(gold, said) == float(squad_normalize(gold) == squad_normalize(said))


def test_the_best_accepted_answer_counts():
    score = (
        TASK_KINDS["qa"]
        .scorer()
        .score([("in 2012, in Jeddah", "2012"), ("Ilorin",), ()], ["2012", "Jeddah", ""])
    )
    assert score.values == {
        "exact": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3),
        "substring": pytest.approx(2 / 3),
    }
    assert score.units == 3


def test_substring_is_of_the_gold_answer_and_an_empty_one_is_none():
    answer = "(MERS-CoV) was first isolated in 2012,"
    assert substring(answer, "2012,") == 1.0
    assert substring("2012", "in 2012") == 0.0
    assert substring("2012", "") == substring("2012", "The.") == 0.0
    assert substring("", "") == 1.0


def test_every_kind_has_a_usual_score_and_every_score_says_what_it_is():
    assert all(kind.scorer().name == kind.default_scorer for kind in TASK_KINDS.values())
    used = {scorer.name for kind in TASK_KINDS.values() for scorer in kind.scorers()}
    assert used == set(SCORERS)
    for scorer in SCORERS.values():
        assert len(scorer.about) > 30
    with raises_input_error("unknown-choice", "accuracy"):
        TASK_KINDS["nli"].scorer("entity-strict")
