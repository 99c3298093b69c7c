"""Settings of projections, and the registry of the projection methods, which `methods` fills."""

from collections.abc import Callable
from dataclasses import dataclass

from vocadapt.progress import Progress
from vocadapt.settings import MAX_SEED, check_settings, setting
from vocadapt.spaces.space import Matrix

METRICS = ("cosine", "euclidean")


@dataclass(frozen=True)
class ProjectionSettings:
    """Settings of a projection; the metric cosine normalizes the vectors first."""

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
    metric: str = setting("cosine", "distance measure", choices=METRICS)
    pca: int = setting(
        50,
        "dimensions kept by PCA before t-SNE and UMAP",
        high=100_000,
        label="PCA components first",
        empty="all dimensions",
    )
    seed: int = setting(1, "random seed of the projection", high=MAX_SEED)

    def __post_init__(self) -> None:
        check_settings(self)


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

    quick: it takes no more than a second, so it needs no background job.
    """

    run: Callable[[Matrix, ProjectionSettings, Matrix | None, Progress], Layout]
    about: str
    source: str
    quick: bool = False


METHODS: dict[str, ProjectionMethod] = {}
