"""Orthonormal bases, against numpy's decompositions."""

import numpy as np
import pytest

from vocadapt.spaces.orthonormal import find_singular_vectors, orthonormalize

RNG = np.random.default_rng(1)


def test_a_basis_is_orthonormal_and_spans_the_columns():
    matrix = (RNG.normal(size=(500, 40)) * np.geomspace(1, 1e4, 40)).astype(np.float32)
    basis = orthonormalize(matrix)
    np.testing.assert_allclose(basis.T @ basis, np.eye(40), atol=1e-3)
    np.testing.assert_allclose(basis @ (basis.T @ matrix), matrix, rtol=1e-3, atol=1e-2)


def test_directions_are_those_of_the_singular_value_decomposition():
    matrix = RNG.normal(size=(60, 8)).astype(np.float32)
    lengths, directions = find_singular_vectors(matrix)
    _, expected, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    np.testing.assert_allclose(lengths, expected, rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(directions.T * right, axis=1)), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        ([[1, 2], [2, 4], [3, 6]], 1),
        ([[0, 0], [0, 0]], 0),
        ([[3, 0, 0], [0, 2, 0]], 2),  # fewer rows than columns
    ],
)
def test_a_basis_has_as_many_columns_as_the_rank(matrix, rank):
    assert orthonormalize(np.array(matrix, dtype=np.float32)).shape == (len(matrix), rank)


def test_a_matrix_without_columns_has_an_empty_basis():
    assert orthonormalize(np.zeros((5, 0), dtype=np.float32)).shape == (5, 0)
