"""Plans of published tables: which cells this machine can compute, and how long it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.lab.experiments.published.materials import (
    Materials,
    advise_model,
    advise_task,
    list_needs,
)
from vocadapt.lab.experiments.published.measures import ABSTRACTS, DISEASES, MEASURES, Place
from vocadapt.lab.experiments.published.trainings import (
    METHOD,
    SCALES,
    Scale,
    count_collapsed,
    plan_honest_trainings,
    plan_trainings,
)
from vocadapt.lab.experiments.studies.estimates import estimate_grid
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.places import count_workers
from vocadapt.published.base_models import shorten_name
from vocadapt.published.tables import PublishedCell, PublishedTable
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
    """Which cells of a table can be computed here, and how long their training takes on an idle machine.

    published: cells whose published value is at hand; computable: cells that this machine can compute;
    method: how; study: what produces the published values; trainings: number that remains; refusal: why
    nothing is computed, "" if something is; needs: what the other cells lack, and how to get it.
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
    """Return the plan of a table without trainings."""
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
    """Plan the trainings of a table. It is not started if it takes too long, or if its first variant
    or all others collapse: then the smallest honest version is that of a larger scale.
    """
    # 1. The trainings at this scale.
    plan = plan_honest_trainings(table, materials, scale, root)
    needs = list_needs(plan.missing.values())
    if plan.study is None:
        return _build_plan(table, "fine-tune its models on its tasks", 0, needs)
    models = f"{len(plan.variants)} model{'s' * (len(plan.variants) > 1)}"
    tasks = f"{len(plan.tasks)} task{'s' * (len(plan.tasks) > 1)}"
    about = f"fine-tune {models} on {tasks}"
    grid = expand(plan.study, root, workspace=materials.workspace)
    cost = estimate_grid(grid, root, count_workers(workers, plan.study))
    found = replace(
        _build_plan(table, about, len(plan.cells), needs),
        hours=cost.forecast.total_idle_seconds / HOUR,
        trainings=cost.cells,
    )

    # 2. Refuse them if they collapsed, or if they take too long.
    collapsed, finished = count_collapsed(grid.cells, root)
    if scale.larger and collapsed:
        hours = _estimate_hours(table, materials, scale, root, workers)
        refusal = (
            f"needs {_format_hours(hours)}, at scale {scale.larger}: {collapsed:,} of"
            f" {finished:,} runs collapsed at this one"
        )
        return replace(found, hours=hours, refusal=refusal)
    if scale.seconds and found.hours * HOUR > scale.seconds:
        return replace(found, refusal=f"needs {_format_hours(found.hours)}")
    return found


def _estimate_hours(
    table: PublishedTable, materials: Materials, scale: Scale, root: Path, workers: int
) -> float:
    """Estimate the hours of training at the scale that is larger than another one."""
    study = plan_trainings(table, materials, SCALES[scale.larger]).study
    if study is None:
        return 0.0
    grid = expand(study, root, workspace=materials.workspace)
    cost = estimate_grid(grid, root, count_workers(workers, study))
    return cost.forecast.total_idle_seconds / HOUR


def _format_hours(hours: float) -> str:
    if hours < 0.1:
        return "less than 0.1 hours"
    return f"{hours:.1f} hours"


def find_missing(table: PublishedTable, materials: Materials) -> dict[Place, str]:
    """Return (row, column) → what is missing, for the cells of a table without training."""
    needs = MEASURES[table.method].needs
    bases = {column.name: column.base_model for column in table.columns}
    known: dict[str, str] = {}
    missing = {}
    for cell in table.cells:
        models = _list_models(cell, bases)
        for name in models:
            if name not in known:
                stand_in = name == table.columns[0].base_model
                known[name] = _find_missing_material(needs, name, materials, stand_in)
        lacking = [known[name] for name in models if known[name]]
        if lacking:
            missing[cell.row, cell.column] = lacking[0]
    return missing


def _list_models(cell: PublishedCell, bases: dict[str, str]) -> Sequence[str]:
    """Return the models of a cell: that of its column, and of its row if rows are models."""
    return (*filter(None, [bases.get(cell.row)]), cell.facts.base_model)


def _find_missing_material(needs: str, name: str, materials: Materials, stand_in: bool) -> str:
    """Return what is missing of a model; "" for nothing."""
    if needs == "benchmark" and materials.find_task(DISEASES) is None:
        return advise_task(DISEASES)
    if needs == "weights" and materials.find_model(name, stand_in) is None:
        return advise_model(name)
    if needs == "text" and materials.find_text(ABSTRACTS) is None:
        return (
            f'a text of PubMed abstracts (a file with "{ABSTRACTS}" in its name, in a folder text)'
        )
    if needs in ("vocabulary", "text"):
        if name == "none":
            return "a property of the term, not of a vocabulary"
        if materials.find_vocabulary(name) is None:
            return f"the vocabulary of {shorten_name(name)}"
    return ""
