"""The one comparison of two models over seeds and test examples, and the one verdict on it.

A score varies with the seed of the training and with the test examples. Both are resampled: seeds,
those that both sides share as pairs, and within each resample the units (examples, or documents),
the same for both sides. A model is called better only if that rarely reverses the difference, also
after correction for all comparisons that are shown together.

Example: on five shared seeds B is ahead of A by .02 .03 .01 .04 .00, mean .02. A resample may draw
the seeds 2 2 3 5 1, and among the units some twice and some not at all; its difference is the mean
of the five differences on these units. The interval holds the middle 95 % of such values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer, Tally
from vocadapt.training.scoring.uncertainty import (
    DEFAULT_DRAWS,
    Draws,
    align_labels,
    average_tallies,
    compare_tallies,
    score_resamples,
)

MIN_SEEDS = 5  # with fewer, the spread over seeds is too uncertain for a claim
LEVEL = 0.05  # of significance, after correction
MARGIN = 0.01  # scores whose interval lies within it are called equal
# A difference of this many standard errors is found in 8 of 10 repetitions: 1.96 + .84.
DETECTABLE = 2.8

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Verdict:
    """What a comparison shows: a code, its label in a table, and a sentence that explains it ("" if
    it needs none).
    """

    code: str
    label: str
    explanation: str = ""


BASELINE = Verdict("baseline", "baseline")
OTHER_EXAMPLES = Verdict("other-examples", "other test examples")
BETTER = Verdict(
    "better",
    "better",
    "Better than the baseline: other seeds and other test examples would rarely reverse the"
    " difference (p < .05, corrected for all comparisons shown).",
)
WORSE = Verdict(
    "worse",
    "worse",
    "Worse than the baseline: other seeds and other test examples would rarely reverse the"
    " difference (p < .05, corrected for all comparisons shown).",
)
EQUAL = Verdict(
    "equal",
    f"equal within {100 * MARGIN:g} point",
    f"Equal for practical purposes: the 95 % interval of the difference lies within"
    f" {100 * MARGIN:g} point.",
)
NO_DIFFERENCE = Verdict(
    "no-difference",
    "no difference shown",
    "No difference shown: other seeds or other test examples could reverse it. Smaller"
    " differences than the detectable one need more seeds or examples.",
)
UNTESTED = Verdict(
    "untested",
    "not tested over seeds",
    f"Not tested over seeds: at least {MIN_SEEDS} seeds are needed on both sides, because results"
    " differ from seed to seed. The p-value is that of the test examples alone.",
)
COLLAPSED = Verdict(
    "collapsed",
    "collapsed runs: no claim",
    "No claim: a training collapsed, that is, it predicts no better than always the most"
    " frequent label.",
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Scores of ours minus those of the baseline, averaged over seeds.

    low, high: 95 % interval over seeds and units; detectable: smallest difference that these seeds
    and units would show in 8 of 10 repetitions; p: two-sided, corrected by `correct_family`. All
    four are None below MIN_SEEDS seeds on a side. p_units: of an approximate randomization test
    over the units alone, with counts averaged over seeds, not corrected. seeds: number on the side
    with fewer; shared: seeds that both sides have. family: number of comparisons that p is
    corrected for.
    """

    value: float
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    p: float | None = None
    p_units: float
    seeds: int
    shared: int
    units: int
    rounds: int
    seed: int
    family: int = 1


def compare_over_seeds(
    baseline: Mapping[int, Tally],
    ours: Mapping[int, Tally],
    scorer: Scorer,
    rules: Rules = DEFAULT_RULES,
    draws: Draws = DEFAULT_DRAWS,
) -> Difference:
    """Compare the runs of two models: seed → tally of the same units."""
    # 1. Test the units alone, with counts averaged over seeds.
    tallies = align_labels([*baseline.values(), *ours.values()])
    theirs = tallies[: len(baseline)]
    own = tallies[len(baseline) :]
    means = average_tallies(theirs), average_tallies(own)
    over_units = compare_tallies(scorer, *means, rules, draws)
    found = Difference(
        value=_average(own, scorer, rules) - _average(theirs, scorer, rules),
        p_units=over_units.p_randomisation,
        seeds=min(len(theirs), len(own)),
        shared=len(baseline.keys() & ours.keys()),
        units=over_units.units,
        rounds=draws.rounds,
        seed=draws.seed,
    )

    # 2. Score every seed on the same resamples of the units, (rounds,) each.
    if found.seeds < MIN_SEEDS or not draws.rounds:
        return found
    scored = score_resamples(scorer, tallies, rules, draws)

    # 3. Resample the seeds, and take the difference of the means in each resample.
    resampled = _resample_seeds(list(baseline), list(ours), scored, draws.seed)
    low, high = np.quantile(resampled, [0.5 - draws.level / 2, 0.5 + draws.level / 2])
    reversed_in = min(int((resampled <= 0).sum()), int((resampled >= 0).sum()))
    return replace(
        found,
        low=float(low),
        high=float(high),
        detectable=DETECTABLE * float(resampled.std()),
        p=min(1.0, 2 * (reversed_in + 1) / (draws.rounds + 1)),
    )


def _average(tallies: Sequence[Tally], scorer: Scorer, rules: Rules) -> float:
    return sum(scorer.score_tally(tally, rules).value for tally in tallies) / len(tallies)


def _resample_seeds(
    their_seeds: Sequence[int], own_seeds: Sequence[int], scored: Sequence[Scores], random_seed: int
) -> Scores:
    """Return our mean score minus that of the baseline ("their") in each round, (rounds,).

    Each round draws seeds: shared seeds as pairs, the others on their side. scored: scores of each
    seed of the baseline, then of each of our own, (rounds,) each.
    """
    random = np.random.default_rng(random_seed + 2)
    theirs = dict(zip(their_seeds, scored, strict=False))
    own = dict(zip(own_seeds, scored[len(theirs) :], strict=True))
    shared = sorted(theirs.keys() & own.keys())
    pairs = [own[seed] / len(own) - theirs[seed] / len(theirs) for seed in shared]
    own_alone = [scores / len(own) for seed, scores in own.items() if seed not in theirs]
    theirs_alone = [scores / len(theirs) for seed, scores in theirs.items() if seed not in own]
    drawn = [_resample(terms, random) for terms in (pairs, own_alone, theirs_alone)]
    return drawn[0] + drawn[1] - drawn[2]


def _resample(terms: Sequence[Scores], random: np.random.Generator) -> Scores:
    """Return the sum of terms, (rounds,) each, with seeds drawn with replacement in each round; 0
    if there are none.

    Drawing n seeds from n makes their spread too small by sqrt((n − 1) / n), so the deviation of
    each round from the sum over all seeds is enlarged by the inverse. A single seed has no spread
    to draw.
    """
    if not terms:
        return np.zeros(1)
    by_seed = np.stack(terms, axis=1)
    rounds, n = by_seed.shape
    whole: Scores = by_seed.sum(axis=1)
    if n == 1:
        return whole
    drawn = random.multinomial(n, np.full(n, 1 / n), size=rounds)
    deviation: Scores = ((drawn - 1) * by_seed).sum(axis=1)
    return whole + deviation * sqrt(n / (n - 1))


def correct_family(found: Sequence[Difference | None]) -> list[Difference | None]:
    """Correct the p of differences for all that are shown together, by Holm's method."""
    values = [one.p for one in found if one is not None and one.p is not None]
    corrected = iter(correct_by_holm(values))
    return [
        one if one is None or one.p is None else replace(one, p=next(corrected), family=len(values))
        for one in found
    ]


def correct_by_holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by the method of Holm 1979, in the given order.

    The smallest of m is multiplied by m, the next by m − 1, …; none becomes smaller than the one
    before it, or larger than 1. Example: .01 .04 .03 -> .03 .06 .06.
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    corrected = [0.0] * len(values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = least
    return corrected


def judge(found: Difference, collapsed: bool = False) -> Verdict:
    """Return the verdict on a difference whose p is corrected; collapsed: whether a run of either
    side collapsed.
    """
    if collapsed:
        return COLLAPSED
    if found.p is None or found.low is None or found.high is None:
        return UNTESTED
    if found.p < LEVEL:
        return BETTER if found.value > 0 else WORSE
    if found.low >= -MARGIN and found.high <= MARGIN:
        return EQUAL
    return NO_DIFFERENCE
