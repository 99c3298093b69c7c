"""Plans of published tables: which cells this machine can compute, and how long it takes."""

from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.lab.experiments.published.materials import Materials, list_needs
from vocadapt.lab.experiments.published.measures import MEASURES, find_missing
from vocadapt.lab.experiments.published.trainings import METHOD, Scale, plan_trainings
from vocadapt.lab.experiments.studies.estimates import estimate_grid
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.places import count_workers
from vocadapt.published.tables import PublishedTable
from vocadapt.report.table import Column
from vocadapt.system.forecasts import Forecast, Work

HOUR = 3600
NOT_AVAILABLE = "not available: "  # the beginning of a refusal for lack of material
COLUMNS = (
    Column("table", "Table"),
    Column("cells", "Cells", format="number"),
    Column("published", "Published", "Cells whose published value is at hand.", "number"),
    Column("computable", "Computable", "Cells that this machine can compute.", "number"),
    Column("hours", "Hours", "Hours of training.", "number"),
    Column("remark", "Remark"),
    Column("method", "Is computed by"),
)


@dataclass(frozen=True)
class PlannedTable:
    """Which cells of a table can be computed here, and how long their training takes on an idle
    machine.

    published: cells whose published value is at hand; computable: cells that this machine can
    compute; method: how; study: what produces the published values; trainings: number that remains;
    refusal: why nothing is computed, "" if something is; needs: what the other cells lack, and how
    to get it.
    """

    table: str
    title: str
    source: str
    where: str
    cells: int
    published: int
    computable: int
    method: str
    study: str
    hours: float
    trainings: int
    refusal: str
    needs: tuple[str, ...]
    command: str

    @property
    def remark(self) -> str:
        """Whether its training would take too long."""
        return "not started" if self.hours and self.refusal else ""

    @property
    def forecast(self) -> Forecast:
        """How long its training takes."""
        seconds = self.hours * HOUR
        return Forecast(Work(self.trainings, "cells", seconds), 0.0, seconds, "")


def plan_table(
    table: PublishedTable, materials: Materials, scale: Scale, root: Path, workers: int = 0
) -> PlannedTable:
    """Find out which cells of a table can be computed here, and how long their training takes.

    root: folder of the study that trains them. workers: trainings at once, 0 for as many as fit.
    """
    if table.method == METHOD:
        return _plan_trained(table, materials, scale, root, workers)
    if table.method not in MEASURES:
        return _build_plan(table, "not computed here", 0, (table.needs,))
    missing = find_missing(table, materials)
    computable = len(table.cells) - len(missing)
    about = MEASURES[table.method].about
    return _build_plan(table, about, computable, list_needs(missing.values()))


def _build_plan(
    table: PublishedTable, method: str, computable: int, needs: tuple[str, ...]
) -> PlannedTable:
    refusal = "" if computable else f"{NOT_AVAILABLE}it needs {'; '.join(needs)}"
    return PlannedTable(
        table=table.id,
        title=table.title,
        source=table.source.citation,
        where=table.where,
        cells=len(table.cells),
        published=sum(cell.at_hand for cell in table.cells),
        computable=computable,
        method=method,
        study=table.study,
        hours=0.0,
        trainings=0,
        refusal=refusal,
        needs=needs,
        command=f"python -m vocadapt reproduce {table.id}",
    )


def _plan_trained(
    table: PublishedTable, materials: Materials, scale: Scale, root: Path, workers: int
) -> PlannedTable:
    """Plan the trainings of a table, which are not started if they take too long."""
    plan = plan_trainings(table, materials, scale)
    needs = list_needs(plan.missing.values())
    if plan.study is None:
        return _build_plan(table, "fine-tune its models on its tasks", 0, needs)
    models = f"{len(plan.variants)} model{'s' * (len(plan.variants) > 1)}"
    tasks = f"{len(plan.tasks)} task{'s' * (len(plan.tasks) > 1)}"
    grid = expand(plan.study, root, workspace=materials.workspace)
    cost = estimate_grid(grid, root, count_workers(workers, plan.study))
    hours = cost.forecast.total_idle_seconds / HOUR
    refusal = ""
    if scale.seconds and hours * HOUR > scale.seconds:
        needed = f"{hours:.1f}" if hours >= 0.1 else "less than 0.1"
        refusal = f"needs {needed} hours"
    return replace(
        _build_plan(table, f"fine-tune {models} on {tasks}", len(plan.cells), needs),
        hours=hours,
        trainings=cost.cells,
        refusal=refusal,
    )
