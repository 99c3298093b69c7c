"""Solvers of the alignment methods: least squares, Procrustes and kernel ridge regression."""

import numpy as np

from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import FloatArray, Matrix, normalize_rows

# γ of the Gaussian kernel on unit vectors. Chosen, like its penalty, on encyclopedia text, not on
# text used for evaluation.
KERNEL_WIDTH = 0.1

# Below this reciprocal condition of XᵀX (1-norm, columns at unit length) the normal equations lose
# more than 1e-6 of W.
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
    """Solve least squares by numpy's SVD; the penalty becomes additional rows."""
    if penalty:
        x = np.vstack([x, np.sqrt(penalty) * np.eye(x.shape[1])])
        y = np.vstack([y, np.zeros((x.shape[1], y.shape[1]))])
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def solve_procrustes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the W (d, e) with orthonormal rows or columns that maximizes tr(Wᵀxᵀy).

    x: (n, d), y: (n, e), float64. W = U·Vᵀ of the SVD of xᵀy (Schönemann 1966).
    """
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(left @ right)


def gaussian_kernel(rows: Matrix, landmarks: Matrix) -> Matrix:
    """Return the Gaussian kernel exp(−KERNEL_WIDTH · ‖a − b‖²) of normalized rows and landmarks.

    rows: (n, d), landmarks: (m, d). Returns (n, m) float32.
    """
    similarity: Matrix = normalize_rows(rows) @ normalize_rows(landmarks).T
    similarity -= 1.0
    similarity *= 2 * KERNEL_WIDTH
    return np.exp(similarity, out=similarity)


def apply_kernel_alignment(rows: Matrix, landmarks: Matrix, matrix: Matrix) -> Matrix:
    """Apply a kernel alignment block by block: kernel(rows, landmarks) @ matrix.

    rows: (n, d), landmarks: (m, d), matrix: (m, e). Returns (n, e) float32.
    """
    mapped = np.empty((len(rows), matrix.shape[1]), dtype=np.float32)
    for part in iterate_blocks(len(rows), len(landmarks)):
        mapped[part] = gaussian_kernel(rows[part], landmarks) @ matrix
    return mapped


def solve_kernel_ridge(x: FloatArray, y: FloatArray, weights: FloatArray, ridge: float) -> Matrix:
    """Return the coefficients A (n, e) float32 of kernel ridge regression of y on x.

    Solves (K + λ/weights) A = y (Saunders et al. 1998) for x (n, d) and y (n, e). float32 suffices:
    K has a unit diagonal and λ keeps its condition number small. Memory: n² · 4 bytes.
    """
    from scipy.linalg import cho_factor, cho_solve

    single = x.astype(np.float32)
    kernel = gaussian_kernel(single, single)
    kernel.flat[:: len(kernel) + 1] += (ridge / weights).astype(np.float32)
    factor = cho_factor(kernel.T, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, y.astype(np.float32), check_finite=False))
