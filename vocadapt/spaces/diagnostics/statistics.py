"""Statistics of a space: mean cosines (tables 3.2 and 3.3 of Fast 2023) and rank correlation.

The mean cosine over all pairs follows from the sum S of the unit vectors, so one pass over the rows
gives the exact value:

    within    (S·S − n) / (n (n − 1))   each token with each other token
    between   S₁·S₂ / (n₁ n₂)           each token of one with each token of the other, itself
                                        included, as in Fast 2023

All sums are float64. Zero vectors have no direction: they are excluded from every mean, and
counted. Between spaces of different dimensions the result is None.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import EmbeddingSpace, FloatArray

SquareTable = tuple[tuple[float | None, ...], ...]
BLOCK = 512  # rows converted to float64 at a time


@dataclass(frozen=True, eq=False)
class Directions:
    """Sum of the unit vectors (dim,), norm of each vector (words,), number of nonzero vectors."""

    total: FloatArray
    lengths: FloatArray
    counted: int


@dataclass(frozen=True)
class CosineTables:
    """Mean cosines of several spaces, each table square and symmetric, in the order of the spaces.

    mean_cosine: over all pairs of tokens (table 3.2). mean_cosine_common: over the `common` tokens,
    each with itself in the other space (table 3.3); None for different dimensions or no common
    token.
    """

    mean_cosine: SquareTable
    mean_cosine_common: SquareTable
    common: tuple[tuple[int, ...], ...]


def sum_directions(space: EmbeddingSpace) -> Directions:
    """Compute the norms and the sum of the unit vectors of a space, in float64."""
    total = np.zeros(space.dim)
    lengths = np.empty(len(space))
    for start in range(0, len(space), BLOCK):
        rows = space.matrix[start : start + BLOCK].astype(np.float64)
        length = np.sqrt(np.einsum("nd,nd->n", rows, rows))
        total += np.divide(1.0, length, out=np.zeros_like(length), where=length > 0) @ rows
        lengths[start : start + BLOCK] = length
    return Directions(total, lengths, int(np.count_nonzero(lengths)))


def build_cosine_tables(spaces: Sequence[EmbeddingSpace]) -> CosineTables:
    """Compute tables 3.2 and 3.3 of Fast 2023 for the given spaces."""
    found = [sum_directions(space) for space in spaces]
    n = len(spaces)
    mean: list[list[float | None]] = [[None] * n for _ in spaces]
    mean_common: list[list[float | None]] = [[None] * n for _ in spaces]
    common = np.zeros((n, n), dtype=np.int64)
    # 1. Fill the tables: each pair once, because they are symmetric.
    for i, j in combinations_with_replacement(range(n), 2):
        mean[i][j] = mean[j][i] = _compute_mean(found[i], found[j], i == j)
        cosine, number = _compare_common(spaces[i], spaces[j], found[i], found[j])
        mean_common[i][j] = mean_common[j][i] = cosine
        common[i, j] = common[j, i] = number

    # 2. Return them as tuples, which are hashable and cannot be changed.
    return CosineTables(
        tuple(map(tuple, mean)),
        tuple(map(tuple, mean_common)),
        tuple(map(tuple, common.tolist())),
    )


def compute_mean_cosine(space: EmbeddingSpace, other: EmbeddingSpace | None = None) -> float | None:
    """Return the mean cosine over all pairs of different tokens or, with a second space, of a token
    of each; None for spaces of different dimensions and without a pair of nonzero vectors.
    """
    found = sum_directions(space)
    if other is None:
        return _compute_mean(found, found, same=True)
    return _compute_mean(found, sum_directions(other), same=False)


def _compute_mean(one: Directions, other: Directions, same: bool) -> float | None:
    """Return the mean cosine of all pairs; `same`: without pairs of a token with itself."""
    if one.total.shape != other.total.shape:
        return None
    own = one.counted * same
    pairs = one.counted * other.counted - own
    if pairs <= 0:
        return None
    return float((one.total @ other.total - own) / pairs)


def _compare_common(
    one: EmbeddingSpace, other: EmbeddingSpace, here: Directions, there: Directions
) -> tuple[float | None, int]:
    """Return the mean cosine of the common tokens' vectors in two spaces, and their number."""
    # 1. The rows of the common tokens, without zero vectors.
    if one is other and here.counted:
        return 1.0, here.counted
    found = [(row, other.index[word]) for row, word in enumerate(one.words) if word in other.index]
    rows = np.array(found, dtype=np.int64).reshape(-1, 2)
    rows = rows[(here.lengths[rows[:, 0]] > 0) & (there.lengths[rows[:, 1]] > 0)]
    if one.dim != other.dim or not len(rows):
        return None, len(rows)

    # 2. Sum their cosines, in blocks that are converted to float64.
    total = 0.0
    for start in range(0, len(rows), BLOCK):
        left, right = rows[start : start + BLOCK].T
        vectors = one.matrix[left]
        others = other.matrix[right]
        products = np.einsum("nd,nd->n", vectors.astype(np.float64), others.astype(np.float64))
        total += float((products / here.lengths[left] / there.lengths[right]).sum())
    return total / len(rows), len(rows)


def compute_spearman(one: NDArray[Any], other: NDArray[Any]) -> float | None:
    """Compute Spearman's rank correlation of two arrays (n,); tied values share their mean rank.

    Computed by NumPy, because the import of scipy.stats is slow. Returns None for fewer than three
    values, or if one side is constant.
    """
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(compute_mean_ranks(one), compute_mean_ranks(other))[0, 1])


def compute_mean_ranks(values: NDArray[Any]) -> FloatArray:
    """Return the rank of each value (n,), 1 for the smallest; tied values share their mean rank."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return np.asarray((last - (sizes - 1) / 2)[group])
