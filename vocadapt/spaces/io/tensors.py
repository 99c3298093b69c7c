"""Memory-mapped tensors of a safetensors file, without loading it; needs NumPy only."""

import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.system.files import open_file, parse_json

MAX_HEADER = 100_000_000  # bytes, the format's own limit
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
SIZES = {name: np.dtype(code).itemsize for name, code in DTYPES.items()}


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
            f"{path}: not a complete safetensors file ({error}).",
            "Download or write it again.",
            code="invalid-tensors",
        ) from None


def is_safetensors(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a safetensors file."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= MAX_HEADER


def _parse_header(path: Path) -> dict[str, MappedTensor]:
    """Parse the header of a safetensors file; an invalid one raises a built-in exception."""
    # 1. The first eight bytes hold the length of the header, which is JSON.
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if length > min(MAX_HEADER, size - 8):
            raise ValueError(f"its header declares {length:,} bytes, the file has {size:,}")
        header = parse_json(file.read(length).decode("utf-8"), str(path))

    # 2. Each tensor must be within the file and have the size of its shape: a wrong header could
    #    map bytes outside the file.
    start = 8 + length
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in DTYPES:
            continue
        first, last = map(int, entry["data_offsets"])
        shape = tuple(map(int, entry["shape"]))
        fits = 0 <= first <= last <= size - start and min(shape, default=0) >= 0
        if not fits or last - first != prod(shape) * SIZES[entry["dtype"]]:
            raise ValueError(
                f"tensor {name!r} of shape {shape} does not match its position in the file"
            )
        tensors[name] = MappedTensor(path, name, entry["dtype"], shape, start + first)
    return tensors
