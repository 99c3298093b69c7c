"""The commands jobs list, show, cancel and resume, from another terminal than the one that
started the job."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.material import counting_step
from tests.material.commands import run_line
from tests.material.counting_step import CountingStep
from tests.material.lab import write_text
from vocadapt.lab.jobs.queue import start
from vocadapt.lab.jobs.status import read_metrics, read_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec

ROOT = Path(__file__).parents[2]
LONG = 60


@pytest.fixture
def workspace(make_workspace, monkeypatch):
    counting_step.use(monkeypatch, PYTHONPATH=str(ROOT))
    return make_workspace("w")


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "text.txt", lines=3)


@pytest.fixture
def ask(capsys, workspace):
    """Run a jobs command and give its exit code and its answer."""

    def run(*arguments, as_json=True):
        capsys.readouterr()
        code = run_line(
            "jobs", *arguments, "--workspace", workspace.root, *(["--json"] if as_json else [])
        )
        out, err = capsys.readouterr()
        return code, json.loads(out, parse_constant=pytest.fail) if as_json and out else out + err

    return run


def started(workspace, text, name="n", numbers=2000):
    job = start(workspace, Spec(CountingStep(numbers), {"text": text}), name)
    end = time.monotonic() + LONG
    while not (job.status().fraction and read_metrics(job.folder)):
        assert time.monotonic() < end and job.status().alive, job.log()
        time.sleep(0.05)
    return job


def test_an_empty_workspace_has_no_jobs(ask, workspace):
    assert ask() == ask("list") == (0, {"jobs": []})
    assert str(workspace.root) in ask(as_json=False)[1]
    assert not workspace.root.exists()


def test_the_list_shows_the_state_of_each_job(ask, workspace, text):
    job = started(workspace, text)
    waiting = start(workspace, Spec(CorpusStep(), {"text": text}), "later")
    code, answer = ask("list")
    assert code == 0 and [line["id"] for line in answer["jobs"]] == [waiting.id, job.id]
    later, running = answer["jobs"]
    assert (later["state"], later["waits_for"], later["fraction"]) == ("waiting", job.id, None)
    assert running["state"] == "running" and 0 < running["fraction"] < 1 and running["seconds"] > 0
    assert running["target"] == str(workspace.root / "corpora" / "n")
    assert running["command"].startswith("python -m vocadapt")
    lines = ask(as_json=False)[1].splitlines()
    assert lines[0].split()[:4] == ["Id", "State", "Step", "Result"] and len(lines) == 3
    assert f"behind {job.id}" in lines[1]
    assert re.search(r"running\s+count\s+corpora/n\s+[\d.]+ %\s+\d+ s", lines[2])


def test_a_job_in_full(ask, workspace, text):
    job = started(workspace, text)
    code, answer = ask("show", job.id, "--lines", 2)
    assert code == 0 and answer["id"] == job.id and answer["past"] == []
    assert len(answer["log"]) == 2
    assert set(answer["metrics"][0]) == {"run", "seconds", "fraction", "message"}
    shown = ask("show", job.id, as_json=False)[1]
    assert job.command in shown and "metrics.jsonl" in shown and "square" in shown


def test_a_job_is_canceled_and_resumed(ask, workspace, text):
    job = started(workspace, text, numbers=150)
    time.sleep(0.5)
    began = time.monotonic()
    code, answer = ask("cancel", job.id)
    assert code == 0
    assert answer["state"] == "canceled"
    assert answer["had_ended"] is False
    assert time.monotonic() - began < 10
    assert ask("cancel", job.id)[1]["had_ended"]
    code, answer = ask("resume", job.id)
    assert code == 0 and answer["state"] in ("waiting", "running") and answer["from_checkpoint"]
    assert [line["state"] for line in answer["past"]] == ["canceled"]
    assert job.wait(LONG).state == "done", job.log()
    assert workspace.artifact("corpora", "n").manifest.numbers["begun_at"] > 0
    assert ask("resume", job.id, as_json=False)[0] == 2


@pytest.mark.slow
def test_resume_with_wait_reports_the_final_state(ask, workspace, text):
    text.write_text("")
    job = start(workspace, Spec(CorpusStep(), {"text": text}), "n")
    assert job.wait(LONG).state == "failed"
    code, said = ask("resume", job.id, "--wait", as_json=False)
    assert code == 1 and "failed" in said and "no checkpoint" in said and "empty" in said
    text.write_text("a line\n")
    code, answer = ask("resume", job.id, "--wait")
    assert (code, answer["state"], len(answer["past"])) == (0, "done", 2)


def test_interrupting_the_watching_command_does_not_stop_the_job(workspace, text):
    job = started(workspace, text)
    job.cancel(grace=10)
    code = (
        "from tests.material import counting_step; from vocadapt.lab.jobs import queue; from vocadapt.cli import"
        " main; import sys\n"
    )
    code += (
        f"counting_step.register(); queue.WORKER = ({counting_step.__file__!r},); sys.exit(main())"
    )
    line = f"jobs resume {job.id} --wait --workspace {workspace.root}"
    command = [sys.executable, "-c", code, *line.split()]
    follower = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + LONG
    while job.status().state != "running":
        assert time.monotonic() < end, job.log()
        time.sleep(0.05)
    time.sleep(0.5)
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=LONG)
    assert (follower.returncode, err) == (130, "") and "running" in out
    assert job.status().state == "running"


def test_a_killed_job_is_listed_as_interrupted(ask, workspace, text):
    job = started(workspace, text)
    os.kill(read_status(job.folder).pid, signal.SIGKILL)
    job.wait(LONG)
    [line] = ask("list")[1]["jobs"]
    assert line["state"] == "interrupted" and "killed" in line["error"]
    assert "interrupted" in ask("list", as_json=False)[1]
