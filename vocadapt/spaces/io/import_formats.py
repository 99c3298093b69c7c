"""Import of other tools' word vectors. The format is detected from the content; pickles are refused.

word2vec text (fastText .vec too), word2vec binary, GloVe (no header), each also gzipped;
.npy and safetensors with a words file
"""

import gzip
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import check_file, open_file
from vocadapt.progress import Progress, silent
from vocadapt.spaces.io.row_reader import ImportedSpace, RowCollector, convert_read_errors
from vocadapt.spaces.io.row_streams import detect_dimension, read_binary, read_text
from vocadapt.spaces.io.tensors import StoredTensor, index_tensors, is_safetensors
from vocadapt.spaces.io.word_files import read_words

HEAD = 1 << 20  # bytes looked at before a format is chosen
GZIP = b"\x1f\x8b"
NPY = b"\x93NUMPY"
MARK = b"\xef\xbb\xbf"  # byte order mark
HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n")
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
FORMATS = "Known are word2vec text and binary, fastText .vec, GloVe, .npy and safetensors."
ROWS = 4096  # of an array, looked at together
PICKLE = (
    "It is not opened, as it could run code. In the tool that made it, save the vectors as word2vec"
    " text or binary."
)
REFUSED = {  # first bytes of what is never opened: what it is, and what to do
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

    `limit` reads the first rows of the file only, `only` keeps the words in it. `words` names the
    words file of an .npy or safetensors array (else words.txt, vocab.txt or the array's name with
    .txt beside it). Of repeated words the first is kept and the notes say how many there were.
    Raises InputError for a file that is none of the formats, not whole, ragged, not UTF-8, or holds
    NaN or infinity; pickles are refused unread.
    """
    with convert_read_errors(str(path)):
        head = _head(path)
        if head.startswith(NPY) or is_safetensors(head):
            return _read_array(path, head, words, limit, only)
        _refuse(path, head)
        if words is not None:
            raise InputError(
                f"{path}: these rows hold their words, a words file is not needed.",
                "Leave the words file out.",
            )
        return _read_rows(path, head, limit, only, progress)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The unpacked bytes of a file, and the file on the disk."""
    with open_file(path) as disk:
        packed = disk.read(2) == GZIP
        disk.seek(0)
        yield (gzip.GzipFile(fileobj=disk) if packed else disk), disk  # type: ignore[misc]


def _head(path: Path) -> bytes:
    """The first bytes of a file, unpacked."""
    with _opened(path) as (file, disk):
        head = file.read(HEAD)
        if file is not disk and (head.startswith(NPY) or is_safetensors(head)):
            raise InputError(
                f"{path}: an array in a gzip file cannot be read.", "Unpack it first (gunzip)."
            )
        return head


def _refuse(path: Path, head: bytes) -> None:
    """Raise InputError for an empty file, and for what is never opened."""
    if not head.removeprefix(MARK).strip():
        raise InputError(f"{path}: the file is empty.", "Check the file.")
    for magic, (what, remedy) in REFUSED.items():
        if head.startswith(magic):
            raise InputError(f"{path}: expected word vectors, found {what}.", remedy)


def _read_rows(
    path: Path, head: bytes, limit: int | None, only: Container[str] | None, progress: Progress
) -> ImportedSpace:
    """Read a file of rows: with a header, text or binary; without one, GloVe."""
    start = len(MARK) if head.startswith(MARK) else 0
    header = HEADER.match(head, start)
    body = header.end() if header else start
    binary = NOT_TEXT.search(head, body, body + 4096) is not None
    if binary and not header:
        raise InputError(
            f"{path}: expected word vectors, found a binary file of an unknown kind.", FORMATS
        )
    rows = int(header[1]) if header else None
    into = RowCollector(
        path.name, int(header[2]) if header else detect_dimension(head[start:]), limit, only
    )
    with _opened(path) as (file, disk):
        size = path.stat().st_size
        file.seek(body)

        def report() -> None:
            progress(min(disk.tell() / size, 1.0), f"{into.read:,} vectors read")

        if binary:
            read_binary(file, into, report)
        else:
            read_text(file, into, 2 if header else 1, report)
    if rows is not None:
        _check_header(path, rows, into)
    kind = "GloVe" if not header else "word2vec binary" if binary else "word2vec text"
    return into.imported(kind, rows)


def _check_header(path: Path, rows: int, into: RowCollector) -> None:
    """Raise InputError when a file that was read to its end has not the rows its header claims."""
    cut_short = into.read == into.limit
    if into.read > rows or (into.read < rows and not cut_short):
        raise InputError(
            f"{path}: the header says {rows:,} rows, the file holds"
            f" {into.read:,}{' or more' if cut_short else ''}.",
            "Download or write it again; if the rows are right, correct its first line.",
        )


@dataclass(frozen=True)
class _Array:
    """An array on the disk, not yet read."""

    format: str
    rows: NDArray[Any]


def _read_array(
    path: Path, head: bytes, words: Path | None, limit: int | None, only: Container[str] | None
) -> ImportedSpace:
    """Read an array and its words, block by block."""
    names = read_words(words or _words_beside(path))
    array = _npy(path) if head.startswith(NPY) else _tensor(path, len(names.words))
    if len(names.words) != len(array.rows):
        raise InputError(
            f"{path}: {len(array.rows):,} rows, but the words file has {len(names.words):,} lines.",
            "Give the words file that belongs to it, one word for each row.",
        )
    into = RowCollector(path.name, array.rows.shape[1], limit, only)
    end = into.room(len(array.rows))
    for start in range(0, end, ROWS):
        block = range(start, min(start + ROWS, end))
        kept = [row - start for row in block if into.admits(names.words[row])]
        with np.errstate(
            over="ignore"
        ):  # what float32 cannot hold becomes infinite, and is refused
            into.add(array.rows[block.start : block.stop][kept].astype(np.float32))
    return into.imported(array.format, len(array.rows), names.counts)


def _npy(path: Path) -> _Array:
    """A .npy file, mapped; an array of Python objects would be a pickle and is refused."""
    try:
        with np.errstate(over="ignore"):  # a header of absurd size
            rows = np.asarray(np.load(check_file(path), mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError) as error:
        raise InputError(
            f"{path}: not a .npy file of numbers ({error}).",
            "Save a float32 array with numpy.save.",
        ) from None
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: expected numbers in rows and columns, found {rows.dtype} of shape"
            f" {rows.shape}.",
            "Save one row for each word.",
        )
    return _Array("npy", rows)


def _tensor(path: Path, words: int) -> _Array:
    """The tensor of a safetensors file that holds the vectors: the only matrix, the one named so,
    or the only one that fits.
    """
    matrices = {
        name: tensor for name, tensor in index_tensors(path).items() if len(tensor.shape) == 2
    }
    fitting = {name: tensor for name, tensor in matrices.items() if tensor.shape[0] == words}
    for found in (
        matrices,
        {n: t for n, t in matrices.items() if n in ("vectors", "embeddings")},
        fitting,
    ):
        if len(found) == 1:
            chosen: StoredTensor = next(iter(found.values()))
            return _Array("safetensors", chosen.rows())
    raise InputError(
        f"{path}: expected one matrix of {words:,} rows, found {len(fitting)} among {len(matrices)}"
        f" ({', '.join(sorted(matrices)[:5])}{' …' if len(matrices) > 5 else ''}).",
        "Save the vectors in a file of their own.",
    )


def _words_beside(path: Path) -> Path:
    """Return the words file in the folder of an array; raises InputError if there is none."""
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
        f"Give a words file, or put one beside it ({names}).",
    )
