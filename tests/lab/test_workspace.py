import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.material.cases import check_each
from tests.material.input_errors import raises_input_error
from vocadapt.errors import Canceled, InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import (
    check_free_file,
    open_draft,
    open_file_draft,
    remove_abandoned_drafts,
)
from vocadapt.lab.workspace.locks import acquire_lock, hold_lock, is_locked
from vocadapt.lab.workspace.manifest import (
    FORMAT,
    Manifest,
    compute_content_stamp,
    compute_seen_stamp,
    record_input,
)
from vocadapt.lab.workspace.workspace import (
    Workspace,
    check_name,
    list_adapted_models,
    list_kinds,
    open_artifact,
)
from vocadapt.system.files import open_file

ROOT = Path(__file__).parents[2]
BAD_WORDS = r"""
. .. ../../x a;rm a/b a\b /etc/passwd C:\x C: \\server\share .hidden -flag _x x. CON con.txt NUL
Lpt1 com9.tar.gz AUX %2e%2e a%2fb ~ ~root a:b a* $HOME é ａ
"""
BAD_NAMES = ["", "x\u202e", "nul\0byte", "\0", "a" * 81, "a" * 200, "x ", " x", "a b", "a\nb"]
BAD_NAMES += BAD_WORDS.split()


def manifest(name="x", kind="vectors", **values):
    return Manifest(kind=kind, name=name, settings={}, **values)


def put(workspace, kind, name, inputs=None, text="1"):
    with open_draft(workspace.folder(kind, name), overwrite=True) as draft:
        (draft / "content").write_text(text)
        manifest(name, kind, inputs=inputs or {}).save(draft)
    return workspace.artifact(kind, name)


@check_each("name", BAD_NAMES, repr)
def test_a_bad_name_is_refused_everywhere(name, workspace, tmp_path):
    for kind in list_kinds():
        with raises_input_error("invalid-name"):
            workspace.folder(kind, name)
    assert not (tmp_path / "w").exists()


@check_each("name", ["a", "biomed", "2026-11-20", "x.y_z-1", "a" * 80, "console", "nullable"])
def test_a_good_name_is_a_folder_of_the_workspace(name, tmp_path):
    assert Workspace(tmp_path).folder("vectors", name) == tmp_path / "vectors" / name


def test_a_free_name_is_a_good_one_whatever_was_wished_and_counts_up(workspace):
    for wish in (*BAD_NAMES, "My file (2).txt", "biomed"):
        check_name(workspace.find_free_name("vectors", wish))
    put(workspace, "vectors", "biomed")
    assert workspace.find_free_name("vectors", "biomed") == "biomed-2"
    assert workspace.find_free_name("models", "biomed") == "biomed"


def test_a_link_out_of_the_workspace_is_refused(tmp_path):
    (tmp_path / "w" / "vectors").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "w" / "vectors" / "x").symlink_to(tmp_path / "outside")
    with raises_input_error("leads-out"):
        Workspace(tmp_path / "w").folder("vectors", "x")


def test_an_artifact_is_written_listed_and_read_again(workspace):
    put(workspace, "vectors", "first")
    put(workspace, "vectors", "second")
    assert [found.name for found in workspace.artifacts("vectors")] == ["second", "first"]
    assert workspace.artifact("vectors", "first").kind == "vectors"
    with raises_input_error("no-artifact", "third", "second, first"):
        workspace.artifact("vectors", "third")


def test_a_converted_model_is_not_an_adapted_one(workspace):
    from vocadapt.ui.parts.home.page import find_main_figure, list_results

    adapted_numbers = {"added": 5, "tokens_after": 15}
    reduced_numbers = {"added": 0, "dropped": 4, "tokens_after": 6}
    all_numbers = {
        "adapted": adapted_numbers,
        "converted": {"tensors": 3},
        "reduced": reduced_numbers,
    }
    for name, numbers in all_numbers.items():
        with open_draft(workspace.folder("models", name)) as draft:
            manifest(name, "models", numbers=numbers).save(draft)
    reduced, adapted = list_adapted_models(workspace)
    assert (reduced.name, adapted.name) == ("reduced", "adapted")
    # No token was added to a reduced model.
    assert list_results("models", workspace) == [adapted]
    assert [find_main_figure(model) for model in workspace.artifacts("models")] == [
        ("Tokens removed", "4", "6 in total"),
        None,
        ("Tokens added", "5", "15 in total"),
    ]


def test_the_manifest_comes_back_as_it_was(tmp_path):
    (tmp_path / "text").write_text("x")
    one = manifest(
        inputs={"text": record_input([tmp_path / "text"])},
        numbers={"words": 3},
        seed=1,
        seconds=0.5,
        command="c",
    )
    one.save(tmp_path)
    assert Manifest.load(tmp_path) == replace(one, files=("text",), format=FORMAT)


SOUND = {"kind": "vectors", "name": "x", "settings": {}, "inputs": {}, "format": FORMAT}
FOREIGN = ["", "[]", "{}", '{"kind": 1}', "\0", "NaN"]
# A manifest with an entry of another type.
FOREIGN += [
    json.dumps(SOUND | wrong)
    for wrong in (
        {"inputs": 3},
        {"settings": []},
        {"seconds": "1"},
        {"seed": True},
        {"guards": [1]},
        {"versions": {"numpy": 2}},
        {"inputs": {"text": {"paths": [], "stamp": ""}}},
        {"inputs": {"text": {"paths": [1], "stamp": ""}}},
    )
]


@check_each("content", FOREIGN)
def test_a_foreign_manifest_is_refused_and_not_listed(content, tmp_path):
    folder = tmp_path / "vectors" / "x"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(content)
    with pytest.raises(InputError):
        open_artifact(folder)
    assert Workspace(tmp_path).artifacts("vectors") == []


@pytest.mark.parametrize("error", [RuntimeError, Canceled, KeyboardInterrupt, SystemExit])
def test_nothing_stays_when_the_writer_fails(tmp_path, error):
    with pytest.raises(error), open_draft(tmp_path / "deep" / "er" / "x") as draft:
        (draft / "half").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_older_artifact_survives_a_writer_that_fails(tmp_path):
    workspace = Workspace(tmp_path)
    stamp = put(workspace, "vectors", "x").stamp
    with pytest.raises(RuntimeError), open_draft(workspace.folder("vectors", "x"), overwrite=True):
        raise RuntimeError
    assert workspace.artifact("vectors", "x").stamp == stamp
    assert os.listdir(tmp_path / "vectors") == ["x"]


def test_what_is_there_is_not_overwritten_unless_asked(tmp_path):
    workspace = Workspace(tmp_path)
    before = put(workspace, "vectors", "x", text="1")
    with raises_input_error("already-exists"), open_draft(before.folder):
        pass
    after = put(workspace, "vectors", "x", text="2")
    assert (after.folder / "content").read_text() == "2"
    assert after.stamp != before.stamp
    assert os.listdir(tmp_path / "vectors") == ["x"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("thesis.tex", "years"),
        ("manifest.json", "{}"),
        ("manifest.json", '{"name": "My web app", "icons": []}'),
        ("manifest.json", json.dumps(SOUND | {"kind": "x"})),
    ],
)
def test_a_folder_of_somebody_else_is_never_overwritten(name, content, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text(content)
    with raises_input_error("foreign-folder"), open_draft(tmp_path / "mine", overwrite=True):
        pass
    assert (tmp_path / "mine" / name).read_text() == content


def test_hidden_files_of_somebody_else_are_never_swept(tmp_path):
    mine = [
        ".letter.draft",
        ".letter.2026.draft",
        ".notes.old",
        ".a.0123456789ab.old",
        ".a.0123456789AB.draft",
    ]
    for name in mine:
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text("years")
    files = [".b.0123456789ab.draft", ".c.0123456789ab.old", ".bashrc.x.old"]
    for name in files:
        (tmp_path / name).write_text("years")
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    remove_abandoned_drafts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(mine + files)


def test_an_empty_folder_is_free_and_a_file_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    with open_draft(tmp_path / "empty") as draft:
        manifest().save(draft)
    assert open_artifact(tmp_path / "empty").kind == "vectors"
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError), open_draft(place):
            pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    with raises_input_error("disk-full"), open_draft(tmp_path / "x") as draft:
        (draft / "vectors").symlink_to("/dev/full")
        with (draft / "vectors").open("w") as file:
            file.write("x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_an_upload_onto_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    import errno
    import io

    from vocadapt.ui.components.intake import save_uploads

    class Upload(io.BytesIO):
        name = "text.txt"

        def read(self, size=-1):
            if self.tell():
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().read(1)

    with raises_input_error("disk-full", "text.txt"):
        save_uploads([Upload(b"many words")], Workspace(tmp_path))
    assert list((tmp_path / "uploads").iterdir()) == []


def test_a_full_disk_under_safetensors_is_reported_too(tmp_path):
    with raises_input_error("disk-full"), open_draft(tmp_path / "x"):
        raise RuntimeError("I/O error: No space left on device (os error 28)")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), PermissionError(13, "no"), ValueError("x")]
)
def test_a_file_that_cannot_be_written_whole_leaves_what_was_there(tmp_path, error):
    (tmp_path / "a.csv").write_text("old")
    code = "disk-full" if error.args[0] == 28 else "cannot-write"
    with (
        pytest.raises(ValueError) if isinstance(error, ValueError) else raises_input_error(code),
        open_file_draft(tmp_path / "a.csv") as draft,
    ):
        draft.write_text("half")
        raise error
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.csv", "old")]


def test_a_file_is_written_where_its_link_leads_and_checked_beforehand(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "far.csv")
    check_free_file(tmp_path / "link.csv")
    with open_file_draft(tmp_path / "link.csv") as draft:
        draft.write_text("new")
        assert draft.suffix == ".csv" and not (tmp_path / "far.csv").exists()
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "far.csv").read_text() == "new"
    check_free_file(tmp_path / "far.csv", overwrite=True)
    for path, code in (
        (tmp_path / "far.csv", "already-exists"),
        (tmp_path / "none" / "a", "no-folder"),
        (tmp_path, "no-file"),
        (Path(os.devnull), "no-file"),
    ):
        with raises_input_error(code):
            check_free_file(path, overwrite=path.name != "far.csv")


def test_every_file_may_be_read_by_whom_the_manifest_may(tmp_path):
    with open_draft(tmp_path / "x") as draft:
        (draft / "private").write_text("x")
        (draft / "private").chmod(0o600)
        manifest().save(draft)
    assert (tmp_path / "x" / "private").stat().st_mode == (
        tmp_path / "x" / "manifest.json"
    ).stat().st_mode


KILLED_WRITER = """
import sys, time
from pathlib import Path
from vocadapt.lab.workspace.drafts import open_draft
with open_draft(Path(sys.argv[1])) as draft:
    (draft / "half").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_writer_leaves_is_not_listed_and_is_swept(tmp_path):
    command = [sys.executable, "-c", KILLED_WRITER, str(tmp_path / "vectors" / "x")]
    writer = subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True
    )
    assert writer.stdout.readline() == "writing\n"
    [draft] = (tmp_path / "vectors").iterdir()
    assert is_locked(draft)
    remove_abandoned_drafts(tmp_path / "vectors")
    assert draft.exists()  # its writer lives
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert Workspace(tmp_path).artifacts("vectors") == []
    remove_abandoned_drafts(tmp_path / "vectors")
    assert not draft.exists()


def test_a_writer_whose_fresh_draft_is_swept_makes_another(tmp_path, monkeypatch):
    from vocadapt.lab.workspace import drafts as module

    swept = []

    def late(folder):
        if not swept:  # a sweeper comes between making the draft and locking it
            swept.append(folder)
            remove_abandoned_drafts(folder.parent)
        return acquire_lock(folder)

    monkeypatch.setattr(module, "acquire_lock", late)
    with open_draft(tmp_path / "x") as draft:
        assert swept and draft != swept[0] and not swept[0].exists()
        manifest().save(draft)
    assert os.listdir(tmp_path) == ["x"]


def test_of_two_writers_of_one_artifact_the_first_wins(tmp_path):
    with raises_input_error("already-exists"), open_draft(tmp_path / "x") as second:
        with open_draft(tmp_path / "x") as first:
            (first / "content").write_text("first")
            manifest().save(first)
        manifest().save(second)
    assert os.listdir(tmp_path) == ["x"] and (tmp_path / "x" / "content").read_text() == "first"


def test_an_artifact_whose_replacement_was_killed_is_put_back(tmp_path):
    put(Workspace(tmp_path), "vectors", "x", text="finished")
    os.replace(tmp_path / "vectors" / "x", tmp_path / "vectors" / ".x.0123456789ab.old")
    remove_abandoned_drafts(tmp_path / "vectors")
    assert (tmp_path / "vectors" / "x" / "content").read_text() == "finished"


def test_a_lock_is_held_until_it_is_let_go(tmp_path):
    assert not is_locked(tmp_path)
    with hold_lock(tmp_path):
        assert is_locked(tmp_path)
        assert acquire_lock(tmp_path) is None
        with pytest.raises(BlockingIOError), hold_lock(tmp_path):
            pass
    assert not is_locked(tmp_path)
    assert not is_locked(tmp_path / "gone")


def test_a_changed_input_makes_an_artifact_stale(workspace, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("one")
    made = put(workspace, "vectors", "x", {"text": record_input([text], workspace.root)})
    assert made.explain_staleness(workspace) == []
    os.utime(text, (1, 1))
    assert made.explain_staleness(workspace) == []  # touched, not changed
    text.write_text("two")
    assert made.explain_staleness(workspace) == ["text.txt was changed since"]
    text.unlink()
    assert made.explain_staleness(workspace) == ["text.txt is gone"]


def test_a_touched_input_is_read_once_not_at_every_turn(workspace, monkeypatch, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("one")
    made = put(workspace, "vectors", "x", {"text": record_input([text], workspace.root)})
    os.utime(text, (1, 1))
    opened = []
    monkeypatch.setattr(
        "vocadapt.lab.workspace.manifest.open_file",
        lambda path: opened.append(path) or open_file(path),
    )
    assert [made.explain_staleness(workspace) for _ in range(3)] == [[], [], []]
    assert opened.count(text) == 1


def test_a_rebuilt_input_makes_stale_what_follows_from_it(workspace):
    vectors = put(workspace, "vectors", "biomed")
    aligned = put(
        workspace, "alignments", "a", {"vectors": record_input([vectors.folder], workspace.root)}
    )
    model = put(
        workspace, "models", "m", {"alignment": record_input([aligned.folder], workspace.root)}
    )
    assert aligned.explain_staleness(workspace) == model.explain_staleness(workspace) == []
    put(workspace, "vectors", "biomed")
    assert aligned.explain_staleness(workspace) == ["vectors biomed was rebuilt since"]
    assert model.explain_staleness(workspace) == ["alignments a is itself out of date"]


def test_a_workspace_may_be_moved(workspace, tmp_path):
    vectors = put(workspace, "vectors", "biomed")
    put(workspace, "alignments", "a", {"vectors": record_input([vectors.folder], workspace.root)})
    os.replace(tmp_path / "w", tmp_path / "moved")
    moved = Workspace(tmp_path / "moved")
    assert moved.artifact("alignments", "a").explain_staleness(moved) == []


def test_stamps_depend_on_content_and_names_alone(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text("same")
    assert compute_content_stamp([tmp_path / "a"]) == compute_content_stamp([tmp_path / "b"])
    (tmp_path / "b" / ".hidden").write_text("editor's")
    assert compute_content_stamp([tmp_path / "a"]) == compute_content_stamp([tmp_path / "b"])
    os.replace(tmp_path / "b" / "x", tmp_path / "b" / "y")
    assert compute_content_stamp([tmp_path / "a"]) != compute_content_stamp([tmp_path / "b"])
    before = compute_seen_stamp([tmp_path / "a"])
    os.utime(tmp_path / "a" / "x", (1, 1))
    assert compute_seen_stamp([tmp_path / "a"]) != before


def test_a_workspace_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "w").write_text("x")
    with raises_input_error("no-folder"):
        Workspace(tmp_path / "w")


@pytest.mark.parametrize("open_with", ["[", '{"a":'])
def test_json_that_is_nested_without_end_is_refused(open_with):
    with raises_input_error("nested-too-deep", "deep"):
        strict_json.loads(open_with * 200_000, "deep")


def test_strict_json_has_no_nan(tmp_path):
    import numpy as np

    text = strict_json.dumps(
        {"a": float("nan"), "b": [np.float32("inf"), np.int64(3)], "c": (Path("x"), np.arange(2))}
    )
    assert json.loads(text) == {"a": None, "b": [None, 3], "c": ["x", [0, 1]]}
    with raises_input_error("invalid-json", "NaN"):
        strict_json.loads('{"a": NaN}', "x")
