"""Words in the plane: one space, or two over the same words laid out so that they can be
compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.projection.methods import METHODS, Layout, ProjectionSettings, prepare_rows
from vocadapt.spaces.projection.tsne import count_iterations, engine_for
from vocadapt.spaces.space import EmbeddingSpace, Matrix

__all__ = [
    "METHODS",
    "Projection",
    "ProjectionSettings",
    "align_layout",
    "estimate_seconds",
    "interpolate",
    "measure_movement",
    "project",
    "project_pair",
]


@dataclass(frozen=True, eq=False)
class Projection:
    """Words and their coordinates (n, 2), float32, in the same order; how they were found, by which
    versions.

    `name` is the space's. `explained`: for PCA the share of the variance that the plane keeps.
    """

    words: tuple[str, ...]
    xy: Matrix
    settings: ProjectionSettings
    engine: str
    name: str = "space"
    versions: Mapping[str, str] = field(default_factory=dict)
    explained: float | None = None

    def __len__(self) -> int:
        return len(self.words)


def project(
    space: EmbeddingSpace, settings: ProjectionSettings, progress: Progress = silent
) -> Projection:
    """Lay all rows of `space` out in the plane; `take` the rows to show first.

    The same seed gives the same coordinates on the same machine, whatever global seeds are. Raises
    InputError for fewer than three rows, rows that are all alike, and a perplexity or neighbors
    that the rows are too few for.
    """
    return _projection(space, settings, None, progress)


def project_pair(
    a: EmbeddingSpace, b: EmbeddingSpace, settings: ProjectionSettings, progress: Progress = silent
) -> tuple[Projection, Projection]:
    """Two spaces on the words they share, in a's order: the second starts from the first, and is
    laid over it.

    t-SNE and UMAP begin the second layout at the first one's coordinates; then rotation,
    reflection, one scale and translation bring it as near to the first as they can. Raises
    InputError where fewer than three words are shared.
    """
    shared = [word for word in a.words if word in b]
    if len(shared) < 3:
        raise InputError(
            f"{a.name} and {b.name} share {len(shared)} words: a map of both needs at least 3."
        )
    first = _projection(a.take(a.rows(shared)), settings, None, part(progress, 0.0, 0.5, a.name))
    second = _projection(
        b.take(b.rows(shared)), settings, first.xy, part(progress, 0.5, 1.0, b.name)
    )
    return first, replace(second, xy=align_layout(first.xy, second.xy))


def align_layout(fixed: Matrix, moved: Matrix) -> Matrix:
    """`moved` (n, 2) rotated, reflected and shifted to lie nearest to `fixed` (n, 2) (Procrustes;
    Schönemann 1966).

    It is brought to the same spread, not to the scale of least squares: that shrinks layouts that
    have little in common to a dot.
    """
    x, y = fixed - fixed.mean(axis=0), moved - moved.mean(axis=0)
    u, _, v = np.linalg.svd(y.T.astype(np.float64) @ x)
    scale = np.sqrt(np.square(x, dtype=np.float64).sum() / np.square(y, dtype=np.float64).sum())
    return np.asarray(y @ (u @ v) * scale + fixed.mean(axis=0), dtype=np.float32)


def measure_movement(a: Projection, b: Projection) -> Matrix:
    """How far each word lies from itself in two aligned projections (n,), in units of the first
    map's spread.

    The spread is the root mean square distance from the center. A picture of change, not a measure
    of it: neighbors in the original spaces tell whether a word changed.
    """
    spread = np.sqrt(np.square(a.xy - a.xy.mean(axis=0)).sum(axis=1).mean())
    return np.asarray(np.linalg.norm(b.xy - a.xy, axis=1) / spread, dtype=np.float32)


def interpolate(a: Projection, b: Projection, share: float) -> Matrix:
    """Where the words stand (n, 2) on the straight way from `a` (share 0) to `b` (share 1)."""
    return np.asarray((1 - share) * a.xy + share * b.xy, dtype=np.float32)


def estimate_seconds(n: int, dim: int, settings: ProjectionSettings) -> float:
    """Estimate the seconds of a projection of n rows on two idle cores.

    Interpolates measurements on one machine, dimension 768: scikit-learn 6.3, 11.1 and 23.9 s in
    750 iterations at 2 000, 4 000 and 8 000 rows; openTSNE 5.7, 6.8, 9.5 and at 30 522 24.8 s; UMAP
    2.8, 7.4 and 27.6 s of processor time at 20, 4 200 and 30 000 (about 15 s more on a machine's
    first UMAP, which is compiled). A busy machine takes longer.
    """
    if settings.method == "pca":
        return 0.05 + 3e-8 * n * dim
    if settings.method == "umap":
        return 3 + 1e-3 * n
    if engine_for(n, settings.engine) == "scikit-learn":
        return 0.3 + 3.9e-6 * n * count_iterations(settings)
    return 1 + (3.5 + 6.7e-4 * n) / 750 * count_iterations(settings)


def _projection(
    space: EmbeddingSpace, settings: ProjectionSettings, start: Matrix | None, progress: Progress
) -> Projection:
    layout: Layout = METHODS[settings.method].run(
        prepare_rows(space, settings), settings, start, progress
    )
    if not np.isfinite(layout.xy).all():
        remedy = (
            "Set a lower learning rate."
            if settings.method == "tsne"
            else "Choose PCA, or show more tokens."
        )
        raise InputError(f"{settings.method} diverged: its coordinates are not finite.", remedy)
    progress(1.0, "laid out")
    versions = {name: _version(name) for name in layout.libraries}
    xy = np.asarray(layout.xy, dtype=np.float32)
    return Projection(
        space.words, xy, settings, layout.engine, space.name, versions, layout.explained
    )


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "vocadapt"
