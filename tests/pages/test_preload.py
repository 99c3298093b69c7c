"""Libraries of later pages are imported after the first page, and only for a workspace with a
run."""

import threading

import pytest

from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.state import preload


@pytest.fixture
def workspace(tmp_path):
    """A workspace with a run."""
    found = Workspace(tmp_path)
    folder = found.folder("runs", "ner")
    folder.mkdir(parents=True)
    Manifest("runs", "ner", {}).save(folder)
    return found


@pytest.fixture
def imported(monkeypatch):
    """What the thread imports, once it may."""
    names = []
    monkeypatch.setattr(preload, "PAUSE", 0.0)
    monkeypatch.setattr(preload, "_page_drawn", threading.Event())
    monkeypatch.setattr(preload, "_requested", threading.Event())
    monkeypatch.setattr(preload, "_needed", threading.Event())
    monkeypatch.setattr(preload.importlib, "import_module", names.append)
    return names


def test_nothing_is_imported_before_the_first_page(imported, workspace):
    thread = preload.start(workspace)
    thread.join(0.1)
    assert thread.is_alive() and imported == []
    preload.report_page_drawn()
    thread.join(20)
    preload.wait()
    assert imported == list(preload.LIBRARIES)


def test_a_workspace_without_a_run_is_left_alone(imported, tmp_path):
    thread = preload.start(Workspace(tmp_path))
    preload.report_page_drawn()
    thread.join(20)
    assert not thread.is_alive() and imported == []


def test_imports_do_not_begin_once_a_page_needs_the_libraries(imported, workspace):
    thread = preload.start(workspace)
    preload.wait()
    preload.report_page_drawn()
    thread.join(20)
    assert not thread.is_alive() and imported == []


@pytest.mark.parametrize(
    "path, starts", [("/try_it", True), ("/", False), ("/try_it/_stcore/stream", False)]
)
def test_a_request_of_try_it_starts_the_imports_without_a_pause(
    imported, monkeypatch, workspace, path, starts
):
    monkeypatch.setattr(preload, "PAUSE", 1e6)
    thread = preload.start(workspace)
    forwarded = []

    async def app(scope, receive, send):
        forwarded.append(scope["path"])

    request = preload.RequestWatcher(app)({"type": "http", "path": path}, None, None)
    with pytest.raises(StopIteration):  # it ends without waiting: no event loop is needed
        request.send(None)
    thread.join(20 if starts else 0.1)
    assert forwarded == [path]
    assert imported == (list(preload.LIBRARIES) if starts else [])
    preload._needed.set()
    preload._requested.set()
    preload._page_drawn.set()
    thread.join(20)
