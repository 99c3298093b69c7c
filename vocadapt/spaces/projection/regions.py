"""The regions of a map: the layout cut into clusters, each named by a few of its words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import Matrix


@dataclass(frozen=True)
class Region:
    """A cluster of the layout: its words for people, its center in the plane, how many tokens it
    holds.
    """

    words: tuple[str, ...]
    x: float
    y: float
    size: int

    @property
    def label(self) -> str:
        """Its words in a row."""
        return " · ".join(self.words)


@dataclass(frozen=True, eq=False)
class Regions:
    """The region of each token (n,), and the regions by number, the largest first."""

    of: NDArray[np.int32]
    regions: tuple[Region, ...]

    def labels_in(self, xy: Matrix) -> list[tuple[float, float, str]]:
        """Where the tokens of each region lie in any layout of them (n, 2): (x, y, label)."""
        places = (
            np.median(xy[self.of == number], axis=0).tolist() for number in range(len(self.regions))
        )
        return [(x, y, region.label) for (x, y), region in zip(places, self.regions, strict=True)]


def choose_region_count(n: int) -> int:
    """How many regions a map of n tokens is cut into where nobody says."""
    return int(np.clip(round(np.sqrt(n) / 5), 2, 24))


def find_regions(
    words: tuple[str, ...],
    xy: Matrix,
    count: int = 0,
    counts: NDArray[np.int64] | None = None,
    named_by: int = 3,
    seed: int = 1,
) -> Regions:
    """Cut a layout (n, 2) into `count` regions (0: by n) with k-means, and name each by `named_by`
    words.

    The words are taken from the third of a region that lies nearest to its center: the most
    frequent where `counts` (n,) are known, else the nearest. The same seed gives the same regions.
    """
    from sklearn.cluster import KMeans

    distinct = len(np.unique(xy, axis=0))
    count = min(count or choose_region_count(len(xy)), distinct)
    fitted = KMeans(count, n_init=4, random_state=seed).fit(xy)
    by_size = np.argsort(-np.bincount(fitted.labels_, minlength=count), kind="stable")
    place = np.empty(count, dtype=np.int32)
    place[by_size] = np.arange(count)
    regions = tuple(
        _region(words, xy, np.flatnonzero(fitted.labels_ == i), counts, named_by) for i in by_size
    )
    return Regions(place[fitted.labels_], regions)


def _region(
    words: tuple[str, ...],
    xy: Matrix,
    rows: NDArray[np.int64],
    counts: NDArray[np.int64] | None,
    named_by: int,
) -> Region:
    center = np.median(xy[rows], axis=0)
    near = rows[np.argsort(np.square(xy[rows] - center).sum(axis=1), kind="stable")]
    if counts is not None:
        core = near[: max(len(near) // 3, named_by)]
        near = core[np.argsort(-counts[core], kind="stable")]
    return Region(
        tuple(words[row] for row in near[:named_by]), float(center[0]), float(center[1]), len(rows)
    )
