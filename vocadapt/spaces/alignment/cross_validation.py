"""How good a map is, told by anchors it was not fitted on.

The anchors are dealt into folds; each fold is mapped by the map fitted on the others, and each of
its words looks for its own wordpiece. Reported: the cosine to it, and P@k, the share that finds it
among its k nearest, among the wordpieces of all anchors and among all wordpieces, by cosine and by
CSLS. All similarities are read where the map was fitted (after unit length and centering, by the
means of the training anchors, where the settings ask for these). CSLS takes the hubness of a
wordpiece among all mapped anchors, as the neighbor lists do; the training anchors among them help
(a wordpiece that has its word already is taken down): CSLS over the judged words alone reads .02 to
.06 lower, most for kernel maps. The residual of the fit is not
reported: it falls when there is too little text.
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.alignment.alignment import AlignmentSettings, fit_on_anchors
from vocadapt.spaces.alignment.anchors import Anchors, find_anchors
from vocadapt.spaces.neighbors.search import compute_hubness, iterate_blocks
from vocadapt.spaces.space import EmbeddingSpace, Matrix, normalize_rows

HITS = (1, 5, 10)
CHANCE_P = 0.001  # above this probability of so many hits by luck, the map is called chance

Ranks = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldOutQuality:
    """The held-out result of one map: one line per anchor, everything else is read off it.

    `fold` (n,) is the fold that judged the anchor; `cosine` (n,) that of its mapped row to its own
    wordpiece, `random_cosine` (n,) to another anchor's; `ranks` (n,) per reading ("anchors",
    "pieces", "csls anchors", "csls pieces"): how many candidates lie nearer than its own.
    `candidates` are the sizes of the candidate sets.
    """

    settings: AlignmentSettings
    anchors: Anchors
    fold: NDArray[np.int64]
    cosine: Matrix
    random_cosine: Matrix
    ranks: Mapping[str, Ranks]
    candidates: Mapping[str, int]
    seconds: float

    @cached_property
    def folds(self) -> int:
        """How many folds there were."""
        return int(self.fold.max()) + 1

    def hits(self, k: int, reading: str = "anchors") -> NDArray[np.float64]:
        """P@k of each fold (folds,)."""
        return self._by_fold(self.ranks[reading] < k)

    def precision(self, k: int, reading: str = "anchors") -> float:
        """P@k: the mean over the folds."""
        return float(self.hits(k, reading).mean())

    def chance(self, k: int, reading: str = "anchors") -> float:
        """P@k of a map that knows nothing: k of the candidates."""
        return min(1.0, k / self.candidates[reading])

    @property
    def cosines(self) -> NDArray[np.float64]:
        """Mean cosine of each fold (folds,)."""
        return self._by_fold(self.cosine)

    @property
    def verdict(self) -> str:
        """Either "chance" or "better than chance".

        It is chance when luck alone (each anchor hits with probability chance@5, independently:
        binomial) gives as many anchors with their own wordpiece among the five nearest with a
        probability over .001.
        """
        from scipy.special import bdtrc

        hits, n = int((self.ranks["anchors"] < 5).sum()), len(self.anchors)
        luck = 1.0 if hits == 0 else float(bdtrc(hits - 1, n, self.chance(5)))
        return "chance" if luck > CHANCE_P else "better than chance"

    def worst(self, n: int = 20) -> list[tuple[str, float]]:
        """The n words that land farthest from their own wordpiece, with the cosine to it, worst
        first.
        """
        order = np.argsort(self.cosine, kind="stable")[:n]
        return [(self.anchors.words[i], float(self.cosine[i])) for i in order]

    def as_json(self) -> dict[str, object]:
        """The answer of `vocadapt align --json`."""
        quality = {
            "cosine": float(self.cosines.mean()),
            **self._reading("anchors"),
            "all_pieces": self._reading("pieces"),
        }
        csls = {**self._reading("csls anchors"), "all_pieces": self._reading("csls pieces")}
        facts = {"folds": self.folds, "verdict": self.verdict}
        return {
            "method": self.settings.method,
            "anchors": len(self.anchors),
            "held_out": {**quality, "csls": csls, **facts},
            "seconds": self.seconds,
        }

    def _reading(self, reading: str) -> dict[str, float]:
        return {
            **{f"p@{k}": self.precision(k, reading) for k in HITS},
            "chance@5": self.chance(5, reading),
            "candidates": self.candidates[reading],
        }

    def _by_fold(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        sums = np.bincount(self.fold, weights=values.astype(np.float64))
        return np.asarray(sums / np.bincount(self.fold))


def cross_validate(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings | None = None,
    folds: int = 10,
    seed: int = 1,
    exclude: Collection[str] = (),
    progress: Progress = silent,
) -> HeldOutQuality:
    """Judge a map by k-fold cross-validation over the anchors; the split depends on `seed` and the
    number of anchors only.

    Raises InputError for fewer than two folds, fewer anchors than folds, and where the map cannot
    be fitted.
    """
    start = time.perf_counter()
    settings = settings or AlignmentSettings()
    anchors = find_anchors(source, target, settings.anchors, exclude)
    fold = assign_folds(len(anchors), folds, seed)
    shares = [
        part(progress, i / folds, (i + 1) / folds, f"{settings.method}, fold {i + 1} of {folds}")
        for i in range(folds)
    ]
    lines = [
        _judge(anchors, fold == i, source, target, settings, share)
        for i, share in enumerate(shares)
    ]
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    cosine, random_cosine = (np.concatenate([line[i] for line in lines])[order] for i in (0, 1))
    ranks = {
        reading: np.concatenate([line[2][reading] for line in lines])[order]
        for reading in lines[0][2]
    }
    sizes = {
        reading: len(anchors) if reading.endswith("anchors") else len(target) for reading in ranks
    }
    progress(1.0, "judged")
    return HeldOutQuality(
        settings, anchors, fold, cosine, random_cosine, ranks, sizes, time.perf_counter() - start
    )


def assign_folds(n: int, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each of n anchors (n,), dealt at random, sizes equal or off by one."""
    if folds < 2 or n < folds:
        raise InputError(
            f"Held-out quality needs two folds or more and an anchor for each, got {folds} folds"
            f" and {n} anchors."
        )
    return np.random.default_rng(seed).permutation(n) % folds


def _judge(
    anchors: Anchors,
    test: NDArray[np.bool_],
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings,
    progress: Progress,
) -> tuple[Matrix, Matrix, dict[str, Ranks]]:
    """Fit on the anchors that are not in the test fold; cosines and ranks of those that are."""
    progress(0.0, "fitting")
    alignment = fit_on_anchors(select_anchors(anchors, ~test), source, target, settings)
    progress(0.2, "comparing with every wordpiece")
    mapped = normalize_rows(alignment.map_source(source.matrix[anchors.source_rows]))
    pieces = normalize_rows(alignment.prepare_target(target.matrix))
    hubs = compute_hubness(pieces, mapped, progress=part(progress, 0.2, 0.9))
    own = anchors.target_rows[test]
    cosine = np.einsum("ij,ij->i", mapped[test], pieces[own])
    random_cosine = np.einsum("ij,ij->i", mapped[test], pieces[np.roll(own, 1)])
    return cosine, random_cosine, _ranks(mapped[test], pieces, hubs, own, anchors.target_rows)


def _ranks(
    queries: Matrix, pieces: Matrix, hubs: Matrix, own: Ranks, among: Ranks
) -> dict[str, Ranks]:
    """How many candidates lie nearer to each query than its own wordpiece, in the four readings."""
    ranks = {
        reading: np.empty(len(queries), dtype=np.int64)
        for reading in ("anchors", "pieces", "csls anchors", "csls pieces")
    }
    for rows in iterate_blocks(len(queries), len(pieces)):
        similarity = queries[rows] @ pieces.T
        for prefix, offset in (("", None), ("csls ", hubs / 2)):
            values = similarity if offset is None else similarity - offset
            nearer = values > values[np.arange(len(values)), own[rows]][:, None]
            ranks[f"{prefix}pieces"][rows] = nearer.sum(axis=1)
            ranks[f"{prefix}anchors"][rows] = nearer[:, among].sum(axis=1)
    return ranks


def select_anchors(anchors: Anchors, chosen: NDArray[np.bool_]) -> Anchors:
    """The anchors where `chosen` (n,) is true."""
    words = tuple(word for word, take in zip(anchors.words, chosen, strict=True) if take)
    return Anchors(words, anchors.source_rows[chosen], anchors.target_rows[chosen])
