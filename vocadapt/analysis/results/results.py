"""Leaderboard of a task: mean ± sd over seeds under each tokenization, and a paired test to a
baseline.

Tests and intervals resample test examples (or documents). With several seeds, the counts of each
unit are first averaged over the seeds. The test thus estimates the variation over examples, the
standard deviation that over seeds. A difference is called better or worse only if both agree: it
exceeds one standard deviation over at least three seeds, and p < .05.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.text.summary import MANY, Summarized, Summary, Table
from vocadapt.training.examples.examples import Example, without_fold
from vocadapt.training.finetune.tokenizations import choose_main_tokenization
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer, Tally
from vocadapt.training.scoring.summary import SeedSummary, compute_group_means, summarize_seeds
from vocadapt.training.scoring.uncertainty import (
    DEFAULT_DRAWS,
    Comparison,
    Draws,
    Interval,
    align_labels,
    average_tallies,
    bootstrap,
    compare_tallies,
)
from vocadapt.training.tasks.kinds import TaskKind

MIN_SEEDS = 3  # no difference is claimed with fewer seeds
SIGNIFICANCE_LEVEL = 0.05
BETTER, WORSE, NOISE = "better", "worse", "within noise"
BASELINE = "baseline"
COLLAPSED, NOT_SIGNIFICANT = "collapsed runs: no claim", "p ≥ .05: no claim"
# Verdict → the sentence that explains it; verdicts on too few seeds contain their number.
EXPLANATIONS = {
    BETTER: (
        "Better than the baseline: the difference is larger than the spread over the seeds, and"
        " rarely arises by chance (p < .05)."
    ),
    WORSE: (
        "Worse than the baseline: the difference is larger than the spread over the seeds, and"
        " rarely arises by chance (p < .05)."
    ),
    NOISE: (
        "No difference shown: it is no larger than the spread over the seeds, so other seeds could"
        " reverse it."
    ),
    NOT_SIGNIFICANT: (
        "No difference shown: other test examples of the same kind could reverse it (p ≥ .05)."
    ),
    COLLAPSED: (
        "No claim: a training collapsed, that is, it predicts no better than always the most"
        " frequent label."
    ),
}
TOO_FEW_SEEDS = (
    f"No claim: at least {MIN_SEEDS} seeds are needed on both sides, because results differ from"
    " seed to seed."
)


@dataclass(frozen=True, eq=False)
class RunEntry:
    """The runs of one model on a task: tallies by tokenization, seed and fold, over the same
    `examples`.

    A seed has one tally, or one per fold of a k-fold task; `examples` are then those of all folds,
    concatenated, and the scores of a seed are means over its folds. `model` and `trained_on` are
    only shown in the table.
    """

    name: str
    examples: Sequence[Example]
    seeds: tuple[int, ...]
    collapsed: tuple[bool, ...]
    tallies: Mapping[str, tuple[tuple[Tally, ...], ...]]
    model: str = ""
    trained_on: str = ""

    @property
    def main_tokenization(self) -> str:
        """The tokenization whose scores count: pooled, or the only one."""
        return choose_main_tokenization(self.tallies)


@dataclass(frozen=True)
class RunStanding:
    """One entry under one tokenization: every metric over seeds, the interval of the headline
    metric, and the comparison with the baseline.

    `counts`: whether this is the main tokenization. `delta`: difference of the means to the
    baseline. `test`: None for the baseline itself, and if the test examples differ; `verdict` gives
    the reason. All figures are fractions.
    """

    name: str
    tokenization: str
    model: str
    trained_on: str
    seeds: tuple[int, ...]
    collapsed: int
    counts: bool
    figures: Mapping[str, SeedSummary]
    metric: str
    interval: Interval
    delta: float | None = None
    test: Comparison | None = None
    verdict: str = ""

    @property
    def headline(self) -> SeedSummary:
        """The metric by which runs are ranked."""
        return self.figures[self.metric]

    @property
    def mean_learned(self) -> float | None:
        """Mean over the runs that did not collapse; None if none collapsed."""
        if not self.collapsed:
            return None
        return self.headline.mean_learned

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "run": self.name,
            "model": self.model,
            "trained_on": self.trained_on,
            "tokenization": self.tokenization,
            "counts": self.counts,
            "seeds": self.seeds,
            "figures": {
                name: {"mean": one.mean, "sd": one.sd, "values": one.values}
                for name, one in self.figures.items()
            },
            "interval": asdict(self.interval),
            "collapsed": self.collapsed,
            "mean_learned": self.mean_learned,
            "delta": self.delta,
            "test": self.test and asdict(self.test),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, repr=False)
class TaskLeaderboard(Summarized):
    """The standings on one task under one score, best first.

    `units`: number of units that intervals and tests resample; `findings`: notes on the data.
    """

    task: str
    kind: TaskKind
    scorer: str
    definition: str
    metric: str
    units: int
    baseline: tuple[str, str] | None
    standings: tuple[RunStanding, ...]
    findings: tuple[str, ...] = ()

    def summarize(self) -> Summary:
        """Return the standings, best first, and the notes on the data."""
        facts = {
            "runs and tokenizations": len(self.standings),
            "score": self.scorer,
            "units": self.units,
        }
        rows = [
            (
                one.name,
                one.tokenization,
                one.headline.mean,
                one.headline.sd,
                len(one.seeds),
                one.interval.low,
                one.interval.high,
                one.delta,
                one.verdict,
            )
            for one in self.standings
        ]
        columns = (
            *("run", "tokenization", self.metric, "sd", "seeds", "low", "high"),
            *("difference", "verdict"),
        )
        table = Table(columns, rows, len(rows), "runs and tokenizations", shown=MANY)
        return Summary(self.task, facts, (table,), " ".join(self.findings))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        baseline = None
        if self.baseline:
            baseline = {"run": self.baseline[0], "tokenization": self.baseline[1]}
        return {
            "task": self.task,
            "kind": self.kind.name,
            "scorer": self.scorer,
            "definition": self.definition,
            "metric": self.metric,
            "units": self.units,
            "baseline": baseline,
            "standings": [one.to_dict() for one in self.standings],
            "findings": list(self.findings),
        }


def rank_runs(
    task: str,
    kind: TaskKind,
    entries: Sequence[RunEntry],
    scorer: Scorer,
    rules: Rules = DEFAULT_RULES,
    baseline: tuple[str, str] | None = None,
    draws: Draws = DEFAULT_DRAWS,
) -> TaskLeaderboard:
    """Rank every entry under every tokenization, best mean first.

    baseline: name of an entry and a tokenization ("": the main one). Raises InputError for an
    unknown baseline, and for no entries.
    """
    if not entries:
        raise InputError(
            f"{task}: there is no scored run.",
            "Fine-tune on it with a labeled test split.",
        )

    # The baseline is averaged over its seeds only once.
    base: ComparedBaseline | None = None
    if baseline:
        base = _find_baseline(entries, baseline)
        baseline = base.entry.name, base.tokenization

    # 1. Summarize each entry under each tokenization, and compare it with the baseline.
    standings, findings = [], list[str]()
    for entry in entries:
        comparable = base is None or list(entry.examples) == list(base.entry.examples)
        if base is not None and not comparable:
            findings.append(
                f"{entry.name} and {base.entry.name} were not tested on the same examples, so they"
                " are not compared. Fine-tune both with the same task, test file and limit."
            )
        for name, tallies in entry.tallies.items():
            standing = _summarize_run(entry, name, tallies, scorer, rules, draws)
            if not comparable:
                standing = replace(standing, verdict="other test examples")
            elif base is not None:
                standing = _compare_with_baseline(standing, tallies, base, scorer, rules, draws)
            standings.append(standing)
    standings.sort(key=lambda one: (-one.headline.mean, one.name, one.tokenization))

    # 2. Describe the whole table: score, labels, and number of units.
    every = chain.from_iterable(entry.tallies.values() for entry in entries)
    tallies_of_folds = chain.from_iterable(chain.from_iterable(every))
    labels = frozenset().union(*(tally.labels for tally in tallies_of_folds))
    first_seed = next(iter(entries[0].tallies.values()))[0]
    return TaskLeaderboard(
        task,
        kind,
        scorer.name,
        scorer.defined(sorted(labels), rules),
        scorer.headline,
        sum(len(part.rows) for part in first_seed),
        baseline,
        tuple(standings),
        tuple(findings),
    )


def judge_difference(ours: SeedSummary, theirs: SeedSummary, p: float) -> str:
    """Return the verdict on our scores against the baseline's: better, worse, within noise, or no
    claim.

    A claim needs at least three seeds without collapse, a difference larger than both standard
    deviations, and p < .05.
    """
    # Checks in order: the runs, the size of the difference, the test.
    fewest = min(len(ours.values), len(theirs.values))
    if ours.collapsed or theirs.collapsed:
        return COLLAPSED
    if fewest == 1:
        return "one seed: no claim"
    if fewest < MIN_SEEDS:
        return f"{fewest} seeds: no claim"
    if abs(ours.mean - theirs.mean) <= max(ours.sd or 0.0, theirs.sd or 0.0):
        return NOISE
    if p >= SIGNIFICANCE_LEVEL:
        return NOT_SIGNIFICANT
    if ours.mean > theirs.mean:
        return BETTER
    return WORSE


def explain_verdict(verdict: str) -> str:
    """Return a sentence that explains a verdict of `judge_difference`."""
    return EXPLANATIONS.get(verdict, TOO_FEW_SEEDS)


def average_groups(
    scores: Mapping[str, Mapping[str, float]],
    groups: Mapping[str, Sequence[str]],
    collapsed: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, dict[str, dict[str, float | int | None]]]:
    """Return model → group → mean, number of tasks scored, number of tasks, collapsed runs.

    scores: model → task → score; collapsed: model → task → number of collapsed runs; groups: group
    → benchmarks.

    A task belongs to the benchmark whose name has the same last part: mtl/NCBI-disease,
    NCBI-disease and bio-lm/NCBI-disease are the same task here.
    """
    names = {benchmark_name(name): name for name in chain.from_iterable(groups.values())}

    def rename(own: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(benchmark_name(task), task): value for task, value in own.items()}

    counts, means = collapsed or {}, {}
    for model, own in scores.items():
        means[model] = compute_group_means(rename(own), groups, rename(counts.get(model, {})))
    return means


def benchmark_name(task: str) -> str:
    """Return a task's name without collection and fold: bio-lm/GAD, fold 3 → gad."""
    return without_fold(task).rpartition("/")[2].lower()


@dataclass(frozen=True, eq=False)
class ComparedBaseline:
    """The entry and tokenization that others are compared with, and its tally averaged over seeds."""

    entry: RunEntry
    tokenization: str
    mean: Tally


def _summarize_run(
    entry: RunEntry,
    tokenization: str,
    tallies: Sequence[Sequence[Tally]],
    scorer: Scorer,
    rules: Rules,
    draws: Draws,
) -> RunStanding:
    """Summarize an entry under a tokenization, without comparing it."""
    return RunStanding(
        entry.name,
        tokenization,
        entry.model,
        entry.trained_on,
        entry.seeds,
        sum(entry.collapsed),
        tokenization == entry.main_tokenization,
        _summarize_seeds(tallies, entry.collapsed, scorer, rules),
        scorer.headline,
        bootstrap(scorer, _average_seeds(tallies), rules, draws),
    )


def _compare_with_baseline(
    standing: RunStanding,
    tallies: Sequence[Sequence[Tally]],
    base: ComparedBaseline,
    scorer: Scorer,
    rules: Rules,
    draws: Draws,
) -> RunStanding:
    """Add the difference to the baseline, its test and the verdict.

    The baseline itself only gets the verdict BASELINE.
    """
    if (standing.name, standing.tokenization) == (base.entry.name, base.tokenization):
        return replace(standing, verdict=BASELINE)
    # The difference is that of the means in the table; the test pairs examples.
    own = base.entry.tallies[base.tokenization]
    theirs = _summarize_seeds(own, base.entry.collapsed, scorer, rules)[scorer.headline]
    test = compare_tallies(scorer, base.mean, _average_seeds(tallies), rules, draws)
    return replace(
        standing,
        delta=standing.headline.mean - theirs.mean,
        test=test,
        verdict=judge_difference(standing.headline, theirs, test.p_randomisation),
    )


def _summarize_seeds(
    tallies: Sequence[Sequence[Tally]], collapsed: Sequence[bool], scorer: Scorer, rules: Rules
) -> dict[str, SeedSummary]:
    """Summarize every metric over the seeds; the value of a seed is the mean over its folds."""
    seeds = [[scorer.score_tally(part, rules).values for part in parts] for parts in tallies]
    summaries = {}
    for name in seeds[0][0]:
        means = [sum(part[name] for part in parts) / len(parts) for parts in seeds]
        summaries[name] = summarize_seeds(means, collapsed)
    return summaries


def _average_seeds(tallies: Sequence[Sequence[Tally]]) -> Tally:
    """Concatenate the folds of each seed and average over seeds, for intervals and tests."""
    # Folds may have different labels: align their columns before they are concatenated.
    joined = []
    for parts in tallies:
        over = align_labels(parts)
        joined.append(Tally(np.concatenate([part.rows for part in over]), over[0].labels))
    return average_tallies(joined)


def _find_baseline(entries: Sequence[RunEntry], baseline: tuple[str, str]) -> ComparedBaseline:
    name, tokenization = baseline
    found = next((entry for entry in entries if entry.name == name), None)
    if found is None:
        names = ", ".join(entry.name for entry in entries)
        raise InputError(
            f"The baseline {name!r:.80} is none of the runs.", f"Choose one of: {names:.200}."
        )
    if tokenization and tokenization not in found.tallies:
        raise InputError(
            f"The baseline {name} has no {tokenization!r:.40} tokenization.",
            f"It has: {', '.join(found.tallies)}.",
        )
    tokenization = tokenization or found.main_tokenization
    return ComparedBaseline(found, tokenization, _average_seeds(found.tallies[tokenization]))
