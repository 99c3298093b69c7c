"""How long a job takes in all: with its start, as the latest jobs of its step took it."""

import json

import pytest

from vocadapt.lab.jobs.estimates import START_UP, job_seconds, start_up
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.step import STEPS
from vocadapt.lab.workspace.workspace import Workspace


def job(workspace, number, **status):
    folder = workspace.root / "jobs" / f"20260101-00000{number}-000000-finetune"
    folder.mkdir(parents=True)
    spec = Spec("finetune", FinetuneStep(), {"model": "m"}).to_dict()
    order = {"spec": spec, "target": "runs/x", "overwrite": False}
    (folder / "spec.json").write_text(json.dumps(order), encoding="utf-8")
    write_status(folder, Status(**{"state": "done", "started": 100.0, "updated": 200.0, **status}))


def test_without_jobs_the_start_is_what_was_measured(tmp_path):
    assert set(START_UP) < set(STEPS)
    assert job_seconds(Workspace(tmp_path), "finetune", 3) == 3 + START_UP["finetune"]
    assert job_seconds(Workspace(tmp_path), "corpus", 3) == 3


def test_the_latest_jobs_of_the_step_tell_it(tmp_path):
    workspace = Workspace(tmp_path)
    job(workspace, 0, paced=1000.0)  # too old to count
    for number, paced in enumerate((121.0, 104.0, 0.0, 130.0, 125.0, 128.0), start=1):
        job(workspace, number, paced=paced)  # 0.0: never got so far
    job(
        workspace, 7, paced=500.0, past=(("canceled", 1.0),)
    )  # resumed: it did not begin at nothing
    assert start_up(workspace, "finetune") == pytest.approx(25.0)
    assert start_up(workspace, "vectors") == START_UP["vectors"]
