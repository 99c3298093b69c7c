"""In a read-only workspace, every write of a page or command raises one InputError, and reading
still works.

Root may write everywhere, so as root the first test continues in a process of the user `nobody`."""

import io
import os
import stat
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.demo import open_demo
from vocadapt.lab.housekeeping.copies import copy_workspace
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.housekeeping.trash import delete_artifact
from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.lesson_progress import LessonProgress, save_progress
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.notes import save_note
from vocadapt.lab.workspace.packing import pack_to_temporary_file
from vocadapt.lab.workspace.slices import Slice, delete_slice, list_slices, save_slice
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import Splitter

NOBODY = 65534


def upload(workspace: Workspace) -> object:
    from vocadapt.ui.components.intake import save_uploads

    file = io.BytesIO(b"text")
    file.name = "text.txt"
    return save_uploads([file], workspace)  # type: ignore[list-item]


def start_job(workspace: Workspace) -> object:
    return queue.start(workspace, Spec(CorpusStep(), {"text": (__file__,)}), "c")


def find_model(workspace: Workspace) -> Artifact:
    return Artifact(workspace.root / "models" / "kept", Manifest("models", "kept", {}), "")


WRITES: dict[str, Callable[[Workspace], object]] = {
    "upload": upload,
    "job": start_job,
    "lesson": lambda workspace: save_progress(workspace, "luck", LessonProgress(seen=1)),
    "note": lambda workspace: save_note(workspace, "id", "text"),
    "slice": lambda workspace: save_slice(workspace, "new", ["a"]),
    "demo": open_demo,
    "rename": lambda workspace: rename_artifact(workspace, find_model(workspace), "new"),
    "delete": lambda workspace: delete_artifact(workspace, find_model(workspace)),
}


def check_every_write(workspace: Workspace) -> None:
    """Raise AssertionError unless each write gives an InputError that says what is missing."""
    for name, write in WRITES.items():
        with pytest.raises(InputError) as caught:
            write(workspace)
        said = str(caught.value)
        assert "write" in said or "is a file" in said, (name, said)
        assert caught.value.remedy, name


def check_as_visitor(root: Path) -> None:
    """What is checked in a process that may read the workspace and not write it."""
    workspace = Workspace(root)
    assert not os.access(root, os.W_OK)
    check_every_write(workspace)
    with raises_input_error("cannot-write"):
        delete_slice(workspace, "kept")
    assert [one.id for one in list_slices(workspace)] == ["kept"]
    assert [one.name for one in workspace.artifacts("models")] == ["kept"]
    with raises_input_error("cannot-write"):
        copy_workspace(workspace, root.parent / "copy")
    queue.remove_remains(workspace)
    text = open_corpus([root / "text.txt"])
    assert load_or_count_words(root, text, Splitter.bert()).words > 0
    assert not (root / "counts").exists()
    tempfile.tempdir = str(root.parent / "temporary")
    with pack_to_temporary_file(workspace.root / "slices", workspace.root) as archive:
        assert archive.read(2) == b"PK"


def make_read_only(root: Path) -> None:
    (root / "slices").mkdir(parents=True)
    (root / "text.txt").write_text("the drug\n")
    (root / "jobs").mkdir()
    strict_json.write(
        root / "slices" / "kept.json", vars(Slice("kept", "kept", ("a",), {}, "2026"))
    )
    model = root / "models" / "kept"
    model.mkdir(parents=True)
    Manifest("models", "kept", {}).save(model)
    folders = (root / "slices", root / "jobs", model, model.parent, root)
    for path in (root / "slices" / "kept.json", *folders):
        path.chmod(
            stat.S_IMODE(path.stat().st_mode) & ~0o222 | 0o444 | (0o111 if path.is_dir() else 0)
        )


def run_as_nobody(check: Callable[[], None]) -> str:
    """Run a check in a process of the user `nobody`, and return its traceback; "" if it passed.

    The process is forked, not started: `nobody` may not be able to read this Python.
    """
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        said = ""
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            check()
        except BaseException:
            said = traceback.format_exc()
        os.write(writer, said.encode()[-30_000:])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_a_workspace_that_may_only_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())  # as before afterwards
    (tmp_path / "file").write_text("a")
    check_every_write(Workspace(tmp_path / "file" / "w"))  # imports everything, too
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        root, temporary = Path(place) / "w", Path(place) / "temporary"
        temporary.mkdir()
        temporary.chmod(0o777)
        make_read_only(root)
        with pack_to_temporary_file(root / "slices", root):  # imports the rest
            load_or_count_words(None, open_corpus([root / "text.txt"]), Splitter.bert())
        try:
            said = (
                run_as_nobody(lambda: check_as_visitor(root))
                if os.geteuid() == 0
                else check_as_visitor(root)
            )
            assert not said, said
        finally:
            for path in (root, *root.glob("*/"), root / "models" / "kept"):
                path.chmod(0o755)


def test_a_workspace_whose_parent_is_a_file(tmp_path):
    (tmp_path / "file").write_text("a")
    check_every_write(Workspace(tmp_path / "file" / "w"))


def test_a_folder_of_the_workspace_that_is_a_file(tmp_path):
    workspace = Workspace(tmp_path)
    for name in ("uploads", "slices", "jobs"):
        (tmp_path / name).write_text("a")
    for name in ("upload", "slice", "job"):
        with raises_input_error("cannot-write"):
            WRITES[name](workspace)
    (tmp_path / "notes.jsonl").mkdir()
    with pytest.raises(InputError):
        save_note(workspace, "id", "text")
