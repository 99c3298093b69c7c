"""How long a step takes: its work at the rate of the earlier runs, and the load of the machine."""

import json
from dataclasses import asdict
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from vocadapt.lab.experiments import STEPS
from vocadapt.lab.experiments.studies.estimates import describe_basis
from vocadapt.lab.steps.alignment import AlignmentStep, measure_evaluation
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.forecasts import MAX_RUNS, forecast_step, learn_rate, record_work
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.word_counts import WordCountsStep
from vocadapt.lab.workspace.manifest import Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system import forecasts
from vocadapt.system.cores import count_cores
from vocadapt.system.forecasts import Rate, Work, forecast_at_default_rate, measure_load_factor
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings

UMAP = ProjectionStep(projection=ProjectionSettings("umap"))


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    monkeypatch.setattr(forecasts, "_read_load_average", lambda: 0.0)


def record(workspace, seconds, work, start_up=2.0, load=1.0, space="m", settings=UMAP, **timing):
    """Save the result of a projection that took `seconds` after its start-up."""
    name = f"made-{len(workspace.artifacts('projections'))}"
    target = workspace.folder("projections", name)
    target.mkdir(parents=True)
    known = {"work": work, "start_up": start_up, "load": load, "cores": count_cores()}
    Manifest(
        "projections",
        name,
        asdict(settings),
        {"space": Input((f"models/{space}",), "")},
        seconds=start_up + seconds,
        step="projection",
        timing=known | timing,
    ).save(target)
    return target


def plan(workspace, settings=UMAP, space="m"):
    inputs = {"space": str(workspace.root / "models" / space)}
    return Spec(settings, inputs).plan(workspace.root)


def forecast(workspace, seconds, **planned):
    """The seconds of work that takes `seconds` at the default rate."""
    return learn_rate(plan(workspace, **planned)).forecast(Work(1, "tokens", seconds))


def test_without_runs_the_rate_and_the_start_up_are_the_defaults(tmp_path):
    found = learn_rate(plan(Workspace(tmp_path)))
    assert found == Rate(1.0, STEPS["projection"].start_up, 0) and found.start_up > 0
    assert "default" in found.forecast(Work(1, "x", 3.0)).basis


def test_a_step_without_declared_work_has_no_forecast(tmp_path):
    spec = Spec(STEPS["convert"].settings(), {"model": "m"})
    assert forecast_step(spec.plan(tmp_path)) is None


def test_the_start_up_is_that_of_the_latest_runs(workspace):
    record(workspace, 0.0, 8.0, start_up=1000.0)  # too old to count
    for start_up in (21.0, 4.0, 30.0, 25.0, 28.0):
        record(workspace, 0.0, 8.0, start_up)
    assert learn_rate(plan(workspace)) == Rate(1.0, 25.0, 0)  # no run shows the rate


def test_the_rate_is_the_median_of_the_runs_of_this_machine(workspace):
    record(workspace, 0.5, 0.1)  # start-up, hardly any work
    record(workspace, 900.0, 8.0, cores=count_cores() + 1)  # of another machine
    assert learn_rate(plan(workspace)).slowness == 1
    record(workspace, 24.0, 8.0)
    record(workspace, 40.0, 8.0)
    found = forecast(workspace, 10.0)
    assert found.seconds == pytest.approx(2 + 40) and "2 earlier" in found.basis


def test_runs_of_an_idle_machine_count_more_than_corrected_ones(workspace):
    """A load at the start may have ended soon after it, so that the correction is too large."""
    record(workspace, 24.0, 8.0, load=3.0)
    assert forecast(workspace, 8.0).total_idle_seconds == pytest.approx(2 / 3 + 8)
    record(workspace, 24.0, 8.0)
    assert forecast(workspace, 8.0).idle_seconds == pytest.approx(24)


def test_the_nearest_runs_count(workspace):
    """Those with the same inputs, and among them those with the fewest other settings."""
    other = ProjectionStep(projection=ProjectionSettings("umap", seed=5, pca=20))
    record(workspace, 80.0, 8.0, space="other")
    assert forecast(workspace, 8.0).idle_seconds == pytest.approx(80)
    record(workspace, 40.0, 8.0, settings=other)
    assert forecast(workspace, 8.0).idle_seconds == pytest.approx(40)
    for _ in range(MAX_RUNS + 1):
        record(workspace, 16.0, 8.0)
    found = forecast(workspace, 8.0)
    assert found.idle_seconds == pytest.approx(16) and f"{MAX_RUNS} earlier" in found.basis
    assert forecast(workspace, 8.0, settings=other).idle_seconds == pytest.approx(40)


def test_a_study_learns_from_the_workspace_around_it(workspace):
    record(workspace, 24.0, 8.0)
    study = workspace.folder("studies", "s")
    study.mkdir(parents=True)
    Manifest("studies", "s", {}).save(study)
    spec = Spec(UMAP, {"space": str(workspace.root / "models" / "m")})
    assert learn_rate(spec.plan(study)).slowness == pytest.approx(3)


@pytest.mark.parametrize("value", ["much", None, -1, [1], 1e300])
@pytest.mark.parametrize("name", ["work", "start_up", "load", "cores"])
def test_a_damaged_record_shows_no_rate(workspace, name, value):
    file = record(workspace, 24.0, 8.0) / "manifest.json"
    content = json.loads(file.read_text())
    content["timing"][name] = value
    file.write_text(json.dumps(content))
    assert learn_rate(plan(workspace)).n_runs == 0


MACHINES = {"fast": (0.3, 1.0), "slow": (4.0, 1.0), "busy": (1.0, 3.5)}  # slowness, load


@pytest.mark.parametrize("machine", MACHINES)
def test_a_forecast_lies_within_a_factor_of_two_of_what_a_run_took(machine, tmp_path, monkeypatch):
    """Runs of several sizes, whose times vary by a third; the first is forecast by default rates."""
    slowness, load = MACHINES[machine]
    monkeypatch.setattr(forecasts, "_read_load_average", lambda: (load - 1) * count_cores())
    workspace, random = Workspace(tmp_path), Random(7)
    for number in range(12):
        work = 10.0 * 2 ** random.uniform(0, 4)
        expected = forecast(workspace, work).seconds
        taken = work * slowness * load * random.uniform(0.75, 1.33)
        start_up = 2.0 * slowness * load
        if number:
            assert 0.5 < expected / (start_up + taken) < 2
        record(workspace, taken, work, start_up, load)


def test_a_forecast_obeys_the_load(monkeypatch):
    found = Rate(2.0, 3.0).forecast(Work(40, "examples", 10.0))
    assert (found.seconds, found.total_idle_seconds, found.units) == (23, 23, 40)
    monkeypatch.setattr(forecasts, "_read_load_average", lambda: 4.0)
    monkeypatch.setattr(forecasts, "count_cores", lambda: 2)
    assert (found.seconds, found.seconds_without_start_up) == (69, 60)
    assert found.total_idle_seconds == 23 and forecast_at_default_rate(found.work).seconds == 30


def test_of_a_given_time_the_units_follow_from_rate_and_load(monkeypatch):
    found = Rate(2.0, 3.0, 1).forecast(Work(4000, "wordpieces", 3600.0, is_timed=True))
    assert (found.seconds, found.units) == (3603, 2000)
    monkeypatch.setattr(forecasts, "_read_load_average", lambda: 4.0)
    monkeypatch.setattr(forecasts, "count_cores", lambda: 2)
    assert found.seconds_without_start_up == 3600 and found.units == pytest.approx(2000 / 3)


@pytest.mark.parametrize(
    ("load", "cores", "times"),
    [(0, 2, 1), (0.4, 2, 1), (2, 2, 2), (5, 2, 3.5), (16, 8, 3), (1000, 2, 20)],
)
def test_the_load_factor(load, cores, times):
    assert measure_load_factor(load, cores) == times


def test_the_basis_of_several_forecasts():
    default, known = Rate().forecast(Work(1, "x", 1)), Rate(n_runs=2).forecast(Work(1, "x", 1))
    assert "default" in describe_basis([default, default])
    assert "earlier" in describe_basis([known]) and "default" not in describe_basis([known])
    assert {"earlier", "default"} <= set(describe_basis([known, default]).split())


@pytest.mark.parametrize("step", ["corpus", "counts"])
def test_a_run_records_what_the_next_forecast_needs(
    step, workspace, tiny_bert, monkeypatch, tmp_path
):
    monkeypatch.setattr("vocadapt.lab.steps.corpus.BYTES_PER_SECOND", 100)
    monkeypatch.setattr("vocadapt.lab.steps.forecasts.MIN_SECONDS", 0.0)
    (tmp_path / "long.txt").write_text("abc\n" * 100)  # 4 s at the default rate
    inputs = {"text": str(tmp_path / "long.txt"), "model": str(tiny_bert)}
    settings = CorpusStep() if step == "corpus" else WordCountsStep()
    spec = Spec(settings, inputs)
    made = run_step(spec, workspace.folder(spec.kind, "text"))
    assert made.manifest.timing["work"] == 4 and made.manifest.timing["load"] == 1
    found = forecast_step(spec.plan(workspace.root))
    assert found is not None and "1 earlier" in found.basis
    assert found.total_idle_seconds == pytest.approx(made.manifest.seconds, rel=0.01)
    # Without word counts a text is only imported: that does not show the rate.
    if step == "corpus":
        only = Spec(settings, {"text": inputs["text"]})
        timing = run_step(only, workspace.folder(spec.kind, "b")).manifest.timing
        assert timing.keys() == {"start_up", "load"}


def test_the_work_of_an_evaluation_knows_which_methods_take_long():
    space = EmbeddingSpace(("heart", "liver"), np.eye(2, dtype=np.float32))
    inputs = SimpleNamespace(space=space, model=SimpleNamespace(word_space=space))

    def measure(method):
        settings = AlignmentStep(AlignmentSettings(method))
        spec = SimpleNamespace(settings=settings)
        return measure_evaluation(SimpleNamespace(spec=spec, inputs=inputs))

    assert measure("ensemble").seconds == pytest.approx(22 * measure("least-squares").seconds)


def test_unreadable_inputs_and_a_given_time_record_nothing(tmp_path, tiny_bert):
    spec = Spec(FinetuneStep(), {"model": "m", "task": str(tmp_path / "none")})
    assert record_work(spec.plan(None)) == {}
    (tmp_path / "a.txt").write_text("abc\n" * 1000)
    inputs = {"text": str(tmp_path / "a.txt"), "model": str(tiny_bert)}
    for training, is_known in ((MaskedSettings(), True), (MaskedSettings(hours=1), False)):
        settings = ContinuePretrainingStep(pretraining=ContinuedSettings(training=training))
        assert bool(record_work(Spec(settings, inputs).plan(None))) == is_known
