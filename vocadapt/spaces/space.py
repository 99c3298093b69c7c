"""EmbeddingSpace: words with one vector each; most functions of the package take or return one.

TokenKinds lists the words that are special tokens or parts of words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.text.summary import SHOWN, Summarized, Summary, Table

Matrix = NDArray[np.float32]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def is_any_word(word: str) -> bool:
    """Return True: without a tokenizer, every word counts as one that a text can contain."""
    return True


@dataclass(frozen=True, eq=False)
class TokenKinds:
    """Which words of a space are special tokens, continuations of a word, or placeholders.

    By default all are ordinary words. A space does not know how a tokenizer marks its tokens, so
    the tokenizer family of the model computes the kinds.

    continuations: tokens that continue a word; placeholders: tokens that no text contains.
    bodies: texts of the continuations without their mark. continuation_name: their name in
    messages.
    is_produced: whether the model's tokenizer produces a word of the space for some text; words
    that it never produces have untrained embeddings.
    """

    special: frozenset[str] = frozenset()
    continuations: frozenset[str] = frozenset()
    placeholders: frozenset[str] = frozenset()
    bodies: Mapping[str, str] = field(default_factory=dict)
    continuation_name: str = "continuations"
    is_produced: Callable[[str], bool] = is_any_word

    def body(self, word: str) -> str:
        """Return the text of a word without the mark of a continuation."""
        return self.bodies.get(word, word)


NO_KINDS = TokenKinds()
# The largest value of a vector: sums of its squares fit into float32.
MIN_VALUE, MAX_VALUE = 1e-15, 1e15


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingSpace(Summarized):
    """Words and their vectors, in the same order; immutable.

    `matrix` is (words, dim) float32; `counts` is (words,) int64, or None if corpus counts are
    unknown; `kinds` lists the special tokens and the parts of words. Raises InputError for a
    repeated word, NaN or infinity, or shapes that do not match.
    """

    words: tuple[str, ...]
    matrix: Matrix
    counts: IntArray | None = None
    name: str = "space"
    kinds: TokenKinds = NO_KINDS

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise InputError(
                f"{self.name}: expected one row per word, got {len(self.words)} words and a matrix"
                f" of shape {self.matrix.shape}.",
                code="unlike-words",
            )
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise InputError(
                f"{self.name}: expected one count per word, got {self.counts.shape} for"
                f" {len(self.words)} words.",
                code="unlike-counts",
            )
        if self.matrix.dtype != np.float32:
            object.__setattr__(self, "matrix", self.matrix.astype(np.float32))
        if len(self.index) != len(self.words):
            raise InputError(
                f"{self.name}: {len(self.words) - len(self.index)} words occur more than once.",
                code="repeated-word",
            )
        if not np.isfinite(self.matrix).all():
            bad = int((~np.isfinite(self.matrix).all(axis=1)).sum())
            raise InputError(
                f"{self.name}: {bad} of {len(self.words)} vectors contain NaN or infinity.",
                code="not-finite",
            )
        self.matrix.flags.writeable = False

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> Matrix:
        return np.asarray(self.matrix[self.index[word]])

    def summarize(self) -> Summary:
        """Return the size of the space and its first words, with their norms and counts."""
        facts = {"words": len(self), "dimensions": self.dim, "counts": self.counts is not None}
        norms = np.linalg.norm(self.matrix[:SHOWN], axis=1).tolist()
        counts: list[int | None] = [None] * len(norms)
        if self.counts is not None:
            counts = self.counts[:SHOWN].tolist()
        rows = list(zip(self.words[:SHOWN], counts, norms, strict=True))
        table = Table(("word", "count", "norm"), rows, len(self), "words", frozenset({"word"}))
        return Summary(self.name, facts, (table,))

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self.matrix.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """The row number of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def unit(self) -> Matrix:
        """The unit vectors (words, dim) float32; a zero row stays zero. Cached.

        Raises InputError for a vector that is so long that its square overflows.
        """
        unit = normalize_rows(self.matrix)
        sizes = _find_largest(self.matrix)
        # A vector that is too short counts as zero: models have rows that were never trained.
        is_long = sizes > MAX_VALUE
        if is_long.any():
            _refuse_rows(self, sizes, is_long & ~unit.any(axis=1))
        unit.flags.writeable = False
        return unit

    @cached_property
    def half_squares(self) -> Matrix:
        """Half the squared norm of each row (words,) float32.

        q·c − ‖c‖²/2 orders the candidates c by their Euclidean distance to q.
        """
        return np.asarray(np.einsum("ij,ij->i", self.matrix, self.matrix) / 2)

    def rows(self, words: Iterable[str]) -> IntArray:
        """Return the row numbers (n,) int64 of words; raises KeyError for an unknown word."""
        return np.fromiter((self.index[word] for word in words), dtype=np.int64)

    def take(self, rows: Sequence[int] | IntArray) -> "EmbeddingSpace":
        """Return a space of the given rows, in the given order."""
        rows = np.asarray(rows, dtype=np.int64)
        counts = self.counts
        if counts is not None:
            counts = counts[rows]
        words = tuple(self.words[row] for row in rows)
        return EmbeddingSpace(words, self.matrix[rows], counts, self.name, self.kinds)

    def with_matrix(self, matrix: Matrix, name: str | None = None) -> "EmbeddingSpace":
        """Return a space with the same words and counts and another matrix (words, dim)."""
        return EmbeddingSpace(self.words, matrix, self.counts, name or self.name, self.kinds)


def normalize_rows(matrix: Matrix) -> Matrix:
    """Scale each row of a matrix (n, dim) float32 to length 1; a zero row stays zero."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0))


def check_magnitudes(space: EmbeddingSpace) -> None:
    """Raise InputError, with the first word, for vectors whose squared length float32 cannot hold:
    cosines would be 0 or infinite. A vector of zeros is allowed.
    """
    sizes = _find_largest(space.matrix)
    _refuse_rows(space, sizes, (sizes > MAX_VALUE) | ((sizes > 0) & (sizes < MIN_VALUE)))


def _find_largest(matrix: Matrix) -> Matrix:
    """Return the largest absolute value of each row (words,) float32."""
    largest = matrix.max(axis=1, initial=0)
    return np.asarray(np.maximum(largest, -matrix.min(axis=1, initial=0)))


def _refuse_rows(space: EmbeddingSpace, sizes: Matrix, is_odd: BoolArray) -> None:
    if not is_odd.any():
        return
    row = int(np.argmax(is_odd))
    raise InputError(
        f"{space.name}: {int(is_odd.sum()):,} of {len(space):,} vectors are too long or too short"
        f" to compute with, such as that of {space.words[row]!r:.60} ({float(sizes[row]):.2g}).",
        "Multiply all vectors by one number, so that their values are near 1.",
        code="odd-magnitudes",
    )
