"""Entity scores against independent implementations: conlleval's rules written out here,
seqeval, scikit-learn; and worked by hand."""

import random

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.training.examples.tags import (
    Span,
    count_stray_insides,
    decode_spans,
    detect_scheme,
    encode_spans,
)
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules
from vocadapt.training.tasks.kinds import TASK_KINDS, find_kind

ALPHABETS = {
    "bare": ["O", "B", "I"],
    "typed": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "hyphens": ["O", "B-X-1", "I-X-1", "B-Y-1", "I-Z-1"],
    "bioes": ["O", "B-X", "I-X", "E-X", "S-X", "E-Y", "I-Y"],
    "bare bioes": ["O", "B", "I", "E", "S"],
    "seldom": ["O"] * 9 + ["B-X", "I-X"],
}


def conlleval_chunks(tags):
    """conlleval.pl's two subroutines, as they stand there, over one sentence: the oracle."""

    def end_of_chunk(prev_tag, tag, prev_type, type_):
        end = (prev_tag == "B" and tag in "BO") or (prev_tag == "I" and tag in "BO")
        end = end or prev_tag in ("E", "S") or (prev_tag in ("B", "I") and tag == "S")
        return end or (prev_tag != "O" and prev_type != type_)

    def start_of_chunk(prev_tag, tag, prev_type, type_):
        start = tag == "B" or tag == "S" or (prev_tag == "O" and tag in "IE")
        start = start or (prev_tag in ("E", "S") and tag in "IE")
        return start or (tag != "O" and prev_type != type_)

    chunks, begin, previous = [], None, ("O", "")
    for place, label in enumerate([*tags, "O"]):
        tag, _, type_ = label.partition("-")
        if begin is not None and end_of_chunk(previous[0], tag, previous[1], type_):
            chunks.append((begin, place, previous[1]))
            begin = None
        if start_of_chunk(previous[0], tag, previous[1], type_):
            begin = place
        previous = (tag, type_)
    return chunks


def drawn(alphabet, seed, noise):
    """Gold and predicted tags of some sentences; predictions are gold with some tags drawn anew."""
    draw = random.Random(seed)
    gold = [
        [draw.choice(alphabet) for _ in range(draw.randint(0, 9))]
        for _ in range(draw.randint(1, 6))
    ]
    said = [
        [draw.choice(alphabet) if draw.random() < noise else tag for tag in tags] for tags in gold
    ]
    return gold, said


def oracle_f1(gold, said, chunks=conlleval_chunks):
    ours = {(number, *chunk) for number, tags in enumerate(gold) for chunk in chunks(tags)}
    theirs = {(number, *chunk) for number, tags in enumerate(said) for chunk in chunks(tags)}
    right = len(ours & theirs)
    precision, recall = right / len(theirs) if theirs else 0.0, right / len(ours) if ours else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def figures(name, gold, said, rules=DEFAULT_RULES):
    values = TASK_KINDS["ner"].scorer(name).score(gold, said, rules).values
    return values["precision"], values["recall"], values["f1"]


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_entity_strict_is_conlleval_on_random_tags(alphabet):
    for seed in range(150):
        for tags in drawn(alphabet, seed, 1.0)[0]:
            assert list(decode_spans(tags)) == conlleval_chunks(tags)
        gold, said = drawn(alphabet, seed, noise=(seed % 10) / 10)
        assert figures("entity-strict", gold, said) == pytest.approx(oracle_f1(gold, said))


@pytest.mark.parametrize("alphabet", ["bare", "typed", "seldom"])
def test_entity_strict_is_seqeval(alphabet):
    metrics = pytest.importorskip(
        "seqeval.metrics", reason="seqeval, an independent oracle, is not installed"
    )
    for seed in range(20):
        gold, said = drawn(ALPHABETS[alphabet], seed, 0.4)
        ours = figures("entity-strict", gold, said)
        theirs = [
            rule(gold, said, zero_division=0)
            for rule in (metrics.precision_score, metrics.recall_score, metrics.f1_score)
        ]
        assert ours == pytest.approx(theirs)


def test_wordpiece_macro_is_sklearns_macro():
    from sklearn.metrics import f1_score

    for seed in range(40):
        gold, said = drawn(ALPHABETS["typed"], seed, 0.5)
        flat = [[tag for tags in side for tag in tags] for side in (gold, said)]
        if flat[0]:
            expected = f1_score(*flat, average="macro", zero_division=0)
            assert figures("wordpiece-macro", gold, said)[2] == pytest.approx(expected)


def test_token_is_sklearns_micro_over_all_tags_but_o():
    from sklearn.metrics import precision_recall_fscore_support

    for seed in range(40):
        gold, said = drawn(ALPHABETS["typed"], seed, 0.5)
        flat = [[tag for tags in side for tag in tags] for side in (gold, said)]
        labels = sorted({*flat[0], *flat[1]} - {"O"})
        if labels:
            expected = precision_recall_fscore_support(
                *flat, labels=labels, average="micro", zero_division=0
            )[:3]
            assert figures("token", gold, said) == pytest.approx(expected)


def old_seqeval(tags):
    """seqeval 0.0.12: the type is what follows the last hyphen, so that of a bare tag is the tag
    itself.
    """
    return conlleval_chunks(
        [f"{tag[0]}-{tag.split('-')[-1]}" if tag != "O" else "O" for tag in tags]
    )


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_legacy_seqeval_reads_types_as_the_old_release_did(alphabet):
    for seed in range(60):
        gold, said = drawn(alphabet, seed, 0.4)
        assert figures("legacy-seqeval", gold, said) == pytest.approx(
            oracle_f1(gold, said, old_seqeval)
        )


def test_the_published_example_of_what_legacy_does_to_bare_tags():
    gold, said = [["B", "I", "I", "O", "B"]], [["B", "O", "O", "O", "B"]]
    assert figures("legacy-seqeval", gold, said) == pytest.approx((1.0, 2 / 3, 0.8))
    assert figures("entity-strict", gold, said) == (0.5, 0.5, 0.5)


def test_scores_by_type_worked_by_hand():
    gold = [["B-X", "I-X", "O", "B-Y"], ["B-Y", "O"]]
    said = [["B-X", "I-X", "O", "B-X"], ["B-Y", "B-Y"]]
    score = TASK_KINDS["ner"].scorer().score(gold, said)
    assert score.by_label["X"] == {
        "precision": 0.5,
        "recall": 1.0,
        "f1": 2 / 3,
        "gold": 1,
        "predicted": 2,
        "right": 1,
    }
    assert score.by_label["Y"] == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "gold": 2,
        "predicted": 2,
        "right": 1,
    }
    assert score.value == score.values["f1"] == pytest.approx(2 * 2 / (3 + 4))
    assert (score.units, score.headline, score.scorer) == (2, "f1", "entity-strict")


def test_untyped_ignores_types():
    gold, said = [["B-X", "O"]], [["B-Y", "O"]]
    assert figures("entity-strict", gold, said)[2] == 0.0
    assert figures("entity-strict", gold, said, Rules(untyped=True))[2] == 1.0


def test_nothing_to_find_is_zero_and_the_extremes_hold():
    assert figures("entity-strict", [["O", "O"]], [["O", "O"]]) == (0.0, 0.0, 0.0)
    assert figures("entity-strict", [["B"]], [["O"]]) == (0.0, 0.0, 0.0)
    assert figures("entity-strict", [[]], [[]]) == (0.0, 0.0, 0.0)
    for name in ("entity-strict", "token", "wordpiece-macro", "legacy-seqeval"):
        assert figures(name, [["B-X", "I-X"]], [["B-X", "I-X"]])[2] == 1.0


def test_unknown_scorers_and_kinds_are_refused():
    with raises_input_error("unknown-choice", "squad", "ner"):
        TASK_KINDS["ner"].scorer("squad")
    with raises_input_error("unknown-choice", "parsing"):
        find_kind("parsing")


def test_schemes_mean_the_same_spans():
    spans = (Span(0, 2, "X"), Span(2, 3, "X"), Span(4, 7, "Y"))
    iob2 = ["B-X", "I-X", "B-X", "O", "B-Y", "I-Y", "I-Y"]
    iob1 = ["I-X", "I-X", "B-X", "O", "I-Y", "I-Y", "I-Y"]
    bioes = ["B-X", "E-X", "S-X", "O", "B-Y", "I-Y", "E-Y"]
    assert decode_spans(iob2) == decode_spans(iob1) == decode_spans(bioes) == spans
    assert list(encode_spans(spans, 7)) == iob2
    assert [detect_scheme([tags]) for tags in (iob2, iob1, bioes)] == ["IOB2", "IOB1", "BIOES"]


def test_tags_survive_the_way_through_spans():
    for seed in range(40):
        for tags in drawn(["O", "B-X", "I-X", "B-Y", "I-Y"], seed, 0)[0]:
            again = encode_spans(decode_spans(tags), len(tags))
            assert decode_spans(again) == decode_spans(tags) and count_stray_insides([again]) == 0
