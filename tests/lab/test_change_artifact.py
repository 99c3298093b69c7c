"""The step change: its artifact's round trip, its inputs, a damaged one, cancel, and its command."""

import json
import shlex
import shutil
from dataclasses import replace

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.values import check_same
from vocadapt.cli import main
from vocadapt.errors import Canceled
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.steps.change import (
    BASE_TO_ADAPTED,
    ChangeInputs,
    ChangeStep,
    compare_spaces,
    load_comparison,
)
from vocadapt.lab.steps.noise_baselines import SEED
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.change import ChangeSettings

FIVE = ChangeStep(ChangeSettings(5))


def spec(before, after, settings=FIVE, **more):
    return Spec(settings, {"before": before, "after": after, **more})


@pytest.fixture(scope="module")
def compared(vectors, tiny_bert, tmp_path_factory):
    """The folder of a comparison; read only."""
    return run_step(spec(tiny_bert, vectors), tmp_path_factory.mktemp("changes") / "c").folder


@pytest.mark.parametrize("among", ["shared", "all"])
def test_a_comparison_is_saved_with_its_settings_and_inputs(vectors, tiny_bert, tmp_path, among):
    workspace = Workspace(tmp_path / "ws")
    settings = ChangeStep(ChangeSettings(5, among, without=("special", "number")))
    made = run_step(
        spec(tiny_bert, vectors, settings, counts=vectors), workspace.folder("changes", "c")
    )
    assert [found.name for found in workspace.artifacts("changes")] == ["c"]
    assert made.explain_staleness(workspace) == []
    assert set(made.manifest.inputs) == {"before", "after", "counts"}
    numbers = made.manifest.numbers
    assert (numbers["compared"], numbers["k"], numbers["counts_from"]) == (34, 5, vectors.name)
    spaces = ChangeInputs(open_space(tiny_bert), open_space(vectors))
    check_same(load_comparison(made.folder), compare_spaces(spaces, settings))


def test_a_noise_baseline_is_trained_and_saved(vectors, tiny_bert, tmp_path):
    settings = replace(FIVE, train_noise=SEED)
    made = run_step(spec(vectors, tiny_bert, settings), tmp_path / "c")
    kept = load_comparison(made.folder)
    assert kept.baseline.about == "two seeds of v" and 0 < kept.baseline.mean < 1
    assert made.manifest.numbers["changed"] == kept.baseline.fraction_below
    check_same(kept, compare_spaces(ChangeInputs(*map(open_space, (vectors, tiny_bert))), settings))
    assert "--noise-baseline-seed" in made.manifest.command
    assert "work" not in made.manifest.timing  # a training takes most of the time


def test_the_command_line_of_the_artifact_makes_the_same_again(vectors, tiny_bert, tmp_path):
    given = spec(tiny_bert, vectors, BASE_TO_ADAPTED, counts=vectors)
    settings = replace(given.settings, neighborhoods=ChangeSettings(4, "all", ("special",)))
    made = run_step(replace(given, settings=settings), tmp_path / "one")
    arguments = shlex.split(made.manifest.command)[3:]
    assert main([*arguments[:-1], str(tmp_path / "two")]) == 0
    check_same(load_comparison(made.folder), load_comparison(tmp_path / "two"))


def test_a_noise_baseline_that_is_given_is_an_input(vectors, tiny_bert, tmp_path):
    made = run_step(spec(tiny_bert, vectors, noise=(vectors, vectors)), tmp_path / "c")
    assert len(made.manifest.inputs["noise"].paths) == 2
    assert load_comparison(made.folder).baseline.same
    with raises_input_error("no-pair"):
        run_step(spec(tiny_bert, vectors, noise=(vectors,)), tmp_path / "d")
    with raises_input_error("not-retrainable"):
        run_step(spec(tiny_bert, tiny_bert, replace(FIVE, train_noise=SEED)), tmp_path / "e")
    assert not (tmp_path / "d").exists() and not (tmp_path / "e").exists()


def test_a_canceled_comparison_leaves_nothing(vectors, tiny_bert, tmp_path):
    def stop(fraction, message=""):
        if "neighbors of" in message:
            raise Canceled

    with pytest.raises(Canceled):
        run_step(spec(tiny_bert, vectors), tmp_path / "changes" / "c", stop)
    assert not (tmp_path / "changes").exists() or not any((tmp_path / "changes").iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda change: change.pop("words"),
        lambda change: change["words"].pop(),
        lambda change: change["before"].update(words=["the"]),
        lambda change: change.update(settings={"k": "five"}),
        lambda change: change.update(settings={"of another version": 1}),
        lambda change: change.update(sizes=3),
        lambda change: change["settings"].update(k=4),
        lambda change: change.update(before=3),
    ],
)
def test_a_damaged_comparison_is_reported(damage, compared, tmp_path):
    folder = shutil.copytree(compared, tmp_path / "c")
    facts = json.loads((folder / "change.json").read_text())
    damage(facts["change"])
    (folder / "change.json").write_text(json.dumps(facts))
    with raises_input_error("damaged-result", str(folder)):
        load_comparison(folder)


def test_a_folder_without_a_comparison_is_reported(tmp_path):
    with raises_input_error("no-result", "change.json"):
        load_comparison(tmp_path)
