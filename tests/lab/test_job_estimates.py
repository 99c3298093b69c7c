"""The estimated total time of a job includes its start-up time and follows the latest jobs of
the same step."""

import json
import shutil
from dataclasses import asdict, replace

import pytest

from vocadapt.errors import InputError
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.inputs.corpora import RECORD
from vocadapt.lab.jobs.estimates import (
    MAX_JOBS,
    MeasuredSpeed,
    _read_profile,
    estimate_job_seconds,
    estimate_seconds_left,
    find_slowdown,
    measure_slowness,
    measure_speed,
    measure_start_up,
)
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.queue import iterate_jobs
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.word_counts import WordCountsStep
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.manifest import Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import estimate_projection_seconds


def job(workspace, number, **status):
    folder = workspace.root / "jobs" / f"20260101-00000{number}-000000-finetune"
    folder.mkdir(parents=True)
    spec = Spec(FinetuneStep(), {"model": "m"}).to_dict()
    order = {"spec": spec, "target": "runs/x", "overwrite": False}
    (folder / "spec.json").write_text(json.dumps(order), encoding="utf-8")
    write_status(folder, Status(**{"state": "done", "started": 100.0, "updated": 200.0, **status}))


@pytest.mark.parametrize("step", ["finetune", "continued"])
def test_without_jobs_the_start_up_time_is_the_measured_default(step, tmp_path):
    start_up = STEPS[step].start_up
    assert start_up > 0 and estimate_job_seconds(Workspace(tmp_path), step, 3) == 3 + start_up


def test_a_step_without_a_declared_start_up_has_none(tmp_path):
    assert estimate_job_seconds(Workspace(tmp_path), "convert", 3) == 3


def test_the_estimate_follows_the_latest_jobs_of_the_step(tmp_path):
    workspace = Workspace(tmp_path)
    job(workspace, 0, paced=1000.0)  # too old to count
    for number, paced in enumerate((121.0, 104.0, 0.0, 130.0, 125.0, 128.0), start=1):
        job(workspace, number, paced=paced)  # 0.0: never got so far
    job(
        workspace, 7, paced=500.0, past=(("canceled", 1.0),)
    )  # resumed: it did not begin at nothing
    assert measure_start_up(workspace, "finetune") == pytest.approx(25.0)
    assert measure_start_up(workspace, "vectors") == STEPS["vectors"].start_up


def projection(workspace, number, seconds, work=0.0, shown=4000, ordered=20.0, **status):
    """A finished projection job of this machine, started up in 2 seconds, and its result."""
    name = f"made-{number}"
    target = workspace.folder("projections", name)
    target.mkdir(parents=True)
    settings = ProjectionStep(projection=ProjectionSettings("umap"))
    Manifest(
        kind="projections",
        name=name,
        settings=asdict(settings),
        numbers={"shown": shown},
        seconds=seconds,
        step="projection",
    ).save(target)
    folder = workspace.root / "jobs" / f"20260101-0000{number:02}-000000-projection"
    folder.mkdir(parents=True)
    order = {
        "spec": Spec(settings, {"space": "m"}).to_dict(),
        "target": f"projections/{name}",
        "overwrite": False,
        "work": work,
        "slowdown": ordered,
    }
    (folder / "spec.json").write_text(json.dumps(order), encoding="utf-8")
    ended = {"state": "done", "started": 100.0, "paced": 102.0, "updated": 102.0 + seconds}
    ended["slowdown"] = 1.0
    write_status(folder, Status(**{**ended, **status}))
    return Job(folder)


def test_the_speed_is_estimated_from_the_jobs_of_this_machine(tmp_path):
    workspace = Workspace(tmp_path)
    modeled = estimate_projection_seconds(4000, 768, ProjectionSettings("umap"))
    assert measure_slowness(workspace, "projection") == 1
    projection(workspace, 0, 0.5)  # start-up, hardly any work
    projection(workspace, 1, 900.0, state="failed")
    projection(workspace, 2, 900.0, past=(("canceled", 1.0),))  # it resumed a part
    assert measure_slowness(workspace, "projection") == 1
    projection(workspace, 3, 3 * modeled)
    projection(workspace, 4, 5 * modeled)
    assert measure_slowness(workspace, "projection") == pytest.approx(4)
    assert estimate_job_seconds(workspace, "projection", 10) == pytest.approx(2 + 40)


@pytest.mark.parametrize("step", ["corpus", "counts"])
def test_estimates_of_counting_follow_earlier_jobs(step, tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.lab.steps.corpus.BYTES_PER_SECOND", 100)
    workspace = Workspace(tmp_path / "w")
    text = workspace.folder("corpora", "text")
    text.mkdir(parents=True)
    strict_json.write(text / RECORD, {"files": [str(tmp_path / "long.txt")], "settings": {}})
    (tmp_path / "long.txt").write_text("abc\n" * 100)  # 4 s, as modeled
    inputs = {"text": Input(("corpora/text",), "")}
    counted, spec = text, Spec(CorpusStep(), {"text": str(tmp_path / "long.txt")})
    if step == "counts":
        counted = workspace.folder("word-counts", "text")
        counted.mkdir(parents=True)
        spec = Spec(WordCountsStep(), {"text": str(text), "model": "m"})
    folder = workspace.root / "jobs" / f"20260101-000000-000000-{step}"
    folder.mkdir(parents=True)
    order = {"spec": spec.to_dict(), "target": f"{spec.kind}/text", "overwrite": False}
    (folder / "spec.json").write_text(json.dumps(order), encoding="utf-8")
    write_status(folder, Status(state="done", started=100.0, paced=101.0, updated=103.0))
    # Without word counts the job has only imported the text: that does not show the speed.
    Manifest(spec.kind, "text", {}, inputs, {}).save(counted)
    if step == "corpus":
        assert measure_slowness(workspace, step) == 1
    Manifest(spec.kind, "text", {}, inputs, {"words": 100}).save(counted)
    assert measure_slowness(workspace, step) == pytest.approx(0.5)


def test_results_of_another_machine_do_not_change_the_speed(tmp_path):
    workspace = Workspace(tmp_path)
    job = projection(workspace, 0, 900.0)
    assert measure_slowness(workspace, "projection") > 1
    shutil.rmtree(job.folder)  # the artifact was copied here without its job
    assert measure_slowness(workspace, "projection") == 1


def test_after_one_job_the_estimate_of_the_next_moves_to_it(tmp_path):
    workspace = Workspace(tmp_path)
    begin = STEPS["projection"].start_up
    assert estimate_job_seconds(workspace, "projection", 8.0) == pytest.approx(begin + 8)
    projection(workspace, 0, 24.0, work=8.0)
    assert estimate_job_seconds(workspace, "projection", 8.0) == pytest.approx(2 + 24)
    assert estimate_job_seconds(workspace, "projection", 16.0) == pytest.approx(2 + 48)


def test_a_busy_machine_does_not_count_as_a_slow_one(tmp_path):
    workspace = Workspace(tmp_path)
    projection(workspace, 0, 24.0, work=8.0, slowdown=3.0)
    assert measure_slowness(workspace, "projection") == pytest.approx(1)
    assert measure_start_up(workspace, "projection") == pytest.approx(2 / 3)


def result(job, made_by="itself"):
    """The artifact of a job, with the id of this or another job in its manifest."""
    artifact = open_artifact(job.target)
    named = {"itself": job.id}.get(made_by, made_by)
    return replace(artifact, manifest=replace(artifact.manifest, job=named))


def test_a_measured_speed_does_not_contain_the_load_of_its_time(tmp_path):
    """The page multiplies the time by the load of today: it must not be in the speed already."""
    workspace = Workspace(tmp_path)
    idle = result(projection(workspace, 0, 10.0))
    busy = result(projection(workspace, 1, 30.0, slowdown=3.0))
    assert measure_speed(workspace, [(idle, 9.0)]) == MeasuredSpeed(9, 1, False)
    assert measure_speed(workspace, [(busy, 3.0)]) == MeasuredSpeed(9, 1, True)
    assert MeasuredSpeed(9, 1, False).describe("job") == "scaled from 1 job on this machine"


def test_results_of_an_idle_machine_count_more_than_corrected_ones(tmp_path):
    """A load at the start may have ended soon after it, so that the correction is too large."""
    workspace = Workspace(tmp_path)
    idle = result(projection(workspace, 0, 10.0))
    busy = result(projection(workspace, 1, 30.0, slowdown=3.0))
    found = measure_speed(workspace, [(busy, 1.0), (idle, 1.5), (idle, 2.0)])
    assert found == MeasuredSpeed(2, 2, False)
    assert found.describe("job") == "scaled from the fastest of 2 jobs on this machine"
    found = measure_speed(workspace, [(busy, 1.0), (busy, 2.0), (busy, 9.0)])
    assert found == MeasuredSpeed(6, 3, True)
    assert "the median of 3 jobs on this machine, corrected for" in found.describe("job")


def test_the_speed_of_another_machine_is_not_that_of_this_one(tmp_path):
    workspace = Workspace(tmp_path)
    made = projection(workspace, 0, 10.0)
    resumed = projection(workspace, 1, 10.0, past=(("canceled", 1.0),))
    results = [result(made, job) for job in ("", "../..", "20250101-000000-000000-finetune")]
    for one in (*results, result(resumed), None):
        assert find_slowdown(workspace, one) is None
        assert measure_speed(workspace, [(one, 9.0)]) is None
    assert measure_speed(workspace, [(results[0], 9.0), (result(made), 40.0)]).ratio == 40
    assert measure_speed(workspace, [(result(made), 0.0)]) is None  # not recorded


def test_the_latest_results_count(tmp_path):
    workspace = Workspace(tmp_path)
    one = result(projection(workspace, 0, 10.0))
    found = measure_speed(workspace, [(one, 90.0)] * MAX_JOBS + [(one, 500.0)])
    assert (found.ratio, found.n_results) == (90, MAX_JOBS)


def test_results_without_a_cost_model_do_not_change_the_speed(tmp_path):
    workspace = Workspace(tmp_path)
    projection(workspace, 0, 100.0, shown="many")
    assert measure_slowness(workspace, "projection") == 1


@pytest.mark.parametrize("value", ["much", None, -1, float("nan"), float("inf"), [1], 10**400])
def test_a_request_with_other_numbers_counts_as_one_without(tmp_path, value):
    job = projection(Workspace(tmp_path), 0, 10.0, work=3.0)
    order = json.loads((job.folder / "spec.json").read_text())
    (job.folder / "spec.json").write_text(json.dumps(order | {"work": value, "slowdown": value}))
    changed = Job(job.folder)
    try:
        assert (changed.work, changed.slowdown) == (0.0, 1.0)
    except InputError:
        assert not changed.readable  # not strict JSON


@pytest.mark.parametrize("value", ["much", None, -1, 0, [1], 10**400])
def test_without_a_slowdown_at_its_start_a_job_has_that_of_its_order(tmp_path, value):
    """The status of an older version has none."""
    job = projection(Workspace(tmp_path), 0, 10.0, ordered=3.0)
    file = job.folder / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"slowdown": value}))
    assert Job(job.folder).slowdown == 3.0


@pytest.mark.parametrize(("ordered", "started"), [(1.0, 3.0), (3.0, 1.0)])
def test_the_load_of_the_job_before_it_is_not_counted(tmp_path, ordered, started):
    """At the order it is still running, at the start it is still in the load average."""
    job = projection(Workspace(tmp_path), 0, 10.0, ordered=ordered, slowdown=started)
    assert job.slowdown == 1.0


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
    jobs = [projection(workspace, number, 10.0, work=5.0) for number in range(8)]
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
    measure_slowness(workspace, "projection")
    assert len(read) == MAX_JOBS + 1  # one after the last that counts


def test_a_profile_that_goes_back_or_is_short_still_increases(tmp_path):
    workspace = Workspace(tmp_path)
    job = projection(workspace, 0, 10.0)
    report(job, (2.0, 0.0), (3.0, 0.6), (4.0, 0.2), (8.0, 0.8), (12.0, 1.0))
    assert _read_profile(job.folder, 12.0) == ([0.0, 0.6, 0.8, 1.0], [0.0, 0.1, 0.6, 1.0])
    short = projection(workspace, 1, 10.0)
    report(short, (2.0, 0.0), (8.0, 0.1))
    assert _read_profile(short.folder, 12.0) == ([0.0, 1.0], [0.0, 1.0])
