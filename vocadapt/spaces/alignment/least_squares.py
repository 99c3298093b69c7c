"""Linear maps: least squares with a ridge penalty, by Cholesky or an SVD, and the best rotation."""

import numpy as np

from vocadapt.spaces.space import FloatArray

# Below this reciprocal condition number of XᵀX (1-norm, columns of unit length) the relative error
# of W from the normal equations exceeds 1e-6.
MIN_RECIPROCAL_CONDITION = 1e-12


def solve_least_squares(x: FloatArray, y: FloatArray, ridge: float = 0.0) -> FloatArray:
    """Return W (d, e) that minimizes ‖xW − y‖² + λ‖W‖², with λ = ridge · trace(xᵀx)/d.

    x: (n, d), y: (n, e), float64. Solves the normal equations by Cholesky, several times faster
    than an SVD; if they are too ill-conditioned, uses the SVD, which gives the W of minimum norm.
    """
    from scipy.linalg import cho_solve

    # 1. The Gram matrix, with the penalty on its diagonal.
    gram = x.T @ x
    penalty = ridge * gram.trace() / len(gram)
    gram.flat[:: len(gram) + 1] += penalty

    # 2. Factorize it with a unit diagonal, which improves its condition.
    scale = np.sqrt(gram.diagonal())
    factor = _factorize(gram, scale)
    if factor is None:
        return _solve_by_svd(x, y, penalty)

    # 3. Solve for the scaled W, and undo the scaling.
    return np.asarray(cho_solve((factor, True), (x.T @ y) / scale[:, None]) / scale[:, None])


def solve_procrustes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the W (d, e) with orthonormal rows or columns that maximizes tr(Wᵀxᵀy).

    x: (n, d), y: (n, e), float64. W = U·Vᵀ of the SVD of xᵀy (Schönemann 1966).
    """
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(left @ right)


def _factorize(gram: FloatArray, scale: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor (d, d) of the Gram matrix, scaled to a unit diagonal.

    Returns None if it is too ill-conditioned.
    """
    from scipy.linalg.lapack import dpocon, dpotrf

    if not (scale > 0).all():
        return None
    scaled = gram / np.outer(scale, scale)
    norm = np.abs(scaled).sum(axis=0).max()
    factor, failed = dpotrf(scaled, lower=1)
    if failed or dpocon(factor, norm, uplo="L")[0] < MIN_RECIPROCAL_CONDITION:
        return None
    return np.asarray(factor)


def _solve_by_svd(x: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Solve least squares by NumPy's SVD; the penalty is added as rows."""
    if penalty:
        x = np.vstack([x, np.sqrt(penalty) * np.eye(x.shape[1])])
        y = np.vstack([y, np.zeros((x.shape[1], y.shape[1]))])
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])
