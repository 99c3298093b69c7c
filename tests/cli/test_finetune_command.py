"""The commands finetune, evaluate, predict and compare, in this process on a synthetic task."""

import json

import pytest

from tests.material.commands import run_line
from tests.material.finetuning import sentences, texts, tiny_adapted, write_conll
from vocadapt.lab.steps.finetune import FinetuneStep, limit_task, summarize_runs
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.training.examples.examples import Split
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = "--num-epochs 2 --batch-size 5 --learning-rate 5e-3"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Models, and a task in files."""
    folder = tmp_path_factory.mktemp("files")
    tiny_adapted(folder)
    for name, seed, count in (("train", 0, 20), ("test", 3, 8)):
        write_conll(folder / f"{name}.txt", sentences(count, seed))
    write_conll(folder / "bare.txt", sentences(5, 4), tags=False)
    (folder / "other.txt").write_text("the O\norgan B-Organ\n\n", encoding="utf-8")
    (folder / "task.toml").write_text(
        'name = "toy"\nkind = "ner"\n[splits]\ntrain = "train.txt"\ntest = "test.txt"\n'
    )
    (folder / "plain.txt").write_text(
        "The patients, with tachycardia.\n\nA placebo\n", encoding="utf-8"
    )
    rows = [f"{text.id}\t{text.text}\t{text.labels[0]}\n" for text in texts(12)]
    (folder / "texts.tsv").write_text("index\tsentence\tlabel\n" + "".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(files):
    """Two seeds of the adapted model, one of the model before."""
    assert (
        run_line(
            f"finetune --model {files}/adapted --task {files}/task.toml {QUICK} --seeds 1 2"
            f" --out {files}/two"
        )
        == 0
    )
    assert (
        run_line(
            f"finetune --model {files}/before --task ner --train {files}/train.txt --test"
            f" {files}/test.txt {QUICK} --out {files}/one"
        )
        == 0
    )
    return files


def test_finetune_reports_every_seed_and_tokenization_and_their_mean(runs, files, ask):
    line = f"finetune --model {files}/adapted --task {files}/task.toml --seeds 1 2"
    answer = ask(f"{line} {QUICK} --out {files}/x")
    assert answer["task"] == "toy"
    assert answer["metric"] == "f1"
    assert answer["scorer"] == "entity-strict"
    assert [seed["seed"] for seed in answer["seeds"]] == [1, 2]
    for seed in answer["seeds"]:
        assert {tokenization: set(values) for tokenization, values in seed["scores"].items()} == {
            tokenization: {"precision", "recall", "f1"}
            for tokenization in ("base", "adapted", "pooled")
        }
    values = [seed["scores"]["pooled"]["f1"] for seed in answer["seeds"]]
    assert answer["mean"]["f1"] == pytest.approx(sum(values) / 2)
    assert answer["sd"]["f1"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
    assert answer["seconds"] > 0
    assert answer["examples_per_second"] > 0
    assert answer["trained_on"] == "mixed"
    assert all(seed["findings"] == [] for seed in answer["seeds"])
    kept = ask("evaluate", "--run", files / "two")
    assert kept["seeds"] == answer["seeds"]  # the same run twice


def test_a_base_model_has_one_tokenization_and_no_deviation(runs, files, ask):
    answer = ask("evaluate", "--run", files / "one")
    assert list(answer["seeds"][0]["scores"]) == ["base"]
    assert answer["sd"] == {"precision": None, "recall": None, "f1": None}
    manifest = json.loads((files / "one" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["kind"] == "runs"
    assert set(manifest["inputs"]) == {"model", "train", "test"}
    assert manifest["seed"] == 1


def test_evaluate_takes_other_examples_other_scores_and_one_tokenization(runs, files, ask):
    same = ask("evaluate", "--run", files / "two")
    fresh = ask("evaluate", "--run", files / "two", "--test", files / "test.txt")
    assert same["seeds"] == fresh["seeds"]
    tokens = ask(f"evaluate --run {files}/two/seed-2 --scorer token --tokenization adapted")
    assert tokens["scorer"] == "token" and list(tokens["seeds"][0]["scores"]) == ["adapted"]
    assert [seed["seed"] for seed in tokens["seeds"]] == [2]


def test_predictions_can_be_scored(runs, files, ask, tmp_path):
    out = tmp_path / "said.txt"
    for tokenization in ("base", "adapted", "pooled"):
        line = f"predict --model {files}/two/seed-1 {files}/test.txt --out {out} --overwrite"
        ask(f"{line} --tokenization {tokenization}")
        scored = ask(f"score --gold {files}/test.txt --predicted {out} --kind ner --rounds 0")
        kept = ask("evaluate", "--run", files / "two" / "seed-1")
        assert scored["f1"] == kept["seeds"][0]["scores"][tokenization]["f1"]
    answer = ask(f"predict --model {files}/one {files}/bare.txt --out {tmp_path}/bare.jsonl")
    assert answer["examples"] == 5 and answer["tokenization"] == "base"
    lines = [
        json.loads(line)
        for line in (tmp_path / "bare.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [line["words"] for line in lines] == [list(s.words) for s in sentences(5, 4)]
    assert all(len(line["tags"]) == 8 for line in lines)


def test_plain_text_is_split_as_the_model_splits_it(runs, files, ask, tmp_path):
    answer = ask(f"predict --model {files}/one {files}/plain.txt --plain --out {tmp_path}/said.txt")
    assert (answer["examples"], answer["of"]) == (2, 3)
    # Each sentence ends with a blank line, and the blank line is a sentence without words.
    written = (tmp_path / "said.txt").read_text(encoding="utf-8").splitlines()
    words = [line.split("\t")[0] for line in written]
    assert words == ["The", "patients", ",", "with", "tachycardia", ".", "", "", "A", "placebo", ""]


def test_each_line_of_plain_text_has_one_line_in_the_output(runs, files, ask, tmp_path):
    lines = ["The patients\u2028with", "", "a\x85b\x0bc\x0cd", " ", "placebo"]
    (tmp_path / "plain.txt").write_text("\n".join(lines), encoding="utf-8")
    line = f"predict --model {files}/one {tmp_path}/plain.txt --plain"
    answer = ask(f"{line} --out {tmp_path}/said.jsonl")
    assert (answer["examples"], answer["of"]) == (3, 5)
    written = (tmp_path / "said.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    found = [json.loads(row) for row in written]
    assert [len(row["words"]) > 0 for row in found] == [True, False, True, False, True]
    assert [len(row["words"]) for row in found] == [len(row["tags"]) for row in found]
    assert (found[0]["words"][0], found[4]["words"]) == ("The", ["placebo"])


def test_labeled_texts_work_too(files, ask, tmp_path):
    given = f"--task classification --train {files}/texts.tsv --test {files}/texts.tsv {QUICK}"
    answer = ask(f"finetune --model {files}/adapted {given} --freeze top-1 --out {tmp_path}/run")
    assert answer["scorer"] == "macro-f1" and answer["frozen"] > answer["trainable"]
    ask(f"predict --model {tmp_path}/run {files}/texts.tsv --out {tmp_path}/said.jsonl")
    scored = ask(
        f"score --gold {files}/texts.tsv --predicted {tmp_path}/said.jsonl --kind classification"
    )
    assert scored["f1"] == answer["mean"]["f1"]


def test_compare_counts_what_was_fixed_and_broken(runs, files, ask):
    same = ask("compare", files / "one", files / "one")
    assert same["test"]["difference"] == 0 and same["test"]["p_randomisation"] == 1.0
    assert all(
        each["counts"]["fixed"] == each["counts"]["broken"] == 0 for each in same["outcomes"]
    )
    there = ask(f"compare {files}/one {files}/two/seed-1 --tokenization base pooled")
    gold = sum(tag == "B-Disease" for sentence in sentences(8, 3) for tag in sentence.tags)
    assert sum(there["outcomes"][0]["counts"].values()) == gold


OWN_TASK = "finetune --model {f}/adapted --task {f}/task.toml --out {t}/o"
NER = "finetune --model {f}/adapted --task ner --out {t}/o"


@pytest.mark.parametrize(
    ("line", "code", "value"),
    [
        (NER, "", "ner"),
        (f"{NER} --test {{f}}/test.txt", "missing-split", "train"),
        (f"{NER} --train {{f}}/bare.txt", "no-labels", "bare.txt"),
        (f"{OWN_TASK} --train {{f}}/train.txt", "", "train"),
        (
            "finetune --model {f}/before --task {f}/task.toml --tokenization mixed --out {t}/o",
            "no-tokenization",
            "base",
        ),
        (f"{OWN_TASK} --freeze top-9", "missing-layer", "2 layers"),
        (f"{OWN_TASK} --num-epochs 0", "out-of-range", "--num-epochs"),
        (f"{OWN_TASK} --scorer accuracy", "unknown-choice", "'accuracy'"),
        (f"{OWN_TASK} --fold 3", "missing-fold", "3"),
        (f"{OWN_TASK} --limit -3", "out-of-range", "--limit"),
        (f"{OWN_TASK} --seeds 3 1 3", "repeated-seed", "3"),
        (f"{NER} --train {{f}}/train.txt --fold 1", "", "single files"),
        (f"{NER} --train {{f}}/train.txt --test {{f}}/other.txt", "", "(Organ)"),
        ("finetune --model {f}/adapted --task {f}/task.toml", "no-destination", "--out"),
        ("finetune --model {f} --task {f}/task.toml --out {t}/o", "no-config", "config.json"),
        ("evaluate --run {f}/adapted", "not-a-run", "run.json"),
        ("evaluate --run {f}/one --tokenization adapted", "no-tokenization", "'adapted'"),
        ("evaluate --run {f}/one --test {f}/bare.txt", "", "bare.txt"),
        ("predict --model {f}/two {f}/bare.txt --out {t}/o", "", "2 runs"),
        ("predict --model {f}/one {f}/bare.txt --out {f}/bare.txt", "", "already exists"),
        ("predict --model {f}/one {f}/none.txt --plain --out {t}/o", "missing-file", "none.txt"),
        ("compare {f}/one {f}/two", "", "2 runs"),
    ],
)
def test_mistakes(runs, files, tmp_path, refused_with, line, code, value):
    refused_with(line.format(f=files, t=tmp_path), code, value)


def test_collapsed_runs_are_counted_and_the_mean_of_the_others_is_reported():
    class Saved:
        def __init__(self, seed, collapsed=False):
            self.seed, self.record = seed, {"collapsed": collapsed, "task": "t"}

    named = {"metric": "f1", "scorer": "entity-strict"}
    scores = [{"base": {"f1": f1, **named}} for f1 in (0.8, 0.0, 0.6)]
    found = summarize_runs([Saved(1), Saved(2, True), Saved(3)], scores)
    assert found.collapsed == 1 and found.mean["f1"] == pytest.approx(1.4 / 3)
    assert found.mean_learned["f1"] == pytest.approx(0.7)
    table = found.build_table()
    assert [row["state"] for row in table.rows] == ["", "collapsed", ""]
    assert any("1 of 3" in note and ".700" in note for note in table.notes)
    runs = [Saved(1), Saved(1, True), Saved(2)]  # a seed collapsed where a fold of it did
    for fold, run in enumerate(runs, start=1):
        run.record["fold"] = fold
    folds = summarize_runs(runs, scores)
    assert folds.mean["f1"] == pytest.approx((0.4 + 0.6) / 2)
    assert folds.mean_learned["f1"] == pytest.approx(0.6)
    assert folds.seeds[1].name.startswith("1, ")
    assert summarize_runs([Saved(1), Saved(2), Saved(3)], scores).mean_learned is None


def test_runs_on_other_examples_are_not_compared(runs, files, tmp_path, ask, show):
    line = f"finetune --model {files}/before --task {files}/task.toml --out {tmp_path}/few"
    assert "4 of 8" in show(f"{line} --num-epochs 1 --limit 4")
    assert "same examples" in ask(f"compare {files}/one {tmp_path}/few", code=2)


def test_a_limit_draws_alike_and_keeps_the_order():
    task = Task(
        "toy",
        TASK_KINDS["ner"],
        {"train": Split(sentences(50)), "test": Split(sentences(3, 1))},
        ("Disease",),
    )
    (first, said), (again, _) = limit_task(task, 10), limit_task(task, 10)
    assert first == again and len(said) == 1 and "10 of 50" in said[0]
    places = [sentences(50).index(example) for example in first.split("train").examples]
    assert places == sorted(places) and len(set(places)) == 10
    assert limit_task(task, 0) == (task, ())


@pytest.mark.slow
def test_several_seeds_of_a_job_take_over_what_is_finished(files, tmp_path):
    given = {"model": str(files / "before"), "task": str(files / "task.toml")}
    spec = Spec(FinetuneStep(FinetuneSettings(epochs=1, batch=5), seeds=(1, 2)), given)
    whole = run_step(spec, tmp_path / "whole")
    job = tmp_path / "job"

    class Stop(Exception):
        pass

    def progress(fraction, message=""):
        if "seed 2" in message:
            raise Stop

    with pytest.raises(Stop):
        run_step(spec, tmp_path / "again", progress, job=job)
    done = job / "checkpoint" / "seed-1" / "run" / "run.json"
    record = json.loads(done.read_text(encoding="utf-8"))
    done.write_text(json.dumps(record | {"task": "taken over"}), encoding="utf-8")
    again = run_step(spec, tmp_path / "again", job=job)
    assert again.manifest.numbers["task"] == "taken over"
    assert again.manifest.numbers["seeds"] == whole.manifest.numbers["seeds"]
    logits = [
        (folder / "seed-2" / "logits.safetensors").read_bytes()
        for folder in (again.folder, whole.folder)
    ]
    assert logits[0] == logits[1]
