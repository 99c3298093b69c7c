"""All maps on the same held-out folds: the table, the best on the data at hand, and whether a
difference is more than luck.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.alignment.anchors import AnchorFilter, find_anchors
from vocadapt.spaces.alignment.cross_validation import HeldOutQuality, cross_validate
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace

ALL = AnchorFilter()  # leaves no anchor out
READING = (  # P@5 by CSLS names the best map: five hits vary less than one, and hubs do not decide
    "csls anchors"
)


@dataclass(frozen=True)
class FoldComparison:
    """One map's P@k minus another's, fold by fold: mean, standard deviation, folds won, folds, and
    p of a paired t-test.

    The t-test is corrected for folds that share training data (Nadeau and Bengio 2003, Inference
    for the generalization error).
    """

    difference: float
    sd: float
    won: int
    folds: int
    p: float


def list_alignments(
    source: EmbeddingSpace, target: EmbeddingSpace, anchors: AnchorFilter = ALL
) -> tuple[AlignmentSettings, ...]:
    """Every map, as it is and on centered unit rows, the paper's first; the identity only where the
    widths allow it.
    """
    names = [name for name in METHODS if name != "identity" or source.dim == target.dim]
    plain = [AlignmentSettings(method=name, anchors=anchors) for name in names]
    return (
        *plain,
        *(
            replace(settings, unit=True, center=True)
            for settings in plain
            if settings.method != "random"
        ),
    )


def find_infeasible_methods(
    source: EmbeddingSpace, target: EmbeddingSpace, anchors: int, folds: int = 0
) -> dict[str, str]:
    """The methods that cannot be fitted on this many anchors, or judged on so many `folds` of them,
    each with the reason.

    A fit that is to be judged leaves the largest fold out.
    """
    fitted = anchors - -(-anchors // folds) if folds > 0 else anchors
    given = (
        f"{fitted:,} of {anchors:,} anchors to fit on in each of {folds} folds,"
        if folds > 0
        else f"{anchors:,} anchors"
    )
    few = f"{given} for {source.dim} dimensions"
    reasons = {name: few for name, method in METHODS.items() if method.full and fitted < source.dim}
    widths = f"the vectors are {source.dim} wide, the model {target.dim}"
    return reasons | ({} if source.dim == target.dim else {"identity": widths})


def list_feasible_alignments(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    folds: int = 10,
    anchors: AnchorFilter = ALL,
    exclude: Collection[str] = (),
) -> tuple[AlignmentSettings, ...]:
    """Every map that can be judged on these folds of these anchors, the paper's first; `find_infeasible_methods`
    says which cannot.
    """
    cannot = find_infeasible_methods(
        source, target, len(find_anchors(source, target, anchors, exclude)), folds
    )
    return tuple(
        settings
        for settings in list_alignments(source, target, anchors)
        if settings.method not in cannot
    )


def compare_alignments(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    maps: Sequence[AlignmentSettings] = (),
    folds: int = 10,
    seed: int = 1,
    exclude: Collection[str] = (),
    progress: Progress = silent,
) -> tuple[HeldOutQuality, ...]:
    """Judge each of `maps` (all that can be, where none are given) on the same folds."""
    maps = maps or list_feasible_alignments(source, target, folds, exclude=exclude)
    return tuple(
        cross_validate(
            source,
            target,
            settings,
            folds,
            seed,
            exclude,
            part(progress, i / len(maps), (i + 1) / len(maps)),
        )
        for i, settings in enumerate(maps)
    )


def select_best_alignment(
    judged: Sequence[HeldOutQuality], k: int = 5, reading: str = READING
) -> HeldOutQuality:
    """The map with the highest held-out P@k."""
    return max(judged, key=lambda result: result.precision(k, reading))


def compare_fold_by_fold(
    one: HeldOutQuality, other: HeldOutQuality, k: int = 5, reading: str = READING
) -> FoldComparison:
    """Compare two maps fold by fold; raises InputError where their folds differ."""
    from scipy.special import stdtr

    if one.anchors.words != other.anchors.words or (one.fold != other.fold).any():
        raise InputError(
            "A paired comparison needs two maps that were judged on the same anchors and folds."
        )
    difference = one.hits(k, reading) - other.hits(k, reading)
    folds, mean, sd = len(difference), float(difference.mean()), float(difference.std(ddof=1))
    error = sd * (1 / folds + 1 / (folds - 1)) ** 0.5
    p = float(2 * stdtr(folds - 1, -abs(mean) / error)) if error else float(mean == 0)
    return FoldComparison(mean, sd, int((difference > 0).sum()), folds, p)
