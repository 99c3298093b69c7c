"""`adapt --preset exbert-…`: the contents of its folder, its certificate, and the commands that
accept it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.material.adapted import change
from tests.material.commands import run_line
from tests.material.exbert import made
from tests.material.finetuning import sentences, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.lab import NEW, write_text
from vocadapt.cli import main
from vocadapt.cli.vocabulary.adapt import UNTRAINABLE
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.step import Spec
from vocadapt.models.add_extension import list_gates
from vocadapt.models.card import WITHOUT_VOCADAPT
from vocadapt.models.certificate.certificate import CHECKS, Edit, run_check
from vocadapt.models.contextual.masked_loss import get_masked_head
from vocadapt.models.contextual.occurrences import ContextualSettings, find_targets
from vocadapt.models.contextual.word_vectors import compute_contextual_vectors
from vocadapt.models.extension_size import ModuleSettings, is_extension_tensor
from vocadapt.models.heads import load_with_new_head
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings, is_tied
from vocadapt.presets import PRESETS, get_preset
from vocadapt.recipe import Recipe
from vocadapt.training.finetune.run_files import load_runs
from vocadapt.vocabulary.plan.plan import PlanSettings

pytestmark = pytest.mark.usefixtures("one_thread")

EXBERT = [name for name in PRESETS if name.startswith("exbert")]


@pytest.fixture(scope="module")
def exbert(tmp_path_factory, tiny_bert):
    """tiny-bert with the module of s3 and tokens of a small text; read only."""
    place = tmp_path_factory.mktemp("exbert")
    text = write_text(place / "text.txt")
    return made("exbert-s3", place / "m", tiny_bert, text, certify=True)


def numbers_of(folder):
    return json.loads((folder / "manifest.json").read_text())["numbers"]


def failed(before, after):
    edit = Edit(open_model(before), open_model(after))
    return [name for name in CHECKS if name != "reload" and not run_check(name, edit).passed]


def test_it_is_built_certified_and_reports_its_size(exbert, tiny_bert):
    numbers, model = numbers_of(exbert), open_model(exbert)
    assert numbers["certificate"] is True
    # by hand: 3 · (16 · 6 + 6) + (6 · 16 + 16) + (16 · 8 + 8) + (8 · 16 + 16) + 64 = 762, a gate of
    # 17, two layers
    assert numbers["module"] == {
        "hidden": 6,
        "intermediate": 8,
        "share": 762 / 2224,
        "parameters": 2 * (762 + 17),
    }
    assert type(model.network).__name__ == "ExBertForMaskedLM"
    assert is_tied(model.network)
    assert len(list_gates(model.network)) == 2
    before = len(open_model(tiny_bert).vocabulary)
    assert (
        model.config["extension_vocab_size"] == numbers["added"] == len(model.vocabulary) - before
    )
    record = json.loads((exbert / "vocadapt.json").read_text())
    checks = {check["name"]: check["detail"] for check in record["certificate"]["checks"]}
    assert "gate" in checks["outputs"] and "extension" in checks["other tensors"]
    assert "vocadapt.models.exbert" in checks["reload"]


def test_its_tokens_are_wordpieces_by_insertion(exbert, tiny_bert):
    model, before = open_model(exbert), open_model(tiny_bert)
    added = set(model.vocabulary.tokens) - set(before.vocabulary.tokens)
    assert set(NEW) <= added and any(token.startswith("##") for token in added)
    assert model.vocabulary.tokenize("euthymia") == ("euthymia",) and not model.vocabulary.whole
    rows = get_embeddings(model.network)[len(before.vocabulary) :].detach().numpy()
    assert abs(rows.std() - 0.02) < 0.002
    assert np.array_equal(rows, model.space.matrix[len(before.vocabulary) :])


def test_the_card_says_what_to_import(exbert):
    card = (exbert / "README.md").read_text(encoding="utf-8")
    assert card.index("import vocadapt.models.exbert\n") < card.index("from transformers")
    assert WITHOUT_VOCADAPT not in card
    assert "stage extension" in card and "34.3%" in card


@pytest.mark.parametrize("name", EXBERT)
def test_every_preset_keeps_what_it_should(name, tiny_bert, tmp_path):
    out = made(name, tmp_path / "m", tiny_bert, write_text(tmp_path / "t.txt"))
    assert failed(tiny_bert, out) == []
    kind = type(open_model(out).network).__name__
    assert kind == ("BertForMaskedLM" if name == "exbert-no-module" else "ExBertForMaskedLM")
    assert (numbers_of(out)["added"] == 0) == (name == "exbert-no-vocabulary")


@pytest.mark.parametrize(
    "head",
    ["BertModel", "BertForPreTraining", "BertForTokenClassification", "BertForQuestionAnswering"],
)
def test_other_heads_are_kept_too(head, make_bert, tmp_path):
    source = make_bert(head=head)
    out = made("exbert-s1", tmp_path / "m", source, write_text(tmp_path / "t.txt"))
    assert failed(source, out) == [] and type(open_model(out).network).__name__ == f"Ex{head}"


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("bert.encoder.layer.1.output.dense.weight", "other tensors"),
        ("bert.encoder.layer.1.output.dense.weight", "outputs"),
        ("bert.embeddings.word_embeddings.weight", "kept embeddings"),
    ],
)
def test_a_touched_original_tensor_fails_the_certificate(name, check, tiny_bert, tmp_path):
    out = made("exbert-s3", tmp_path / "m", tiny_bert, write_text(tmp_path / "t.txt"))

    def nudge(tensors):
        tensors[name][8] += 1e-3

    change(out, nudge)
    assert check in failed(tiny_bert, out)


def test_a_tensor_that_belongs_to_no_extension_fails_it_too(tiny_bert, tmp_path):
    out = made("exbert-s3", tmp_path / "m", tiny_bert, write_text(tmp_path / "t.txt"))
    edit = Edit(open_model(tiny_bert), open_model(out))
    edit.after.network.bert.extra = torch.nn.Linear(2, 2)
    assert not run_check("other tensors", edit).passed


@pytest.mark.parametrize(
    ("head", "names"),
    [("token", ("O", "B")), ("sequence", ("no", "yes")), ("question", ("start", "end"))],
)
def test_a_fresh_head_is_put_on_it_and_the_body_stays(head, names, exbert):
    model = open_model(exbert)
    network = load_with_new_head(model, head, names, seed=1)
    body = {name: value for name, value in model.network.bert.state_dict().items()}
    found = network.bert.state_dict()
    assert all(torch.equal(found[name], value) for name, value in body.items())
    assert len(list_gates(network)) == 2
    ids = torch.tensor([[1, 2, 3]])
    assert network(ids)[0].shape[-1] == (2 if head != "question" else 3)


def test_vectors_in_context_come_from_the_mixed_layers(exbert, tmp_path):
    model = open_model(exbert)
    sentences = tmp_path / "s.txt"
    sentences.write_text("the aspirin was high\n" * 3, encoding="utf-8")
    settings = ContextualSettings(layer=-1, length=16, min_count=1)
    targets = find_targets(
        {"the": 3, "aspirin": 3, "was": 3, "high": 3}, model.vocabulary, settings, ["aspirin"]
    )
    space = compute_contextual_vectors(sentences, targets, model, settings).space
    ids = torch.tensor([model.fast_tokenizer.encode("the aspirin was high").ids])
    with torch.no_grad():
        expected = model.network.bert(ids).last_hidden_state[0, 2]
    np.testing.assert_allclose(space["aspirin"], expected.numpy(), atol=1e-5)


def test_it_is_fine_tuned_and_predicts_like_any_other_folder(exbert, tmp_path):
    train = write_conll(tmp_path / "train.txt", sentences(10))
    out, given = (
        tmp_path / "run",
        (
            f"--train {train} --test {train} --num-epochs 1 --batch-size 5 --learning-rate 5e-3"
        ).split(),
    )
    assert (
        run_line(f"finetune --model {exbert} --task ner", *given, "--freeze", "top-1", "--out", out)
        == 0
    )
    run = load_runs(out)[0]
    assert set(run.test_predictions.predicted) == {"base", "adapted", "pooled"}
    tuned, before = open_model(run.folder).network, open_model(exbert).network
    assert type(tuned).__name__ == "ExBertForTokenClassification"
    moved = {
        name
        for name, value in tuned.bert.state_dict().items()
        if not torch.equal(value, before.bert.state_dict()[name])
    }
    assert moved and all(".layer.1." in name for name in moved)
    assert any(is_extension_tensor(name) for name in moved)
    assert not all(is_extension_tensor(name) for name in moved)


def test_its_masked_word_head_scores_old_and_new_tokens(exbert):
    network = open_model(exbert).network
    assert get_masked_head(network)(torch.zeros(1, 16)).shape == (
        1,
        len(open_model(exbert).vocabulary),
    )


def test_the_size_and_the_gate_are_given_on_the_command_line(tiny_bert, tmp_path, capsys):
    text, out = write_text(tmp_path / "t.txt"), tmp_path / "m"
    command = (
        f"adapt --preset exbert-s1 --model {tiny_bert} --corpus {text} --max-added 7 --gate"
        f" .98 --no-certificate --out {out} --json"
    ).split()
    assert main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["numbers"]["added"] == 7 and answer["numbers"]["preset"] == "exbert-s1, changed"
    network = open_model(out).network
    assert network.config.gate_start == 0.98
    assert abs(torch.sigmoid(list_gates(network)[0].bias).item() - 0.98) < 1e-6
    made_by = json.loads((out / "manifest.json").read_text())["command"]
    assert "--recipe" in made_by and "recipe.toml" in made_by


def test_a_preset_is_named_in_the_command_line(tiny_bert, tmp_path):
    spec = Spec(AdaptStep(get_preset("exbert-s2")), {"model": str(tiny_bert), "text": "t.txt"})
    assert "--preset exbert-s2" in build_command(spec, tmp_path / "m")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--preset", "exbert-s3"], "a text"),
        (["--preset", "exbert-s6"], "exbert-s6"),
        (["--preset", "green-bert", "--corpus", "{text}", "--gate", ".9"], "a gate"),
        (["--preset", "exbert-s3", "--corpus", "{text}", "--gate", "1"], "below 1"),
        (["--preset", "exbert-no-vocabulary", "--corpus", "{text}"], "not use"),
    ],
)
def test_mistakes_are_reported(given, said, tiny_bert, tmp_path, capsys):
    text = str(write_text(tmp_path / "t.txt"))
    given = [part.replace("{text}", text) for part in given]
    assert main(["adapt", "--model", str(tiny_bert), "--out", str(tmp_path / "m"), *given]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "m").exists()


def test_another_architecture_is_refused_before_anything_long(tiny_bert, tmp_path, exbert):
    with raises_input_error("not-a-bert", "ExBertForMaskedLM"):
        made("exbert-no-vocabulary", tmp_path / "m", exbert)


def test_a_module_goes_with_any_recipe():
    recipe = replace(get_preset("green-bert"), module=ModuleSettings("s1"))
    assert recipe.to_dict()["module"] == {"size": "s1", "gate": 0.5, "seed": 1}
    assert (
        Recipe("x", vocabulary=PlanSettings("same"), module=ModuleSettings("s5")).module.size
        == "s5"
    )


@pytest.mark.parametrize(
    ("head", "said"), [("Model", True), ("ForTokenClassification", True), ("ForMaskedLM", False)]
)
def test_an_extension_that_cannot_be_pretrained_is_reported(head, said, make_bert, tmp_path, show):
    model, text = make_bert(head=f"Bert{head}"), write_text(tmp_path / "text.txt")
    line = f"adapt --preset exbert-s3 --model {model} --no-certificate --corpus {text}"
    shown = show(f"{line} --out {tmp_path}/m")
    assert (UNTRAINABLE in shown) is said
