"""Comparison of alignments on the same folds, with a test of their difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.alignment.anchors import AnchorFilter, find_anchors
from vocadapt.spaces.alignment.cross_validation import HeldOutQuality, cross_validate
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace

ALL = AnchorFilter()  # leaves no anchor out
# P@5 by CSLS selects the best alignment: it varies less than P@1, and hubs do not dominate.
RANKING = "csls anchors"


@dataclass(frozen=True)
class FoldComparison:
    """The difference of two alignments' P@k over the folds, with a paired t-test.

    The test is corrected for training data that folds share (Nadeau and Bengio 2003, Inference for
    the generalization error).
    """

    difference: float
    sd: float
    won: int
    folds: int
    p: float


def list_alignment_settings(
    source: EmbeddingSpace, target: EmbeddingSpace, anchors: AnchorFilter = ALL
) -> tuple[AlignmentSettings, ...]:
    """Return the settings of all alignments, without and with normalizing and centering.

    The default of Poerner et al. 2020 comes first.
    """
    names = list(METHODS)
    if source.dim != target.dim:
        names = [name for name, method in METHODS.items() if not method.equal_dimensions]
    plain = [AlignmentSettings(method=name, anchors=anchors) for name in names]
    varied = [settings for settings in plain if not METHODS[settings.method].baseline]
    return (*plain, *(replace(settings, unit=True, center=True) for settings in varied))


def find_infeasible_methods(
    source: EmbeddingSpace, target: EmbeddingSpace, anchors: int, folds: int = 0
) -> dict[str, str]:
    """Return the methods that cannot be fitted on this many anchors, each with the reason.

    folds: number of cross-validation folds (0: fit on all anchors); the largest fold is held out.
    """
    fitted, given = anchors, f"{anchors:,} anchors"
    if folds > 0:
        fitted -= math.ceil(anchors / folds)
        given = f"{fitted:,} of {anchors:,} anchors to fit on in each of {folds} folds,"
    reasons: dict[str, str] = {}
    if fitted < source.dim:
        few = f"{given} for {source.dim} dimensions"
        reasons = {name: few for name, method in METHODS.items() if method.full}
    if source.dim != target.dim:
        unequal = f"the vectors are {source.dim} wide, the model {target.dim}"
        reasons |= {name: unequal for name, method in METHODS.items() if method.equal_dimensions}
    return reasons


def list_feasible_alignments(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    folds: int = 10,
    anchors: AnchorFilter = ALL,
) -> tuple[AlignmentSettings, ...]:
    """Return the settings of all alignments that can be cross-validated on these anchors."""
    n_anchors = len(find_anchors(source, target, anchors))
    infeasible = find_infeasible_methods(source, target, n_anchors, folds)
    every = list_alignment_settings(source, target, anchors)
    return tuple(settings for settings in every if settings.method not in infeasible)


def compare_alignments(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    alignments: Sequence[AlignmentSettings] = (),
    folds: int = 10,
    seed: int = 1,
    progress: Progress = silent,
) -> tuple[HeldOutQuality, ...]:
    """Cross-validate each of `alignments` (default: all feasible ones) on the same folds."""
    alignments = alignments or list_feasible_alignments(source, target, folds)
    results = []
    for i, settings in enumerate(alignments):
        share = part(progress, i / len(alignments), (i + 1) / len(alignments))
        results.append(cross_validate(source, target, settings, folds, seed, share))
    return tuple(results)


def select_best_alignment(
    evaluated: Sequence[HeldOutQuality], k: int = 5, ranking: str = RANKING
) -> HeldOutQuality:
    """Return the alignment with the highest held-out P@k."""
    return max(evaluated, key=lambda result: result.precision(k, ranking))


def compare_fold_by_fold(
    one: HeldOutQuality, other: HeldOutQuality, k: int = 5, ranking: str = RANKING
) -> FoldComparison:
    """Compare two alignments fold by fold; raises InputError if their folds differ.

    Folds share training data, so their differences are not independent: the variance of their mean
    is sd² · (1/folds + test/train), and a test fold is 1/(folds − 1) of its training data.
    """
    from scipy.special import stdtr

    if one.anchors.words != other.anchors.words or (one.fold != other.fold).any():
        raise InputError(
            "A paired comparison needs two alignments evaluated on the same anchors and folds."
        )
    difference = one.hits(k, ranking) - other.hits(k, ranking)
    folds, mean, sd = len(difference), float(difference.mean()), float(difference.std(ddof=1))
    error = sd * (1 / folds + 1 / (folds - 1)) ** 0.5
    p = float(mean == 0)
    if error:
        p = float(2 * stdtr(folds - 1, -abs(mean) / error))
    return FoldComparison(mean, sd, int((difference > 0).sum()), folds, p)
