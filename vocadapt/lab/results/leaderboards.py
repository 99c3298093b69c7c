"""Leaderboards of runs, one per task, and means over groups of tasks; for page and command line."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vocadapt.analysis.results.results import (
    RunEntry,
    RunStanding,
    Side,
    TaskLeaderboard,
    average_groups,
    judge_boards,
    rank_runs,
)
from vocadapt.errors import InputError
from vocadapt.lab.results.runs import RunSet, disambiguate_tasks, list_tasks
from vocadapt.training.examples.examples import DOCUMENT, without_fold
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.scoring.uncertainty import Draws
from vocadapt.training.tasks.benchmarks import groups
from vocadapt.training.tasks.predictions import build_tally

GroupMeans = Mapping[str, Mapping[str, Mapping[str, float | int | None]]]


@dataclass(frozen=True)
class Results:
    """A leaderboard per task, and model → group → mean over the groups of Bio-LM (none for one
    task). unreadable: runs that were left out, with the reason.
    """

    tasks: tuple[TaskLeaderboard, ...]
    groups: GroupMeans
    unreadable: Mapping[str, str] = field(default_factory=dict)


def build_results(
    runs: Sequence[RunSet],
    baseline: Side | None = None,
    scorer: str = "",
    draws: Draws | None = None,
) -> Results:
    """Build the leaderboards of runs, the task of the first run first.

    baseline: name or folder of a run, and a tokenization or "". Raises InputError if no run is
    scored, if the baseline is unknown, or if the score does not fit a task.
    """
    # 1. The scored runs, under unique names; the baseline is one of them.
    scored = disambiguate_tasks([one for one in runs if one.tokenizations])
    if not scored:
        raise InputError(
            "There is no scored run.",
            "Fine-tune with a test split that holds labels.",
            code="no-scored-run",
        )
    names = make_unique_names(scored)
    if baseline:
        baseline = Side(_find_baseline_name(baseline.run, names), baseline.tokenization)

    # 2. A leaderboard per task, with the baseline where it has a run.
    boards: list[TaskLeaderboard] = []
    for task in list_tasks(scored):
        own = {name: one for name, one in zip(names, scored, strict=True) if one.task == task}
        pinned = baseline if baseline and baseline.run in own else None
        board = build_leaderboard(task, own, pinned, scorer, draws)
        boards += judge_boards([board])
    return Results(tuple(boards), _average_groups(boards) if len(boards) > 1 else {})


def build_leaderboard(
    task: str,
    runs: Mapping[str, RunSet],
    baseline: Side | None = None,
    scorer: str = "",
    draws: Draws | None = None,
    main_only: bool = False,
) -> TaskLeaderboard:
    """Build the leaderboard of the runs of one task, under the first run's score unless `scorer` is
    given; without verdicts. main_only: as in `rank_runs`.
    """
    first = next(iter(runs.values()))
    if odd := next((name for name, one in runs.items() if one.kind != first.kind), None):
        raise InputError(
            f"{odd} is a run of {runs[odd].kind}, the others of {first.kind}.",
            "Compare runs of one task.",
        )
    chosen = first.runs[0].scorer(scorer or first.scorer.name)
    entries = [build_entry(name, one, chosen) for name, one in runs.items()]
    rules = first.runs[0].rules
    return rank_runs(
        task, first.kind.name, entries, chosen, rules, baseline, draws or Draws(), main_only
    )


def build_entry(name: str, runs: RunSet, scorer: Scorer) -> RunEntry:
    """Return runs as an entry of a leaderboard; the examples of folds are concatenated.

    Raises InputError if the seeds were not tested on the same examples.
    """
    first = [run.test_predictions.split.examples for run in runs.of_seed(runs.seeds[0])]
    if any(
        [run.test_predictions.split.examples for run in runs.of_seed(seed)] != first
        for seed in runs.seeds[1:]
    ):
        raise InputError(
            f"{name}: its seeds were not tested on the same examples.", "Fine-tune it again."
        )
    # Sentences of a document depend on each other: where documents are marked, they are the units.
    is_marked = all(
        all(run.test_predictions.split.documents) for run in runs.of_seed(runs.seeds[0])
    )
    unit = DOCUMENT if is_marked else ""
    tallies = {
        tokenization: tuple(
            tuple(
                build_tally(
                    run.test_predictions.split,
                    run.test_predictions.predicted[tokenization],
                    scorer,
                    run.rules,
                    unit,
                )
                for run in runs.of_seed(seed)
            )
            for seed in runs.seeds
        )
        for tokenization in runs.tokenizations
    }
    examples = [example for own in first for example in own]
    return RunEntry(
        name, examples, runs.seeds, runs.collapsed, tallies, runs.model, runs.tokenization
    )


def make_unique_names(runs: Sequence[RunSet]) -> list[str]:
    """Return a unique name for each run set: its folder's name, with the parent folder if needed."""
    often = Counter(one.name for one in runs)
    return [one.name if often[one.name] == 1 else _name_with_parent(one.folder) for one in runs]


def _find_baseline_name(given: str, names: Sequence[str]) -> str:
    """Return the name that a name or a folder refers to; raises InputError if there is none."""
    for wanted in (given, Path(given).name, _name_with_parent(Path(given))):
        if wanted in names:
            return wanted
    raise InputError(
        f"The baseline {given!r:.80} is none of the runs.",
        f"Choose one of: {', '.join(names):.200}.",
        code="unknown-run",
    )


def _name_with_parent(folder: Path) -> str:
    return "/".join(folder.absolute().parts[-2:])


def _average_groups(boards: Sequence[TaskLeaderboard]) -> GroupMeans:
    """Average over groups of tasks by model and tokenization, after averaging runs on a task."""
    # 1. Model and tokenization → task → its runs; the folds of a task count as one task.
    found: dict[str, dict[str, list[RunStanding]]] = {}
    for board in boards:
        for one in board.standings:
            if one.counts:
                tasks = found.setdefault(f"{one.model} · {one.tokenization}", {})
                tasks.setdefault(without_fold(board.task), []).append(one)

    # 2. The mean score on each task, and the number of collapsed runs.
    scores, collapsed = {}, {}
    for model, tasks in found.items():
        scores[model] = {
            task: sum(one.headline.mean for one in standings) / len(standings)
            for task, standings in tasks.items()
        }
        collapsed[model] = {
            task: sum(len(one.collapsed_seeds) for one in standings)
            for task, standings in tasks.items()
        }
    return average_groups(scores, groups(), collapsed)
