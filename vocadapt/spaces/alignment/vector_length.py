"""The norm of wordpiece embeddings as a function of word frequency, fitted on the anchors.

The norm of an embedding matters in a network, but cosines do not depend on it. Regression shortens
vectors that it cannot predict well; this curve restores the norm that words of equal frequency
have.
"""

import numpy as np

from vocadapt.spaces.space import IntArray, Matrix

BANDS = 20  # maximum number of bands, each with about the same number of anchors
MIN_WORDS = 10  # minimum number of anchors in a band


def fit_norm_curve(counts: IntArray | None, rows: IntArray, targets: Matrix) -> Matrix:
    """Return the mean log count and the mean norm of bands of anchors (2, bands) float32.

    counts: (words,) int64, of the source, or None for a single band. rows: (n,) int64, rows of the
    anchors. targets: (n, d_target) float32, their target vectors.

    Example, two bands: counts [8 8 1 1], norms [1 3 5 5] -> log counts [0 log 8], norms [5 2].
    """
    norms = np.linalg.norm(targets, axis=1)
    logs = np.zeros(len(rows))
    bands = 1
    if counts is not None:
        logs = np.log(np.maximum(counts[rows], 1))
        bands = min(BANDS, max(1, len(rows) // MIN_WORDS))
    parts = np.array_split(np.argsort(logs, kind="stable"), bands)
    curve = [(logs[part].mean(), norms[part].mean()) for part in parts]
    return np.array(curve, dtype=np.float32).T


def read_norm_curve(curve: Matrix, counts: IntArray | None, n: int) -> Matrix:
    """Return the norms (n,) float32 of words with these counts, by linear interpolation.

    curve: as `fit_norm_curve` returns it. counts: (n,) int64; without counts, each norm is the mean
    of the curve.
    """
    if counts is None:
        return np.full(n, curve[1].mean(), dtype=np.float32)
    logs = np.log(np.maximum(counts, 1))
    return np.asarray(np.interp(logs, curve[0], curve[1]), dtype=np.float32)
