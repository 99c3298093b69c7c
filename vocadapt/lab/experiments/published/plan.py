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
from vocadapt.system.forecasts import Forecast

HOUR = 3600


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
    """Which cells of a table can be computed here, what the others need, and hours of training."""

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


@dataclass(frozen=True)
class TablePlan:
    """Which cells of a table can be computed here. published: cells whose published value is at hand;
    computable: cells that this machine can compute; needs: what the others lack, and how to get it;
    forecast: of the training, None without any; trainings: number that remains; refusal: why nothing
    is computed, "" if something is.
    """

    table: PublishedTable
    about: str
    published: int
    computable: int
    needs: tuple[str, ...]
    forecast: Forecast | None = None
    trainings: int = 0
    refusal: str = ""

    @property
    def cells(self) -> int:
        """Number of cells of the table."""
        return len(self.table.cells)

    @property
    def hours(self) -> float:
        """Hours of training on an idle machine."""
        if self.forecast is None:
            return 0.0
        return self.forecast.total_idle_seconds / HOUR

    @property
    def command(self) -> str:
        """The command that reproduces it."""
        return f"python -m vocadapt reproduce {self.table.id}"

    def describe(self) -> PlannedTable:
        """Return the plan with facts on its table, without the cells."""
        table = self.table
        return PlannedTable(
            table=table.id,
            title=table.title,
            source=table.source.citation,
            where=table.where,
            cells=self.cells,
            published=self.published,
            computable=self.computable,
            method=self.about,
            study=table.study,
            hours=self.hours,
            trainings=self.trainings,
            refusal=self.refusal,
            needs=self.needs,
            command=self.command,
        )


def plan_table(
    table: PublishedTable, materials: Materials, scale: Scale, root: Path, workers: int = 0
) -> TablePlan:
    """Find out which cells of a table can be computed here, and how long their training takes.

    root: folder of the study that trains them. workers: trainings at once, 0 for as many as fit.
    """
    published = sum(cell.at_hand for cell in table.cells)
    if table.method == METHOD:
        return _plan_trained(table, materials, scale, root, workers, published)
    if table.method not in MEASURES:
        refusal = f"not available: it needs {table.needs}"
        return TablePlan(table, "not computed here", published, 0, (table.needs,), refusal=refusal)
    missing = find_missing(table, materials)
    needs = list_needs(missing.values())
    computable = len(table.cells) - len(missing)
    about, refusal = MEASURES[table.method].about, _refuse_without(computable, needs)
    return TablePlan(table, about, published, computable, needs, refusal=refusal)


def _plan_trained(
    table: PublishedTable,
    materials: Materials,
    scale: Scale,
    root: Path,
    workers: int,
    published: int,
) -> TablePlan:
    """Plan the trainings of a table. It is not started if it takes too long, or if its first variant
    or all others collapse: then the smallest honest version is that of a larger scale.
    """
    plan = plan_honest_trainings(table, materials, scale, root)
    needs = list_needs(plan.missing.values())
    if plan.study is None:
        about, refusal = "fine-tune its models on its tasks", _refuse_without(0, needs)
        return TablePlan(table, about, published, 0, needs, refusal=refusal)
    models, tasks = len(plan.variants), len(plan.tasks)
    about = f"fine-tune {models} model{'s' * (models > 1)} on {tasks} task{'s' * (tasks > 1)}"
    grid = expand(plan.study, root, workspace=materials.workspace)
    cost = estimate_grid(grid, root, count_workers(workers, plan.study))
    found = TablePlan(
        table, about, published, len(plan.cells), needs, cost.forecast, trainings=cost.cells
    )
    collapsed, finished = count_collapsed(grid.cells, root)
    if scale.larger and collapsed:
        found = replace(found, forecast=_forecast_scale(table, materials, scale, root, workers))
        refusal = (
            f"needs {_format_hours(found.hours)}, at scale {scale.larger}: {collapsed:,} of"
            f" {finished:,} runs collapsed at this one"
        )
        return replace(found, refusal=refusal)
    if scale.seconds and cost.forecast.total_idle_seconds > scale.seconds:
        return replace(found, refusal=f"needs {_format_hours(found.hours)}")
    return found


def _forecast_scale(
    table: PublishedTable, materials: Materials, scale: Scale, root: Path, workers: int
) -> Forecast | None:
    """Forecast the trainings of a table at the scale that is larger than another one."""
    study = plan_trainings(table, materials, SCALES[scale.larger]).study
    if study is None:
        return None
    grid = expand(study, root, workspace=materials.workspace)
    return estimate_grid(grid, root, count_workers(workers, study)).forecast


def _format_hours(hours: float) -> str:
    if hours < 0.1:
        return "less than 0.1 hours"
    return f"{hours:.1f} hours"


def _refuse_without(computable: int, needs: Sequence[str]) -> str:
    if computable:
        return ""
    return f"not available: it needs {'; '.join(needs)}"


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
