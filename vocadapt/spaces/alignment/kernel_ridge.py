"""Kernel ridge regression with a Gaussian kernel on unit vectors (Saunders et al. 1998)."""

import numpy as np

from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import FloatArray, Matrix, normalize_rows

# γ of the Gaussian kernel on unit vectors. Chosen, like its penalty, on encyclopedia text, not on
# text used for evaluation.
KERNEL_WIDTH = 0.1


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
