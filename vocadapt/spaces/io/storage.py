"""Storage of word vectors in our own format: `vectors.safetensors` and `words.txt`."""

import errno
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError, check_choice
from vocadapt.spaces.io.tensors import index_tensors
from vocadapt.spaces.io.word_files import encode_word_lines, read_word_lines
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix
from vocadapt.system.files import check_path

# Tensor "vectors" (words, dim), and "counts" (words,) int64 if they are known.
VECTORS = "vectors.safetensors"
WORDS = "words.txt"  # one word a line, in the order of the rows
MAX_WORDS_BYTES = 1 << 32  # size of words.txt
FULL = {errno.ENOSPC, errno.EDQUOT}


def save_space(space: EmbeddingSpace, folder: Path, dtype: str = "float32") -> None:
    """Write a space into a folder, created if missing; dtype "float16" halves the file.

    Writes atomically. Raises InputError if the disk is full, if a word contains a line break, and
    if numbers are too large for float16.
    """
    # 1. Encode first, to refuse words or numbers that cannot be stored before writing anything.
    words = encode_word_lines(space.words, space.name)
    tensors = _build_tensors(space, dtype)
    drafts = {folder / name: folder / f".{name}.draft" for name in (WORDS, VECTORS)}
    created = not folder.exists()
    try:
        # 2. Write drafts, then rename them: no reader finds an incomplete file.
        folder.mkdir(parents=True, exist_ok=True)
        drafts[folder / WORDS].write_bytes(words)
        _write_tensors(tensors, drafts[folder / VECTORS])
        for place, draft in drafts.items():
            os.replace(draft, place)
    except BaseException as error:
        # 3. After any error, remove the drafts and a folder that was created here.
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        if created:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise InputError(
                f"{folder}: cannot be written ({error.strerror}).",
                "Free disk space, or choose another folder.",
                code="full-disk" if error.errno in FULL else "unwritable-file",
            ) from None
        raise


def load_space(folder: Path, name: str | None = None) -> EmbeddingSpace:
    """Read what `save_space` wrote; float32 vectors are memory-mapped. Default name: the folder's.

    Raises InputError if a file is missing or damaged, or if words and vectors differ in number.
    """
    # 1. Both files must be there.
    remedy = "Give a folder of word vectors that were trained or imported here."
    folder = check_path(folder)
    if not os.path.isdir(folder):
        raise InputError(
            f"{folder} is a file: word vectors are a folder with {VECTORS} and {WORDS}.",
            "Import the vectors of other tools first, and give the folder of the import.",
            code="not-a-folder",
        )
    for file in (VECTORS, WORDS):
        if not os.path.isfile(folder / file):
            raise InputError(f"{folder}: {file} is missing.", remedy, code="missing-file")

    # 2. Map the vectors; read the counts, if they were saved.
    tensors = index_tensors(folder / VECTORS)
    if "vectors" not in tensors:
        raise InputError(
            f"{folder / VECTORS}: no tensor named vectors.",
            "Import files of other tools first.",
            code="missing-tensor",
        )
    counts = None
    if "counts" in tensors:
        counts = tensors["counts"].rows().astype(np.int64)
    matrix = tensors["vectors"].rows().astype(np.float32, copy=False)
    return EmbeddingSpace(
        tuple(read_word_lines(folder / WORDS, MAX_WORDS_BYTES)), matrix, counts, name or folder.name
    )


def _build_tensors(
    space: EmbeddingSpace, dtype: str
) -> dict[str, Matrix | NDArray[np.float16] | IntArray]:
    """Return the tensors to store, C-contiguous because safetensors writes the raw buffer."""
    check_choice("type of stored numbers", dtype, ("float32", "float16"))
    if dtype == "float16" and len(space) and np.abs(space.matrix).max() > np.finfo(np.float16).max:
        raise InputError(
            f"{space.name}: numbers above 65,504 do not fit float16.",
            "Store them as float32.",
            code="too-large-numbers",
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
