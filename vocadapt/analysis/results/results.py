"""Leaderboard of a task: mean ± sd over seeds under each tokenization, and the comparison with a
baseline over seeds and test units (`analysis.comparison`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from vocadapt.analysis import comparison
from vocadapt.analysis.comparison import (
    Difference,
    Verdict,
    compare_over_seeds,
    correct_family,
    judge,
)
from vocadapt.errors import InputError
from vocadapt.report.formats import format_fraction, format_metric_name
from vocadapt.report.table import Column, Table
from vocadapt.text.summary import MANY, Summarized, Summary
from vocadapt.text.summary import Table as ShortTable
from vocadapt.training.examples.examples import Example, without_fold
from vocadapt.training.finetune.tokenizations import choose_main_tokenization
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer, Tally
from vocadapt.training.scoring.summary import SeedSummary, compute_group_means, summarize_seeds
from vocadapt.training.scoring.uncertainty import (
    DEFAULT_DRAWS,
    Draws,
    Interval,
    align_labels,
    average_tallies,
    bootstrap,
)

TO = " to "
SEEDS = Column("n", "Seeds", "Number of seeds.", "number")
COLLAPSED = Column(
    "collapsed_note",
    "Collapsed",
    "Runs that are no better than always predicting the most frequent label, on the dev split or,"
    " without one, on training examples: their training failed. They are included in the mean."
    " Another seed or a lower learning rate often helps.",
)
COMPARISON = (  # of a table with a baseline; the verdict comes first, where it is not scrolled away
    Column(
        "verdict",
        "Verdict",
        "Better or worse only if other seeds and other test units would rarely reverse the"
        " difference (p < .05). Equal only if the interval of the difference lies within"
        f" {100 * comparison.MARGIN:g} point. Not tested over seeds below {comparison.MIN_SEEDS}"
        " seeds on a side.",
    ),
    Column("delta", "Δ points", "Difference of the mean from that of the baseline.", "points"),
    Column(
        "delta_low",
        "95 % of Δ",
        "95 % confidence interval of the difference: seeds and test units are both resampled.",
        "points",
        beside="delta_high",
        between=TO,
    ),
    Column(
        "detectable",
        "Detectable",
        "Smallest difference, in points, that these seeds and test units would show in 8 of 10"
        " repetitions.",
        "distance",
    ),
    Column(
        "p",
        "p",
        "Two-sided, over seeds and test units; corrected for all comparisons of the table (Holm).",
        "p",
    ),
    Column(
        "p_units",
        "p, units alone",
        "Two-sided approximate randomization test over the test units, with counts averaged over"
        " seeds; not corrected.",
        "p",
    ),
)


def build_mean_column(metric: str) -> Column:
    """Return the column of the headline metric: mean ± standard deviation over seeds. metric: "" if
    rows have different ones.
    """
    return Column(
        "mean",
        f"{format_metric_name(metric)}, mean ± sd" if metric else "Mean ± sd",
        "Mean ± standard deviation (n − 1) over all seeds, collapsed runs included.",
        "fraction",
        beside="sd",
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

    @property
    def labels(self) -> frozenset[str]:
        """The labels of all tallies."""
        folds = chain.from_iterable(chain.from_iterable(self.tallies.values()))
        return frozenset().union(*(tally.labels for tally in folds))

    def join_folds(self, tokenization: str) -> dict[int, Tally]:
        """Return seed → its tally under a tokenization, the folds concatenated."""
        joined = {}
        for seed, parts in zip(self.seeds, self.tallies[tokenization], strict=True):
            over = align_labels(parts)  # folds may have different labels
            joined[seed] = Tally(np.concatenate([part.rows for part in over]), over[0].labels)
        return joined


@dataclass(frozen=True)
class RunStanding:
    """Runs under one tokenization: every metric over seeds, the interval of the headline metric
    over test units, and the difference from the baseline.

    `counts`: whether this is the main tokenization. `difference`: None for the baseline itself,
    without a baseline, and if the test examples differ; `verdict` gives the reason. All figures are
    fractions.
    """

    run: str
    tokenization: str
    model: str
    trained_on: str
    seeds: tuple[int, ...]
    collapsed_seeds: tuple[int, ...]
    counts: bool
    metric: str
    figures: Mapping[str, SeedSummary]
    interval: Interval
    difference: Difference | None = None
    verdict: Verdict | None = None

    @property
    def headline(self) -> SeedSummary:
        """The metric by which runs are ranked."""
        return self.figures[self.metric]

    @property
    def mean_learned(self) -> float | None:
        """Mean over the runs that did not collapse; None if none collapsed."""
        if not self.collapsed_seeds:
            return None
        return self.headline.mean_learned

    @property
    def collapsed_note(self) -> str:
        """How many runs collapsed, and the mean without them; "" if none."""
        if not self.collapsed_seeds:
            return ""
        text = f"{len(self.collapsed_seeds)} of {len(self.seeds)} collapsed"
        if self.headline.mean_learned is None:
            return text
        return f"{text}, {format_fraction(self.headline.mean_learned)} without"

    def build_row(self) -> dict[str, Any]:
        """Return the values of its row in a table, by the names of columns."""
        row: dict[str, Any] = {
            "run": self.run,
            "model": self.model,
            "trained_on": self.trained_on,
            "tokenization": self.tokenization,
            "n": len(self.seeds),
            "seeds": self.seeds,
            "collapsed": len(self.collapsed_seeds),
            "collapsed_note": self.collapsed_note,
            "mean": self.headline.mean,
            "sd": self.headline.sd,
            "mean_learned": self.mean_learned,
            "low": self.interval.low,
            "high": self.interval.high,
            "verdict": self.verdict and self.verdict.label,
        }
        if self.difference is not None:
            row |= {
                "delta": self.difference.value,
                "delta_low": self.difference.low,
                "delta_high": self.difference.high,
                "detectable": self.difference.detectable,
                "p": self.difference.p,
                "p_units": self.difference.p_units,
            }
        for name, figure in self.figures.items():
            row |= {f"{name}_mean": figure.mean, f"{name}_sd": figure.sd}
        return row


@dataclass(frozen=True)
class Side:
    """A run under a tokenization."""

    run: str
    tokenization: str


@dataclass(frozen=True, repr=False)
class TaskLeaderboard(Summarized):
    """The standings on one task under one score, best first.

    `units`: number of units that intervals and tests resample; `findings`: notes on the data.
    """

    task: str
    kind: str
    scorer: str
    definition: str
    metric: str
    units: int
    baseline: Side | None
    standings: tuple[RunStanding, ...]
    findings: tuple[str, ...] = ()

    def build_table(self) -> Table:
        """Return the leaderboard as a table, best first, with a note on score and comparison."""
        metrics = dict.fromkeys(name for one in self.standings for name in one.figures)
        baseline = self.baseline or Side("", "")
        constants = {
            "task": self.task,
            "scorer": self.scorer,
            "metric": self.metric,
            "units": self.units,
            "baseline": baseline.run,
            "baseline_tokenization": baseline.tokenization,
            "definition": self.definition,
        }
        columns = (
            Column("run", "Run"),
            Column("tokenization", "Tokenization"),
            SEEDS,
            build_mean_column(self.metric),
            *COMPARISON,
            Column(
                "low",
                "95 % interval",
                "95 % confidence interval: percentile bootstrap over the test units, averaged over"
                " seeds.",
                "fraction",
                beside="high",
                between=TO,
            ),
            COLLAPSED,
            *(
                Column(name)
                for name in ("model", "trained_on", "seeds", "collapsed", "mean_learned")
            ),
            *(Column(f"{name}_mean", beside=f"{name}_sd") for name in metrics),
        )
        rows = [one.build_row() for one in self.standings]
        notes = (self.describe(), *self.findings)
        return Table(self.task, columns, rows, notes, best="mean", constants=constants)

    def describe(self, defined: bool = True) -> str:
        """Describe score, number of units, baseline, and how differences are tested.

        defined: with the exact definition of the score.
        """
        score = f"{format_metric_name(self.metric)} of {self.scorer}"
        if defined:
            score += f" ({self.definition})"
        text = f"{score}, {self.units:,} test units; mean ± sd (n − 1) over seeds."
        found = [one.difference for one in self.standings if one.difference]
        if self.baseline is None or not found:
            return text
        return f"{text} Δ is to {self.baseline.run} ({self.baseline.tokenization}). {describe_test(found)}"

    def summarize(self) -> Summary:
        """Return the standings, best first, and the notes on the data."""
        facts = {
            "runs and tokenizations": len(self.standings),
            "score": self.scorer,
            "units": self.units,
        }
        table = self.build_table()
        labels = tuple(column.label for column in table.shown)
        cells = list(table.write_cells())
        short = ShortTable(labels, cells, len(cells), "runs and tokenizations", shown=MANY)
        return Summary(self.task, facts, (short,), " ".join(self.findings))


def describe_test(found: Sequence[Difference]) -> str:
    """Describe how differences that are shown together are tested."""
    one = found[0]
    tested = [each for each in found if each.p is not None]
    text = ""
    if tested:
        text = (
            f"Its interval and p are over seeds and test units, both resampled {one.rounds:,}"
            f" times; p is corrected for the number of comparisons ({len(tested)}, Holm). "
        )
    if len(tested) < len(found):
        text += (
            f"{len(found) - len(tested)} of {len(found)} comparisons are not tested over seeds:"
            f" fewer than {comparison.MIN_SEEDS} on a side. "
        )
    return (
        f"{text}p of the units alone: approximate randomization, two-sided, {one.rounds:,} draws,"
        " not corrected."
    )


def rank_runs(
    task: str,
    kind: str,
    entries: Sequence[RunEntry],
    scorer: Scorer,
    rules: Rules = DEFAULT_RULES,
    baseline: Side | None = None,
    draws: Draws = DEFAULT_DRAWS,
    main_only: bool = False,
) -> TaskLeaderboard:
    """Rank every entry under every tokenization, best mean first.

    baseline: name of an entry and a tokenization ("": the main one). main_only: compare only the
    main tokenizations with it. Raises InputError for an unknown baseline, and for no entries.
    The verdicts are given by `judge_boards`, which knows what is shown together.
    """
    if not entries:
        raise InputError(
            f"{task}: there is no scored run.",
            "Fine-tune on it with a labeled test split.",
            code="no-scored-run",
        )
    base: RunEntry | None = None
    base_mean = 0.0
    if baseline:
        base, baseline = _find_baseline(entries, baseline)
        of_base = _summarize_seeds(base, baseline.tokenization, scorer, rules)
        base_mean = of_base[scorer.headline].mean

    # 1. Summarize each entry under each tokenization, and compare it with the baseline.
    standings = []
    findings = list[str]()
    for entry in entries:
        comparable = base is None or list(entry.examples) == list(base.examples)
        if base is not None and not comparable:
            findings.append(
                f"{entry.name} and {base.name} were not tested on the same examples, so they"
                " are not compared. Fine-tune both with the same task, test file and limit."
            )
        for name in entry.tallies:
            standing = _summarize_run(entry, name, scorer, rules, draws)
            if not comparable:
                standing = replace(standing, verdict=comparison.OTHER_EXAMPLES)
            elif Side(entry.name, name) == baseline:
                standing = replace(standing, verdict=comparison.BASELINE)
            elif base is not None and baseline is not None and (standing.counts or not main_only):
                theirs = base.join_folds(baseline.tokenization)
                ours = entry.join_folds(name)
                found = compare_over_seeds(theirs, ours, scorer, rules, draws)
                # The difference of the means that are shown, which are over folds, too.
                found = replace(found, value=standing.headline.mean - base_mean)
                standing = replace(standing, difference=found)
            standings.append(standing)
    standings.sort(key=lambda one: (-one.headline.mean, one.run, one.tokenization))

    # 2. Describe the whole table: score, labels, and number of units.
    labels = frozenset().union(*(entry.labels for entry in entries))
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


def judge_boards(boards: Sequence[TaskLeaderboard]) -> tuple[TaskLeaderboard, ...]:
    """Correct the p-values of leaderboards that are shown together, and give the verdicts."""
    found = [one.difference for board in boards for one in board.standings]
    corrected = iter(correct_family(found))
    judged = []
    for board in boards:
        collapsed = {
            Side(one.run, one.tokenization) for one in board.standings if one.collapsed_seeds
        }
        standings = []
        for one in board.standings:
            difference = next(corrected)
            if difference is not None:
                sides = {Side(one.run, one.tokenization), board.baseline}
                verdict = judge(difference, bool(sides & collapsed))
                one = replace(one, difference=difference, verdict=verdict)
            standings.append(one)
        judged.append(replace(board, standings=tuple(standings)))
    return tuple(judged)


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

    counts = collapsed or {}
    means = {}
    for model, own in scores.items():
        means[model] = compute_group_means(rename(own), groups, rename(counts.get(model, {})))
    return means


def build_group_table(means: Mapping[str, Mapping[str, Mapping[str, float | int | None]]]) -> Table:
    """Return the means over groups of tasks as a table: model → group → mean."""
    names = dict.fromkeys(name for own in means.values() for name in own)
    rows = [
        {"model": model, **{name: format_group_mean(held) for name, held in own.items()}}
        for model, own in means.items()
    ]
    return Table(
        "Means over groups of tasks, with the number of tasks",
        (Column("model", "Model · tokenization"), *(Column(name, name) for name in names)),
        rows,
    )


def format_group_mean(held: Mapping[str, float | int | None]) -> str:
    """Format the mean over a group of tasks, with the number of scored tasks and collapsed runs."""
    fraction = f"{held['scored']} of {held['of']}"
    if held["collapsed"]:
        fraction += f", {held['collapsed']} collapsed"
    return f"{format_fraction(held['mean'])} ({fraction})"


def benchmark_name(task: str) -> str:
    """Return a task's name without collection and fold: bio-lm/GAD, fold 3 → gad."""
    return without_fold(task).rpartition("/")[2].lower()


def _summarize_run(
    entry: RunEntry, tokenization: str, scorer: Scorer, rules: Rules, draws: Draws
) -> RunStanding:
    average = average_tallies(list(entry.join_folds(tokenization).values()))
    pairs = zip(entry.seeds, entry.collapsed, strict=True)
    return RunStanding(
        run=entry.name,
        tokenization=tokenization,
        model=entry.model,
        trained_on=entry.trained_on,
        seeds=entry.seeds,
        collapsed_seeds=tuple(seed for seed, collapsed in pairs if collapsed),
        counts=tokenization == entry.main_tokenization,
        metric=scorer.headline,
        figures=_summarize_seeds(entry, tokenization, scorer, rules),
        interval=bootstrap(scorer, average, rules, draws),
    )


def _summarize_seeds(
    entry: RunEntry, tokenization: str, scorer: Scorer, rules: Rules
) -> dict[str, SeedSummary]:
    """Summarize every metric over the seeds; the value of a seed is the mean over its folds."""
    folds = [
        [scorer.score_tally(part, rules).values for part in parts]
        for parts in entry.tallies[tokenization]
    ]
    summaries = {}
    for name in folds[0][0]:
        values = [sum(part[name] for part in parts) / len(parts) for parts in folds]
        summaries[name] = summarize_seeds(values, entry.collapsed)
    return summaries


def _find_baseline(entries: Sequence[RunEntry], given: Side) -> tuple[RunEntry, Side]:
    found = next((entry for entry in entries if entry.name == given.run), None)
    if found is None:
        names = ", ".join(entry.name for entry in entries)
        raise InputError(
            f"The baseline {given.run!r:.80} is none of the runs.",
            f"Choose one of: {names:.200}.",
            code="unknown-run",
        )
    if given.tokenization and given.tokenization not in found.tallies:
        raise InputError(
            f"The baseline {given.run} has no {given.tokenization!r:.40} tokenization.",
            f"It has: {', '.join(found.tallies)}.",
            code="no-tokenization",
        )
    return found, Side(given.run, given.tokenization or found.main_tokenization)
