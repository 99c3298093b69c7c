"""Damaged and odd model folders: configs, settings of the tokenizer, weights with missing or NaN rows.
Every attempt to trim the model ends in exit code 0, 1 or 2, and a refusal in a sentence.

Every tenth attempt is made in each test run, all of them in the nightly run.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.material.architectures import TEXT, build_tiny_model
from vocadapt.__main__ import main

Change = Callable[[Path], None]
DEEP: Any = 1
for _ in range(200):
    DEEP = [DEEP]
# Odd values of entries that hold ids.
IDS = {
    "eos_token_id": ("x", [None], [[1]], 10**12, -5, 1.5, True, {"a": 1}, []),
    "suppress_tokens": ("x", 7, [1.5], [-1], [10**12], [True], [[1], 2], DEEP),
    "bad_words_ids": ("x", [7], [[]], [["x"]], [[10**12]], {"a": [1]}),
    "sequence_bias": ({"(1, 2)": 1.0}, [[[1, 2]]], [1, 2], "x", [[[1], "x"]], [[[], 1.0]]),
    "forced_decoder_ids": ([[1]], [[1, "x"]], [[1, [2]]], 5),
    "lang_to_id": ("x", [1], {"en": "x"}, {"en": None}, {"en": [1, 2]}),
    "unknown_list": ([1, 2], [[1], [2]], DEEP, [1, "x"]),
    "task_specific_params": ([1], {"a": {"eos_token_id": "x"}}, {"a": {"ids": [1]}}),
}
SETTINGS: dict[str, tuple[Any, ...]] = {
    "added_tokens_decoder": ({"x": {}}, {"0": 5}, [1], {"999999": {"content": "heart"}}),
    "additional_special_tokens": ("x", [1], [{"content": 1}], [["x"]]),
    "chat_template": (5, {"a": 1}, [{"name": "a"}], "{% for %}"),
    "extra_special_tokens": ({"a": 1}, "x", [None]),
    "model_max_length": ("x", -1),
    "padding_side": ("up", 5),
}
LIMITS: dict[str, tuple[Any, ...]] = {
    "padding": ("x", {}, {"strategy": "BatchLongest"}, [1]),
    "truncation": ("x", {}, {"max_length": -1}),
}


def edit(file: str, key: str, value: Any) -> Change:
    """Set an entry of a JSON file of a model."""

    def change(folder: Path) -> None:
        path = folder / file
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        path.write_text(json.dumps(content | {key: value}), encoding="utf-8")

    return change


def write(file: str, content: bytes) -> Change:
    return lambda folder: (folder / file).write_bytes(content) and None


def change_rows(apply: Callable[[dict[str, torch.Tensor], str], None], output: bool) -> Change:
    """Change the embeddings or the output layer."""

    def change(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        name = "lm_head.weight" if output else "model.embed_tokens.weight"
        apply(tensors, name)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    return change


def set_value(row: int, value: float) -> Callable[[dict[str, torch.Tensor], str], None]:
    def fill(tensors: dict[str, torch.Tensor], name: str) -> None:
        tensors[name][row].fill_(value)

    return fill


def drop_rows(tensors: dict[str, torch.Tensor], name: str) -> None:
    tensors[name] = tensors[name][:-9].clone()


def drop(tensors: dict[str, torch.Tensor], name: str) -> None:
    del tensors[name]


def list_attempts() -> dict[str, Change]:
    attempts: dict[str, Change] = {}
    for file in ("config.json", "generation_config.json"):
        for key, values in IDS.items():
            for i, value in enumerate(values):
                attempts[f"{file} {key} {i}"] = edit(file, key, value)
    for file, entries in (("tokenizer_config.json", SETTINGS), ("tokenizer.json", LIMITS)):
        for key, values in entries.items():
            for i, value in enumerate(values):
                attempts[f"{file} {key} {i}"] = edit(file, key, value)
    for file in ("generation_config.json", "tokenizer_config.json", "special_tokens_map.json"):
        for name, content in (("list", b"[]"), ("empty", b""), ("bytes", b"\xff\xfe\x00")):
            attempts[f"{file} is {name}"] = write(file, content)
    attempts["template of bytes"] = write("chat_template.jinja", b"\xff\xfe")
    for output in (False, True):
        for name, apply in (
            ("nan", set_value(5, float("nan"))),
            ("infinite", set_value(-1, float("inf"))),
            ("short", drop_rows),
            ("absent", drop),
        ):
            attempts[f"rows {name} {'output' if output else 'input'}"] = change_rows(apply, output)
    return attempts


ATTEMPTS = list_attempts()


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with an output layer of its own, rows without a token, and a text."""
    root = tmp_path_factory.mktemp("hostile")
    (root / "text.txt").write_text(f"{TEXT[0]}\n", encoding="utf-8")
    return build_tiny_model("llama", root / "model", padded_to=64)


def attempt(intact: Path, root: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = root / "model", root / "out"
    shutil.copytree(intact, folder)
    ATTEMPTS[name](folder)
    capsys.readouterr()
    text = intact.with_name("text.txt")
    arguments = ["--model", str(folder), "--corpus", str(text), "--cover", "1", "--no-certificate"]
    code = main(["vocabulary", "trim", *arguments, "--out", str(out)])
    said = capsys.readouterr().err
    assert code in (0, 2), said
    assert "Traceback" not in said
    if code == 2:
        ends = [line.rpartition("\r")[2] for line in said.split("\n")]  # after a progress bar
        lines = [line for line in ends if line.strip()]
        assert 1 <= len(lines) <= 3 and all(len(line) < 1200 for line in lines), said
        assert not out.exists()


@pytest.mark.parametrize("name", list(ATTEMPTS)[::10])
def test_every_tenth_attempt_ends_in_a_sentence(
    intact: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt(intact, tmp_path, name, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for i, name in enumerate(ATTEMPTS) if i % 10])
def test_every_attempt_ends_in_a_sentence(
    intact: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt(intact, tmp_path, name, capsys)
