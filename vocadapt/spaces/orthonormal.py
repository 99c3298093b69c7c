"""Orthonormal bases of large matrices with few columns, by products of matrices.

np.linalg.qr and np.linalg.svd compute the same in many small steps: for 40,000 × 400 values on one
core, 2.2 s instead of 0.4 s.
"""

import numpy as np

from vocadapt.spaces.space import FloatArray, Matrix

# A direction shorter than this fraction of the longest one is a rounding error of float32.
SHORTEST = 1e-6


def orthonormalize(matrix: Matrix) -> Matrix:
    """Return an orthonormal basis of the columns of a matrix (n, d), (n, rank) float32."""
    lengths, directions = find_singular_vectors(matrix)
    return matrix @ (directions / lengths).astype(np.float32)


def find_singular_vectors(matrix: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the singular values of a matrix (n, d), (rank,), and its right singular vectors,
    (d, rank), the longest first; float64.

    They are computed from the eigenvectors of the Gram matrix of its columns, (d, d).
    """
    exact = matrix.astype(np.float64)
    squares, directions = np.linalg.eigh(exact.T @ exact)
    lengths = np.sqrt(np.maximum(squares, 0))[::-1]
    rank = int((lengths > SHORTEST * lengths.max(initial=0.0)).sum())
    return lengths[:rank], directions[:, ::-1][:, :rank]
