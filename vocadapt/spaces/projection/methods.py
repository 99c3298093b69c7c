"""Projection methods, registered in METHODS. A method is one function from vectors to 2-D
coordinates.
"""

from dataclasses import replace

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part
from vocadapt.spaces.projection.settings import (
    METHODS,
    METRICS,
    Layout,
    ProjectionMethod,
    ProjectionSettings,
)
from vocadapt.spaces.projection.tsne import INITIAL_SPREAD, fit_tsne
from vocadapt.spaces.projection.umap_method import MIN_SPECTRAL_ROWS, fit_umap
from vocadapt.spaces.space import EmbeddingSpace, Matrix

__all__ = [
    "METHODS",
    "METRICS",
    "Layout",
    "ProjectionSettings",
    "compute_principal_components",
    "prepare_rows",
]

MIN_TOKENS = 3
ROUNDING = 1e-9  # fraction of the mean squared norm below which a variance is a rounding error


def prepare_rows(space: EmbeddingSpace, settings: ProjectionSettings) -> Matrix:
    """Return the vectors (n, dim) float32 that a method projects: unit vectors for the cosine.

    Raises InputError for fewer than three vectors, or if all are equal.
    """
    if len(space) < MIN_TOKENS:
        raise InputError(
            f"A projection needs at least {MIN_TOKENS} tokens, there are {len(space)}.",
            "Show more tokens.",
        )
    rows = space.unit if settings.metric == "cosine" else space.matrix
    variance = rows.var(axis=0, dtype=np.float64).sum()
    if variance <= ROUNDING * np.square(rows, dtype=np.float64).mean(axis=0).sum():
        raise InputError(
            f"All {len(space):,} vectors of {space.name} are alike by the {settings.metric}: there"
            " is nothing to project.",
            "Choose other tokens, or another space.",
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
    components: Matrix = pca.fit_transform(rows)
    return components, float(pca.explained_variance_ratio_.sum())


def _project_by_pca(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    xy, explained = compute_principal_components(rows, 2)
    if xy.shape[1] < 2:
        xy = np.pad(xy, ((0, 0), (0, 2 - xy.shape[1])))
    return Layout(xy, "scikit-learn", ("scikit-learn", "numpy"), explained)


def _reduce_dimensions(rows: Matrix, settings: ProjectionSettings, progress: Progress) -> Matrix:
    """Reduce rows (n, dim) to the number of principal components that the settings say."""
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
    if start.shape[1] < 2:
        start = np.pad(start, ((0, 0), (0, 1)))
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
        )
    reduced = _reduce_dimensions(rows, settings, progress)
    if start is None:
        initial = _initialize(reduced, None) * INITIAL_SPREAD
    else:
        # Start where the other layout ended, without early exaggeration: it would move every token,
        # and tokens that did not change should stay in place.
        initial, settings = start - start.mean(axis=0), replace(settings, exaggeration=1.0)
    xy = fit_tsne(reduced, settings, initial, part(progress, 0.02, 1.0))
    return Layout(xy, "openTSNE", ("openTSNE", "numpy"))


def _project_by_umap(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    if settings.neighbors >= len(rows):
        raise InputError(
            f"UMAP with {settings.neighbors} neighbors needs more than {settings.neighbors}"
            f" tokens, there are {len(rows)}.",
            f"Set neighbors to {len(rows) - 1} or less, or show more tokens.",
        )
    reduced = _reduce_dimensions(rows, settings, progress)
    initial = None
    if start is not None or len(rows) < MIN_SPECTRAL_ROWS:
        initial = _initialize(reduced, start)
    xy = fit_umap(reduced, settings, initial, part(progress, 0.02, 1.0))
    return Layout(xy, "umap-learn", ("umap-learn", "numba", "numpy"))


METHODS |= {
    "pca": ProjectionMethod(
        _project_by_pca,
        "the plane of the largest variance: fast, and distances are interpretable",
        "Pearson 1901",
        True,
    ),
    "tsne": ProjectionMethod(
        _project_by_tsne,
        "keeps neighbors together; distances between clusters mean little",
        "van der Maaten and Hinton 2008",
    ),
    "umap": ProjectionMethod(
        _project_by_umap, "keeps neighbors together, in denser clusters", "McInnes et al. 2018"
    ),
}
