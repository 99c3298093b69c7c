"""Neighbors of a vector by CSLS, without the hubness of every candidate.

The hubness of all candidates takes seconds: each is compared with every vector of the query space.
A list needs that of few candidates. The nearest vectors of a sample are at most as near as those of
all, so the hubness among a sample is a lower bound, and the CSLS value with it an upper bound. The
list is exact: candidates are left out only if their upper bound is below the k-th best value.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vocadapt.spaces.neighbors.search import (
    HUB_K,
    NeighborList,
    compute_neighbor_cosines,
    list_neighbors,
    select_top_k,
)
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix, normalize_rows

SAMPLE = 100  # vectors among which the lower bound is computed, at least; not below HUB_K
MARGIN = 1e-4  # rounding errors of a bound


@dataclass(frozen=True, eq=False)
class CslsSearch:
    """Candidates, and the vectors (n, dim) of length 1 among which their hubness is measured."""

    candidates: EmbeddingSpace
    others: Matrix

    @cached_property
    def least_hubness(self) -> Matrix:
        """Lower bound of the hubness of each candidate (candidates,) float32."""
        step = max(1, len(self.others) // SAMPLE)
        return compute_neighbor_cosines(self.candidates.unit, self.others[::step]) - MARGIN

    def list_neighbors(self, vector: Matrix, k: int, metric: str = "cosine") -> NeighborList:
        """Return the k best candidates for a vector (dim,); raises InputError unless by cosine."""
        # 1. An upper bound of the CSLS value of each candidate, without the hubness of the query,
        #    which is the same for all.
        cosines = self.candidates.unit @ normalize_rows(vector[None])[0]
        bounds = 2 * cosines - self.least_hubness
        # 2. The exact values of the k highest bounds: the lowest of them is at most the k-th best.
        first = _select_largest(bounds, k)
        least = (2 * cosines[first] - self._measure_hubness(first)).min()
        # 3. Search as usual among the candidates that can reach it. The nearest ones by cosine are
        #    needed for the hubness of the query.
        rows = np.union1d(np.flatnonzero(bounds >= least), _select_largest(cosines, HUB_K))
        return list_neighbors(
            self.candidates.take(rows), vector, k, metric, hubness=self._measure_hubness(rows)
        )

    def _measure_hubness(self, rows: IntArray) -> Matrix:
        return compute_neighbor_cosines(self.candidates.unit[rows], self.others)


def _select_largest(values: Matrix, n: int) -> IntArray:
    """Return the positions of the n largest values, or of all if there are fewer."""
    largest: IntArray = select_top_k(values[None], min(n, len(values)))[0]
    return largest
