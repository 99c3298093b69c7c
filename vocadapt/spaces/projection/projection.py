"""Projections of one space, or of two spaces over the same words, aligned for comparison."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.projection.methods import (
    FFT_FROM,
    METHODS,
    ProjectionSettings,
    check_installed,
    count_iterations,
    prepare_rows,
)
from vocadapt.spaces.space import EmbeddingSpace, Matrix


@dataclass(frozen=True, eq=False)
class Projection:
    """Words and their coordinates (n, 2) float32, in the same order.

    engine, versions: the library that computed them, and the versions of all libraries. name: name
    of the space. explained: for PCA the fraction of the variance that the plane explains.
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
    space: EmbeddingSpace,
    settings: ProjectionSettings,
    progress: Progress = silent,
    start: Matrix | None = None,
) -> Projection:
    """Project all words of a space to the plane; start: (words, 2), initial coordinates.

    The same seed gives the same coordinates on the same machine, independent of global seeds.
    Raises InputError for fewer than three words, vectors that are all equal, a perplexity or a
    number of neighbors that needs more words, and a layout that diverges.
    """
    # 1. Compute the layout.
    check_installed(settings.method)
    layout = METHODS[settings.method].run(prepare_rows(space, settings), settings, start, progress)
    if not np.isfinite(layout.xy).all():
        remedy = "Choose PCA, or show more tokens."
        if settings.method == "tsne":
            remedy = "Set a lower learning rate."
        raise InputError(f"{settings.method} diverged: its coordinates are not finite.", remedy)
    progress(1.0, "projected")

    # 2. Record the versions: another version of a library may give other coordinates.
    versions = {}
    for library in layout.libraries:
        # A method of an extension need not belong to an installed package.
        versions[library] = "vocadapt"
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    return Projection(
        space.words,
        np.asarray(layout.xy, dtype=np.float32),
        settings,
        layout.engine,
        space.name,
        versions,
        layout.explained,
    )


def project_pair(
    a: EmbeddingSpace, b: EmbeddingSpace, settings: ProjectionSettings, progress: Progress = silent
) -> tuple[Projection, Projection]:
    """Project two spaces on their shared words, in a's order, and align the second to the first.

    t-SNE and UMAP start the second layout at the first one's coordinates; it is then rotated,
    reflected, scaled and translated to match the first (`align_layout`). Raises InputError if fewer
    than three words are shared.
    """
    shared = [word for word in a.words if word in b]
    if len(shared) < 3:
        raise InputError(
            f"{a.name} and {b.name} share {len(shared)} words: a projection of both needs at"
            " least 3.",
            code="too-few-tokens",
        )
    first = project(a.take(a.rows(shared)), settings, part(progress, 0.0, 0.5, a.name))
    second = project(b.take(b.rows(shared)), settings, part(progress, 0.5, 1.0, b.name), first.xy)
    return first, replace(second, xy=align_layout(first.xy, second.xy))


def align_layout(fixed: Matrix, moved: Matrix) -> Matrix:
    """Align `moved` (n, 2) to `fixed` (n, 2) by Procrustes analysis (Schönemann 1966).

    Scales to the same variance: least squares would shrink unrelated layouts to a dot.
    """
    x = fixed - fixed.mean(axis=0)
    y = moved - moved.mean(axis=0)
    u, _, v = np.linalg.svd(y.T.astype(np.float64) @ x)
    scale = np.sqrt(np.square(x, dtype=np.float64).sum() / np.square(y, dtype=np.float64).sum())
    return np.asarray(y @ (u @ v) * scale + fixed.mean(axis=0), dtype=np.float32)


def measure_movement(a: Projection, b: Projection) -> Matrix:
    """Return the distance of each word to itself in two aligned projections (n,) float32.

    The unit is the root mean square distance from the center in the first. This describes the
    picture only: `measure_neighborhood_change` measures change in the original spaces.
    """
    spread = np.sqrt(np.square(a.xy - a.xy.mean(axis=0)).sum(axis=1).mean())
    return np.asarray(np.linalg.norm(b.xy - a.xy, axis=1) / spread, dtype=np.float32)


def estimate_projection_seconds(n: int, dim: int, settings: ProjectionSettings) -> float:
    """Estimate the seconds of a projection of n rows on two idle cores.

    Interpolates measurements on one machine, dimension 768: t-SNE by FFT, 750 iterations: 5.7, 6.8,
    9.5 and 24.8 s at 2 000, 4 000, 8 000 and 30 522 rows; UMAP 2.8, 7.4 and 27.6 s of processor
    time at 20, 4 200 and 30 000 rows (about 15 s more the first time, when it is compiled). A busy
    machine takes longer.
    """
    if settings.method == "pca":
        return 0.05 + 3e-8 * n * dim
    if settings.method == "umap":
        return 3 + 1e-3 * n
    if n <= FFT_FROM:  # Barnes-Hut
        return 0.3 + 3.9e-6 * n * count_iterations(settings)
    return 1 + (3.5 + 6.7e-4 * n) / 750 * count_iterations(settings)
