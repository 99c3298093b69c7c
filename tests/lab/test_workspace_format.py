"""The number of the format: what is older is listed as such, a newer workspace is refused in one sentence."""

import json
import zipfile

import pytest

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.lab.housekeeping.copies import export_workspace, open_export
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import (
    FORMAT,
    MANIFEST,
    Manifest,
    NewerFormatError,
    read_saved_settings,
)
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.spaces.alignment.alignment import AlignmentSettings


def put(workspace, name):
    with open_draft(workspace.folder("models", name)) as draft:
        Manifest("models", name, {}).save(draft)
    return workspace.folder("models", name) / MANIFEST


@pytest.fixture
def workspace(tmp_path):
    """A workspace with one artifact of today, one without a number."""
    found = Workspace(tmp_path / "w")
    put(found, "today")
    old = put(found, "old")
    values = json.loads(old.read_text())
    for entry in ("format", "step", "footprint", "threads"):
        del values[entry]
    old.write_text(json.dumps(values))
    return found


@pytest.fixture
def newer(workspace):
    edit_json(put(workspace, "newer"), format=FORMAT + 1)
    return workspace


def test_an_artifact_of_an_earlier_version_is_listed_in_one_sentence(workspace, capsys):
    assert {one.name: one.manifest.format for one in workspace.artifacts("models")} == {
        "today": FORMAT
    }
    [(name, why)] = workspace.list_hidden().items()
    assert name == "models/old" and "earlier version" in why
    with raises_input_error("earlier-format"):
        open_artifact(workspace.folder("models", "old"))
    assert main(["workspace", "list", "--workspace", str(workspace.root)]) == 0
    assert "earlier version" in capsys.readouterr().out


def test_a_newer_workspace_is_not_shown_in_part(newer):
    with pytest.raises(NewerFormatError):
        newer.artifacts("models")
    with raises_input_error("newer-format"):
        open_artifact(newer.folder("models", "newer"))


def test_a_newer_artifact_is_neither_replaced_nor_removed(newer):
    with (
        raises_input_error("foreign-folder"),
        open_draft(newer.folder("models", "newer"), overwrite=True),
    ):
        raise AssertionError("the block must not run")
    assert newer.folder("models", "newer").is_dir()


def test_the_command_says_it_in_one_sentence(newer, capsys):
    assert main(["workspace", "list", "--workspace", str(newer.root)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and str(FORMAT + 1) in err and len(err.splitlines()) == 2


def test_an_export_of_a_newer_workspace_is_not_opened(newer, tmp_path):
    export_workspace(newer, tmp_path / "w.zip")
    assert zipfile.is_zipfile(tmp_path / "w.zip")
    with raises_input_error("newer-format"):
        open_export(tmp_path / "w.zip", tmp_path / "opened")
    assert not (tmp_path / "opened").exists()


def test_settings_that_this_version_lacks_are_reported_with_their_artifact():
    with raises_input_error("other-settings", "best", "'centre'"):
        read_saved_settings(AlignmentSettings, {"centre": True}, "best")
    assert read_saved_settings(AlignmentSettings, {}, "best") == AlignmentSettings()
