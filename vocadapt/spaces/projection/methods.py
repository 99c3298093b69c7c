"""Projection methods, registered in METHODS: each is a function from vectors to 2-D coordinates.

t-SNE and UMAP get exact neighbors. openTSNE calls back every 50 iterations, where it reports
progress and can be stopped. umap-learn has no callback, so its progress bar is used for both.

umap-learn compiles its loops with numba. Its approximate neighbor search alone takes up to a minute
to compile, but is not needed with exact neighbors. The other three functions take about ten seconds
and are cached on disk, so they are compiled once per machine.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import TextIOBase
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, parts, silent
from vocadapt.settings import MAX_SEED, MethodSettings, setting
from vocadapt.spaces.neighbors.search import METRICS
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray, Matrix

MIN_TOKENS = 3
ROUNDING = 1e-9  # fraction of the mean squared norm below which a variance is a rounding error
# Relative costs of the parts of t-SNE for the progress bar: about their seconds, measured with 300
# and 2000 tokens; the first two include loading libraries.
REDUCING, NEIGHBORS = 5.0, 4.5
ITERATION, ITERATION_PER_TOKEN = 0.026, 1e-5  # of the gradient descent
NEIGHBOR_BLOCK = 1000  # rows whose neighbors are searched between two progress reports

# Rows above which the gradient is interpolated by FFT instead of summed over a Barnes-Hut tree. The
# FFT costs seconds for any number of rows, the tree grows with the rows.
FFT_FROM = 2000
ITERATIONS = 750
EXAGGERATED_ITERATIONS = 250
REPORT_EVERY = 50  # iterations
# Cell width of the FFT grid: half the time of width 1 at 30 522 rows, equal trustworthiness (.926)
GRID = 2
INITIAL_SPREAD = 1e-4  # standard deviation of the initial coordinates, unless they are given

UMAP_SPAN = 10.0  # half the width of UMAP's own initial layouts


@dataclass(frozen=True)
class ProjectionSettings(MethodSettings):
    """Settings of a projection; the metric cosine normalizes the vectors first.

    Each method names those that only some methods use (`ProjectionMethod.settings`).
    """

    method: str = setting(
        "pca", "projection method", choices=lambda: METHODS, label="Projection method"
    )
    perplexity: float = setting(
        30.0, "perplexity of t-SNE: about the number of effective neighbors", low=2, high=10_000
    )
    exaggeration: float = setting(
        12.0, "early exaggeration of t-SNE", low=1, high=1000, label="Early exaggeration"
    )
    iterations: int = setting(
        0, "iterations of t-SNE, epochs of UMAP", high=100_000, empty="method's default"
    )
    learning_rate: float = setting(
        0.0,
        "learning rate of t-SNE, in scikit-learn's units",
        high=1e6,
        empty="by the number of tokens",
    )
    neighbors: int = setting(15, "number of neighbors of UMAP", low=2, high=10_000)
    min_dist: float = setting(
        0.1, "minimum distance of points of UMAP", high=1, label="Min distance"
    )
    metric: str = setting(
        "cosine",
        "distance measure, also of the neighbors around a word",
        choices=tuple(METRICS),
        label="Measure",
    )
    pca: int = setting(
        50,
        "dimensions kept by PCA before t-SNE and UMAP",
        high=100_000,
        label="PCA components first",
        empty="all dimensions",
    )
    seed: int = setting(1, "random seed of the projection", high=MAX_SEED)


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates (n, 2) float32, the library that computed them, and all libraries involved.

    explained: for PCA the fraction of the variance that the plane explains, else None.
    """

    xy: Matrix
    engine: str
    libraries: tuple[str, ...]
    explained: float | None = None


@dataclass(frozen=True)
class ProjectionMethod:
    """A projection method: its function, a sentence about it and its source.

    settings: names of the settings (`ProjectionSettings`) that it uses, of those that not all
    methods use. quick: it takes no more than a second, so it needs no background job. module: a
    module of an extra of vocadapt that it needs; the extra has the same name.
    """

    run: Callable[[Matrix, ProjectionSettings, Matrix | None, Progress], Layout]
    about: str
    source: str
    settings: tuple[str, ...] = ()
    quick: bool = False
    module: str = ""


def check_installed(method: str) -> None:
    """Check that the library of a projection method is installed; raises InputError if not."""
    module = METHODS[method].module
    if module and find_spec(module) is None:
        raise InputError(
            f"The projection method {method} needs a library that is not installed.",
            f"Install it with pip install 'vocadapt[{module}]', or choose another method.",
            "method",
        )


def prepare_rows(space: EmbeddingSpace, settings: ProjectionSettings) -> Matrix:
    """Return the vectors (n, dim) float32 that a method projects: unit vectors for the cosine.

    Raises InputError for fewer than three vectors, or if all are equal.
    """
    if len(space) < MIN_TOKENS:
        raise InputError(
            f"A projection needs at least {MIN_TOKENS} tokens, there are {len(space)}.",
            "Show more tokens.",
            code="too-few-tokens",
        )
    rows = space.matrix
    if settings.metric == "cosine":
        rows = space.unit
    variance = rows.var(axis=0, dtype=np.float64).sum()
    if variance <= ROUNDING * np.square(rows, dtype=np.float64).mean(axis=0).sum():
        raise InputError(
            f"All {len(space):,} vectors of {space.name} are equal by the {settings.metric}, so"
            " there is nothing to project.",
            "Choose other tokens, or another space.",
            code="equal-vectors",
        )
    return rows


def compute_principal_components(rows: Matrix, dimensions: int) -> tuple[Matrix, float]:
    """Return the first principal components of rows (n, dim) float32, and their explained variance.

    The components are (n, min(dimensions, n, dim)) float32, the explained variance is a fraction.
    Exact, by the eigenvectors of the covariance; scikit-learn makes each component's largest
    loading positive, so the signs are reproducible.
    """
    from sklearn.decomposition import PCA

    pca = PCA(min(dimensions, *rows.shape), svd_solver="covariance_eigh")
    return pca.fit_transform(rows), float(pca.explained_variance_ratio_.sum())


def _project_by_pca(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    xy, explained = compute_principal_components(rows, 2)
    xy = np.pad(xy, ((0, 0), (0, 2 - xy.shape[1])))  # if the vectors have one dimension only
    return Layout(xy, "scikit-learn", ("scikit-learn", "numpy"), explained)


def _reduce_dimensions(rows: Matrix, settings: ProjectionSettings, progress: Progress) -> Matrix:
    if not settings.pca or rows.shape[1] <= settings.pca:
        return rows
    progress(0.0, f"{settings.pca} principal components")
    return compute_principal_components(rows, settings.pca)[0]


def _initialize(rows: Matrix, start: Matrix | None) -> Matrix:
    """Return initial coordinates (n, 2) float32: `start`, or the first two principal components.

    They are centered, and scaled to a standard deviation of 1 on the longer axis.
    """
    if start is None:
        start = compute_principal_components(rows, 2)[0]
    start = start - start.mean(axis=0)
    start = np.pad(start, ((0, 0), (0, 2 - start.shape[1])))  # if there is one component only
    return np.asarray(start / start.std(axis=0).max(), dtype=np.float32)


def _project_by_tsne(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    largest = (len(rows) - 1) // 3
    if settings.perplexity > largest:
        needed = int(np.ceil(3 * settings.perplexity)) + 1
        remedy = "Use PCA, or show more tokens."
        if largest >= 2:
            remedy = f"Set the perplexity to {largest} or less, or show more tokens."
        raise InputError(
            f"Perplexity {settings.perplexity:g} needs at least {needed} tokens, there are"
            f" {len(rows)}.",
            remedy,
            code="too-few-tokens",
        )
    fitting = NEIGHBORS + _weigh_descent(len(rows), settings)
    stages = parts(progress, {"reducing": REDUCING, "fitting": fitting})
    reduced = _reduce_dimensions(rows, settings, stages["reducing"])
    if start is None:
        initial = _initialize(reduced, None) * INITIAL_SPREAD
    else:
        # Start where the other layout ended, without early exaggeration: it would move every token,
        # and tokens that did not change should stay in place.
        initial = start - start.mean(axis=0)
        settings = replace(settings, exaggeration=1.0)
    return Layout(
        fit_tsne(reduced, settings, initial, stages["fitting"]),
        "openTSNE",
        ("openTSNE", "numpy"),
    )


def _weigh_descent(n: int, settings: ProjectionSettings) -> float:
    return count_iterations(settings) * (ITERATION + n * ITERATION_PER_TOKEN)


def _project_by_umap(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    if settings.neighbors >= len(rows):
        raise InputError(
            f"UMAP with {settings.neighbors} neighbors needs more than {settings.neighbors}"
            f" tokens, there are {len(rows)}.",
            f"Set neighbors to {len(rows) - 1} or less, or show more tokens.",
            code="too-few-tokens",
        )
    # 1. The vectors and the initial coordinates. UMAP's own start, by eigenvectors of the neighbor
    #    graph, differs from run to run where the graph is not connected (scipy draws a restart),
    #    and keeps no more neighbors: .197 of 10 against .194 (wordpieces), .296 and .296 (word
    #    vectors).
    reduced = _reduce_dimensions(rows, settings, progress)
    initial = _initialize(reduced, start)
    initial = initial * UMAP_SPAN / np.abs(initial).max()

    # 2. Exact neighbors, in UMAP's form: each row is its own first neighbor, at distance 0.
    report = part(progress, 0.1, 1.0)
    report(0.0, "loading UMAP")
    from umap import UMAP

    indices, distances = find_exact_neighbors(
        reduced, settings.neighbors - 1, part(report, 0.05, 0.2)
    )
    itself = np.arange(len(rows))[:, None]
    table = np.hstack([itself, indices]), np.pad(distances, ((0, 0), (1, 0)))

    # 3. Fit in one thread: with several, the same seed would not give the same coordinates.
    _enable_compile_cache()
    report(0.2, "building the neighbor graph; the first time on this machine 15 s more")
    layout = UMAP(
        n_neighbors=settings.neighbors,
        min_dist=settings.min_dist,
        n_epochs=settings.iterations or None,
        init=initial,
        metric="euclidean",
        precomputed_knn=table,
        force_approximation_algorithm=True,  # use our neighbors for small data, too
        random_state=settings.seed,
        n_jobs=1,
        tqdm_kwds={"file": _Bar(report), "disable": False, "mininterval": 0},
    )
    with warnings.catch_warnings(), _release_tqdm_lock():
        warnings.simplefilter("ignore")
        xy = np.asarray(layout.fit_transform(reduced), dtype=np.float32)
    return Layout(xy, "umap-learn", ("umap-learn", "numba", "numpy"))


def find_exact_neighbors(
    rows: Matrix, k: int, progress: Progress = silent
) -> tuple[IntArray, FloatArray]:
    """Return indices and distances (n, k) of the k < n nearest other rows, nearest first."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(rows)
    indices = np.empty((len(rows), k), np.int64)
    distances = np.empty((len(rows), k), np.float64)
    for start in range(0, len(rows), NEIGHBOR_BLOCK):
        progress(start / len(rows), "nearest neighbors of every token")
        own = np.arange(start, min(start + NEIGHBOR_BLOCK, len(rows)))
        far, near = search.kneighbors(rows[own])
        # A row is its own nearest neighbor. If equal rows displace it, drop the last one instead.
        itself = near == own[:, None]
        itself[~itself.any(axis=1), -1] = True
        indices[own], distances[own] = near[~itself].reshape(-1, k), far[~itself].reshape(-1, k)
    return indices, distances


def count_iterations(settings: ProjectionSettings) -> int:
    """Return the total number of iterations, at least those with early exaggeration."""
    return max(settings.iterations or ITERATIONS, EXAGGERATED_ITERATIONS)


def fit_tsne(
    rows: Matrix, settings: ProjectionSettings, start: Matrix, progress: Progress = silent
) -> Matrix:
    """Compute the t-SNE coordinates (n, 2) float32 of rows (n, dim) float32.

    start: (n, 2), the initial coordinates.
    """
    from openTSNE import TSNE

    # 1. Exact neighbors and their affinities.
    stages = parts(
        progress, {"neighbors": NEIGHBORS, "descent": _weigh_descent(len(rows), settings)}
    )
    affinities = _compute_affinities(rows, settings.perplexity, stages["neighbors"])

    # 2. Gradient descent, by Barnes-Hut or FFT.
    iterations = count_iterations(settings)
    layout = TSNE(
        perplexity=settings.perplexity,
        early_exaggeration=settings.exaggeration,
        early_exaggeration_iter=EXAGGERATED_ITERATIONS,
        n_iter=iterations - EXAGGERATED_ITERATIONS,
        # The setting has the unit of scikit-learn, a quarter of openTSNE's.
        learning_rate=4 * settings.learning_rate or "auto",
        negative_gradient_method="fft" if len(rows) > FFT_FROM else "bh",
        ints_in_interval=GRID,
        n_jobs=-1,
        random_state=settings.seed,
        callbacks=_report_iterations(iterations, stages["descent"]),
        callbacks_every_iters=REPORT_EVERY,
    )
    return np.ascontiguousarray(
        layout.fit(affinities=affinities, initialization=start.astype(np.float64)), dtype=np.float32
    )


def _report_iterations(iterations: int, report: Progress) -> Callable[..., None]:
    """Return a callback that counts all iterations; openTSNE counts those of each phase from 0."""
    reached = iter(range(REPORT_EVERY, iterations + REPORT_EVERY, REPORT_EVERY))

    def on_iteration(iteration: int, error: float, embedding: object) -> None:
        done = next(reached, iterations)
        report(done / iterations, f"iteration {done} of {iterations}")

    return on_iteration


def _compute_affinities(rows: Matrix, perplexity: float, progress: Progress) -> Any:
    """Return openTSNE's affinities of rows (n, dim) float32, from exact neighbors."""
    from openTSNE import affinity, nearest_neighbors

    k = min(len(rows) - 1, int(3 * perplexity))
    neighbors, distances = find_exact_neighbors(rows, k, progress)
    return affinity.PerplexityBasedNN(
        perplexity=perplexity,
        knn_index=nearest_neighbors.PrecomputedNeighbors(neighbors, distances),
        n_jobs=-1,
    )


def _enable_compile_cache() -> None:
    """Enable numba's disk cache for UMAP's functions, unless they are compiled in this process.

    If no folder is writable, they are compiled each time. With NUMBA_DISABLE_JIT=1 nothing is
    compiled.
    """
    from numba import config
    from umap import layouts, umap_

    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    with suppress(RuntimeError):  # numba found no writable folder
        for function in (
            umap_.smooth_knn_dist,
            umap_.compute_membership_strengths,
            layouts._nb_optimize_layout_euclidean_single_epoch,
        ):
            if not function.nopython_signatures:
                function.enable_caching()


@contextmanager
def _release_tqdm_lock() -> Iterator[None]:
    """Release tqdm's lock if the block raises.

    tqdm does not release it, and the next progress bar of another thread would wait forever.
    """
    from tqdm.auto import tqdm

    try:
        yield
    except BaseException:
        with suppress(RuntimeError, AssertionError):  # if it is no longer held
            tqdm.get_lock().release()  # type: ignore[no-untyped-call]
        raise


class _Bar(TextIOBase):
    """File-like object that turns the text of UMAP's progress bar into progress reports."""

    percent = re.compile(r"(\d+)%")

    def __init__(self, progress: Progress) -> None:
        self.progress, self.last = progress, 0

    def write(self, text: str) -> int:
        found = self.percent.search(text)
        if found and int(found[1]) > self.last:
            # Set before the call, which may raise: the bar writes once more on closing.
            self.last = int(found[1])
            self.progress(0.3 + 0.7 * self.last / 100, f"{self.last} % of the epochs")
        return len(text)


METHODS: dict[str, ProjectionMethod] = {
    "pca": ProjectionMethod(
        _project_by_pca,
        "the plane of the largest variance: fast, and distances are interpretable",
        "Pearson 1901",
        quick=True,
    ),
    "tsne": ProjectionMethod(
        _project_by_tsne,
        "keeps neighbors together; distances between clusters mean little",
        "van der Maaten and Hinton 2008",
        ("perplexity", "exaggeration", "iterations", "learning_rate", "pca"),
    ),
    "umap": ProjectionMethod(
        _project_by_umap,
        "keeps neighbors together, in denser clusters",
        "McInnes et al. 2018",
        ("iterations", "neighbors", "min_dist", "pca"),
        module="umap",
    ),
}
