"""Studies: seconds of a cell, compared with the command `finetune`; seconds to plan, resume and
show a large study.

A cell: K cells on one worker, against the command with the same settings. Resume: the run of a study
whose cells are all finished. The page: the first and a later visit, against one without a study.
--full: 10,000 cells instead of 1,000, 2,000 on the page instead of 200.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks._figures import Figure, run, time_in_turn
from vocadapt.lab.demo import DEMO, MODEL, TASK
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]
MODEL_FOLDER = str(DEMO.joinpath(*MODEL))
TRAINING = {"num_epochs": 1, "limit": 60}
SEEDS = 100  # of the large studies


def measure(full: bool) -> Iterator[Figure]:
    """Measure the cells, the plan, the resumption and the page."""
    os.environ["OMP_NUM_THREADS"] = "1"  # as a cell
    many, shown = (10_000, 2_000) if full else (1_000, 200)
    with tempfile.TemporaryDirectory() as folder:
        cells, made = measure_cells(Path(folder), 4)
        yield cells
        yield measure_plan(Path(folder))
        file = write_study(Path(folder) / "many.toml", many)
        out = Path(folder) / "many"
        seconds = time_in_turn({"expand": lambda: expand(read_study(file), out)}, 1)["expand"]
        yield Figure(f"expand {many:,} cells", seconds, target=10)
        finish_study(file, out, made)
        seconds = time_in_turn({"resume": lambda: run_study(file, out)}, 1)["resume"]
        yield Figure(f"resume {many:,} cells", seconds, target=10)
        yield from measure_page(Path(folder), shown, made)


def write_study(path: Path, cells: int) -> Path:
    """Write a study of so many cells: one variant and task with up to SEEDS seeds, then more
    variants, which differ in their settings.
    """
    seeds = min(cells, SEEDS)
    lines = [f'name = "{path.stem}"', f"seeds = {list(range(1, seeds + 1))}"]
    lines += ["[settings]", *(f"{key} = {value}" for key, value in TRAINING.items())]
    for number in range(cells // seeds):
        lines += ["[[variants]]", f'name = "v{number}"', f'model = "{MODEL_FOLDER}"']
        if number:
            lines += ["[variants.settings]", f"warmup_ratio = {number / 1000}"]
    task = DEMO.joinpath(*TASK)
    lines += ["[[tasks]]", 'name = "diseases"', 'kind = "ner"']
    lines += [f'{split} = "{task / split}.tsv"' for split in ("train", "test")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure_cells(folder: Path, cells: int) -> tuple[Figure, Path]:
    """Compare the cells of a study with the command; also return the folder of a cell."""
    # 1. The command alone: a process of its own, which imports everything.
    task = DEMO.joinpath(*TASK)
    command = [sys.executable, "-m", "vocadapt", "finetune", "--model", MODEL_FOLDER]
    command += ["--task", "ner"]
    for split in ("train", "test"):
        command += [f"--{split}", str(task / f"{split}.tsv")]
    for key, value in TRAINING.items():
        command += [f"--{key.replace('_', '-')}", str(value)]
    command += ["--seeds", "1", "--no-weights", "--out", str(folder / "alone")]
    # 2. The same as cells of a study on one worker.
    out = folder / "cells"
    file = write_study(folder / "cells.toml", cells)
    works = {
        "command": lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT),
        "study": lambda: run_study(file, out),
    }
    seconds = time_in_turn(works, 1)
    runs = sorted((out / "runs").iterdir())
    cell = tuple(one / len(runs) for one in seconds["study"])
    return Figure(
        f"a cell of {len(runs)}", cell, baseline=seconds["command"], against="the command", target=1
    ), runs[0]


def measure_plan(folder: Path) -> Figure:
    """Measure `study plan` of 12 cells, in its own process."""
    file = write_study(folder / "twelve.toml", 12)
    command = [sys.executable, "-m", "vocadapt", "study", "plan", str(file)]
    work = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
    return Figure("`study plan` of 12 cells", time_in_turn({"plan": work}, 3)["plan"], target=2)


def run_study(file: Path, out: Path) -> None:
    run_step(Spec(StudyStep(workers=1), {"file": str(file)}), out)


def finish_study(file: Path, out: Path, made: Path) -> None:
    """Give every cell of a study the result of a finished one, whose study lies above it."""
    out.mkdir(parents=True)
    shutil.copy(made.parents[1] / MANIFEST, out)
    for cell in expand(read_study(file), out).cells:
        target = cell.step.find_folder(out)
        target.mkdir(parents=True)
        for own in made.iterdir():
            if own.is_file():
                os.link(own, target / own.name)


def measure_page(folder: Path, cells: int, made: Path) -> Iterator[Figure]:
    """Measure visits of the page Studies, in this process."""
    from streamlit.testing.v1 import AppTest

    from vocadapt.ui.state.address import WORKSPACE_VARIABLE
    from vocadapt.ui.state.pages import find_link

    workspace = Workspace(folder / "workspace")
    page, query = find_link("studies")

    def visit() -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300).run()
        for name, value in query.items():
            app.query_params[name] = value
        app.switch_page(page).run()
        assert not app.exception, app.exception
        return app

    os.environ[WORKSPACE_VARIABLE] = str(workspace.root)
    visit()  # imports
    empty = time_in_turn({"visit": visit}, 3)["visit"]
    file, out = folder / "shown.toml", workspace.folder("studies", "shown")
    write_study(file, cells)
    finish_study(file, out, made)
    run_study(file, out)
    shutil.copy(file, out / "study.toml")
    for name, times in (("first visit", 1), ("later", 3)):
        seconds = time_in_turn({"visit": visit}, times)["visit"]
        label = f"page with {cells:,} cells, {name}"
        note = f"without a study {min(empty):.2f} s"
        yield Figure(label, seconds, target=3, note=note)


if __name__ == "__main__":
    sys.exit(run(measure))
