"""What visitors of a served lab may hold and see: uploads in memory, folders of the server, jobs of the demo."""

import pytest
import streamlit as st
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from tests.material.apps import list_texts
from vocadapt.lab import demo
from vocadapt.lab.jobs import queue
from vocadapt.lab.workspace import limits
from vocadapt.lab.workspace.visitors import name_folder
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.shell import upload_limit
from vocadapt.ui.state import paths


@pytest.fixture
def uploads(monkeypatch):
    """A manager of uploads of at most 1 MB each, with the bound."""
    monkeypatch.setattr(st, "get_option", lambda name: 1)
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    upload_limit.install()
    return MemoryUploadedFileManager("/upload")


def make_file(id: str, name: str = "a.txt", size: int = 1_000_000) -> UploadedFileRec:
    return UploadedFileRec(id, name, "text/plain", b" " * size)


def test_a_session_holds_a_few_uploads_in_memory_and_no_more(uploads):
    for id in "123":
        uploads.add_file("ann", make_file(id))
    with pytest.raises(HTTPException) as refused:
        uploads.add_file("ann", make_file("4"))
    assert refused.value.status_code == 413
    uploads.add_file("ann", make_file("3"))  # the same again
    uploads.add_file("ben", make_file("5"))
    uploads.remove_file("ann", "1")
    uploads.add_file("ann", make_file("4"))
    assert [file.file_id for file in uploads.get_files("ann", list("1234"))] == ["2", "3", "4"]


def test_the_name_of_an_upload_has_no_invisible_characters(uploads):
    uploads.add_file("ann", make_file("1", "a\0b.txt\0\n", 1))
    assert uploads.get_files("ann", ["1"])[0].name == "ab.txt"


def test_visitors_see_no_folder_of_the_server(open_page, seeded, monkeypatch):
    assert str(seeded.root) in paths.hide_server_paths(str(seeded.root))
    monkeypatch.setattr(paths, "is_for_others", lambda: True)
    app = open_page("vectors", seeded)
    helps = [one.help or "" for kind in (app.selectbox, app.text_input) for one in kind]
    shown = [*helps, *list_texts(app), *(code.value for code in app.code)]
    outside = str(seeded.root.parent)
    assert not app.exception and [text for text in shown if outside in text] == []
    assert any("trials" in text for text in shown)


def test_the_demo_opens_with_few_jobs_and_goes_on_later(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / name_folder("cookie", "ann") / "workspace")
    for name, value in ((limits.VISITORS, str(tmp_path)), (limits.MAX_JOBS, "3")):
        monkeypatch.setenv(name, value)
    started = []
    monkeypatch.setattr(queue, "start", lambda *given: started.append(given[2]) or given[2])
    assert len(demo.list_demo_jobs(workspace)) == 4
    assert len(demo.start_demo_jobs(workspace)) == 3
    monkeypatch.setattr(demo, "count_free_jobs", lambda root: 1)
    assert len(demo.start_demo_jobs(workspace)) == 1


def test_a_workspace_whose_folder_was_removed_is_said(open_page, seeded_copy):
    app = open_page("storage", seeded_copy)
    assert not app.exception and not app.warning
    seeded_copy.root.rename(seeded_copy.root.with_name("renamed"))
    app.run()
    assert not app.exception and "trials" in app.warning[0].value
