"""Initializers that mix the embeddings of common tokens, by their similarity to the new token in a
target space.

A common token is one that keeps its embedding in the model and that the target space has, too.
"""

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.neighbors.search import select_top_k
from vocadapt.spaces.space import Matrix
from vocadapt.vocabulary.initializers.materials import (
    Initialized,
    Initializer,
    InitializerSettings,
    Materials,
    Registered,
)
from vocadapt.vocabulary.initializers.mixing import (
    Mix,
    compute_group_maxima,
    mix_similar_tokens,
    select_above_bound,
)

# Default numbers of neighbors, as published.
SEMANTIC_NEIGHBORS, WECHSEL_NEIGHBORS = 3, 10
ROUNDING = 1e-6  # of a cosine in float32


def initialize_semantic(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Return the mean of the embeddings of the m nearest common tokens."""
    m = min(settings.neighbors or SEMANTIC_NEIGHBORS, len(materials.donors))

    def choose(similarities: Matrix) -> Mix:
        donors, _ = _find_nearest(similarities, m)
        return Mix(donors, np.full(donors.shape, 1 / m, np.float32))

    return mix_similar_tokens(materials, choose, f"mean of the {m} nearest common tokens")


def initialize_focus(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Mix the embeddings of common tokens, weighted by the sparsemax of their cosines."""
    return mix_similar_tokens(
        materials, _mix_by_sparsemax, "sparsemax of the cosines to all common tokens"
    )


def initialize_wechsel(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Mix the embeddings of the nearest common tokens, weighted by the softmax of their cosines divided
    by a temperature.
    """
    k = min(settings.neighbors or WECHSEL_NEIGHBORS, len(materials.donors))

    def choose(similarities: Matrix) -> Mix:
        donors, cosines = _find_nearest(similarities, k)
        weights = np.exp((cosines - cosines[:, :1]) / settings.temperature)
        return Mix(donors, weights / weights.sum(axis=1, keepdims=True))

    how = f"softmax of the cosines to the {k} nearest common tokens, over {settings.temperature:g}"
    return mix_similar_tokens(materials, choose, how)


def sparsemax(scores: Matrix) -> Matrix:
    """Return weights (n, k) ≥ 0 with row sums 1: the point of the simplex nearest to the scores
    (Martins and Astudillo 2016).

    Example: scores [1, .8, .1] → threshold .4 → weights [.6, .4, 0].
    """
    threshold = _compute_threshold(-np.sort(-scores, axis=1))
    return np.asarray(np.maximum(scores - threshold[:, None], 0), dtype=np.float32)


def _compute_threshold(ordered: Matrix) -> Matrix:
    """Return τ of each row, (n,), so that max(score − τ, 0) sums to 1.

    ordered: (n, k) scores, largest first, padded with −∞.
    """
    sums = np.cumsum(ordered, axis=1, dtype=np.float64)
    place = np.arange(1, ordered.shape[1] + 1)
    support = (1 + place * ordered > sums).sum(axis=1)
    tau: Matrix = (sums[np.arange(len(sums)), support - 1] - 1) / support
    return tau


def _mix_by_sparsemax(similarities: Matrix) -> Mix:
    """Return the sparsemax of whole rows without sorting them.

    1. The threshold τ of a part of a row is at most that of the row: compute it from group maxima.
    2. Only values above that lower bound can have a weight: select and sort these.
    3. Compute the exact threshold and the weights from them.
    """
    maxima = -np.sort(-compute_group_maxima(similarities), axis=1)
    bound = (_compute_threshold(maxima) - ROUNDING).astype(np.float32)
    donors, cosines = select_above_bound(similarities, bound)
    weights = np.maximum(cosines - _compute_threshold(cosines)[:, None], 0)
    most = int((weights > 0).sum(axis=1).max(initial=1))
    return Mix(donors[:, :most], np.asarray(weights[:, :most], dtype=np.float32))


def _find_nearest(similarities: Matrix, k: int) -> tuple[NDArray[np.int64], Matrix]:
    """Return columns and values (n, k) of the k largest values of each row, best first."""
    columns = select_top_k(similarities, k)
    return columns, np.take_along_axis(similarities, columns, axis=1)


TRANSFER: Registered = {
    "semantic": Initializer(
        initialize_semantic,
        "the mean of the m nearest common tokens' embeddings, by cosine in the target space",
        "1/m Σ E(o), o in the m nearest",
        "Fast 2023, section 4.4.5",
        needs="similar",
    ),
    "focus": Initializer(
        initialize_focus,
        "a convex combination of a few common tokens' embeddings, by cosine in the target space",
        "Σ sparsemax(cos(t, o)) · E(o)",
        "Dobler and de Melo 2023, FOCUS",
        needs="similar",
    ),
    "wechsel": Initializer(
        initialize_wechsel,
        "a mix of the 10 nearest common tokens' embeddings; no dictionary, common tokens keep their own",
        "Σ softmax(cos(t, o) / 0.1) · E(o)",
        "Minixhofer et al. 2022, WECHSEL",
        needs="similar",
    ),
}
