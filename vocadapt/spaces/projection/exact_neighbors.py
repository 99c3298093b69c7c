"""Exact nearest neighbors of every row by Euclidean distance, block by block, to report
progress.
"""

import numpy as np

from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import FloatArray, IntArray, Matrix

BLOCK = 1000  # rows searched between two progress reports


def find_exact_neighbors(
    rows: Matrix, k: int, progress: Progress = silent
) -> "tuple[IntArray, FloatArray]":
    """Find the k < n nearest other rows of each row (n, dim); return indices and distances (n, k),
    nearest first.
    """
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(rows)
    indices, distances = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), np.float64)
    for start in range(0, len(rows), BLOCK):
        progress(start / len(rows), "nearest neighbors of every token")
        own = np.arange(start, min(start + BLOCK, len(rows)))
        far, near = search.kneighbors(rows[own])
        # A row is its own nearest neighbor, unless other rows equal it: then the last neighbor is
        # dropped instead.
        itself = near == own[:, None]
        itself[~itself.any(axis=1), -1] = True
        indices[own], distances[own] = near[~itself].reshape(-1, k), far[~itself].reshape(-1, k)
    return indices, distances
