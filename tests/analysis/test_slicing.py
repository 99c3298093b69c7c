"""Slices of a ledger by the words of its units: membership and score differences, worked by
hand."""

from collections import Counter

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.analysis.errors.ledger import Side, build_ledger
from vocadapt.analysis.errors.slicing import ALL, REST, SLICES, SlicedUnit, SliceSettings, Slicing
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, TrainingCounts, WordIndex
from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Sentence, Split, Text
from vocadapt.training.scoring.counts import DEFAULT_RULES
from vocadapt.training.tasks.kinds import TASK_KINDS

SPLIT = Split(
    (
        Sentence(("tachycardia", "and", "fever"), ("B-D", "O", "B-D")),
        Sentence(("anaemia", "is", "common"), ("B-D", "O", "O")),
    )
)
FIRST = [("O", "O", "B-D"), ("B-D", "O", "B-D")]
SECOND = [("B-D", "O", "B-D"), ("O", "O", "O")]


KNOWN = {
    "tachycardia": TokenizedWord(
        "tachycardia", ("ta", "##chy", "##card", "##ia"), ("tachycardia",), ("tachycardia",), 0
    ),
    "anaemia": TokenizedWord("anaemia", ("ana", "##emia"), ("ana", "##emia"), (), 3),
    "fever": TokenizedWord("fever", ("fever",), ("fever",), (), 40),
    "common": TokenizedWord("common", ("common",), ("common",), (), 9),
}


class Words(WordIndex):
    """Cuts and counts given by hand."""

    def tokenize(self, word):
        return KNOWN.get(word, TokenizedWord(word, (word,), (word,), (), 50))

    @property
    def has_two_tokenizations(self):
        return True


def slicing(settings=None, words=None):
    book = build_ledger(SPLIT, Side("a", FIRST), Side("b", SECOND), TASK_KINDS["ner"])
    held = (
        Words(trained=TrainingCounts(Counter(), Counter({"fever": 4}))) if words is None else words
    )
    return Slicing(
        book, held, TASK_KINDS["ner"].scorer(), DEFAULT_RULES, settings or SliceSettings()
    )


def test_each_slice_holds_what_its_words_say():
    found = slicing()
    held = {
        name: [entry.unit.text for entry in found.entries(name)]
        for name in (ALL, *found.available, REST)
    }
    assert held == {
        ALL: ["tachycardia", "fever", "anaemia", "common"],
        "new-token": ["tachycardia"],
        "other-tokenization": ["tachycardia"],
        "pieces": ["tachycardia"],
        "suffix": ["tachycardia", "anaemia"],
        "unseen": ["tachycardia"],
        "seldom": ["anaemia"],
        "unseen-entity": ["tachycardia", "anaemia", "common"],
        REST: ["fever"],
    }


def test_scores_of_slices():
    by_name = {one.name: one for one in slicing().scores()}
    new = by_name["new-token"]
    assert new.n == 1
    assert new.fixed == 1
    assert new.broken == 0
    assert new.first == 0.0
    assert new.second == 1.0
    assert new.difference == 1.0
    suffix = by_name[
        "suffix"
    ]  # gold 2; first predicts anaemia (right), second tachycardia (right): 2·1/(2+1) each
    assert suffix.n == 2
    assert suffix.fixed == 1
    assert suffix.broken == 1
    assert suffix.difference == 0
    assert suffix.first == pytest.approx(2 / 3)
    rest = by_name[REST]
    assert (rest.n, rest.first, rest.second) == (1, 1.0, 1.0)
    everything = slicing().scores([ALL])[0]  # the entity F1 of the whole split
    scorer = TASK_KINDS["ner"].scorer()
    assert (
        everything.first
        == pytest.approx(scorer.score(SPLIT.gold, FIRST).value)
        == pytest.approx(2 * 2 / (3 + 3))
    )
    assert everything.second == pytest.approx(scorer.score(SPLIT.gold, SECOND).value)


def test_settings_move_the_borders():
    found = slicing(SliceSettings("-VER", pieces=2, seldom=100))
    assert [entry.unit.text for entry in found.entries("suffix")] == ["fever"]
    assert found.title("suffix").endswith(" -ver")
    assert [entry.unit.text for entry in found.entries("pieces")] == ["tachycardia", "anaemia"]
    assert [entry.unit.text for entry in found.entries("seldom")] == ["fever", "anaemia", "common"]


def test_a_slice_that_is_empty_has_no_score():
    one = next(one for one in slicing(SliceSettings("zzz")).scores(["suffix"]))
    assert (one.n, one.first, one.difference, one.fixed) == (0, None, None, 0)


def test_without_tokenizations_and_training_words_there_are_fewer_slices():
    found = slicing(words=WordIndex())
    assert found.available == ("suffix",)
    assert [one.name for one in found.scores()] == ["suffix", REST]
    with raises_input_error("missing-input", "two tokenizations"):
        found.entries("new-token")
    with raises_input_error("missing-input", "training examples"):
        found.entries("unseen")
    with raises_input_error("unknown-choice", "odd"):
        found.entries("odd")


@pytest.mark.parametrize(
    "settings", [{"suffix": "-"}, {"suffix": ""}, {"pieces": 1}, {"seldom": 0}]
)
def test_settings_without_sense_are_refused(settings):
    with pytest.raises(InputError):
        SliceSettings(**settings)


def test_texts_are_sliced_by_their_words_and_scored_by_their_score():
    split = Split(
        tuple(
            Text(str(n), text, (label,))
            for n, (text, label) in enumerate(
                [("a case of anaemia", "ill"), ("all is well", "well"), ("dementia", "ill")]
            )
        )
    )
    book = build_ledger(
        split,
        Side("a", [("well",), ("well",), ("ill",)]),
        Side("b", [("ill",), ("ill",), ("ill",)]),
        TASK_KINDS["classification"],
    )
    found = Slicing(
        book, WordIndex(), TASK_KINDS["classification"].scorer("accuracy"), DEFAULT_RULES
    )
    suffix, rest = found.scores()
    assert suffix.n == 2
    assert suffix.first == 0.5
    assert suffix.second == 1.0
    assert suffix.fixed == 1
    assert suffix.broken == 0
    assert (rest.n, rest.first, rest.second, rest.broken) == (1, 1.0, 0.0, 1)
    assert found.scores([ALL])[0].first == pytest.approx(2 / 3)


def test_each_tokenization_is_scored_on_the_entities_of_the_slice_alone():
    """Poerner et al. 2020, 3.3: recall over the gold entities in -ia, precision over the predicted
    ones, by hand.
    """
    words = ("anemia", "fever", "mania", "cough", "media")
    split = Split(
        (Sentence(words, ("B-D", "B-D", "B-D", "B-D", "O")), Sentence(("malaria",), ("B-D",)))
    )
    said = {
        # -ia: gold anemia, mania, malaria
        "base": [("O", "B-D", "B-D", "B-D", "B-D"), ("O",)],  # predicted mania, media; right mania
        "adapted": [("B-D", "O", "B-D", "O", "O"), ("B-D",)],  # predicted and right: all three
        "pooled": [("O", "B-D", "O", "B-D", "B-D"), ("O",)],  # predicted media; right none
    }
    book = build_ledger(
        split, Side("a", said["base"]), Side("b", said["pooled"], said), TASK_KINDS["ner"]
    )
    found = Slicing(book, WordIndex(), TASK_KINDS["ner"].scorer(), DEFAULT_RULES)
    figures = {
        tokenization: (one.values["precision"], one.values["recall"])
        for tokenization, one in found.by_tokenization("suffix").items()
    }
    assert figures == {"base": (1 / 2, 1 / 3), "adapted": (1.0, 1.0), "pooled": (0.0, 0.0)}
    assert found.by_tokenization("suffix")["base"].by_label["D"]["predicted"] == 2
    everything = {
        tokenization: one.to_dict() for tokenization, one in found.by_tokenization().items()
    }
    assert everything == {
        tokenization: found.scorer.score(split.gold, own).to_dict()
        for tokenization, own in said.items()
    }
    assert everything["base"]["precision"] == 3 / 4 and everything["base"]["recall"] == 3 / 5
    (suffix,) = found.scores(["suffix"])  # the row of the slice is the same figure
    assert (suffix.first, suffix.second) == (found.by_tokenization("suffix")["base"].value, 0.0)
    assert (
        Slicing(
            book, WordIndex(), TASK_KINDS["ner"].scorer(), DEFAULT_RULES, SliceSettings("zzz")
        ).by_tokenization("suffix")
        == {}
    )


def test_a_text_slice_scores_each_tokenization_on_its_examples_alone():
    split = Split(
        tuple(
            Text(str(n), text, (label,))
            for n, (text, label) in enumerate(
                [("a case of anaemia", "ill"), ("all is well", "well"), ("dementia", "ill")]
            )
        )
    )
    said = {"base": [("well",), ("well",), ("ill",)], "adapted": [("ill",), ("ill",), ("ill",)]}
    said["pooled"] = said["base"]
    book = build_ledger(
        split,
        Side("a", said["base"]),
        Side("b", said["pooled"], said),
        TASK_KINDS["classification"],
    )
    found = Slicing(
        book, WordIndex(), TASK_KINDS["classification"].scorer("accuracy"), DEFAULT_RULES
    )
    assert [one.value for one in found.by_tokenization("suffix").values()] == [0.5, 1.0, 0.5]
    assert [one.value for one in found.by_tokenization().values()] == pytest.approx(
        [2 / 3, 2 / 3, 2 / 3]
    )


def test_every_slice_has_a_sentence_and_none_holds_what_has_no_words():
    assert all(one.about for one in SLICES.values())
    for name, one in SLICES.items():
        assert not one.holds(SlicedUnit(()), SliceSettings()), name
