"""Estimates of the time, disk space and energy of the remaining cells of a study.

They assume an idle machine.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from vocadapt.footprint import Footprint, estimate_footprint
from vocadapt.lab.artifacts.corpora import estimate_text_bytes
from vocadapt.lab.steps.finetune import limit_task, list_folds, load_task
from vocadapt.lab.steps.step import Spec, StepContext
from vocadapt.lab.studies.grid import Cell, Grid
from vocadapt.lab.studies.study_step import StudyStep
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.lab.workspace.manifest import read_manifest
from vocadapt.lab.workspace.rates import read_workspace_rates
from vocadapt.models.language_model import open_model
from vocadapt.progress import silent
from vocadapt.spaces.word2vec.trainer import estimate_word2vec_seconds
from vocadapt.text.words import WordCounts
from vocadapt.training.estimates import (
    WORDPIECES_PER_WORD,
    estimate,
    estimate_finetuning_speed,
    estimate_pretraining_cost,
    estimate_pretraining_speed,
)
from vocadapt.training.tasks.task import Task

START_UP = 6.0  # seconds in which a worker imports its libraries, once
# Seconds to adapt a model with given word vectors: measured with 14,067 new words for 15 MB of
# weights and 10,474 for 88 MB, with one thread.
ADAPTING = 11.0
ADAPTING_PER_MEGABYTE = 0.14  # of weights
SAMPLE = 1 << 20  # bytes at the beginning of a text whose words are counted for an estimate
BYTES_PER_WORD = 6  # of running text
Limited = tuple[str, int, int]  # task, limit of its examples, fold
THREADS_OF_SPEED = 2  # number of threads that the speed of the cost model was measured with


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
    ones.
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
        written += sum(_measure_weights(cell, grid) for cell in left)
    start_up = START_UP if left else 0.0
    shared = seconds / max(1, workers)
    return GridEstimate(len(left), seconds + start_up, shared + start_up, written, basis)


def estimate_energy(cost: GridEstimate, grid: Grid, root: Path) -> Footprint:
    """Estimate energy and CO2 of the remaining cells, with the rates of the workspace."""
    return estimate_footprint(cost.seconds_alone, grid.study.threads, read_workspace_rates(root))


def _estimate_steps(
    steps: Sequence[StudyStep],
    missing: Collection[str],
    root: Path,
    model_cost: Callable[[StudyStep], float],
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


def _model_adaptation(step: StudyStep) -> float:
    """Estimate the seconds of an adaptation by the cost model: from the size of the model and, if
    it is trained on a text, from the size of the text.
    """
    spec, recipe = step.spec, step.spec.settings.recipe
    model = spec.inputs["model"][0]
    seconds = ADAPTING + ADAPTING_PER_MEGABYTE * measure_weights(model) / 1e6
    if recipe.further.stage:
        text = StepContext(spec, Path(), None, silent).text
        wordpieces = WORDPIECES_PER_WORD * estimate_text_bytes(text) / BYTES_PER_WORD
        training = recipe.further.training
        speed = estimate_pretraining_speed(_read_config(spec), recipe.further.stage, training)
        speed *= step.threads / THREADS_OF_SPEED
        seconds += estimate_pretraining_cost(int(wordpieces), training, speed, "").seconds
    return seconds


def _model_vectors(step: StudyStep) -> float:
    """Estimate the seconds of training word vectors by the cost model: from the words at the
    beginning of the text, and from its size.
    """
    context = StepContext(step.spec, Path(), None, silent)
    words = Counter[str]()
    n_bytes = 0
    for passage in context.text.passages():
        words.update(passage.text.split())
        n_bytes += len(passage.text.encode())
        if n_bytes >= SAMPLE:
            break
    if not n_bytes:
        return 0.0
    settings = step.spec.settings.word2vec
    settings = replace(settings, dim=settings.dim or context.model.dim)
    seconds = estimate_word2vec_seconds(WordCounts(words, 0, n_bytes), settings)
    return seconds * max(1.0, estimate_text_bytes(context.text) / n_bytes)


def _measure_weights(cell: Cell, grid: Grid) -> int:
    """Return the bytes of the weights of a cell's model, at least those of the original."""
    return measure_weights(_find_source(cell, grid).inputs["model"][0])


def _find_source(cell: Cell, grid: Grid) -> Spec:
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
    context = StepContext(cell.step.spec, root, root, silent)
    folds = list_folds(context, settings)
    key = (cell.task, settings.limit, folds[0])
    if key not in tasks:
        first = load_task(context, replace(settings, fold=folds[0]))
        tasks[key] = limit_task(first, settings.limit)[0]
    task = tasks[key]

    # 2. The speed.
    config = _read_config(_find_source(cell, grid))
    speed = estimate_finetuning_speed(task, settings.finetune, config)
    speed *= grid.study.threads / THREADS_OF_SPEED
    tokenization = settings.tokenization or "base"
    return len(folds) * estimate(task, settings.finetune, tokenization, 1, speed, "").seconds


def _read_config(spec: Spec) -> Mapping[str, Any]:
    return open_model(spec.inputs["model"][0]).config
