"""Orthogonal matching pursuit: a target's vector rewritten as a sum of few common tokens' vectors,
the sum carried over.

Batch-OMP (Rubinstein et al. 2008): the products of all common tokens with each other are made once,
and what a step needs is a few of their rows. Selection is by the largest product with the residual,
rows as they are, as mergekit-tokensurgeon does.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import Matrix
from vocadapt.vocabulary.initializers.materials import (
    Initializer,
    Made,
    Materials,
    Registered,
    has_vector,
)
from vocadapt.vocabulary.initializers.mixing import Mix, mixed, with_fallback

if TYPE_CHECKING:
    from vocadapt.vocabulary.initializers.initialize import RowSettings

BLOCK = 512  # tokens whose first products are held at once
NOTHING_LEFT = 1e-5  # of a product, against that of the two whole vectors: float32 rounding
Products = Callable[[int], Matrix]  # of one atom with all
LARGEST_GRAM = 4_000_000_000  # bytes
DEPENDENT = 1e-6  # of an atom's squared length: what of it the chosen ones do not hold


def omp(materials: Materials, settings: "RowSettings") -> Made:
    """The common tokens' rows under the coefficients that rebuild the token's vector in the target
    space.
    """
    space, names = materials.similar, materials.donors
    atoms = space.matrix[space.rows(names)]
    k = min(settings.atoms, len(names))

    def make(tokens: tuple[str, ...]) -> Made:
        mix = pursue(space.matrix[space.rows(tokens)], atoms, k)
        rows = materials.model.matrix[materials.model.rows(names)]
        return mixed(names, rows, [mix], f"orthogonal matching pursuit, {k} common tokens at most")

    return with_fallback(
        materials, [has_vector(space, token) for token in materials.plan.new_rows], make
    )


def pursue(vectors: Matrix, atoms: Matrix, k: int) -> Mix:
    """Rewrite each vector (n, d) as a sum of at most k atoms (m, d).

    The products of all atoms, m² · 4 bytes, are made once where they fit into 4 GB and enough
    vectors share them.
    """
    from threadpoolctl import threadpool_limits

    together = 4 * len(atoms) ** 2 <= LARGEST_GRAM and len(vectors) * k > len(atoms)
    gram: Products = (atoms @ atoms.T).__getitem__ if together else lambda atom: atoms @ atoms[atom]
    mix = Mix(np.zeros((len(vectors), k), np.int64), np.zeros((len(vectors), k), np.float32))
    work = np.empty((k, len(atoms)), np.float32)
    with threadpool_limits(1):  # a step is too small to share: threads would wait for each other
        for start in range(0, len(vectors), BLOCK):
            products = vectors[start : start + BLOCK] @ atoms.T
            for row, first in enumerate(products, start=start):
                chosen, weights = _pursue_one(first, gram, atoms, work)
                mix.donors[row, : len(chosen)], mix.weights[row, : len(chosen)] = chosen, weights
    return mix


def _pursue_one(
    first: Matrix, gram: Products, atoms: Matrix, work: Matrix
) -> tuple[list[int], NDArray[np.floating]]:
    """The atoms chosen for one vector and their coefficients, from its products with all atoms
    (m,).

    `work` (k, m) takes the products of all atoms with each new direction, orthogonal to the ones
    before (Gram-Schmidt).
    """
    left, chosen, used = first.copy(), list[int](), 0
    enough = NOTHING_LEFT * float(np.abs(first).max(initial=0.0))
    banned = list[int]()
    while used < len(work) and len(banned) < len(first):
        atom = int(np.abs(left).argmax())
        if abs(left[atom]) <= enough:
            break
        banned.append(atom)
        along, products = work[:used, atom].copy(), gram(atom)
        rest = float(products[atom] - along @ along)
        if rest > DEPENDENT * float(products[atom]):
            direction = (products - along @ work[:used]) / np.float32(rest**0.5)
            left -= (left[atom] / np.float32(rest**0.5)) * direction
            work[used] = direction
            chosen.append(atom)
            used += 1
        left[banned] = 0.0  # what was taken is orthogonal to the rest, but for rounding
    taken = atoms[chosen].astype(np.float64)
    return chosen, (
        np.linalg.solve(taken @ taken.T, first[chosen].astype(np.float64))
        if chosen
        else np.empty(0)
    )


SPARSE: Registered = {
    "omp": Initializer(
        omp,
        "the target's vector as a sum of at most k common tokens' vectors, carried over to their"
        " rows",
        "Σ α_o · E(o), α by orthogonal matching pursuit",
        "Goddard and Fernandes Neto 2025; mergekit-tokensurgeon",
        needs="similar",
    ),
}
