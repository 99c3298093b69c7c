"""The runs of a workspace as values."""

import json

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.runs import write_run, write_runs
from vocadapt.errors import InputError
from vocadapt.lab.results.runs import (
    describe_unreadable,
    list_runs,
    list_runs_and_errors,
    list_tasks,
    open_artifact_runs,
    open_runs,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Sentence

GOLD = (Sentence(("No", "fever", "."), ("O", "B-D", "O")), Sentence(("A", "cough"), ("O", "B-D")))
RIGHT, HALF, NONE = (
    [("O", "B-D", "O"), ("O", "B-D")],
    [("O", "B-D", "O"), ("O", "O")],
    [("O", "O", "O"), ("O", "O")],
)


@pytest.fixture
def workspace(tmp_path):
    """Two sets of runs: one seed under one cut, two seeds under three."""
    found = Workspace(tmp_path / "w")
    write_runs(found, "base", GOLD, {1: {"base": HALF}})
    write_runs(
        found,
        "green",
        GOLD,
        {
            1: {"base": HALF, "adapted": RIGHT, "pooled": RIGHT},
            2: {"base": HALF, "adapted": NONE, "pooled": HALF},
        },
    )
    return found


def test_a_set_of_runs_has_the_scores_of_every_seed(workspace):
    green = open_runs(workspace.root / "runs" / "green")
    assert green.name == "green"
    assert green.task == "toy"
    assert green.kind.name == "ner"
    assert green.model == "green"
    assert green.seeds == (1, 2)
    assert green.tokenizations == ("base", "adapted", "pooled")
    assert green.main_tokenization == "pooled"
    assert green.metric == "f1"
    assert green.values() == (
        1.0,
        pytest.approx(2 / 3),
    )  # 1 of 1 predicted is right, 1 of 2 found: F1 2/3
    assert green.values("adapted", "recall") == (1.0, 0.0)
    summary = green.summary()
    assert summary.mean == pytest.approx(5 / 6) and summary.sd == pytest.approx((1 / 3) / 2**0.5)
    assert green.examples_per_second == 15.0  # 30 examples in 2 seconds, twice


def test_the_speed_is_that_of_the_training_without_loading_and_scoring(tmp_path):
    workspace = Workspace(tmp_path / "w")
    seeds = {1: {"base": NONE}, 2: {"base": NONE}}
    timed = write_runs(workspace, "timed", GOLD, seeds, seconds=6.0, training_seconds=1.5)
    older = write_runs(workspace, "older", GOLD, seeds, seconds=6.0)
    single_step = write_runs(workspace, "single", GOLD, seeds, seconds=6.0, training_seconds=0.0)
    speeds = [open_runs(folder).examples_per_second for folder in (timed, older, single_step)]
    assert speeds == [20.0, 5.0, 5.0]


def test_one_seed_has_no_deviation_and_a_single_tokenization_is_the_main_one(workspace):
    base = open_runs(workspace.root / "runs" / "base")
    assert base.summary().sd is None and base.main_tokenization == "base" and base.seeds == (1,)


def test_the_runs_of_a_workspace_newest_first_and_of_a_task(workspace):
    write_runs(workspace, "other", GOLD, {1: {"base": NONE}}, task="another")
    found = list_runs(workspace)
    assert [one.name for one in found] == ["other", "green", "base"]
    assert [one.name for one in list_runs(workspace, "toy")] == ["green", "base"]
    assert list_tasks(found) == ["another", "toy"]


def test_what_cannot_be_read_is_passed_over_and_named(workspace):
    (workspace.root / "runs" / "base" / "run.json").write_text("{", encoding="utf-8")
    record = workspace.root / "runs" / "green" / "seed-2" / "run.json"
    assert [one.name for one in list_runs(workspace)] == ["green"]
    record.write_text(json.dumps({"seed": 2}), encoding="utf-8")
    assert list_runs(workspace) == []
    asked = []
    runs, found = list_runs_and_errors(
        workspace, lambda artifact: asked.append(artifact.name) or open_artifact_runs(artifact)
    )
    assert runs == [] and asked == ["green", "base"]  # each once
    assert list(found) == ["green", "base"]
    assert describe_unreadable({}, 7) == ""
    assert describe_unreadable({"a": "x", "b": "y."}, 7).startswith("2 of 7 ")
    with raises_input_error("incomplete-run", "seed-2"):
        open_runs(workspace.root / "runs" / "green")


def test_a_folder_without_a_manifest_is_a_set_of_runs_too(tmp_path):
    found = open_runs(write_run(tmp_path / "alone", GOLD, {"base": RIGHT}, seed=7))
    assert found.artifact is None and found.seeds == (7,)
    with pytest.raises(InputError):
        open_runs(tmp_path)


def test_a_run_without_labels_has_no_scored_tokenization(tmp_path):
    found = open_runs(write_run(tmp_path / "bare", GOLD, {"base": RIGHT}, scores={}))
    assert found.tokenizations == () and found.main_tokenization == ""
