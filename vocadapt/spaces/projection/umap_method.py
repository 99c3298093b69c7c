"""UMAP with progress and cancellation, by way of its progress bar, the only hook it has.

umap-learn compiles its loops with numba, its approximate neighbor search alone for up to a minute.
We pass exact neighbors, so that this search is not compiled, and cache the other three functions
(about ten seconds) on disk: they are compiled once per machine.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from pathlib import Path

import numpy as np

from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.projection.exact_neighbors import find_exact_neighbors
from vocadapt.spaces.projection.settings import ProjectionSettings
from vocadapt.spaces.space import FloatArray, IntArray, Matrix

SPAN = 10.0  # half the width that UMAP's own starts have
# rows below which a layout begins at the principal components: UMAP's spectral start fails on
# graphs of three nodes
MIN_SPECTRAL_ROWS = 16
COMPILING = "compiling UMAP: once on this machine, about 15 s"


def fit_umap(
    rows: Matrix,
    settings: ProjectionSettings,
    start: "Matrix | None",
    progress: Progress = silent,
) -> Matrix:
    """Lay rows (n, dim) float32 out in the plane; return coordinates (n, 2) float32.

    start: initial coordinates (n, 2) of standard deviation 1; None: UMAP's spectral initialization.
    Single thread: with several, the same seed would not give the same coordinates.
    """
    progress(0.0, "loading UMAP")
    from umap import UMAP

    table = _with_itself(
        *find_exact_neighbors(rows, settings.neighbors - 1, part(progress, 0.05, 0.2))
    )
    compiled = _keep_compiled()
    progress(0.2, "building the graph and its spectral start" if compiled else COMPILING)
    layout = UMAP(
        n_neighbors=settings.neighbors,
        min_dist=settings.min_dist,
        n_epochs=settings.iterations or None,
        init="spectral" if start is None else start * SPAN / np.abs(start).max(),
        metric="euclidean",
        precomputed_knn=table,
        force_approximation_algorithm=True,  # use our neighbors for small data, too
        random_state=settings.seed,
        n_jobs=1,
        tqdm_kwds={"file": _Bar(progress), "disable": False, "mininterval": 0},
    )
    with warnings.catch_warnings(), _no_lock_kept():
        warnings.simplefilter("ignore")
        found: Matrix = np.asarray(layout.fit_transform(rows), dtype=np.float32)
    return found


def _with_itself(indices: IntArray, distances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the neighbor table in UMAP's form: each row is its own first neighbor, at distance
    0.
    """
    itself = np.arange(len(indices))[:, None]
    return np.hstack([itself, indices]), np.hstack([np.zeros((len(indices), 1)), distances])


def _keep_compiled() -> bool:
    """Enable numba's disk cache for UMAP's functions; return whether they were compiled before.

    If no folder is writable, they are compiled each time.
    """
    from umap import layouts, umap_

    slow = (
        umap_.smooth_knn_dist,
        umap_.compute_membership_strengths,
        layouts._nb_optimize_layout_euclidean_single_epoch,
    )
    for function in slow:
        if function.nopython_signatures:  # compiled in this process
            return True
        try:
            function.enable_caching()
        except RuntimeError:  # numba found no writable folder
            return False
    return all(
        any(Path(function.stats.cache_path).glob(f"*.{function.__name__}-*.nbi"))
        for function in slow
    )


@contextmanager
def _no_lock_kept() -> Iterator[None]:
    """Release tqdm's lock if drawing a bar raised.

    tqdm does not release it, and the next bar of another thread would wait forever.
    """
    from tqdm.auto import tqdm

    try:
        yield
    except BaseException:
        with suppress(RuntimeError, AssertionError):  # if it is not held any more
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
            # Set before the call, which may raise: the bar writes once more when it is closed.
            self.last = int(found[1])
            self.progress(0.3 + 0.7 * self.last / 100, f"{self.last} % of the epochs")
        return len(text)
