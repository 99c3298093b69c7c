"""Spearman's rank correlation without scipy.stats, whose import is slow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import FloatArray


def compute_spearman(one: NDArray[Any], other: NDArray[Any]) -> float | None:
    """Compute Spearman's rank correlation of two arrays (n,); tied values share their mean rank.

    Returns None for fewer than three values, or if one side is constant.
    """
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(compute_mean_ranks(one), compute_mean_ranks(other))[0, 1])


def compute_mean_ranks(values: NDArray[Any]) -> FloatArray:
    """Compute the rank of each value (n,), 1 for the smallest; tied values share their mean
    rank.
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    ranks: FloatArray = (last - (sizes - 1) / 2)[group]
    return ranks
