"""Studies: overhead of a cell, and how long it takes to expand, resume and show a large one.

    python benchmarks/studies.py [--model DIR] [--cells 4] [--many 10000] [--shown 2000]

Prints one line of JSON per measurement, each beside a baseline that is run here:
    a cell      K cells on one worker, against K times their training alone and against the command
                `finetune` with the same settings; target: at most 3 s above the command
    expand      a study of 10 000 cells, against computing that many digests; target: 10 s
    resume      the run of such a study whose cells are all there, against reading their manifests;
                target: 10 s
    page        the first and a later visit of the page Studies with 2 000 cells, against the same
                page without a study; target: 3 s
Processor time, of this process and those that it starts, depends less on the load of the machine
than the time on the clock.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.lab.demo import DEMO, MODEL, TASK  # noqa: E402
from vocadapt.lab.experiments.studies.grid import expand  # noqa: E402
from vocadapt.lab.experiments.studies.study import StudyStep  # noqa: E402
from vocadapt.lab.experiments.studies.study_file import read_study  # noqa: E402
from vocadapt.lab.steps.run import run_step  # noqa: E402
from vocadapt.lab.steps.step import Spec  # noqa: E402
from vocadapt.lab.workspace.manifest import MANIFEST  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402

TRAINING = {"num_epochs": 1, "limit": 60}
SEEDS = 100  # of the large studies


@dataclass
class Taken:
    """Time on the clock, and processor time of this process and those that it started."""

    wall: float = 0.0
    cpu: float = 0.0


@contextlib.contextmanager
def measure() -> Iterator[Taken]:
    taken, start, before = Taken(), time.perf_counter(), os.times()
    yield taken
    after = os.times()
    taken.wall = time.perf_counter() - start
    taken.cpu = sum(after[:4]) - sum(before[:4])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=str(DEMO.joinpath(*MODEL)))
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--shown", type=int, default=2_000)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # as a cell
    with tempfile.TemporaryDirectory() as folder:
        made = measure_cells(Path(folder), options.model, options.cells)
        measure_expansion(Path(folder), options.many)
        measure_resuming(Path(folder), options.many, made)
        measure_page(Path(folder), options.shown, made)


def write_study(path: Path, model: str, cells: int) -> Path:
    """Write a study of so many cells: one variant and task with up to SEEDS seeds, then more
    variants, which differ in their settings.
    """
    seeds = min(cells, SEEDS)
    lines = [f'name = "{path.stem}"', f"seeds = {list(range(1, seeds + 1))}"]
    lines += ["[settings]", *(f"{key} = {value}" for key, value in TRAINING.items())]
    for number in range(cells // seeds):
        lines += ["[[variants]]", f'name = "v{number}"', f'model = "{model}"']
        if number:
            lines += ["[variants.settings]", f"warmup_ratio = {number / 1000}"]
    task = DEMO.joinpath(*TASK)
    lines += ["[[tasks]]", 'name = "diseases"', 'kind = "ner"']
    lines += [f'{split} = "{task / split}.tsv"' for split in ("train", "test")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure_cells(folder: Path, model: str, cells: int) -> Path:
    """Measure what a cell takes beside its training; return the folder of a finished one."""
    # 1. The command alone: a process of its own, which imports everything.
    task = DEMO.joinpath(*TASK)
    command = [sys.executable, "-m", "vocadapt", "finetune", "--model", model, "--task", "ner"]
    for split in ("train", "test"):
        command += [f"--{split}", str(task / f"{split}.tsv")]
    for key, value in TRAINING.items():
        command += [f"--{key.replace('_', '-')}", str(value)]
    command += ["--seeds", "1", "--no-weights", "--out", str(folder / "alone")]
    with measure() as bare:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)

    # 2. The same as cells of a study on one worker.
    out = folder / "cells"
    with measure() as study:
        run_study(write_study(folder / "cells.toml", model, cells), out)
    runs = sorted((out / "runs").iterdir())
    training = sum(read_training_seconds(run) for run in runs)
    show(
        f"a cell of {Path(model).name}",
        cells=len(runs),
        command=bare.wall,
        command_cpu=bare.cpu,
        cell=study.wall / cells,
        cell_cpu=study.cpu / cells,
        training=training / cells,
        above_training=(study.wall - training) / cells,
        above_command=study.wall / cells - bare.wall,
        ratio=study.wall / cells / bare.wall,
        cpu_ratio=study.cpu / cells / bare.cpu,
        target=3,
    )
    return runs[0]


def read_training_seconds(run: Path) -> float:
    """Return the seconds of training and scoring, without reading and encoding the examples."""
    return float(json.loads((run / "run.json").read_text(encoding="utf-8"))["seconds"])


def run_study(file: Path, out: Path) -> None:
    run_step(Spec(StudyStep(workers=1), {"file": str(file)}), out)


def measure_expansion(folder: Path, cells: int) -> None:
    """Measure the expansion of a large study into its steps."""
    file = write_study(folder / "many.toml", str(DEMO.joinpath(*MODEL)), cells)
    with measure() as taken:
        grid = expand(read_study(file), folder / "many")
    settings = json.dumps(TRAINING)
    with measure() as digests:
        for number in range(cells):
            blake2b(f"{settings}{number}".encode(), digest_size=8).hexdigest()
    show_ratio("expand", taken, digests, 10, cells=len(grid.cells))


def measure_resuming(folder: Path, cells: int, made: Path) -> None:
    """Measure the run of a study that is finished: every cell is found whole."""
    file, out = folder / "many.toml", folder / "many"
    finish_study(file, out, made)
    with measure() as taken:
        run_study(file, out)
    manifests = list((out / "runs").glob(f"*/{MANIFEST}"))
    with measure() as reading:
        for path in manifests:
            json.loads(path.read_text(encoding="utf-8"))
    show_ratio("resume", taken, reading, 10, cells=len(manifests))


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


def measure_page(folder: Path, cells: int, made: Path) -> None:
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
    empty = repeat(visit)
    file, out = folder / "shown.toml", workspace.folder("studies", "shown")
    write_study(file, str(DEMO.joinpath(*MODEL)), cells)
    finish_study(file, out, made)
    run_study(file, out)
    shutil.copy(file, out / "study.toml")
    with measure() as first:
        app = visit()
    assert any("shown" in str(box.value) for box in app.selectbox)
    show_ratio("page, first visit", first, empty, 3, cells=cells)
    show_ratio("page, later", repeat(visit), empty, 3, cells=cells)


def repeat(work: Callable[[], object], times: int = 3) -> Taken:
    """Return the shortest of some runs."""
    taken = []
    for _ in range(times):
        with measure() as one:
            work()
        taken.append(one)
    return min(taken, key=lambda one: one.cpu)


def show_ratio(name: str, taken: Taken, baseline: Taken, target: float, **values: float) -> None:
    """Print a measurement beside its baseline."""
    show(
        name,
        **values,
        seconds=taken.wall,
        cpu=taken.cpu,
        baseline=baseline.wall,
        ratio=taken.wall / baseline.wall,
        target=target,
    )


def show(name: str, **values: float) -> None:
    rounded = {
        key: round(value, 3) if isinstance(value, float) else value for key, value in values.items()
    }
    print(json.dumps({"measured": name} | rounded), flush=True)


if __name__ == "__main__":
    main()
