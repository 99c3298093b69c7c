"""Leaderboard of a task: mean ± sd over seeds under each tokenization, and a paired test to a
baseline.

Test and intervals resample test examples (or documents). With several seeds, each unit's counts are
first averaged over them: the test then is about other examples, and the standard deviation about
other seeds. A difference is called better or worse only if both agree: more than one standard
deviation over three seeds or more, and p < .05.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.training.finetune.mixture import choose_main_tokenization
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer, Tally
from vocadapt.training.scoring.summary import SeedSummary, group_means, summarize_seeds
from vocadapt.training.scoring.uncertainty import (
    Comparison,
    Draws,
    Interval,
    align_all_labels,
    aligned,
    bootstrap,
    compare_tallies,
    mean_tally,
)
from vocadapt.training.tasks.examples import Example
from vocadapt.training.tasks.folds import without_fold
from vocadapt.training.tasks.kinds import TaskKind

MIN_SEEDS = 3  # seeds: with fewer no difference is claimed
SURE = 0.05
BETTER, WORSE, NOISE = "better", "worse", "within noise"
BASELINE = "baseline"


@dataclass(frozen=True, eq=False)
class RunEntry:
    """The runs of one model on a task: tallies by tokenization, seed and fold, over the same
    `examples`.

    A seed has one tally, or one per fold of a k-fold task, whose `examples` follow each other; the
    figures of a seed are means over its folds. `model` and `trained_on` are for the table.
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
        """The main tokenization."""
        return choose_main_tokenization(self.tallies)


@dataclass(frozen=True)
class RunStanding:
    """One entry under one tokenization: each metric over seeds, the interval of the headline, the
    comparison.

    `delta` is the difference of the means to the baseline. `test` is None for the baseline itself
    and if nothing can be paired; `verdict` says so. All figures are fractions.
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
    delta: float | None
    test: Comparison | None
    verdict: str

    @property
    def headline(self) -> SeedSummary:
        """The metric that it is ranked by."""
        return self.figures[self.metric]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        figures = {
            name: {"mean": one.mean, "sd": one.sd, "values": one.values}
            for name, one in self.figures.items()
        }
        return {
            "run": self.name,
            "model": self.model,
            "tokenization": self.trained_on,
            "cut": self.tokenization,
            "counts": self.counts,
            "seeds": self.seeds,
            "figures": figures,
            "interval": asdict(self.interval),
            "collapsed": self.collapsed,
            "mean_learned": self.headline.mean_learned if self.collapsed else None,
            "delta": self.delta,
            "test": asdict(self.test) if self.test else None,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class TaskLeaderboard:
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        baseline = {"run": self.baseline[0], "cut": self.baseline[1]} if self.baseline else None
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
    draws: Draws | None = None,
) -> TaskLeaderboard:
    """Rank every entry under every tokenization, best mean first.

    baseline: name of an entry and a tokenization ("": the main one). Raises InputError for an
    unknown baseline, and for no entries.
    """
    if not entries:
        raise InputError(
            f"{task}: there is no scored run.",
            "Fine-tune on it with a test split that holds labels.",
        )
    draws = draws or Draws()
    base, tokenization = _find_baseline(entries, baseline) if baseline else (None, "")
    ground = _average_seeds(base.tallies[tokenization]) if base else None
    standings, findings = [], list[str]()
    for entry in entries:
        same = base is None or entry is base or _has_same_examples(entry, base)
        if not same and base is not None:
            findings.append(
                f"{entry.name} and {base.name} were not tested on the same examples: no difference"
                " between them is given. Fine-tune both with the same task, test file and limit."
            )
        for name, tallies in entry.tallies.items():
            its_own = entry is base and name == tokenization
            compared = (
                None
                if its_own or not same or ground is None or base is None
                else (base, tokenization, ground)
            )
            why = BASELINE if its_own else "" if same else "other test examples"
            standings.append(
                _build_standing(entry, name, tallies, scorer, rules, compared, why, draws)
            )
    standings.sort(key=lambda one: (-one.headline.mean, one.name, one.tokenization))
    units = sum(len(part.rows) for part in next(iter(entries[0].tallies.values()))[0])
    known = (
        tally
        for entry in entries
        for parts in entry.tallies.values()
        for part in parts
        for tally in part
    )
    labels = sorted({label for tally in known for label in tally.labels})
    return TaskLeaderboard(
        task,
        kind,
        scorer.name,
        scorer.defined(labels, rules),
        scorer.headline,
        units,
        (base.name, tokenization) if base else None,
        tuple(standings),
        tuple(findings),
    )


def judge_difference(ours: SeedSummary, theirs: SeedSummary, p: float) -> str:
    """Return what can be claimed of ours against the baseline's: better, worse, within noise, or no
    claim.

    A claim needs at least three seeds without collapse, a difference above the noise, and p < .05.
    """
    fewest = min(len(ours.values), len(theirs.values))
    if ours.collapsed or theirs.collapsed:
        return "collapsed runs: no claim"
    if fewest < MIN_SEEDS:
        return f"{'one seed' if fewest == 1 else f'{fewest} seeds'}: no claim"
    if abs(ours.mean - theirs.mean) <= max(ours.sd or 0.0, theirs.sd or 0.0):
        return NOISE
    if p >= SURE:
        return "p ≥ .05: no claim"
    return BETTER if ours.mean > theirs.mean else WORSE


def average_groups(
    scores: Mapping[str, Mapping[str, float]],
    groups: Mapping[str, Sequence[str]],
    collapsed: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, dict[str, dict[str, float | int | None]]]:
    """Return model → group → mean, number of tasks scored, number of tasks, collapsed runs.

    scores: model → task → score; collapsed: model → task → runs; groups: group → benchmarks.

    A task belongs to the benchmark with the same last part: mtl/NCBI-disease, NCBI-disease and
    bio-lm/NCBI-disease are equal here.
    """
    called = {benchmark_name(name): name for names in groups.values() for name in names}

    def renamed(own: Mapping[str, Any]) -> dict[str, Any]:
        return {called.get(benchmark_name(task), task): value for task, value in own.items()}

    counts = collapsed or {}
    return {
        model: group_means(renamed(own), groups, renamed(counts.get(model, {})))
        for model, own in scores.items()
    }


def benchmark_name(task: str) -> str:
    """Return a task's name without collection and fold: bio-lm/GAD, fold 3 → gad."""
    return without_fold(task).rpartition("/")[2].lower()


def _build_standing(
    entry: RunEntry,
    tokenization: str,
    tallies: Sequence[Sequence[Tally]],
    scorer: Scorer,
    rules: Rules,
    compared: tuple[RunEntry, str, Tally] | None,
    why: str,
    draws: Draws,
) -> RunStanding:
    figures, mean = (
        _summarize_seeds(tallies, entry.collapsed, scorer, rules),
        _average_seeds(tallies),
    )
    delta, test = None, None
    if compared:
        base, its_cut, ground = compared
        theirs = _summarize_seeds(base.tallies[its_cut], base.collapsed, scorer, rules)[
            scorer.headline
        ]
        test = compare_tallies(scorer, *aligned(ground, mean), rules, draws)
        delta = figures[scorer.headline].mean - theirs.mean
        why = judge_difference(figures[scorer.headline], theirs, test.p_randomisation)
    return RunStanding(
        entry.name,
        tokenization,
        entry.model,
        entry.trained_on,
        entry.seeds,
        sum(entry.collapsed),
        tokenization == entry.main_tokenization,
        figures,
        scorer.headline,
        bootstrap(scorer, mean, rules, draws),
        delta,
        test,
        why,
    )


def _summarize_seeds(
    tallies: Sequence[Sequence[Tally]], collapsed: Sequence[bool], scorer: Scorer, rules: Rules
) -> dict[str, SeedSummary]:
    """Summarize every metric over the seeds; the value of a seed is the mean over its folds."""
    seeds = [[scorer.of(part, rules).values for part in parts] for parts in tallies]
    return {
        name: summarize_seeds(
            [sum(part[name] for part in parts) / len(parts) for parts in seeds], collapsed
        )
        for name in seeds[0][0]
    }


def _average_seeds(tallies: Sequence[Sequence[Tally]]) -> Tally:
    """Concatenate the folds of each seed and average over seeds: what intervals and tests resample."""
    joined = []
    for parts in tallies:
        over = align_all_labels(parts)
        joined.append(Tally(np.concatenate([part.rows for part in over]), over[0].labels))
    return mean_tally(joined)


def _find_baseline(entries: Sequence[RunEntry], baseline: tuple[str, str]) -> tuple[RunEntry, str]:
    name, tokenization = baseline
    found = next((entry for entry in entries if entry.name == name), None)
    if found is None:
        there = ", ".join(entry.name for entry in entries)
        raise InputError(
            f"The baseline {name!r:.80} is none of the runs.", f"Choose one of: {there:.200}."
        )
    if tokenization and tokenization not in found.tallies:
        raise InputError(
            f"The baseline {name} has no {tokenization!r:.40} tokenization.",
            f"It has: {', '.join(found.tallies)}.",
        )
    return found, tokenization or found.main_tokenization


def _has_same_examples(a: RunEntry, b: RunEntry) -> bool:
    return a.examples is b.examples or list(a.examples) == list(b.examples)
