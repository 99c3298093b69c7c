"""Alignment methods: their settings, and the registry METHODS for the app and the command line.

A method is a function from prepared anchors to a matrix, or to named arrays and a second function
that applies them. Each algorithm has its own module.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.settings import MAX_SEED, ExtensibleSettings, setting, walk_settings
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.kernel_ridge import apply_kernel_alignment, solve_kernel_ridge
from vocadapt.spaces.alignment.least_squares import solve_least_squares, solve_procrustes
from vocadapt.spaces.alignment.mlp import apply_mlp, fit_mlp
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
class AlignmentSettings(ExtensibleSettings):
    """Settings of an alignment; the defaults are those of Poerner et al. 2020.

    Each method names those that only some methods use (`AlignmentMethod.settings`), and the class
    of those that it alone has (`AlignmentMethod.own`).

    Both spaces are centered by the means of their anchors; `apply` reverts both.
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
        1, "random seed of the methods random, mlp, ensemble and self-learning", high=MAX_SEED
    )
    vector_length: str = setting(
        "method", "length of mapped vectors", choices=LENGTHS, label="Vector length"
    )
    mlp_epochs: int = setting(
        40, "passes over the anchors in mlp and ensemble", high=10_000, label="MLP epochs"
    )
    induction_rounds: int = setting(
        10,
        "number of rounds of dictionary induction in self-learning",
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

    @property
    def digest(self) -> str:
        """Digest of the settings that are not at their defaults: it identifies the alignment in the
        addresses of pages.
        """
        walked = walk_settings(self)
        changed = {one.name: one.kind(value) for one, value in walked if value != one.default}
        if self.own is not None and self.own != type(self.own)():
            changed["own"] = asdict(self.own)
        text = json.dumps(changed, sort_keys=True)
        return blake2b(text.encode(), digest_size=6).hexdigest()


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
        if (self.weights == 1).all():
            return self.x, self.y
        roots = np.sqrt(self.weights)[:, None]
        return self.x * roots, self.y * roots


Arrays = Mapping[str, NDArray[np.floating]]


@dataclass(frozen=True)
class AlignmentMethod:
    """An alignment method: its function, a sentence about it and its source.

    settings: names of the settings (`AlignmentSettings`) that it uses, of those that not all
    methods use. own: the class of the settings that it alone has. kernel: the alignment keeps the
    anchors as landmarks. full: it needs at least as many anchors as dimensions. equal_dimensions:
    it needs spaces of equal dimensions. baseline: comparisons of all methods do not repeat it with
    normalized, centered vectors, and do not recommend it. apply: maps rows (n, d), with the norms
    (n,) of their vectors before normalizing, with the arrays that `fit` returned; None multiplies
    by the matrix. weighting: the weights of anchors if the settings name none and counts are known.
    length: the default length of mapped vectors, a key of LENGTHS. induces: it also uses words that
    are not anchors. iterative: it takes many times longer than a linear system. cost: the time of
    its evaluation relative to least squares, measured on 10,369 anchors.
    """

    fit: Callable[[AnchorPairs, AlignmentSettings], NDArray[np.floating] | Arrays]
    about: str
    source: str
    settings: tuple[str, ...] = ()
    own: type[Any] | None = None
    kernel: bool = False
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
            code="too-few-anchors",
        )
    return solve_least_squares(*pairs.weighted())


def _fit_ridge(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    return solve_least_squares(*pairs.weighted(), settings.ridge or DEFAULT_RIDGE)


def _fit_kernel_ridge(pairs: AnchorPairs, settings: AlignmentSettings) -> Arrays:
    coefficients = solve_kernel_ridge(
        pairs.x, pairs.y, pairs.weights, settings.ridge or DEFAULT_KERNEL_RIDGE
    )
    return {"matrix": coefficients, "landmarks": pairs.x}


def _apply_kernel_ridge(rows: Matrix, norms: Matrix, arrays: Mapping[str, Matrix]) -> Matrix:
    return apply_kernel_alignment(rows, arrays["landmarks"], arrays["matrix"])


def _build_identity(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    width = pairs.x.shape[1]
    model = pairs.y.shape[1]
    if width != model:
        raise InputError(
            f"The method identity needs equal dimensions: the vectors have {width}, the model"
            f" {model}.",
            f"Train vectors of {model} dimensions, or choose another method.",
            code="wrong-dimensions",
        )
    return np.eye(width)


def _draw_random(pairs: AnchorPairs, settings: AlignmentSettings) -> FloatArray:
    matrix = np.random.default_rng(settings.seed).normal(size=(pairs.x.shape[1], pairs.y.shape[1]))
    # Scale the mapped anchors to the mean norm of their wordpieces.
    length = np.linalg.norm(pairs.x @ matrix, axis=1).mean()
    if length:
        matrix *= np.linalg.norm(pairs.y, axis=1).mean() / length
    return matrix


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
        **_fit_mlp(pairs, settings),
        "coefficients": coefficients,
        "landmarks": pairs.x,
    }


def _apply_ensemble(rows: Matrix, norms: Matrix, arrays: Mapping[str, Matrix]) -> Matrix:
    """Return the weighted mean direction of mlp and kernel ridge, with mlp's mean length."""
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


WEIGHTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": np.ones_like,
    "reliability": lambda counts: np.asarray(counts / (counts + HALF_RELIABLE)),
}

METHODS: dict[str, AlignmentMethod] = {
    "least-squares": AlignmentMethod(
        _fit_least_squares,
        "the matrix that maps the anchors as close as possible to their wordpieces",
        "Poerner et al. 2020",
        settings=("weights",),
        full=True,
    ),
    "ridge": AlignmentMethod(
        _fit_ridge,
        "least squares with a penalty on large weights, for few or noisy anchors",
        "Hoerl and Kennard 1970",
        settings=("ridge", "weights"),
    ),
    "procrustes": AlignmentMethod(
        lambda pairs, settings: solve_procrustes(*pairs.weighted()),
        "the best rotation, which preserves the distances between words",
        "Schönemann 1966",
        settings=("weights",),
    ),
    "kernel-ridge": AlignmentMethod(
        _fit_kernel_ridge,
        "a nonlinear map: each anchor influences the vectors near it",
        "Saunders et al. 1998",
        settings=("ridge", "weights"),
        kernel=True,
        apply=_apply_kernel_ridge,
    ),
    "weighted-least-squares": AlignmentMethod(
        _fit_ridge,
        "ridge regression in which rare anchors, whose vectors are noisy, count less",
        "Aitken 1935",
        settings=("ridge", "weights"),
        weighting="reliability",
        length=FREQUENCY,
    ),
    "rcsls": AlignmentMethod(
        _fit_rcsls,
        "the matrix that maximizes the retrieval criterion CSLS on the anchors",
        "Joulin et al. 2018",
        settings=("ridge", "weights"),
        weighting="reliability",
        length=FREQUENCY,
        iterative=True,
        cost=46.0,
    ),
    "mlp": AlignmentMethod(
        _fit_mlp,
        "a linear map plus a small multilayer perceptron, trained to retrieve the own wordpiece",
        "van den Oord et al. 2018 (loss)",
        settings=("ridge", "weights", "seed", "mlp_epochs"),
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
        settings=("weights", "seed", "mlp_epochs"),
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
        settings=("seed", "induction_rounds", "induction_cutoff"),
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
        settings=("seed",),
        baseline=True,
    ),
}


def rank_method(method: str, precision: float) -> tuple[bool, float]:
    """Return a sort key: a baseline ranks below all other methods, then the precision counts."""
    return not METHODS[method].baseline, precision


def register_method(name: str, method: AlignmentMethod) -> None:
    """Register an alignment method; raises InputError for a name that is taken or invalid."""
    register(METHODS, "an alignment method", name, method)
