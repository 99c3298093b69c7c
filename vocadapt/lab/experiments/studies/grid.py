"""A study expanded into steps: word vectors and adapted models, made once each, and the cells that
train on them.

Example: two variants, one of them adapted, three tasks and four seeds are 24 cells and one model.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given, read_given, read_settings
from vocadapt.lab.experiments.studies.cell_step import (
    DIGEST,
    CellStep,
    Names,
    Stamps,
    compute_digest,
)
from vocadapt.lab.experiments.studies.study_file import Study, StudyTask, Variant, iterate_chosen
from vocadapt.lab.steps.adapt import AdaptStep, check_model_step
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.recipe_changes import choose_recipe
from vocadapt.training.finetune.settings import FinetuneSettings, training_preset

MANY_CELLS = 10_000  # more must be confirmed


@dataclass(frozen=True)
class Cell:
    """One fine-tuning: a variant on a task with a seed. corpus: one of its variant's texts."""

    variant: str
    corpus: str
    task: str
    seed: int
    step: CellStep

    @property
    def row(self) -> str:
        """Name of its row in the table: green, or green · pubmed with one of several texts."""
        return f"{self.variant} · {self.corpus}" if self.corpus else self.variant


@dataclass(frozen=True)
class Grid:
    """All steps of a study: adapted models by name, then the cells in the order of the file."""

    study: Study
    models: Mapping[str, CellStep]
    cells: tuple[Cell, ...]

    @cached_property
    def steps(self) -> tuple[CellStep, ...]:
        """The distinct steps, in the order in which they run: word vectors, models, cells."""
        cells = {cell.step.name: cell.step for cell in self.cells}
        return (*self.vectors.values(), *self.models.values(), *cells.values())

    @cached_property
    def vectors(self) -> Mapping[str, CellStep]:
        """The word vectors that the study trains for its models, by name."""
        needed = [model.needs for model in self.models.values() if model.needs is not None]
        return {step.name: step for step in needed}

    def list_missing(self, root: Path) -> list[CellStep]:
        """List the steps that must run until all cells are finished, in that order; `root` is the
        folder of the study. A model whose cells are finished is not made again.
        """
        missing = {one.name for cell in self.cells for one in cell.step.list_unfinished(root)}
        return [step for step in self.steps if step.name in missing]

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows, in the order of the file."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in the order of the file."""
        return tuple(dict.fromkeys(cell.task for cell in self.cells))

    @property
    def baseline(self) -> str:
        """The row that others are compared with: the first, or the one that the file names."""
        wanted = self.study.baseline
        return next((c.row for c in self.cells if wanted in ("", c.variant)), "")


def expand(
    study: Study,
    root: Path,
    confirmed: int = 0,
    workspace: Workspace | None = None,
    offline: bool | None = None,
) -> Grid:
    """Expand a study into its steps, with the artifacts of a study's folder at `root`.

    confirmed: number of cells that the user has agreed to. workspace: where tasks are looked up by
    name. offline: as in `open_model`. Raises InputError for a grid of no cells, for one of more
    than MANY_CELLS that was not confirmed, and for settings that do not fit.

    1. List the cells.
    2. Build the adapted model of each variant and text, once, with its word vectors.
    3. Build the training of each variant and task, once; its cells differ in the seed alone.
    """
    # 1. The cells.
    chosen = _list_chosen(study, confirmed)
    stamps = Stamps(workspace, offline)
    names = Names(root)

    models: dict[tuple[str, str], CellStep | None] = {}
    trainings: dict[tuple[str, str, str], Training] = {}
    cells = []
    for variant, corpus, task, seed in chosen:
        # 2. The model.
        if (variant.name, corpus) not in models:
            models[variant.name, corpus] = _build_model(study, variant, corpus, root, stamps, names)

        # 3. The training.
        key = (variant.name, corpus, task.name)
        if key not in trainings:
            model = models[variant.name, corpus]
            trainings[key] = _build_training(study, variant, task, model, root, stamps)
        step = trainings[key].build_step(seed, names)
        shown = corpus if len(variant.corpora) > 1 else ""
        cells.append(Cell(variant.name, shown, task.name, seed, step))
    made = {step.name: step for step in models.values() if step is not None}
    return Grid(study, made, tuple(cells))


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
            "many-cells",
        )
    chosen = list(iterate_chosen(study))
    if not chosen:
        raise InputError(
            f"The study {study.name} has no cells: its rules exclude all {most:,} cells.",
            "Change its rules include and exclude.",
            code="no-cells",
        )
    if study.baseline and study.baseline not in {variant.name for variant, *_ in chosen}:
        raise InputError(
            f"The study {study.name} has no cells of its baseline {study.baseline}.",
            "Change its rules include and exclude, or name another baseline.",
            code="no-cells",
        )
    return chosen


def _build_model(
    study: Study, variant: Variant, corpus: str, root: Path, stamps: Stamps, names: Names
) -> CellStep | None:
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
        settings = read_settings(given, AdaptStep, AdaptStep(recipe), ("corpus", "certify"))
        inputs = {"model": variant.model, "target": given.get("target", "")}
        inputs |= {"vectors": given.get("vectors", ""), "text": given.get("corpus", ())}
        inputs["glossary"] = given.get("glossary", ())
        spec = Spec(settings, inputs, casing=given.get("casing", ""))
        checked = replace(spec, offline=bool(stamps.offline))
        check_model_step(checked.open_inputs(), settings)
        vectors = _build_vectors(study, spec, corpus or variant.name, stamps, names)
        made = {}
        if vectors is not None:
            made = {"vectors": vectors.digest}
            # The text is left only if the recipe needs it for something else.
            inputs = {**spec.inputs, "vectors": (str(vectors.find_folder(root)),)}
            if not recipe.needs & {"counts", "text"}:
                del inputs["text"]
            spec = replace(spec, inputs=inputs)
        seen = stamps.find_all(spec, made)
    except InputError as error:
        raise error.add_place(f"Variant {variant.name}") from error
    name = names.find((variant.name, corpus), compute_digest(spec, made | seen, study.threads))
    return CellStep(name, spec, study.threads, vectors, seen)


def _build_vectors(
    study: Study, spec: Spec, text: str, stamps: Stamps, names: Names
) -> CellStep | None:
    """Build the step that trains the word vectors of a model on its text; None if they are given,
    or if its recipe needs none. Models that need the same vectors share the step.

    spec: that of the step that adapts the model. text: name of the text.
    """
    settings = spec.settings
    if "vectors" not in settings.recipe.needs or "text" not in spec.inputs:
        return None
    if "vectors" in spec.inputs or os.path.isfile(spec.one("target") or ""):
        return None  # vectors for the tokens of a bare vocabulary are trained on the text, too
    training = VectorsStep(corpus=settings.corpus, word2vec=settings.recipe.vectors)
    inputs = {role: spec.inputs[role] for role in ("text", "model")}
    own = Spec(training, inputs, casing=spec.casing)
    seen = stamps.find_all(own)
    name = names.find((text, "vectors"), compute_digest(own, seen, study.threads))
    return CellStep(name, own, study.threads, stamps=seen)


@dataclass(frozen=True)
class Training:
    """The fine-tuning of a variant on a task, without a seed."""

    names: tuple[str, ...]
    spec: Spec
    digested: bytes
    needs: CellStep | None
    stamps: Mapping[str, str]
    threads: int

    def build_step(self, seed: int, names: Names | None = None) -> CellStep:
        """Build the step of one seed. names: the names of steps in the folder of a study."""
        spec = replace(self.spec, settings=replace(self.spec.settings, seeds=(seed,)))
        digest = blake2b(self.digested + str(seed).encode(), digest_size=DIGEST // 2).hexdigest()
        name = (names or Names()).find((*self.names, f"seed-{seed}"), digest)
        return CellStep(name, spec, self.threads, self.needs, self.stamps)


def _build_training(
    study: Study,
    variant: Variant,
    task: StudyTask,
    model: CellStep | None,
    root: Path,
    stamps: Stamps,
) -> Training:
    """Return the training of a variant on a task. Settings of the variant override those of the
    task, and these override those of the study.
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
        spec = Spec(settings, inputs)
        return identify_training((variant.name, task.name), spec, stamps, study.threads, model)
    except InputError as error:
        raise error.add_place(f"Variant {variant.name}, task {task.name}") from error


def identify_training(
    names: tuple[str, ...],
    spec: Spec,
    stamps: Stamps,
    threads: int,
    model: CellStep | None = None,
) -> Training:
    """Return a training, with the digest of all that determines its result except the seed.

    names: the name of its step begins with them. model: the step that makes its model, if any.
    """
    made = {}
    if model is not None:
        made = {"model": model.digest}
    seen = stamps.find_all(spec, made)
    digested = compute_digest(spec, made | seen, threads).encode()
    return Training(names, spec, digested, model, seen, threads)
