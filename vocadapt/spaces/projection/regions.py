"""Regions of a projection: clusters of its points, each named by a few of its words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import IntArray, Matrix

NAMED_BY = 3  # words


@dataclass(frozen=True)
class Region:
    """A cluster of points: the words that name it, its center, and its number of tokens."""

    words: tuple[str, ...]
    x: float
    y: float
    size: int

    @property
    def label(self) -> str:
        """The words as one label."""
        return " · ".join(self.words)


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions by number, largest first; `numbers` (n,) int32: the region number of each token."""

    numbers: NDArray[np.int32]
    regions: tuple[Region, ...]

    def labels_in(self, xy: Matrix) -> list[tuple[float, float, str]]:
        """Return (x, y, label) of each region in any layout (n, 2) of the same tokens."""
        labels = []
        for number, region in enumerate(self.regions):
            x, y = np.median(xy[self.numbers == number], axis=0).tolist()
            labels.append((x, y, region.label))
        return labels


def choose_region_count(n: int) -> int:
    """Return the default number of regions for n tokens."""
    return int(np.clip(round(np.sqrt(n) / 5), 2, 24))


def find_regions(
    words: tuple[str, ...],
    xy: Matrix,
    count: int = 0,
    counts: IntArray | None = None,
    seed: int = 1,
) -> Regions:
    """Cluster a layout (n, 2) into `count` regions by k-means (0: chosen from n); name each.

    A region is named by NAMED_BY words from the third of its tokens that is nearest to its
    center: the most frequent if `counts` (n,) are known, else the nearest. The same seed gives the
    same regions.
    """
    from sklearn.cluster import KMeans

    distinct = len(np.unique(xy, axis=0))
    count = min(count or choose_region_count(len(xy)), distinct)
    fitted = KMeans(count, n_init=4, random_state=seed).fit(xy)
    by_size = np.argsort(-np.bincount(fitted.labels_, minlength=count), kind="stable")
    place = np.empty(count, dtype=np.int32)
    place[by_size] = np.arange(count)
    regions = tuple(
        _build_region(words, xy, np.flatnonzero(fitted.labels_ == i), counts) for i in by_size
    )
    return Regions(place[fitted.labels_], regions)


def _build_region(
    words: tuple[str, ...], xy: Matrix, rows: IntArray, counts: IntArray | None
) -> Region:
    center = np.median(xy[rows], axis=0)
    near = rows[np.argsort(np.square(xy[rows] - center).sum(axis=1), kind="stable")]
    if counts is not None:
        core = near[: max(len(near) // 3, NAMED_BY)]
        near = core[np.argsort(-counts[core], kind="stable")]
    named = tuple(words[row] for row in near[:NAMED_BY])
    return Region(named, float(center[0]), float(center[1]), len(rows))
