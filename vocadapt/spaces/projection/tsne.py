"""t-SNE by two engines: scikit-learn (Barnes-Hut) for small maps, openTSNE (interpolation by FFT)
for large ones.

Both find exact neighbors, start from the same coordinates, and report and stop every 50
iterations.
"""

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import TextIOBase
from typing import TYPE_CHECKING

import numpy as np

from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.projection.exact_neighbors import find_exact_neighbors

if TYPE_CHECKING:
    from vocadapt.spaces.projection.methods import ProjectionSettings
    from vocadapt.spaces.space import Matrix

# Rows above which openTSNE is taken. Its share of scikit-learn's time (benchmarks/maps.py, MiniLM's
# rows twice side by side, 750 iterations, a quiet machine of two cores): .91 at 2 000 rows, .61 at
# 4 000, .40 at 8 000, .18 at 30 522 (24.8 s for 138.9 s).
CROSS_OVER = 2000
ITERATIONS = 750
EARLY = 250  # iterations with exaggeration: fixed in scikit-learn
EVERY = 50
# cells of the grid are so wide: half the time of 1 at 30 522 rows, trustworthiness .9264 for .9263
GRID = 2
START = 1e-4  # spread of the first coordinates where nothing is known, of both engines


def engine_for(n: int, engine: str = "auto") -> str:
    """The engine that lays n rows out."""
    return ("openTSNE" if n > CROSS_OVER else "scikit-learn") if engine == "auto" else engine


def count_iterations(settings: "ProjectionSettings") -> int:
    """The iterations in all; scikit-learn takes no fewer than 250."""
    return max(settings.iterations or ITERATIONS, EARLY)


def tsne_with(
    rows: "Matrix", settings: "ProjectionSettings", start: "Matrix", progress: Progress = silent
) -> "tuple[Matrix, str]":
    """Coordinates (n, 2) and the name of the engine; `start` (n, 2): where they begin."""
    name = engine_for(len(rows), settings.engine)
    xy = ENGINES[name](rows, settings, start.astype(np.float32), progress)
    return np.ascontiguousarray(xy, dtype=np.float32), name


def _scikit_learn(
    rows: "Matrix", settings: "ProjectionSettings", start: "Matrix", progress: Progress
) -> "Matrix":
    from sklearn.manifold import TSNE

    iterations = count_iterations(settings)
    layout = TSNE(
        perplexity=settings.perplexity,
        early_exaggeration=settings.exaggeration,
        max_iter=iterations,
        init=start,
        learning_rate=settings.learning_rate or "auto",
        random_state=settings.seed,
        verbose=2,
        method="barnes_hut",
    )
    with redirect_stdout(_Told(iterations, progress)):
        found: Matrix = layout.fit_transform(rows)
    return found


class _Told(TextIOBase):
    """What scikit-learn prints, as progress: it has no other way to say how far it is, or to be
    stopped.
    """

    line = re.compile(r"\[t-SNE\] Iteration (\d+):")

    def __init__(self, iterations: int, progress: Progress) -> None:
        self.iterations, self.progress, self.outside = iterations, progress, sys.stdout

    def write(self, text: str) -> int:
        if found := self.line.match(text):
            with redirect_stdout(self.outside):
                self.progress(
                    min(int(found[1]) / self.iterations, 1.0),
                    f"iteration {found[1]} of {self.iterations}",
                )
        return len(text)


def _open_tsne(
    rows: "Matrix", settings: "ProjectionSettings", start: "Matrix", progress: Progress
) -> "Matrix":
    from openTSNE import TSNE, affinity, nearest_neighbors

    progress(0.0, "nearest neighbors of every token")
    k = min(len(rows) - 1, int(3 * settings.perplexity))
    neighbors, distances = find_exact_neighbors(rows, k, part(progress, 0.0, 0.1))
    index = nearest_neighbors.PrecomputedNeighbors(neighbors, distances)
    near = affinity.PerplexityBasedNN(perplexity=settings.perplexity, knn_index=index, n_jobs=-1)
    iterations, told = count_iterations(settings), part(progress, 0.1, 1.0)
    done = iter(range(EVERY, iterations + EVERY, EVERY))

    def report(iteration: int, error: float, embedding: object) -> None:
        at = next(done, iterations)
        told(at / iterations, f"iteration {at} of {iterations}")

    layout = TSNE(
        perplexity=settings.perplexity,
        early_exaggeration=settings.exaggeration,
        early_exaggeration_iter=EARLY,
        n_iter=iterations - EARLY,
        initialization=start,
        learning_rate=4 * settings.learning_rate or "auto",
        negative_gradient_method="fft",
        ints_in_interval=GRID,
        n_jobs=-1,
        random_state=settings.seed,
        callbacks=report,
        callbacks_every_iters=EVERY,
    )
    found: Matrix = np.asarray(layout.fit(affinities=near, initialization=start.astype(np.float64)))
    return found


ENGINES: "dict[str, Callable[[Matrix, ProjectionSettings, Matrix, Progress], Matrix]]" = {
    "scikit-learn": _scikit_learn,
    "openTSNE": _open_tsne,
}
