"""The table of a study: a row for each variant and task, compared with the baseline of its task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vocadapt.analysis.results.results import (
    COLLAPSED,
    COMPARISON,
    SEEDS,
    RunStanding,
    Side,
    TaskLeaderboard,
    build_mean_column,
    describe_test,
    judge_boards,
)
from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.results.leaderboards import build_leaderboard
from vocadapt.lab.results.runs import RunSet
from vocadapt.report.table import Column, Table
from vocadapt.training.finetune.run_files import SavedRun, load_runs

COLUMNS = (
    Column("variant", "Variant"),
    Column("task", "Task"),
    SEEDS,
    build_mean_column(""),
    *COMPARISON,
    COLLAPSED,
    *(Column(name) for name in ("tokenization", "metric", "collapsed")),
)
SCORE = (
    "The score is the headline metric of the task, for an adapted model with both tokenizations"
    " pooled; mean ± standard deviation (n − 1) over all finished seeds."
)


def build_boards(grid: Grid, root: Path) -> tuple[TaskLeaderboard, ...]:
    """Build a leaderboard for each task from the cells that are finished: the runs of each variant
    under its name, compared with the baseline where it has finished runs.

    All comparisons of a study are corrected together, since they are shown together.
    """
    finished: dict[str, dict[str, RunSet]] = {}
    for (variant, task), cells in group_cells(grid, root).items():
        runs = open_cells(cells, root)
        if runs is not None and runs.tokenizations:
            finished.setdefault(task, {})[variant] = runs
    boards = []
    for task, runs_of in finished.items():
        baseline = Side(grid.baseline, "") if grid.baseline in runs_of else None
        boards.append(build_leaderboard(task, runs_of, baseline, main_only=True))
    return judge_boards(boards)


def build_rows(grid: Grid, root: Path, boards: Sequence[TaskLeaderboard]) -> list[dict[str, Any]]:
    """Return a row for each variant and task, in the order of the file, also without runs."""
    standings = {
        (one.run, board.task): one for board in boards for one in board.standings if one.counts
    }
    rows = []
    for (variant, task), cells in group_cells(grid, root).items():
        row: dict[str, Any] = {"variant": variant, "task": task, "n": len(cells), "collapsed": 0}
        if (variant, task) in standings:
            row = _build_row(standings[variant, task], task)
        rows.append(row)
    return Table("", COLUMNS, rows).list_records()


def build_other_rows(boards: Sequence[TaskLeaderboard]) -> list[dict[str, Any]]:
    """Return a row for each variant and task under each tokenization that is not the main one."""
    return [
        _build_row(one, board.task) for board in boards for one in board.standings if not one.counts
    ]


def _build_row(one: RunStanding, task: str) -> dict[str, Any]:
    return {"variant": one.run, "task": task, "metric": one.metric, **one.build_row()}


def build_table(grid: Grid, root: Path) -> Table:
    """Build the table of a study, with the notes on its score and comparisons."""
    boards = build_boards(grid, root)
    return describe_rows(build_rows(grid, root, boards), grid, boards)


def describe_rows(
    rows: Sequence[Mapping[str, Any]], grid: Grid, boards: Sequence[TaskLeaderboard]
) -> Table:
    """Return rows as a table with its notes."""
    found = [one.difference for board in boards for one in board.standings if one.difference]
    notes = [note for note in (describe_collapsed(rows), SCORE) if note]
    if found:
        notes.append(f"Δ is to {grid.baseline}. {describe_test(found)}")
    return Table(grid.study.name, COLUMNS, rows, tuple(notes), best="mean", best_within="task")


def group_cells(grid: Grid, root: Path) -> dict[tuple[str, str], list[Cell]]:
    """Return (variant, task) → its finished cells, in the order of the file."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in grid.cells:
        finished = grouped.setdefault((cell.row, cell.task), [])
        if cell.step.is_whole(root):
            finished.append(cell)
    return grouped


def open_cells(cells: Sequence[Cell], root: Path) -> RunSet | None:
    """Open the runs of the cells of one row together; None if there are none."""
    runs: list[SavedRun] = []
    for cell in cells:
        runs += load_runs(cell.step.find_folder(root))
    if not runs:
        return None
    return RunSet(cells[0].step.find_folder(root), tuple(runs))


def describe_collapsed(rows: Sequence[Mapping[str, Any]]) -> str:
    """Describe the rows whose seeds have all collapsed, and what to change; "" without any."""
    names = [
        f"{row['variant']} on {row['task']}"
        for row in rows
        if row["n"] and row["collapsed"] == row["n"]
    ]
    if not names:
        return ""
    return (
        f"All runs collapsed: {', '.join(names)}. Their scores, and differences to them, say"
        " nothing"
        " about the variants. Train longer, with more examples, or with another learning rate."
    )
