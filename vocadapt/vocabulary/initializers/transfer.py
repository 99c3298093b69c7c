"""Initializers that mix the rows of common tokens, by how alike these are to the new token in a
target space.

A common token is one that the model keeps with its row and that the target space knows; its own row
is never touched.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.neighbors.search import select_top_k
from vocadapt.spaces.space import Matrix
from vocadapt.vocabulary.initializers.materials import Initializer, Made, Materials, Registered
from vocadapt.vocabulary.initializers.mixing import Mix, folded_maxima, shortlist, where_alike

if TYPE_CHECKING:
    from vocadapt.vocabulary.initializers.initialize import RowSettings

SEMANTIC, WECHSEL = 3, 10  # neighbors, of the thesis and of the paper
ROUNDING = 1e-6  # of a cosine in float32


def semantic(materials: Materials, settings: "RowSettings") -> Made:
    """The mean of the rows of the m nearest common tokens."""
    m = min(settings.neighbors or SEMANTIC, len(materials.donors))

    def choose(closeness: Matrix) -> Mix:
        donors, _ = _nearest(closeness, m)
        return Mix(donors, np.full(donors.shape, 1 / m, np.float32))

    return where_alike(materials, choose, f"mean of the {m} nearest common tokens")


def focus(materials: Materials, settings: "RowSettings") -> Made:
    """A convex mix of common tokens' rows, weighted by the sparsemax of their cosines."""
    return where_alike(materials, _sparsemax_mix, "sparsemax of the cosines to all common tokens")


def wechsel(materials: Materials, settings: "RowSettings") -> Made:
    """A mix of the nearest common tokens' rows, weighted by the softmax of their cosines over a
    temperature.
    """
    k = min(settings.neighbors or WECHSEL, len(materials.donors))

    def choose(closeness: Matrix) -> Mix:
        donors, cosines = _nearest(closeness, k)
        weights = np.exp((cosines - cosines[:, :1]) / settings.temperature)
        return Mix(donors, weights / weights.sum(axis=1, keepdims=True))

    how = f"softmax of the cosines to the {k} nearest common tokens, over {settings.temperature:g}"
    return where_alike(materials, choose, how)


def sparsemax(scores: Matrix) -> Matrix:
    """Weights (n, k) ≥ 0, each row summing to 1: the simplex' point nearest to the scores (Martins
    and Astudillo 2016).
    """
    return np.asarray(
        np.maximum(scores - _threshold(-np.sort(-scores, axis=1))[:, None], 0), dtype=np.float32
    )


def _threshold(ordered: Matrix) -> Matrix:
    """τ of each row of scores (n, k), largest first, so that max(score − τ, 0) sums to 1; −∞ is
    padding.
    """
    sums = np.cumsum(ordered, axis=1, dtype=np.float64)
    place = np.arange(1, ordered.shape[1] + 1)
    support = (1 + place * ordered > sums).sum(axis=1)
    tau: Matrix = (sums[np.arange(len(sums)), support - 1] - 1) / support
    return tau


def _sparsemax_mix(closeness: Matrix) -> Mix:
    """The sparsemax of whole rows without sorting them.

    τ over a part of a row is at most τ over the row, so only what lies above the τ of a few maxima
    can have weight.
    """
    maxima = -np.sort(-folded_maxima(closeness), axis=1)
    donors, cosines = shortlist(closeness, (_threshold(maxima) - ROUNDING).astype(np.float32))
    weights = np.maximum(cosines - _threshold(cosines)[:, None], 0)
    most = int((weights > 0).sum(axis=1).max(initial=1))
    return Mix(donors[:, :most], np.asarray(weights[:, :most], dtype=np.float32))


def _nearest(closeness: Matrix, k: int) -> tuple[NDArray[np.int64], Matrix]:
    """Return columns and values (n, k) of the k largest values of each row, best first."""
    columns = select_top_k(closeness, k)
    return columns, np.take_along_axis(closeness, columns, axis=1)


TRANSFER: Registered = {
    "semantic": Initializer(
        semantic,
        "the mean of the m nearest common tokens' rows, by cosine in the target space",
        "1/m Σ E(o), o in the m nearest",
        "thesis 4.4.5",
        needs="similar",
    ),
    "focus": Initializer(
        focus,
        "a convex mix of common tokens' rows, few of them, by cosine in the target space",
        "Σ sparsemax(cos(t, o)) · E(o)",
        "Dobler and de Melo 2023, FOCUS",
        needs="similar",
    ),
    "wechsel": Initializer(
        wechsel,
        "a mix of the 10 nearest common tokens' rows; no dictionary, common tokens keep their own",
        "Σ softmax(cos(t, o) / 0.1) · E(o)",
        "Minixhofer et al. 2022, WECHSEL",
        needs="similar",
    ),
}
