"""The time that a running job still needs follows the progress of the latest job of its step."""

import json

import pytest

from vocadapt.errors import InputError
from vocadapt.lab.jobs.estimates import _read_profile, estimate_seconds_left
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.queue import iterate_jobs
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace


def projection(workspace, number, seconds, **status):
    """A finished projection job, started up in 2 seconds."""
    folder = workspace.root / "jobs" / f"20260101-0000{number:02}-000000-projection"
    folder.mkdir(parents=True)
    spec = Spec(ProjectionStep(), {"space": "m"}).to_dict()
    order = {"spec": spec, "target": f"projections/made-{number}", "overwrite": False, "load": 2.0}
    (folder / "spec.json").write_text(json.dumps(order), encoding="utf-8")
    ended = {"state": "done", "started": 100.0, "paced": 102.0, "updated": 102.0 + seconds}
    write_status(folder, Status(**{**ended, **status}))
    return Job(folder)


@pytest.mark.parametrize("value", ["much", None, -1, float("nan"), float("inf"), [1], 10**400])
def test_a_request_with_another_load_counts_as_one_without(tmp_path, value):
    job = projection(Workspace(tmp_path), 0, 10.0)
    order = json.loads((job.folder / "spec.json").read_text())
    (job.folder / "spec.json").write_text(json.dumps(order | {"load": value}))
    changed = Job(job.folder)
    try:
        assert changed.load == 1.0
    except InputError:
        assert not changed.readable  # not strict JSON


def report(job, *points):
    lines = [
        json.dumps({"run": 1, "seconds": seconds, "fraction": fraction, "message": ""})
        for seconds, fraction in points
    ]
    (job.folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_the_time_left_follows_the_phases_of_the_latest_job(tmp_path, monkeypatch):
    """The first half of the progress took a fifth of the time, the second half the rest."""
    monkeypatch.setattr("time.time", lambda: 1000.0)
    workspace = Workspace(tmp_path)
    now = {"state": "running", "started": 988.0, "paced": 990.0, "updated": 1000.0, "fraction": 0.5}
    running = projection(workspace, 9, 0.0, **now)
    assert estimate_seconds_left(running, running.status()) is None  # its process has ended
    status = Status(**now)
    assert estimate_seconds_left(running, status) == pytest.approx(10)  # steady, as far as known
    earlier = projection(workspace, 0, 10.0)
    report(earlier, (2.0, 0.0), (3.0, 0.25), (4.0, 0.5), (8.0, 0.75), (12.0, 1.0))
    assert estimate_seconds_left(running, status) == pytest.approx(40)


def test_of_many_jobs_only_those_of_the_step_are_read(tmp_path, monkeypatch):
    """An estimate is made every two seconds while a job runs, and there may be thousands of jobs."""
    workspace = Workspace(tmp_path)
    jobs = [projection(workspace, number, 10.0) for number in range(8)]
    for number in range(3):
        (jobs[0].folder.parent / f"20260101-00000{number}-000000-corpus").mkdir()
    read = list[str]()
    status = Job.status
    monkeypatch.setattr(Job, "readable", property(lambda job: read.append(job.id) or True))
    assert [job.id for job in iterate_jobs(workspace, "projection")] == read
    assert sorted(read) == sorted(job.id for job in jobs)
    read.clear()
    monkeypatch.setattr(Job, "readable", True)
    monkeypatch.setattr(Job, "status", lambda job: read.append(job.id) or status(job))
    estimate_seconds_left(jobs[0], status(jobs[0]))
    assert len(read) == 1  # the latest


def test_a_profile_that_goes_back_or_is_short_still_increases(tmp_path):
    workspace = Workspace(tmp_path)
    job = projection(workspace, 0, 10.0)
    report(job, (2.0, 0.0), (3.0, 0.6), (4.0, 0.2), (8.0, 0.8), (12.0, 1.0))
    assert _read_profile(job.folder, 12.0) == ([0.0, 0.6, 0.8, 1.0], [0.0, 0.1, 0.6, 1.0])
    short = projection(workspace, 1, 10.0)
    report(short, (2.0, 0.0), (8.0, 0.1))
    assert _read_profile(short.folder, 12.0) == ([0.0, 1.0], [0.0, 1.0])
