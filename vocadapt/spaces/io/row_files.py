"""Readers of word vectors in rows: word2vec and GloVe text, word2vec binary.

Files are read block by block, and each row is checked.

text    [<rows> <dim>\\n]  <word> <number> … <number>\\n …       GloVe has no first line; fastText's
                                                               .vec is this format too
binary   <rows> <dim>\\n   <word> <dim little-endian float32>[\\n] …
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO

import numpy as np

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix

MAX_DIM = 100_000  # numbers per row; a header that declares more is refused
BLOCK = 1 << 22  # bytes of vectors in memory at a time
MAX_BLOCK = 1 << 26  # bytes of lines in memory at a time, including very long ones
MAX_LINE = 32 * MAX_DIM  # bytes
MAX_WORD = 10_000  # bytes
# Bytes of vectors and words in memory per byte of a file: about 2 if it is text, gzipped or not.
MAX_EXPANSION = 50
MIN_MEMORY = 1 << 26  # bytes that any file may need
TOLERANCE = 1000  # of so many declared rows, one may be missing or too many; one in any file
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.IGNORECASE)
# No word of a binary file contains these; the bytes of floats do.
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f]")
ReportRows = Callable[[], None]


@dataclass(frozen=True, eq=False)
class ImportedSpace:
    """A space read from another tool's file, its format, and notes on excluded or merged words."""

    space: EmbeddingSpace
    format: str
    notes: tuple[str, ...]


class RowCollector:
    """Collects the rows of a file: call `admits` for each word, then `add` the admitted rows.

    The first of repeated words is kept, as in gensim. only: words to admit. limit: maximum number
    of rows to read. size: bytes of the file, which bound the memory.
    """

    def __init__(
        self,
        name: str,
        dim: int,
        limit: int | None = None,
        only: Container[str] | None = None,
        size: int | None = None,
    ) -> None:
        if not 0 < dim <= MAX_DIM:
            raise InputError(
                f"{name}: expected vectors of 1 to {MAX_DIM:,} numbers, the file declares {dim:,}.",
                "Check the file.",
                code="wrong-dimensions",
            )
        if limit is not None and limit < 1:
            raise InputError(f"The row limit must be 1 or more, got {limit}.", code="out-of-range")
        self.name = name
        self.dim = dim
        self.limit = limit
        self.only = only
        self.words: dict[str, int] = {}  # in order; the value is the row number in the file, from 0
        self.matrix: Matrix = np.empty((0, dim), dtype=np.float32)
        self.filled = self.read = self.repeated = self.unreadable = self.blank = 0
        self.characters = 0  # of the words
        self.max_memory: int | None = None
        if size is not None:
            self.max_memory = max(MIN_MEMORY, MAX_EXPANSION * size)

    def room(self, rows: int) -> int:
        """Return how many of the next `rows` rows of the file the limit allows to read."""
        if self.limit is None:
            return rows
        return min(rows, self.limit - self.read)

    def admits(self, word: str) -> bool:
        """Count a row by its word; return whether its vector is wanted."""
        self.read += 1
        if not word.strip():
            self.blank += 1
            return False
        if word in self.words:
            self.repeated += 1
            return False
        if self.only is not None and word not in self.only:
            return False
        self.words[word] = self.read - 1
        self.characters += len(word)
        return True

    def add(self, rows: Matrix) -> None:
        """Append the vectors (n, dim) of the n words admitted since the last call.

        Raises InputError for a number that is not finite, and for a gzip file whose vectors need
        more than MAX_EXPANSION times its size.
        """
        end = self.filled + len(rows)
        needed = end * self.dim * self.matrix.itemsize + self.characters
        if self.max_memory is not None and needed > self.max_memory:
            raise InputError(
                f"{self.name}: its vectors need more than {self.max_memory / 1e6:,.0f} MB of"
                " memory, too much for a file of its size.",
                "Unpack it first (gunzip).",
            )
        # Grow by half, which copies each row only a few times.
        if end > len(self.matrix):
            self.matrix.resize((max(end, len(self.matrix) * 3 // 2), self.dim), refcheck=False)
        self.matrix[self.filled : end] = rows
        finite = np.isfinite(self.matrix[self.filled : end]).all(axis=1)
        if not finite.all():
            word, number = list(self.words.items())[self.filled + int(finite.argmin())]
            raise InputError(
                f"{self.name}: the vector of {word!r} (row {number + 1:,}) contains NaN or"
                " infinity.",
                "Remove the row, or train the vectors again.",
                code="not-finite",
            )
        self.filled = end

    def build_space(
        self, file_format: str, rows: int | None = None, counts: IntArray | None = None
    ) -> ImportedSpace:
        """Build the space of the collected rows.

        rows: number of rows of the file, if known. counts: (rows,) int64 corpus counts. Raises
        InputError if nothing was collected.
        """
        if not self.words:
            wanted = "a word" if self.only is None else "one of the selected words"
            raise InputError(
                f"{self.name}: none of its {self.read:,} rows begins with {wanted}.",
                "Check the file, its language and its casing.",
                code="no-word",
            )
        self.matrix.resize((self.filled, self.dim), refcheck=False)
        if counts is not None:
            counts = counts[list(self.words.values())]
        return ImportedSpace(
            EmbeddingSpace(tuple(self.words), self.matrix, counts, self.name),
            file_format,
            tuple(self._describe_skipped(rows)),
        )

    def _describe_skipped(self, rows: int | None) -> Iterator[str]:
        if self.read == self.limit and rows != self.read:
            of = "" if rows is None else f" of {rows:,}"
            yield f"the first {self.read:,} rows{of} were read"
        elif rows is not None and rows != self.read:
            yield f"the header declares {rows:,} rows, the file has {self.read:,}: all were read"
        if self.blank:
            yield f"{self.blank:,} of {self.read:,} words are empty or blank: left out"
        if self.repeated:
            yield (
                f"{self.repeated:,} of {self.read:,} rows repeat an earlier word: the first vector"
                " was kept"
            )
        if self.unreadable:
            yield f"{self.unreadable:,} of {self.read:,} words are not UTF-8: left out"
        if self.only is not None:
            yield (
                f"{len(self.words):,} of {self.read:,} words were selected, the others were left"
                " out"
            )


def detect_dimension(head: bytes) -> int:
    """Return the most frequent number of numbers in the first rows of a file without header."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    whole = lines[:-1] or lines  # the last line may be incomplete
    return Counter(len(line.split()) - 1 for line in whole[:200]).most_common(1)[0][0]


def read_text_rows(
    file: IO[bytes], into: RowCollector, first_line: int, report: ReportRows
) -> None:
    """Read text rows until the end or the limit; `first_line` is the number of the next line.

    The last `dim` fields are the vector, and the word may contain blanks (GloVe's `. . .`). Raises
    InputError with the number of the line.
    """
    lines = enumerate(iter(lambda: file.readline(MAX_LINE), b""), first_line)
    while block := _take_lines(lines, into):
        filled = [(number, line.rstrip()) for number, line in block if line.strip()]
        into.add(_parse_lines(filled, into))
        report()


def _take_lines(lines: Iterator[tuple[int, bytes]], into: RowCollector) -> list[tuple[int, bytes]]:
    """Return the next lines with their numbers, of bounded total size; [] at the end or limit."""
    block: list[tuple[int, bytes]] = []
    size = 0
    for number, line in islice(lines, _count_rows_per_block(into)):
        block.append((number, line))
        size += len(line)
        if len(line) == MAX_LINE:
            raise _build_row_error(
                into,
                number,
                f"a line of more than {MAX_LINE:,} bytes that starts with {_quote(line)}",
            )
        if size > MAX_BLOCK:
            break
    return block


def _parse_lines(lines: list[tuple[int, bytes]], into: RowCollector) -> Matrix:
    """Return the vectors (n, dim) float32 of the n lines whose words are wanted.

    All lines are parsed together; only if that fails, each is parsed to find the wrong one.
    """
    rows = [(number, *_split_row(line, into, number)) for number, line in lines]
    wanted = [(number, values) for number, word, values in rows if into.admits(word)]
    if not wanted:
        return np.empty((0, into.dim), dtype=np.float32)
    try:
        return _parse_floats(b"\n".join(values for _, values in wanted), into.dim)
    except ValueError:
        for number, values in wanted:
            _check_numbers(values, into, number)
        raise


def _check_numbers(values: bytes, into: RowCollector, line: int) -> None:
    try:
        _parse_floats(values, into.dim)
    except ValueError:
        fields = values.split()
        found = f"{len(fields):,} numbers"
        if wrong := next((field for field in fields if not NUMBER.fullmatch(field)), None):
            found = f"{_quote(wrong)} among the numbers"
        raise _build_row_error(into, line, found) from None


def _split_row(line: bytes, into: RowCollector, number: int) -> tuple[str, bytes]:
    """Split a line into its word and the text of its vector; the word may have blanks or be empty.

    Example, dim 2: b". . .1 .2" -> (". .", b".1 .2"); b" .1 .2" -> ("", b".1 .2").
    """
    # 1. Most lines have single blanks between their fields: split such a line once.
    word, _, values = line.partition(b" ")
    is_plain = word and values and values.count(b" ") == into.dim - 1 and b"\t" not in line
    # 2. Split any other line from its end, because the word itself may contain blanks.
    if not is_plain:
        parts = line.rsplit(None, into.dim)
        if len(parts) == into.dim and line[:1].isspace():
            parts.insert(0, b"")
        word = parts[0]
        values = b" ".join(parts[1:])
        if len(parts) <= into.dim or _is_too_long(word, parts[1:]):
            raise _build_row_error(
                into,
                number,
                f"a line of {len(line.split()):,} fields that starts with {_quote(line)}",
            )
    try:
        return word.decode("utf-8"), values
    except UnicodeDecodeError:
        raise InputError(
            f"{into.name}, line {number:,}: the word {word[:40]!r} is not UTF-8.",
            "Save the file as UTF-8; from Latin-1, for instance: iconv -f LATIN1 -t UTF-8 OLD"
            " > NEW",
            code="not-utf8",
        ) from None


def _is_too_long(word: bytes, values: list[bytes]) -> bool:
    """Return whether the word of a row seems to contain the first numbers of its vector.

    Then it ends with a number that has a decimal point, or all numbers of the row have none.
    Example: "heart 0.1" is too long, "type 2 diabetes" and "covid 19" are words.
    """
    others = word.split()[1:]
    if not others or not NUMBER.fullmatch(others[-1]):
        return False
    return not others[-1].isdigit() or all(map(bytes.isdigit, values))


def _parse_floats(text: bytes, dim: int) -> Matrix:
    """Parse lines of `dim` numbers into rows (n, dim); raises ValueError for anything else."""
    rows: Matrix = np.loadtxt(io.BytesIO(text), dtype=np.float32, comments=None, ndmin=2)
    if rows.shape[1] != dim:
        raise ValueError(f"{rows.shape[1]} numbers instead of {dim}")
    return rows


def _build_row_error(into: RowCollector, line: int, found: str) -> InputError:
    return InputError(
        f"{into.name}, line {line:,}: expected a word and {into.dim:,} numbers separated by"
        f" blanks, found {found}.",
        "Check that the file is complete and contains word vectors.",
        code="invalid-row",
    )


def _quote(raw: bytes) -> str:
    return repr(raw[:40].decode("utf-8", "replace"))


def read_binary_rows(file: IO[bytes], into: RowCollector, report: ReportRows) -> None:
    """Read word2vec binary rows until the end or the limit; words that are not UTF-8 are skipped
    and counted.

    Raises InputError if the bytes do not split into words and vectors.
    """
    rows = _split_binary_rows(file, into)
    while block := list(islice(rows, _count_rows_per_block(into))):
        wanted = [values for word, values in block if _admits(into, word)]
        into.add(np.frombuffer(b"".join(wanted), dtype="<f4").reshape(-1, into.dim))
        report()


def _split_binary_rows(file: IO[bytes], into: RowCollector) -> Iterator[tuple[bytes, bytes]]:
    """Yield the word and the vector bytes of each row."""
    buffer = b""
    start = 0
    rows = 0
    size = 4 * into.dim  # bytes of a vector
    while True:
        # The buffer contains a complete row: the word ends at the first blank.
        blank = buffer.find(b" ", start)
        end = blank + 1 + size
        if blank >= 0 and end <= len(buffer):
            yield buffer[start:blank].lstrip(b"\n"), buffer[blank + 1 : end]
            start = end
            rows += 1
            continue
        # The row is incomplete: read more, unless the word is too long.
        if blank < 0 and len(buffer) - start >= MAX_WORD:
            break
        more = file.read(max(BLOCK, 4 * size))
        if not more:
            break
        buffer = buffer[start:] + more
        start = 0
    # Some tools end each row with a newline, the last one too.
    if buffer[start:].strip(b"\n"):
        raise InputError(
            f"{into.name}: the file ends within row {rows + 1:,}.",
            "Download or write it again.",
            code="truncated-file",
        )


def _admits(into: RowCollector, word: bytes) -> bool:
    """Return whether a binary row is wanted; raises InputError if the bytes cannot be a word."""
    if CONTROL.search(word):
        raise InputError(
            f"{into.name}, row {into.read + 1:,}: expected the beginning of a word, so the rows"
            f" do not have {into.dim:,} numbers.",
            "Check that the file is complete and contains word vectors.",
            code="invalid-row",
        )
    try:
        return into.admits(word.decode("utf-8"))
    except UnicodeDecodeError:
        into.read += 1
        into.unreadable += 1
        return False


def _count_rows_per_block(into: RowCollector) -> int:
    """Return the number of rows to read before they are parsed; 0 if the limit is reached."""
    return into.room(max(1, BLOCK // (8 * into.dim)))
