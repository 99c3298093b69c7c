"""Neighbors of a formula of words, such as `king - man + woman` (Mikolov et al. 2013)."""

import numpy as np

from vocadapt.errors import InputError
from vocadapt.spaces.neighbors.search import NeighborList, list_neighbors
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.text.formulas import Formula
from vocadapt.text.word_search import suggest_spellings

MIN_NORM = 1e-4  # of the sum of unit vectors: below it, only rounding errors are left


def compute_formula(formula: Formula, space: EmbeddingSpace) -> Matrix:
    """Return the weighted sum of the unit vectors of a formula's words (dim,) float32.

    Raises InputError for a word without a vector, and if the vectors cancel out.
    """
    unknown = [term.word for term in formula.terms if term.word not in space]
    if unknown:
        named = ", ".join(repr(word[:60]) for word in unknown)
        hints = " ".join(filter(None, (suggest_spellings(word, space.words) for word in unknown)))
        raise InputError(
            f"The formula needs a vector of each word, but {space.name} has none of {named}.",
            hints or "Use words that have a vector.",
            code="unknown-word",
        )
    weights = np.array([term.weight for term in formula.terms], dtype=np.float32)
    vector = np.asarray(weights @ space.unit[space.rows(term.word for term in formula.terms)])
    if not float(np.linalg.norm(vector)) > MIN_NORM:
        raise InputError(
            f"The vectors of {formula} cancel out: nothing is left to find neighbors of.",
            "Use different words.",
            code="zero-sum",
        )
    return vector


def find_formula_neighbors(formula: Formula, space: EmbeddingSpace, k: int = 10) -> NeighborList:
    """Return the k words nearest to a formula, with their cosines, without the formula's own words.

    Its own words are nearly always the nearest (Linzen 2016).
    """
    own = {term.word for term in formula.terms}
    near = list_neighbors(space, compute_formula(formula, space), k + len(own))
    return [(name, score) for name, score in near if name not in own][:k]
