"""Collection of words and vectors from a file; memory grows with what is read."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix

MAX_DIM = 100_000  # numbers a row; a header that claims more is not believed


@dataclass(frozen=True, eq=False)
class ImportedSpace:
    """A space read from another tool's file, its format, and notes on excluded or merged words."""

    space: EmbeddingSpace
    format: str
    notes: tuple[str, ...]


class RowCollector:
    """Collects the rows of a file: call `admits` for each word, then `add` the admitted rows.

    Of repeated words the first is kept, as in gensim. only: words to admit. limit: maximum number
    of rows to read.
    """

    def __init__(
        self, name: str, dim: int, limit: int | None = None, only: Container[str] | None = None
    ) -> None:
        if not 0 < dim <= MAX_DIM:
            raise InputError(
                f"{name}: expected vectors of 1 to {MAX_DIM:,} numbers, the file says {dim:,}.",
                "Check the file.",
            )
        if limit is not None and limit < 1:
            raise InputError(f"The row limit must be 1 or more, got {limit}.")
        self.name = name
        self.dim = dim
        self.limit = limit
        self.only = only
        self.words: dict[str, int] = {}  # in order; the value is the row number in the file, from 0
        self.matrix: Matrix = np.empty((0, dim), dtype=np.float32)
        self.filled = self.read = self.repeated = self.unwanted = self.unreadable = 0

    def room(self, rows: int) -> int:
        """Return how many of the next `rows` rows of the file the limit allows to read."""
        if self.limit is None:
            return rows
        return min(rows, self.limit - self.read)

    def admits(self, word: str) -> bool:
        """Count a row by its word; return whether its vector is wanted."""
        number, self.read = self.read, self.read + 1
        if word in self.words:
            self.repeated += 1
        elif self.only is not None and word not in self.only:
            self.unwanted += 1
        else:
            self.words[word] = number
            return True
        return False

    def skip(self) -> None:
        """Count a row whose word is not UTF-8."""
        self.read += 1
        self.unreadable += 1

    def add(self, rows: Matrix) -> None:
        """Append the vectors (n, dim) of the n words admitted since the last call.

        Raises InputError for a number that is not finite.
        """
        end = self.filled + len(rows)
        # Grow by half, so that rows are copied a few times only.
        if end > len(self.matrix):
            self.matrix.resize((max(end, len(self.matrix) * 3 // 2), self.dim), refcheck=False)
        self.matrix[self.filled : end] = rows
        finite = np.isfinite(self.matrix[self.filled : end]).all(axis=1)
        if not finite.all():
            word, number = list(self.words.items())[self.filled + int(finite.argmin())]
            problem = (
                f"{self.name}: the vector of {word!r} (row {number + 1:,}) holds NaN or infinity."
            )
            raise InputError(problem, "Take the row out, or make the vectors again.")
        self.filled = end

    def build_space(
        self, file_format: str, rows: int | None = None, counts: IntArray | None = None
    ) -> ImportedSpace:
        """Build the space of the collected rows.

        rows: number of rows of the file, if known. counts: (rows,) int64 corpus counts. Raises
        InputError if nothing was collected.
        """
        if not self.read:
            raise InputError(f"{self.name}: the file holds no vectors.", "Check the file.")
        if not self.words:
            raise InputError(
                f"{self.name}: none of its {self.read:,} words is wanted.",
                "Check the language and the casing.",
            )
        self.matrix.resize((self.filled, self.dim), refcheck=False)
        if counts is not None:
            counts = counts[list(self.words.values())]
        space = EmbeddingSpace(tuple(self.words), self.matrix, counts, self.name)
        return ImportedSpace(space, file_format, tuple(self._describe_skipped(rows)))

    def _describe_skipped(self, rows: int | None) -> Iterator[str]:
        """Yield a note on each kind of rows that were skipped, with their number."""
        if self.read == self.limit and rows is None:
            yield f"the first {self.read:,} rows were read"
        elif self.read == self.limit and rows != self.read:
            yield f"the first {self.read:,} rows of {rows:,} were read"
        if self.repeated:
            yield (
                f"{self.repeated:,} of {self.read:,} rows repeat an earlier word: the first vector"
                " was kept"
            )
        if self.unreadable:
            yield f"{self.unreadable:,} of {self.read:,} words are not UTF-8: left out"
        if self.only is not None:
            yield f"{len(self.words):,} of {self.read:,} words are wanted, the others were left out"


@contextmanager
def convert_read_errors(name: str) -> Iterator[None]:
    """Convert errors of the operating system and of gzip into an InputError."""
    import gzip
    import zlib

    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{name}: not a whole gzip file ({error}).", "Pack or download it again."
        ) from None
    except OSError as error:
        raise InputError(
            f"{name}: cannot be read ({error.strerror or error}).", "Check the path."
        ) from None
