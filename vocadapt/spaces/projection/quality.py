"""How far a picture may be trusted: which neighbors of the original space it keeps, and which it
invents.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import EmbeddingSpace, Matrix

K = 15
PAIRS = 2_000_000_000  # comparisons up to which every token is judged: 44 000 tokens


@dataclass(frozen=True)
class ProjectionQuality:
    """Trustworthiness and neighborhood preservation at k, from 0 to 1, judged on `n` of `of`
    tokens (n < of: drawn by seed).

    Trustworthiness (Venna and Kaski 2001): 1 − a penalty for each of the k neighbors in the plane
    that is none of the k in the original space, by its rank there. Preservation: the share of the k
    original neighbors that are kept.
    """

    trustworthiness: float
    preservation: float
    k: int
    n: int
    of: int
    metric: str = "cosine"

    @property
    def chance(self) -> float:
        """The preservation of a random picture."""
        return self.k / (self.of - 1)


def measure_projection_quality(
    space: EmbeddingSpace,
    xy: Matrix,
    k: int = K,
    metric: str = "cosine",
    most: int = 0,
    seed: int = 1,
    progress: Progress = silent,
) -> ProjectionQuality:
    """Judge the coordinates xy (words, 2) of the rows of `space`; among the words shown, exact, in
    bounded memory.

    `most`: tokens to judge (0: all, or as many as PAIRS allows). k falls to what so few tokens
    allow. Raises InputError for fewer than three tokens.
    """
    n = len(space)
    if n < 3:
        raise InputError(f"The quality of a map needs at least 3 tokens, there are {n}.")
    k = min(k, (n - 1) // 2)
    limit = most or max(PAIRS // n, 1)
    queries = (
        np.arange(n)
        if n <= limit
        else np.sort(np.random.default_rng(seed).choice(n, limit, replace=False))
    )
    ranks = _ranks(space, find_neighbors_in_plane(xy, queries, k), queries, metric, progress)
    penalty = np.maximum(ranks - k, 0).sum() * 2 / (len(queries) * k * (2 * n - 3 * k - 1))
    return ProjectionQuality(
        float(1 - penalty), float((ranks <= k).mean()), k, len(queries), n, metric
    )


def find_neighbors_in_plane(xy: Matrix, queries: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """The k nearest points in the plane to each of the points `queries` (q, k), the point itself
    left out.
    """
    from scipy.spatial import cKDTree

    found = cKDTree(xy).query(xy[queries], k + 1)[1]
    own = found == queries[:, None]
    own[~own.any(axis=1), -1] = True  # hidden behind points in the same place
    return np.asarray(found[~own].reshape(len(queries), k), dtype=np.int64)


def _ranks(
    space: EmbeddingSpace,
    near: NDArray[np.int64],
    queries: NDArray[np.int64],
    metric: str,
    progress: Progress,
) -> NDArray[np.int64]:
    """The rank in the original space of each neighbor in the plane (q, k), 1 the nearest; equals
    share the better rank.
    """
    rows, offset = (space.unit, None) if metric == "cosine" else (space.matrix, space.half_squares)
    ranks = np.empty(near.shape, dtype=np.int64)
    for part in iterate_blocks(len(queries), len(space)):
        progress(part.start / len(queries), "how far the map may be trusted")
        closeness = rows[queries[part]] @ rows.T
        if offset is not None:
            closeness -= offset
        closeness[np.arange(len(closeness)), queries[part]] = -np.inf
        asked = np.take_along_axis(closeness, near[part], axis=1)
        for row, values, place in zip(closeness, asked, ranks[part], strict=True):
            place[:] = [
                1 + np.count_nonzero(row > value) for value in values
            ]  # ten times quicker than to sort the row
    return ranks
