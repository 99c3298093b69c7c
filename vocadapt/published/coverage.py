"""Fraction of the gap between two models that a third one covers, such as GreenBioBERT of the gap
between BERT and BioBERT (Poerner et al. 2020, section on experiment 1).

    fraction = (ours − low) / (high − low)

Example: BERT .80, BioBERT .84, ours .83 → .75. The interval of such a ratio is Fieller's. It is
finite only if the gap differs from 0 at the same level: otherwise the fraction is not defined.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from vocadapt.published.comparison import Comparison
from vocadapt.published.tables import PublishedTable

LEVEL = 0.95  # confidence level of intervals


@dataclass(frozen=True)
class SeedScore:
    """Mean score of n seeds. sd: standard deviation (n − 1) over the seeds; None if not known."""

    mean: float
    sd: float | None = None
    n: int = 1

    @property
    def variance(self) -> float | None:
        """Squared standard error of the mean; None if it is not known."""
        if self.sd is None or self.n < 2:
            return None
        return self.sd**2 / self.n


@dataclass(frozen=True)
class Coverage:
    """Fraction of a gap that is covered, with its confidence interval.

    fraction: None if it is not defined; why: the reason. low, high: None if the noise is not known.
    """

    gap: float
    fraction: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True)
class MeanCoverage:
    """Mean of the fractions of several tasks, as published: not the fraction of the mean scores.

    fraction: None if it is defined for no task. n_defined: the number of averaged
    tasks; n_tasks: of all tasks.
    """

    fraction: float | None
    n_defined: int
    n_tasks: int
    tasks: Mapping[str, Coverage]


def compute_coverage(low: SeedScore, high: SeedScore, ours: SeedScore) -> Coverage:
    """Compute the fraction of the gap from `low` to `high` that `ours` covers.

    Not defined if the gap is not larger than its noise: if its confidence interval contains 0 or,
    without the noise of seeds, if it is not above 0.

    Source: Fieller 1954, with the smallest number of seeds for the degrees of freedom.
    """
    from scipy.stats import t

    # 1. The gap must be positive, and larger than its noise.
    gap = high.mean - low.mean
    covered = ours.mean - low.mean
    if not gap > 0:
        return Coverage(gap, None, why="not defined: there is no gap")
    if low.variance is None or high.variance is None or ours.variance is None:
        return Coverage(gap, covered / gap, why="no interval: the noise of seeds is not known")
    degrees = min(low.n, high.n, ours.n) - 1
    noise = float(t.ppf((1 + LEVEL) / 2, degrees))  # two-sided critical value of Student's t
    if gap**2 <= noise**2 * (low.variance + high.variance):
        return Coverage(gap, None, why="not defined: the gap is not larger than its noise")

    # 2. Fieller's interval: the fractions s for which ours − low − s · gap does not differ from 0.
    # Both differences contain `low`, so its variance is their covariance.
    of_low = noise**2 * low.variance
    a = gap**2 - of_low - noise**2 * high.variance
    b = gap * covered - of_low
    c = covered**2 - of_low - noise**2 * ours.variance
    half = math.sqrt(max(b**2 - a * c, 0.0))
    return Coverage(gap, covered / gap, (b - half) / a, (b + half) / a)


def compute_mean_coverage(
    low: Mapping[str, SeedScore],
    high: Mapping[str, SeedScore],
    ours: Mapping[str, SeedScore],
) -> MeanCoverage:
    """Average the fractions of the tasks that all three models have a score of."""
    tasks = {
        task: compute_coverage(low[task], high[task], ours[task])
        for task in low
        if task in high and task in ours
    }
    fractions = [one.fraction for one in tasks.values() if one.fraction is not None]
    mean = sum(fractions) / len(fractions) if fractions else None
    return MeanCoverage(mean, len(fractions), len(tasks), tasks)


def list_scores(
    table: PublishedTable,
    column: str,
    compared: Mapping[tuple[str, str], Comparison] | None = None,
) -> dict[str, SeedScore]:
    """Return the scores of a column by row, between 0 and 1, without empty cells and means.

    compared: of our scores, which have their noise over seeds. None: the published scores, whose
    noise no table prints.
    """
    if compared is None:
        compared = {
            place: Comparison(cell.value, cell.value, n=1) for place, cell in table.grid.items()
        }
    means = {row.name for row in table.rows if row.mean_of}
    scores = {}
    for (row, name), one in compared.items():
        if name != column or row in means or one.ours is None or isinstance(one.ours, str):
            continue
        scale = table.grid[row, name].scale
        sd = None if one.sd is None else one.sd / scale
        scores[row] = SeedScore(one.ours / scale, sd, one.n)
    return scores


def compute_gaps(
    table: PublishedTable, compared: Mapping[tuple[str, str], Comparison] | None = None
) -> dict[str, MeanCoverage]:
    """Compute the fractions of the gaps that a table declares, by name: of its own scores, or of
    ours.

    compared: by row and column. A gap without a task that has all three scores is left out.
    """
    found = {}
    for gap in table.gaps:
        columns = (gap.low, gap.high, gap.ours)
        low, high, ours = (list_scores(table, column, compared) for column in columns)
        mean = compute_mean_coverage(low, high, ours)
        if mean.tasks:
            found[gap.name] = mean
    return found
