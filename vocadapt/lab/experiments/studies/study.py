"""The step that runs a study: it fills a folder over several runs, until all cells are finished."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vocadapt.lab.steps.guards import Guard, build_minutes_guard
from vocadapt.lab.steps.step import Numbers, PlannedStep, Role, Step, StepContext
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.settings import CheckedSettings, setting


@dataclass(frozen=True)
class StudyStep(CheckedSettings):
    """Where a study runs, and on how many workers."""

    on: str = setting(
        "local",
        "where cells run: local, ray, ray://HOST:PORT, or slurm (writes a script)",
        label="Where it runs",
    )
    workers: int = setting(
        0, "number of cells that run at once", high=10_000, empty="as many as fit"
    )
    gpus: float = setting(
        0.0, "number of GPUs of each cell, on a Ray cluster or under SLURM", high=64, label="GPUs"
    )
    confirm: int = setting(
        0, "number of cells, to confirm a very large study", empty="not needed up to 10,000"
    )


def run_study(context: StepContext, settings: StudyStep) -> Numbers:
    """Run the unfinished cells of a study; the result is the table."""
    # Imported here: a study consists of other steps, so its modules import this package.
    from vocadapt.lab.experiments.studies.estimates import estimate_grid
    from vocadapt.lab.experiments.studies.grid import expand
    from vocadapt.lab.experiments.studies.places import check_place, measure_cell_memory, open_pool
    from vocadapt.lab.experiments.studies.runner import run_grid, summarize_grid
    from vocadapt.lab.experiments.studies.slurm import Allocation, write_script
    from vocadapt.lab.experiments.studies.study_file import read_study
    from vocadapt.lab.experiments.studies.table import build_boards, build_rows

    context.progress(0.0, "reading the study")
    study = read_study(Path(context.spec.inputs["file"][0]))
    workspace = Workspace(context.root) if context.root else None
    grid = expand(study, context.draft, settings.confirm, workspace)
    script = None
    if check_place(settings.on) == "slurm":
        cost = estimate_grid(grid, context.draft, 1)
        seconds = cost.seconds_alone / max(1, cost.cells)
        memory = measure_cell_memory(study)
        task = Allocation(settings.workers, seconds, memory, settings.gpus)
        file = Path(context.spec.inputs["file"][0])
        script = write_script(grid, context.draft, file, task)
        outcome = summarize_grid(grid, context.draft)
    else:
        pool = open_pool(settings.on, settings.workers, settings.gpus, study, context.draft)
        outcome = run_grid(grid, context.draft, pool, context.progress)
    numbers = {
        **asdict(outcome),
        "rows": build_rows(grid, context.draft, build_boards(grid, context.draft)),
    }
    return numbers if script is None else {**numbers, "script": str(script)}


def find_study_guards(planned: PlannedStep) -> Iterator[Guard]:
    """Yield what to know before a study starts: the guards of its trainings, each sentence once,
    with the models as they are; and the time of all cells.

    Its settings are those of its file, so a guard names no change of them.
    """
    from vocadapt.lab.experiments.studies.estimates import estimate_grid, find_source
    from vocadapt.lab.experiments.studies.grid import expand
    from vocadapt.lab.experiments.studies.places import count_workers
    from vocadapt.lab.experiments.studies.study_file import read_study

    # 1. The guards of the trainings that are left; seeds do not change them.
    settings = planned.spec.settings
    study = read_study(Path(planned.spec.inputs["file"][0]))
    workspace = Workspace(planned.root) if planned.root else None
    offline = planned.spec.offline or None
    grid = expand(study, planned.folder, settings.confirm, workspace, offline)
    found: dict[str, Guard] = {}
    for (_, task), cell in {(cell.row, cell.task): cell for cell in grid.cells}.items():
        spec = replace(cell.step.spec, offline=cell.step.spec.offline or planned.spec.offline)
        if cell.step.needs is not None:  # its model is not made yet
            spec = replace(spec, inputs={**spec.inputs, "model": find_source(cell).inputs["model"]})
        for guard in spec.find_guards(planned.root):
            if guard.code != "minutes":
                named = replace(guard, sentence=f"{task}: {guard.sentence}", change={})
                found[named.sentence] = named
    yield from found.values()

    # 2. The time of all cells.
    workers = count_workers(settings.workers, study)
    yield build_minutes_guard(estimate_grid(grid, planned.folder, workers).forecast)


STEP = Step(
    "study",
    "Run a study",
    StudyStep,
    run_study,
    makes="studies",
    needs=(Role("file", "", "Study"),),
    command=("study", "run"),
    description="Run the unfinished cells of a study; run it again to continue.",
    grows=True,
    start_up=8.0,
    guards=find_study_guards,
)
