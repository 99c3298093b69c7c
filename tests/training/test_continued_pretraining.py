"""Continued pretraining by stages: which tensors change, to the bit; budgets, accumulation,
resuming, the saved folder."""

import json
import re
import shutil
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from tests.material.commands import run_line
from tests.material.exbert import made
from tests.material.input_errors import raises_input_error
from tests.material.nightly import mark_slow
from tests.material.pretraining import QUICK, trained
from vocadapt.errors import Canceled
from vocadapt.lab.steps.command_lines import build_arguments
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.step import Spec
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.certificate.certificate import Edit, run_check
from vocadapt.models.extension_size import is_extension_tensor
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked.continued import ContinuedSettings, continue_pretraining
from vocadapt.training.masked.settings import STAGES, pretraining_preset, select_trained_parameters
from vocadapt.training.masked.validation import HeldOutValidator
from vocadapt.training.tasks.seen_examples import read_seen, write_seen
from vocadapt.training.trained_parameters import find_new_ids

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny_bert, long_text):
    """tiny-bert, and what the presets make of it; read only."""
    place = tmp_path_factory.mktemp("models")
    names = ("exbert-s3", "exbert-no-module", "exbert-no-vocabulary")
    return {"bert": tiny_bert} | {
        name: made(name, place / name, tiny_bert, long_text) for name in names
    }


def tensors(folder):
    return {
        name: value.detach().clone()
        for name, value in open_model(folder).network.state_dict().items()
    }


def moved(before, after):
    """Names of the tensors that moved, and of one entry for each token the ids of those that
    did.
    """
    old, new = tensors(before), tensors(after)
    names = {name for name in old if not torch.equal(old[name], new[name])}
    rows = "bert.embeddings.word_embeddings.weight"
    ids = set((old[rows] != new[rows]).any(dim=1).nonzero().flatten().tolist())
    return {name for name in names if not name.startswith("cls.predictions.decoder")}, ids


ROWS, BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"


def test_the_stage_extension_leaves_all_of_bert_bit_equal(folders, long_text, tmp_path):
    source, out = folders["exbert-s3"], tmp_path / "m"
    done = trained(source, long_text, out, "extension")
    names, ids = moved(source, out)
    assert {name for name in names if not is_extension_tensor(name)} == {ROWS, BIAS}
    assert {name for name in tensors(source) if is_extension_tensor(name)} <= names
    new = set(find_new_ids(open_model(source)))
    assert ids
    assert (
        ids
        <= new
        == set(
            range(
                len(open_base_model(open_model(source)).vocabulary),
                len(open_model(source).vocabulary),
            )
        )
    )
    biases = (tensors(source)[BIAS] != tensors(out)[BIAS]).nonzero().flatten().tolist()
    assert set(biases) <= new
    by_hand = (
        sum(v.numel() for n, v in tensors(source).items() if is_extension_tensor(n)) + len(new) * 17
    )
    assert done.trained.trainable == by_hand
    assert (
        done.trained.trainable + done.trained.frozen == open_model(source).network.num_parameters()
    )
    assert done.losses.after.per_character < done.losses.before.per_character
    edit = Edit(open_model(folders["bert"]), open_model(out))
    checks = (
        "kept embeddings",
        "token ids",
        "tied head",
        "output bias",
        "other tensors",
        "outputs",
        "new embeddings",
        "vocabulary size",
    )
    assert [name for name in checks if not run_check(name, edit).passed] == []


def test_the_heads_are_trained_where_they_are_asked_for(folders, long_text, tmp_path):
    source, out = folders["exbert-s3"], tmp_path / "m"
    trained(source, long_text, out, "extension", train_heads=True)
    names, ids = moved(source, out)
    heads = {name for name in names if name.startswith("cls.predictions.transform")}
    assert {name for name in names if not is_extension_tensor(name)} == {ROWS, BIAS} | heads
    assert len(heads) == 4
    assert ids <= set(find_new_ids(open_model(source)))
    assert (tensors(source)[BIAS] != tensors(out)[BIAS]).float().mean() > 0.9


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("exbert-s3", "whole"),
        ("bert", "continued"),
        ("exbert-no-module", "whole"),
        ("exbert-no-vocabulary", "extension"),
        ("exbert-no-module", "embeddings"),
        ("bert", "embeddings"),
    ],
)
def test_what_each_stage_trains(name, stage, folders, long_text, tmp_path):
    source, out = folders[name], tmp_path / "m"
    done = trained(source, long_text, out, stage)
    names, ids = moved(source, out)
    everything = {n for n in tensors(source) if not n.startswith("cls.predictions.decoder")}
    if stage in ("whole", "continued"):
        assert names == everything and done.trained.frozen == 0
    elif name == "exbert-no-vocabulary":
        assert names and all(is_extension_tensor(n) for n in names) and not ids
    else:
        assert names == {ROWS, BIAS}
        assert ids <= set(find_new_ids(open_model(source)) or range(10**6)) and ids
    assert done.losses.after.per_character < done.losses.before.per_character
    assert type(open_model(out).network) is type(open_model(source).network)


@pytest.mark.parametrize(
    "behind", [False, True]
)  # the others, as exBERT's new tokens are, or among them
def test_rows_apart_have_the_gradients_of_the_whole_matrix(behind, folders):
    whole = open_model(folders["exbert-s3"]).network
    size = whole.config.vocab_size
    ids, new = (
        torch.tensor([[2, 60, 120, size - 1, 3]]),
        ([size - 2, size - 1] if behind else [60, size - 1]),
    )
    whole(ids, labels=ids).loss.backward()
    parts = open_model(folders["exbert-s3"]).network
    separated = select_trained_parameters(parts, "extension", new)
    parts(ids, labels=ids).loss.backward()
    assert torch.allclose(separated.rows.trained.grad, get_embeddings(whole).grad[new], atol=1e-6)
    assert torch.allclose(
        separated.output.trained_bias.grad, whole.cls.predictions.bias.grad[new], atol=1e-6
    )
    assert not separated.rows.fixed.requires_grad
    moving = {name for name, value in parts.named_parameters() if value.grad is not None}
    assert all(
        is_extension_tensor(name)
        or name.endswith(("word_embeddings.trained", "decoder.trained_bias"))
        for name in moving
    )


@pytest.mark.parametrize(
    ("name", "stage", "how"),
    [
        ("exbert-s3", "extension", {"dropout": 0.3, "parts": 4}),
        *mark_slow([("bert", "continued", {}), ("exbert-s3", "extension", {})]),
    ],
)
def test_a_run_stopped_twice_ends_as_one_that_was_not(
    name, stage, how, folders, long_text, tmp_path
):
    training = replace(QUICK, tokens=16 * 8 * 6, save_minutes=1e-6, **how)
    settings = ContinuedSettings(stage, training=training)
    model, corpus = folders[name], open_corpus([long_text])
    (tmp_path / "whole").mkdir()
    expected = continue_pretraining(
        open_model(model), corpus, settings, tmp_path / "whole"
    ).loaded.network.state_dict()
    folder = tmp_path / "stopped"
    folder.mkdir()
    for stop in (2, 4, None):

        def progress(fraction, message="", stop=stop):
            if stop is not None and f"step {stop} " in message:
                raise Canceled

        try:
            done = continue_pretraining(open_model(model), corpus, settings, folder, progress)
        except Canceled:
            assert list(folder.glob("checkpoint-*/moving.safetensors"))
    for key, value in done.loaded.network.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), expected[key].numpy(), err_msg=key)


def test_models_saved_on_the_way_outlive_a_save_that_fails(
    folders, long_text, tmp_path, monkeypatch
):
    settings = ContinuedSettings(
        "continued", keep_minutes=1e-6, training=replace(QUICK, tokens=16 * 8 * 2)
    )
    for name in ("work", "full", "out"):
        (tmp_path / name).mkdir()
    done = continue_pretraining(
        open_model(folders["bert"]), open_corpus([long_text]), settings, tmp_path / "work"
    )
    with monkeypatch.context() as patched, pytest.raises(OSError, match="full"):
        patched.setattr(shutil, "copytree", Mock(side_effect=OSError("full")))
        done.save(tmp_path / "full")
    shutil.rmtree(tmp_path / "full")
    done.save(tmp_path / "out")
    shutil.rmtree(tmp_path / "work")  # what the job does in the end
    for step in (1, 2):
        assert (
            open_model(tmp_path / "out" / "checkpoints" / f"step-{step}").network.num_parameters()
            > 0
        )


def test_a_step_read_in_parts_is_the_same_step(folders, long_text, tmp_path):
    steps = replace(QUICK, tokens=16 * 8 * 3, lr=1e-3)
    whole = trained(folders["bert"], long_text, tmp_path / "a", "continued", training=steps)
    parts = trained(
        folders["bert"], long_text, tmp_path / "b", "continued", training=replace(steps, parts=4)
    )
    assert parts.trained.steps == whole.trained.steps == 3
    assert parts.trained.tokens == whole.trained.tokens
    assert parts.losses.after.per_character == pytest.approx(
        whole.losses.after.per_character, rel=1e-4
    )
    assert parts.trained.curve[0][1] == pytest.approx(whole.trained.curve[0][1], rel=1e-4)
    for (
        key,
        value,
    ) in (
        parts.loaded.network.state_dict().items()
    ):  # AdamW's first steps are by sign: a mean of means shows here
        np.testing.assert_allclose(
            value.numpy(), whole.loaded.network.state_dict()[key].numpy(), atol=2e-4, err_msg=key
        )


def test_the_folder_is_the_same_kind_of_folder_and_tells_of_the_training(
    folders, long_text, tmp_path
):
    source, out = tmp_path / "source", tmp_path / "m"
    shutil.copytree(folders["exbert-s3"], source)
    write_seen(["0123456789abcdef"], source)
    short = replace(QUICK, tokens=16 * 8 * 3)
    first = trained(source, long_text, out, "extension", keep_minutes=1e-6, training=short)
    model = open_model(out)
    assert read_seen(out) == {
        "0123456789abcdef"
    }  # what it was fine-tuned on before is not forgotten
    assert model.vocabulary.tokens == open_model(source).vocabulary.tokens
    assert open_base_model(model) is not None
    record = json.loads((out / "vocadapt.json").read_text())
    assert [told["stage"] for told in record["pretraining"]] == ["extension"]
    assert record["certificate"] is None
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "`extension`, 384" in card and "no certificate" in card
    kept = list(first.report.checkpoints)
    assert kept == [f"checkpoints/step-{step}" for step in range(1, 4)]
    last, early = tensors(out / kept[-1]), tensors(out / kept[0])
    assert all(torch.equal(last[name], value) for name, value in tensors(out).items())
    assert not torch.equal(early[ROWS], last[ROWS])
    trained(out, long_text, tmp_path / "again", "whole", training=short)
    stages = [
        told["stage"]
        for told in json.loads((tmp_path / "again" / "vocadapt.json").read_text())["pretraining"]
    ]
    assert stages == ["extension", "whole"]


@pytest.mark.parametrize(("steps", "said"), [(6, "step 2 of 6"), (1, "step 1 of 1")])
def test_a_training_that_diverges_is_reported_and_leaves_nothing(
    steps, said, folders, long_text, tmp_path
):
    wild = replace(QUICK, lr=1e38, tokens=16 * 8 * steps, warm_up=0.0, schedule="constant")
    with raises_input_error("diverged", "nan", said):
        trained(folders["bert"], long_text, tmp_path / "m", "continued", training=wild)
    assert not list((tmp_path / "m").iterdir())


def test_the_command_answers_in_json(folders, long_text, tmp_path, ask):
    out = tmp_path / "m"
    answer = ask(
        f"pretrain --model {folders['exbert-s3']} --corpus {long_text} --stage extension"
        f" --out {out} --tokens 512 --length 16 --batch-size 8 --keep-minutes 0.000001"
    )
    assert (answer["stage"], answer["tokens"], answer["steps"]) == ("extension", 512, 4)
    assert set(answer["loss_per_character"]) == {"before", "after", "unigram"}
    assert answer["tokens_per_second"] > 0
    assert answer["checkpoints"] == [f"{out}/checkpoints/step-{step}" for step in range(1, 5)]
    assert answer["trainable"] + answer["frozen"] == open_model(out).network.num_parameters()
    assert "--stage extension" in json.loads((out / "manifest.json").read_text())["command"]


def test_a_command_that_was_killed_goes_on_from_its_checkpoints(
    folders, long_text, tmp_path, capsys, monkeypatch
):
    line = (
        f"pretrain --model {folders['bert']} --corpus {long_text} --stage continued --length 16"
        " --batch-size 8 --tokens 768 --save-minutes 0.000001"
    )
    assert run_line(f"{line} --out {tmp_path}/whole") == 0
    kept = f"{line} --checkpoints {tmp_path}/kept --out {tmp_path}/m"
    once, validated = HeldOutValidator.__call__, []

    def stop(self, step):
        once(self, step)
        validated.append(step)
        if step == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(HeldOutValidator, "__call__", stop)
        assert run_line(kept) != 0
    assert not (tmp_path / "m").exists() and list((tmp_path / "kept").glob("checkpoint-*"))
    capsys.readouterr()
    assert run_line(f"{kept} --learning-rate 0.5") == 2
    assert f"{tmp_path}/kept" in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr(
            HeldOutValidator,
            "__call__",
            lambda self, step: (once(self, step), validated.append(step))[0],
        )
        assert run_line(kept) == 0
    assert validated == [*range(1, 5), *range(4, 7)] and not (tmp_path / "kept").exists()
    for key, value in tensors(tmp_path / "whole").items():
        assert torch.equal(value, tensors(tmp_path / "m")[key]), key


def test_few_steps_are_reported_and_losses_have_three_decimals(folders, long_text, tmp_path, show):
    shown = show(
        f"pretrain --model {folders['bert']} --corpus {long_text} --stage continued --length 16"
        f" --tokens 512 --out {tmp_path}/m"
    )
    assert "Few steps" in shown
    assert re.search(r"after\s+\d\.\d{3}\s+\(95%", shown)


def test_its_command_line_is_the_step(tmp_path):
    further = ContinuedSettings(
        "whole", keep_minutes=2.5, training=pretraining_preset("exbert", hours=1.0)
    )
    spec = Spec(ContinuePretrainingStep(pretraining=further), {"model": "m", "text": "t.txt"})
    command = (
        "pretrain --model m --corpus t.txt --stage whole --keep-minutes 2.5 --batch-size 256"
        " --hours 1.0 --warmup-ratio 0.0 --dropout 0.1 --gradient-accumulation-steps 16"
        f" --out {tmp_path}/m"
    )
    assert build_arguments(spec, tmp_path / "m")[3:] == command.split()


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("bert", "--stage extension", "no extension"),
        ("exbert-s3", "--stage continued", "exBERT"),
        ("bert", "", "--stage"),
        ("bert", "--stage whole --train-heads", "stage whole"),
        ("bert", "--stage whole --layers 3", "--layers"),
        ("bert", "--stage whole --length 128", "64 wordpieces"),
        ("bert", "--stage whole --from-scratch", "--stage S"),
        (
            "bert",
            "--stage whole --length 16 --batch-size 6 --gradient-accumulation-steps 4",
            "4 gradient",
        ),
        ("bert", "--stage whole --keep-minutes -1", "--keep-minutes"),
        ("bert", "--stage half", "choose"),
        ("bert", "--stage whole --length 16 --hours 0", "0.0 (--hours)"),
        ("bert", "--stage whole --length 16 --tokens -5", "--tokens"),
        (
            "bert",
            "--stage whole --length 16 --batch-size 16 --gradient-accumulation-steps 5",
            "one of: 1, 2, 4, 8, 16",
        ),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(
    model, given, said, folders, long_text, tmp_path, capsys
):
    line = f"pretrain --model {folders[model]} --corpus {long_text} --out {tmp_path}/w/m"
    assert run_line(f"{line} {given}") == 2
    found = capsys.readouterr()
    assert said in found.err and not found.out and len(found.err.splitlines()) <= 3
    assert not (tmp_path / "w").exists()


def test_a_model_without_a_masked_word_head_is_refused(make_bert, long_text, tmp_path):
    source = make_bert(head="BertModel")
    for stage in ("continued", "embeddings"):
        with raises_input_error("unsuitable-model", "BertModel"):
            continue_pretraining(
                open_model(source),
                open_corpus([long_text]),
                ContinuedSettings(stage, training=QUICK),
                tmp_path,
            )


def test_every_stage_says_what_it_trains():
    assert list(STAGES) == ["extension", "whole", "continued", "embeddings"]
    with raises_input_error("unknown-choice"):
        pretraining_preset("thesis")
