"""Adapted models: unchanged tensors are bit-identical, the folder is an ordinary model folder,
and every head works."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.material.adapted import HEADS, adapted_folder, planned
from tests.material.files import edit_json
from tests.material.model_changes import list_failures
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import CHECKS, Edit, certify, run_check
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings, get_output_layer
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import plan_from_words


@pytest.mark.parametrize("mode", ["exact-word", "insertion"])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_keeps_its_certificate(
    make_bert: Callable[..., Path], tmp_path: Path, head: str, mode: str
) -> None:
    folder = make_bert(head=head)
    edit = Edit(open_model(folder), open_model(adapted_folder(folder, tmp_path / "out", mode)))
    assert list_failures(edit) == {}
    assert edit.added == ("tachycardia", "euthymia", "hypertension")
    assert edit.after.config["architectures"] == [head]


def test_the_files_of_sentence_transformers_are_kept(
    make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_bert(head="BertModel")
    modules = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Normalize"}]
    modules += [{"path": "../outside"}, {"path": 3}, "no module"]  # hostile: not copied
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (folder / "modules.json").write_text(json.dumps(modules))
    out = adapted_folder(folder, tmp_path / "deep" / "out")
    for name in ("modules.json", "1_Pooling/config.json"):
        assert (out / name).read_bytes() == (folder / name).read_bytes()
    assert not (tmp_path / "deep" / "outside").exists()
    (folder / "modules.json").write_text("[{")
    again = adapted_folder(folder, tmp_path / "again")
    assert (again / "modules.json").read_text() == "[{" and not (again / "1_Pooling").exists()


@pytest.mark.usefixtures("fresh_processes")
@pytest.mark.parametrize(
    ("head", "mode"),
    [
        ("BertForPreTraining", "exact-word"),
        pytest.param("BertForTokenClassification", "insertion", marks=pytest.mark.slow),
    ],
)
def test_the_whole_certificate_with_a_fresh_process(
    make_bert: Callable[..., Path], tmp_path: Path, head: str, mode: str
) -> None:
    folder = make_bert(head=head)
    certificate = certify(
        open_model(folder), open_model(adapted_folder(folder, tmp_path / "out", mode))
    )
    assert [check.name for check in certificate.checks] == list(CHECKS)
    assert certificate.passed, certificate.to_dict()


def test_new_rows_and_biases(tiny_bert: Path, tmp_path: Path) -> None:
    model = open_model(tiny_bert)
    plan, rows = planned(model)
    tensors = load_file(apply_plan(model, plan, rows).save(tmp_path / "out") / "model.safetensors")
    assert np.array_equal(
        tensors["bert.embeddings.word_embeddings.weight"][-3:].numpy(), rows.matrix
    )
    assert tensors["cls.predictions.bias"][-3:].tolist() == [0.0, 0.0, 0.0]


def test_the_model_itself_is_not_changed(tiny_bert: Path) -> None:
    model = open_model(tiny_bert)
    before = {name: tensor.clone() for name, tensor in model.network.state_dict().items()}
    apply_plan(model, *planned(model))
    assert all(
        torch.equal(before[name], tensor) for name, tensor in model.network.state_dict().items()
    )
    assert len(model.fast_tokenizer.get_vocab()) == len(model.vocabulary)


def test_replace_renews_shared_words_only(tiny_bert: Path, tmp_path: Path) -> None:
    before, after = (
        open_model(tiny_bert),
        open_model(adapted_folder(tiny_bert, tmp_path / "out", kind="replace")),
    )
    edit = Edit(before, after)
    assert edit.replaced == {"heart", "blood"}
    assert not np.array_equal(before.space["heart"], after.space["heart"])
    assert np.array_equal(before.space["patients"], after.space["patients"])
    assert CHECKS["kept embeddings"](edit)[0]
    assert CHECKS["outputs"](edit)[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_models_stay_half(
    make_bert: Callable[..., Path], tmp_path: Path, dtype: torch.dtype
) -> None:
    folder = make_bert(head="BertModel")
    tensors = {
        name: tensor.to(dtype) for name, tensor in load_file(folder / "model.safetensors").items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    edit_json(folder / "config.json", dtype=str(dtype).removeprefix("torch."))
    edit = Edit(open_model(folder), open_model(adapted_folder(folder, tmp_path / "out")))
    assert edit.after.network.dtype == dtype
    assert all(CHECKS[name](edit)[0] for name in ("kept embeddings", "other tensors", "outputs"))


def test_untied_output_layer_stays_untied_and_gets_rows_of_its_own_space(
    make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_bert(tie_word_embeddings=False)
    model = open_model(folder)
    plan, rows = planned(model)
    after = open_model(apply_plan(model, plan, rows).save(tmp_path / "out"))
    passed, detail = CHECKS["tied head"](Edit(model, after))
    assert passed and detail.count("not tied") == 2
    output = after.network.get_output_embeddings().weight.detach()
    pieces = [model.vocabulary.ids[piece] for piece in plan.added[-1].pieces]
    assert torch.allclose(output[-1], output[pieces].mean(dim=0), atol=1e-7)
    assert np.array_equal(get_embeddings(after.network)[-3:].detach().numpy(), rows.matrix)


def test_a_mapped_initializer_is_fitted_to_the_output_rows(
    make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    """The output rows are the domain's vectors times M: least squares finds M, and the output row of
    a new word is its vector times M, 100 times as long as its embedding.
    """
    folder, rng = make_bert(tie_word_embeddings=False), np.random.default_rng(1)
    model = open_model(folder)
    words = [token for token in model.vocabulary.tokens if token.isalpha() and len(token) > 1]
    vectors = rng.normal(size=(len(words) + 1, 16)).astype(np.float32)
    maps = [rng.normal(scale=scale, size=(16, 16)).astype(np.float32) for scale in (0.01, 1.0)]
    tensors = load_file(folder / "model.safetensors")
    names = ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight")
    ids = [model.vocabulary.ids[word] for word in words]
    for name, mapping in zip(names, maps, strict=True):
        tensors[name][ids] = torch.from_numpy(vectors[:-1] @ mapping)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    model, domain = open_model(folder), EmbeddingSpace((*words, "tachycardia"), vectors)
    plan = plan_from_words(model.vocabulary, model.splitter, domain, PlanSettings("append"))
    alignment = fit_alignment(domain, model.space)
    for method, expected in (("aligned", vectors[-1:] @ maps[1]), ("random-normal", None)):
        materials = Materials(plan, model.space, domain, alignment)
        rows = initialize(materials, InitializerSettings(method))
        after = open_model(apply_plan(model, plan, rows).save(tmp_path / method))
        output = get_output_layer(after.network).weight.detach().numpy()
        if expected is None:
            pieces = [model.vocabulary.ids[piece] for piece in plan.added[0].pieces]
            expected = output[pieces].mean(axis=0)
        else:
            embedding = get_embeddings(after.network)[-1].detach().numpy()
            assert np.allclose(embedding, vectors[-1] @ maps[0], atol=1e-4)
        assert np.allclose(output[-1], expected, atol=1e-3)
        detail = run_check("new embeddings", Edit(model, after)).detail
        assert f"{np.linalg.norm(output[-1]):.3g}" in detail


def test_a_second_head_in_the_file_is_carried_over(
    make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    """bert-base-uncased says BertForMaskedLM and also holds the next-sentence head, which
    transformers would drop.
    """
    folder = make_bert(head="BertForPreTraining")
    edit_json(folder / "config.json", architectures=["BertForMaskedLM"])
    stored = load_file(folder / "model.safetensors")["cls.seq_relationship.weight"]
    out = load_file(adapted_folder(folder, tmp_path / "out") / "model.safetensors")
    assert torch.equal(out["cls.seq_relationship.weight"], stored)


def test_the_saved_folder_is_complete(
    tiny_bert: Path, appended: Path, record: dict[str, Any]
) -> None:
    expected = {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "base",
        "vocadapt.json",
        "README.md",
    }
    assert {path.name for path in appended.iterdir()} >= expected
    assert not list(appended.rglob("*.bin"))
    assert record["plan"]["added"] == 3
    assert record["provenance"]["tokens"]["tachycardia"] == [0, [["tachycardia", 1.0]]]
    assert (
        open_model(appended / "base").vocabulary.tokens == open_model(tiny_bert).vocabulary.tokens
    )


def test_an_adapted_model_can_be_adapted_again(appended: Path, tmp_path: Path) -> None:
    first = open_model(appended)
    domain = EmbeddingSpace(("bradycardia", "heart"), np.ones((2, first.dim), np.float32))
    plan = plan_from_words(first.vocabulary, first.splitter, domain)
    rows = initialize(Materials(plan, first.space, domain), InitializerSettings("identity"))
    second = open_model(apply_plan(first, plan, rows).save(tmp_path / "second"))
    assert second.tokenizer.tokenize("tachycardia bradycardia") == ["tachycardia", "bradycardia"]
    assert np.array_equal(second.space["tachycardia"], first.space["tachycardia"])
