"""Pack files from strangers: damaged files, and metadata of wrong types and sizes, are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.material.input_errors import raises_input_error
from tests.material.packs import MEDICAL, build_pack
from vocadapt.errors import InputError
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.apply import apply_pack
from vocadapt.models.packs.pack import METADATA_KEY, load_pack


@pytest.fixture(scope="module")
def pack_file(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid pack; read only."""
    place = tmp_path_factory.mktemp("pack")
    build_pack(tiny_bert, MEDICAL, place, "medical").save(place / "pack.safetensors")
    return place / "pack.safetensors"


def rewrite(
    source: Path,
    out: Path,
    change: Callable[[dict[str, Any]], object] = lambda content: None,
    tensors: dict[str, torch.Tensor] | None = None,
) -> Path:
    """Write a pack again with other metadata or tensors."""
    with safe_open(source, "pt") as stored:
        content = json.loads(stored.metadata()[METADATA_KEY])
    change(content)
    metadata = {METADATA_KEY: json.dumps(content)}
    save_file(load_file(source) | (tensors or {}), out, metadata)
    return out


def set_at(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets the value at a path; the last argument is the value."""
    *keys, last, value = path

    def change(content: Any) -> None:
        for key in keys:
            content = content[key]
        content[last] = value

    return change


def test_an_unchanged_pack_is_read(pack_file: Path, tmp_path: Path) -> None:
    assert load_pack(rewrite(pack_file, tmp_path / "p.safetensors")).tokens == MEDICAL
    assert load_pack(pack_file.parent).tokens == MEDICAL


NAN = float("nan")
CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "format": set_at("format", 1),
    "format text": set_at("format", "2"),
    "no name": lambda content: content.pop("name"),
    "more": set_at("more", 1),
    "name": set_at("name", "../../escaped"),
    "name list": set_at("name", ["a"]),
    "version": set_at("vocadapt", 1),
    "mode": set_at("tokenizer_mode", None),
    "kind": set_at("kind", "transfer"),
    "kind list": set_at("kind", []),
    "base": set_at("base", []),
    "base hash": set_at("base", "sha256", "0" * 63),
    "base hash list": set_at("base", "sha256", []),
    "base width": set_at("base", "width", 17),
    "base width text": set_at("base", "width", "16"),
    "base width true": set_at("base", "width", True),
    "base dtype": set_at("base", "dtype", "float16"),
    "base more": set_at("base", "more", 1),
    "tokens text": set_at("tokens", "abc"),
    "tokens empty": set_at("tokens", []),
    "tokens number": set_at("tokens", [1, 2, 3]),
    "tokens fewer": lambda content: content["tokens"].pop(),
    "token twice": set_at("tokens", 1, "token", "tachycardia"),
    "token blank": set_at("tokens", 1, "token", ""),
    "token more": set_at("tokens", 1, "more", 1),
    "token pieces": set_at("tokens", 1, "pieces", "e"),
    "token piece": set_at("tokens", 1, "pieces", [1]),
    "token count": set_at("tokens", 1, "count", "many"),
    "token form": set_at("tokens", 1, "form_of", None),
    "token way": set_at("tokens", 1, "how", 7),
    "token donors": set_at("tokens", 1, "donors", None),
    "token donor": set_at("tokens", 1, "donors", ["heart"]),
    "token donor weight": set_at("tokens", 1, "donors", [["heart", "0.5"]]),
    "token donor number": set_at("tokens", 1, "donors", [["heart", NAN]]),
    "activated": set_at("activated", [1]),
    "unreachable": set_at("unreachable", ["other"]),
    "unreachable number": set_at("unreachable", 3),
    "lines": set_at("checked_lines", 0.5),
    "sources": set_at("sources", []),
    "sources number": set_at("sources", "quality", {"p@5": NAN}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_damaged_metadata_is_refused(pack_file: Path, tmp_path: Path, name: str) -> None:
    damaged = rewrite(pack_file, tmp_path / "p.safetensors", CHANGES[name])
    with pytest.raises(InputError) as caught:
        load_pack(damaged)
    assert str(damaged) in caught.value.problem and len(caught.value.problem) < 400


def floats(*shape: int, value: float = 0.5, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(shape, value, dtype=dtype)


@pytest.mark.parametrize(
    "tensors",
    [
        {"embeddings": floats(2, 16)},
        {"embeddings": floats(3, 15)},
        {"embeddings": floats(48)},
        {"embeddings": floats(3, 16, dtype=torch.float64)},
        {"embeddings": floats(3, 16, value=1, dtype=torch.int32)},
        {"embeddings": floats(3, 16, dtype=torch.float8_e4m3fn)},
        {"embeddings": floats(3, 16, value=NAN)},
        {"output": floats(3, 16, value=float("inf"), dtype=torch.bfloat16)},
        {"output": floats(3)},
        {"output_bias": floats(3, 1)},
        {"output_bias": floats(4)},
        {"other": floats(3, 16)},
    ],
)
def test_damaged_tensors_are_refused(
    pack_file: Path, tmp_path: Path, tensors: dict[str, torch.Tensor]
) -> None:
    damaged = rewrite(pack_file, tmp_path / "p.safetensors", tensors=tensors)
    with raises_input_error("damaged-pack"):
        load_pack(damaged)


def raw(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(text) if length is None else length
    return size.to_bytes(8, "little") + text + data


ENTRY = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
FILES = {
    "empty": b"",
    "short": b"\x01",
    "no header": raw(b""),
    "header cut off": raw({}, length=50),
    "header of 2**63": raw({}, length=2**63),
    "not JSON": raw(b"{"),
    "not UTF-8": raw(b'{"\xff": 1}'),
    "a list": raw([]),
    "deep": raw(b"[" * 100_000),
    "metadata list": raw({"__metadata__": []}),
    "metadata number": raw({"__metadata__": {"a": 1}}),
    "entry": raw({"a": 3}),
    "dtype": raw({"a": ENTRY | {"dtype": "F4"}}, b"1234"),
    "dtype list": raw({"a": ENTRY | {"dtype": []}}, b"1234"),
    "shape": raw({"a": ENTRY | {"shape": [-1]}}, b"1234"),
    "shape true": raw({"a": ENTRY | {"shape": [True]}}, b"1234"),
    "shape huge": raw({"a": ENTRY | {"shape": [2**62, 2**62]}}, b"1234"),
    "shape deep": raw({"a": ENTRY | {"shape": [1] * 100}}, b"1234"),
    "offsets": raw({"a": ENTRY | {"data_offsets": [0]}}, b"1234"),
    "offsets too far": raw({"a": ENTRY | {"data_offsets": [0, 8]}}, b"1234"),
    "gap": raw({"a": ENTRY | {"data_offsets": [4, 8]}}, b"12345678"),
    "overlap": raw({"a": ENTRY, "b": ENTRY}, b"1234"),
    "data cut off": raw({"a": ENTRY}, b"123"),
    "data too long": raw({"a": ENTRY}, b"12345"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_safetensors_file_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "pack.safetensors"
    file.write_bytes(FILES[name])
    with pytest.raises(InputError):
        load_pack(file)


def test_other_files_are_refused(tiny_bert: Path, tmp_path: Path) -> None:
    with raises_input_error("not-a-pack"):
        load_pack(tiny_bert / "model.safetensors")
    with raises_input_error("missing-file"):
        load_pack(tmp_path)
    with raises_input_error("missing-file"):
        load_pack(tmp_path / "nothing")


TOKENS = {
    "a token of the base": {"tokens": ["heart", "euthymia", "hyperoxia"]},
    "a continuation as an exact word": {"tokens": ["##heart", "euthymia", "hyperoxia"]},
    "an unknown mode": {"tokenizer_mode": "other"},
    "an activated token that the base lacks": {"activated": ["other"]},
}


@pytest.mark.parametrize("name", TOKENS)
def test_tokens_that_cannot_be_added_are_refused(
    pack_file: Path, tiny_bert: Path, tmp_path: Path, name: str
) -> None:
    def change(content: dict[str, Any]) -> None:
        for key, value in TOKENS[name].items():
            if key == "tokens":
                for entry, token in zip(content["tokens"], value, strict=True):
                    entry["token"] = token
            else:
                content[key] = value

    pack = load_pack(rewrite(pack_file, tmp_path / "p.safetensors", change))
    with pytest.raises(InputError):
        apply_pack(open_model(tiny_bert), pack, tmp_path / "out")
