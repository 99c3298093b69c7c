"""A clock that was set back: ages are never negative, ids stay unique, and jobs do not hang."""

import os
import time
from datetime import UTC, datetime, timedelta

from tests.material import counting_step
from tests.material.counting_step import CountingStep
from tests.material.lab import wait_for, write_text
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.queue import start
from vocadapt.lab.jobs.status import Status, read_status, write_status
from vocadapt.lab.steps.step import Spec

HOUR = 3600.0


def test_the_age_of_a_job_is_not_negative(monkeypatch):
    status = Status("running", 0.5, started=time.time() + HOUR, paced=time.time() + HOUR)
    assert status.seconds == 0 and status.estimate_seconds_left() is None


def test_two_jobs_run_although_the_clock_was_set_back_between_them(
    make_workspace, tmp_path, monkeypatch
):
    counting_step.use(monkeypatch, PYTHONPATH=os.getcwd())
    workspace = make_workspace("w")
    text = write_text(tmp_path / "text.txt", lines=3)
    spec = Spec(CountingStep(numbers=20), {"text": text})
    first = start(workspace, spec, "first")

    class Earlier(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.now(UTC) - timedelta(hours=1)

    monkeypatch.setattr(queue, "datetime", Earlier)
    monkeypatch.setattr(queue.time, "time", lambda now=time.time: now() - HOUR)
    second = start(workspace, spec, "second")
    assert second.id != first.id
    wait_for(first, "done")
    wait_for(second, "done")
    assert min(first.status().seconds, second.status().seconds) >= 0
    assert {job.id for job in queue.list_jobs(workspace)} == {first.id, second.id}


def test_a_request_to_cancel_from_the_future_has_no_negative_age(make_workspace):
    job = make_workspace("w").folder("jobs", "20260101-000000-000000-count")
    job.mkdir(parents=True)
    (job / "cancel").touch()
    os.utime(job / "cancel", (time.time() + HOUR,) * 2)
    write_status(job, Status("running"))
    assert queue.Job(job).seconds_since_cancel_request == 0
    assert read_status(job).state == "running"
