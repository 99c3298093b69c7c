"""A task in a TOML file, its findings, and the protocol of every kind."""

from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Sentence, Split, name_fold, without_fold
from vocadapt.training.finetune.run_files import name_run, name_run_folder
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.tasks.formats.conll import INSIDE
from vocadapt.training.tasks.kinds import TASK_KINDS, find_kind
from vocadapt.training.tasks.task import Task, build_task, read_task, read_task_file


def write(folder, toml, **files):
    for name, text in files.items():
        (folder / f"{name}.tsv").write_text(text)
    (folder / "task.toml").write_text(toml)
    return folder


def table(*labels):
    return "index\tsentence\tlabel\n" + "".join(
        f"{place}\t<< a >> [[ b ]]\t{label}\n" for place, label in enumerate(labels)
    )


SPLITS = '[splits]\ntrain = "train.tsv"\ndev = "dev.tsv"\ntest = "test.tsv"\n'


def test_a_small_file_is_a_task(tmp_path):
    write(
        tmp_path,
        f'name = "mine"\nkind = "relations"\n{SPLITS}',
        train=table("x", "y"),
        dev=table("x"),
        test=table("y", "x"),
    )
    task = read_task(tmp_path)
    assert task.name == "mine"
    assert task.kind.name == "relations"
    assert task.labels == ("x", "y")
    assert list(task.splits) == ["train", "dev", "test"]
    assert task.scorer.name == "micro-f1-positive" and task.rules == Rules()
    assert task.scorer.score(task.split("test").gold, [("y",), ("y",)], task.rules).value == 0.5
    assert read_task(tmp_path / "task.toml") == task


def test_what_a_file_may_say(tmp_path):
    toml = (
        'kind = "relations"\nscorer = "binary-f1"\nlabels = ["1", "0", "none"]\nnegative ='
        f' ["none"]\npositive = "0"\n{SPLITS}'
    )
    write(tmp_path, toml, train=table("0", "1"), dev=table("0"), test=table("1"))
    task = read_task(tmp_path)
    assert task.name == tmp_path.name and task.labels == ("1", "0", "none")
    assert (task.scorer.name, task.rules) == ("binary-f1", Rules(("none",), "0"))


def test_folds(tmp_path):
    for fold in (1, 2):
        (tmp_path / str(fold)).mkdir()
        (tmp_path / str(fold) / "train.tsv").write_text(table(*"01" * fold))
    (tmp_path / "task.toml").write_text(
        'name = "k"\nkind = "relations"\nfolds = 2\n[splits]\ntrain = "{fold}/train.tsv"\n'
    )
    assert [len(read_task(tmp_path, fold).split("train")) for fold in (1, 2)] == [2, 4]
    assert read_task(tmp_path, 2).name == name_fold("k", 2)
    for fold in (0, 3, -1):
        with raises_input_error("missing-fold", "2"):
            read_task(tmp_path, fold)


def test_a_fold_and_the_task_without_it():
    assert name_fold("a, fold 2", 3) == "a, fold 2, fold 3"
    assert without_fold("a, fold 2, fold 13") == "a, fold 2"
    assert name_fold("a", 0) == without_fold("a") == "a"
    assert without_fold("a, fold x") == "a, fold x"
    names = [name_run(Path(name_run_folder(12, fold))) for fold in (0, 3)]
    assert names == ["seed 12", name_fold("seed 12", 3)]


def test_ner_and_unlabeled_tests(tmp_path):
    write(
        tmp_path,
        f'kind = "ner"\n{SPLITS}',
        train="a\tB-X\n\nb\tO\n",
        dev="a\tI-X\nb\tB-Y\n",
        test="a\n\nb\n",
    )
    task = read_task(tmp_path)
    assert task.labels == ("X", "Y")
    unseen, inside, unlabeled = task.findings
    assert unseen.startswith("dev ") and unseen.endswith(": Y.")
    assert inside == f"dev: 1 {INSIDE}."
    assert unlabeled.startswith("test ")


def test_one_class_only_is_reported(tmp_path):
    write(
        tmp_path,
        f'kind = "classification"\n{SPLITS}',
        train=table("x", "y"),
        dev=table("x", "x"),
        test=table("z"),
    )
    findings = read_task(tmp_path).findings
    assert findings[0].startswith("dev ") and "(x)" in findings[0]
    assert findings[2].startswith("test ") and findings[2].endswith(": z.")


def test_no_entity_in_a_split_is_reported():
    split = Split((Sentence(("a",), ("O",)),))
    (finding,) = Task("t", TASK_KINDS["ner"], {"test": split}, ()).findings
    assert "no entity" in finding


@pytest.mark.parametrize(
    ("toml", "code", "value"),
    [
        ("kind = 3\n", "wrong-type", "kind"),
        ('kind = "parsing"\n', "unknown-choice", "'parsing'"),
        ("", "unknown-choice", "''"),
        ('kind = "ner"\n', "no-splits", ""),
        ('kind = "ner"\n[splits]\ntraining = "a.tsv"\n', "unknown-split", "'training'"),
        (f'kind = "ner"\nepochs = 3\n{SPLITS}', "unknown-setting", "'epochs'"),
        (f'kind = "ner"\nscorer = "squad"\n{SPLITS}', "unknown-choice", "'squad'"),
        (f'kind = "ner"\nfolds = 3\n{SPLITS}', "folds-without-place", "{fold}"),
        ('kind = "ner"\n[splits]\ntrain = "{fold}.tsv"\n', "folds-without-place", "{fold}"),
        (f'kind = "ner"\nlabels = "X"\n{SPLITS}', "wrong-type", "labels"),
        ('kind = "ner"\n[splits]\ntrain = 3\n', "wrong-type", "splits.train"),
        (f'kind = "ner"\n{SPLITS}[columns]\nbody = "x"\n', "unknown-role", "'body'"),
        ('kind = "ner\n', "invalid-toml", "line 1"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, toml, code, value):
    with raises_input_error(code, value) as raised:
        read_task_file(write(tmp_path, toml) / "task.toml")
    assert raised.value.remedy


def test_labels_that_are_not_listed_are_refused(tmp_path):
    write(
        tmp_path,
        f'kind = "relations"\nlabels = ["x"]\n{SPLITS}',
        train=table("x"),
        dev=table("x"),
        test=table("y"),
    )
    with raises_input_error("unlisted-label", "y"):
        read_task(tmp_path)


def test_no_file_no_split_and_an_unknown_split(tmp_path):
    with raises_input_error("missing-file"):
        read_task(tmp_path / "none.toml")
    with raises_input_error("missing-file"):
        read_task(write(tmp_path, 'kind = "ner"\n[splits]\ntrain = "none.tsv"\n'))
    task = Task("t", TASK_KINDS["ner"], {"train": Split((Sentence(("a",), ("B",)),))}, ("",))
    with raises_input_error("missing-split", "dev"):
        task.split("dev")
    with raises_input_error("unknown-split", "x"):
        Task("t", TASK_KINDS["ner"], {"x": Split(())}, ())


def test_labels_of_bare_tags_are_one_type_without_a_name():
    assert TASK_KINDS["ner"].labels_of([Sentence(("a", "b"), ("B", "O"))]) == {""}
    assert TASK_KINDS["ner"].labels_of([Sentence(("a",), None)]) == frozenset()


def test_loose_files_are_a_task(tmp_path):
    (tmp_path / "a.tsv").write_text(table("x", "y"))
    task = build_task(TASK_KINDS["relations"], {"test": tmp_path / "a.tsv"}, "accuracy")
    assert task.name == tmp_path.name
    assert task.labels == ("x", "y")
    assert task.scorer.name == "accuracy"
    assert len(task.split("test")) == 2
    for kind, files in (("relations", {}), ("parsing", {"test": tmp_path / "a.tsv"})):
        with pytest.raises(InputError):
            build_task(find_kind(kind), files)
