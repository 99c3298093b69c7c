"""Predictions of other programs as artifacts: what is stored, and errors with the name of the
file."""

import shutil

import pytest

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.inputs.tasks import import_prediction_files, list_imported_predictions
from vocadapt.lab.jobs.uploads import hide_upload_paths
from vocadapt.training.tasks.kinds import TASK_KINDS

GOLD = "No\tO\ngout\tB-D\n\nIt\tO\n"


def import_predictions(kind, gold, predicted, folder, scorer=""):
    return import_prediction_files(kind, gold, [(predicted, folder)], scorer)[0]


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_both_files_are_copied_and_scored(workspace, tmp_path):
    gold, said = write(tmp_path, "g.conll", GOLD), write(tmp_path, "other.conll", GOLD)
    made = import_predictions(
        TASK_KINDS["ner"], gold, said, workspace.folder("predictions", "other")
    )
    assert made.manifest.numbers["f1"] == 1.0 and made.manifest.numbers["examples"] == 2
    gold.unlink(), said.unlink()
    (found,) = list_imported_predictions(workspace)
    assert (found.name, found.kind.name, found.scorer) == ("other", "ner", "")
    assert found.gold.read_text() == found.predicted.read_text() == GOLD
    assert not made.explain_staleness(workspace)


def test_the_same_gold_is_known_by_its_content(workspace, tmp_path):
    for name, text in (("a", GOLD), ("b", GOLD), ("c", GOLD.replace("gout", "fever"))):
        gold = write(tmp_path / name, "gold.conll", text)
        import_predictions(
            TASK_KINDS["ner"],
            gold,
            gold,
            workspace.folder("predictions", name),
            "token" if name == "b" else "",
        )
    by_name = {one.name: one.gold_stamp for one in list_imported_predictions(workspace)}
    assert by_name["a"] == by_name["b"] != by_name["c"]
    assert [one.scorer for one in list_imported_predictions(workspace)] == ["", "token", ""]


@pytest.mark.parametrize("lost", ["gold", "examples"])
def test_predictions_whose_manifest_lacks_something_are_passed_over(lost, workspace, tmp_path):
    gold = write(tmp_path, "gold.conll", GOLD)
    made = [
        import_predictions(TASK_KINDS["ner"], gold, gold, workspace.folder("predictions", name))
        for name in ("a", "b")
    ]
    numbers = {name: value for name, value in made[0].manifest.numbers.items() if name != lost}
    edit_json(made[0].folder / "manifest.json", numbers=numbers)
    assert [one.name for one in list_imported_predictions(workspace)] == ["b"]


@pytest.mark.parametrize(
    ("gold", "said", "values"),
    [
        (GOLD, "No\tO\ngout\tB-D\n", ("said.conll", "1 sentences", "2")),
        (GOLD, GOLD.replace("gout", "fever"), ("said.conll", "sentence 1", "'gout'")),
        ("No\ngout\n\nIt\n", GOLD, ("gold.conll",)),
        ("No\tO\tx\ngout\tB-D\n", GOLD, ("gold.conll",)),
        ("", GOLD, ("gold.conll",)),
    ],
)
def test_what_is_refused_names_the_file_and_leaves_nothing(gold, said, values, workspace, tmp_path):
    files = write(tmp_path, "gold.conll", gold), write(tmp_path, "said.conll", said)
    with pytest.raises(InputError) as caught:
        import_predictions(TASK_KINDS["ner"], *files, workspace.folder("predictions", "x"))
    assert all(value in caught.value.problem for value in values)
    assert not list(workspace.root.rglob("*")) and not list_imported_predictions(workspace)


@pytest.mark.parametrize(
    ("names", "second", "code", "value"),
    [
        (("x", "taken"), GOLD, "already-exists", "taken"),
        (("x", "x"), GOLD, "same-name", "x"),
        (("x", "y"), "No\tO\n", "other-length", "second.conll"),
    ],
)
def test_of_several_predictions_all_come_in_or_none(
    names, second, code, value, workspace, tmp_path
):
    gold, other = write(tmp_path, "gold.conll", GOLD), write(tmp_path, "second.conll", second)
    import_predictions(TASK_KINDS["ner"], gold, gold, workspace.folder("predictions", "taken"))
    places = [workspace.folder("predictions", name) for name in names]
    with raises_input_error(code, value):
        import_prediction_files(
            TASK_KINDS["ner"], gold, list(zip((gold, other), places, strict=True))
        )
    assert [one.name for one in list_imported_predictions(workspace)] == ["taken"]


def test_a_disk_that_is_full_at_the_second_leaves_no_first(workspace, tmp_path, monkeypatch):
    gold, copy, left = write(tmp_path, "gold.conll", GOLD), shutil.copyfile, [True] * 3

    def copyfile(source, target):
        if not left:
            raise OSError(28, "No space left on device")
        left.pop()
        return copy(source, target)

    monkeypatch.setattr("vocadapt.lab.inputs.tasks.shutil.copyfile", copyfile)
    with raises_input_error("disk-full"):
        import_prediction_files(
            TASK_KINDS["ner"],
            gold,
            [(gold, workspace.folder("predictions", name)) for name in ("a", "b")],
        )
    assert not left and not [path for path in workspace.root.rglob("*") if path.is_file()]


def test_a_scorer_of_another_kind_and_an_odd_name(workspace, tmp_path):
    gold = write(tmp_path, "gold.conll", GOLD)
    with raises_input_error("unknown-choice", "exact-match"):
        import_predictions(
            TASK_KINDS["ner"], gold, gold, workspace.folder("predictions", "x"), "exact-match"
        )
    with raises_input_error("invalid-name"):
        workspace.folder("predictions", "../x")


def test_an_upload_is_called_by_its_name(workspace):
    root = workspace.root
    said = (
        f"{root}/uploads/train.txt:3: ragged; {root}/uploads/tables/t.csv; {root}/runs/a/uploads/b"
    )
    assert (
        hide_upload_paths(said, workspace) == f"train.txt:3: ragged; t.csv; {root}/runs/a/uploads/b"
    )
