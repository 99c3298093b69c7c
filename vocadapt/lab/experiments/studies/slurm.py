"""A study under SLURM: an array script, each of whose tasks runs a part of the cells.

Array task i of n runs the cells i, i + n, i + 2n, … in the order of the file. If the adapted model
of a cell or its word vectors are missing, the task makes them; other tasks that need them wait. So
jobs do not depend on each other, and a preempted task continues from its checkpoint when SLURM
requeues it.
"""

import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vocadapt
from vocadapt.errors import Canceled
from vocadapt.lab.experiments.studies.cell_step import CellStep
from vocadapt.lab.experiments.studies.cell_worker import THREADS, run_cell
from vocadapt.lab.experiments.studies.grid import MANY_CELLS, Grid, count_most
from vocadapt.lab.jobs.queue import prepare_cell
from vocadapt.lab.jobs.worker import EXITS
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.workspace import Workspace

MAX_TASKS = 1000  # of an array: SLURM allows 1001 unless its MaxArraySize says otherwise
SCRIPT = "study.sbatch"  # <study>/slurm/study.sbatch
MODEL_PATIENCE = 24 * 3600.0  # seconds to wait for the task that makes a model
SAFETY = 3.0  # by which the estimated time of a task is multiplied
LEAST_MINUTES = 30


@dataclass(frozen=True)
class Allocation:
    """What each task of the array requests. at_once: tasks that run at once, 0 for any number;
    seconds: estimated for one cell; memory in bytes.
    """

    at_once: int
    seconds: float
    memory: float
    gpus: float = 0.0


@dataclass(frozen=True)
class ArrayTaskOutcome:
    """What a task of the array did: numbers of its cells, and of those done; out: the folder."""

    cells: int
    done: int
    out: Path


def write_script(grid: Grid, root: Path, file: Path, allocation: Allocation) -> Path | None:
    """Write the array script of the unfinished cells; None if there are none.

    root: folder of the study, which all nodes share. file: of the study.
    """
    tasks = min(len(grid.cells), MAX_TASKS)
    left = sorted(
        {index % tasks for index, cell in enumerate(grid.cells) if not cell.step.is_whole(root)}
    )
    if not left:
        return None
    folder = root / "slurm"
    folder.mkdir(exist_ok=True)
    options = _build_options(grid, allocation, left, tasks) | {"output": folder / "%A_%a.log"}
    command = [sys.executable, "-m", "vocadapt", "study", "cell", str(file)]
    most = count_most(grid.study)
    if most > MANY_CELLS:  # it was confirmed
        command += ["--confirm", str(most)]
    package = str(Path(vocadapt.__file__).parents[1])
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH --{name}={shlex.quote(str(value))}" for name, value in options.items()),
        "#SBATCH --requeue",
        *(f"export {name}={grid.study.threads}" for name in THREADS),
        f'export PYTHONPATH={shlex.quote(package)}"${{PYTHONPATH:+:$PYTHONPATH}}"',
        f'exec {shlex.join(command)} "$SLURM_ARRAY_TASK_ID" --of {tasks}'
        f" --out {shlex.quote(str(root))}",
    ]
    script = folder / SCRIPT
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return script


def _build_options(
    grid: Grid, allocation: Allocation, left: Sequence[int], tasks: int
) -> dict[str, Any]:
    """Return what each task requests. left: the tasks of the array with unfinished cells."""
    cells_of_a_task = math.ceil(len(grid.cells) / tasks)
    at_once = f"%{allocation.at_once}" if allocation.at_once else ""
    options = {
        "job-name": f"study-{grid.study.name}",
        "array": f"{','.join(map(str, left))}{at_once}",
        "cpus-per-task": grid.study.threads,
        "mem": f"{math.ceil(allocation.memory / 1e6)}M",
        "time": LEAST_MINUTES + math.ceil(SAFETY * allocation.seconds * cells_of_a_task / 60),
        "signal": "B:TERM@60",  # a minute before the end
    }
    if allocation.gpus:
        options["gres"] = f"gpu:{math.ceil(allocation.gpus)}"
    return options


def run_array_task(grid: Grid, root: Path, index: int, tasks: int) -> ArrayTaskOutcome:
    """Run the cells index, index + tasks, … of a study in this process, each with its model first.

    A cell that fails is retried as often as the study states, and does not stop the others.
    """
    cells = grid.cells[index::tasks]
    for cell in cells:
        for step in cell.step.list_unfinished(root):
            if not _run_step(step, root, grid):
                break  # without its model a cell cannot run
    done = sum(cell.step.is_whole(root) for cell in cells)
    return ArrayTaskOutcome(len(cells), done, root)


def _run_step(step: CellStep, root: Path, grid: Grid) -> bool:
    """Run an unfinished step, with retries; return whether it is finished. Raises Canceled if SLURM
    ends this task.
    """
    workspace = Workspace(root)
    folder = workspace.folder("jobs", step.name)
    with convert_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for _ in range(1 + grid.study.retries):
        if step.is_whole(root):
            return True
        with convert_write_errors(folder):
            code = run_cell(
                folder,
                lambda: prepare_cell(workspace, step.spec, step.name, step.threads),
                MODEL_PATIENCE,
            )
        if code == EXITS["interrupted"]:
            raise Canceled
    return step.is_whole(root)
