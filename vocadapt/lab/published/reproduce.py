"""Reproduce a table: plan, run what this machine can, and compare each cell with the published one."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from vocadapt.lab.published.imports import fill_imported
from vocadapt.lab.published.materials import Materials
from vocadapt.lab.published.measures import MEASURES, Place
from vocadapt.lab.published.plan import TablePlan, plan_table
from vocadapt.lab.published.trainings import (
    METHOD,
    Scale,
    plan_trainings,
    run_trainings,
    score_trainings,
)
from vocadapt.lab.studies.grid import expand
from vocadapt.progress import Progress, silent
from vocadapt.published.comparison import Comparison, Score, compare
from vocadapt.published.means import list_groups
from vocadapt.published.tables import PublishedTable


@dataclass(frozen=True)
class Reproduction:
    """A table with our values beside the published ones.

    comparisons: by row and column, in the order of the cells. why: why nothing was computed; "" if
    something was. failed: number of trainings without a result; collapsed: number of cells some of
    whose runs never left the majority baseline.
    """

    plan: TablePlan
    comparisons: Mapping[Place, Comparison]
    seconds: float
    why: str = ""
    failed: int = 0
    collapsed: int = 0

    @property
    def table(self) -> PublishedTable:
        """The table."""
        return self.plan.table

    @property
    def computed(self) -> int:
        """Number of cells with a value of ours."""
        return sum(one.ours is not None for one in self.comparisons.values())

    @property
    def comparable(self) -> int:
        """Number of cells whose values are compared."""
        return sum(one.is_comparable for one in self.comparisons.values())


def reproduce(
    table: PublishedTable,
    materials: Materials,
    scale: Scale,
    root: Path,
    workers: int = 1,
    progress: Progress = silent,
) -> Reproduction:
    """Compute the cells of a table that this machine can, and compare them with the published ones.

    root: folder of the study that all tables share; a training that is there is not repeated. A
    table whose trainings take longer than the scale allows is not begun.

    1. Plan. Nothing runs if nothing can, or if it would take too long.
    2. Compute the cells.
    3. Average them, as the table does, and compare.
    """
    # 1. The plan.
    start = time.perf_counter()
    table = fill_imported(table, materials.workspace)
    plan = plan_table(table, materials, scale, root, workers)
    why = ""
    if plan.too_long:
        why = f"needs {plan.hours:.1f} hours"
    elif not table.method:
        why = f"needs {table.needs}"
    elif not plan.computable:
        why = f"not available: {'; '.join(plan.needs)}"
    if why:
        reason = why.removeprefix("not available: ")
        nothing = {(c.row, c.column): compare(c, None, reason) for c in table.cells}
        return Reproduction(plan, nothing, time.perf_counter() - start, why)

    # 2. The cells.
    found: dict[Place, Score | str] = {}
    collapsed: dict[Place, int] = {}
    failed = 0
    if table.method == METHOD:
        trainings = plan_trainings(table, materials, scale)
        if trainings.study is not None:
            grid = expand(trainings.study, root, workspace=materials.workspace)
            failed = run_trainings(grid, root, workers, progress).failed
            found, collapsed = score_trainings(table, trainings, grid, root)
    else:
        found = dict(MEASURES[table.method].compute(table, materials, progress))

    # 3. The comparison.
    found |= _average(table, found)
    comparisons = {}
    for cell in table.cells:
        place = cell.row, cell.column
        ours = found.get(place, "not computed")
        if isinstance(ours, str):
            comparisons[place] = compare(cell, None, ours)
            continue
        compared = compare(cell, ours)
        if place in collapsed:
            reason = f"not comparable: {collapsed[place]} of {ours.n} runs collapsed"
            compared = replace(compared, difference=None, why=reason)
        comparisons[place] = compared
    seconds = time.perf_counter() - start
    return Reproduction(plan, comparisons, seconds, failed=failed, collapsed=len(collapsed))


def _average(table: PublishedTable, found: Mapping[Place, Score | str]) -> dict[Place, Score | str]:
    """Average our scores over the groups of tasks that a table prints means of.

    A mean needs all tasks of its group.
    """
    groups = list_groups(table)
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
