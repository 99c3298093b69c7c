"""Exact nearest neighbors by cosine, Euclidean distance or CSLS.

All three rank candidates c for a query q by a dot product minus an offset per candidate, largest
first, so one loop over blocks of queries computes them:

    cosine      q·c           unit vectors
    Euclidean   q·c − ‖c‖²/2
    CSLS        q·c − r(c)/2  unit vectors; r(c) is the hubness of c: its mean cosine to its nearest
                              neighbors in the query space

CSLS (Conneau et al. 2018, Word translation without parallel data, section 2.3) penalizes hubs:
candidates that are near every query. The hubness of a whole space (`diagnostics.geometry`) is the
skewness of N_k instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError, check_choice
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix, normalize_rows

METRICS = {"cosine": "cosine", "euclidean": "Euclidean distance"}  # name -> words of a sentence
HUB_K = 10  # nearest neighbors of which hubness is the mean cosine: K in Conneau et al. 2018
BLOCK = 15_000_000  # similarities in memory at a time: 60 MB
GROUP = 32  # candidates per group in `select_top_k`
NeighborList = list[tuple[str, float]]  # words with their scores, best first


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k nearest candidates of each query, best first.

    rows: (queries, k) int64 row numbers. scores: (queries, k) float32, by metric the cosine, the
    Euclidean distance or the CSLS value 2·cos(q, c) − r(q) − r(c).
    """

    rows: IntArray
    scores: Matrix


def find_nearest(
    queries: Matrix,
    space: EmbeddingSpace,
    k: int = 10,
    metric: str = "cosine",
    leave_out: IntArray | None = None,
    hubness: Matrix | None = None,
    progress: Progress = silent,
) -> Neighbors:
    """Return the k nearest rows of `space` for each query; exact, with bounded memory.

    queries: (n, dim) float32. leave_out: (n,) int64, a row of the space to exclude for each query,
    −1 for none. hubness: (words,) float32, the hubness of the space's rows
    (`compute_neighbor_cosines`); if given, the metric is CSLS instead of the cosine. Ties are
    ordered by row; among ties at the k-th place any may be returned. Raises InputError for an
    unknown metric, k < 1 or unequal dimensions.
    """
    _check(queries, space, k, metric, hubness)
    # 1. The candidates, and the offset that turns their dot product into the ranking of the metric.
    candidates = space.matrix
    if metric == "cosine":
        candidates = space.unit
    offset: Matrix | None = None
    if hubness is not None:
        offset = (hubness / 2).astype(np.float32, copy=False)
    elif metric == "euclidean":
        offset = space.half_squares

    n_neighbors = min(k, len(space) - (leave_out is not None))
    rows = np.empty((len(queries), n_neighbors), dtype=np.int64)
    scores = np.empty(rows.shape, dtype=np.float32)
    for block in iterate_blocks(len(queries), len(space)):
        # 2. The dot products of a block of queries, less the offsets.
        progress(block.start / len(queries))
        left = queries[block]
        if metric == "cosine":
            left = normalize_rows(left)
        similarity = left @ candidates.T
        if hubness is not None:
            # The products are known here, so the hubness of the queries costs little.
            query_hubness = _mean_of_top_k(similarity, HUB_K)
        if offset is not None:
            similarity -= offset
        if leave_out is not None:
            queries_with_own = np.flatnonzero(leave_out[block] >= 0)
            similarity[queries_with_own, leave_out[block][queries_with_own]] = -np.inf

        # 3. The best k, with their scores recomputed, because the offset changed them.
        rows[block] = select_top_k(similarity, n_neighbors)
        scores[block] = _compute_scores(left, candidates, rows[block], metric)
        if hubness is not None:
            scores[block] = 2 * scores[block] - hubness[rows[block]] - query_hubness[:, None]
    return Neighbors(rows, scores)


def list_neighbors(
    space: EmbeddingSpace,
    vector: Matrix,
    k: int = 10,
    metric: str = "cosine",
    own: str | None = None,
    hubness: Matrix | None = None,
) -> NeighborList:
    """Return the k words nearest to a vector (dim,) without `own`, as `find_nearest` does."""
    leave_out = None
    if own is not None and own in space:
        leave_out = np.array([space.index[own]])
    found = find_nearest(vector[None], space, k, metric, leave_out, hubness)
    names = [space.words[row] for row in found.rows[0]]
    return list(zip(names, map(float, found.scores[0]), strict=True))


def compute_neighbor_cosines(
    rows: Matrix, others: Matrix, k: int = HUB_K, progress: Progress = silent
) -> Matrix:
    """Return the hubness of each row (n,) float32: its mean cosine to its k nearest `others`.

    rows: (n, dim), others: (m, dim), unit vectors, float32.
    """
    result = np.empty(len(rows), dtype=np.float32)
    for block in iterate_blocks(len(rows), len(others)):
        progress(block.start / len(rows), "comparing with every wordpiece")
        result[block] = _mean_of_top_k(rows[block] @ others.T, k)
    return result


def iterate_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices of `rows` queries whose similarities to `columns` candidates fit into BLOCK."""
    step = max(1, BLOCK // max(columns, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def select_top_k(scores: Matrix, k: int) -> IntArray:
    """Return the columns of the k largest scores of each row, best first.

    scores: (rows, candidates) float32. Returns (rows, k) int64. Ties are ordered by column; among
    ties at the k-th place any may be selected.

    Sorting all candidates would be slow, so most are excluded by a lower bound first:

    1. Split the candidates into groups and take the maximum of each group.
    2. The k-th largest group maximum is a lower bound for the k-th best score.
    3. Sort only the candidates that reach the bound.

    Example, k = 1, two groups: scores [.1 .9 .4 .2] -> maxima [.4 .9] -> bound .9 -> candidate 1.
    """
    n_rows, n_candidates = scores.shape
    n_groups = max(n_candidates // GROUP, 8 * k)
    if k == 0 or n_candidates < 2 * n_groups:
        return _select_top_k_by_partition(scores, k)

    # 1. Maximum of each group; step 3 also covers the remainder of the division.
    n_grouped = n_candidates // n_groups * n_groups
    group_maxima = scores[:, :n_grouped].reshape(n_rows, -1, n_groups).max(axis=1)

    # 2. The k-th largest maximum is the bound of each row.
    bound = np.partition(group_maxima, n_groups - k, axis=1)[:, n_groups - k, None]

    # 3. Sort the candidates that reach the bound. If there are too many (equal scores), fall back.
    candidates = np.flatnonzero(scores >= bound)
    if len(candidates) > 8 * k * n_rows:
        return _select_top_k_by_partition(scores, k)
    row, column = np.divmod(candidates, n_candidates)
    by_row_then_score = np.lexsort((column, -scores.ravel()[candidates], row))
    first_of_row = np.searchsorted(row, np.arange(n_rows))
    return np.asarray(column[by_row_then_score[first_of_row[:, None] + np.arange(k)]])


def _select_top_k_by_partition(scores: Matrix, k: int) -> IntArray:
    """Select the top k by a partition of all candidates: slower, but for any scores and k."""
    if k == 0:
        return np.empty((len(scores), 0), dtype=np.int64)
    n_others = scores.shape[1] - k
    # Columns in ascending order first, so that the stable sort leaves ties in that order.
    columns = np.sort(np.argpartition(scores, n_others, axis=1)[:, n_others:], axis=1)
    order = np.argsort(-np.take_along_axis(scores, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _mean_of_top_k(scores: Matrix, k: int) -> Matrix:
    """Return the mean of the k largest scores of each row (rows,), or of all if there are fewer."""
    columns = select_top_k(scores, min(k, scores.shape[1]))
    return np.asarray(np.take_along_axis(scores, columns, axis=1).mean(axis=1))


def _compute_scores(left: Matrix, right: Matrix, rows: IntArray, metric: str) -> Matrix:
    """Return the cosines or Euclidean distances of the selected rows (queries, k) float32."""
    scores = np.empty(rows.shape, dtype=np.float32)
    for i, selected in enumerate(rows):
        if metric == "cosine":
            scores[i] = right[selected] @ left[i]
        else:
            scores[i] = np.linalg.norm(right[selected] - left[i], axis=1)
    return scores


def _check(
    queries: Matrix, space: EmbeddingSpace, k: int, metric: str, hubness: Matrix | None
) -> None:
    check_choice("metric", metric, METRICS)
    if hubness is not None and metric != "cosine":
        raise InputError(
            "CSLS is defined for cosines only.",
            "Turn CSLS off, or choose the metric cosine.",
            code="cosines-only",
        )
    if k < 1:
        raise InputError(f"The number of neighbors must be at least 1, got {k}.")
    if queries.ndim != 2 or queries.shape[1] != space.dim:
        raise InputError(
            f"Queries of shape {queries.shape} do not match {space.name}, whose vectors have"
            f" {space.dim} dimensions.",
            code="wrong-dimensions",
        )
