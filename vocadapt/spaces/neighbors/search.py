"""Exact nearest neighbors in one space: cosine, Euclid or CSLS.

All three are one product minus an offset per candidate, so one loop over blocks of queries serves
them; the best have the largest value:

    cosine      q·c           both at length 1
    Euclid      q·c − ‖c‖²/2
    CSLS        q·c − r(c)/2  both at length 1; r(c), the hubness: how near c is to everything on the other side

CSLS (Conneau et al. 2018, Word translation without parallel data, section 2.3) takes hubs down:
candidates near every query.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import EmbeddingSpace, Matrix, normalize_rows

METRICS = ("cosine", "euclidean")
HUB_K = 10  # neighbors that tell how much of a hub a row is: K of the paper
BLOCK = 15_000_000  # similarities held at once: 60 MB
GROUP = 32  # candidates of which only the largest is looked at first


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k nearest candidates of each query, best first: row numbers and scores, both (queries,
    k).

    A score is a cosine, a Euclidean distance, or the CSLS value 2·cos − r(q) − r(c), as asked for.
    """

    rows: NDArray[np.int64]
    scores: Matrix


def find_nearest(
    queries: Matrix,
    space: EmbeddingSpace,
    k: int = 10,
    metric: str = "cosine",
    leave_out: NDArray[np.int64] | None = None,
    hubs: Matrix | None = None,
) -> Neighbors:
    """The k nearest rows of `space` to each of `queries` (n, dim); exact, memory bounded, equal
    scores in the order of the rows (which of several equal ones comes in as the last is left open).

    `leave_out` (n,) names a row of the space that must not come back for each query, −1 for none.
    `hubs` (words,), the `compute_hubness` of the space's rows, turns cosine into CSLS. Raises InputError
    for an unknown metric, k < 1 or unequal widths.
    """
    _check(queries, space, k, metric, hubs)
    left, right = (
        (normalize_rows(queries), space.unit) if metric == "cosine" else (queries, space.matrix)
    )
    offset = hubs / 2 if hubs is not None else space.half_squares if metric == "euclidean" else None
    rows = np.empty((len(left), min(k, len(space) - (leave_out is not None))), dtype=np.int64)
    query_hubness = np.empty(len(left), dtype=np.float32)
    for part in iterate_blocks(len(left), len(right)):
        closeness = left[part] @ right.T
        if hubs is not None:
            query_hubness[part] = _mean_of_top_k(closeness, HUB_K)
        if offset is not None:
            closeness -= offset
        if leave_out is not None:
            queries_with_own = np.flatnonzero(leave_out[part] >= 0)
            closeness[queries_with_own, leave_out[part][queries_with_own]] = -np.inf
        rows[part] = select_top_k(closeness, rows.shape[1])
    scores = _scores(left, right, rows, metric)
    if hubs is not None:
        scores = 2 * scores - hubs[rows] - query_hubness[:, None]
    return Neighbors(rows, scores)


def compute_hubness(
    rows: Matrix, others: Matrix, k: int = HUB_K, progress: Progress = silent
) -> Matrix:
    """Hubness r of each row (n,): the mean cosine to its k nearest among `others`; both matrices
    hold rows of length 1.
    """
    result = np.empty(len(rows), dtype=np.float32)
    for part in iterate_blocks(len(rows), len(others)):
        progress(part.start / len(rows), "comparing with every wordpiece")
        result[part] = _mean_of_top_k(rows[part] @ others.T, k)
    return result


def iterate_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices over `rows` whose products with `columns` candidates keep to BLOCK values."""
    step = max(1, BLOCK // max(columns, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def select_top_k(scores: Matrix, k: int) -> NDArray[np.int64]:
    """Return the columns of the k largest scores of each row, best first; ties go to the lower
    column.

    Among equal scores at the k-th place, any may be selected. scores: (rows, candidates) float32.
    Returns (rows, k) int64.

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
    best: NDArray[np.int64] = column[by_row_then_score[first_of_row[:, None] + np.arange(k)]]
    return best


def _select_top_k_by_partition(scores: Matrix, k: int) -> NDArray[np.int64]:
    """Select the top k by a partition of all candidates: slower, but for any scores and k."""
    if k == 0:
        return np.empty((len(scores), 0), dtype=np.int64)
    n_candidates = scores.shape[1]
    columns = np.sort(
        np.argpartition(scores, n_candidates - k, axis=1)[:, n_candidates - k :], axis=1
    )
    order = np.argsort(-np.take_along_axis(scores, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _mean_of_top_k(scores: Matrix, k: int) -> Matrix:
    """Return the mean of the k largest scores of each row (rows,), of all scores if there are
    fewer.
    """
    columns = select_top_k(scores, min(k, scores.shape[1]))
    mean: Matrix = np.take_along_axis(scores, columns, axis=1).mean(axis=1)
    return mean


def _scores(left: Matrix, right: Matrix, rows: NDArray[np.int64], metric: str) -> Matrix:
    """Return the cosines or Euclidean distances of the chosen rows (queries, k)."""
    scores = np.empty(rows.shape, dtype=np.float32)
    for i, chosen in enumerate(rows):
        scores[i] = (
            right[chosen] @ left[i]
            if metric == "cosine"
            else np.linalg.norm(right[chosen] - left[i], axis=1)
        )
    return scores


def _check(
    queries: Matrix, space: EmbeddingSpace, k: int, metric: str, hubs: Matrix | None
) -> None:
    if metric not in METRICS:
        raise InputError(f"Unknown metric {metric!r}.", f"Choose one of: {', '.join(METRICS)}.")
    if hubs is not None and metric != "cosine":
        raise InputError("CSLS is made of cosines.", "Leave CSLS out, or choose the cosine.")
    if k < 1:
        raise InputError(f"The number of neighbors must be at least 1, got {k}.")
    if queries.ndim != 2 or queries.shape[1] != space.dim:
        raise InputError(
            f"Queries of shape {queries.shape} do not fit {space.name}, whose vectors have width"
            f" {space.dim}."
        )
