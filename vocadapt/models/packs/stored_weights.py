"""Read and write safetensors files byte by byte, so that a file can be changed and restored
exactly.

A safetensors file has three parts: the length of the header (8 bytes, little-endian), the header
(JSON: dtype, shape and offsets of each tensor, padded with spaces), and the bytes of the tensors.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from vocadapt.errors import InputError
from vocadapt.system.files import MEGABYTE, open_file, parse_json, show_path

SIZES = {  # bytes of a number, by dtype in safetensors' notation
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "U16": 2,
    "I16": 2,
    "F16": 2,
    "BF16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
}
METADATA = "__metadata__"
LENGTH_BYTES = 8  # size of the length; the header is padded to a multiple of it
MAX_HEADER_BYTES = 100 * MEGABYTE  # as in the safetensors library
MAX_DIMENSIONS = 8
BLOCK = 8 * MEGABYTE  # bytes to copy at once
SAVE_AGAIN = "Download or save it again."


@dataclass(frozen=True)
class Place:
    """Dtype and shape of a stored tensor, and the offset of its bytes after the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int = 0

    @property
    def size(self) -> int:
        """Bytes of the tensor."""
        return prod(self.shape) * SIZES[self.dtype]

    @property
    def row_size(self) -> int:
        """Bytes of a row of a matrix, or of an entry of a vector."""
        return prod(self.shape[1:]) * SIZES[self.dtype]


@dataclass(frozen=True)
class Header:
    """The header of a safetensors file.

    raw: its bytes. tensors: in the order of the header.
    """

    raw: bytes
    tensors: Mapping[str, Place]
    metadata: Mapping[str, str] | None

    @property
    def ordered_tensors(self) -> list[tuple[str, Place]]:
        """The tensors in the order of their offsets; an empty tensor precedes the next one."""
        return sorted(self.tensors.items(), key=lambda item: (item[1].begin, item[1].size))

    @property
    def data_start(self) -> int:
        """Position in the file at which the bytes of the tensors begin."""
        return LENGTH_BYTES + len(self.raw)

    def with_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> "Header":
        """Return the header of a file in which tensors have new shapes; the orders of the header
        and of the bytes are kept.

        shapes: new shapes by name; other tensors keep theirs.
        """
        begin, placed = 0, dict[str, Place]()
        for name, place in self.ordered_tensors:
            placed[name] = replace(place, shape=shapes.get(name, place.shape), begin=begin)
            begin += placed[name].size
        return build_header({name: placed[name] for name in self.tensors}, self.metadata)


def build_header(tensors: Mapping[str, Place], metadata: Mapping[str, str] | None) -> Header:
    """Build the header of a file with these tensors."""
    content: dict[str, Any] = {}
    if metadata is not None:
        content[METADATA] = dict(metadata)
    for name, place in tensors.items():
        content[name] = {
            "dtype": place.dtype,
            "shape": list(place.shape),
            "data_offsets": [place.begin, place.begin + place.size],
        }
    raw = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    raw += b" " * (-len(raw) % LENGTH_BYTES)
    return Header(raw, dict(tensors), metadata)


def lay_out(tensors: Mapping[str, Place], metadata: Mapping[str, str]) -> Header:
    """Build the header of a new file whose tensors follow each other in the given order."""
    return build_header(tensors, metadata).with_shapes({})


def read_header(path: Path) -> Header:
    """Read the header of a safetensors file.

    Raises InputError if it is invalid, or if it does not match the size of the file.
    """
    with open_file(path) as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        total = file.seek(0, 2)
        if not 0 < length <= min(MAX_HEADER_BYTES, total - LENGTH_BYTES):
            raise _build_error(path, "its header is incomplete or too long")
        file.seek(LENGTH_BYTES)
        header = parse_header(file.read(length), path)
    stored = sum(place.size for place in header.tensors.values())
    if total != header.data_start + stored:
        raise _build_error(path, f"{total:,} bytes, expected {header.data_start + stored:,}")
    return header


def parse_header(raw: bytes, path: Path) -> Header:
    """Parse the header of a safetensors file; raises InputError, which names `path`, if it is
    invalid.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _build_error(path, "its header is not UTF-8") from None
    content = parse_json(text, show_path(path), SAVE_AGAIN)
    if not isinstance(content, dict):
        raise _build_error(path, "its header is not an object")
    metadata = content.pop(METADATA, None)
    if metadata is not None and not _is_string_map(metadata):
        raise _build_error(path, "its metadata is not an object of texts")
    header = Header(
        raw, {name: _read_place(name, content[name], path) for name in content}, metadata
    )
    begin = 0
    for name, place in header.ordered_tensors:
        if place.begin != begin:
            raise _build_error(path, f"the offsets of {name[:60]!r} are wrong")
        begin += place.size
    return header


def _read_place(name: str, value: Any, path: Path) -> Place:
    problem = _build_error(path, f"the entry of {name[:60]!r} in its header is invalid")
    if not isinstance(value, dict) or value.get("dtype") not in list(SIZES):
        raise problem
    shape, offsets = value.get("shape"), value.get("data_offsets")
    if not _is_counts(shape) or not _is_counts(offsets) or len(offsets) != 2:
        raise problem
    place = Place(value["dtype"], tuple(shape), offsets[0])
    if place.begin + place.size != offsets[1]:
        raise problem
    return place


def _is_counts(value: Any) -> TypeGuard[list[int]]:
    """Return whether a value is a short list of non-negative whole numbers of at most 63 bits."""
    if not isinstance(value, list) or len(value) > MAX_DIMENSIONS:
        return False
    return all(type(one) is int and 0 <= one < 1 << 63 for one in value)


def _is_string_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def read_tensor(path: Path, header: Header, name: str) -> bytes:
    """Read the bytes of a tensor."""
    place = header.tensors[name]
    with open_file(path) as file:
        file.seek(header.data_start + place.begin)
        return file.read(place.size)


def write_tensors(path: Path, header: Header, tensors: Mapping[str, bytes]) -> None:
    """Write a safetensors file from the bytes of its tensors."""
    with path.open("wb") as file:
        file.write(len(header.raw).to_bytes(LENGTH_BYTES, "little") + header.raw)
        for name, _ in header.ordered_tensors:
            file.write(tensors[name])


def copy_tensors(source: Path, path: Path, header: Header, tails: Mapping[str, bytes]) -> str:
    """Write a safetensors file with the tensors of another one; return its SHA-256.

    header: header of the new file. tails: last bytes of tensors that change, by name; the bytes
    before them are the first ones of the source's tensor, so a tensor can gain or lose rows.

    Example: a tensor of 3 rows A B C in the source, 5 rows in the header, tail D E: A B C D E.
    Raises InputError if a tensor of the source is missing, too short, or of another dtype.
    """
    stored = read_header(source)
    digest = sha256()
    with open_file(source) as old, path.open("wb") as new:
        for block in _generate_blocks(old, stored, header, tails, source):
            digest.update(block)
            new.write(block)
    return digest.hexdigest()


def _generate_blocks(
    old: BinaryIO, stored: Header, header: Header, tails: Mapping[str, bytes], source: Path
) -> Iterator[bytes]:
    """Yield the bytes of the file that `copy_tensors` writes."""
    yield len(header.raw).to_bytes(LENGTH_BYTES, "little") + header.raw
    for name, place in header.ordered_tensors:
        tail = tails.get(name, b"")
        left, found = place.size - len(tail), stored.tensors.get(name)
        if found is None or found.dtype != place.dtype or not 0 <= left <= found.size:
            raise _build_error(source, f"the tensor {name[:60]!r} is missing or does not fit")
        old.seek(stored.data_start + found.begin)
        while left:
            block = old.read(min(left, BLOCK))
            if not block:
                raise _build_error(source, f"the tensor {name[:60]!r} is incomplete")
            left -= len(block)
            yield block
        yield tail


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = sha256()
    with open_file(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _build_error(path: Path, problem: str) -> InputError:
    return InputError(f"{show_path(path)} is not a usable safetensors file: {problem}.", SAVE_AGAIN)
