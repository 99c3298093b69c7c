"""Quality of an alignment by cross-validation, and comparison of alignments on the same folds.

1. Split the anchors (shared words) into folds.
2. Fit on all folds but one; map the held-out words.
3. Rank all wordpieces by similarity to each mapped word; its own wordpiece is the correct answer.

The results are the cosine to the own wordpiece, the norm relative to it, and P@k: the fraction of
words whose own wordpiece is among the k nearest. The candidates are the anchors' wordpieces or all
wordpieces, ranked by cosine or by CSLS. Similarities are computed in the prepared target space
(centered by the means of the training anchors).

CSLS uses the hubness of a wordpiece among all mapped anchors, like the neighbor lists. These
include the training anchors: with the held-out words alone, P@k by CSLS is .02 to .06 lower, most
for kernel ridge. The residual of the fit is not reported, because it decreases if there is too
little text.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.alignment.alignment import fit_on_anchors
from vocadapt.spaces.alignment.anchors import AnchorFilter, Anchors, find_anchors
from vocadapt.spaces.alignment.evaluation import (
    BETTER,
    CHANCE,
    CandidateScores,
    EvaluatedAlignment,
    FoldComparison,
    HeldOutScores,
    LengthScores,
    RankingScores,
    StackedScores,
)
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings, rank_method
from vocadapt.spaces.neighbors.search import compute_neighbor_cosines, iterate_blocks
from vocadapt.spaces.space import (
    BoolArray,
    EmbeddingSpace,
    FloatArray,
    IntArray,
    Matrix,
    normalize_rows,
)
from vocadapt.text.summary import Summarized, Summary, Table

RANKINGS = ("anchors", "pieces", "csls anchors", "csls pieces")
ALL = AnchorFilter()  # excludes no anchor
# P@5 by CSLS selects the best alignment: it varies less than P@1 and is not dominated by hubs.
RANKING = "csls anchors"
HITS = (1, 5, 10)
CHANCE_P = 0.001  # p-value above which an alignment is not better than chance


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutQuality(Summarized):
    """The held-out results of one alignment, per anchor: of all of them, or of one fold.

    fold: (n,) int64, the fold in which the anchor was held out. cosine: (n,) float32, between the
    mapped word and its own wordpiece; random_cosine: (n,) float32, between the mapped word and
    another anchor's wordpiece. length: (n,) float32, the norm of the embedding that the mapped word
    would get, divided by the norm of its own wordpiece. ranks: for each ranking ("anchors",
    "pieces", "csls anchors", "csls pieces") an (n,) int64 array: the number of candidates nearer
    than the own wordpiece. candidates: the number of candidates of each ranking.
    """

    settings: AlignmentSettings
    anchors: Anchors
    fold: IntArray
    cosine: Matrix
    random_cosine: Matrix
    length: Matrix
    ranks: Mapping[str, IntArray]
    candidates: Mapping[str, int]
    seconds: float

    def summarize(self) -> Summary:
        """Return P@k by ranking, the chance level and the verdict."""
        facts = {
            "anchors": len(self.anchors),
            "folds": self.folds,
            "cosine": float(self.cosines.mean()),
            "verdict": self.verdict,
        }
        rows = [
            (name, *(self.precision(k, name) for k in HITS), self.chance(5, name), n)
            for name, n in self.candidates.items()
        ]
        columns = ("ranking", *(f"P@{k}" for k in HITS), "chance@5", "candidates")
        return Summary(self.settings.method, facts, (Table(columns, rows, len(rows), "rankings"),))

    @cached_property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    def hits(self, k: int, ranking: str = "anchors") -> FloatArray:
        """P@k of each fold (folds,)."""
        return self._by_fold(self.ranks[ranking] < k)

    def precision(self, k: int, ranking: str = "anchors") -> float:
        """P@k: the mean over the folds."""
        return float(self.hits(k, ranking).mean())

    def chance(self, k: int, ranking: str = "anchors") -> float:
        """P@k of a random guess."""
        return min(1.0, k / self.candidates[ranking])

    @property
    def cosines(self) -> FloatArray:
        """Mean cosine of each fold (folds,)."""
        return self._by_fold(self.cosine)

    @property
    def verdict(self) -> str:
        """Either CHANCE or BETTER, by a binomial test of P@5.

        CHANCE if random guesses reach at least as many hits with a probability above .001.
        """
        from scipy.special import bdtrc

        hits = int((self.ranks["anchors"] < 5).sum())
        n = len(self.anchors)
        if hits == 0 or bdtrc(hits - 1, n, self.chance(5)) > CHANCE_P:
            return CHANCE
        return BETTER

    @property
    def scores(self) -> HeldOutScores:
        """The means over the folds."""
        return HeldOutScores(
            **vars(self._compute_candidate_scores("")),
            cosine=float(self.cosines.mean()),
            csls=self._compute_candidate_scores("csls "),
            folds=self.folds,
            verdict=self.verdict,
            words=len(self.anchors),
            length=LengthScores(
                float(np.median(self.length)), float(np.abs(self.length - 1).mean())
            ),
        )

    def _compute_candidate_scores(self, prefix: str) -> CandidateScores:
        """Return the scores by cosine ("") or by CSLS ("csls ")."""
        anchors, pieces = (
            RankingScores(
                self.precision(1, ranking),
                self.precision(5, ranking),
                self.precision(10, ranking),
                self.chance(5, ranking),
                self.candidates[ranking],
            )
            for ranking in (f"{prefix}anchors", f"{prefix}pieces")
        )
        return CandidateScores(**vars(anchors), all_pieces=pieces)

    def _by_fold(self, values: NDArray[np.generic]) -> FloatArray:
        """Return the mean of the values (n,) in each fold (folds,) float64."""
        sums = np.bincount(self.fold, weights=values.astype(np.float64))
        return np.asarray(sums / np.bincount(self.fold))


def cross_validate(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings | None = None,
    folds: int = 10,
    seed: int = 1,
    progress: Progress = silent,
) -> HeldOutQuality:
    """Evaluate an alignment by k-fold cross-validation over the anchors.

    The folds depend only on `seed` and the number of anchors. Raises InputError for fewer than two
    folds, fewer anchors than folds, and if the alignment cannot be fitted.
    """
    # 1. Assign the anchors to folds.
    start = time.perf_counter()
    settings = settings or AlignmentSettings()
    anchors = find_anchors(source, target, settings.anchors)
    n = len(anchors)
    fold = assign_folds(n, folds, seed)

    # 2. Evaluate each fold; store its results at the positions of its held-out anchors.
    cosine, random_cosine, length = np.empty((3, n), dtype=np.float32)
    sizes = dict(zip(RANKINGS, 2 * (n, len(target)), strict=True))
    ranks = {ranking: np.empty(n, dtype=np.int64) for ranking in RANKINGS}
    for i in range(folds):
        fold_progress = part(
            progress, i / folds, (i + 1) / folds, f"{settings.method}, fold {i + 1} of {folds}"
        )
        test = fold == i
        cosine[test], random_cosine[test], length[test], ranks_of_fold = evaluate_split(
            anchors, test, source, target, settings, fold_progress
        )
        for ranking, values in ranks_of_fold.items():
            ranks[ranking][test] = values
    progress(1.0, "evaluated")
    seconds = time.perf_counter() - start
    return HeldOutQuality(
        settings, anchors, fold, cosine, random_cosine, length, ranks, sizes, seconds
    )


def assign_folds(n: int, folds: int, seed: int) -> IntArray:
    """Return a random fold for each of n anchors (n,) int64; sizes differ by at most one."""
    if folds < 2 or n < folds:
        raise InputError(
            f"Cross-validation needs at least two folds and an anchor for each fold, got {folds}"
            f" folds and {n} anchors.",
            code="too-few-folds",
        )
    return np.random.default_rng(seed).permutation(n) % folds


def evaluate_split(
    anchors: Anchors,
    test: BoolArray,
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings,
    progress: Progress = silent,
) -> tuple[Matrix, Matrix, Matrix, dict[str, IntArray]]:
    """Fit on the training anchors; return cosines, random cosines, relative norms and ranks of the
    test anchors.

    test: (n,) bool, the anchors of the held-out fold.
    """
    # 1. Fit on the other folds.
    progress(0.0, "fitting")
    alignment = fit_on_anchors(select_anchors(anchors, ~test), source, target, settings)

    # 2. Map all anchors (CSLS needs the training anchors too) and prepare the wordpieces.
    progress(0.2, "comparing with every wordpiece")
    mapped = normalize_rows(alignment.map_source(source.matrix[anchors.source_rows]))
    pieces = normalize_rows(alignment.prepare_target(target.matrix))
    hubness = compute_neighbor_cosines(pieces, mapped, progress=part(progress, 0.2, 0.9))

    # 3. Compare each held-out word with its own wordpiece, with another anchor's, and with all.
    own = anchors.target_rows[test]
    cosine = np.einsum("ij,ij->i", mapped[test], pieces[own])
    random_cosine = np.einsum("ij,ij->i", mapped[test], pieces[np.roll(own, 1)])
    ranks = rank_own_pieces(mapped[test], pieces, hubness, own, anchors.target_rows)

    # 4. Compare the norm of the embedding with that of the own wordpiece.
    rows = anchors.source_rows[test]
    counts = None
    if source.counts is not None:
        counts = source.counts[rows]
    norms = np.linalg.norm(alignment.apply(source.matrix[rows], counts), axis=1)
    own_norms = np.linalg.norm(target.matrix[own], axis=1)
    length = np.divide(norms, own_norms, out=np.ones_like(norms), where=own_norms > 0)
    return cosine, random_cosine, length, ranks


def rank_own_pieces(
    queries: Matrix, pieces: Matrix, hubness: Matrix, own: IntArray, among: IntArray
) -> dict[str, IntArray]:
    """Count the candidates nearer to each query than its own wordpiece, by ranking (n,) int64.

    queries: (n, dim), pieces: (m, dim), unit vectors. hubness: (m,), hubness of the pieces. own:
    (n,), row of each query's piece. among: rows of the anchors' pieces.

    Example: similarities [.3 .9 .5], own piece 2 -> one candidate (.9) is nearer -> rank 1.
    """
    ranks = {ranking: np.empty(len(queries), dtype=np.int64) for ranking in RANKINGS}
    for rows in iterate_blocks(len(queries), len(pieces)):
        similarity = queries[rows] @ pieces.T
        for prefix, values in (("", similarity), ("csls ", similarity - hubness / 2)):
            nearer = values > values[np.arange(len(values)), own[rows]][:, None]
            ranks[f"{prefix}pieces"][rows] = nearer.sum(axis=1)
            ranks[f"{prefix}anchors"][rows] = nearer[:, among].sum(axis=1)
    return ranks


def select_anchors(anchors: Anchors, chosen: BoolArray) -> Anchors:
    """Return the anchors selected by the mask `chosen` (n,) bool."""
    words = tuple(word for word, take in zip(anchors.words, chosen, strict=True) if take)
    return Anchors(words, anchors.source_rows[chosen], anchors.target_rows[chosen])


def list_alignment_settings(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    anchors: AnchorFilter = ALL,
    iterative: bool = True,
) -> tuple[AlignmentSettings, ...]:
    """Return the settings of all alignments, without and with normalizing and centering.

    The default of Poerner et al. 2020 comes first. iterative: include slow methods.
    """
    names = [name for name, method in METHODS.items() if iterative or not method.iterative]
    if source.dim != target.dim:
        names = [name for name in names if not METHODS[name].equal_dimensions]
    plain = [AlignmentSettings(method=name, anchors=anchors) for name in names]
    varied = [settings for settings in plain if not METHODS[settings.method].baseline]
    return (*plain, *(replace(settings, unit=True, center=True) for settings in varied))


def find_infeasible_methods(
    source: EmbeddingSpace, target: EmbeddingSpace, anchors: int, folds: int = 0
) -> dict[str, str]:
    """Return the methods that cannot be fitted on this many anchors, each with the reason.

    folds: number of cross-validation folds (0: fit on all anchors); the largest fold is held out.
    """
    # 1. The number of anchors in the training folds.
    fitted = anchors
    given = f"{anchors:,} anchors"
    if folds > 0:
        fitted -= math.ceil(anchors / folds)
        given = f"{fitted:,} of {anchors:,} anchors to fit on in each of {folds} folds,"

    # 2. Some methods need an anchor for each dimension, others need spaces of equal dimensions.
    reasons: dict[str, str] = {}
    if fitted < source.dim:
        few = f"{given} for {source.dim} dimensions"
        reasons = {name: few for name, method in METHODS.items() if method.full}
    if source.dim != target.dim:
        unequal = f"the vectors have {source.dim} dimensions, the model {target.dim}"
        reasons |= {name: unequal for name, method in METHODS.items() if method.equal_dimensions}
    return reasons


def list_feasible_alignments(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    folds: int = 10,
    anchors: AnchorFilter = ALL,
    iterative: bool = False,
) -> tuple[AlignmentSettings, ...]:
    """Return the settings of all alignments that can be cross-validated on these anchors.

    iterative: include the methods that take minutes.
    """
    n_anchors = len(find_anchors(source, target, anchors))
    infeasible = find_infeasible_methods(source, target, n_anchors, folds)
    return tuple(
        settings
        for settings in list_alignment_settings(source, target, anchors, iterative)
        if settings.method not in infeasible
    )


def compare_alignments(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    alignments: Sequence[AlignmentSettings] = (),
    folds: int = 10,
    progress: Progress = silent,
) -> tuple[HeldOutQuality, ...]:
    """Cross-validate each of `alignments` (default: all feasible ones) on the same folds."""
    alignments = alignments or list_feasible_alignments(source, target, folds)
    results = []
    for i, settings in enumerate(alignments):
        report = part(progress, i / len(alignments), (i + 1) / len(alignments))
        results.append(cross_validate(source, target, settings, folds, progress=report))
    return tuple(results)


def select_best_alignment(evaluated: Sequence[HeldOutQuality]) -> HeldOutQuality:
    """Return the alignment with the highest held-out P@5; a baseline only if there is no other."""
    return max(
        evaluated,
        key=lambda result: rank_method(result.settings.method, result.precision(5, RANKING)),
    )


def tabulate_alignments(
    judged: Sequence[HeldOutQuality], stacked: StackedScores | None = None
) -> tuple[EvaluatedAlignment, ...]:
    """Return the scores of alignments, the best one marked, each compared with the first.

    stacked: scores of stacked embeddings, beside those of the first.
    """
    winner = select_best_alignment(judged)
    rows = []
    for result in judged:
        is_first = result is judged[0]
        rows.append(
            EvaluatedAlignment(
                result.settings.method,
                result.candidates["anchors"],
                replace(result.scores, stacked=stacked if is_first else None),
                result.seconds,
                result.settings,
                len(result.anchors.never_produced),
                result is winner,
                None if is_first else compare_fold_by_fold(result, judged[0]),
            )
        )
    return tuple(rows)


def compare_fold_by_fold(one: HeldOutQuality, other: HeldOutQuality) -> FoldComparison:
    """Compare P@5 of two alignments fold by fold, or word by word if there is one fold; raises
    InputError if their folds differ.

    Folds share training data, so their differences are not independent: the variance of their mean
    is sd² · (1/folds + test/train), and a test fold is 1/(folds − 1) of its training data.
    """
    from scipy.special import stdtr

    if one.anchors.words != other.anchors.words or (one.fold != other.fold).any():
        raise InputError(
            "A paired comparison needs two alignments evaluated on the same anchors and folds.",
            code="unlike-folds",
        )
    if one.folds == 1:
        return _compare_word_by_word(one.ranks[RANKING] < 5, other.ranks[RANKING] < 5)
    difference = one.hits(5, RANKING) - other.hits(5, RANKING)
    folds = len(difference)
    mean = float(difference.mean())
    sd = float(difference.std(ddof=1))
    error = sd * (1 / folds + 1 / (folds - 1)) ** 0.5
    # Without variation the test is undefined: p is 1 for equal alignments, else 0.
    p = float(mean == 0)
    if error:
        p = float(2 * stdtr(folds - 1, -abs(mean) / error))
    return FoldComparison(mean, sd, int((difference > 0).sum()), folds, p)


def _compare_word_by_word(one: BoolArray, other: BoolArray) -> FoldComparison:
    """Compare which words of one fold two alignments find, (n,) bool each, by a paired test."""
    from scipy.special import ndtr

    difference = one.astype(np.float64) - other
    mean = float(difference.mean())
    sd = float(difference.std())
    p = 1.0
    if sd:
        p = float(2 * ndtr(-abs(mean) / (sd / len(difference) ** 0.5)))
    return FoldComparison(mean, sd, int(mean > 0), 1, p)
