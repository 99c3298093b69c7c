"""What a run of a study does with cells that end, die, or lose their inputs, without any training."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.runs import write_run
from tests.material.studies import TOY_TASK
from vocadapt.lab.experiments.studies import places
from vocadapt.lab.experiments.studies.cell_step import CellStep, stamp_input
from vocadapt.lab.experiments.studies.grid import Grid, expand
from vocadapt.lab.experiments.studies.pools import LocalPool
from vocadapt.lab.experiments.studies.runner import run_grid
from vocadapt.lab.experiments.studies.states import find_states
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.jobs import worker
from vocadapt.lab.jobs.job import FLAG, KILLED, SPEC, Job
from vocadapt.lab.jobs.queue import find_job
from vocadapt.lab.jobs.status import Status, read_status, write_status
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.run import CHECKPOINT
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import open_growing
from vocadapt.lab.workspace.manifest import Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Sentence

FILE = f"""
seeds = [1, 2, 3]
retries = 2
[[variants]]
name = "plain"
model = "model"
{TOY_TASK}"""
FEVER = Sentence(("Fever",), ("B-Disease",))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_text("Fever\tB-Disease\n\n")
    (tmp_path / "s.toml").write_text(FILE)
    return tmp_path / "s.toml"


def finish(job: Job) -> None:
    """What a cell leaves that has finished: its result, with the stamps of its inputs."""
    inputs = {
        role: Input(paths, stamp_input(role, paths)) for role, paths in job.spec.inputs.items()
    }
    write_run(job.target, [FEVER], {"base": [FEVER.tags]}, job.spec.settings.seeds[0])
    Manifest("runs", job.target.name, {}, inputs=inputs, job=job.id).save(job.target)
    write_status(job.folder, replace(read_status(job.folder), state="done"))


def die(job: Job) -> None:
    """What a cell leaves whose process is killed: a status that nobody changes any more."""
    write_status(job.folder, replace(read_status(job.folder), state="running"))


@dataclass
class ScriptedPool:
    """A pool whose cells do at once what `act` does with their job."""

    act: Callable[[Job], None] = finish
    capacity: int = 1
    submitted: list[str] = field(default_factory=list)
    ended: list[Path] = field(default_factory=list)
    closed: bool = False

    def submit(self, folder: Path) -> None:
        self.submitted.append(folder.name)
        self.act(Job(folder))
        self.ended.append(folder)

    def wait_for_ended(self, seconds: float) -> list[Path]:
        ended, self.ended = self.ended, []
        return ended

    def close(self) -> None:
        self.closed = True


def open_grid(file: Path) -> tuple[Grid, Path]:
    root = file.parent / "out"
    return expand(read_study(file), root), root


def test_a_cell_that_always_dies_has_failed_after_its_retries(file):
    grid, root = open_grid(file)
    lost = grid.cells[0].step.name
    pool = ScriptedPool(lambda job: (die if job.id == lost else finish)(job))
    outcome = run_grid(grid, root, pool)
    assert (outcome.cells, outcome.done, outcome.failed) == (3, 2, 1)
    assert pool.submitted.count(lost) == 3 and pool.closed
    (failure,) = outcome.failures
    assert (failure.name, failure.attempts) == (lost, 3)
    assert failure.problem.startswith(KILLED)

    # Whoever looks at the study sees the same; another run tries it again.
    states = find_states(grid, root)
    assert [one.state for one in states] == ["failed", "done", "done"]
    assert states[0].problem == KILLED
    again = run_grid(grid, root, ScriptedPool())
    assert (again.done, again.skipped, again.failed) == (1, 2, 0)
    past = [state for state, _ in Job(root / "jobs" / lost).status().past]
    assert past == ["interrupted", "interrupted", "failed"]


def test_a_rejected_input_is_not_tried_again(file):
    def reject(job: Job) -> None:
        write_status(job.folder, Status("failed", error="no", remedy="yes", rejected=True))

    grid, root = open_grid(file)
    outcome = run_grid(grid, root, ScriptedPool(reject))
    assert [(one.problem, one.attempts) for one in outcome.failures] == [("no yes", 1)] * 3


def test_a_text_changed_under_a_running_study(file):
    """The cell that read it is discarded; those that would read it do not begin."""

    def change(job: Job) -> None:
        finish(job)
        with (file.parent / "test.tsv").open("a") as text:
            text.write("Acid\tO\n\n")

    grid, root = open_grid(file)
    pool = ScriptedPool(change)
    outcome = run_grid(grid, root, pool)
    assert len(pool.submitted) == 1 and (outcome.done, outcome.failed) == (0, 3)
    assert {one.problem for one in outcome.failures} == {
        "test was changed while the study ran: run it again"
    }
    # The study as it is now has cells of its own.
    after, _ = open_grid(file)
    assert not {c.step.name for c in after.cells} & {c.step.name for c in grid.cells}
    assert run_grid(after, root, ScriptedPool()).done == 3


def test_a_text_that_was_changed_only_for_a_while(file):
    def read_another(job: Job) -> None:
        text = file.parent / "test.tsv"
        before = text.read_text()
        text.write_text("Acid\tO\n\n")
        finish(job)
        text.write_text(before)

    grid, root = open_grid(file)
    assert run_grid(grid, root, ScriptedPool(read_another)).failed == 3
    assert not list((root / "runs").iterdir())


def test_a_text_that_is_removed_fails_its_cells_alone(file):
    own = file.read_text()
    own += '[[tasks]]\nname = "two"\nkind = "ner"\ntrain = "train.tsv"\ntest = "other.tsv"\n'
    (file.parent / "other.tsv").write_text("Acid\tO\n\n")
    file.write_text(own)
    grid, root = open_grid(file)
    (file.parent / "test.tsv").unlink()
    outcome = run_grid(grid, root, ScriptedPool())
    assert (outcome.done, outcome.failed) == (3, 3)


def test_cells_whose_model_disappears_do_not_wait_for_ever(file):
    grid, root = open_grid(file)
    model = CellStep("m", Spec(AdaptStep(), {"model": str(file.parent)}), 1)
    cells = tuple(replace(cell, step=replace(cell.step, needs=model)) for cell in grid.cells)
    (root / "models" / "m").mkdir(parents=True)

    def remove_model(job: Job) -> None:
        finish(job)
        shutil.rmtree(root / "models" / "m")

    outcome = run_grid(replace(grid, cells=cells), root, ScriptedPool(remove_model))
    assert (outcome.done, outcome.failed) == (1, 2)
    assert {one.problem for one in outcome.failures} == {"it needs m, which failed or was removed"}


def test_a_checkpoint_that_a_killed_cell_left_beside_its_result_is_removed(file):
    grid, root = open_grid(file)
    run_grid(grid, root, ScriptedPool())
    left = root / "jobs" / grid.cells[0].step.name / CHECKPOINT
    left.mkdir()
    assert run_grid(grid, root, ScriptedPool()).skipped == 3
    assert not left.exists()


@pytest.mark.slow
def test_a_dead_idle_worker_is_replaced(tmp_path):
    """The job has no spec, so it fails at once: its status is its answer."""
    pool = LocalPool(1)
    pids = []
    try:
        for name in ("first", "second"):
            folder = tmp_path / "jobs" / name
            folder.mkdir(parents=True)
            pool.submit(folder)
            while not pool.wait_for_ended(30.0):
                pass
            status = read_status(folder)
            assert status.state == "failed" and SPEC in status.error
            pids.append(status.pid)
            os.kill(status.pid, signal.SIGKILL)
            pool._workers[0].process.join()
    finally:
        pool.close()
    assert pids[0] != pids[1]


def test_a_folder_is_filled_by_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.lab.workspace.drafts.GROWING_PATIENCE", 0.1)
    folder = tmp_path / "w" / "studies" / "s"
    with (
        open_growing(folder),
        raises_input_error("folder-in-use", str(folder)),
        open_growing(folder),
    ):
        pass


def prepare_job(workspace: Workspace, file: Path) -> Job:
    """The job that the page starts, but for its process."""
    folder = workspace.folder("jobs", "20260101-000000-000000-study")
    folder.mkdir(parents=True)
    spec = Spec(StudyStep(workers=1), {"file": str(file)}).absolute()
    order = {"spec": spec.to_dict(), "target": "studies/s", "overwrite": False}
    strict_json.write(folder / SPEC, order)
    write_status(folder, Status(queued=time.time(), updated=time.time()))
    return find_job(workspace, folder.name)


def test_a_study_is_a_job_that_reports_ends_and_continues(file, tmp_path, monkeypatch):
    """Canceled after its first cell; resumed, it computes the other two."""
    monkeypatch.setattr(worker, "WRITE_EVERY", 0.0)
    monkeypatch.setattr(worker, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    workspace = Workspace(tmp_path / "w")
    job = prepare_job(workspace, file)
    seen: list[Status] = []

    def cancel_after_one(cell: Job) -> None:
        finish(cell)
        (job.folder / FLAG).touch()

    class WatchedPool(ScriptedPool):
        def wait_for_ended(self, seconds: float) -> list[Path]:
            seen.append(read_status(job.folder))
            return super().wait_for_ended(seconds)

    pools = [ScriptedPool(cancel_after_one), WatchedPool()]
    monkeypatch.setattr(places, "open_pool", lambda *_: pools.pop(0))
    first, second = pools
    assert worker.run_job(job.folder) == worker.EXITS["canceled"]
    assert job.status().state == "canceled" and first.closed and len(first.submitted) == 1
    root = workspace.folder("studies", "s")
    assert len(list(root.glob("runs/*/manifest.json"))) == 1 and not job.finished

    # What Resume of the page Jobs does, but for the process.
    (job.folder / FLAG).unlink()
    write_status(job.folder, Status(past=(("canceled", time.time()),)))
    assert worker.run_job(job.folder) == 0
    assert job.status().state == "done" and job.finished and len(second.submitted) == 2
    titles = [name.rpartition("-")[0] for name in second.submitted]
    assert [(status.message, status.fraction) for status in seen] == [
        (f"0 of 2 steps, running {titles[0]}", 0.0),
        (f"1 of 2 steps, running {titles[1]}", 0.5),
    ]
    numbers = Manifest.load(root).numbers
    assert (numbers["done"], numbers["skipped"], numbers["cells"]) == (2, 1, 3)
    assert [row["n"] for row in numbers["rows"]] == [3]
