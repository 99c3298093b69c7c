"""UMAP, whose bar is read as progress: it has no other way to say how far it is, or to be stopped."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from typing import TYPE_CHECKING

import numpy as np

from vocadapt.progress import Progress, silent

if TYPE_CHECKING:
    from vocadapt.spaces.projectors import ProjectionSettings
    from vocadapt.spaces.space import Matrix

SPAN = 10.0  # half the width that UMAP's own starts have


def umap_of(rows: "Matrix", settings: "ProjectionSettings", start: "Matrix | None", progress: Progress = silent) -> "Matrix":
    """Coordinates (n, 2); a `start` (n, 2) of spread 1 is where they begin, else UMAP's own spectral start.

    One thread, for with several the same seed would not give the same coordinates.
    """
    progress(0.0, "loading UMAP")
    from umap import UMAP

    layout = UMAP(
        n_neighbors=settings.neighbours, min_dist=settings.min_dist, n_epochs=settings.iterations or None,
        init="spectral" if start is None else start * SPAN / np.abs(start).max(), metric="euclidean",
        random_state=settings.seed, n_jobs=1, tqdm_kwds={"file": _Bar(progress), "disable": False, "mininterval": 0},
    )  # fmt: skip
    with warnings.catch_warnings(), _no_lock_kept():
        warnings.simplefilter("ignore")
        found: Matrix = np.asarray(layout.fit_transform(rows), dtype=np.float32)
    return found


@contextmanager
def _no_lock_kept() -> Iterator[None]:
    """Give tqdm's lock back where a bar's drawing raised: tqdm does not, and another thread's next bar would wait for ever."""
    from tqdm.auto import tqdm

    try:
        yield
    except BaseException:
        with suppress(RuntimeError, AssertionError):  # where it is not held any more
            tqdm.get_lock().release()  # type: ignore[no-untyped-call]
        raise


class _Bar(TextIOBase):
    """The file that UMAP's bar is written to."""

    percent = re.compile(r"(\d+)%")

    def __init__(self, progress: Progress) -> None:
        self.progress, self.last = progress, 0

    def write(self, text: str) -> int:
        found = self.percent.search(text)
        if found and int(found[1]) > self.last:
            self.last = int(found[1])  # also where this raises: the bar writes once more when it is closed
            self.progress(0.3 + 0.7 * self.last / 100, f"{self.last} % of the epochs")
        return len(text)
