"""Presets with +mlm: adaptation and continued pretraining as one command and one artifact, and
what is stored."""

import json
from argparse import Namespace
from dataclasses import replace

import pytest
import torch

from tests.material.commands import run_line
from tests.material.lab import NEW
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import open_model
from vocadapt.presets import PRESETS, WITH_PRETRAINING, get_preset, is_preset
from vocadapt.recipe_changes import _change_pretraining
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.training.trained_parameters import find_new_ids

pytestmark = pytest.mark.usefixtures("one_thread")

ROWS, BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
QUICK = "--tokens 1024 --length 16 --batch-size 8 --learning-rate 0.003"


@pytest.fixture(scope="module")
def long_vectors(tmp_path_factory, tiny_bert, long_text):
    step = VectorsStep(word2vec=Word2VecSettings(epochs=1, workers=1))
    spec = Spec(step, {"text": str(long_text), "model": str(tiny_bert)})
    return run_step(spec, tmp_path_factory.mktemp("vectors") / "v").folder


@pytest.fixture
def target(make_bert):
    """Another model, whose vocabulary has the words of the text that tiny-bert lacks."""
    return make_bert("target", tokens=[*TINY_TOKENS, *NEW])


def state(folder):
    return open_model(folder).network.state_dict()


def test_green_bert_with_training_of_its_embeddings(tiny_bert, long_text, tmp_path, ask):
    line = f"adapt --model {tiny_bert} --corpus {long_text}"
    ask(f"{line} --preset green-bert --out {tmp_path}/a --no-certificate")
    more = QUICK.replace("1024", "5120")
    answer = ask(f"{line} --preset green-bert+mlm --out {tmp_path}/b {more}")
    told = answer["numbers"]["pretraining"]
    before = state(tmp_path / "a")
    after = state(tmp_path / "b")
    assert (told["stage"], told["tokens"], told["steps"]) == ("embeddings", 5120, 40)
    assert answer["numbers"]["certificate"] is True
    assert told["loss_per_character"]["after"] < told["loss_per_character"]["before"]
    model = open_model(tmp_path / "b")
    new = find_new_ids(model)
    assert {model.vocabulary.tokens[i] for i in new} == set(NEW)
    assert open_base_model(model) is not None
    moved = {name for name in after if not torch.equal(before[name], after[name])} - {
        "cls.predictions.decoder.weight"
    }
    assert moved - {"cls.predictions.decoder.bias"} == {ROWS, BIAS}
    assert set((before[ROWS] != after[ROWS]).any(dim=1).nonzero().flatten().tolist()) <= set(new)
    record = json.loads((tmp_path / "b" / "vocadapt.json").read_text())
    assert record["certificate"]["passed"]
    assert "certified" not in record
    assert len(record["pretraining"]) == 1
    card = (tmp_path / "b" / "README.md").read_text(encoding="utf-8")
    assert "`embeddings`" in card
    assert not list((tmp_path / "b").glob(".*")) and is_preset(get_preset("green-bert+mlm"))
    # Its budget was changed.
    assert "recipe.toml" in json.loads((tmp_path / "b" / "manifest.json").read_text())["command"]


@pytest.mark.slow
def test_a_transfer_with_training_of_the_whole_model(tiny_bert, target, long_text, tmp_path, ask):
    source = tiny_bert
    answer = ask(
        f"adapt --preset transfer-syntactic+mlm --model {source} --target {target}"
        f" --corpus {long_text} --stage continued {QUICK} --out {tmp_path}/m"
    )
    assert answer["numbers"]["certificate"] is True
    assert answer["numbers"]["pretraining"]["frozen"] == 0
    record = json.loads((tmp_path / "m" / "vocadapt.json").read_text())
    assert record["certificate"]["passed"] and record["certified"] == "before the training"
    model = open_model(tmp_path / "m")
    assert model.vocabulary.tokens == open_model(target).vocabulary.tokens
    assert type(model.network) is type(open_model(source).network)
    layer = "bert.encoder.layer.0.output.dense.weight"
    assert not torch.equal(state(source)[layer], state(tmp_path / "m")[layer])


@pytest.mark.parametrize(
    "given",
    [("transfer-syntactic+mlm", "--target"), ("green-bert+mlm", "--vectors")],
    ids=["transfer", "vectors"],
)
def test_a_text_for_the_training_alone_is_not_counted_for_the_plan(
    given, tiny_bert, target, long_vectors, long_text, tmp_path, ask, monkeypatch
):
    def counting(*arguments, **options):
        raise AssertionError("the plan does not look at counts")

    monkeypatch.setattr("vocadapt.lab.steps.adapt.load_or_count_words", counting)
    monkeypatch.setattr("vocadapt.pipeline.count_words", counting)
    name, option = given
    source = target if option == "--target" else long_vectors
    line = f"adapt --preset {name} --model {tiny_bert} {option} {source} --corpus {long_text}"
    numbers = ask(f"{line} --no-certificate {QUICK} --out {tmp_path}/m")["numbers"]
    assert numbers["added"] >= len(NEW) and numbers["pretraining"]["tokens"] == 1024
    assert get_preset(name).needs == {"text", option.removeprefix("--")}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("transfer-semantic+mlm --target {target}", "text"),
        ("green-bert+mlm --corpus {text} --length 100", "64 wordpieces"),
        ("green-bert --corpus {text} --tokens 100", "--tokens"),
        ("green-bert --corpus {text} --stage extension", "extension"),
        ("exbert-s3 --corpus {text} --stage continued", "exBERT"),
        ("green-bert+mlm --corpus {text} --tokens 5 --hours 1", "--hours"),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(
    given, said, tiny_bert, target, long_text, tmp_path, capsys
):
    given = given.format(target=target, text=long_text)
    assert run_line(f"adapt --model {tiny_bert} --out {tmp_path}/w/m --preset {given}") == 2
    found = capsys.readouterr()
    assert said in found.err and len(found.err.splitlines()) <= 3 and not (tmp_path / "w").exists()


def test_a_budget_on_the_command_line_takes_the_place_of_the_recipes(tmp_path):
    recipe = PRESETS["green-bert+mlm"]
    recipe = replace(
        recipe,
        pretraining=replace(
            recipe.pretraining, training=recipe.pretraining.training.with_changes(tokens=5_000_000)
        ),
    )
    options = Namespace(stage=None, num_epochs=3.0, learning_rate=None)
    training = _change_pretraining(recipe, vars(options)).pretraining.training
    assert training.budget == "epochs"
    assert training.epochs == 3.0
    assert training.tokens == 0
    assert training.hours == 0.0
    options.num_epochs, options.learning_rate = None, 2e-3
    training = _change_pretraining(recipe, vars(options)).pretraining.training
    assert training.budget == "tokens"
    assert training.tokens == 5_000_000
    assert training.lr == 2e-3  # none is said: it keeps its own


def test_a_model_without_a_masked_word_head_is_refused_at_once(make_bert, long_text, tmp_path, ask):
    model = make_bert(head="BertModel")
    line = f"adapt --preset green-bert+mlm --model {model} --corpus {long_text} --length 16"
    assert "masked-language-model head" in ask(f"{line} --out {tmp_path}/m", code=2)


def test_progress_never_runs_backwards(tiny_bert, long_text, tmp_path):
    seen = []
    recipe = replace(get_preset("green-bert+mlm"), vectors=Word2VecSettings(epochs=1, workers=1))
    training = replace(recipe.pretraining.training, tokens=256, length=16, batch=8)
    for stage in ("embeddings", "continued"):
        asked = replace(
            recipe, pretraining=replace(recipe.pretraining, stage=stage, training=training)
        )
        spec = Spec(AdaptStep(asked), {"model": str(tiny_bert), "text": str(long_text)})
        run_step(spec, tmp_path / stage, lambda fraction, message="": seen.append(fraction or 0.0))
        assert seen == sorted(seen) and seen[-1] > 0.9
        seen.clear()


def test_every_such_preset_is_its_own_with_training_behind():
    assert [name for name in PRESETS if name.endswith("+mlm")] == [
        f"{name}+mlm" for name in WITH_PRETRAINING
    ]
    for name in WITH_PRETRAINING:
        assert PRESETS[f"{name}+mlm"].needs == PRESETS[name].needs | {"text"}
        assert PRESETS[f"{name}+mlm"].pretraining.stage == "embeddings"
        assert not PRESETS[name].pretraining.stage
