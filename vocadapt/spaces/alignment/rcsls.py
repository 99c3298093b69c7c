"""RCSLS: a linear map that maximizes the retrieval criterion CSLS itself.

Joulin et al. 2018, Loss in translation: learning bilingual word mapping with a retrieval criterion.
"""

import numpy as np

from vocadapt.spaces.space import FloatArray, Matrix, normalize_rows

NEIGHBORS = 10  # k of CSLS, as in Joulin et al. 2018
ITERATIONS = 10
LEARNING_RATE = 1.0
SHRINK = 0.5  # factor of the learning rate after a step that increased the loss


def fit_rcsls(x: FloatArray, y: FloatArray, weights: FloatArray, start: FloatArray) -> Matrix:
    """Minimize the RCSLS loss by gradient descent from the matrix `start`; return W (d, e) float32.

    x: (n, d), y: (n, e), weights: (n,), start: (d, e), all float64. The loss of an anchor with
    normalized x and y is

        −2·x·W·y + mean of x·W·y' over the k nearest y' + mean of x'·W·y over the k nearest x'

    1. Find the k nearest anchors in both directions under the current W. For given neighbors, the
       gradient is a weighted sum of x·yᵀ.
    2. If the loss has increased, undo the last step and decrease the learning rate.
    3. Take a step against the gradient.
    """
    unit_x = normalize_rows(x.astype(np.float32))
    unit_y = normalize_rows(y.astype(np.float32))
    fractions = (weights / weights.sum()).astype(np.float32)
    matrix: Matrix = start.astype(np.float32)
    mean_norm = float(np.linalg.norm(unit_x @ matrix, axis=1).mean())
    if mean_norm == 0:
        return matrix
    matrix = matrix / np.float32(mean_norm)

    rate = LEARNING_RATE
    best = matrix
    best_loss = np.inf
    step = np.zeros_like(matrix)
    for _ in range(ITERATIONS):
        # 1. The loss and its gradient under the current W.
        loss, gradient = _compute_loss(unit_x, unit_y, fractions, matrix)
        # 2. Keep the step, or undo it.
        if loss > best_loss:
            rate *= SHRINK
        else:
            best, best_loss, step = matrix, loss, gradient
        # 3. Take the next step.
        matrix = best - np.float32(rate) * step
    return best


def _compute_loss(x: Matrix, y: Matrix, weights: Matrix, matrix: Matrix) -> tuple[float, Matrix]:
    """Return the RCSLS loss and its gradient, (d, e) float32.

    x: (n, d), y: (n, e), unit vectors; weights: (n,), sum 1; matrix: (d, e); all float32.
    """
    mapped = x @ matrix
    k = min(NEIGHBORS, len(x))
    similarity = mapped @ y.T
    own = np.einsum("ij,ij->i", mapped, y)
    # The k nearest y of each x, and the k nearest x of each y.
    nearest_y = np.argpartition(similarity, len(y) - k, axis=1)[:, len(y) - k :]
    nearest_x = np.argpartition(similarity, len(x) - k, axis=0)[len(x) - k :]
    toward_y = np.take_along_axis(similarity, nearest_y, axis=1).mean(axis=1)
    toward_x = np.take_along_axis(similarity, nearest_x, axis=0).mean(axis=0)
    loss = float(weights @ (toward_y + toward_x - 2 * own))
    pull_y = y[nearest_y].mean(axis=1) - 2 * y
    pull_x = x[nearest_x].mean(axis=0)
    gradient = (x * weights[:, None]).T @ pull_y + (pull_x * weights[:, None]).T @ y
    return loss, gradient
