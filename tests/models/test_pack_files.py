"""Pack files from strangers: damaged files, and metadata of wrong types and sizes, are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.material.packs import MEDICAL, build_pack
from vocadapt.errors import InputError
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.apply import apply_pack
from vocadapt.models.packs.pack import METADATA_KEY, StoredRows, load_pack
from vocadapt.models.packs.stored_weights import (
    Place,
    copy_tensors,
    hash_file,
    lay_out,
    read_header,
    read_tensor,
    write_tensors,
)


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
    tensors: dict[str, StoredRows] | None = None,
) -> Path:
    """Write a pack again with other metadata or tensors."""
    header = read_header(source)
    assert header.metadata is not None
    content = json.loads(header.metadata[METADATA_KEY])
    change(content)
    rows = {
        name: StoredRows(place.dtype, place.shape, read_tensor(source, header, name))
        for name, place in header.tensors.items()
    } | (tensors or {})
    places = {name: Place(one.dtype, one.shape) for name, one in rows.items()}
    metadata = {METADATA_KEY: json.dumps(content)}
    write_tensors(out, lay_out(places, metadata), {name: one.data for name, one in rows.items()})
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
CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "format": set_at("format", 2),
    "format text": set_at("format", "1"),
    "no name": lambda content: content.pop("name"),
    "name": set_at("name", "../../escaped"),
    "name list": set_at("name", ["a"]),
    "version": set_at("vocadapt", 1),
    "mode": set_at("tokenizer_mode", None),
    "tokens text": set_at("tokens", "abc"),
    "tokens empty": set_at("tokens", []),
    "tokens number": set_at("tokens", [1, 2, 3]),
    "tokens twice": set_at("tokens", ["a", "a", "b"]),
    "tokens blank": set_at("tokens", ["a", "", "b"]),
    "tokens fewer": set_at("tokens", list(MEDICAL[:2])),
    "base": set_at("base", []),
    "base hash": set_at("base", "sha256", "0" * 63),
    "base hash list": set_at("base", "sha256", []),
    "base width": set_at("base", "width", 17),
    "base width text": set_at("base", "width", "16"),
    "base width true": set_at("base", "width", True),
    "base dtype": set_at("base", "dtype", "F16"),
    "base more": set_at("base", "more", 1),
    "plan": set_at("plan", None),
    "plan kind": set_at("plan", "kind", "transfer"),
    "plan kind list": set_at("plan", "kind", []),
    "plan entries": set_at("plan", "added_tokens", {}),
    "plan entry": set_at("plan", "added_tokens", 1, ["tachycardia", [], None]),
    "plan entry short": set_at("plan", "added_tokens", 1, ["euthymia"]),
    "plan entry pieces": set_at("plan", "added_tokens", 1, ["euthymia", "e", None]),
    "plan entry count": set_at("plan", "added_tokens", 1, ["euthymia", [], "many"]),
    "plan entry more": set_at("plan", "added_tokens", 1, ["euthymia", [], 1, {}]),
    "plan left out": set_at("plan", "left_out", [1]),
    "plan left out count": set_at("plan", "left_out", {"a": "b"}),
    "plan silent": set_at("plan", "silent_tokens", ["other"]),
    "plan silent number": set_at("plan", "silent_tokens", 3),
    "provenance": set_at("provenance", "x"),
    "provenance ways": set_at("provenance", "how", [1]),
    "provenance tokens": set_at("provenance", "tokens", {}),
    "provenance way": set_at("provenance", "tokens", "euthymia", [7, []]),
    "provenance way below": set_at("provenance", "tokens", "euthymia", [-1, []]),
    "provenance way true": set_at("provenance", "tokens", "euthymia", [True, []]),
    "provenance donors": set_at("provenance", "tokens", "euthymia", [0, None]),
    "sources": set_at("sources", []),
    "sources number": set_at("sources", "quality", {"p@5": NAN}),
    "patch": set_at("tokenizer_patch", {}),
    "patch step": set_at("tokenizer_patch", 0, {"path": [], "remove": 1}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_damaged_metadata_is_refused(pack_file: Path, tmp_path: Path, name: str) -> None:
    damaged = rewrite(pack_file, tmp_path / "p.safetensors", CHANGES[name])
    with pytest.raises(InputError) as caught:
        load_pack(damaged)
    assert str(damaged) in caught.value.problem and len(caught.value.problem) < 400


def floats(*shape: int, value: float = 0.5, dtype: str = "<f4") -> StoredRows:
    names = {"<f4": "F32", "<f8": "F64", "<f2": "F16", "<i4": "I32"}
    return StoredRows(names[dtype], shape, np.full(shape, value, dtype).tobytes())


@pytest.mark.parametrize(
    "tensors",
    [
        {"embeddings": floats(2, 16)},
        {"embeddings": floats(3, 15)},
        {"embeddings": floats(48)},
        {"embeddings": floats(3, 16, dtype="<f8")},
        {"embeddings": floats(3, 16, dtype="<i4")},
        {"embeddings": floats(3, 16, value=NAN)},
        {"embeddings": StoredRows("BF16", (3, 16), b"\x80\x7f" * 48)},  # infinity
        {"output": floats(3, 16, value=float("inf"))},
        {"output": floats(3)},
        {"output_bias": floats(3, 1)},
        {"output_bias": floats(4)},
        {"other": floats(3, 16)},
    ],
)
def test_damaged_tensors_are_refused(
    pack_file: Path, tmp_path: Path, tensors: dict[str, StoredRows]
) -> None:
    change = CHANGES["sources"]
    if tensors.get("embeddings") and tensors["embeddings"].dtype == "BF16":
        change = set_at("base", "dtype", "BF16")
    else:
        change = lambda content: None  # noqa: E731
    damaged = rewrite(pack_file, tmp_path / "p.safetensors", change, tensors)
    with pytest.raises(InputError, match="is not a valid vocabulary pack"):
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
    with pytest.raises(InputError, match="but not a vocabulary pack"):
        load_pack(tiny_bert / "model.safetensors")
    with pytest.raises(InputError, match="no such file"):
        load_pack(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_pack(tmp_path / "nothing")


def added_token(content: str, i: int) -> dict[str, Any]:
    return {
        "id": i,
        "content": content,
        "single_word": True,
        "lstrip": False,
        "rstrip": False,
        "normalized": True,
        "special": False,
    }


PATCHES = {
    "no token": [],
    "another token": [{"path": ["added_tokens"], "append": [added_token("other", 151)]}],
    "a token of the base": [{"path": ["added_tokens"], "append": [added_token("heart", 151)]}],
    "no added token": [{"path": ["added_tokens"], "append": [{"content": 1}]}],
    "no place": [{"path": ["model", "merges"], "append": ["a b"]}],
    "no model": [{"path": ["model", "unk_token"], "change": ["[UNK]", 7]}],
    "slow pattern": [
        {
            "path": ["normalizer"],
            "add": {
                "type": "Replace",
                "pattern": {"Regex": "(a+)+$"},
                "content": "",
            },
        }
    ],
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_that_gives_other_tokens_is_refused(
    pack_file: Path, tiny_bert: Path, tmp_path: Path, name: str
) -> None:
    change = set_at("tokenizer_patch", PATCHES[name])
    pack = load_pack(rewrite(pack_file, tmp_path / "p.safetensors", change))
    with pytest.raises(InputError):
        apply_pack(open_model(tiny_bert), pack, tmp_path / "out")


# Safetensors files byte by byte


def test_tensors_get_longer_and_shorter_by_rows(tmp_path: Path) -> None:
    """A matrix of 3 rows and a number: 5 rows, then 3 again, byte by byte."""
    places = {"n": Place("I64", ()), "m": Place("U8", (3, 2)), "none": Place("F32", (0, 4))}
    data = {"n": bytes(range(8)), "m": b"AABBCC", "none": b""}
    header = lay_out(places, {"x": "ä"})
    write_tensors(tmp_path / "old", header, data)
    longer = read_header(tmp_path / "old").with_shapes({"m": (5, 2)})
    digest = copy_tensors(tmp_path / "old", tmp_path / "new", longer, {"m": b"DDEE"})
    assert digest == hash_file(tmp_path / "new")
    found = read_header(tmp_path / "new")
    assert read_tensor(tmp_path / "new", found, "m") == b"AABBCCDDEE"
    assert read_tensor(tmp_path / "new", found, "n") == data["n"]
    copy_tensors(tmp_path / "new", tmp_path / "again", header, {})
    assert (tmp_path / "again").read_bytes() == (tmp_path / "old").read_bytes()
    for wrong in ({"m": (9, 2)}, {"n": (2,)}):
        with pytest.raises(InputError, match="does not fit"):
            copy_tensors(tmp_path / "old", tmp_path / "bad", longer.with_shapes(wrong), {})
