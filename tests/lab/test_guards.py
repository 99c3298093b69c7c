"""What is known before a step starts: guards as values, their repair, and where they are told."""

import json

import pytest

from tests.material.finetuning import sentences, tiny_adapted, write_conll
from vocadapt.__main__ import main
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.experiments.search.step import SearchStep, SeedsStep
from vocadapt.lab.experiments.studies.estimates import START_UP
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.finetune import FinetuneStep, judge_outcome
from vocadapt.lab.steps.guards import LONG, apply_change, build_minutes_guard, is_change
from vocadapt.lab.steps.step import Spec
from vocadapt.system.forecasts import Rate, Work
from vocadapt.training.examples.examples import Sentence
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    monkeypatch.setattr("vocadapt.system.forecasts._read_load_average", lambda: 0.0)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An adapted model, and a task of 400 sentences with an entity in every fourth one."""
    folder = tmp_path_factory.mktemp("guards")
    tiny_adapted(folder)
    train = []
    for number in range(400):
        tag = "O" if number % 4 else "B-Disease"
        train.append(Sentence((f"patient{number}", "tachycardia"), ("O", tag)))
    long = Sentence(("heart",) * 70, ("O",) * 70)
    test = [Sentence(("was", "placebo"), ("O", "B-Disease")), *train[:3]]
    write_conll(folder / "train.tsv", (*train[:-1], long))
    write_conll(folder / "dev.tsv", sentences(4, 1))
    write_conll(folder / "test.tsv", tuple(test))
    return folder


def build_spec(files, model="adapted", **settings):
    inputs = {"model": str(files / model)}
    inputs |= {split: str(files / f"{split}.tsv") for split in ("train", "dev", "test")}
    return Spec(FinetuneStep(kind="ner", **settings), inputs)


def find(spec):
    return {guard.code: guard for guard in spec.find_guards()}


def test_a_fine_tuning_tells_what_is_known_before_it_starts(files):
    found = find(build_spec(files, limit=60))
    few = found["few-labels"]
    # At most half of a sample is drawn for its labels.
    assert few.serious and few.numbers["labels"] == {"Disease": 30}
    assert (few.numbers["examples"], few.numbers["of"]) == (60, 400)
    assert few.change == {"limit": 240}
    assert 0 <= found["minutes"].numbers["seconds"] < 60 and not found["minutes"].serious
    changed = apply_change(build_spec(files, limit=60).settings, few.change)
    assert changed.limit == 240 and "few-labels" not in find(build_spec(files, limit=240))


def test_chunks_and_test_examples_that_are_in_train_are_counted(files):
    found = find(build_spec(files))
    assert found["chunks"].numbers == {"examples": 400, "chunks": 402, "words": 30}
    seen = found["seen"]
    assert seen.numbers == {"split": "test", "seen": 3, "of": 4} and seen.serious


def test_the_test_file_as_training_file_is_seen(files):
    """Under the same path as under another name."""
    test = str(files / "test.tsv")
    inputs = {"model": str(files / "before"), "train": test, "test": test}
    seen = find(Spec(FinetuneStep(kind="ner"), inputs))["seen"]
    assert seen.numbers == {"split": "test", "seen": 4, "of": 4} and seen.serious


def test_new_words_that_occur_in_the_task_are_counted(files, tmp_path):
    found = find(build_spec(files))["new-words"]  # tachycardia and euthymia
    assert found.numbers["occurring"] == 2 and found.numbers["of"] == 3 and not found.serious
    assert "new-words" not in find(build_spec(files, "before"))
    for split in ("train", "dev", "test"):
        write_conll(tmp_path / f"{split}.tsv", (Sentence(("heart", "was"), ("B-X", "O")),) * 2)
    inputs = {"model": str(files / "adapted"), "train": str(tmp_path / "train.tsv")}
    none = find(Spec(FinetuneStep(kind="ner"), inputs))["new-words"]
    assert none.numbers["occurring"] == 0 and none.serious and not none.change


def test_too_few_entities_of_all_are_repaired_by_more_epochs(files, tmp_path):
    write_conll(tmp_path / "train.tsv", sentences(5))
    inputs = {"model": str(files / "before"), "train": str(tmp_path / "train.tsv")}
    spec = Spec(FinetuneStep(kind="ner"), inputs)
    few = find(spec)["few-labels"]
    assert few.change == {"finetune.epochs": 15}
    assert apply_change(spec.settings, few.change).finetune.epochs == 15


def test_an_input_that_cannot_be_read_has_no_guards(files):
    spec = build_spec(files)
    missing = Spec(spec.settings, {**spec.inputs, "train": (str(files / "none.tsv"),)})
    assert missing.find_guards() == ()


def test_minutes_are_serious_above_an_hour_and_only_then_repaired():
    short, long = (
        build_minutes_guard(Rate().forecast(Work(1, "model", seconds)), {"limit": 5})
        for seconds in (LONG, LONG + 1)
    )
    assert not short.serious and not short.change
    assert long.serious and long.change == {"limit": 5} and "1.0 hours" not in short.sentence


def test_a_search_has_the_guards_of_its_trainings_and_its_own_minutes(files):
    base = build_spec(files, limit=60)
    search = Spec(SearchStep(training=base.settings), base.inputs)
    found = find(search)
    assert found["few-labels"].change == {"training.limit": 240}
    assert apply_change(search.settings, found["few-labels"].change).training.limit == 240
    seeds = Spec(SeedsStep((1, 2), training=base.settings), base.inputs)
    assert find(seeds)["minutes"].numbers["seconds"] >= START_UP


def test_a_study_has_the_guards_of_each_task(files):
    study = files / "study.toml"
    lines = ['name = "s"', "[[variants]]", 'name = "a"', 'model = "adapted"', "[[tasks]]"]
    lines += ['name = "t"', 'kind = "ner"', 'train = "train.tsv"', 'test = "test.tsv"']
    study.write_text("\n".join(lines))
    found = find(Spec(StudyStep(), {"file": str(study)}))
    assert {"chunks", "seen", "new-words", "minutes"} <= set(found)
    assert found["seen"].sentence.startswith("t: ")


def test_pretraining_warns_of_a_batch_that_is_larger_than_the_text(files, tmp_path):
    (tmp_path / "text.txt").write_text("The heart was with placebo.\n" * 200)
    further = ContinuedSettings(stage="continued", training=MaskedSettings(batch=512))
    inputs = {"model": str(files / "before"), "text": str(tmp_path / "text.txt")}
    spec = Spec(ContinuePretrainingStep(pretraining=further), inputs)
    large = find(spec)["large-batch"]
    assert large.change == {"pretraining.training.batch": large.numbers["blocks"]}
    assert "large-batch" not in find(Spec(apply_change(spec.settings, large.change), inputs))


def test_the_command_prints_guards_under_one_key_and_on_stderr(files, tmp_path, capsys):
    arguments = ["finetune", "--model", str(files / "before"), "--task", "ner", "--json"]
    for split in ("train", "dev", "test"):
        arguments += [f"--{split}", str(files / f"{split}.tsv")]
    given = ["--limit", "60", "--num-epochs", "1", "--out", str(tmp_path / "run")]
    assert main([*arguments, *given]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert [one["code"] for one in answer["guards"]] == ["few-labels", "seen", "minutes"]
    assert "warning: 60 of 400" in captured.err and "--limit 240" in captured.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["guards"] == answer["guards"]


def test_a_collapsed_run_offers_settings_to_try(files, tmp_path, capsys):
    arguments = ["finetune", "--model", str(files / "before"), "--task", "ner"]
    for split in ("train", "dev", "test"):
        arguments += [f"--{split}", str(files / f"{split}.tsv")]
    given = ["--limit", "60", "--learning-rate", "1e-9", "--out", str(tmp_path / "run")]
    assert main([*arguments, *given]) == 0
    assert "--limit 240" in capsys.readouterr().out
    numbers = json.loads((tmp_path / "run" / "manifest.json").read_text())["numbers"]
    assert numbers["again"] == {"limit": 240} and judge_outcome(numbers) == "collapsed"


def test_the_outcome_of_a_run_names_collapsed_seeds():
    assert judge_outcome({"collapsed": 0, "seeds": [{}]}) == ""
    assert judge_outcome({"collapsed": 1, "seeds": [{}, {}, {}]}) == "1 of 3 collapsed"
    with_guards = {name for name, step in STEPS.items() if step.guards is not None}
    assert {"finetune", "adapt", "pretrain", "continue-pretraining"} <= with_guards
    assert {"search", "seeds", "study"} <= with_guards


def test_classes_have_a_bound_and_one_that_the_sample_lacks_is_named(files, tmp_path):
    """Of 30 classes, a sample of 20 examples lacks ten: their number is 0."""
    rows = [f"text {number}\t{'a' if number < 400 else number}\n" for number in range(429)]
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    inputs = {"model": str(files / "before"), "train": str(tmp_path / "train.tsv")}
    settings = FinetuneStep(kind="classification", limit=20)
    few = find(Spec(settings, inputs))["few-labels"]
    assert few.numbers["needed"] == 20 and len(few.numbers["labels"]) == 30
    assert min(few.numbers["labels"].values()) == 0
    assert few.change == {"limit": 80}  # each class once, and 20 of a: 40 would hold 11 of it
    # All examples: a larger limit does not help.
    few = find(Spec(FinetuneStep(kind="classification"), inputs))["few-labels"]
    assert len(few.numbers["labels"]) == 29 and few.change == {"finetune.epochs": 15}
    # No bound was measured for the labels of texts that may have several.
    many = Spec(FinetuneStep(kind="multilabel"), inputs)
    assert "few-labels" not in find(many)


def test_a_damaged_record_is_no_change(files):
    settings = build_spec(files).settings
    assert is_change(settings, {"finetune.epochs": 3})
    for change in (None, {}, [], "epochs", {"nope": 1}, {"a.b": 1}, {"limit": -1}, {"finetune": 3}):
        assert not is_change(settings, change), change
