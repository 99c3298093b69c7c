import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tests.lab_material import write_text
from vocadapt.errors import InputError
from vocadapt.lab import jobs, strict_json, worker
from vocadapt.lab.jobs import find_job, list_jobs, resume, start
from vocadapt.lab.spec import CorpusStep, Spec, VectorsStep
from vocadapt.lab.status import Status, read_status
from vocadapt.lab.steps import STEPS, run_step
from vocadapt.lab.workspace import Workspace
from vocadapt.spaces.word2vec import Word2VecSettings

LONG, SOON = 60, 20  # seconds


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / "w")


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "text.txt")


@pytest.fixture
def quick(text):
    return Spec("corpus", CorpusStep(copy=True), {"text": text})


@pytest.fixture
def endless(text, tiny_bert):
    """A step that trains for many minutes."""
    write_text(text, lines=4000)
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=20_000, min_count=1, workers=1))
    return Spec("vectors", settings, {"text": text, "model": tiny_bert})


@pytest.fixture(autouse=True)
def nothing_goes_on(workspace):
    yield
    for job in list_jobs(workspace):
        if job.status().alive:
            job.cancel(grace=2)


def wait_for(job, state, seconds=LONG):
    end = time.monotonic() + seconds
    while job.status().state != state:
        assert time.monotonic() < end, f"{job.status()}\n{job.log()}"
        time.sleep(0.05)
    return job.status()


def kill(job):
    os.kill(read_status(job.folder).pid, signal.SIGKILL)


def left_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_job_is_done_and_its_artefact_is_there(workspace, quick):
    job = start(workspace, quick, "mine")
    assert job.status().alive
    assert job.wait(LONG).state == "done", job.log()
    assert workspace.artefact("corpora", "mine").manifest.numbers["files"] == 1
    assert left_in(workspace.root / "corpora") == ["mine"]
    assert job.status().fraction == 1.0 and job.status().started > 0
    assert [found.id for found in list_jobs(workspace)] == [job.id]
    assert find_job(workspace, job.id).spec == quick.absolute()


def test_a_job_gives_the_same_bits_as_the_step(workspace, text, tiny_bert, tmp_path):
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=1, min_count=1, workers=1))
    spec = Spec("vectors", settings, {"text": text, "model": tiny_bert})
    job = start(workspace, spec, "v")
    run_step(spec, tmp_path / "v")
    assert job.wait(LONG).state == "done", job.log()
    assert (job.target / "vectors.safetensors").read_bytes() == (tmp_path / "v" / "vectors.safetensors").read_bytes()


def test_a_job_that_fails_says_why_and_leaves_nothing(workspace, quick, text):
    text.write_text("")
    status = start(workspace, quick, "mine").wait(LONG)
    assert status.state == "failed"
    assert "empty" in status.error and status.remedy
    assert left_in(workspace.root / "corpora") == []


def test_a_bug_in_a_job_keeps_its_trace_in_the_log(workspace, quick, monkeypatch, capsys):
    job = start(workspace, quick, "mine")
    job.wait(LONG)
    monkeypatch.setattr(worker, "run_step", lambda *arguments: 1 / 0)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    assert worker.work(job.folder) == 1
    assert job.status().state == "failed" and "ZeroDivisionError" in job.status().error
    assert "Traceback" in capsys.readouterr().err


def test_a_running_job_tells_where_it_is(workspace, endless):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    end = time.monotonic() + LONG
    while not job.status().message.startswith("epoch"):
        assert time.monotonic() < end, job.log()
        time.sleep(0.05)
    status = job.status()
    assert 0 <= status.fraction < 1 and "words/s" in job.wait(1.5).message
    time.sleep(1.2)
    seconds = [json.loads(line)["seconds"] for line in (job.folder / "metrics.jsonl").read_text().splitlines()]
    assert seconds == sorted(seconds)
    assert all(later - earlier > 0.4 for earlier, later in pairwise(seconds))  # twice a second at most
    assert not workspace.artefacts("vectors")


def test_a_cancelled_job_leaves_nothing_half_made(workspace, endless):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    began = time.monotonic()
    assert job.cancel(grace=10).state == "cancelled", job.log()
    assert time.monotonic() - began < 8
    assert left_in(workspace.root / "vectors") == []
    assert job.cancel().state == "cancelled"  # again does no harm


def test_a_job_asked_without_waiting_stops_too(workspace, endless):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    job.cancel(grace=0)
    wait_for(job, "cancelled", SOON)
    assert left_in(workspace.root / "vectors") == []


def test_a_waiting_job_is_cancelled_without_having_run(workspace, endless, quick):
    first, second = start(workspace, endless, "v"), start(workspace, quick, "mine")
    wait_for(first, "running")
    assert second.status().state == "waiting"
    second.cancel(grace=SOON)
    assert second.status().state == "cancelled" and second.status().started == 0
    assert first.status().state == "running"


@pytest.mark.parametrize("moment", [0.0, 0.5, 1.0, 2.0])
def test_after_kill_9_a_job_is_interrupted_and_the_next_one_runs(workspace, endless, quick, moment):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    time.sleep(moment)
    kill(job)
    status = wait_for(job, "interrupted", SOON)
    assert "killed" in status.error
    assert workspace.artefacts("vectors") == []
    assert start(workspace, quick, "mine").wait(LONG).state == "done"


def test_kill_9_before_its_first_word_interrupts_too(workspace, quick):
    job = start(workspace, quick, "mine")
    assert job.status().state == "waiting"
    [child] = [process for process in psutil.Process().children() if str(job.folder) in " ".join(process.cmdline())]
    child.kill()
    assert wait_for(job, "interrupted", SOON).error


def test_an_interrupted_job_is_resumed_in_its_folder(workspace, endless, quick):
    finished = start(workspace, quick, "mine")
    finished.wait(LONG)
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    kill(job)
    wait_for(job, "interrupted", SOON)
    log = job.log()
    assert resume(workspace, job).id == job.id
    status = wait_for(job, "running")
    assert [state for state, _ in status.past] == ["interrupted"]
    assert job.log().startswith(log) and "run 2" in job.log()
    assert len(list_jobs(workspace)) == 2
    assert workspace.artefact("corpora", "mine")  # no finished result was lost


def test_two_starts_at_once_run_one_after_the_other(workspace, quick):
    four = [start(workspace, quick, f"mine-{number}") for number in range(4)]
    seen = set()
    while any(job.status().alive for job in four):
        states = tuple(job.status().state for job in four)
        seen.add(states.count("running"))
        time.sleep(0.01)
    assert [job.status().state for job in four] == ["done"] * 4, [job.log() for job in four]
    assert max(seen) <= 1
    started = [job.status().started for job in four]
    assert started == sorted(started)  # first come, first served
    assert len(workspace.artefacts("corpora")) == 4


def test_a_job_outlives_the_process_that_started_it(workspace, quick):
    code = """
import sys
from pathlib import Path
from vocadapt.lab.jobs import start
from vocadapt.lab.spec import Spec
from vocadapt.lab.workspace import Workspace
start(Workspace(Path(sys.argv[1])), Spec.from_json(sys.argv[2]), "mine")
"""
    command = [sys.executable, "-c", code, str(workspace.root), quick.to_json()]
    subprocess.run(command, check=True, timeout=LONG, cwd=Path(__file__).parents[1])
    [job] = list_jobs(workspace)
    assert job.wait(LONG).state == "done", job.log()


def test_a_reused_pid_is_never_signalled(workspace, endless, monkeypatch):
    job = start(workspace, endless, "v")
    wait_for(job, "running")
    with monkeypatch.context() as patch:
        stranger = replace(read_status(job.folder), process_started=1.0)
        patch.setattr(jobs, "read_status", lambda folder: stranger)
        job._send(signal.SIGKILL)
    time.sleep(0.3)
    assert job.status().state == "running"


@pytest.mark.parametrize("name", ["../../x", "", "CON", "a/b"])
def test_a_bad_name_starts_nothing(workspace, quick, name):
    with pytest.raises(InputError):
        start(workspace, quick, name)
    assert not (workspace.root / "jobs").exists()


def test_a_taken_name_is_said_at_once(workspace, quick):
    start(workspace, quick, "mine").wait(LONG)
    with pytest.raises(InputError, match="already exists"):
        start(workspace, quick, "mine")
    assert start(workspace, quick, "mine", overwrite=True).wait(LONG).state == "done"


def test_an_unknown_job_is_said(workspace):
    for job_id in ("nothing", "../x"):
        with pytest.raises(InputError):
            find_job(workspace, job_id)


def test_the_time_left_follows_from_the_pace():
    now = time.time()
    status = Status("running", fraction=0.25, started=now - 10, updated=now)
    assert status.seconds_left == pytest.approx(30, abs=0.5)
    assert Status("running", started=now).seconds_left is None
    assert Status("done", fraction=1.0, started=now - 10, updated=now).seconds == pytest.approx(10)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("spec.json", ""), ("spec.json", "[]"), ("spec.json", "{}"), ("spec.json", '{"spec": 3, "target": "x"}'),
        ("spec.json", '{"spec": {"step": "fly"}, "target": "x", "overwrite": false}'),
        ("status.json", '{"state": "runn'), ("status.json", "\0"), ("status.json", '{"state": "flying"}'),
    ],
)  # fmt: skip
def test_a_job_that_cannot_be_read_is_not_listed(workspace, quick, file, content):
    for name, asked in {"1-good": quick, "2-torn": quick}.items():
        folder = workspace.root / "jobs" / name
        folder.mkdir(parents=True)
        order = {"spec": asked.to_dict(), "target": str(workspace.root / "corpora" / "x"), "overwrite": False}
        strict_json.write(folder / "spec.json", order)
        strict_json.write(folder / "status.json", {"state": "done"})
    (workspace.root / "jobs" / "2-torn" / file).write_text(content)
    assert [job.id for job in list_jobs(workspace)] == ["1-good"]


def test_every_step_can_be_a_job():
    assert all(step.about for step in STEPS.values())
