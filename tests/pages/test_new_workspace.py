"""A new workspace is made by the button below the picker."""

import shutil

import pytest
from streamlit.elements.widgets import selectbox

from vocadapt.lab.jobs import queue
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace


def create(app, name):
    field = next(one for one in app.sidebar.text_input if one.label == "Name of the workspace")
    field.set_value(name)
    next(one for one in app.sidebar.button if one.label == "Create").click().run()
    return app


def test_a_new_workspace_is_opened(open_page, tmp_path):
    app = create(open_page("vectors", Workspace(tmp_path / "first")), "class-1")
    assert not app.exception and not app.error
    assert app.session_state["workspace"] == "class-1"
    assert not (tmp_path / "class-1").exists()  # made when something is written into it


def test_the_picker_of_workspaces_has_no_default_beside_its_value(open_page, tmp_path, monkeypatch):
    """Streamlit logs a stack trace if it has both, as after a new workspace was made."""
    defaults = []
    check = selectbox.check_widget_policies

    def record(dg, key, on_change, *, default_value=None, **options):
        if key == "workspace":
            defaults.append(default_value)
        return check(dg, key, on_change, default_value=default_value, **options)

    monkeypatch.setattr(selectbox, "check_widget_policies", record)
    create(open_page("vectors", Workspace(tmp_path / "first")), "a-class")  # sorts before it
    assert len(defaults) > 1 and set(defaults) == {None}


@pytest.mark.parametrize("name", ["../up", "", "a b", "first", "x" * 100])
def test_a_name_that_cannot_be_is_explained(open_page, tmp_path, name):
    app = create(open_page("vectors", Workspace(tmp_path / "first")), name)
    assert not app.exception and app.error
    assert app.session_state["workspace"] == "first"


@pytest.mark.parametrize("case", ["names", "full", "read-only"])
def test_a_demo_that_cannot_be_opened_is_a_sentence_and_changes_nothing(
    case, open_page, tmp_path, monkeypatch
):
    workspace = Workspace(tmp_path / "w")
    if case == "names":
        with open_draft(workspace.folder("models", "demo-bert")) as draft:
            Manifest("models", "demo-bert", {}).save(draft)
        wanted = "other artifacts with names of the demo: models/demo-bert"
    elif case == "full":
        usage = shutil._ntuple_diskusage(10**9, 10**9, 1000)
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
        wanted = "are needed, but the disk has"
    else:
        (workspace.root).mkdir()
        (workspace.root / "models").write_text("in the way")
        wanted = "models"
    before = sorted(workspace.root.rglob("*"))
    app = open_page("home", workspace)
    app.button(key="open_demo").click().run()
    assert not app.exception and [error.value for error in app.error] == ["This did not work."]
    lines = [text.value for text in app.text]
    assert len(lines) == 2 and wanted in lines[0], lines
    assert sorted(workspace.root.rglob("*")) == before and not queue.list_jobs(workspace)
