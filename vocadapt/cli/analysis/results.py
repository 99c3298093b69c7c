"""results: leaderboards of fine-tuned runs, compared with a baseline; score: score the predictions
of any program.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from vocadapt.analysis.results.results import Side, build_group_table
from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    allow_other_fields,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.tables import describe_kind, format_facts, format_number, format_table
from vocadapt.cli.workspace_options import WORKSPACE
from vocadapt.errors import InputError
from vocadapt.lab.results.leaderboards import Results, build_results
from vocadapt.lab.results.runs import RunSet, describe_unreadable, list_runs_and_errors, open_runs
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.latex import write_latex
from vocadapt.report.markdown import write_markdown
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal
from vocadapt.report.text import flatten_text
from vocadapt.training.examples.examples import UNITS, Predictions, Split
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS
from vocadapt.training.scoring.counts import Rules, Score, Scorer
from vocadapt.training.scoring.uncertainty import (
    Comparison,
    Draws,
    bootstrap,
    compare_tallies,
)
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.predictions import build_tally

EXPORTS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    "csv": write_csv,
    "markdown": write_markdown,
    "latex": write_latex,
}


class ScoreInterval(TypedDict):
    """A bootstrap interval of the metric."""

    low: float
    high: float
    level: float
    rounds: int
    seed: int


class ScoreValues(TypedDict):
    """A score with its definition; its figures, such as f1, stand beside these names."""

    scorer: str
    definition: str
    rules: dict[str, Any]
    metric: str
    classes: NotRequired[str]
    units: int
    by_label: dict[str, dict[str, float | int]]
    interval: NotRequired[ScoreInterval]
    against: NotRequired[Comparison]


class ScoreAnswer(ScoreValues):
    """The first score, and all of them; its figures, such as f1, stand beside these names."""

    kind: str
    gold: str
    predicted: str
    scores: dict[str, ScoreValues]
    notes: dict[str, int | str]


allow_other_fields(float, ScoreValues, ScoreAnswer)


def _results(options: Options) -> Answer[Results]:
    draws = read_settings(options, Draws)
    baseline = None
    if draws.rounds < 1:
        raise InputError("Expected at least one resample.", "For example: --rounds 1000.")
    if options.baseline:
        baseline = Side(options.baseline, options.baseline_tokenization)
    elif options.baseline_tokenization:
        raise InputError(
            "A tokenization of the baseline was given, but no baseline.",
            "Add --baseline RUN.",
        )

    # 1. The named runs, or all runs of the workspace.
    workspace = Workspace(Path(options.workspace))
    unreadable = dict[str, str]()
    if options.runs:
        runs = [_open_named(given, workspace) for given in options.runs]
    else:
        runs, unreadable = list_runs_and_errors(workspace)
    note = flatten_text(describe_unreadable(unreadable, len(runs) + len(unreadable)))
    found = [run for run in runs if options.task in ("", run.task)]
    if not found:
        raise _explain_no_run(options, runs, note)

    # 2. Their leaderboards.
    results = build_results(found, baseline, options.scorer, draws)
    tables = [board.build_table() for board in results.tasks]
    if options.format in EXPORTS:
        text = EXPORTS[options.format](tables).rstrip("\n")
    else:
        if results.groups:
            tables.append(build_group_table(results.groups))
        text = "\n\n".join(filter(None, [*map(write_terminal, tables), note]))
    return Answer(replace(results, unreadable=unreadable), text)


def _explain_no_run(options: Options, runs: Sequence[RunSet], note: str) -> InputError:
    """Return the error for a task without runs, with the tasks that have some."""
    problem, remedy = "There are no runs.", "Create one with finetune."
    if runs:
        problem = f"There is no run on {options.task!r:.60}."
        remedy = f"Tasks with runs: {', '.join(dict.fromkeys(run.task for run in runs))}."
    return InputError(f"{problem} {note}".strip(), remedy)


def _open_named(given: str, workspace: Workspace) -> RunSet:
    # A folder takes precedence over a run of the workspace with the same name.
    path = Path(given)
    if not os.path.exists(path) and given in map(attrgetter("name"), workspace.artifacts("runs")):
        path = workspace.folder("runs", given)
    return open_runs(path)


RESULTS = Command(
    _results,
    (
        option(
            "runs",
            nargs="*",
            metavar="RUN",
            help="run folders written by finetune, or names of runs in the workspace (default: all"
            " of them)",
        ),
        WORKSPACE,
        option("--task", default="", metavar="T", help="task whose runs are listed"),
        option(
            "--baseline",
            default="",
            metavar="RUN",
            help="run to which differences and tests refer",
        ),
        option(
            "--baseline-tokenization",
            choices=ALL_TOKENIZATIONS,
            default="",
            help="tokenization of the baseline (default pooled, or its only one)",
        ),
        option("--scorer", default="", metavar="S", help="scorer to use instead of the task's"),
        option(
            "--format",
            choices=("table", *EXPORTS),
            default="table",
            help="format of the text output (default table)",
        ),
        setting_options(Draws, "rounds", "seed"),
    ),
)


def _score(options: Options) -> Answer[ScoreAnswer]:
    # 1. The settings.
    draws = read_settings(options, Draws)
    rules = read_settings(options, Rules)
    if options.against and not draws.rounds:
        raise InputError(
            "--against needs resamples for its interval and its test.",
            "Give --rounds, for example --rounds 1000, or leave --against out.",
        )
    kind = TASK_KINDS[options.kind]
    scorers = [kind.scorer(name) for name in options.scorer or [""]]

    # 2. The files. The labels of the gold file stay unchanged.
    path = Path(options.gold)
    gold = kind.read_gold(path)
    if not gold.labeled:
        raise InputError(
            f"{path}: holds no labels, so nothing can be scored.",
            "Give a gold file with labels.",
        )
    predicted = kind.read_predictions(Path(options.predicted), gold)
    against = None
    if options.against:
        against = kind.read_predictions(Path(options.against), gold)

    # 3. The scores.
    scores, parts = {}, []
    for scorer in scorers:
        scores[scorer.name], text = _score_once(
            scorer, gold, predicted, against, rules, draws, options.example_unit
        )
        parts.append(text)
    notes = {name: value for name, value in {**gold.notes, **predicted.notes}.items() if value}
    given = {"kind": kind.name, "gold": options.gold, "predicted": options.predicted}
    answer = {**scores[scorers[0].name], **given, "scores": scores, "notes": notes}
    text = "\n\n".join([*parts, format_facts(notes)]).rstrip()
    return Answer(cast(ScoreAnswer, answer), text)


def _score_once(
    scorer: Scorer,
    gold: Split,
    predicted: Predictions,
    against: Predictions | None,
    rules: Rules,
    draws: Draws,
    unit: str,
) -> tuple[dict[str, Any], str]:
    tally = build_tally(gold, predicted.predicted, scorer, rules, unit)
    score = scorer.score_tally(tally, rules)
    definition = f"{scorer.name}: {score.definition}"
    for name, value in score.rules.items():
        if not isinstance(value, str):
            value = json.dumps(value)
        definition += f"; {name}: {value}"
    values = score.to_dict()
    lines = [definition, _render_figures(score)]
    # --rounds 0 skips the interval, which is faster.
    if draws.rounds:
        interval = bootstrap(scorer, tally, rules, draws)
        values["interval"] = asdict(interval) | {"rounds": draws.rounds, "seed": draws.seed}
        lines.append(
            f"{scorer.headline}: {interval.describe(format_number)}"
            f" ({draws.rounds:,} resamples of {score.units:,} units)"
        )
    if against is not None:
        other = build_tally(gold, against.predicted, scorer, rules, unit)
        compared = compare_tallies(scorer, other, tally, rules, draws)
        values["against"] = asdict(compared)
        lines.append(_describe_comparison(compared, draws))
    return values, "\n".join(lines)


def _render_figures(score: Score) -> str:
    """Render the figures of a score, and those of each label if there are several."""
    header = ["", *score.values]
    total = ["score", *score.values.values()]
    if score.by_label:
        for side in ("gold", "predicted"):
            header.append(side)
            total.append(sum(int(own[side]) for own in score.by_label.values()))
    rows = [total]
    if len(score.by_label) > 1:
        for name, own in score.by_label.items():
            rows.append([name, *(own[column] for column in header[1:])])
    return format_table(header, rows)


def _describe_comparison(found: Comparison, draws: Draws) -> str:
    mcnemar = ""
    if found.p_mcnemar is not None:
        mcnemar = f", exact McNemar p = {format_number(found.p_mcnemar)}"
    elif found.scorer == "accuracy":
        mcnemar = ", no McNemar test: it needs single examples as units, not documents"
    return (
        f"against the other predictions: {format_number(found.a)} → {format_number(found.b)},"
        " difference"
        f" {found.difference:+.4f} ({found.interval.describe('{:+.4f}'.format)}), approximate"
        f" randomization p = {format_number(found.p_randomisation)}{mcnemar}"
    )


def _describe_files() -> str:
    parts = ["files and scores, by the kind of task:"]
    for kind in TASK_KINDS.values():
        scorers = ", ".join(scorer.name for scorer in kind.scorers())
        parts += [
            describe_kind(kind.name, f"gold: {kind.file_format}"),
            describe_kind("", f"predictions: {kind.prediction_format}"),
            describe_kind("", f"scores: {scorers}"),
        ]
    return "\n".join(parts)


SCORE = Command(
    _score,
    (
        option("--gold", metavar="F", required=True, help="gold labels"),
        option("--predicted", metavar="F", required=True, help="predictions"),
        option("--kind", choices=TASK_KINDS, required=True, help="kind of task"),
        option(
            "--scorer",
            nargs="+",
            metavar="S",
            default=[],
            help="scorers by name, the headline one first (default: the kind's own)",
        ),
        option(
            "--against",
            metavar="F",
            help="other predictions for a paired test against --predicted",
        ),
        setting_options(Rules),
        option(
            "--example-unit",
            choices=UNITS,
            default="",
            help="unit of resampling and of example-f1 (default example; for example-f1 document,"
            " if known)",
        ),
        setting_options(Draws),
    ),
    epilog=_describe_files(),
)
