"""Alignment methods: their settings, and the registry METHODS that page and command line read.

A method is one function from prepared anchors to a matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.settings import MAX_SEED, check_settings, setting
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.solvers import (
    solve_kernel_ridge,
    solve_least_squares,
    solve_procrustes,
)
from vocadapt.spaces.space import FloatArray, Matrix

DEFAULT_RIDGE = 0.01
DEFAULT_KERNEL_RIDGE = 0.1


@dataclass(frozen=True)
class AlignmentSettings:
    """Settings of an alignment; the defaults are those of Poerner et al. 2020.

    Both sides are centered over the anchors; `apply` reverts normalizing and centering.
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
    seed: int = setting(1, "random seed of the method random", high=MAX_SEED)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.ridge and not METHODS[self.method].penalty:
            takers = " or ".join(name for name, method in METHODS.items() if method.penalty)
            raise InputError(
                f"The method {self.method} takes no ridge penalty, got {self.ridge:g}.",
                f"Penalties are for {takers}.",
                "ridge",
            )


@dataclass(frozen=True, eq=False)
class AnchorPairs:
    """Prepared anchors: source vectors x (n, d), target vectors y (n, e), weights (n,) of mean 1.

    All are float64.
    """

    x: FloatArray
    y: FloatArray
    weights: FloatArray

    def weighted(self) -> tuple[FloatArray, FloatArray]:
        """Return x and y with each row multiplied by the square root of its weight."""
        if (self.weights == 1).all():
            return self.x, self.y
        roots = np.sqrt(self.weights)[:, None]
        return self.x * roots, self.y * roots


@dataclass(frozen=True)
class AlignmentMethod:
    """An alignment method: its function, a sentence about it and its source.

    kernel: the alignment keeps the anchors as landmarks. penalty: it takes a ridge penalty. full:
    it needs at least as many anchors as dimensions. equal_dimensions: it needs spaces of equal
    dimensions. baseline: a comparison does not repeat it with normalized, centered vectors.
    """

    fit: Callable[[AnchorPairs, AlignmentSettings], NDArray[np.floating]]
    about: str
    source: str
    kernel: bool = False
    penalty: bool = False
    full: bool = False
    equal_dimensions: bool = False
    baseline: bool = False


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
    return solve_procrustes(*pairs.weighted())


def _fit_kernel_ridge(pairs: AnchorPairs, settings: AlignmentSettings) -> Matrix:
    return solve_kernel_ridge(
        pairs.x, pairs.y, pairs.weights, settings.ridge or DEFAULT_KERNEL_RIDGE
    )


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


WEIGHTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": np.ones_like,
    "log": np.log1p,
    "sqrt": np.sqrt,
}

METHODS: dict[str, AlignmentMethod] = {
    "least-squares": AlignmentMethod(
        _fit_least_squares,
        "the matrix that maps the anchors nearest to their wordpieces",
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
        _fit_procrustes, "the best rotation: distances among the words are kept", "Schönemann 1966"
    ),
    "kernel-ridge": AlignmentMethod(
        _fit_kernel_ridge,
        "a nonlinear map: each anchor influences the vectors near it",
        "Saunders et al. 1998",
        True,
        penalty=True,
    ),
    "identity": AlignmentMethod(
        _build_identity,
        "no map: the vectors as they are",
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


def register_method(name: str, method: AlignmentMethod) -> None:
    """Add an alignment method to the registry; raises InputError for a name that is taken or
    invalid.
    """
    register(METHODS, "an alignment method", name, method)
