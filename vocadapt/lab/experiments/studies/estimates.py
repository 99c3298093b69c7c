"""Forecasts of the time, disk space and energy of the remaining cells of a study."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.steps.finetune import limit_task, list_folds, load_task, measure_limited_task
from vocadapt.lab.steps.forecasts import learn_rate
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.lab.workspace.rates import read_workspace_rates
from vocadapt.system.footprint import Footprint, estimate_footprint
from vocadapt.system.forecasts import DEFAULT_RATE, Forecast, Work
from vocadapt.training.tasks.task import Task

START_UP = 6.0  # seconds in which a worker imports its libraries, once
Limited = tuple[str, int, int]  # task, limit of its examples, fold


@dataclass(frozen=True)
class GridEstimate:
    """Forecast of the remaining cells of a study or search. seconds_alone: one cell after the
    other, on an idle machine; forecast: on all workers; bytes: to write.
    """

    cells: int
    seconds_alone: float
    forecast: Forecast
    bytes: int = 0


def estimate_grid(grid: Grid, root: Path, workers: int) -> GridEstimate:
    """Forecast the remaining cells of a study, with the word vectors and models that they need.

    Nothing is downloaded: the grid was expanded, so a hub model is in the local cache.
    """
    left = [cell for cell in grid.cells if not cell.step.is_whole(root)]
    missing = {step.name for step in grid.list_missing(root)}
    vectors = [one for one in grid.vectors.values() if one.name in missing]
    models = [one for one in grid.models.values() if one.name in missing]

    # 1. Word vectors and models.
    forecasts = []
    for step in (*vectors, *models):
        planned = replace(step.spec, offline=True).plan(root, threads=step.threads)
        work = planned.measure_work()
        if work is not None:
            forecasts.append(learn_rate(planned).forecast(work))

    # 2. The cells.
    forecasts += forecast_cells(left, root)

    # 3. What is written.
    written = sum(one.spec.estimate_bytes() for one in vectors)
    written += sum(measure_weights(one.spec.inputs["model"][0]) for one in models)
    if grid.study.keep_weights:
        written += sum(measure_weights(find_source(cell).inputs["model"][0]) for cell in left)
    seconds = sum(one.idle_seconds for one in forecasts)
    cost = share_work(len(left), seconds, workers, describe_basis(forecasts))
    if any(one.spec.settings.recipe.trains_embeddings for one in models):
        basis = f"{cost.forecast.basis}, without the training of new embeddings through the network"
        cost = replace(cost, forecast=replace(cost.forecast, basis=basis))
    return replace(cost, bytes=written)


def forecast_cells(cells: Sequence[Cell], root: Path | None) -> list[Forecast]:
    """Forecast each cell. Those of a row and a task differ in the seed alone.

    root: of the workspace whose earlier runs show the rate.
    """
    known: dict[tuple[str, str], Forecast] = {}
    tasks: dict[Limited, Task] = {}
    for cell in cells:
        place = (cell.row, cell.task)
        if place not in known:
            planned = cell.step.spec.plan(root, threads=cell.step.threads)
            known[place] = learn_rate(planned).forecast(_measure_cell(cell, root, tasks))
    return [known[cell.row, cell.task] for cell in cells]


def share_work(n_cells: int, seconds: float, workers: int, basis: str) -> GridEstimate:
    """Return the forecast of cells that take these seconds one after the other, on workers."""
    start_up = START_UP if n_cells else 0.0
    shared = seconds / max(1, workers)
    forecast = Forecast(Work(n_cells, "cells", shared), start_up, shared, basis)
    return GridEstimate(n_cells, seconds + start_up, forecast)


def describe_basis(forecasts: Sequence[Forecast]) -> str:
    """Describe where the rates of several forecasts come from."""
    n_default = sum(one.basis == DEFAULT_RATE for one in forecasts)
    if not n_default:
        return "from earlier runs"
    if n_default == len(forecasts):
        return "from default rates"
    return "from earlier runs and default rates"


def estimate_energy(cost: GridEstimate, threads: int, root: Path) -> Footprint:
    """Estimate energy and CO2 of cells of some threads, with the rates of a workspace."""
    return estimate_footprint(cost.seconds_alone, threads, read_workspace_rates(root))


def find_source(cell: Cell) -> Spec:
    """Return the step whose input is the original model: an adapted one has the same layers."""
    if cell.step.needs:
        return cell.step.needs.spec
    return cell.step.spec


def _measure_cell(cell: Cell, root: Path | None, tasks: dict[Limited, Task]) -> Work:
    """Return the work of a cell, with the layers of the original model; every fold as the first."""
    # 1. The task, which the cells of other rows have, too.
    spec = cell.step.spec
    folds = list_folds(spec, spec.settings)
    key = (cell.task, spec.settings.limit, folds[0])
    if key not in tasks:
        first = load_task(spec, replace(spec.settings, fold=folds[0]))
        tasks[key] = limit_task(first, spec.settings.limit)[0]

    # 2. Its work.
    model = {**spec.inputs, "model": find_source(cell).inputs["model"]}
    planned = replace(spec, inputs=model, offline=True).plan(root, threads=cell.step.threads)
    return measure_limited_task(planned, tasks[key], len(folds))
