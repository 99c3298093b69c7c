"""Finding and reading models, and refusing models that transformers would load with only a
warning."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.errors import InputError
from vocadapt.models.language_model import open_model
from vocadapt.models.model_folder import name_of


def test_the_light_parts_need_neither_torch_nor_transformers(tiny_bert: Path) -> None:
    script = (
        "import sys; from vocadapt.models.language_model import open_model; m ="
        " open_model(sys.argv[1]);assert m.space.matrix.shape == (len(m.vocabulary), m.dim) and"
        " m.splitter.words('A b') == ['a', 'b'];assert not {'torch', 'transformers', 'scipy',"
        " 'gensim'} & set(sys.modules), 'heavy import'"
    )
    subprocess.run([sys.executable, "-c", script, str(tiny_bert)], check=True)


def test_rows_are_the_networks_own(tiny_bert: Path) -> None:
    model = open_model(tiny_bert)
    weight = model.network.get_input_embeddings().weight.detach().numpy()
    assert model.space.words == tuple(TINY_TOKENS)
    assert np.array_equal(model.space.matrix, weight)
    assert not model.network.training


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rows_are_read_as_float32(
    make_bert: Callable[..., Path], dtype: torch.dtype
) -> None:
    folder = make_bert()
    tensors = {
        name: tensor.to(dtype) for name, tensor in load_file(folder / "model.safetensors").items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    model = open_model(folder)
    expected = tensors["bert.embeddings.word_embeddings.weight"].float().numpy()
    assert np.array_equal(model.space.matrix, expected)
    assert model.network.dtype == dtype


def test_real_minilm(minilm: str) -> None:
    model = open_model(minilm)
    assert model.space.matrix.shape == (30522, 384)
    assert model.vocabulary.tokenize("immunohistochemistry") == (
        "im",
        "##mun",
        "##oh",
        "##isto",
        "##chemist",
        "##ry",
    )
    assert model.splitter.lowercase


def test_both_tokenizers_agree_and_never_truncate(minilm: str) -> None:
    model = open_model(minilm)
    text = "Immunohistochemistry of 5-fluorouracil in naïve patients, " * 40
    assert model.tokenizer(text)["input_ids"] == model.fast_tokenizer.encode(text).ids
    assert len(model.fast_tokenizer.encode(text).ids) > 512


def test_a_custom_normalizer_survives(make_bert: Callable[..., Path]) -> None:
    """transformers 5 rebuilds a BertTokenizer and drops it; the stored tokenizer.json is
    believed.
    """
    folder = make_bert()
    replace = {"type": "Replace", "pattern": {"String": "µ"}, "content": "u"}
    custom = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, replace]}
    edit_json(folder / "tokenizer.json", normalizer=custom)
    model = open_model(folder)
    assert (
        model.tokenizer.tokenize("µ")
        == model.fast_tokenizer.encode("µ", add_special_tokens=False).tokens
        == ["u"]
    )


def test_a_cased_vocab_txt_folder_stays_cased(make_bert: Callable[..., Path]) -> None:
    folder = make_bert(tokens=[*TINY_TOKENS, "Heart"], lowercase=False)
    (folder / "vocab.txt").write_text("\n".join([*TINY_TOKENS, "Heart"]) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert open_model(folder).tokenizer.tokenize("Heart heart") == ["Heart", "heart"]


def test_a_bare_vocabulary_has_words_but_no_rows(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n", encoding="utf-8")
    model = open_model(tmp_path / "vocab.txt")
    assert model.vocabulary.tokenize("hypertension") == ("hyper", "##tension")
    with raises_input_error("bare-vocabulary"):
        _ = model.space


def test_unused_rows_of_a_padded_matrix_are_no_tokens(make_bert: Callable[..., Path]) -> None:
    folder = make_bert(tokens=[*TINY_TOKENS, *(f"[unused{i}]" for i in range(1, 9))])
    shutil.copy(make_bert("other") / "tokenizer.json", folder / "tokenizer.json")
    assert open_model(folder).space.words == tuple(TINY_TOKENS)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda f: (f / "model.safetensors").unlink(), "no-weights"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "pickled-weights"),
        (lambda f: (f / "model.safetensors").write_bytes(b"no tensors here"), "damaged-weights"),
        (lambda f: (f / "config.json").unlink(), "no-config"),
        (lambda f: (f / "config.json").write_text("[1]"), "not-a-json-object"),
        (lambda f: save_file({"w": torch.ones(2)}, f / "model.safetensors"), "no-embeddings"),
        (
            lambda f: edit_json(f / "tokenizer.json", added_tokens=[_added(900)]),
            "more-tokens-than-rows",
        ),
    ],
)
def test_damaged_folders(
    make_bert: Callable[..., Path], damage: Callable[[Path], object], code: str
) -> None:
    folder = make_bert()
    damage(folder)
    with raises_input_error(code):
        _ = open_model(folder).space


def _added(token_id: int) -> dict[str, object]:
    flags = {
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": True,
        "special": False,
    }
    return {"id": token_id, "content": "extra", **flags}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"architectures": ["FancyBertV9"]}, "unknown-architecture"),
        ({"architectures": []}, "no-architecture"),
        ({"architectures": ["BertForQuestionAnswering"]}, "missing-tensors"),
        ({"intermediate_size": 48}, "config-mismatch"),
    ],
)
def test_heads_that_are_not_there(
    make_bert: Callable[..., Path], changes: dict[str, object], code: str
) -> None:
    folder = make_bert()
    edit_json(folder / "config.json", **changes)
    with raises_input_error(code):
        _ = open_model(folder).network


@pytest.mark.parametrize(
    "name", ["./no/such/folder", "../../x", "a/b/c", "", "no-such-model-anywhere", "x" * 300]
)
def test_models_that_do_not_exist(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # two folders up from anywhere else there may be an x
    with pytest.raises(InputError) as error:
        _ = open_model(name or "/nowhere/at all", offline=True).space
    assert error.value.code in ("missing-file", "unknown-model")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/x/minilm/model", "minilm"),
        ("/w/models/final", "final"),
        ("/bert", "bert"),
        ("/final", "final"),
    ],
)
def test_a_folder_without_a_telling_name_is_named_after_its_parent(folder: str, name: str) -> None:
    assert name_of(Path(folder)) == name
