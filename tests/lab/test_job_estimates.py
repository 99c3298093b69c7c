"""The estimated total time of a job includes its start-up time and follows the latest jobs of
the same step."""

import json
from dataclasses import asdict

import pytest

from vocadapt.lab.jobs.estimates import estimate_job_seconds, measure_slowness, measure_start_up
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import STEPS, Spec
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import estimate_projection_seconds


def job(workspace, number, **status):
    folder = workspace.root / "jobs" / f"20260101-00000{number}-000000-finetune"
    folder.mkdir(parents=True)
    spec = Spec("finetune", FinetuneStep(), {"model": "m"}).to_dict()
    order = {"spec": spec, "target": "runs/x", "overwrite": False}
    (folder / "spec.json").write_text(json.dumps(order), encoding="utf-8")
    write_status(folder, Status(**{"state": "done", "started": 100.0, "updated": 200.0, **status}))


def test_without_jobs_the_start_up_time_is_the_measured_default(tmp_path):
    assert STEPS["finetune"].start_up > 0
    assert (
        estimate_job_seconds(Workspace(tmp_path), "finetune", 3) == 3 + STEPS["finetune"].start_up
    )
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


def projection(workspace, name, seconds, shown=4000, step="projection"):
    """A projection as a manifest tells of it."""
    folder = workspace.folder("projections", name)
    folder.mkdir(parents=True)
    settings = ProjectionStep(projection=ProjectionSettings("umap"))
    Manifest(
        kind="projections",
        name=name,
        settings=asdict(settings),
        numbers={"shown": shown},
        seconds=seconds,
        step=step,
    ).save(folder)


def test_the_speed_is_estimated_from_earlier_results(tmp_path):
    workspace, begin = Workspace(tmp_path), STEPS["projection"].start_up
    modeled = estimate_projection_seconds(4000, 768, ProjectionSettings("umap"))
    assert measure_slowness(workspace, "projection") == 1
    projection(workspace, "short", begin + 1)  # start-up, hardly any work
    projection(workspace, "other", 900.0, step="count")
    assert measure_slowness(workspace, "projection", begin) == 1
    projection(workspace, "slow", begin + 3 * modeled)
    projection(workspace, "slower", begin + 5 * modeled)
    assert measure_slowness(workspace, "projection", begin) == pytest.approx(4)
    assert estimate_job_seconds(workspace, "projection", 10) == pytest.approx(begin + 40)


def test_results_without_a_cost_model_do_not_change_the_speed(tmp_path):
    workspace = Workspace(tmp_path)
    projection(workspace, "damaged", 100.0, shown="many")
    assert measure_slowness(workspace, "projection") == 1
