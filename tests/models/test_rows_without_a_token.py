"""Rows without a token that hold NaN are no fault; an embedding of a token that is not finite is named."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from tests.material.architectures import build_tiny_model
from tests.material.input_errors import raises_input_error
from tests.material.packs import adapt_words
from tests.material.stated_numbers import find_numbers
from vocadapt.models.certificate.certificate import CHECKS, Edit, run_check
from vocadapt.models.heads import SEQUENCE, load_with_new_head
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings

ROWS = "bert.embeddings.word_embeddings.weight"


def build_with_nan(folder: Path, place: int) -> Path:
    """A BERT of 151 tokens in 192 rows with a NaN in a row."""
    build_tiny_model("bert", folder, padded_to=64)
    tensors = load_file(folder / "model.safetensors")
    tensors[ROWS][place, 3] = float("nan")
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def test_rows_without_a_token_may_hold_nan(tmp_path: Path) -> None:
    folder = build_with_nan(tmp_path / "before", 191)
    model = open_model(folder)
    check = run_check("kept embeddings", Edit(model, open_model(folder)))
    assert check.passed and find_numbers(check.detail)[-1] == 1  # a row that is not finite
    after = open_model(adapt_words(folder, ("tachycardia", "euthymia"), tmp_path / "after"))
    edit = Edit(model, after)
    found = [run_check(name, edit) for name in CHECKS if name != "reload"]
    assert {one.name: one.detail for one in found if not one.passed} == {}
    assert torch.isnan(get_embeddings(after.network)).sum() == 1
    tuned = load_with_new_head(after, SEQUENCE, ("a", "b"), seed=1)
    assert all(value.isfinite().all() for value in tuned.parameters())


def test_a_token_whose_embedding_is_not_finite_is_named(tmp_path: Path) -> None:
    model = open_model(build_with_nan(tmp_path / "before", 20))
    token = model.vocabulary.tokens[20]
    for read in (lambda: model.space, lambda: model.network):
        with raises_input_error("not-finite", "1 of 151") as found:
            read()
        assert json.dumps(token)[1:-1] in found.value.problem and "id 20" in found.value.problem
