"""Initializer by orthogonal matching pursuit: approximate a target vector by a weighted sum of a
few common tokens' vectors, and apply the same weights to their embeddings.

Batch-OMP (Rubinstein et al. 2008): the inner products of all common tokens with each other are
computed once, and each step reads a few rows of this matrix. The atom with the largest product with
the residual is selected, without normalizing the vectors, as in mergekit-tokensurgeon.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import Matrix
from vocadapt.vocabulary.initializers.materials import (
    Initialized,
    Initializer,
    InitializerSettings,
    Materials,
)
from vocadapt.vocabulary.initializers.mixing import Mix, initialize_with_fallback, mix_embeddings

BLOCK = 512  # tokens whose initial products are in memory at the same time
MIN_PRODUCT = 1e-5  # relative to the largest initial product; smaller ones are rounding errors
Products = Callable[[int], Matrix]  # inner products of one atom with all atoms, (m,)
MAX_GRAM_BYTES = 4_000_000_000
# Relative to an atom's squared norm: with a smaller residual it depends on the chosen atoms.
MIN_RESIDUAL = 1e-6


def initialize_omp(materials: Materials, settings: InitializerSettings) -> Initialized:
    """Compute the weighted sum of the common tokens' embeddings, with the coefficients that
    approximate the token's vector in the target space.
    """
    space, names = materials.similarity_space, materials.donors
    atoms = space.matrix[space.rows(names)]
    k = min(settings.atoms, len(names))

    def make(tokens: tuple[str, ...]) -> Initialized:
        mix = decompose(space.matrix[space.rows(tokens)], atoms, k)
        rows = materials.model.matrix[materials.model.rows(names)]
        return mix_embeddings(
            names, rows, [mix], f"orthogonal matching pursuit, at most {k} common tokens"
        )

    return initialize_with_fallback(materials, space, make)


def decompose(vectors: Matrix, atoms: Matrix, k: int) -> Mix:
    """Approximate each vector by a weighted sum of at most k atoms.

    vectors: (n, d) float32; atoms: (m, d) float32. Returns a Mix of (n, k).

    The products of all atoms, m² · 4 bytes, are computed in advance if they fit into 4 GB and
    enough vectors use them.
    """
    from threadpoolctl import threadpool_limits

    def compute_products(atom: int) -> Matrix:
        products: Matrix = atoms @ atoms[atom]
        return products

    gram: Products = compute_products
    if 4 * len(atoms) ** 2 <= MAX_GRAM_BYTES and len(vectors) * k > len(atoms):
        gram = (atoms @ atoms.T).__getitem__
    mix = Mix(np.zeros((len(vectors), k), np.int64), np.zeros((len(vectors), k), np.float32))
    work = np.empty((k, len(atoms)), np.float32)
    with threadpool_limits(1):  # a step is too small for several threads
        for start in range(0, len(vectors), BLOCK):
            products = vectors[start : start + BLOCK] @ atoms.T
            for row, first in enumerate(products, start=start):
                chosen, weights = _decompose_one(first, gram, atoms, work)
                mix.donors[row, : len(chosen)], mix.weights[row, : len(chosen)] = chosen, weights
    return mix


def _decompose_one(
    first: Matrix, gram: Products, atoms: Matrix, work: Matrix
) -> tuple[list[int], NDArray[np.floating]]:
    """Choose the atoms of one vector and return them with their coefficients.

    first: (m,) products of the vector with all atoms.
    work: (k, m) buffer for the products of all atoms with each new direction.

    1. Choose the atom with the largest product with the residual.
    2. Make it orthogonal to the directions so far (Gram-Schmidt); skip it if it depends on them.
    3. Subtract its direction from the residual's products with all atoms.
    4. After at most k atoms, solve for the coefficients by least squares.
    """
    residual = first.copy()
    chosen: list[int] = []
    excluded: list[int] = []  # chosen, or dependent on the chosen ones
    min_product = MIN_PRODUCT * float(np.abs(first).max(initial=0.0))
    while len(chosen) < len(work) and len(excluded) < len(first):
        # 1. Choose an atom.
        atom = int(np.abs(residual).argmax())
        if abs(residual[atom]) <= min_product:
            break
        excluded.append(atom)
        # 2. Remove its components along the directions so far.
        used = len(chosen)
        components = work[:used, atom].copy()
        products = gram(atom)
        squared_norm = float(products[atom] - components @ components)
        if squared_norm > MIN_RESIDUAL * float(products[atom]):
            norm = np.float32(squared_norm**0.5)
            direction = (products - components @ work[:used]) / norm
            # 3. Update the residual's products.
            residual -= (residual[atom] / norm) * direction
            work[used] = direction
            chosen.append(atom)
        residual[excluded] = 0.0  # zero in exact arithmetic
    # 4. Coefficients of the chosen atoms.
    if not chosen:
        return chosen, np.empty(0)
    basis = atoms[chosen].astype(np.float64)
    return chosen, np.linalg.solve(basis @ basis.T, first[chosen].astype(np.float64))


SPARSE = {
    "omp": Initializer(
        initialize_omp,
        "a weighted sum of at most k common tokens' embeddings, with the weights that approximate"
        " the target's vector",
        "Σ α_o · E(o), α by orthogonal matching pursuit",
        "Goddard and Fernandes Neto 2025; mergekit-tokensurgeon",
        needs="similar",
        settings=("atoms",),
        reads_rows=True,
    ),
}
