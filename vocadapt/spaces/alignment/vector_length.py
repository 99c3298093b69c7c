"""The norm of a wordpiece by the frequency of its word, from the anchors.

A network sees the length of an embedding, which cosines do not show. Regression shortens vectors
that it cannot predict well; this curve restores the length that words of equal frequency have.
"""

import numpy as np

from vocadapt.spaces.space import IntArray, Matrix

BANDS = 20  # at most, with about the same number of anchors
MIN_WORDS = 10  # in a band


def fit_norm_curve(counts: IntArray | None, rows: IntArray, targets: Matrix) -> Matrix:
    """Return the mean log count and the mean norm of bands of anchors (2, bands) float32.

    counts: (words,), of the source, or None. rows: (n,), of the anchors. targets: (n, d_target).
    Without counts there is one band.

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

    Without counts, each is the mean of the curve.
    """
    if counts is None:
        return np.full(n, curve[1].mean(), dtype=np.float32)
    logs = np.log(np.maximum(counts, 1))
    return np.asarray(np.interp(logs, curve[0], curve[1]), dtype=np.float32)
