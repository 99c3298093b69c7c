"""The ways to lay vectors out in the plane: what is chosen about one, and the function that does
it.

A method is one function from rows to coordinates, registered in METHODS; the page, the command line
and the tests find it there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part
from vocadapt.settings import LARGEST_SEED, bounded, check_settings
from vocadapt.spaces.projection.tsne import ENGINES, START, tsne_with
from vocadapt.spaces.projection.umap_method import FEW, fit_umap
from vocadapt.spaces.space import EmbeddingSpace, Matrix

METRICS = ("cosine", "euclidean")
FEWEST = 3
SAME = 1e-9  # share of the mean squared length below which a spread is rounding


@dataclass(frozen=True)
class ProjectionSettings:
    """How rows are laid out in the plane.

    For all: `metric` (cosine brings rows to length 1 first), `seed`. For t-SNE and UMAP: `pca`, the
    dimensions kept before them (0: all). For t-SNE: `perplexity`, early `exaggeration`,
    `iterations` in all, `learning_rate` in scikit-learn's units (0: by the number of rows),
    `engine`. For UMAP: `neighbors`, `min_dist`, and `iterations`. `iterations` 0 takes the
    method's own number.
    """

    method: str = "pca"
    perplexity: float = bounded(30.0, 2, 10_000, "Perplexity")
    exaggeration: float = bounded(12.0, 1, 1000, "Early exaggeration")
    iterations: int = bounded(0, 0, 100_000, "Iterations")
    learning_rate: float = bounded(0.0, 0, 1e6, "Learning rate of t-SNE")
    neighbors: int = bounded(15, 2, 10_000, "Neighbors of UMAP")
    min_dist: float = bounded(0.1, 0, 1, "Minimum distance of UMAP")
    metric: str = "cosine"
    pca: int = bounded(50, 0, 100_000, "Principal components")
    seed: int = bounded(1, 0, LARGEST_SEED, "Seed of the projection")
    engine: str = "auto"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(
                f"Unknown projection {self.method!r}.", f"Choose one of: {', '.join(METHODS)}."
            )
        if self.metric not in METRICS:
            raise InputError(
                f"Unknown metric {self.metric!r}.", f"Choose one of: {', '.join(METRICS)}."
            )
        if self.engine not in ("auto", *ENGINES):
            raise InputError(
                f"Unknown engine {self.engine!r}.", f"Choose one of: auto, {', '.join(ENGINES)}."
            )
        check_settings(self)


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates (n, 2), the engine that found them, its libraries, and for PCA the share of the
    variance they keep.
    """

    xy: Matrix
    engine: str
    libraries: tuple[str, ...]
    explained: float | None = None


@dataclass(frozen=True)
class Method:
    """A way to lay rows out: the function, the sentence that explains it, its source; `quick`: it
    needs no job.
    """

    run: Callable[[Matrix, ProjectionSettings, Matrix | None, Progress], Layout]
    about: str
    source: str
    quick: bool = False


def prepare_rows(space: EmbeddingSpace, settings: ProjectionSettings) -> Matrix:
    """The rows as a method takes them: at length 1 for the cosine. Raises InputError for fewer than
    three, or all alike.
    """
    if len(space) < FEWEST:
        raise InputError(
            f"A map needs at least {FEWEST} tokens, there are {len(space)}.", "Show more tokens."
        )
    rows = space.unit if settings.metric == "cosine" else space.matrix
    spread = rows.var(axis=0, dtype=np.float64).sum()
    if spread <= SAME * np.square(rows, dtype=np.float64).mean(axis=0).sum():
        raise InputError(
            f"All {len(space):,} vectors of {space.name} are alike by the {settings.metric}: there"
            " is nothing to lay out.",
            "Choose other tokens, or another space.",
        )
    return rows


def compute_principal_components(rows: Matrix, dimensions: int) -> tuple[Matrix, float]:
    """The rows on their first principal components (n, dimensions), and the share of the variance
    these keep.

    Exact, by the eigenvectors of the covariance; each component's largest loading is positive, so
    that no sign is left open.
    """
    centered = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    values, vectors = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    values, vectors = values[::-1].clip(0), vectors[:, ::-1][:, :dimensions]
    vectors *= np.where(vectors[np.abs(vectors).argmax(axis=0), range(vectors.shape[1])] < 0, -1, 1)
    return centered @ vectors.astype(np.float32), float(values[:dimensions].sum() / values.sum())


def _pca(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    xy, explained = compute_principal_components(rows, 2)
    if xy.shape[1] < 2:
        xy = np.pad(xy, ((0, 0), (0, 2 - xy.shape[1])))
    return Layout(xy, "vocadapt", ("numpy",), explained)


def _narrowed(rows: Matrix, settings: ProjectionSettings, progress: Progress) -> Matrix:
    if not settings.pca or rows.shape[1] <= settings.pca:
        return rows
    progress(0.0, f"{settings.pca} principal components")
    return compute_principal_components(rows, settings.pca)[0]


def _first(rows: Matrix, start: Matrix | None) -> Matrix:
    """Where a layout begins: the one to be comparable with, else the first two principal
    components; longest axis of sd 1.
    """
    start = (
        compute_principal_components(rows, 2)[0] if start is None else start - start.mean(axis=0)
    )
    if start.shape[1] < 2:
        start = np.pad(start, ((0, 0), (0, 1)))
    return np.asarray(start / start.std(axis=0).max(), dtype=np.float32)


def _tsne(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    largest = (len(rows) - 1) // 3
    if settings.perplexity > largest:
        raise InputError(
            f"Perplexity {settings.perplexity:g} needs at least"
            f" {int(np.ceil(3 * settings.perplexity)) + 1} tokens, there are {len(rows)}.",
            (
                f"Set the perplexity to {largest} or less, or show more tokens."
                if largest >= 2
                else "Use PCA, or show more tokens."
            ),
        )
    narrow = _narrowed(rows, settings, progress)
    if start is None:
        begin = _first(narrow, None) * START
    else:  # from where the other layout ended, and not torn apart first: what stayed alike stays where it is
        begin, settings = start - start.mean(axis=0), replace(settings, exaggeration=1.0)
    xy, engine = tsne_with(narrow, settings, begin, part(progress, 0.02, 1.0))
    return Layout(xy, engine, (engine, "numpy"))


def _umap(
    rows: Matrix, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Layout:
    if settings.neighbors >= len(rows):
        raise InputError(
            f"UMAP with {settings.neighbors} neighbors needs more than {settings.neighbors}"
            f" tokens, there are {len(rows)}.",
            f"Set neighbors to {len(rows) - 1} or less, or show more tokens.",
        )
    narrow = _narrowed(rows, settings, progress)
    begin = _first(narrow, start) if start is not None or len(rows) < FEW else None
    xy = fit_umap(narrow, settings, begin, part(progress, 0.02, 1.0))
    return Layout(xy, "umap-learn", ("umap-learn", "numba", "numpy"))


METHODS: dict[str, Method] = {
    "pca": Method(
        _pca,
        "the plane of the greatest variance: at once, and distances mean what they say",
        "Pearson 1901",
        True,
    ),
    "tsne": Method(
        _tsne,
        "keeps neighbors together; distances between clouds mean little",
        "van der Maaten and Hinton 2008",
    ),
    "umap": Method(_umap, "keeps neighbors together, in denser clouds", "McInnes et al. 2018"),
}
