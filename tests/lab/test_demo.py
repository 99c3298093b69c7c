"""A small demo built here: the shipped artifacts open, and the tutorial steps run on it."""

import json
import shutil
import sys
from dataclasses import replace
from itertools import islice

import pytest

from tests.material.lab import write_text
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab import demo
from vocadapt.lab.demo import (
    ADAPTED,
    BIOMEDICAL,
    MAP,
    MODEL,
    MOVED,
    NEWS_MAP,
    REFITTED,
    VECTORS,
    open_demo,
    run_demo,
)
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.settings import MaskedSettings


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory):
    """A demo of the real layout: a tiny model trained from nothing, vectors and a map."""
    root = tmp_path_factory.mktemp("assets") / "demo"
    text = write_text(root.parent / "trials.txt", lines=1200)
    training = MaskedSettings(length=32, batch=8, tokens=5120)
    scratch = ScratchSettings(layers=1, hidden=32, training=training)
    model, vectors = (str(root.joinpath(*place)) for place in (MODEL, VECTORS))
    for place, size in ((MODEL, 80), (BIOMEDICAL, 70)):
        step = PretrainStep(scratch=replace(scratch, vocabulary=size))
        run_step(Spec("pretrain", step, {"text": str(text)}), root.joinpath(*place))
    word2vec = Word2VecSettings(dim=4, min_count=2, epochs=1, workers=1)
    run_step(
        Spec("vectors", VectorsStep(word2vec=word2vec), {"text": str(text), "model": model}),
        root.joinpath(*VECTORS),
    )
    chosen = AlignmentStep(AlignmentSettings("ridge", ridge=1.0), folds=3)
    run_step(Spec("alignment", chosen, {"vectors": vectors, "model": model}), root.joinpath(*MAP))
    return root


@pytest.fixture
def shipped(small_demo, monkeypatch):
    monkeypatch.setattr(demo, "DEMO", small_demo)


def test_opening_the_demo_copies_what_is_shipped_once(shipped, tmp_path):
    workspace = Workspace(tmp_path / "w")
    made = open_demo(workspace)
    assert [artifact.folder for artifact in made] == [
        workspace.folder(*place) for place in demo.SHIPPED
    ]
    before = {path: path.stat().st_mtime_ns for path in workspace.root.rglob("*")}
    open_demo(workspace)
    assert {path: path.stat().st_mtime_ns for path in workspace.root.rglob("*")} == before
    assert demo.is_demo_installed()


def test_a_demo_that_is_not_there_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "DEMO", tmp_path / "nowhere")
    assert not demo.is_demo_installed()
    with pytest.raises(InputError, match="not part of this installation"):
        open_demo(Workspace(tmp_path / "w"))
    assert main(["demo", "--out", str(tmp_path / "w")]) == 2
    assert (
        "not part of this installation" in capsys.readouterr().err and not (tmp_path / "w").exists()
    )


def test_every_step_of_the_demo_is_really_run(shipped, small_demo, tmp_path, capsys, monkeypatch):
    """What a walk left is taken away or written over: every artifact of the second one is new."""
    # Least squares needs more anchors than the few words of the small demo give.
    steps = dict(demo.STEPS)
    ridge = AlignmentStep(AlignmentSettings("ridge", ridge=1.0), folds=3)
    steps["alignment"] = replace(steps["alignment"], settings=ridge)
    monkeypatch.setattr(demo, "STEPS", tuple(steps.items()))
    workspace = Workspace(tmp_path / "w")
    first = list(run_demo(workspace))
    assert [walked.step for walked in first] == ["open", *(name for name, _ in demo.STEPS)]
    assert all(walked.did and walked.seconds > 0 for walked in first)
    assert (
        f"too little text: {first[1].numbers['words']:,} words" in first[3].did
        and "chance" in first[3].did
    )
    by_name = {walked.step: walked for walked in first}
    assert (
        by_name["adapted model"].numbers["certificate"]
        is by_name["transfer"].numbers["certificate"]
        is True
    )
    shared = by_name["two vocabularies"].numbers["common"]
    assert (
        shared[0][0] == 80
        and shared[1][1] == 70
        and f"share {shared[0][1]} of 80 tokens" in by_name["two vocabularies"].did
    )
    stamps = {
        place: workspace.artifact(*place).stamp for place in (NEWS_MAP, REFITTED, ADAPTED, MOVED)
    }
    shutil.rmtree(workspace.folder(*REFITTED))
    capsys.readouterr()
    assert main(["demo", "--out", str(workspace.root), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [step["step"] for step in answer["steps"]] == [walked.step for walked in first]
    for place, stamp in stamps.items():
        assert workspace.artifact(*place).stamp != stamp


def test_the_assets_are_laid_out_without_a_path_of_the_machine(small_demo, tmp_path, monkeypatch):
    import importlib.util

    source = demo.DEMO / "make.py"
    (tmp_path / "demo").mkdir()
    made = shutil.copy(source, tmp_path / "demo" / "make.py")
    spec = importlib.util.spec_from_file_location("make_demo", made)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["make.py"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        module,
        "AlignmentStep",
        lambda **_: AlignmentStep(AlignmentSettings("ridge", ridge=1.0), folds=3),
    )
    module.main(*(small_demo.joinpath(*place) for place in (MODEL, BIOMEDICAL, VECTORS)))
    workspace = Workspace(tmp_path / "demo")
    for kind, name in demo.SHIPPED:
        artifact = workspace.artifact(kind, name)
        assert artifact.explain_staleness(workspace) == []
        text = (artifact.folder / "manifest.json").read_text(encoding="utf-8")
        assert str(tmp_path) not in text and str(small_demo) not in text


SHIPPED_FILES = 16_000_000, 12_000_000  # bytes: the model's weights, the vectors' folder


def test_what_is_shipped_is_small_and_speaks_of_no_other_machine():
    *models, vectors, _ = (demo.DEMO.joinpath(*place) for place in demo.SHIPPED)
    assert len(models) == 2
    for model in models:
        assert (model / "model.safetensors").stat().st_size <= SHIPPED_FILES[0]
    assert sum(file.stat().st_size for file in vectors.iterdir()) <= SHIPPED_FILES[1]
    for manifest in demo.DEMO.rglob("manifest.json"):
        content = json.loads(manifest.read_text(encoding="utf-8"))
        paths = [path for given in content["inputs"].values() for path in given["paths"]]
        assert (
            not [path for path in paths if path.startswith("/")] and " /" not in content["command"]
        ), manifest


def test_the_shipped_models_were_worth_shipping():
    for place in (MODEL, BIOMEDICAL):
        numbers = Workspace(demo.DEMO).artifact(*place).manifest.numbers
        loss = numbers["loss_per_character"]
        assert (
            loss["after"] < min(loss["unigram"], loss["before"])
            and numbers["held_out_words"] > 1000
        )


def test_what_the_two_models_know_differs():
    """A word of medicine is one token of the biomedical model, and a word of both lies near its
    medical kin there alone.
    """

    def near(model, word):
        space = model.space
        return {
            space.words[row]
            for row in find_nearest(space.matrix[[space.index[word]]], space, 8).rows[0]
        }

    general, biomedical = (open_model(demo.DEMO.joinpath(*place)) for place in (MODEL, BIOMEDICAL))
    assert len(general.vocabulary.tokenize("tachycardia")) > 2 and biomedical.vocabulary.tokenize(
        "tachycardia"
    ) == ("tachycardia",)
    assert "cough" in near(biomedical, "fever") - near(general, "fever")


def test_the_shipped_model_knows_words_of_a_text_it_never_saw(shared):
    """Contracts, none of which it was trained on: its loss lies under that of the same network
    untrained.
    """
    import gzip

    import torch

    from vocadapt.models.contextual.masked_loss import build_loss_windows, compute_masked_loss

    model = open_model(demo.DEMO.joinpath(*MODEL))
    with gzip.open(shared / "data/text/legal-contracts.txt.gz", "rt", encoding="utf-8") as file:
        lines = [line for line in islice(file, 3000) if len(line) > 200][:60]
    asked = list(build_loss_windows(lines, model.splitter, model.vocabulary))
    trained = compute_masked_loss(model.network.float(), model.vocabulary, asked).per_character
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        untrained = type(model.network)(model.network.config)
    assert trained < 0.9 * compute_masked_loss(untrained, model.vocabulary, asked).per_character


def test_the_shipped_projection_is_reproduced_from_its_inputs(tmp_path):
    """Fitted anew from the shipped model and vectors: the same anchors, the same held-out score."""
    kept = Workspace(demo.DEMO).artifact(*MAP).manifest.numbers
    inputs = {
        role: str(demo.DEMO.joinpath(*place))
        for role, place in (("model", MODEL), ("vectors", VECTORS))
    }
    made = run_step(
        Spec("alignment", AlignmentStep(folds=10), inputs), tmp_path / "map"
    ).manifest.numbers
    assert made["anchors"] == kept["anchors"] and made["p@5"] == pytest.approx(
        kept["p@5"], abs=0.002
    )
    assert kept["verdict"] != "chance"


@pytest.mark.slow
def test_the_shipped_demo_runs_to_the_end(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "w"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [step["step"] for step in answer["steps"]] == ["open", *(name for name, _ in demo.STEPS)]
    assert (
        answer["seconds"] < 180
    )  # under a minute on a quiet machine of two cores; here others may run beside it
