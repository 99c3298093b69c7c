"""Exact nearest neighbours in one space: cosine, Euclid or CSLS.

All three are one product minus an offset per candidate, so one loop over blocks of queries serves them; the best have the
largest value:

    cosine      q·c           both at length 1
    Euclid      q·c − ‖c‖²/2
    CSLS        q·c − r(c)/2  both at length 1; r(c), the hubness: how near c is to everything on the other side

CSLS (Conneau et al. 2018, Word translation without parallel data, section 2.3) takes hubs down: candidates near every query.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import EmbeddingSpace, Matrix, unit_rows

METRICS = ("cosine", "euclidean")
HUB_K = 10  # neighbours that tell how much of a hub a row is: K of the paper
BLOCK = 15_000_000  # similarities held at once: 60 MB
GROUP = 32  # candidates of which only the largest is looked at first


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest candidates of each query, best first: row numbers and scores, both (queries, k).

    A score is a cosine, a Euclidean distance, or the CSLS value 2·cos − r(q) − r(c), as asked for.
    """

    rows: NDArray[np.int64]
    scores: Matrix


def nearest(
    queries: Matrix,
    space: EmbeddingSpace,
    k: int = 10,
    metric: str = "cosine",
    leave_out: NDArray[np.int64] | None = None,
    hubs: Matrix | None = None,
) -> Neighbours:
    """The k nearest rows of `space` to each of `queries` (n, dim); exact, memory bounded, equal scores in the order of
    the rows (which of several equal ones comes in as the last is left open).

    `leave_out` (n,) names a row of the space that must not come back for each query, −1 for none. `hubs` (words,), the
    `hubness` of the space's rows, turns cosine into CSLS. Raises InputError for an unknown metric, k < 1 or unequal widths.
    """
    _check(queries, space, k, metric, hubs)
    left, right = (unit_rows(queries), space.unit) if metric == "cosine" else (queries, space.matrix)
    offset = hubs / 2 if hubs is not None else space.half_squares if metric == "euclidean" else None
    rows = np.empty((len(left), min(k, len(space) - (leave_out is not None))), dtype=np.int64)
    for part in blocks(len(left), len(right)):
        closeness = left[part] @ right.T
        if offset is not None:
            closeness -= offset
        if leave_out is not None:
            queries_with_own = np.flatnonzero(leave_out[part] >= 0)
            closeness[queries_with_own, leave_out[part][queries_with_own]] = -np.inf
        rows[part] = _best(closeness, rows.shape[1])
    return Neighbours(rows, _scores(left, right, rows, metric, hubs))


def hubness(rows: Matrix, others: Matrix, k: int = HUB_K, progress: Progress = silent) -> Matrix:
    """Hubness r of each row (n,): the mean cosine to its k nearest among `others`; both matrices hold rows of length 1."""
    k = min(k, len(others))
    result = np.empty(len(rows), dtype=np.float32)
    for part in blocks(len(rows), len(others)):
        progress(part.start / len(rows), "comparing with every wordpiece")
        similarity = rows[part] @ others.T
        similarity.partition(len(others) - k, axis=1)
        result[part] = similarity[:, len(others) - k :].mean(axis=1)
    return result


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices over `rows` whose products with `columns` candidates keep to BLOCK values."""
    step = max(1, BLOCK // max(columns, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _best(closeness: Matrix, k: int) -> NDArray[np.int64]:
    """Columns of the k largest values of each row, largest first, equal values by column; k may be 0.

    The columns are dealt into groups: k of these have a largest value of at least `bound`, so the k best are not below it. What
    reaches the bound is little, and is sorted. It is not little where very many values are equal.
    """
    rows, count = closeness.shape
    groups = max(count // GROUP, 8 * k)
    if k and count >= 2 * groups:
        deep = closeness[:, : count // groups * groups].reshape(rows, -1, groups).max(axis=1)
        bound = np.partition(deep, groups - k, axis=1)[:, groups - k, None]
        found = np.flatnonzero(closeness >= bound)
        if len(found) <= 8 * k * rows:
            row, column = np.divmod(found, count)
            order = np.lexsort((column, -closeness.ravel()[found], row))
            first = np.searchsorted(row, np.arange(rows))
            best: NDArray[np.int64] = column[order[first[:, None] + np.arange(k)]]
            return best
    return _best_of_any(closeness, k)


def _best_of_any(closeness: Matrix, k: int) -> NDArray[np.int64]:
    """The same, whatever the values."""
    count = closeness.shape[1]
    if k == 0:
        return np.empty((len(closeness), 0), dtype=np.int64)
    rows = np.sort(np.argpartition(closeness, count - k, axis=1)[:, count - k :], axis=1)
    order = np.argsort(-np.take_along_axis(closeness, rows, axis=1), axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1)


def _scores(left: Matrix, right: Matrix, rows: NDArray[np.int64], metric: str, hubs: Matrix | None) -> Matrix:
    """The scores people read, of the chosen rows only."""
    scores = np.empty(rows.shape, dtype=np.float32)
    for i, chosen in enumerate(rows):
        scores[i] = right[chosen] @ left[i] if metric == "cosine" else np.linalg.norm(right[chosen] - left[i], axis=1)
    return scores if hubs is None else 2 * scores - hubs[rows] - hubness(left, right)[:, None]


def _check(queries: Matrix, space: EmbeddingSpace, k: int, metric: str, hubs: Matrix | None) -> None:
    if metric not in METRICS:
        raise InputError(f"Unknown metric {metric!r}.", f"Choose one of: {', '.join(METRICS)}.")
    if hubs is not None and metric != "cosine":
        raise InputError("CSLS is made of cosines.", "Leave CSLS out, or choose the cosine.")
    if k < 1:
        raise InputError(f"The number of neighbours must be at least 1, got {k}.")
    if queries.ndim != 2 or queries.shape[1] != space.dim:
        raise InputError(f"Queries of shape {queries.shape} do not fit {space.name}, whose vectors have width {space.dim}.")
