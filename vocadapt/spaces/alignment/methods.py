"""Alignment methods: their settings, and the registry METHODS for the app and the command line.

A method is a function from prepared anchors to a matrix, or to named arrays and a second function
that applies them. Each algorithm has its own module.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.kernel_ridge import apply_kernel_alignment, solve_kernel_ridge
from vocadapt.spaces.alignment.least_squares import solve_least_squares
from vocadapt.spaces.alignment.mlp import apply_mlp, fit_mlp
from vocadapt.spaces.alignment.multi_step import fit_multi_step
from vocadapt.spaces.alignment.rcsls import fit_rcsls
from vocadapt.spaces.alignment.self_learning import fit_self_learning
from vocadapt.spaces.space import FloatArray, Matrix, normalize_rows

DEFAULT_RIDGE = 0.01
DEFAULT_KERNEL_RIDGE = 0.1
# Weight of kernel ridge in the ensemble; chosen on encyclopedia text.
KERNEL_WEIGHT = 0.3
HALF_RELIABLE = 50  # count at which the weight "reliability" is 1/2
MAPPED, FREQUENCY = "mapped", "frequency"

# Lengths of mapped vectors.
LENGTHS = {
    "method": "the default of the method",
    MAPPED: "unchanged after the alignment",
    FREQUENCY: "the mean norm of anchors of equal frequency",
}


@dataclass(frozen=True)
class AlignmentSettings(CheckedSettings):
    """Settings of an alignment; the defaults are those of Poerner et al. 2020.

    Both spaces are centered by the means of their anchors; `apply` reverts normalizing and
    centering.
    """

    method: str = setting(
        "least-squares", "alignment method", choices=lambda: METHODS, label="Alignment method"
    )
    unit: bool = setting(
        False, "scale all vectors to length 1 first", label="Normalize", flag="--normalize"
    )
    center: bool = setting(False, "mean-center both spaces before fitting")
    ridge: float = setting(
        0.0,
        "ridge penalty, a fraction of the mean diagonal of XᵀX or of the kernel",
        high=1e6,
        label="Ridge penalty",
        empty="the method's default",
    )
    weights: str = setting(
        "none", "weighting of anchors by frequency", choices=lambda: WEIGHTS, label="Anchor weights"
    )
    anchors: AnchorFilter = field(default_factory=AnchorFilter)
    seed: int = setting(
        1, "random seed of the methods random, mlp and self-learning", high=MAX_SEED
    )
    vector_length: str = setting(
        "method", "length of mapped vectors", choices=LENGTHS, label="Vector length"
    )
    whitening: float = setting(
        1.0,
        "strength of the whitening of multi-step: from none at 0 to full at 1",
        high=1,
        label="Whitening",
    )
    reweighting: float = setting(
        0.7,
        "exponent of the singular values in the re-weighting of multi-step",
        high=4,
        label="Re-weighting",
    )
    mlp_epochs: int = setting(
        40, "passes over the anchors in the method mlp", high=10_000, label="MLP epochs"
    )
    induction_rounds: int = setting(
        10,
        "number of rounds of dictionary induction in self-learning and mutual-neighbors",
        high=1_000,
        label="Induction rounds",
    )
    induction_cutoff: int = setting(
        4000,
        "number of frequent words of each space to induce a dictionary from",
        low=1,
        high=100_000,
        label="Induction cutoff",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ridge and not METHODS[self.method].penalty:
            takers = " or ".join(name for name, method in METHODS.items() if method.penalty)
            raise InputError(
                f"The method {self.method} takes no ridge penalty, got {self.ridge:g}.",
                f"Set it to 0, or choose the method {takers}.",
                "ridge",
            )


@dataclass(frozen=True, eq=False)
class AnchorPairs:
    """Prepared anchors: source vectors x (n, d), target vectors y (n, e), weights (n,) of mean 1.

    All are float64. norms: (n,), norms of the source vectors before normalizing. other_x: (m, d)
    and other_y: (p, e), float32, prepared vectors of the most frequent words of both spaces that
    are not anchors; empty unless the method has `induces`.
    """

    x: FloatArray
    y: FloatArray
    weights: FloatArray
    norms: FloatArray
    other_x: Matrix
    other_y: Matrix

    def weighted(self) -> tuple[FloatArray, FloatArray]:
        """Return x and y with each row multiplied by the square root of its weight."""
        return weight_rows(self.x, self.y, self.weights)


def weight_rows(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x (n, d) and y (n, e) with each row multiplied by the square root of its weight,
    float64.
    """
    if (weights == 1).all():
        return x, y
    roots = np.sqrt(weights)[:, None]
    return x * roots, y * roots


Arrays = Mapping[str, NDArray[np.floating]]


@dataclass(frozen=True)
class AlignmentMethod:
    """An alignment method: its function, a sentence about it and its source.

    kernel: the alignment keeps the anchors as landmarks. penalty: it takes a ridge penalty. full:
    it needs at least as many anchors as dimensions. equal_dimensions: it needs spaces of equal
    dimensions. baseline: comparisons of all methods do not repeat it with normalized, centered
    vectors, and do not recommend it. apply: maps rows (n, d), with the norms (n,) of their vectors before normalizing, with
    the arrays that `fit` returned; None multiplies by the matrix. weighting: the weights of anchors
    if the settings name none and counts are known. length: the default length of mapped vectors, a
    key of LENGTHS. induces: it also uses words that are not anchors. iterative: it takes many times
    longer than a linear system. cost: the time of its evaluation relative to least squares, measured
    on 10,369 anchors.
    """

    fit: Callable[[AnchorPairs, AlignmentSettings], NDArray[np.floating] | Arrays]
    about: str
    source: str
    kernel: bool = False
    penalty: bool = False
    full: bool = False
    equal_dimensions: bool = False
    baseline: bool = False
    apply: Callable[[Matrix, Matrix, Mapping[str, Matrix]], Matrix] | None = None
    weighting: str = "none"
    length: str = MAPPED
    induces: bool = False
    iterative: bool = False
    cost: float = 1.0


def _fit_least_squares(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    n, dim = pairs.x.shape
    if n < dim:
        raise InputError(
            f"Least squares needs as many anchors as dimensions or more: there are {n} anchors for"
            f" {dim} dimensions.",
            "Use more text, vectors of fewer dimensions, or the method ridge or procrustes.",
        )
    return solve_least_squares(*pairs.weighted())


def _fit_ridge(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    return solve_least_squares(*pairs.weighted(), settings.ridge or DEFAULT_RIDGE)


def _fit_procrustes(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    """Return the W (d, e) with orthonormal rows or columns that maximizes tr(Wᵀxᵀy).

    W = U·Vᵀ of the singular value decomposition of xᵀy (Schönemann 1966).
    """
    x, y = pairs.weighted()
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(left @ right)


def _fit_kernel_ridge(pairs: AnchorPairs, settings: AlignmentSettings) -> Arrays:
    coefficients = solve_kernel_ridge(
        pairs.x, pairs.y, pairs.weights, settings.ridge or DEFAULT_KERNEL_RIDGE
    )
    return {"matrix": coefficients, "landmarks": pairs.x}


def _apply_kernel_ridge(rows: Matrix, norms: Matrix, arrays: Mapping[str, Matrix]) -> Matrix:
    return apply_kernel_alignment(rows, arrays["landmarks"], arrays["matrix"])


def _build_identity(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    width, model = pairs.x.shape[1], pairs.y.shape[1]
    if width != model:
        raise InputError(
            f"The method identity needs equal dimensions: the vectors have {width}, the model"
            f" {model}.",
            f"Train vectors of {model} dimensions, or choose another method.",
        )
    return np.eye(width)


def _draw_random(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    matrix = np.random.default_rng(settings.seed).normal(size=(pairs.x.shape[1], pairs.y.shape[1]))
    # Scale the mapped anchors to the mean norm of their wordpieces.
    length = np.linalg.norm(pairs.x @ matrix, axis=1).mean()
    if length:
        matrix *= np.linalg.norm(pairs.y, axis=1).mean() / length
    return matrix


def _fit_multi_step(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    return fit_multi_step(*pairs.weighted(), settings.whitening, settings.reweighting)


def _fit_rcsls(pairs: AnchorPairs, settings: AlignmentSettings) -> Matrix:
    start = solve_least_squares(*pairs.weighted(), settings.ridge or DEFAULT_RIDGE)
    return fit_rcsls(pairs.x, pairs.y, pairs.weights, start)


def _fit_mlp(pairs: AnchorPairs, settings: AlignmentSettings) -> dict[str, Matrix]:
    return fit_mlp(
        pairs.x,
        pairs.y,
        pairs.norms,
        pairs.weights,
        settings.ridge or DEFAULT_RIDGE,
        settings.mlp_epochs,
        settings.seed,
    )


def _fit_ensemble(pairs: AnchorPairs, settings: AlignmentSettings) -> Arrays:
    coefficients = solve_kernel_ridge(pairs.x, pairs.y, pairs.weights, DEFAULT_KERNEL_RIDGE)
    return {
        **_fit_mlp(pairs, replace(settings, ridge=0.0)),
        "coefficients": coefficients,
        "landmarks": pairs.x,
    }


def _apply_ensemble(rows: Matrix, norms: Matrix, arrays: Mapping[str, Matrix]) -> Matrix:
    """Return the weighted mean of the directions of mlp and kernel ridge, with mlp's mean length."""
    by_mlp = apply_mlp(rows, norms, arrays)
    by_kernel = apply_kernel_alignment(rows, arrays["landmarks"], arrays["coefficients"])
    mixed = (1 - KERNEL_WEIGHT) * normalize_rows(by_mlp) + KERNEL_WEIGHT * normalize_rows(by_kernel)
    lengths = np.linalg.norm(by_mlp, axis=1, keepdims=True)
    return np.asarray(normalize_rows(mixed) * lengths)


def _fit_self_learning(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    return fit_self_learning(
        pairs.x,
        pairs.y,
        pairs.other_x,
        pairs.other_y,
        settings.induction_rounds,
        settings.seed,
    )


def _refine_with_mutual_neighbors(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    def fit(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
        return solve_least_squares(*weight_rows(x, y, weights), settings.ridge or DEFAULT_RIDGE)

    return fit_self_learning(
        pairs.x,
        pairs.y,
        pairs.other_x,
        pairs.other_y,
        settings.induction_rounds,
        settings.seed,
        fit,
        first_kept=1.0,
    )


def _weigh_reliability(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / (counts + HALF_RELIABLE))


WEIGHTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": np.ones_like,
    "reliability": _weigh_reliability,
}

METHODS: dict[str, AlignmentMethod] = {
    "least-squares": AlignmentMethod(
        _fit_least_squares,
        "the matrix that maps the anchors as close as possible to their wordpieces",
        "Poerner et al. 2020",
        full=True,
    ),
    "ridge": AlignmentMethod(
        _fit_ridge,
        "least squares with a penalty on large weights, for few or noisy anchors",
        "Hoerl and Kennard 1970",
        penalty=True,
    ),
    "procrustes": AlignmentMethod(
        _fit_procrustes,
        "the best rotation, which preserves the distances between words",
        "Schönemann 1966",
    ),
    "kernel-ridge": AlignmentMethod(
        _fit_kernel_ridge,
        "a nonlinear map: each anchor influences the vectors near it",
        "Saunders et al. 1998",
        kernel=True,
        penalty=True,
        apply=_apply_kernel_ridge,
    ),
    "weighted-least-squares": AlignmentMethod(
        _fit_ridge,
        "ridge regression in which rare anchors, whose vectors are noisy, count less",
        "Aitken 1935",
        penalty=True,
        weighting="reliability",
        length=FREQUENCY,
    ),
    "multi-step": AlignmentMethod(
        _fit_multi_step,
        "whitens both spaces, rotates, re-weights the directions and de-whitens",
        "Artetxe et al. 2018 (AAAI)",
        length=FREQUENCY,
    ),
    "rcsls": AlignmentMethod(
        _fit_rcsls,
        "the matrix that maximizes the retrieval criterion CSLS on the anchors",
        "Joulin et al. 2018",
        penalty=True,
        weighting="reliability",
        length=FREQUENCY,
        iterative=True,
        cost=46.0,
    ),
    "mlp": AlignmentMethod(
        _fit_mlp,
        "a linear map plus a small multilayer perceptron, trained to retrieve the own wordpiece",
        "van den Oord et al. 2018 (loss)",
        penalty=True,
        apply=apply_mlp,
        weighting="reliability",
        length=FREQUENCY,
        iterative=True,
        cost=16.0,
    ),
    "ensemble": AlignmentMethod(
        _fit_ensemble,
        "the mean direction of mlp and kernel ridge: the most accurate, and the slowest",
        "Breiman 1996 (averaging)",
        kernel=True,
        apply=_apply_ensemble,
        weighting="reliability",
        length=FREQUENCY,
        iterative=True,
        cost=22.0,
    ),
    "self-learning": AlignmentMethod(
        _fit_self_learning,
        "for few anchors: a rotation, fitted again on pairs that it finds",
        "Artetxe et al. 2018 (ACL)",
        length=FREQUENCY,
        induces=True,
        iterative=True,
        cost=4.0,
    ),
    "mutual-neighbors": AlignmentMethod(
        _refine_with_mutual_neighbors,
        "ridge regression, fitted again with the mutual neighbors among the other words",
        "Conneau et al. 2018, refinement",
        penalty=True,
        weighting="reliability",
        length=FREQUENCY,
        induces=True,
        iterative=True,
        cost=4.0,
    ),
    "identity": AlignmentMethod(
        _build_identity,
        "no alignment: the vectors are not changed",
        "Poerner et al. 2020, ablation W = 1",
        equal_dimensions=True,
    ),
    "random": AlignmentMethod(
        _draw_random,
        "a random matrix of the right scale: a baseline",
        "Poerner et al. 2020, ablation",
        baseline=True,
    ),
}


def rank_method(method: str, precision: float) -> tuple[bool, float]:
    """Return a sort key: a baseline ranks below all other methods, then the precision counts."""
    return not METHODS[method].baseline, precision


def register_method(name: str, method: AlignmentMethod) -> None:
    """Add an alignment method to the registry; raises InputError for a name that is taken or
    invalid.
    """
    register(METHODS, "an alignment method", name, method)
