"""Reproduce a table: plan, compute the cells that can be, compare each with the published one."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from vocadapt.lab.experiments.published.materials import Materials
from vocadapt.lab.experiments.published.measures import Place, measure_cells
from vocadapt.lab.experiments.published.plan import NOT_AVAILABLE, PlannedTable, plan_table
from vocadapt.lab.experiments.published.trainings import (
    METHOD,
    Scale,
    plan_trainings,
    run_trainings,
    score_trainings,
)
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.steps.step import Numbers
from vocadapt.progress import Progress, silent
from vocadapt.published.comparison import Comparison, Score, compare
from vocadapt.published.tables import PublishedTable
from vocadapt.report.table import Column

COLUMNS = (
    Column("table", "Table"),
    Column("computed", "Computed", "Cells with a value of ours.", "number"),
    Column("cells", "Cells", format="number"),
    Column("comparable", "Comparable", "Cells that are comparable with ours.", "number"),
    Column("seconds", "Time", format="seconds"),
    Column("state", "State"),
)


@dataclass(frozen=True)
class ReproducedCell(Comparison):
    """A cell: published value, ours, their difference, and why not if they cannot be compared."""

    row: str = ""
    column: str = ""
    comparable: bool = False


@dataclass(frozen=True)
class ReproducedTable(PlannedTable):
    """A table with our values beside the published ones.

    state: "computed", or why nothing was; computed: number of cells with a value of ours;
    comparable: of those that are comparable with the published one. failed: number of trainings
    without a result; collapsed: number of cells some of whose runs never left the majority
    baseline. script: written for SLURM instead of training; "" otherwise.
    """

    state: str
    computed: int
    comparable: int
    failed: int
    collapsed: int
    script: str
    seconds: float
    rows: tuple[ReproducedCell, ...]

    @property
    def comparisons(self) -> dict[Place, ReproducedCell]:
        """The compared cells by row and column, in the order of the table."""
        return {(one.row, one.column): one for one in self.rows}


def reproduce(
    table: PublishedTable,
    materials: Materials,
    scale: Scale,
    root: Path,
    place: StudyStep | None = None,
    progress: Progress = silent,
) -> ReproducedTable:
    """Compute the cells of a table that this machine can, and compare them with the published ones.

    root: folder of the study that all tables share; finished trainings are not repeated. place:
    where trainings run. A table that takes longer than the scale allows is not begun.
    """
    # 1. The plan.
    start = time.perf_counter()
    place = place or StudyStep()
    plan = plan_table(table, materials, scale, root, place.workers)

    # 2. The cells.
    found: dict[Place, Score | str] = {}
    collapsed: dict[Place, int] = {}
    numbers: Numbers = {}
    if table.method == METHOD and not plan.refusal:
        trainings = plan_trainings(table, materials, scale)
        numbers = run_trainings(trainings, materials, root, place, progress)
        failures = numbers["failures"]
        found, collapsed = score_trainings(table, trainings, materials, root, failures)
    elif not plan.refusal:
        found = measure_cells(table, materials, progress)

    # 3. The comparison, also of the means that the table prints.
    comparisons = compare_cells(table, found, collapsed)
    if plan.refusal:
        why = plan.refusal.removeprefix(NOT_AVAILABLE)
        comparisons = {(one.row, one.column): compare(one, None, why) for one in table.cells}
    return _describe(plan, comparisons, numbers, len(collapsed), time.perf_counter() - start)


def _describe(
    plan: PlannedTable,
    comparisons: Mapping[Place, Comparison],
    numbers: Mapping[str, Any],
    collapsed: int,
    seconds: float,
) -> ReproducedTable:
    """Return a table with its compared cells. numbers: of its study, empty without trainings."""
    return ReproducedTable(
        **vars(plan),
        state=plan.refusal or "computed",
        computed=sum(one.ours is not None for one in comparisons.values()),
        comparable=sum(one.is_comparable for one in comparisons.values()),
        failed=numbers.get("failed", 0),
        collapsed=collapsed,
        script=numbers.get("script") or "",
        seconds=seconds,
        rows=tuple(
            ReproducedCell(**vars(one), row=row, column=column, comparable=one.is_comparable)
            for (row, column), one in comparisons.items()
        ),
    )


def read_trained(
    table: PublishedTable, materials: Materials, scale: Scale, root: Path
) -> dict[Place, Comparison]:
    """Compare the cells of a table with the finished trainings, without running any."""
    trainings = plan_trainings(table, materials, scale)
    if trainings.study is None:
        return {}
    return compare_cells(table, *score_trainings(table, trainings, materials, root))


def compare_cells(
    table: PublishedTable, found: Mapping[Place, Score | str], collapsed: Mapping[Place, int]
) -> dict[Place, Comparison]:
    """Compare all cells of a table with our values, and the means that it prints with ours.

    found: our scores, or why there is none. collapsed: number of collapsed runs.
    """
    found = {**found, **_average(table, found)}
    groups = table.groups
    means = {row.name: groups[row.mean_of] for row in table.rows if row.mean_of}
    comparisons = {}
    for cell in table.cells:
        place = cell.row, cell.column
        ours = found.get(place, "not computed")
        if isinstance(ours, str):
            comparisons[place] = compare(cell, None, ours)
            continue
        compared = compare(cell, ours)
        tasks = means.get(cell.row, (cell.row,))
        if failed := sum(collapsed.get((task, cell.column), 0) for task in tasks):
            reason = f"not comparable: {failed} run{'s' * (failed > 1)} collapsed"
            compared = replace(compared, difference=None, why=reason)
        comparisons[place] = compared
    return comparisons


def _average(table: PublishedTable, found: Mapping[Place, Score | str]) -> dict[Place, Score | str]:
    """Average our scores over the groups of tasks that a table prints means of.

    A mean needs all tasks of its group.
    """
    groups = table.groups
    means: dict[Place, Score | str] = {}
    for row in table.rows:
        if not row.mean_of:
            continue
        members = groups[row.mean_of]
        for column in table.column_names:
            scores = [found.get((member, column)) for member in members]
            own = [one for one in scores if isinstance(one, Score)]
            values = [one.value for one in own if not isinstance(one.value, str)]
            if len(values) < len(members) or not values:
                means[row.name, column] = f"{len(values)} of {len(members)} tasks are computed"
                continue
            facts = table.grid[row.name, column].facts
            means[row.name, column] = replace(
                own[0], value=mean(values), sd=None, data=facts.data, scorer=facts.scorer
            )
    return means
