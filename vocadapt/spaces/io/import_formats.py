"""Import of other tools' word vectors; the format is detected from the content.

Formats: word2vec text (fastText .vec too), word2vec binary and GloVe (no header), each also
gzipped; .npy and safetensors with a words file. Pickles are refused, because they can run code.
"""

import gzip
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.io.row_files import (
    TOLERANCE,
    ImportedSpace,
    RowCollector,
    detect_dimension,
    read_binary_rows,
    read_text_rows,
)
from vocadapt.spaces.io.tensors import index_tensors, is_safetensors
from vocadapt.spaces.io.word_files import read_words
from vocadapt.system.files import check_file, open_file
from vocadapt.text.formats.text_file import convert_read_errors

HEAD = 1 << 20  # bytes read to detect the format
GZIP = b"\x1f\x8b"
NPY = b"\x93NUMPY"
MARK = b"\xef\xbb\xbf"  # byte order mark
HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n")
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
FORMATS = "Readable: word2vec text and binary, fastText .vec, GloVe, .npy and safetensors."
ROWS = 4096  # of an array in memory at a time
PICKLE = (
    "It is not opened, because it could run code. In the program that wrote it, save the vectors as"
    " word2vec text or binary."
)
REFUSED = {  # first bytes of files that are never opened -> format, remedy
    b"\x80": ("a Python pickle (gensim's .kv and .model, torch's .pt and .bin)", PICKLE),
    b"PK\x03\x04": ("a zip archive (torch's .pt and .bin, numpy's .npz)", PICKLE),
    b"\xba\x16\x4f\x2f": ("fastText's own binary model", "Give the .vec file next to it."),
    b"\x89HDF": (
        "an HDF5 file",
        "Save the vectors as word2vec text, or as .npy with a words file.",
    ),
}


def read_space(
    path: Path,
    *,
    words: Path | None = None,
    limit: int | None = None,
    only: Container[str] | None = None,
    progress: Progress = silent,
) -> ImportedSpace:
    """Read word vectors of another tool.

    limit: number of rows to read. only: words to keep. words: the words file of an .npy or
    safetensors array (default: words.txt, vocab.txt or the array's name with .txt in its folder).
    The first of repeated words is kept, and the notes report their number. Raises InputError for a
    file of another format, or one that is incomplete, ragged, not UTF-8, or contains NaN or
    infinity; pickles are refused without being opened.
    """
    with convert_read_errors(path, "Check the path."):
        head = _read_head(path)
        if head.startswith(NPY) or is_safetensors(head):
            return _read_array(path, head, words, limit, only)
        _refuse(path, head)
        if words is not None:
            raise InputError(
                f"{path}: this format contains the words, so it takes no words file.",
                "Leave out the words file.",
                code="needless-words-file",
            )
        return _read_rows(path, head, limit, only, progress)


@contextmanager
def _open_unpacked(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file; yield its uncompressed bytes and the file on disk."""
    with open_file(path) as disk:
        file: IO[bytes] = disk
        if disk.read(2) == GZIP:
            file = gzip.GzipFile(fileobj=disk)  # type: ignore[assignment]
        disk.seek(0)
        yield file, disk


def _read_head(path: Path) -> bytes:
    with _open_unpacked(path) as (file, disk):
        head = file.read(HEAD)
        if file is not disk and (head.startswith(NPY) or is_safetensors(head)):
            raise InputError(
                f"{path}: an array in a gzip file cannot be read.",
                "Unpack it first (gunzip).",
                code="array-in-gzip",
            )
        return head


def _refuse(path: Path, head: bytes) -> None:
    """Raise InputError for an empty file and for formats that are never opened."""
    if not head.removeprefix(MARK).strip():
        raise InputError(f"{path}: the file is empty.", "Check the file.", code="empty-file")
    for magic, (what, remedy) in REFUSED.items():
        if head.startswith(magic):
            raise InputError(
                f"{path}: expected word vectors, found {what}.", remedy, code="not-word-vectors"
            )


def _read_rows(
    path: Path, head: bytes, limit: int | None, only: Container[str] | None, progress: Progress
) -> ImportedSpace:
    """Read a file of rows: text or binary with a header, or GloVe, which has none."""
    # 1. Detect the format from the first bytes.
    body = len(head) - len(head.removeprefix(MARK))
    first_line, rows = 1, None
    header = HEADER.match(head, body)
    if header:
        first_line = 2
        rows = int(header[1])
        dim = int(header[2])
        body = header.end()
    else:
        dim = detect_dimension(head[body:])
    is_binary = NOT_TEXT.search(head, body, body + 4096) is not None
    if header:
        is_binary = is_binary or _is_binary_row(head, body, dim)
    elif is_binary:
        raise InputError(
            f"{path}: expected word vectors, found a binary file of an unknown format.",
            FORMATS,
            code="not-word-vectors",
        )

    # 2. Read the rows.
    size = path.stat().st_size
    into = RowCollector(path.name, dim, limit, only, size)
    with _open_unpacked(path) as (file, disk):
        file.seek(body)

        def report() -> None:
            progress(min(disk.tell() / size, 1.0), f"{into.read:,} vectors read")

        if is_binary:
            read_binary_rows(file, into, report)
        else:
            read_text_rows(file, into, first_line, report)
    if rows is None:
        return into.build_space("GloVe")
    _check_header(path, rows, into)
    return into.build_space("word2vec binary" if is_binary else "word2vec text", rows)


def _is_binary_row(head: bytes, start: int, dim: int) -> bool:
    """Return whether a row of a file with a header is binary, although it has no control bytes.

    Then its vector of 4 · dim bytes ends the line or the file, and the line does not end with `dim`
    numbers.
    """
    blank = head.find(b" ", start)
    end = blank + 1 + 4 * dim
    if blank < 0 or end > len(head) or head[end : end + 1] not in (b"", b"\n"):
        return False
    fields = head[blank:].partition(b"\n")[0].split()
    try:
        return len([float(field) for field in fields[-dim:]]) < dim
    except ValueError:
        return True


def _check_header(path: Path, rows: int, into: RowCollector) -> None:
    """Raise InputError if the number of rows read contradicts the header by more than one row, or
    one in TOLERANCE; the notes report less.
    """
    allowed = max(1, rows // TOLERANCE)
    is_limited = into.read == into.limit
    if into.read > rows + allowed or (into.read < rows - allowed and not is_limited):
        raise InputError(
            f"{path}: the header declares {rows:,} rows, the file has {into.read:,}.",
            "Download or write it again; if the rows are right, correct its first line.",
            code="wrong-header",
        )


def _read_array(
    path: Path, head: bytes, words: Path | None, limit: int | None, only: Container[str] | None
) -> ImportedSpace:
    # 1. Read the words, and map the array, which has one row for each.
    names = read_words(words or _find_words_file(path))
    if head.startswith(NPY):
        format = "npy"
        rows = _map_npy(path)
    else:
        format = "safetensors"
        rows = _map_tensor(path, len(names.words))
    if len(names.words) != len(rows):
        raise InputError(
            f"{path}: {len(rows):,} rows, but the words file has {len(names.words):,} lines.",
            "Give the words file that belongs to it, one word for each row.",
            code="unlike-words-file",
        )

    # 2. Copy only the selected rows into memory, block by block.
    into = RowCollector(path.name, rows.shape[1], limit, only)
    end = into.room(len(rows))
    for start in range(0, end, ROWS):
        block = range(start, min(start + ROWS, end))
        wanted = [row - start for row in block if into.admits(names.words[row])]
        # Numbers too large for float32 become infinite, which `add` refuses.
        with np.errstate(over="ignore"):
            into.add(rows[block.start : block.stop][wanted].astype(np.float32))
    return into.build_space(format, len(rows), names.counts)


def _map_npy(path: Path) -> NDArray[Any]:
    """Map the array of a .npy file; an array of Python objects is a pickle and is refused."""
    try:
        with np.errstate(over="ignore"):  # the header may declare an absurd size
            rows = np.asarray(np.load(check_file(path), mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError) as error:
        raise InputError(
            f"{path}: not a .npy file of numbers ({error}).",
            "Save a float32 array with numpy.save.",
            code="invalid-array",
        ) from None
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: expected a matrix of numbers, found {rows.dtype} of shape {rows.shape}.",
            "Save one row for each word.",
            code="not-a-matrix",
        )
    return rows


def _map_tensor(path: Path, words: int) -> NDArray[Any]:
    """Map the tensor of a safetensors file that contains the vectors.

    Return the only matrix, else the one named "vectors" or "embeddings", else the only one with a
    row for each word.
    """
    matrices = {name: found for name, found in index_tensors(path).items() if len(found.shape) == 2}
    named = [matrices[name] for name in ("vectors", "embeddings") if name in matrices]
    fitting = [tensor for tensor in matrices.values() if tensor.shape[0] == words]
    for candidates in (list(matrices.values()), named, fitting):
        if len(candidates) == 1:
            return candidates[0].rows()
    names = ", ".join(sorted(matrices)[:5])
    if len(matrices) > 5:
        names += " …"
    raise InputError(
        f"{path}: expected one matrix of {words:,} rows, found {len(fitting)} among {len(matrices)}"
        f" ({names}).",
        "Save the vectors in a separate file.",
        code="not-one-matrix",
    )


def _find_words_file(path: Path) -> Path:
    places = [
        path.with_suffix(".txt"),
        path.with_suffix(".words"),
        path.with_name("words.txt"),
        path.with_name("vocab.txt"),
    ]
    if found := next((place for place in places if place.is_file()), None):
        return found
    names = ", ".join(dict.fromkeys(place.name for place in places))
    raise InputError(
        f"{path}: the words of its rows are missing.",
        f"Give a words file, or put one in the same folder ({names}).",
        code="missing-words",
    )
