"""Embeddings grounded in a glossary: what is trained and what is not, encoders and decoders, forms,
wrong glossaries, and the commands that take one."""

import json

import numpy as np
import pytest

from tests.material.architectures import build_tiny_model
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.cli import main
from vocadapt.models.language_model import open_model
from vocadapt.text.glossary import read_glossary
from vocadapt.training import grounding
from vocadapt.training.grounding import build_grounder, ground_embeddings
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.initializers.materials import GroundingSettings
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

pytestmark = pytest.mark.usefixtures("one_thread")

LINES = (
    "Hypertension: high blood pressure of the heart",
    "",
    "tachycardia\tthe heart of the patients with pain",
    "hypertension: pain of the heart with high pressure",
    "unrelated: the drug",
)
SETTINGS = GroundingSettings(passes=40, batch=8, lr=0.02, masked=1.0)


def plan_of(model, *words):
    vocabulary = model.vocabulary
    tokens = [vocabulary.spell(word) for word in words]
    return VocabularyPlan(
        vocabulary, tuple(AddedWord(token, vocabulary.tokenize_token(token)) for token in tokens)
    )


def ground(model, plan, lines=LINES, settings=SETTINGS):
    start = np.zeros((len(plan.new_embeddings), model.dim), np.float32)
    return ground_embeddings(model, read_glossary(lines), plan, start, settings)


def test_a_glossary_is_read_with_tabs_or_colons():
    entries = read_glossary(LINES)
    assert [entry.word for entry in entries] == [
        "Hypertension",
        "tachycardia",
        "hypertension",
        "unrelated",
    ]
    assert LINES[2] == f"tachycardia\t{entries[1].description}"
    (ratio,) = read_glossary(["ratio\t1: 2"])
    assert ratio.description == "1: 2"


@pytest.mark.parametrize("line", ["no separator", ": nothing before", "nothing after:  ", "a:b"])
def test_a_line_that_describes_nothing_is_named(line):
    with raises_input_error("no-description", "Line 2"):
        read_glossary(["word: text", line])


def test_a_glossary_without_lines_is_refused():
    with raises_input_error("empty-glossary"):
        read_glossary(["", "  "])


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert", "gpt2", "llama", "albert"])
def test_the_loss_falls_in_every_kind_of_network(name, tmp_path, monkeypatch):
    losses = []
    monkeypatch.setattr(grounding, "check_finite", lambda loss, *_: losses.append(loss))
    model = open_model(build_tiny_model(name, tmp_path / name))
    plan = plan_of(model, "hypertension", "tachycardia", "bradycardia")
    rows, counts = ground(model, plan)
    assert counts.tolist() == [2, 1, 0]
    assert losses[-1] < losses[0]  # every step sees all descriptions, masked as a whole
    assert rows[:2].any(axis=1).all() and not rows[2].any()


def test_the_embedding_that_predicts_a_description_is_that_of_the_description(model):
    """Two words with swapped descriptions swap what they are grounded in."""
    plan = plan_of(model, "hypertension", "tachycardia")
    lines = ["hypertension: drug drug drug", "tachycardia: cancer cancer cancer"]
    swapped = ["tachycardia: drug drug drug", "hypertension: cancer cancer cancer"]
    one_mask = GroundingSettings(passes=60, batch=2, lr=0.02, masked=1.0)
    rows, _ = ground(model, plan, lines, one_mask)
    others, _ = ground(model, plan, swapped, one_mask)

    def cosine(a, b):
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    assert cosine(rows[0], others[1]) > 0.9 > cosine(rows[0], rows[1])


def test_the_same_seed_gives_the_same_bits(model):
    plan = plan_of(model, "hypertension")
    assert np.array_equal(ground(model, plan)[0], ground(model, plan)[0])


def test_a_word_without_a_description_keeps_the_mean_of_its_pieces(model):
    plan = plan_of(model, "hypertension", "bradycardia")
    materials = Materials(plan, model.space, grounder=build_grounder(model, read_glossary(LINES)))
    made = initialize(materials, InitializerSettings("grounded"))
    mean = initialize(materials, InitializerSettings("syntactic"))
    assert find_numbers(made.provenance[0].how) == [2]  # descriptions
    assert made.provenance[1].fallback and "glossary" in made.provenance[1].how
    assert np.array_equal(made.matrix[1], mean.matrix[1])
    assert not np.array_equal(made.matrix[0], mean.matrix[0])


def test_a_glossary_of_other_words_is_refused(model):
    with raises_input_error("no-described-token", "1"):
        ground(model, plan_of(model, "bradycardia"))


def test_a_model_without_a_head_is_refused(tmp_path):
    from tests.material.tiny_bert import build_tiny_bert

    model = open_model(build_tiny_bert(tmp_path / "bare", "BertModel"))
    with raises_input_error("no-masked-head", "BertModel"):
        ground(model, plan_of(model, "hypertension"))


def test_the_command_adapts_with_a_glossary_and_asks_for_it(tiny_bert, tmp_path, capsys):
    glossary = tmp_path / "glossary.txt"
    glossary.write_text("\n".join(LINES), encoding="utf-8")
    text = tmp_path / "text.txt"
    text.write_text("hypertension and tachycardia of the heart\n" * 5, encoding="utf-8")
    command = ["adapt", "--model", str(tiny_bert), "--corpus", str(text), "--add-by", "words"]
    command += ["--initializer", "grounded", "--grounded-passes", "2", "--json"]
    out = tmp_path / "adapted"
    assert main([*command, "--glossary", str(glossary), "--out", str(out)]) == 0
    capsys.readouterr()
    record = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert "glossary" in record["inputs"]

    assert main([*command, "--out", str(tmp_path / "other")]) == 2
    assert "a glossary" in capsys.readouterr().err

    unused = [*command[:-5], "--initializer", "syntactic", "--glossary", str(glossary)]
    assert main([*unused, "--out", str(tmp_path / "third")]) == 2
    assert "use a glossary" in capsys.readouterr().err
