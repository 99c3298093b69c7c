"""Storage of word vectors in our own format: `vectors.safetensors` and `words.txt`.

Tensors of a safetensors file are memory-mapped without loading the file.
"""

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import check_path, open_file, parse_json
from vocadapt.spaces.io.word_files import encode_word_lines, read_word_lines
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix

# Tensor "vectors" (words, dim), and "counts" (words,) int64 if they are known.
VECTORS = "vectors.safetensors"
WORDS = "words.txt"  # one word a line, in the order of the rows
MAX_WORDS = 1 << 32  # bytes of words.txt
FULL = {errno.ENOSPC, errno.EDQUOT}
MAX_HEADER = 100_000_000  # bytes, the format's own limit
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
SIZES = {name: np.dtype(code).itemsize for name, code in DTYPES.items()}


def save_space(space: EmbeddingSpace, folder: Path, dtype: str = "float32") -> None:
    """Write a space into a folder, created if missing; dtype "float16" halves the file.

    Writes atomically. Raises InputError if the disk is full, if a word contains a line break, and
    if numbers are too large for float16.
    """
    words = encode_word_lines(space.words, space.name)
    tensors = _build_tensors(space, dtype)
    drafts = {folder / name: folder / f".{name}.draft" for name in (WORDS, VECTORS)}
    created = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        drafts[folder / WORDS].write_bytes(words)
        _write_tensors(tensors, drafts[folder / VECTORS])
        for place, draft in drafts.items():
            os.replace(draft, place)
    except BaseException as error:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        if created:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError) and error.errno in FULL:
            raise InputError(
                f"{folder}: no space left on the disk.", "Make room, or choose another place."
            ) from None
        if isinstance(error, OSError):
            raise InputError(
                f"{folder}: cannot be written ({error.strerror}).", "Choose another place."
            ) from None
        raise


def load_space(folder: Path, name: str | None = None) -> EmbeddingSpace:
    """Read what `save_space` wrote; float32 vectors are memory-mapped. Default name: the folder's.

    Raises InputError if a file is missing or damaged, or if words and vectors differ in number.
    """
    if os.path.exists(folder):
        check_path(folder)
    for file in (VECTORS, WORDS):
        if not os.path.isfile(folder / file):  # unlike Path, false for a name too long
            raise InputError(
                f"{folder}: no {file} in it.",
                "Give a folder of word vectors that were trained or imported here.",
            )
    tensors = index_tensors(folder / VECTORS)
    if "vectors" not in tensors:
        raise InputError(
            f"{folder / VECTORS}: no tensor named vectors.",
            "Import files of other tools first.",
        )
    counts = None
    if "counts" in tensors:
        counts = tensors["counts"].rows().astype(np.int64)
        if counts.shape != tensors["vectors"].shape[:1]:
            raise InputError(
                f"{folder / VECTORS}: counts and vectors differ in number.",
                "Train or import the vectors again.",
            )
    matrix = tensors["vectors"].rows().astype(np.float32, copy=False)
    return EmbeddingSpace(
        tuple(read_word_lines(folder / WORDS, MAX_WORDS)), matrix, counts, name or folder.name
    )


def _build_tensors(
    space: EmbeddingSpace, dtype: str
) -> dict[str, Matrix | NDArray[np.float16] | IntArray]:
    """Return the tensors to store, C-contiguous because safetensors writes the raw buffer."""
    if dtype not in ("float32", "float16"):
        raise InputError(f"Vectors are stored as float32 or float16, not {dtype!r}.")
    if dtype == "float16" and len(space) and np.abs(space.matrix).max() > np.finfo(np.float16).max:
        raise InputError(
            f"{space.name}: numbers above 65,504 do not fit float16.", "Store them as float32."
        )
    vectors = {"vectors": np.ascontiguousarray(space.matrix, dtype=dtype)}
    if space.counts is None:
        return vectors
    return {**vectors, "counts": np.ascontiguousarray(space.counts)}


def _write_tensors(tensors: dict[str, Matrix | NDArray[np.float16] | IntArray], path: Path) -> None:
    """Write a safetensors file; raises OSError if the disk is full, which the library reports only
    in the text of its own error.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file(tensors, path)
    except SafetensorError as error:
        if "os error 28" in str(error):
            raise OSError(errno.ENOSPC, str(error)) from None
        raise


@dataclass(frozen=True)
class MappedTensor:
    """Location, dtype and shape of one tensor in a file."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def rows(self, limit: int | None = None) -> NDArray[Any]:
        """Map the first `limit` rows (default: all) from disk; bfloat16 is converted to float32."""
        shape = self.shape
        if limit is not None:
            shape = (min(limit, shape[0]), *shape[1:])
        if not prod(shape):
            return np.zeros(shape, dtype=np.float32)
        stored = np.asarray(np.memmap(self.path, DTYPES[self.dtype], "r", self.offset, shape))
        # A bfloat16 is the upper half of a float32, and NumPy has no such dtype.
        if self.dtype == "BF16":
            return (stored.astype("<u4") << 16).view("<f4")
        return stored


def index_tensors(path: Path) -> dict[str, MappedTensor]:
    """Return the tensors of a safetensors file by name, those of the dtypes in DTYPES.

    Raises InputError if the file is incomplete or its header does not match it.
    """
    try:
        return _parse_header(path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: not a whole safetensors file ({error}).", "Download or write it again."
        ) from None


def is_safetensors(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a safetensors file."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= MAX_HEADER


def _parse_header(path: Path) -> dict[str, MappedTensor]:
    """Parse the header of a safetensors file; a wrong one raises one of the built-in errors."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if length > min(MAX_HEADER, size - 8):
            raise ValueError(f"its header claims {length:,} bytes, the file has {size:,}")
        header = parse_json(file.read(length).decode("utf-8"), str(path))
    start = 8 + length
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in DTYPES:
            continue
        first, last = map(int, entry["data_offsets"])
        shape = tuple(map(int, entry["shape"]))
        fits = 0 <= first <= last <= size - start and min(shape, default=0) >= 0
        if not fits or last - first != prod(shape) * SIZES[entry["dtype"]]:
            raise ValueError(f"tensor {name!r} of shape {shape} is not where the header says")
        tensors[name] = MappedTensor(path, name, entry["dtype"], shape, start + first)
    return tensors
