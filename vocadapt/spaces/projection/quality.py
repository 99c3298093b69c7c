"""Quality of a projection: how well it preserves the neighbors of the original space."""

from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix

K = 15
PAIRS = 2_000_000_000  # comparisons up to which all tokens are evaluated: 44 000 tokens


@dataclass(frozen=True)
class ProjectionQuality:
    """Trustworthiness and neighborhood preservation at k, from 0 to 1.

    Evaluated on `n` of `of` tokens (a random sample if n < of). Trustworthiness (Venna and Kaski
    2001): 1 − a penalty for each of the k neighbors in the plane that is not among the k in the
    original space, by its rank there. Preservation: the fraction of the k original neighbors that
    are neighbors in the plane.
    """

    trustworthiness: float
    preservation: float
    k: int
    n: int
    of: int
    metric: str = "cosine"

    @property
    def chance(self) -> float:
        """Expected preservation of a random layout."""
        return self.k / (self.of - 1)


def measure_projection_quality(
    space: EmbeddingSpace,
    xy: Matrix,
    k: int = K,
    metric: str = "cosine",
    max_tokens: int = 0,
    seed: int = 1,
    progress: Progress = silent,
) -> ProjectionQuality:
    """Measure the quality of the coordinates xy (words, 2) of a space; exact, in bounded memory.

    max_tokens: number of tokens to evaluate (0: all, or as many as PAIRS allows). k is reduced if
    there are too few tokens. Raises InputError for fewer than three tokens.
    """
    n = len(space)
    if n < 3:
        raise InputError(
            f"Projection quality needs at least 3 tokens, got {n}.", code="too-few-tokens"
        )
    k = min(k, (n - 1) // 2)
    limit = max_tokens or max(PAIRS // n, 1)
    queries = np.arange(n)
    if n > limit:
        queries = np.sort(np.random.default_rng(seed).choice(n, limit, replace=False))
    ranks = _rank_plane_neighbors(
        space, find_neighbors_in_plane(xy, queries, k), queries, metric, progress
    )
    penalty = np.maximum(ranks - k, 0).sum() * 2 / (len(queries) * k * (2 * n - 3 * k - 1))
    return ProjectionQuality(
        float(1 - penalty), float((ranks <= k).mean()), k, len(queries), n, metric
    )


def find_neighbors_in_plane(xy: Matrix, queries: IntArray, k: int) -> IntArray:
    """Return the k nearest other points of each query point (q, k) int64.

    xy: (n, 2); queries: (q,), indices of points.
    """
    from scipy.spatial import cKDTree

    found = cKDTree(xy).query(xy[queries], k + 1)[1]
    own = found == queries[:, None]
    # A point may be missing among its own neighbors if others have the same coordinates.
    own[~own.any(axis=1), -1] = True
    return np.asarray(found[~own].reshape(len(queries), k), dtype=np.int64)


def _rank_plane_neighbors(
    space: EmbeddingSpace,
    near: IntArray,
    queries: IntArray,
    metric: str,
    progress: Progress,
) -> IntArray:
    """Return the rank in the original space of each neighbor in the plane (q, k) int64.

    The nearest has rank 1; ties share the better rank.
    """
    # 1. Similarity by the metric, larger is nearer: for the Euclidean distance see `half_squares`.
    rows = space.matrix
    if metric == "cosine":
        rows = space.unit
    ranks = np.empty(near.shape, dtype=np.int64)
    for part in iterate_blocks(len(queries), len(space)):
        progress(part.start / len(queries), "quality of the projection")
        similarity = rows[queries[part]] @ rows.T
        if metric != "cosine":
            similarity -= space.half_squares
        similarity[np.arange(len(similarity)), queries[part]] = -np.inf

        # 2. The rank of a neighbor is one more than the number of tokens nearer than it. Counting
        #    them for k neighbors is ten times faster than sorting all tokens.
        to_neighbors = np.take_along_axis(similarity, near[part], axis=1)
        for row, values, target in zip(similarity, to_neighbors, ranks[part], strict=True):
            target[:] = [1 + np.count_nonzero(row > value) for value in values]
    return ranks
