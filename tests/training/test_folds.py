"""All folds in one call, documents as examples, and long texts: from the command line, with a
tiny model."""

import pytest

from tests.material.commands import run_line
from tests.material.finetuning import texts
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.results.leaderboards import build_entry
from vocadapt.lab.results.runs import load_training_examples, open_runs
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.finetune import ALL_FOLDS, FinetuneStep
from vocadapt.lab.steps.step import Spec, read_numbers
from vocadapt.lab.workspace.workspace import open_artifact
from vocadapt.training.examples.examples import name_fold
from vocadapt.training.finetune.run_files import load_runs

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = "--num-epochs 1 --batch-size 4 --learning-rate 1e-2"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return build_tiny_bert(tmp_path_factory.mktemp("model") / "base")


def rows(count, seed=0):
    return "index\tsentence\tlabel\n" + "".join(
        f"{text.id}\t{text.text}\t{text.labels[0]}\n" for text in texts(count, seed)
    )


@pytest.fixture
def folded(tmp_path):
    """A task of three folds; only the second has a label in its test that train lacks."""
    for fold in (1, 2, 3):
        (tmp_path / str(fold)).mkdir()
        (tmp_path / str(fold) / "train.tsv").write_text(rows(8, fold), encoding="utf-8")
        (tmp_path / str(fold) / "test.tsv").write_text(rows(6, 10 + fold), encoding="utf-8")
    strange = (tmp_path / "2" / "test.tsv").read_text(encoding="utf-8") + "9\tthe heart\todd\n"
    (tmp_path / "2" / "test.tsv").write_text(strange, encoding="utf-8")
    path = tmp_path / "task.toml"
    splits = 'train = "{fold}/train.tsv"\ntest = "{fold}/test.tsv"\n'
    path.write_text(
        f'name = "k"\nkind = "classification"\nfolds = 3\n[splits]\n{splits}', encoding="utf-8"
    )
    return path


@pytest.mark.slow
def test_all_folds_in_one_call_with_mean_and_deviation(model, folded, ask, tmp_path):
    out = tmp_path / "out"
    answer = ask(
        f"finetune --model {model} --task {folded} --fold all --seeds 1 2 {QUICK} --out {out}"
    )
    assert [(one["seed"], one["fold"]) for one in answer["seeds"]] == [
        (1, 1),
        (2, 1),
        (1, 2),
        (2, 2),
        (1, 3),
        (2, 3),
    ]
    values = [one["scores"]["base"]["f1"] for one in answer["seeds"]]
    mean = sum(values) / 6
    assert answer["mean"]["f1"] == pytest.approx(mean) and answer["task"] == "k"
    first, second = (
        sum(values[0::2]) / 3,
        sum(values[1::2]) / 3,
    )  # of either seed the mean over its folds
    assert answer["sd"]["f1"] == pytest.approx(abs(first - second) / 2**0.5)
    unseen = [any("lacks" in said for said in one["findings"]) for one in answer["seeds"]]
    assert unseen == [False, False, True, True, False, False]
    assert not any("lacks" in said for said in answer["findings"])
    runs = load_runs(out)
    assert [(run.seed, run.record["fold"]) for run in runs] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
        (2, 3),
    ]
    entry = build_entry(
        "k", open_runs(out), runs[0].scorer("accuracy")
    )  # on the leaderboard: all folds together
    own = entry.tallies["base"][0]
    assert entry.seeds == (1, 2)
    assert len(entry.examples) == 19
    assert sum(len(tally.rows) for tally in own) == 19
    right = sum(
        run.test_predictions.predicted["base"][place] == gold
        for run in runs[:3]
        for place, gold in enumerate(run.test_predictions.split.gold)
    )
    assert sum(tally.rows[:, 0, 0].sum() for tally in own) == right
    assert [run.called for run in runs[2:4]] == [name_fold("seed 1", 3), name_fold("seed 2", 1)]
    assert open_runs(out).summary(figure="f1").sd == pytest.approx(
        answer["sd"]["f1"]
    )  # as Results tell it
    notes = read_numbers(open_artifact(out)).build_table().notes
    assert "(base, 2" in notes[0]
    again = ask("evaluate", "--run", out)
    assert again["mean"]["f1"] == pytest.approx(mean) and len(again["seeds"]) == 6
    assert [[text.text for text in load_training_examples(run)] for run in runs[:3]] == [
        [text.text for text in texts(8, fold)] for fold in (1, 2, 3)
    ]
    third = [
        "--test",
        folded.parent / "3" / "train.tsv",
    ]  # which the runs of the third fold were trained on
    assert ask("evaluate", "--run", out, *third)["seen"] == 8
    assert "of 8" in ask("evaluate", "--run", out, *third, "--unseen", code=2)


def test_one_fold_is_as_it_was(model, folded, ask, tmp_path):
    answer = ask(f"finetune --model {model} --task {folded} --fold 3 {QUICK} --out {tmp_path}/out")
    assert answer["task"] == name_fold("k", 3)
    assert len(answer["seeds"]) == 1
    assert (tmp_path / "out" / "run.json").is_file()


def test_a_task_without_folds_has_no_all(model, tmp_path, ask):
    (tmp_path / "train.tsv").write_text(rows(8), encoding="utf-8")
    given = ["--model", model, "--train", tmp_path / "train.tsv", "--out", tmp_path / "out"]
    assert "no folds" in ask(
        "finetune", *given, "--task", "classification", "--fold", "all", code=2
    )
    assert not (tmp_path / "out").exists()


def test_all_folds_as_a_command_line(tmp_path):
    spec = Spec(FinetuneStep(fold=ALL_FOLDS), {"model": "m", "task": "t.toml"})
    assert "--fold all" in build_command(spec, tmp_path / "out")
    assert "--fold 2" in build_command(
        Spec(FinetuneStep(fold=2), {"model": "m", "task": "t.toml"}), tmp_path / "out"
    )


HALLMARKS = """index\tsentence\tlabels
1_s0\tthe heart was tachycardia\t0_1,1_0
1_s1\tthe placebo and trials\t0_0,1_0
2_s0\tpatients with placebo\t0_0,1_1
2_s1\tcancer disease cancer\t0_1,1_0
3_s0\tthe heart\t0_0,1_0
"""


def test_documents_are_trained_on_and_scored_as_documents(model, tmp_path, ask):
    (tmp_path / "h.tsv").write_text(HALLMARKS, encoding="utf-8")
    given = f"--task multilabel --train {tmp_path}/h.tsv --test {tmp_path}/h.tsv {QUICK}"
    answer = ask(f"finetune --model {model} {given} --example-unit document --out {tmp_path}/out")
    (run,) = load_runs(tmp_path / "out")
    assert [example.id for example in run.test_predictions.split.examples] == ["1", "2", "3"]
    assert run.test_predictions.split.gold == (("0",), ("0", "1"), ()) and run.unit == "document"
    again = ask("evaluate", "--run", tmp_path / "out", "--test", tmp_path / "h.tsv")
    assert again["seeds"][0]["scores"] == answer["seeds"][0]["scores"] and again["of"] == 3
    said = tmp_path / "said.jsonl"
    assert (
        ask("predict", "--model", tmp_path / "out", tmp_path / "h.tsv", "--out", said)["examples"]
        == 3
    )

    toml = tmp_path / "task.toml"
    toml.write_text(
        'kind = "multilabel"\nunit = "document"\n[splits]\ntrain = "h.tsv"\ntest = "h.tsv"\n',
        encoding="utf-8",
    )
    same = ask(f"finetune --model {model} --task {toml} {QUICK} --out {tmp_path}/toml")
    assert same["seeds"][0]["scores"] == answer["seeds"][0]["scores"]


def test_documents_where_there_are_none(model, tmp_path, ask):
    (tmp_path / "t.tsv").write_text(rows(8), encoding="utf-8")
    line = (
        f"finetune --model {model} --train {tmp_path}/t.tsv --example-unit document"
        f" --out {tmp_path}/out --task"
    )
    assert "Only multilabel" in ask(line, "classification", code=2)
    (tmp_path / "t.tsv").write_text("a\tx\nb\ty\n", encoding="utf-8")
    assert "which document" in ask(line, "multilabel", code=2)
    (tmp_path / "u.toml").write_text(
        'kind = "ner"\nunit = "page"\n[splits]\ntrain = "t.tsv"\n', encoding="utf-8"
    )
    assert run_line(f"finetune --model {model} --task {tmp_path}/u.toml --out {tmp_path}/out") == 2


def test_a_long_document_is_read_in_parts_and_reported(model, tmp_path, ask):
    long = " ".join(
        ["the heart was tachycardia"] * 40
    )  # 160 words; the tiny model reads 64 pieces at once
    (tmp_path / "l.tsv").write_text(f"{long}\tx\nthe heart\ty\n", encoding="utf-8")
    given = f"--task classification --train {tmp_path}/l.tsv --test {tmp_path}/l.tsv {QUICK}"
    answer = ask(f"finetune --model {model} {given} --out {tmp_path}/out")
    wanted = "1 of 2 texts longer than the window, divided into parts whose logits are averaged."
    assert {f"train: {wanted}", f"test: {wanted}"} <= set(answer["findings"])
