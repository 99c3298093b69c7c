"""EmbeddingSpace: words with vectors, the currency of the package."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError

Matrix = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EmbeddingSpace:
    """Words and one float32 row for each, in the same order; never changed after it is made.

    `matrix` has shape (words, dim). `counts` (words,) holds corpus counts where they are known.
    Raises InputError for a repeated word, a row that is not finite, or shapes that do not fit.
    """

    words: tuple[str, ...]
    matrix: Matrix
    counts: NDArray[np.int64] | None = None
    name: str = "space"

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise InputError(
                f"{self.name}: expected one row per word, got {len(self.words)} words and a matrix"
                f" of shape {self.matrix.shape}."
            )
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise InputError(
                f"{self.name}: expected one count per word, got {self.counts.shape} for"
                f" {len(self.words)} words."
            )
        if self.matrix.dtype != np.float32:
            object.__setattr__(self, "matrix", self.matrix.astype(np.float32))
        if len(self.index) != len(self.words):
            raise InputError(
                f"{self.name}: {len(self.words) - len(self.index)} words stand in it more than"
                " once."
            )
        if not np.isfinite(self.matrix).all():
            bad = int((~np.isfinite(self.matrix).all(axis=1)).sum())
            raise InputError(
                f"{self.name}: {bad} of {len(self.words)} vectors hold NaN or infinity."
            )
        self.matrix.flags.writeable = False

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> Matrix:
        row: Matrix = self.matrix[self.index[word]]
        return row

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Word to row number."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def unit(self) -> Matrix:
        """The rows at length 1 (a zero row stays zero), computed once and kept."""
        unit = normalize_rows(self.matrix)
        unit.flags.writeable = False
        return unit

    @cached_property
    def half_squares(self) -> Matrix:
        """Half the squared length of each row (words,): what a product lacks to order rows by
        Euclidean distance.
        """
        halves: Matrix = np.einsum("ij,ij->i", self.matrix, self.matrix) / 2
        return halves

    def rows(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Row numbers of `words`; raises KeyError for a word the space lacks."""
        return np.fromiter((self.index[word] for word in words), dtype=np.int64)

    def take(
        self, rows: Sequence[int] | NDArray[np.int64], name: str | None = None
    ) -> "EmbeddingSpace":
        """The space of these rows only, in this order."""
        rows = np.asarray(rows, dtype=np.int64)
        return EmbeddingSpace(
            tuple(self.words[row] for row in rows),
            self.matrix[rows],
            None if self.counts is None else self.counts[rows],
            name or self.name,
        )

    def with_matrix(self, matrix: Matrix, name: str | None = None) -> "EmbeddingSpace":
        """The same words with other vectors."""
        return EmbeddingSpace(self.words, matrix, self.counts, name or self.name)


def normalize_rows(matrix: Matrix) -> Matrix:
    """`matrix` with every row at length 1; a zero row stays zero."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
    return unit
