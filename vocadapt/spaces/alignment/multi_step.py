"""Whitening, orthogonal map, re-weighting and de-whitening: Artetxe et al. 2018, Generalizing and
improving bilingual word embedding mappings with a multi-step framework of linear transformations
(AAAI).
"""

import numpy as np

from vocadapt.spaces.space import FloatArray

# Eigenvalue, as a fraction of the largest, below which a direction is not whitened.
SMALLEST = 1e-10


def whiten(rows: FloatArray, strength: float) -> tuple[FloatArray, FloatArray]:
    """Return the symmetric matrices C^(−strength/2) and C^(strength/2) of C = rowsᵀ·rows.

    rows: (n, d). Both results are (d, d) float64. Strength 1 makes the Gram matrix of the rows the
    identity, 0 changes nothing. A direction without variance is not changed.

    Example, strength 1: rows [2 0], [0 3] -> C = diag(4, 9) -> diag(1/2, 1/3) and diag(2, 3).
    """
    values, vectors = np.linalg.eigh(rows.T @ rows)
    scaled = np.where(values > SMALLEST * max(values.max(), 0.0), values, 1.0)
    root = scaled ** (strength / 2)
    return (vectors / root) @ vectors.T, (vectors * root) @ vectors.T


def fit_multi_step(
    x: FloatArray, y: FloatArray, whitening: float, reweighting: float
) -> FloatArray:
    """Return the matrix W (d, e) of the multi-step framework for x (n, d) and y (n, e) float64.

    1. Whiten both spaces: x·A and y·B.
    2. Map: the singular value decomposition U·S·Vᵀ of (x·A)ᵀ(y·B) aligns both orthogonally.
    3. Re-weight each direction by its cross-correlation: S^reweighting.
    4. De-whiten as the target: W = A · U · S^reweighting · Vᵀ · B⁻¹.

    Whitening 0 and re-weighting 0 are the orthogonal map of Procrustes; whitening 1 and
    re-weighting 1 are least squares.
    """
    to_white_x, _ = whiten(x, whitening)
    to_white_y, from_white_y = whiten(y, whitening)
    left, values, right = np.linalg.svd(to_white_x @ (x.T @ y) @ to_white_y, full_matrices=False)
    weights = np.ones_like(values)
    if reweighting and values[0] > 0:
        weights = values**reweighting
    return np.asarray(to_white_x @ (left * weights) @ right @ from_white_y)
