"""Alignment methods: their settings, and the registry METHODS for the app and the command line.

A method is one function from prepared anchors to a matrix; the solvers of least squares and of
kernel ridge regression are at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import FloatArray, Matrix, normalize_rows

DEFAULT_RIDGE = 0.01
DEFAULT_KERNEL_RIDGE = 0.1

# γ of the Gaussian kernel on unit vectors. Chosen, like its penalty, on encyclopedia text, not on
# text used for evaluation.
KERNEL_WIDTH = 0.1

# Below this reciprocal condition number of XᵀX (1-norm, columns of unit length) the relative error of
# W from the normal equations exceeds 1e-6.
MIN_RECIPROCAL_CONDITION = 1e-12


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
    seed: int = setting(1, "random seed of the method random", high=MAX_SEED)

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
    dimensions. baseline: comparisons of all methods do not repeat it with
    normalized, centered vectors.
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
    """Return the W (d, e) with orthonormal rows or columns that maximizes tr(Wᵀxᵀy).

    W = U·Vᵀ of the singular value decomposition of xᵀy (Schönemann 1966).
    """
    x, y = pairs.weighted()
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(left @ right)


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
        True,
        penalty=True,
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


def register_method(name: str, method: AlignmentMethod) -> None:
    """Add an alignment method to the registry; raises InputError for a name that is taken or
    invalid.
    """
    register(METHODS, "an alignment method", name, method)


def solve_least_squares(x: FloatArray, y: FloatArray, ridge: float = 0.0) -> FloatArray:
    """Return W (d, e) that minimizes ‖xW − y‖² + λ‖W‖², with λ = ridge · trace(xᵀx)/d.

    x: (n, d), y: (n, e), float64. Solves the normal equations by Cholesky, several times faster
    than an SVD; if they are too ill-conditioned, uses the SVD, which gives the W of minimum norm.
    """
    from scipy.linalg import cho_solve

    # 1. The Gram matrix, with the penalty on its diagonal.
    gram = x.T @ x
    penalty = ridge * gram.trace() / len(gram)
    gram.flat[:: len(gram) + 1] += penalty

    # 2. Factorize it with a unit diagonal, which improves its condition.
    scale = np.sqrt(gram.diagonal())
    factor = _factorize(gram, scale)
    if factor is None:
        return _solve_by_svd(x, y, penalty)

    # 3. Solve for the scaled W, and undo the scaling.
    return np.asarray(cho_solve((factor, True), (x.T @ y) / scale[:, None]) / scale[:, None])


def _factorize(gram: FloatArray, scale: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor (d, d) of the Gram matrix, scaled to a unit diagonal.

    Returns None if it is too ill-conditioned.
    """
    from scipy.linalg.lapack import dpocon, dpotrf

    if not (scale > 0).all():
        return None
    scaled = gram / np.outer(scale, scale)
    norm = np.abs(scaled).sum(axis=0).max()
    factor, failed = dpotrf(scaled, lower=1)
    if failed or dpocon(factor, norm, uplo="L")[0] < MIN_RECIPROCAL_CONDITION:
        return None
    return np.asarray(factor)


def _solve_by_svd(x: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Solve least squares by NumPy's SVD; the penalty is added as rows."""
    if penalty:
        x = np.vstack([x, np.sqrt(penalty) * np.eye(x.shape[1])])
        y = np.vstack([y, np.zeros((x.shape[1], y.shape[1]))])
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


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
