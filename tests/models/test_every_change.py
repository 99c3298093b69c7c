"""Tiny models with what real ones have: an output layer of its own, lists of ids in
generation_config.json, rows without a token, more tokens than rows. Each is adapted, trimmed,
reduced, packed and reloaded.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from tests.material.architectures import TEXT, build_tiny_model
from tests.material.files import edit_json
from tests.material.model_changes import TRIM, add_words, check_every_change, remove_tokens
from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.layers import get_embeddings, is_tied
from vocadapt.models.model_files import GENERATION
from vocadapt.models.packs.apply import apply_pack
from vocadapt.models.packs.make import make_pack
from vocadapt.vocabulary.plan.plan import PlanSettings

REMOVED = 0.05  # fraction of the tokens: most of a tiny model are characters, which stay
# Keys of generation_config.json with the tokens of their ids, nested as the ids are.
LISTS: dict[str, Any] = {
    "suppress_tokens": ["t", "h"],
    "begin_suppress_tokens": ["e"],
    "bad_words_ids": [["t", "h"], ["a"]],
    "sequence_bias": [[["e", "a"], -1.5]],
}
# Architecture, the multiple to which its rows are padded, whether its output layer is untied, whether
# lists name ids.
MODELS = {
    "untied llama": ("llama", 1, True, False),
    "untied bert": ("bert", 1, True, False),
    "lists of gpt2": ("gpt2", 1, False, True),
    "rows of bert": ("bert", 64, False, False),
    "rows of qwen2": ("qwen2", 64, False, False),
    "rows of xlm-roberta": ("xlm-roberta", 64, False, False),
    "all of qwen3": ("qwen3", 128, True, True),
}


def build(folder: Path, name: str) -> LanguageModel:
    """Build a model; the last row without a token is NaN, as some checkpoints have it."""
    architecture, multiple, untied, has_lists = MODELS[name]
    build_tiny_model(architecture, folder, padded_to=multiple, tie_word_embeddings=not untied)
    if multiple > 1:
        tensors = load_file(folder / "model.safetensors")
        rows = next(
            key for key in tensors if ("embed" in key and "word" in key) or "embed_tokens" in key
        )
        tensors[rows][-1, 0] = float("nan")
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    if has_lists:
        ids = open_model(folder).vocabulary.ids
        edit_json(folder / GENERATION, **replace_leaves(LISTS, ids.__getitem__, str))
    return open_model(folder)


def replace_leaves(value: Any, change: Callable[[Any], Any], kind: type) -> Any:
    """Change every value of a type in nested lists and objects."""
    if isinstance(value, dict):
        return {key: replace_leaves(one, change, kind) for key, one in value.items()}
    if isinstance(value, list):
        return [replace_leaves(one, change, kind) for one in value]
    return change(value) if type(value) is kind else value


def check_model(folder: Path, name: str, unchecked: tuple[str, ...] = ()) -> None:
    _, multiple, untied, has_lists = MODELS[name]
    before = build(folder / "before", name)
    for after in check_every_change(before, TEXT, folder, REMOVED, unchecked):
        n_rows, n_tokens = len(get_embeddings(after.network)), len(after.vocabulary)
        assert n_rows % multiple == 0 and n_rows - n_tokens < 128  # 128 rows are a multiple of it
        assert is_tied(after.network) is not untied
        if has_lists:
            stored = json.loads((after.path / GENERATION).read_text("utf-8"))
            named = replace_leaves(stored, after.vocabulary.tokens.__getitem__, int)
            assert {key: named[key] for key in LISTS} == LISTS


@pytest.mark.parametrize("name", MODELS)
def test_a_tiny_model_goes_through_every_change(tmp_path: Path, name: str) -> None:
    check_model(tmp_path, name, unchecked=("reload",))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_and_is_reloaded_in_a_process_without_vocadapt(tmp_path: Path, name: str) -> None:
    check_model(tmp_path, name)


@pytest.mark.parametrize("architecture", ["llama", "bert"])
def test_more_tokens_than_rows_are_refused_by_every_change(
    tmp_path: Path, architecture: str
) -> None:
    folder = build_tiny_model(architecture, tmp_path / "before")
    adapted = add_words(open_model(folder), None, tmp_path / "adapted")
    pack = make_pack(open_model(folder), adapted, "medicine")
    for file in adapted.path.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    before = open_model(folder)
    n_tokens, n_rows = len(adapted.vocabulary), before.config["vocab_size"]
    changes: tuple[Callable[[], object], ...] = (
        lambda: add_words(before, None, tmp_path / "out"),
        lambda: remove_tokens(before, TRIM, TEXT, tmp_path / "out"),
        lambda: remove_tokens(
            before, PlanSettings("reduce", removed=REMOVED), TEXT, tmp_path / "out"
        ),
        lambda: apply_pack(before, pack, tmp_path / "out"),
    )
    for change in changes:
        with pytest.raises(InputError, match=f"{n_tokens:,} tokens.*{n_rows:,} rows"):
            change()
    assert not (tmp_path / "out").exists()
