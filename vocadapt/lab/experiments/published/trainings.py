"""The cells of a table that are trained: its models and tasks as a study, and the scores of its
runs.

Each row of such a table is a task, and each column a model: a base model, as it is or adapted by a
recipe. All tables of a scale run in one folder with the same settings, so a training that several
tables need is run once.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given
from vocadapt.lab.experiments.published.materials import (
    Materials,
    NamedModel,
    NamedTask,
    advise_model,
    advise_task,
)
from vocadapt.lab.experiments.published.measures import ABSTRACTS, Place
from vocadapt.lab.experiments.studies.grid import Grid, expand
from vocadapt.lab.experiments.studies.runner import summarize_grid
from vocadapt.lab.experiments.studies.saved import FILE, KIND, format_study
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.study_file import Study, StudyTask, Variant
from vocadapt.lab.experiments.studies.table import group_cells
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Numbers, Spec
from vocadapt.lab.workspace.drafts import convert_write_errors, open_growing
from vocadapt.lab.workspace.manifest import MANIFEST, Manifest, name_path, read_manifest
from vocadapt.lab.workspace.workspace import simplify_name
from vocadapt.models.language_model import open_model
from vocadapt.presets import get_preset
from vocadapt.progress import Progress
from vocadapt.published.base_models import shorten_name
from vocadapt.published.comparison import Score
from vocadapt.published.tables import PublishedCell, PublishedTable
from vocadapt.recipe import Recipe
from vocadapt.system.files import expand_path
from vocadapt.training.finetune.settings import FINETUNING_PRESETS
from vocadapt.training.scoring.summary import summarize_seeds
from vocadapt.training.tasks.benchmarks import cards

# Variant and task → numbers of its finished runs.
Runs = dict[tuple[str, str], list[Mapping[str, Any]]]
METHOD = "fine-tuning"  # of a table in its file
STUDY = "published-tables"  # name of the study that all tables share


@dataclass(frozen=True)
class Scale:
    """The amount of training for a table. tasks, variants: maximum numbers, 0 for all; seeds: ()
    for those of the publication, and its settings; seconds: a table that takes longer is not
    started, 0 for no limit.
    """

    about: str
    tasks: int = 0
    variants: int = 0
    seeds: tuple[int, ...] = ()
    settings: Given = field(default_factory=dict)
    seconds: int = 0


SCALES = {
    "tiny": Scale(
        "one task, two variants, three seeds, 300 examples; at most 20 minutes a table",
        1,
        2,
        (1, 2, 3),
        {"limit": 300, "num_epochs": 3},
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
    """A variant of the study, and the name that its scores are compared under. remark: the
    basis of that name.
    """

    variant: Variant
    base_model: str
    remark: str = ""


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
    2. Choose as many as the scale wants: the smallest tasks of a known version, the first variants.
    3. Build the study.
    """
    # 1. What is there.
    rows = {row.name for row in table.rows if not row.mean_of and row.data in cards()}
    trained = [cell for cell in table.cells if cell.row in rows]
    models = _find_variants(trained, table, materials)
    tasks = {
        data: materials.find_task(data) or advise_task(data)
        for data in dict.fromkeys(cell.facts.data for cell in trained)
    }

    # 2. What is chosen. Files of a known version first: their scores can be compared.
    there = [one for one in tasks.values() if isinstance(one, NamedTask)]
    there.sort(key=lambda one: (one.data not in cards(), one.bytes, one.name))
    chosen_tasks = {one.name: one for one in there[: scale.tasks or None]}
    known = [one for one in models.values() if isinstance(one, NamedVariant)]
    chosen = {one.variant.name: one for one in known[: scale.variants or None]}
    cells = {}
    missing = {}
    for cell in trained:
        model = models[cell.facts.base_model, cell.facts.recipe]
        task = tasks[cell.facts.data]
        if isinstance(model, str) or isinstance(task, str):
            lacking = [one for one in (model, task) if isinstance(one, str)]
            missing[cell.row, cell.column] = "; ".join(lacking)
        elif model.variant.name not in chosen or task.name not in chosen_tasks:
            missing[cell.row, cell.column] = "not trained at this scale"
        else:
            cells[cell.row, cell.column] = (model.variant.name, task.name)
    if not cells:
        return TrainingPlan(None, {}, missing, {}, {})

    # 3. The study.
    study = _build_study(table, scale, chosen, chosen_tasks)
    return TrainingPlan(study, cells, missing, chosen, chosen_tasks)


def _build_study(
    table: PublishedTable,
    scale: Scale,
    variants: Mapping[str, NamedVariant],
    tasks: Mapping[str, NamedTask],
) -> Study:
    """Build the study of a table. At full scale settings and seeds are those of the publication."""
    settings = scale.settings if scale.seeds else {"settings": table.settings}
    return Study(
        STUDY,
        tuple(one.variant for one in variants.values()),
        tuple(StudyTask(one.name, one.inputs, one.kind) for one in tasks.values()),
        scale.seeds or FINETUNING_PRESETS[table.settings].seeds or (1,),
        settings,
    )


def _find_variants(
    trained: Sequence[PublishedCell], table: PublishedTable, materials: Materials
) -> dict[tuple[str, str], NamedVariant | str]:
    """Return base model and recipe → variant, or what it lacks. Only the first model may be another
    one.
    """
    found: dict[tuple[str, str], NamedVariant | str] = {}
    for cell in trained:
        key = (cell.facts.base_model, cell.facts.recipe)
        if key not in found:
            is_first = cell.facts.base_model == trained[0].facts.base_model
            found[key] = _find_variant(cell, table, materials, is_first)
    return found


def write_file(study: Study, root: Path) -> Path:
    """Write the file of a study into its folder, which all tables share; return it."""

    def name(path: str) -> str:
        return name_path(expand_path(path).absolute(), root)

    with open_growing(root) as folder, convert_write_errors(folder):
        if not (folder / MANIFEST).exists():
            begun = Manifest(KIND, folder.name, asdict(StudyStep()), step="study")
            begun.save(folder, lists_files=False)
        (folder / FILE).write_text(format_study(study, name), encoding="utf-8")
    return root / FILE


def run_trainings(
    plan: TrainingPlan, materials: Materials, root: Path, place: StudyStep, progress: Progress
) -> Numbers:
    """Run the missing trainings, as `study run` does; return its numbers."""
    assert plan.study is not None
    grid = expand(plan.study, root, workspace=materials.workspace)
    if all(step.is_whole(root) for step in grid.steps):
        return asdict(summarize_grid(grid, root))
    spec = Spec(place, {"file": (str(write_file(plan.study, root)),)}).absolute()
    return dict(run_step(spec, root, progress).manifest.numbers)


def score_trainings(
    table: PublishedTable,
    plan: TrainingPlan,
    materials: Materials,
    root: Path,
    failures: Sequence[Mapping[str, Any]] = (),
) -> tuple[dict[Place, Score | str], dict[Place, int]]:
    """Return the scores of a table's cells, or why there is none, and the number of their collapsed
    runs.

    failures: what failed when the study ran last.
    """
    assert plan.study is not None
    grid = expand(plan.study, root, workspace=materials.workspace)
    runs: Runs = {
        place: [read_manifest(cell.step.find_folder(root)).numbers for cell in cells]
        for place, cells in group_cells(grid, root).items()
    }
    found: dict[Place, Score | str] = dict(plan.missing)
    collapsed: dict[Place, int] = {}
    for place, own in plan.cells.items():
        if not runs[own]:
            found[place] = f"its training: {_find_problem(grid, *own, failures)}"
            continue
        found[place], failed = _score_cell(table.grid[place], plan, grid.study, runs)
        if failed:
            collapsed[place] = failed
    return found, collapsed


def _score_cell(
    cell: PublishedCell, plan: TrainingPlan, study: Study, runs: Runs
) -> tuple[Score | str, int]:
    """Return the score of a cell, or why there is none, and the number of its collapsed runs; of a
    change, those of the model that it is a change from are among them.
    """
    # 1. The runs of the cell, and of the model that it is a change from.
    variant, task = plan.cells[cell.row, cell.column]
    own = runs[variant, task]
    base: list[Mapping[str, Any]] = []
    if cell.facts.change_from:
        place = plan.cells.get((cell.row, cell.facts.change_from))
        base = runs[place] if place else []
        if not base:
            return f"the score of {cell.facts.change_from}, which it is a change from", 0

    # 2. Their scores. A task of the workspace may have the name of a benchmark, and other scores.
    figure = cell.facts.figure or "f1"
    if any(figure not in run["mean"] for run in (*own, *base)):
        return f"its task is not scored by {figure}", 0
    summary = summarize_seeds([run["mean"][figure] for run in own])
    value = summary.mean
    sd = summary.sd
    if base:
        value -= mean(run["mean"][figure] for run in base)
        sd = None
    limit = study.settings.get("limit")
    score = Score(
        value,
        len(own),
        plan.tasks[task].data,
        f"test, at most {limit:,} examples" if limit else "test",
        str(own[0]["scorer"]),
        plan.variants[variant].base_model,
        sd,
        figure,
        bool(base),
        plan.variants[variant].remark,
    )
    return score, sum(bool(run["collapsed"]) for run in (*own, *base))


def _find_problem(
    grid: Grid, variant: str, task: str, failures: Sequence[Mapping[str, Any]]
) -> str:
    """Return why a variant has no result on a task: what failed of its own steps."""
    own: set[str] = set()
    for cell in grid.cells:
        if (cell.variant, cell.task) == (variant, task):
            own |= {step.name for step in cell.step.chain}
    problems = (str(one["problem"]) for one in failures if one["name"] in own)
    return next(problems, "it has no result yet")


def _find_variant(
    cell: PublishedCell, table: PublishedTable, materials: Materials, stand_in: bool
) -> NamedVariant | str:
    model = materials.find_model(cell.facts.base_model, stand_in)
    if model is None:
        return advise_model(cell.facts.base_model)
    given: dict[str, Any] = {}
    name = model.name
    recipe = cell.facts.recipe
    if recipe:
        try:
            given, remarks = _find_sources(get_preset(recipe), table, materials)
        except InputError as error:
            return error.problem
        if lack := _find_other_width(get_preset(recipe), model, given.get("vectors", "")):
            return lack
        given["preset"] = recipe
        name = ", ".join((name, *remarks))
    title = simplify_name(f"{shorten_name(model.name)}-{recipe or 'plain'}")
    return NamedVariant(Variant(title, model.folder, given), name, model.remark)


def _find_other_width(recipe: Recipe, model: NamedModel, vectors: str) -> str:
    """Return the word vectors that a recipe without an alignment lacks, "" if it has them: they
    must have as many dimensions as the embeddings of the model.
    """
    if recipe.initializer.method != "identity" or not vectors:
        return ""
    width = open_model(model.folder).config.get("hidden_size")
    with suppress(InputError):  # vectors from elsewhere have no manifest
        if read_manifest(expand_path(vectors)).numbers.get("dim") != width:
            return f"word vectors of {width} dimensions"
    return ""


def _find_sources(
    recipe: Recipe, table: PublishedTable, materials: Materials
) -> tuple[dict[str, Any], list[str]]:
    """Return what a recipe is made from, and remarks on what is not the published source.

    Raises InputError that names what is missing.
    """
    given: dict[str, Any] = {}
    remarks: list[str] = []
    if "target" in recipe.needs:
        given["target"], name = _find_target(recipe, table, materials)
        if name != table.target:
            remarks.append(f"target {name}")
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


def _find_target(recipe: Recipe, table: PublishedTable, materials: Materials) -> tuple[str, str]:
    """Return the folder or file of a target model, and its name; raises InputError without one."""
    if published := materials.find_model(table.target):
        return published.folder, published.name
    # A recipe that reads no embeddings of the target needs its vocabulary alone.
    bare = materials.find_vocabulary(table.target)
    if bare and not recipe.needs_similar_tokens and recipe.initializer.method != "target":
        return str(bare.model.path), bare.name
    if not materials.target:
        raise InputError(f"a target model, {shorten_name(table.target)}")
    return materials.target, Path(materials.target).name
