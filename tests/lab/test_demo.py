"""The demo: what is shipped opens in any workspace and is what its scripts make; a small one, built
here, is made by the script that lays it out.
"""

import errno
import importlib.util
import json
import shutil
import sys
from dataclasses import replace
from itertools import islice

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.lab import write_text
from vocadapt.cli import main
from vocadapt.errors import Canceled
from vocadapt.lab import demo
from vocadapt.lab.demo import (
    ADAPTED,
    ADAPTED_RUNS,
    BASE_RUNS,
    BEST,
    BIOMEDICAL,
    COUNTED,
    EXAMPLES,
    MAP,
    MODEL,
    NOTES,
    PROJECTION,
    TASK,
    TRY_RUN,
    VECTORS,
    DemoJob,
    find_demo_artifact,
    is_demo_complete,
    open_demo,
    run_demo,
    start_demo_jobs,
)
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.housekeeping.trash import delete_artifact, delete_job
from vocadapt.lab.inputs.corpora import list_texts, load_or_count_words, read_corpus
from vocadapt.lab.jobs import queue
from vocadapt.lab.reports.example_words import read_demo_examples
from vocadapt.lab.reports.ledgers import PairSpec, open_pair
from vocadapt.lab.results.runs import find_trained_model, open_runs
from vocadapt.lab.steps.alignment import AlignmentStep, load_evaluation
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.splitter import Splitter
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.tasks.predictions import build_tally

MEGABYTES = 95  # of all assets


def list_files(workspace):
    return {path: path.stat().st_mtime_ns for path in workspace.root.rglob("*")}


def test_opening_the_demo_copies_what_is_shipped_once(workspace):
    opened = open_demo(workspace)
    assert [artifact.folder for artifact in opened] == [
        workspace.folder(*place) for place in demo.SHIPPED
    ]
    assert all(artifact.explain_staleness(workspace) == [] for artifact in opened)
    before = list_files(workspace)
    open_demo(workspace)
    assert list_files(workspace) == before
    assert demo.is_demo_installed()


def test_renamed_artifacts_are_recognized_and_only_what_is_missing_is_added(workspace, monkeypatch):
    open_demo(workspace)
    for place in (MODEL, VECTORS, TASK):
        rename_artifact(workspace, workspace.artifact(*place), f"my-{place[1]}")
    # The examples of the vectors are shown under their new name, and nothing is added.
    assert read_demo_examples(workspace.artifact("vectors", "my-demo-biomedical"))
    before = list_files(workspace)
    opened = open_demo(workspace)
    assert list_files(workspace) == before
    assert {"my-demo-bert", "my-demo-biomedical", "my-demo-diseases"} <= {
        one.name for one in opened
    }
    # What was deleted is added, and refers to the new names.
    delete_artifact(workspace, workspace.artifact(*MAP))
    shutil.rmtree(workspace.folder("vectors", "my-demo-biomedical"))
    open_demo(workspace)
    added = workspace.artifact(*MAP)
    assert added.manifest.inputs["model"].paths == ("models/my-demo-bert",)
    assert workspace.folder(*VECTORS).is_dir() and not workspace.folder(*MODEL).exists()
    assert added.explain_staleness(workspace) == []
    # Another artifact has taken the old name: the demo's is still the renamed one.
    with open_draft(workspace.folder(*MODEL)) as draft:
        Manifest(*MODEL, {}).save(draft)
    assert find_demo_artifact(workspace, MODEL).name == "my-demo-bert"
    open_demo(workspace)

    # The jobs use the new names, and what they made is not made again under its old one.
    started = []
    monkeypatch.setattr(queue, "start", lambda workspace, spec, name: started.append((spec, name)))
    with open_draft(workspace.folder(*PROJECTION)) as draft:
        Manifest(*PROJECTION, {}).save(draft)
    rename_artifact(workspace, workspace.artifact(*PROJECTION), "mine")
    start_demo_jobs(workspace)
    specs = {name: spec for spec, name in started}
    assert set(specs) == {ADAPTED[1], demo.CHANGE[1], TRY_RUN[1]}
    assert specs[ADAPTED[1]].one("model") == str(workspace.folder("models", "my-demo-bert"))
    assert specs[TRY_RUN[1]].one("task") == str(workspace.folder("tasks", "my-demo-diseases"))


def test_artifacts_of_the_same_names_are_named_and_nothing_is_written(workspace):
    for kind, name in (MODEL, TASK):
        with open_draft(workspace.folder(kind, name)) as draft:
            Manifest(kind, name, {}).save(draft)
    before = list_files(workspace)
    with raises_input_error("names-taken", "models/demo-bert", "tasks/demo-diseases"):
        open_demo(workspace)
    assert list_files(workspace) == before


def test_on_a_disk_that_fills_up_nothing_is_left_and_opening_again_works(workspace, monkeypatch):
    copies = []

    def copy(source, target, *given, **options):
        # copytree calls itself for each folder inside.
        if str(source).count("/") == str(demo.DEMO).count("/") + 2:
            if len(copies) == 3:
                raise OSError(errno.ENOSPC, "No space left on device")
            copies.append(target)
        return copytree(source, target, *given, **options)

    copytree = shutil.copytree
    monkeypatch.setattr(demo.shutil, "copytree", copy)
    with raises_input_error("disk-full"):
        open_demo(workspace)
    assert len(copies) == 3 and not [path for path in workspace.root.rglob("*") if path.is_file()]
    monkeypatch.setattr(demo.shutil, "copytree", copytree)
    assert len(open_demo(workspace)) == len(demo.SHIPPED)


def test_a_demo_that_is_not_there_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "DEMO", tmp_path / "nowhere")
    assert not demo.is_demo_installed()
    with raises_input_error("no-demo"):
        open_demo(Workspace(tmp_path / "w"))
    assert main(["demo", "--out", str(tmp_path / "w")]) == 2
    assert str(tmp_path / "nowhere") in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


def test_the_jobs_make_what_is_missing_in_this_order(tmp_path, monkeypatch):
    workspace, started = Workspace(tmp_path / "w"), []
    monkeypatch.setattr(
        queue, "start", lambda workspace, spec, name: started.append((spec.kind, name))
    )
    start_demo_jobs(workspace)
    assert started[0] == ADAPTED and {PROJECTION, TRY_RUN} <= set(started[1:])

    assert not is_demo_complete(workspace)

    # Neither what exists is made again, nor what a job is making.
    started.clear()
    with open_draft(workspace.folder(*PROJECTION)) as draft:
        Manifest(*PROJECTION, {}).save(draft)
    monkeypatch.setattr(
        queue,
        "list_promised_names",
        lambda workspace, kind: {ADAPTED[1]} if kind == "models" else set(),
    )
    start_demo_jobs(workspace)
    assert ADAPTED not in started and PROJECTION not in started and TRY_RUN in started


def plan_one_quick_job(word):
    """In place of the demo's own jobs, which take most of a minute."""

    def plan(workspace):
        step = ProjectionStep(TokenChoice(around=word, nearest=10))
        spec = Spec(step, {"space": (str(workspace.folder(*MODEL)),)})
        return [DemoJob(PROJECTION, "projection", spec, 1.0)]

    return plan


def test_the_command_waits_for_the_jobs_and_reports_their_results(workspace, capsys, monkeypatch):
    monkeypatch.setattr(demo, "list_demo_jobs", plan_one_quick_job("heart"))
    opened, made = run_demo(workspace)
    assert opened.step == "open" and "demo-bert" in opened.did
    assert made.step == "projection" and made.numbers["shown"] == 11 and made.seconds > 0
    assert is_demo_complete(workspace)
    stamp = workspace.artifact(*PROJECTION).stamp
    assert main(["demo", "--out", str(workspace.root), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [step["step"] for step in answer["steps"]] == ["open", "projection"]
    assert workspace.artifact(*PROJECTION).stamp == stamp, "what is there is not made again"
    assert len(queue.list_jobs(workspace)) == 1


@pytest.mark.slow
def test_a_canceled_job_of_an_earlier_run_does_not_matter(workspace, monkeypatch):
    monkeypatch.setattr(demo, "list_demo_jobs", plan_one_quick_job("heart"))
    running = run_demo(workspace)
    next(running)
    [job] = start_demo_jobs(workspace)
    job.cancel(grace=0.1)
    assert job.wait(20).state == "canceled"
    # The rest of the run reports what happened; a new run makes it anew.
    running.close()
    _, made = run_demo(workspace)
    assert made.did == "made projections/demo-cancer" and made.seconds > 0
    assert [one.status().state for one in queue.list_jobs(workspace)] == ["done", "canceled"]
    # Even if the canceled job is the only one left in the list.
    delete_job(workspace, queue.list_jobs(workspace)[0])
    _, kept = run_demo(workspace)
    assert kept.did == "kept projections/demo-cancer" and len(queue.list_jobs(workspace)) == 1


def test_a_canceled_demo_starts_no_further_job_and_says_what_is_left(tmp_path, capsys, monkeypatch):
    def plan(workspace):
        [first] = plan_one_quick_job("heart")(workspace)
        inputs = {"space": (str(workspace.folder(*PROJECTION)),)}  # there when the first is done
        last = DemoJob(("projections", "last"), "projection", replace(first.spec, inputs=inputs), 1)
        return [first, last]

    def stop(*given):
        raise Canceled

    monkeypatch.setattr(demo, "list_demo_jobs", plan)
    monkeypatch.setattr(demo, "_wait_for", stop)
    out = tmp_path / "w"
    assert main(["demo", "--out", str(out)]) == 130
    assert str(out) in capsys.readouterr().err
    last, first = queue.list_jobs(Workspace(out))
    assert last.status().state == "canceled" and first.status().state in ("canceled", "done")


def test_a_job_of_the_demo_that_fails_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "list_demo_jobs", plan_one_quick_job("no-such-word"))
    with raises_input_error("job-failed", "no-such-word"):
        list(run_demo(Workspace(tmp_path / "w")))


def test_the_word_counts_have_no_text():
    corpus = read_corpus([demo.DEMO.joinpath(*COUNTED)])
    splitter = open_model(demo.DEMO.joinpath(*MODEL)).splitter
    counts = load_or_count_words(None, corpus, splitter)
    numbers = Workspace(demo.DEMO).artifact(*COUNTED).manifest.numbers
    assert counts.words == numbers["words"] and min(counts.counts.values()) == numbers["min_count"]
    assert [one.name for one in list_texts(Workspace(demo.DEMO))] == [NOTES[1]]
    for read in (
        lambda: list(corpus),
        lambda: load_or_count_words(None, corpus, Splitter.bert(False)),
    ):
        with raises_input_error("counts-only"):
            read()


def test_the_word_counts_of_the_notes_are_those_of_their_text(workspace):
    open_demo(workspace)
    corpus = read_corpus([workspace.folder(*NOTES)])
    splitter = open_model(workspace.folder(*MODEL)).splitter
    [kept] = (workspace.root / "counts").iterdir()
    content = kept.read_bytes()
    assert load_or_count_words(workspace.root, corpus, splitter).words > 1000
    kept.unlink()
    load_or_count_words(workspace.root, corpus, splitter)
    assert kept.read_bytes() == content


@pytest.mark.parametrize("place", [BASE_RUNS, ADAPTED_RUNS])
def test_the_scores_of_the_runs_are_those_of_their_predictions(place):
    runs = open_runs(demo.DEMO.joinpath(*place))
    assert runs.seeds == (1, 2, 3) and not any(run.has_weights for run in runs.runs)
    assert any(one.startswith("constructed:") for one in runs.record["findings"])
    gold = runs.kind.read_split(demo.DEMO.joinpath(*TASK, "test.tsv"))
    for run in runs.runs:
        kept = run.test_predictions
        assert kept.split.examples == gold.examples
        for tokenization, predicted in kept.predicted.items():
            score = run.scorer().score_tally(build_tally(gold, predicted, run.scorer(), run.rules))
            assert score.value == pytest.approx(run.record["scores"][tokenization][runs.metric])


def test_runs_without_weights_are_compared_with_the_tokenizers_of_their_models(workspace):
    open_demo(workspace)
    base, adapted = (workspace.folder(*place) / "seed-1" for place in (BASE_RUNS, ADAPTED_RUNS))
    assert find_trained_model(base) == workspace.folder(*MODEL)
    assert find_trained_model(adapted) is None, "a job makes it"
    pair = open_pair(PairSpec(str(base), str(adapted)))
    assert pair.ledger.entries and len(pair.words.tokenize("tachycardia").before) > 2

    # When the model was made, its tokenizer is used, and the runs are not out of date.
    shutil.copytree(workspace.folder(*BIOMEDICAL), workspace.folder(*ADAPTED))
    pair = open_pair(PairSpec(str(base), str(adapted)))
    assert pair.words.tokenize("tachycardia").after == ("tachycardia",)
    assert not workspace.artifact(*ADAPTED_RUNS).explain_staleness(workspace)


def test_the_examples_are_right_and_wrong_as_they_say():
    script = importlib.util.spec_from_file_location("examples", demo.DEMO / "make_examples.py")
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    record = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    examples = record["examples"]
    assert [one["right"] for one in examples] == [True] * (len(examples) - 1) + [False]
    assert len({one["class"] for one in examples[:-1]}) == len(examples) - 1
    measured = module.measure_examples(one["word"] for one in examples)
    for one, found in zip(examples, measured, strict=True):
        assert found.word_class == one["class"]
        assert (found.worst_rank <= record["k"]) is one["right"]
        assert found.best_rank > record["k"] or one["right"]


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory):
    """Two tiny models trained from nothing, and vectors, of the demo's layout."""
    root = tmp_path_factory.mktemp("assets") / "demo"
    text = write_text(root.parent / "trials.txt", lines=1200)
    training = MaskedSettings(length=32, batch=8, tokens=5120)
    scratch = ScratchSettings(layers=1, hidden=32, training=training)
    for place, size in ((MODEL, 80), (BIOMEDICAL, 70)):
        step = PretrainStep(scratch=replace(scratch, vocabulary=size))
        run_step(Spec(step, {"text": str(text)}), root.joinpath(*place))
    word2vec = Word2VecSettings(dim=4, min_count=2, epochs=1, workers=1)
    model = str(root.joinpath(*MODEL))
    run_step(
        Spec(VectorsStep(word2vec=word2vec), {"text": str(text), "model": model}),
        root.joinpath(*VECTORS),
    )
    return root


def test_the_assets_are_laid_out_without_a_path_of_the_machine(small_demo, tmp_path, monkeypatch):
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
    for kind, name in (MODEL, BIOMEDICAL, VECTORS, MAP):
        artifact = workspace.artifact(kind, name)
        assert artifact.explain_staleness(workspace) == []
        text = (artifact.folder / "manifest.json").read_text(encoding="utf-8")
        assert str(tmp_path) not in text and str(small_demo) not in text


def test_what_is_shipped_is_small_and_speaks_of_no_other_machine():
    files = [path for path in demo.DEMO.parent.rglob("*") if path.is_file()]
    assert sum(file.stat().st_size for file in files) <= MEGABYTES * 1e6
    for manifest in demo.DEMO.rglob("manifest.json"):
        content = json.loads(manifest.read_text(encoding="utf-8"))
        paths = [path for given in content["inputs"].values() for path in given["paths"]]
        assert not any(path.startswith("/") for path in paths), manifest
        assert " /" not in content["command"], manifest


def test_the_shipped_models_were_worth_shipping():
    for place in (MODEL, BIOMEDICAL):
        numbers = Workspace(demo.DEMO).artifact(*place).manifest.numbers
        loss = numbers["loss_per_character"]
        assert loss["after"] < min(loss["unigram"], loss["before"])
        assert numbers["held_out_words"] > 1000


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
    assert len(general.vocabulary.tokenize("tachycardia")) > 2
    assert biomedical.vocabulary.tokenize("tachycardia") == ("tachycardia",)
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


@pytest.mark.slow
def test_the_shipped_projection_is_reproduced_from_its_inputs(tmp_path):
    """Fitted anew from the shipped model and vectors: the same anchors, the same held-out score."""
    kept = Workspace(demo.DEMO).artifact(*MAP).manifest.numbers
    inputs = {
        role: str(demo.DEMO.joinpath(*place))
        for role, place in (("model", MODEL), ("vectors", VECTORS))
    }
    made = run_step(Spec(AlignmentStep(folds=10), inputs), tmp_path / "map").manifest.numbers
    assert made["anchors"] == kept["anchors"]
    assert made["p@5"] == pytest.approx(kept["p@5"], abs=0.002)
    assert kept["verdict"] != "chance"


def test_the_shipped_projection_has_the_anchors_of_its_inputs():
    folder = demo.DEMO.joinpath(*MAP)
    inputs = {"model": demo.DEMO.joinpath(*MODEL), "vectors": demo.DEMO.joinpath(*VECTORS)}
    opened = Spec(AlignmentStep(), inputs).open_inputs()
    found = find_anchors(opened.space, opened.model.word_space, AlignmentSettings().anchors)
    assert list(found.words) == [anchor.word for anchor in load_evaluation(folder).anchors]
    assert len(found.words) == Manifest.load(folder).numbers["anchors"] > 1000


def test_the_best_alignment_is_the_best_of_the_comparison():
    workspace = Workspace(demo.DEMO)
    compared, best = (workspace.artifact(*place).manifest for place in (MAP, BEST))
    assert best.settings["alignment"] == compared.numbers["best"]
    assert best.numbers["p@5"] > compared.numbers["p@5"]


@pytest.mark.slow
def test_the_shipped_demo_runs_to_the_end(workspace, capsys, tmp_path):
    assert main(["demo", "--out", str(tmp_path / "w"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    for job in demo.list_demo_jobs(workspace):
        assert workspace.artifact(*job.place).explain_staleness(workspace) == []
    # Under a minute on a quiet machine of two cores; here others may run beside it.
    assert answer["seconds"] < 180
