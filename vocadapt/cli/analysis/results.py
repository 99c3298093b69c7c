"""results: the leaderboards of fine-tuned runs, against a baseline."""

import os
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vocadapt.analysis.results.results import TaskLeaderboard
from vocadapt.analysis.results.tables import (
    describe_collapsed,
    describe_leaderboard,
    flatten_text,
    format_csv_table,
    format_group_mean,
    format_latex_tables,
    format_markdown_tables,
    format_mean_and_sd,
    format_p_value,
    format_points,
)
from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_table
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.runs import RunSet, describe_unreadable, list_runs_and_errors, open_runs
from vocadapt.lab.reports.results import GroupMeans, build_results
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import Progress
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS
from vocadapt.training.scoring.uncertainty import Draws

EXPORTS: Mapping[str, Callable[[Sequence[TaskLeaderboard]], str]] = {
    "csv": format_csv_table,
    "markdown": format_markdown_tables,
    "latex": format_latex_tables,
}


def _add_options(parser: Parser) -> None:
    where = (
        "run folders written by finetune, or names of runs in the workspace (default: all of them)"
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=where)
    parser.add_argument(
        "--workspace",
        metavar="W",
        default="workspace",
        help="workspace folder (default ./workspace)",
    )
    parser.add_argument("--task", default="", metavar="T", help="task whose runs are listed")
    parser.add_argument(
        "--baseline",
        default="",
        metavar="RUN",
        help="run to which differences and tests refer",
    )
    parser.add_argument(
        "--baseline-tokenization",
        choices=ALL_TOKENIZATIONS,
        default="",
        help="tokenization of the baseline (default pooled, or its only one)",
    )
    parser.add_argument(
        "--scorer", default="", metavar="S", help="scorer to use instead of the task's"
    )
    parser.add_argument(
        "--format",
        choices=("table", *EXPORTS),
        default="table",
        help="format of the text output (default table)",
    )
    add_settings(parser, Draws, "rounds", "seed")


def _results(options: Namespace, progress: Progress) -> Answer:
    draws = read_settings(options, Draws)
    if draws.rounds < 1:
        raise InputError("Expected at least one draw.", "Such as --rounds 1000.")
    if options.baseline_tokenization and not options.baseline:
        raise InputError(
            "A tokenization of the baseline was given, and no baseline.",
            "Give --baseline RUN, too.",
        )
    workspace = Workspace(Path(options.workspace))
    named = [_open_named(given, workspace) for given in options.runs]
    runs, broken = (named, {}) if named else list_runs_and_errors(workspace)
    found = [one for one in runs if options.task in ("", one.task)]
    unread = flatten_text(describe_unreadable(broken, len(runs) + len(broken)))
    if not found:
        which = f" on {options.task!r:.60}" if options.task and runs else ""
        there = ", ".join(dict.fromkeys(one.task for one in runs))
        remedy = f"There: {there}." if there else "finetune makes one."
        raise InputError(" ".join(filter(None, (f"There is no run{which}.", unread))), remedy)
    baseline = (options.baseline, options.baseline_tokenization) if options.baseline else None
    results = build_results(found, baseline, options.scorer, draws)
    export = EXPORTS.get(options.format)
    text = (
        export(results.boards).rstrip("\n")
        if export
        else _render(results.boards, results.groups, unread)
    )
    return Answer({**results.to_dict(), "unreadable": broken}, text)


def _open_named(given: str, workspace: Workspace) -> RunSet:
    """Open a folder of runs, or runs of the workspace by name."""
    path = Path(given)
    if not os.path.exists(path) and given in {
        artifact.name for artifact in workspace.artifacts("runs")
    }:
        path = workspace.folder("runs", given)
    return open_runs(path)


def _render(boards: Sequence[TaskLeaderboard], groups: GroupMeans, unread: str) -> str:
    parts = [_render_board(board) for board in boards]
    if groups:
        names = list(dict.fromkeys(name for own in groups.values() for name in own))
        rows = [
            (model, *(format_group_mean(own[name]) for name in names))
            for model, own in groups.items()
        ]
        parts.append(
            "Means over groups of tasks, of how many\n" + format_table(("model", *names), rows)
        )
    return "\n\n".join([*parts, *filter(None, [unread])])


def _render_board(board: TaskLeaderboard) -> str:
    rows = [
        (
            flatten_text(one.name),
            one.tokenization,
            len(one.seeds),
            format_mean_and_sd(one),
            f"{one.interval.low:.3f} to {one.interval.high:.3f}",
            format_points(one.delta),
            format_p_value(one.test.p_randomisation if one.test else None),
            "; ".join(filter(None, (one.verdict, describe_collapsed(one)))),
        )
        for one in board.standings
    ]
    header = (
        "run",
        "tokenization",
        "seeds",
        f"{board.metric}, mean ± sd",
        "95 % interval",
        "Δ points",
        "p",
        "",
    )
    return "\n".join(
        [
            flatten_text(board.task),
            format_table(header, rows),
            "",
            *map(flatten_text, (describe_leaderboard(board), *board.findings)),
        ]
    )


RESULTS = Command(_add_options, _results)
