"""Size of an extension: each size against a plan of that size, counts worked by hand, the
command."""

import json

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.lab import write_text
from tests.material.stated_numbers import list_numbers
from vocadapt.cli import main
from vocadapt.models.language_model import open_model
from vocadapt.vocabulary.growth.growth import RARE, measure_extension_curve
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

COUNTS = {"tachycardia": 30, "hypertension": 4, "the": 100}


@pytest.fixture
def plan(tiny_bert):
    vocabulary = open_model(tiny_bert).vocabulary
    added = ("tachycardia", "##tensio", "hypertension")
    return VocabularyPlan(
        vocabulary, tuple(AddedWord(token, vocabulary.tokenize_token(token)) for token in added)
    )


def test_sizes_by_hand(plan):
    found = measure_extension_curve(plan, COUNTS, [1, 2])
    cut = plan.base.tokenize
    old = 30 * len(cut("tachycardia")) + 4 * len(cut("hypertension")) + 100
    # hyper ##tension is what greedy cutting gives with or without ##tensio
    assert [at.size for at in found.sizes] == [0, 1, 2, 3]
    assert [at.tokens for at in found.sizes] == [old, 30 + 8 + 100, 30 + 8 + 100, 30 + 4 + 100]
    assert [at.new_share for at in found.sizes] == pytest.approx([0, 30 / 138, 30 / 138, 34 / 134])
    assert [at.seldom for at in found.sizes] == [0, 0, 1, 2] and RARE == 20
    assert found.counts.tolist() == [30, 0, 4] and found.ranked.tolist() == [30, 4, 0]
    assert found.sizes[-1].fertility == 1.0 and found.words == 134
    assert found.sizes[-1].shorter == pytest.approx(1 - 134 / old)
    assert found.sizes[0].shorter == 0


def test_a_size_gives_what_a_plan_of_that_size_gives(tiny_bert, tmp_path):
    from dataclasses import replace

    from vocadapt.pipeline import Sources, get_preset, plan_adaptation
    from vocadapt.text.corpus import open_corpus
    from vocadapt.text.words import count_words

    model = open_model(tiny_bert)
    counts = count_words(open_corpus([write_text(tmp_path / "t.txt")]), model.splitter).counts
    recipe = get_preset("exbert-s3")

    def plan_of(size):
        return plan_adaptation(
            replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=size)),
            model,
            Sources(counts=counts),
        )

    found = measure_extension_curve(plan_of(12), counts, [4, 9])
    for at in found.sizes[1:]:
        after = plan_of(at.size).after
        assert at.tokens == sum(count * len(after.tokenize(word)) for word, count in counts.items())
    assert np.all(np.diff([at.tokens for at in found.sizes]) <= 0)


def test_plans_that_are_no_extension_and_sizes_beyond_are_refused(plan):
    with raises_input_error("out-of-range", "0", "3", "4"):
        measure_extension_curve(plan, COUNTS, [4])
    with raises_input_error("not-an-extension"):
        measure_extension_curve(VocabularyPlan(plan.base, ()), COUNTS)


def test_the_command(tiny_bert, tmp_path, capsys):
    text = write_text(tmp_path / "t.txt")
    command = f"vocabulary extension --model {tiny_bert} --corpus {text} --sizes 3 8 --json".split()
    assert main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["size"] for row in answer["sizes"]] == [0, 3, 8]
    assert answer["sizes"][-1]["shorter"] > 0
    assert main([*command[:-1], "--sizes", "3", "9000", "--json"]) == 0
    larger = json.loads(
        capsys.readouterr().out
    )  # the text gives fewer: they stand for the larger size, and the note says so
    assert [row["size"] for row in larger["sizes"]][:2] == [0, 3] and len(larger["sizes"]) == 3
    largest = f"{larger['sizes'][-1]['size']:,}"
    assert list_numbers(larger["note"])[:2] == [largest, "9,000"]
    assert main([*command[:-1], "--sizes", "9000", "--json"]) == 0
    assert [row["size"] for row in json.loads(capsys.readouterr().out)["sizes"]] == [
        0,
        larger["sizes"][-1]["size"],
    ]
    assert main([*command[:-1], "--sizes", "0"]) == 2
    assert "--sizes" in capsys.readouterr().err
    assert main([*command[:-4], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "17,748" in list_numbers(told["note"]) and told["sizes"][0]["size"] == 0
