"""Solvers of the maps: matrices in, a matrix out."""

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import Matrix, normalize_rows

Matrix64 = NDArray[np.float64]

# γ of the Gaussian kernel on rows of length 1. Chosen, like its penalty, on encyclopedia text,
# never on the text it is judged on.
KERNEL_WIDTH = 0.1

# Below this reciprocal condition of XᵀX (1-norm, columns at unit length) the normal equations lose
# more than 1e-6 of W.
SMALLEST_RECIPROCAL_CONDITION = 1e-12


def solve_least_squares(x: Matrix64, y: Matrix64, ridge: float = 0.0) -> Matrix64:
    """W (d, e) that minimizes ‖xW − y‖² + λ‖W‖², λ = ridge · trace(xᵀx)/d, for x (n, d) and y (n,
    e).

    Normal equations and Cholesky, several times faster than an SVD; where they are too
    ill-conditioned, the SVD (which gives the smallest W when columns depend on each other).
    """
    from scipy.linalg import cho_solve

    gram = x.T @ x
    penalty = ridge * gram.trace() / len(gram)
    gram.flat[:: len(gram) + 1] += penalty
    scale = np.sqrt(gram.diagonal())
    factor = _cholesky(gram, scale) if (scale > 0).all() else None
    if factor is None:
        return _by_svd(x, y, penalty)
    return np.asarray(cho_solve((factor, True), (x.T @ y) / scale[:, None]) / scale[:, None])


def _cholesky(gram: Matrix64, scale: Matrix64) -> Matrix64 | None:
    """The lower factor of the gram matrix with its columns scaled to 1; None where it is too
    ill-conditioned to trust.
    """
    from scipy.linalg.lapack import dpocon, dpotrf

    scaled = gram / np.outer(scale, scale)
    norm = np.abs(scaled).sum(axis=0).max()
    factor, failed = dpotrf(scaled, lower=1)
    if failed or dpocon(factor, norm, uplo="L")[0] < SMALLEST_RECIPROCAL_CONDITION:
        return None
    return np.asarray(factor)


def _by_svd(x: Matrix64, y: Matrix64, penalty: float) -> Matrix64:
    """Least squares by numpy's SVD solver, the penalty written as further rows."""
    if penalty:
        x = np.vstack([x, np.sqrt(penalty) * np.eye(x.shape[1])])
        y = np.vstack([y, np.zeros((x.shape[1], y.shape[1]))])
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def solve_procrustes(x: Matrix64, y: Matrix64) -> Matrix64:
    """The W (d, e) with orthonormal rows or columns that maximizes tr(Wᵀxᵀy): U·Vᵀ of the SVD of
    xᵀy (Schönemann 1966).
    """
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(left @ right)


def gaussian_kernel(rows: Matrix, landmarks: Matrix) -> Matrix:
    """exp(−KERNEL_WIDTH · ‖a − b‖²) of every row with every landmark, float32 (rows, landmarks);
    both brought to length 1.
    """
    similarity: Matrix = normalize_rows(rows) @ normalize_rows(landmarks).T
    similarity -= 1.0
    similarity *= 2 * KERNEL_WIDTH
    return np.exp(similarity, out=similarity)


def apply_kernel_alignment(rows: Matrix, landmarks: Matrix, matrix: Matrix) -> Matrix:
    """Send rows (n, d) through a kernel map: kernel with the landmarks, times `matrix`; a block of
    rows at a time.
    """
    mapped = np.empty((len(rows), matrix.shape[1]), dtype=np.float32)
    for part in iterate_blocks(len(rows), len(landmarks)):
        mapped[part] = gaussian_kernel(rows[part], landmarks) @ matrix
    return mapped


def solve_kernel_ridge(x: Matrix64, y: Matrix64, weights: Matrix64, ridge: float) -> Matrix:
    """Coefficients A (n, e) of kernel ridge regression of y (n, e) on x (n, d): (K + λ/weights) A =
    y (Saunders et al. 1998).

    Float32: K has a unit diagonal and λ keeps its condition small; n² · 4 bytes of memory.
    """
    from scipy.linalg import cho_factor, cho_solve

    single = x.astype(np.float32)
    kernel = gaussian_kernel(single, single)
    kernel.flat[:: len(kernel) + 1] += (ridge / weights).astype(np.float32)
    factor = cho_factor(kernel.T, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, y.astype(np.float32), check_finite=False))
