"""A study expanded into steps: the adapted models, made once each, and the cells that train on them.

A step is identified by a digest of all that determines its result: settings, contents of its inputs
and number of threads. Its name ends in the digest, so after a change of the file all results that did
not change are found again. A result keeps its first name, even if its variant is renamed.

Example: two variants, one of them adapted, three tasks and four seeds are 24 cells and one model.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given, read_given, read_settings
from vocadapt.lab.artifacts.tasks import find_task
from vocadapt.lab.steps.adapt import ModelStep, check_model_step
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import Spec, StepContext
from vocadapt.lab.studies.study_file import Study, StudyTask, Variant, iterate_chosen
from vocadapt.lab.workspace.manifest import MANIFEST, record_input
from vocadapt.lab.workspace.workspace import Workspace, simplify_name
from vocadapt.models.language_model import open_model
from vocadapt.progress import silent
from vocadapt.recipe_changes import choose_recipe
from vocadapt.training.finetune.settings import FinetuneSettings, training_preset
from vocadapt.training.tasks.task import list_task_files

MANY_CELLS = 10_000  # more must be confirmed
DIGEST = 16  # hexadecimal digits in a name: enough for the cells of many studies
STEP_NAME = re.compile(rf".+-([0-9a-f]{{{DIGEST}}})")  # the name of a step; group 1: its digest
LONGEST = 60  # characters of a name before its digest
MODELS = ("model", "target")  # roles of models


@dataclass(frozen=True)
class StudyStep:
    """A step of a study: what it runs, and the name of its artifact.

    `threads`: number of threads that it is computed with. `needs`: name of the adapted model that it
    starts from; "" if the study does not make its model. `stamps`: role → stamp of the inputs that
    the study does not make itself.
    """

    name: str
    spec: Spec
    threads: int
    needs: str = ""
    stamps: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The digest of all that determines its result."""
        return self.name[-DIGEST:]

    @property
    def title(self) -> str:
        """Its name without the digest."""
        return self.name[: -DIGEST - 1]

    def find_folder(self, root: Path) -> Path:
        """Return the folder of its artifact in a study's folder."""
        return root / self.spec.kind / self.name

    def is_whole(self, root: Path) -> bool:
        """Return whether its artifact is complete: the manifest is written last."""
        return (self.find_folder(root) / MANIFEST).is_file()


@dataclass(frozen=True)
class Cell:
    """One fine-tuning: a variant (and its text) on a task with a seed."""

    variant: str
    corpus: str
    task: str
    seed: int
    step: StudyStep

    @property
    def row(self) -> str:
        """Name of its row in the table: the variant, and its text if there are several."""
        return name_row(self.variant, self.corpus)


@dataclass(frozen=True)
class Grid:
    """All steps of a study: adapted models by name, then the cells in the order of the file."""

    study: Study
    models: Mapping[str, StudyStep]
    cells: tuple[Cell, ...]

    @cached_property
    def steps(self) -> tuple[StudyStep, ...]:
        """The distinct steps: models first, then those of the cells."""
        cells = {cell.step.name: cell.step for cell in self.cells}
        return (*self.models.values(), *cells.values())

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows, in the order of the file."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def baseline(self) -> str:
        """The row that others are compared with: the first, or the one that the file names."""
        wanted = self.study.baseline
        return next((c.row for c in self.cells if wanted in ("", c.variant)), "")


def name_row(variant: str, corpus: str) -> str:
    """Return the name of a row: green, or green · pubmed with one of several texts."""
    if not corpus:
        return variant
    return f"{variant} · {corpus}"


def expand(
    study: Study, root: Path, confirmed: int = 0, workspace: Workspace | None = None
) -> Grid:
    """Expand a study into its steps, with the artifacts of a study's folder at `root`.

    confirmed: number of cells that the user has agreed to. workspace: where tasks are looked up by
    name. Raises InputError for a grid of no cells, for one of more than MANY_CELLS that was not
    confirmed, and for settings that do not fit.

    1. List the cells.
    2. Build the adapted model of each variant and text, once.
    3. Build the training of each cell. What differs between the cells of a variant and a task is
       the seed alone.
    """
    # 1. The cells.
    chosen = _list_chosen(study, confirmed)
    stamps, names = Stamps(workspace), _Names(root)

    # 2. The models.
    models: dict[tuple[str, str], StudyStep | None] = {}
    for variant, corpus, *_ in chosen:
        if (variant.name, corpus) not in models:
            models[variant.name, corpus] = _build_model(study, variant, corpus, stamps, names)

    # 3. The trainings.
    trainings: dict[tuple[str, str, str], Training] = {}
    cells = []
    for variant, corpus, task, seed in chosen:
        key = (variant.name, corpus, task.name)
        if key not in trainings:
            model = models[variant.name, corpus]
            trainings[key] = _build_training(study, variant, task, model, root, stamps)
        step = trainings[key].build_step(seed, names)
        cells.append(
            Cell(variant.name, _choose_shown_corpus(variant, corpus), task.name, seed, step)
        )
    made = {step.name: step for step in models.values() if step is not None}
    return Grid(study, made, tuple(cells))


def _choose_shown_corpus(variant: Variant, corpus: str) -> str:
    """Return the text that names a row: "" unless the variant is adapted to several texts."""
    return corpus if len(variant.corpora) > 1 else ""


def count_most(study: Study) -> int:
    """Return how many cells a study has without its rules: the number that is confirmed."""
    rows = sum(len(one.corpora) or 1 for one in study.variants)
    return rows * len(study.tasks) * len(study.seeds)


def _list_chosen(study: Study, confirmed: int) -> list[tuple[Variant, str, StudyTask, int]]:
    most = count_most(study)
    if most > MANY_CELLS and confirmed != most:
        raise InputError(
            f"The study {study.name} has up to {most:,} cells.",
            f"Remove some seeds, tasks or variants; or confirm the number of cells, {most}.",
            "confirm",
        )
    chosen = list(iterate_chosen(study))
    if not chosen:
        raise InputError(
            f"The study {study.name} has no cells: its rules exclude all {most:,} cells.",
            "Change its rules include and exclude.",
        )
    if study.baseline and study.baseline not in {variant.name for variant, *_ in chosen}:
        raise InputError(
            f"The study {study.name} has no cells of its baseline {study.baseline}.",
            "Change its rules include and exclude, or name another baseline.",
        )
    return chosen


def _build_model(
    study: Study, variant: Variant, corpus: str, stamps: "Stamps", names: "_Names"
) -> StudyStep | None:
    """Return the step that adapts the model of a variant; None for a model as it is."""
    if not variant.is_adapted:
        return None
    given = dict(variant.adapting)
    if corpus:
        given["corpus"] = study.corpora[corpus]
    try:
        # With one thread, trained word vectors are the same in every run.
        recipe = choose_recipe(given)
        recipe = replace(recipe, vectors=replace(recipe.vectors, workers=1))
        settings = read_settings(given, ModelStep, ModelStep(recipe), ("corpus", "certify"))
        inputs = {"model": variant.model, "target": given.get("target", "")}
        inputs |= {"vectors": given.get("vectors", ""), "text": given.get("corpus", ())}
        spec = Spec("model", settings, inputs, casing=given.get("casing", ""))
        check_model_step(StepContext(spec, Path(), None, silent), settings)
        seen = stamps.of(spec)
    except InputError as error:
        raise InputError(
            f"Variant {variant.name}: {error.problem}", error.remedy, error.setting
        ) from error
    digest = compute_digest(spec, seen, study.threads)
    return StudyStep(names.find((variant.name, corpus), digest), spec, study.threads, stamps=seen)


@dataclass(frozen=True)
class Training:
    """The fine-tuning of a variant on a task, without a seed."""

    names: tuple[str, ...]
    spec: Spec
    digested: bytes
    needs: str
    stamps: Mapping[str, str]
    threads: int

    def build_step(self, seed: int, names: "_Names | None" = None) -> StudyStep:
        """Build the step of one seed. names: the names of steps in the folder of a study."""
        spec = replace(self.spec, settings=replace(self.spec.settings, seeds=(seed,)))
        digest = blake2b(self.digested + str(seed).encode(), digest_size=DIGEST // 2).hexdigest()
        name = (names or _Names()).find((*self.names, f"seed-{seed}"), digest)
        return StudyStep(name, spec, self.threads, self.needs, self.stamps)


def _build_training(
    study: Study,
    variant: Variant,
    task: StudyTask,
    model: StudyStep | None,
    root: Path,
    stamps: "Stamps",
) -> Training:
    """Return the training of a variant on a task. Settings of the variant override those of the task,
    and these override those of the study.
    """
    given: Given = {**study.settings, **task.training, **variant.training}
    place = variant.model
    if model is not None:
        place = str(model.find_folder(root))
    try:
        tuning = training_preset(
            given.get("settings", "quick"), **read_given(given, FinetuneSettings)
        )
        settings = FinetuneStep(
            tuning, kind=task.kind, weights=study.keep_weights, **read_given(given, FinetuneStep)
        )
        inputs: dict[str, Any] = {"model": place, **stamps.find_task(task)}
        spec = Spec("finetune", settings, inputs)
        return identify_training((variant.name, task.name), spec, stamps, study.threads, model)
    except InputError as error:
        raise InputError(
            f"Variant {variant.name}, task {task.name}: {error.problem}",
            error.remedy,
            error.setting,
        ) from error


def identify_training(
    names: tuple[str, ...],
    spec: Spec,
    stamps: "Stamps",
    threads: int,
    model: StudyStep | None = None,
) -> Training:
    """Return a training, with the digest of all that determines its result except the seed.

    names: the name of its step begins with them. model: the step that makes its model, if any.
    """
    made = {}
    if model is not None:
        made = {"model": model.digest}
    seen = stamps.of(spec, made)
    digested = compute_digest(spec, seen, threads).encode()
    needs = model.name if model else ""
    outside = {role: stamp for role, stamp in seen.items() if role not in made}
    return Training(names, spec, digested, needs, outside, threads)


def compute_digest(spec: Spec, stamps: Mapping[str, str], threads: int) -> str:
    """Return a digest of what determines the result of a step.

    stamps: role → stamp of its input. Seeds of a fine-tuning are left out: cells add their own.
    """
    settings = asdict(spec.settings)
    settings.pop("seeds", None)
    content = [spec.step, settings, spec.casing, dict(stamps), threads]
    text = json.dumps(content, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=DIGEST // 2).hexdigest()


class _Names:
    """Names of steps in the folder of a study: a step whose digest is known there keeps its name."""

    def __init__(self, root: Path | None = None) -> None:
        self._known: dict[str, str] = {}
        if root is None:
            return
        names: list[str] = []
        for kind in ("jobs", "models", "runs"):
            with suppress(OSError):  # there is no such folder yet
                names += sorted(os.listdir(root / kind))
        for name in names:
            if match := STEP_NAME.fullmatch(name):
                self._known[match[1]] = name

    def find(self, parts: Sequence[str], digest: str) -> str:
        """Return the name of a step: green-linnaeus-seed-1-0a1b2c3d4e5f6a7b."""
        if digest not in self._known:
            words = simplify_name("-".join(filter(None, parts)))
            self._known[digest] = f"{words[:LONGEST].rstrip('-_.')}-{digest}"
        return self._known[digest]


class Stamps:
    """Stamps of inputs, and tasks by name; each input is read once."""

    def __init__(self, workspace: Workspace | None) -> None:
        self.workspace = workspace
        self._known: dict[tuple[str, tuple[str, ...]], str] = {}

    def of(self, spec: Spec, made: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return role → stamp. made: stamps of inputs that the study makes itself."""
        stamps = dict(made or {})
        for role, paths in spec.inputs.items():
            if role not in stamps:
                stamps[role] = self._find(role, paths)
        return stamps

    def find_task(self, task: StudyTask) -> dict[str, str]:
        """Return the inputs of a task, which may be one of the workspace."""
        if "task" not in task.inputs:
            return dict(task.inputs)
        return {"task": str(find_task(task.inputs["task"], self.workspace))}

    def _find(self, role: str, paths: tuple[str, ...]) -> str:
        if (role, paths) not in self._known:
            self._known[role, paths] = stamp_input(role, paths)
        return self._known[role, paths]


def stamp_input(role: str, paths: tuple[str, ...]) -> str:
    """Return the stamp of an input as it is now; raises InputError if it cannot be read."""
    places = [Path(path) for path in paths]
    if role in MODELS:  # it may be the hub name of a model
        places = [open_model(paths[0]).path]
    elif role == "task":
        places = list_task_files(places[0])
    return record_input(places).stamp


def describe_grid(grid: Grid, root: Path) -> dict[str, Any]:
    """Return the size of a grid: numbers of cells, models, finished cells and of each axis."""
    return {
        "cells": len(grid.cells),
        "models": len(grid.models),
        "whole": sum(cell.step.is_whole(root) for cell in grid.cells),
        "variants": len(grid.rows),
        "tasks": len({cell.task for cell in grid.cells}),
        "seeds": len({cell.seed for cell in grid.cells}),
    }
