"""The cells of a table that are trained: its models and tasks as a study, and the scores of its runs.

Each row of such a table is a task, and each column a model: a base model, as it is or adapted by a
recipe. All tables of a scale run in one folder with the same settings, so a training that several
tables need is run once.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given
from vocadapt.lab.published.materials import (
    Materials,
    NamedTask,
    advise_model,
    advise_task,
    shorten_name,
)
from vocadapt.lab.published.measures import ABSTRACTS, Place
from vocadapt.lab.steps.study import StudyRun
from vocadapt.lab.studies.grid import Grid
from vocadapt.lab.studies.pools import LocalPool
from vocadapt.lab.studies.runner import Outcome, run_grid
from vocadapt.lab.studies.study_file import Study, StudyTask, Variant
from vocadapt.lab.workspace.drafts import open_growing
from vocadapt.lab.workspace.manifest import MANIFEST, Manifest, read_manifest
from vocadapt.lab.workspace.workspace import simplify_name
from vocadapt.presets import get_preset
from vocadapt.progress import Progress
from vocadapt.published.comparison import Score
from vocadapt.published.tables import PublishedCell, PublishedTable
from vocadapt.recipe import Recipe
from vocadapt.training.finetune.settings import FINETUNING_PRESETS
from vocadapt.training.tasks.benchmarks import cards

METHOD = "fine-tuning"  # of a table in its file
STUDY = "published-tables"  # name of the study that all tables share


@dataclass(frozen=True)
class Scale:
    """How much of a table is trained. tasks, variants: at most so many, 0 for all; seeds: () for
    those of the publication, and its settings; seconds: a table that takes longer is not begun, 0
    for no limit.
    """

    about: str
    tasks: int = 0
    variants: int = 0
    seeds: tuple[int, ...] = ()
    settings: Given = field(default_factory=dict)
    seconds: int = 0


SCALES = {
    "tiny": Scale(
        "one task, two variants, three seeds, 400 examples; at most 20 minutes a table",
        1,
        2,
        (1, 2, 3),
        {"limit": 400, "num_epochs": 4},
        20 * 60,
    ),
    "small": Scale(
        "three tasks, all variants, three seeds, 3,000 examples; at most 8 hours a table",
        3,
        0,
        (1, 2, 3),
        {"limit": 3000, "num_epochs": 4},
        8 * 3600,
    ),
    "full": Scale("all tasks and variants, with the seeds and settings of the publication"),
}


@dataclass(frozen=True)
class NamedVariant:
    """A variant of the study, and the name that its scores are compared under."""

    variant: Variant
    base_model: str


@dataclass(frozen=True)
class TrainingPlan:
    """What is trained for a table. study: None if nothing can be; cells: row and column → names of
    variant and task; missing: what the other cells lack; tasks: name in the study → benchmark.
    """

    study: Study | None
    cells: Mapping[Place, tuple[str, str]]
    missing: Mapping[Place, str]
    variants: Mapping[str, NamedVariant]
    tasks: Mapping[str, NamedTask]


def plan_trainings(table: PublishedTable, materials: Materials, scale: Scale) -> TrainingPlan:
    """Choose the variants and tasks of a table that can be trained here, and build their study.

    1. Find the model of each column and the task of each row.
    2. Choose as many as the scale wants: the smallest tasks of a known version, and
       the first variants.
    3. Build the study.
    """
    # 1. What is there.
    trained = [cell for cell in table.cells if cell.row in _list_task_rows(table)]
    models: dict[tuple[str, str], NamedVariant | str] = {}
    tasks: dict[str, NamedTask | str] = {}
    first = trained[0].facts.base_model if trained else ""
    for cell in trained:
        key = cell.facts.base_model, cell.facts.recipe
        if key not in models:
            models[key] = _find_variant(cell, table, materials, cell.facts.base_model == first)
        if cell.facts.data not in tasks:
            found = materials.find_task(cell.facts.data)
            tasks[cell.facts.data] = found or advise_task(cell.facts.data)

    # 2. What is chosen.
    there = [one for one in tasks.values() if isinstance(one, NamedTask)]
    # Files of a known version first: their scores can be compared.
    there.sort(key=lambda one: (one.data not in cards(), one.bytes, one.name))
    chosen_tasks = {one.name: one for one in there[: scale.tasks or None]}
    known = [one for one in models.values() if isinstance(one, NamedVariant)]
    chosen = {one.variant.name: one for one in known[: scale.variants or None]}
    cells, missing = {}, {}
    for cell in trained:
        model, task = models[cell.facts.base_model, cell.facts.recipe], tasks[cell.facts.data]
        lacking = [one for one in (model, task) if isinstance(one, str)]
        if isinstance(model, str) or isinstance(task, str):
            missing[cell.row, cell.column] = "; ".join(lacking)
        elif model.variant.name not in chosen or task.name not in chosen_tasks:
            missing[cell.row, cell.column] = "not trained at this scale"
        else:
            cells[cell.row, cell.column] = (model.variant.name, task.name)
    if not cells:
        return TrainingPlan(None, {}, missing, {}, {})

    # 3. The study. At full scale settings and seeds are those of the publication.
    settings, seeds = scale.settings, scale.seeds
    if not seeds:
        settings = {"settings": table.settings}
        seeds = FINETUNING_PRESETS[table.settings].seeds or (1,)
    study = Study(
        STUDY,
        tuple(one.variant for one in chosen.values()),
        tuple(StudyTask(one.name, one.inputs, one.kind) for one in chosen_tasks.values()),
        seeds,
        settings,
    )
    return TrainingPlan(study, cells, missing, chosen, chosen_tasks)


def run_trainings(grid: Grid, root: Path, workers: int, progress: Progress) -> Outcome:
    """Run the cells of a study that are not there yet, in the folder that all tables share."""
    with open_growing(root) as folder:
        if not (folder / MANIFEST).exists():
            Manifest("studies", STUDY, asdict(StudyRun()), step="study").save(
                folder, lists_files=False
            )
        pool = LocalPool(workers, grid.study.threads)
        outcome = run_grid(grid, folder, pool, progress)
        numbers = outcome.to_dict()
        Manifest("studies", STUDY, asdict(StudyRun()), numbers=numbers, step="study").save(
            folder, lists_files=False
        )
    return outcome


def score_trainings(
    table: PublishedTable, plan: TrainingPlan, grid: Grid, root: Path
) -> tuple[dict[Place, Score | str], dict[Place, int]]:
    """Return the scores of a table's cells, or why there is none, and the number of their collapsed
    runs.
    """
    found: dict[Place, Score | str] = dict(plan.missing)
    collapsed: dict[Place, int] = {}
    for place, (variant, task) in plan.cells.items():
        cell = table.grid[place]
        runs = _read_runs(grid, root, variant, task)
        values = [float(run["mean"][cell.facts.figure or "f1"]) for run in runs]
        if not runs:
            found[place] = "its training failed"
            continue
        value, sd = mean(values), stdev(values) if len(values) > 1 else None
        if cell.facts.change_from:
            base = plan.cells.get((cell.row, cell.facts.change_from))
            base_runs = _read_runs(grid, root, *base) if base else []
            if not base_runs:
                found[place] = f"the score of {cell.facts.change_from}, which it is a change from"
                continue
            value -= mean(float(run["mean"][cell.facts.figure or "f1"]) for run in base_runs)
            sd = None
        if failed := sum(bool(run["collapsed"]) for run in runs):
            collapsed[place] = failed
        limit = grid.study.settings.get("limit")
        found[place] = Score(
            value,
            len(runs),
            plan.tasks[task].data,
            f"test, at most {limit:,} examples" if limit else "test",
            str(runs[0]["scorer"]),
            plan.variants[variant].base_model,
            sd,
            cell.facts.figure or "f1",
            bool(cell.facts.change_from),
        )
    return found, collapsed


def _read_runs(grid: Grid, root: Path, variant: str, task: str) -> list[Mapping[str, Any]]:
    """Return the numbers of the finished seeds of a variant on a task."""
    return [
        read_manifest(cell.step.find_folder(root)).numbers
        for cell in grid.cells
        if (cell.variant, cell.task) == (variant, task) and cell.step.is_whole(root)
    ]


def _list_task_rows(table: PublishedTable) -> set[str]:
    """Return the rows that are tasks, not means of them."""
    return {row.name for row in table.rows if not row.mean_of and row.data in cards()}


def _find_variant(
    cell: PublishedCell, table: PublishedTable, materials: Materials, stand_in: bool
) -> NamedVariant | str:
    """Return the variant of a cell, or what it lacks."""
    model = materials.find_model(cell.facts.base_model, stand_in)
    if model is None:
        return advise_model(cell.facts.base_model)
    given: dict[str, Any] = {}
    name, recipe = model.name, cell.facts.recipe
    if recipe:
        try:
            given, remarks = _find_sources(get_preset(recipe), table, materials)
        except InputError as error:
            return error.problem
        given["preset"] = recipe
        name = ", ".join((name, *remarks))
    title = simplify_name(f"{shorten_name(model.name)}-{recipe or 'plain'}")
    return NamedVariant(Variant(title, model.folder, given), name)


def _find_sources(
    recipe: Recipe, table: PublishedTable, materials: Materials
) -> tuple[dict[str, Any], list[str]]:
    """Return what a recipe is made from, and remarks on what is not the published source.

    Raises InputError that names what is missing.
    """
    given: dict[str, Any] = {}
    remarks: list[str] = []
    if "target" in recipe.needs:
        published = materials.find_model(table.target) if table.target else None
        bare = None
        if not recipe.needs_similar_tokens and recipe.rows.method != "target":
            bare = materials.find_vocabulary(table.target)
        if published is not None:
            given["target"] = published.folder
        elif bare is not None:
            given["target"] = str(bare.path)
        elif materials.target:
            given["target"] = materials.target
            remarks.append(f"target {Path(materials.target).name}")
        else:
            raise InputError(f"a target model, {shorten_name(table.target)}")
    if "vectors" in recipe.needs:
        if not materials.vectors:
            raise InputError("word vectors of the domain")
        given["vectors"] = materials.vectors
        remarks.append(f"vectors {Path(materials.vectors).name}")
    elif recipe.needs & {"counts", "text"}:
        text = materials.find_text(ABSTRACTS)
        if text is None:
            raise InputError(f'a text of abstracts (a file with "{ABSTRACTS}" in its name)')
        given["corpus"] = (str(text),)
        remarks.append(f"text {text.name}")
    return given, remarks
