"""Tasks with the same name, such as those of loose files in one folder, are distinguished by
kind and files."""

from dataclasses import replace

from tests.material.runs import write_runs
from vocadapt.lab.results.leaderboards import build_results
from vocadapt.lab.results.runs import disambiguate_tasks, list_runs, list_tasks
from vocadapt.lab.workspace.manifest import Input
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Sentence, Text

WORDS = [Sentence(("no", "fever"), ("O", "B")), Sentence(("a", "cough"), ("O", "B"))]
TEXTS = [Text("1", "no fever", ("good",)), Text("2", "a cough", ("bad",))]


def mixed(root):
    """Runs of two tasks whose files lie in one folder `data`: entities, and classes of texts; and
    of another task.
    """
    workspace = Workspace(root)
    for name in ("ner-a", "ner-b"):
        write_runs(workspace, name, WORDS, {1: {"base": [one.tags for one in WORDS]}}, task="data")
    for name in ("class-a", "class-b"):
        said = {1: {"base": [one.labels for one in TEXTS]}}
        write_runs(
            workspace,
            name,
            TEXTS,
            said,
            task="data",
            kind="classification",
            outputs=["bad", "good"],
        )
    return workspace


def test_tasks_of_two_kinds_with_one_name(tmp_path):
    runs = list_runs(mixed(tmp_path / "w"))
    assert set(list_tasks(runs)) == {"data · ner", "data · classification"}
    boards = build_results(runs).tasks
    assert sorted((board.task, len(board.standings)) for board in boards) == [
        ("data · classification", 2),
        ("data · ner", 2),
    ]
    assert [one.name for one in list_runs(mixed(tmp_path / "v"), "data · ner")] == [
        "ner-b",
        "ner-a",
    ]


def test_a_task_alone_keeps_its_name(workspace):
    write_runs(workspace, "a", WORDS, {1: {"base": [one.tags for one in WORDS]}}, task="data")
    assert list_tasks(list_runs(workspace)) == ["data"]


def with_test(one, file, stamp):
    given = {"test": Input((file,), stamp, "seen")}
    made = one.artifact
    return replace(
        one, artifact=replace(made, manifest=replace(made.manifest, inputs=given)), label=""
    )


def test_tasks_of_one_kind_by_their_test_files(tmp_path):
    first, second = (one for one in list_runs(mixed(tmp_path / "w")) if one.kind.name == "ner")
    third = next(one for one in list_runs(mixed(tmp_path / "v")) if one.kind.name == "ner")
    given = [
        with_test(first, "/data/disease.tsv", "1"),
        with_test(second, "/data/drug.tsv", "2"),
        with_test(third, "/elsewhere/disease.tsv", "1"),
    ]
    disease, drug = "data · ner · disease.tsv", "data · ner · drug.tsv"
    assert [one.task for one in disambiguate_tasks(given)] == [disease, drug, disease]


def test_runs_of_one_task_with_other_outputs_share_its_label(tmp_path):
    """A run on some examples may know fewer labels than another on the same task."""
    first, second = (one for one in list_runs(mixed(tmp_path / "w")) if one.kind.name == "ner")
    fewer = replace(
        second,
        runs=tuple(replace(run, record={**run.record, "outputs": ["O"]}) for run in second.runs),
    )
    other = next(one for one in list_runs(mixed(tmp_path / "v")) if one.kind.name == "ner")
    given = [
        with_test(first, "/data/x.tsv", "1"),
        with_test(fewer, "/data/x.tsv", "1"),
        with_test(other, "/b/x.tsv", "2"),
    ]
    labels = [one.task for one in disambiguate_tasks(given)]
    assert labels[0] == labels[1] != labels[2]
