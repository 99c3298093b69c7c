"""Rows as weighted sums of old rows, which most initializers make: who gives, how much, and the
same as provenance.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vocadapt.cores import count_cores
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import Matrix
from vocadapt.vocabulary.initializers.materials import (
    NO_VECTOR,
    Donors,
    Made,
    Materials,
    Provenance,
    has_vector,
    mean_row,
)

FOLDS = 16  # columns that share one maximum when a bound is looked for
PARTS_AT_ONCE = 2
COLUMNS = 128  # columns of the donor embeddings that are summed at once


@dataclass(frozen=True, eq=False)
class Mix:
    """Weights (n, k) of donors, named by column number (n, k); what has no weight is padding."""

    donors: NDArray[np.int64]
    weights: Matrix


def mixed(names: Sequence[str], donor_rows: Matrix, parts: Sequence[Mix], how: str) -> Made:
    """The rows that mixes of donors give, and their provenance.

    `names` and `donor_rows` (donors, dim) belong together; `parts` follow each other, n rows in
    all.
    """
    used = [part.weights != 0 for part in parts]
    counts = np.concatenate([np.zeros(1, np.int64), *(mask.sum(axis=1) for mask in used)])
    starts = np.cumsum(counts)
    columns = np.concatenate([part.donors[mask] for part, mask in zip(parts, used, strict=True)])
    weights = np.concatenate([part.weights[mask] for part, mask in zip(parts, used, strict=True)])
    rows = _weighted_sums(starts, columns, weights.astype(np.float32), donor_rows)
    spans = (slice(first, last) for first, last in pairwise(starts.tolist()))
    return rows, tuple(
        Provenance(how, Donors(names, columns[span], weights[span])) for span in spans
    )


def _weighted_sums(
    starts: NDArray[np.int64], columns: NDArray[np.int64], weights: Matrix, donor_rows: Matrix
) -> Matrix:
    """Compute weighted sums of donor embeddings (n, dim); sum i has the donors starts[i]:starts[i +
    1].

    donor_rows: (donors, dim), processed in blocks of COLUMNS columns that fit into the processor's
    cache.
    """
    from scipy.sparse import csr_array

    mix = csr_array((weights, columns, starts), shape=(len(starts) - 1, len(donor_rows)))
    rows = np.empty((len(starts) - 1, donor_rows.shape[1]), np.float32)
    for first in range(0, donor_rows.shape[1], COLUMNS):
        some = slice(first, first + COLUMNS)
        rows[:, some] = mix @ np.ascontiguousarray(donor_rows[:, some])
    return rows


def where_alike(materials: Materials, choose: Callable[[Matrix], Mix], how: str) -> Made:
    """Rows of new tokens from the common tokens, by their cosines in the target space.

    `choose` turns cosines (block, common tokens) into a mix; it sees a block of new tokens at a
    time, so memory is bounded.
    """
    space, names = materials.similar, materials.donors
    common = space.unit[space.rows(names)]

    def make(tokens: tuple[str, ...]) -> Made:
        new = space.unit[space.rows(tokens)]
        parts = _run_side_by_side(
            lambda part: choose(new[part] @ common.T), iterate_blocks(len(new), len(common))
        )
        return mixed(names, materials.model.matrix[materials.model.rows(names)], parts, how)

    return with_fallback(
        materials, [has_vector(space, token) for token in materials.plan.new_rows], make
    )


def _run_side_by_side(work: Callable[[slice], Mix], parts: Iterable[slice]) -> list[Mix]:
    """Compute the mix of each part, two parts in parallel.

    A single part would leave a core idle while its donors are selected, outside of BLAS.
    """
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(count_cores() // PARTS_AT_ONCE or 1),
        ThreadPoolExecutor(PARTS_AT_ONCE) as pool,
    ):
        return list(pool.map(work, parts))


def with_fallback(
    materials: Materials, able: Sequence[bool], make: Callable[[tuple[str, ...]], Made]
) -> Made:
    """Rows by `make` for the tokens where `able` is true, the mean of their pieces for the others;
    each says which it was.
    """
    tokens = materials.plan.new_rows
    groups = [
        tuple(token for token, can in zip(tokens, able, strict=True) if can is wanted)
        for wanted in (True, False)
    ]
    made = [make(groups[0])] if groups[0] else []
    if groups[1]:
        filled, sources = mean_of_pieces(materials, groups[1])
        made.append(
            (
                filled,
                tuple(
                    Provenance(f"{NO_VECTOR}: {s.how}", s.donors, fallback=True) for s in sources
                ),
            )
        )
    if not made:
        return np.empty((0, materials.model.dim), np.float32), ()
    order = np.argsort(np.argsort([not can for can in able], kind="stable"), kind="stable")
    given = [source for _, group in made for source in group]
    return np.concatenate([rows for rows, _ in made])[order], tuple(given[i] for i in order)


def mean_of_pieces(materials: Materials, tokens: Sequence[str]) -> Made:
    """The mean of the rows of a token's pieces; the global mean for what the model cannot spell."""
    base, model = materials.plan.base, materials.model
    cuts = [base.tokenize_token(token) for token in tokens]
    spelled = [bool(cut) and base.unknown not in cut for cut in cuts]
    width = max((len(cut) for cut in cuts), default=1)
    donors, weights = (
        np.zeros((len(cuts), width), np.int64),
        np.zeros((len(cuts), width), np.float32),
    )
    for row, (cut, can) in enumerate(zip(cuts, spelled, strict=True)):
        if can:
            donors[row, : len(cut)] = [model.index[piece] for piece in cut]
            weights[row, : len(cut)] = 1 / len(cut)
    rows, sources = mixed(model.words, model.matrix, [Mix(donors, weights)], "mean of its pieces")
    rows[~np.array(spelled, dtype=bool)] = mean_row(model)
    unspelled = Provenance("global mean: the model cannot spell it", fallback=True)
    return rows, tuple(
        source if can else unspelled for source, can in zip(sources, spelled, strict=True)
    )


def shortlist(closeness: Matrix, bound: Matrix) -> tuple[NDArray[np.int64], Matrix]:
    """What lies at or above each row's bound: columns and values (rows, most), best first, equal
    ones by column.

    Padded with column 0 and −∞.
    """
    rows, columns = np.divmod(
        np.flatnonzero(closeness >= bound[:, None]), closeness.shape[1]
    )  # np.nonzero is slower
    counts = np.bincount(rows, minlength=len(closeness))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(closeness), int(counts.max(initial=1)))
    found, values = np.zeros(shape, np.int64), np.full(shape, -np.inf, np.float32)
    found[rows, place], values[rows, place] = columns, closeness[rows, columns]
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(values, order, axis=1)


def folded_maxima(closeness: Matrix) -> Matrix:
    """Return maxima of disjoint groups of columns (rows, groups): the k-th largest of them bounds
    the k-th largest value of the row from below.
    """
    count = closeness.shape[1]
    step = -(-count // FOLDS)
    maxima = closeness[:, :step].copy()
    for start in range(step, count, step):
        part = closeness[:, start : start + step]
        np.maximum(maxima[:, : part.shape[1]], part, out=maxima[:, : part.shape[1]])
    return maxima
