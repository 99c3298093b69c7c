"""Estimates of the time, disk space and energy of the remaining cells of a study.

They assume an idle machine.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from vocadapt.lab.experiments.studies.cell_step import CellStep
from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.steps.adapt_cost import estimate_adaptation, estimate_vectors
from vocadapt.lab.steps.finetune import limit_task, list_folds, load_task
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.lab.workspace.manifest import read_manifest
from vocadapt.lab.workspace.rates import read_workspace_rates
from vocadapt.models.language_model import open_model
from vocadapt.system.footprint import Footprint, estimate_footprint
from vocadapt.training.estimates import (
    THREADS_OF_SPEED,
    estimate,
    estimate_finetuning_speed,
)
from vocadapt.training.tasks.task import Task

START_UP = 6.0  # seconds in which a worker imports its libraries, once
Limited = tuple[str, int, int]  # task, limit of its examples, fold


@dataclass(frozen=True)
class GridEstimate:
    """Estimate for the remaining cells of a study. seconds_alone: one cell after the other;
    seconds: on all workers; bytes: to write; basis: what the times are derived from.
    """

    cells: int
    seconds_alone: float
    seconds: float
    bytes: int
    basis: str


def estimate_grid(grid: Grid, root: Path, workers: int) -> GridEstimate:
    """Estimate the remaining cells of a study.

    The time of a cell is the mean time of the finished cells of its row and task; without one, a
    cost model estimates it from the number of examples and the size of the network. A cost model
    also estimates the time of word vectors and adapted models, scaled by the speed of the finished
    ones. Nothing is downloaded: the grid was expanded, so a hub model is in the local cache.
    """
    left = [cell for cell in grid.cells if not cell.step.is_whole(root)]
    missing = {step.name for step in grid.list_missing(root)}
    vectors, models = list(grid.vectors.values()), list(grid.models.values())
    known = _measure_finished(grid, root)
    modeled: dict[tuple[str, str], float] = {}
    tasks: dict[Limited, Task] = {}
    seconds = _estimate_steps(vectors, missing, root, _model_vectors)
    seconds += _estimate_steps(models, missing, root, _model_adaptation)
    for cell in left:
        place = (cell.row, cell.task)
        if place not in known and place not in modeled:
            modeled[place] = _model_cost(cell, grid, root, tasks)
        seconds += known.get(place, modeled.get(place, 0.0))
    basis = "finished cells"
    if modeled:
        basis = "a cost model" if not known else "finished cells and a cost model"
    if any(one.name in missing and one.spec.settings.recipe.trains_embeddings for one in models):
        basis += ", without the training of new embeddings through the network"
    written = sum(one.spec.estimate_bytes() for one in vectors if one.name in missing)
    written += sum(
        measure_weights(one.spec.inputs["model"][0]) for one in models if one.name in missing
    )
    if grid.study.keep_weights:
        written += sum(_measure_weights(cell) for cell in left)
    start_up = START_UP if left else 0.0
    shared = seconds / max(1, workers)
    return GridEstimate(len(left), seconds + start_up, shared + start_up, written, basis)


def estimate_energy(cost: GridEstimate, grid: Grid, root: Path) -> Footprint:
    """Estimate energy and CO2 of the remaining cells, with the rates of the workspace."""
    return estimate_footprint(cost.seconds_alone, grid.study.threads, read_workspace_rates(root))


def _estimate_steps(
    steps: Sequence[CellStep],
    missing: Collection[str],
    root: Path,
    model_cost: Callable[[CellStep], float],
) -> float:
    """Estimate the seconds of the missing steps by a cost model, scaled by the speed of the
    finished ones.
    """
    modeled = sum(model_cost(step) for step in steps if step.name in missing)
    finished = [step for step in steps if step.is_whole(root)]
    if not modeled or not finished:
        return modeled
    taken = sum(read_manifest(step.find_folder(root)).seconds for step in finished)
    return modeled * taken / sum(map(model_cost, finished))


def _model_adaptation(step: CellStep) -> float:
    return estimate_adaptation(replace(step.spec, offline=True), step.threads)


def _model_vectors(step: CellStep) -> float:
    return estimate_vectors(replace(step.spec, offline=True), step.spec.settings.word2vec)


def _measure_weights(cell: Cell) -> int:
    """Return the bytes of the weights of a cell's model, at least those of the original."""
    return measure_weights(find_source(cell).inputs["model"][0])


def find_source(cell: Cell) -> Spec:
    """Return the step whose input is the original model: an adapted one has the same layers."""
    if cell.step.needs:
        return cell.step.needs.spec
    return cell.step.spec


def _measure_finished(grid: Grid, root: Path) -> dict[tuple[str, str], float]:
    """Return (row, task) → mean seconds of its finished cells."""
    taken: dict[tuple[str, str], list[float]] = {}
    for cell in grid.cells:
        if cell.step.is_whole(root):
            seconds = read_manifest(cell.step.find_folder(root)).seconds
            taken.setdefault((cell.row, cell.task), []).append(seconds)
    return {place: mean(own) for place, own in taken.items()}


def _model_cost(cell: Cell, grid: Grid, root: Path, tasks: dict[Limited, Task]) -> float:
    """Return the seconds of a cell by the cost model, from its task and the size of the network."""
    settings = cell.step.spec.settings
    # 1. The examples. Every fold is estimated by the first one.
    folds = list_folds(cell.step.spec, settings)
    key = (cell.task, settings.limit, folds[0])
    if key not in tasks:
        first = load_task(cell.step.spec, replace(settings, fold=folds[0]))
        tasks[key] = limit_task(first, settings.limit)[0]
    task = tasks[key]

    # 2. The speed.
    config = _read_config(find_source(cell))
    speed = estimate_finetuning_speed(task, settings.finetune, config)
    speed *= grid.study.threads / THREADS_OF_SPEED
    tokenization = settings.tokenization or "base"
    return len(folds) * estimate(task, settings.finetune, tokenization, 1, speed, "").seconds


def _read_config(spec: Spec) -> Mapping[str, Any]:
    return open_model(spec.inputs["model"][0], offline=True).config
