"""`kill -9` at any moment of a job loses no finished result, leaves no incomplete artifact, and
is recoverable."""

import random
import re
import time
from pathlib import Path

import pytest

from tests.material import counting_step
from tests.material.counting_step import MOMENTS, RESULT, CountingStep
from tests.material.killed_jobs import LONG, kill
from tests.material.lab import write_text
from vocadapt.lab.jobs.queue import find_job, list_jobs, remove_remains, resume, start
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.training.callbacks import find_checkpoint
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.settings import MaskedSettings

SQUARES = "\n".join(str(sum(i * i for i in range(n + 1))) for n in range(40))
FILES = {"spec.json", "status.json", "metrics.jsonl", "log.txt", "checkpoint", "cancel"}


@pytest.fixture
def workspace(make_workspace, monkeypatch):
    counting_step.use(monkeypatch, PYTHONPATH=str(Path(__file__).parents[2]))
    return make_workspace("w")


@pytest.fixture
def spec(tmp_path):
    return Spec(CountingStep(), {"text": write_text(tmp_path / "text.txt", lines=3)})


def results(workspace):
    return {
        found.name: (found.folder / RESULT).read_text() for found in workspace.artifacts("corpora")
    }


def hidden(workspace):
    """What our own writing left; what lies in a checkpoint is the step's, and goes with it."""
    return [path for path in workspace.root.rglob(".*") if path.parent.name != "checkpoint"]


def test_the_step_itself_is_right(workspace, spec, tmp_path):
    run_step(spec, tmp_path / "out")
    assert (tmp_path / "out" / RESULT).read_text() == SQUARES
    assert SQUARES.splitlines()[:4] == ["0", "1", "5", "14"]


@pytest.mark.slow
def test_twenty_random_moments_of_kill_9(workspace, spec):
    rng = random.Random(20)
    old = Spec(CountingStep(numbers=3, pause=0), spec.inputs)
    run_step(old, workspace.folder("corpora", "finished"))
    began = time.monotonic()
    job = start(workspace, spec, "clean")
    assert job.wait(LONG).state == "done", job.log()
    life = time.monotonic() - began
    finished, killed, unfinished, number = {"finished": "0\n1\n5", "clean": SQUARES}, 0, None, 0
    while killed < 20:
        if unfinished is None:
            number += 1
            if number % 2:  # every other one replaces a finished result
                run_step(old, workspace.folder("corpora", f"sums-{number}"))
                finished[f"sums-{number}"] = "0\n1\n5"
            job = start(workspace, spec, f"sums-{number}", overwrite=bool(number % 2))
        else:
            job = resume(workspace, unfinished)
        time.sleep(rng.uniform(0, life))
        lived = job.status().alive
        kill(job) if lived else None
        killed += lived
        name, state = job.target.name, job.status().state
        assert state in ("interrupted", "done"), job.log()
        unfinished = None if state == "done" else job
        remove_remains(workspace)  # what the next start does first
        if state == "done":
            finished[name] = SQUARES
        assert results(workspace) == finished, (state, job.log())
        assert hidden(workspace) == []
    if unfinished:
        resume(workspace, unfinished)
        assert unfinished.wait(LONG).state == "done", unfinished.log()
        assert results(workspace) == finished | {unfinished.target.name: SQUARES}
    for job in list_jobs(workspace):
        assert {path.name for path in job.folder.iterdir()} <= FILES - {"checkpoint"}
    pasts = [state for job in list_jobs(workspace) for state, _ in job.status().past]
    assert set(pasts) == {"interrupted"} and len(pasts) >= 10


@pytest.mark.parametrize("moment", MOMENTS)
def test_kill_9_at_the_worst_moments(workspace, spec, moment, monkeypatch):
    run_step(
        Spec(CountingStep(numbers=3, pause=0), spec.inputs), workspace.folder("corpora", "mine")
    )
    with monkeypatch.context() as patch:
        patch.setenv(counting_step.DIE, moment)
        job = start(workspace, spec, "mine", overwrite=True)
        status = job.wait(LONG)
    placed = moment in ("placed after", "cleared before", "done before")
    assert status.state == ("done" if placed else "interrupted"), job.log()
    remove_remains(workspace)
    assert results(workspace) == {"mine": SQUARES if placed else "0\n1\n5"}
    assert hidden(workspace) == []
    if not placed:
        assert job.has_checkpoint == (moment not in ("ready", "checkpoint before"))
        resume(workspace, job)
        assert job.wait(LONG).state == "done", job.log()
        assert results(workspace) == {"mine": SQUARES}
        assert [state for state, _ in job.status().past] == ["interrupted"]
    assert {path.name for path in find_job(workspace, job.id).folder.iterdir()} <= FILES - {
        "checkpoint"
    }


@pytest.mark.slow
def test_a_pretraining_killed_twice_goes_on_and_ends_as_one_that_was_not(workspace, tmp_path):
    text = write_text(tmp_path / "text.txt", lines=600)
    training = MaskedSettings(length=16, batch=8, tokens=128 * 800, dropout=0.1, save_minutes=0.005)
    scratch = ScratchSettings(
        vocabulary=120, layers=1, hidden=32, random_rows=True, training=training
    )
    spec = Spec(PretrainStep(scratch=scratch), {"text": text})
    whole, job = start(workspace, spec, "whole"), start(workspace, spec, "killed")
    end, reached = time.monotonic() + 4 * LONG, 0
    for _ in range(2):
        while (newest := _step(job)) <= reached:
            assert time.monotonic() < end and job.status().alive, job.log()
            time.sleep(0.02)
        kill(job)
        half = job.folder / "checkpoint" / "checkpoint-999999"
        half.mkdir(exist_ok=True)
        (half / "model.safetensors").write_text("half")
        assert _step(job) >= newest and job.has_checkpoint
        reached = _step(job)
        resume(workspace, job)
        while not (step := re.match(r"step ([\d,]+) of", job.status().message)):
            assert time.monotonic() < end and job.status().alive, job.log()
            time.sleep(0.02)
        assert int(step[1].replace(",", "")) > reached > 0
    assert [one.wait(2 * LONG).state for one in (whole, job)] == ["done", "done"], job.log()
    weights = [
        (workspace.folder("models", name) / "model.safetensors").read_bytes()
        for name in ("whole", "killed")
    ]
    assert weights[0] == weights[1]


def _step(job):
    """The step of the newest whole checkpoint of a job; 0 before there is one."""
    newest = find_checkpoint(job.folder / "checkpoint")
    return int(newest.rpartition("-")[2]) if newest else 0
