"""A read-only lab: every page is drawn, every button may be pressed, and no file changes."""

from pathlib import Path

import pytest

from tests.material.apps import join_values
from tests.material.input_errors import raises_input_error
from vocadapt.lab.demo import open_demo
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.limits import FILES_ROOT, READ_ONLY, ReadOnlyError
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.shell import server
from vocadapt.ui.state.pages import PARTS
from vocadapt.ui.state.paths import check_allowed

SHORT = ("home", "jobs", "adapt")  # the gate presses the buttons of these; the nightly of all
TYPED = "from-a-visitor"


def stamp_tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return type, time and content of everything in a folder and beside it: a file that is written
    and removed again changes the time of its folder.
    """
    found = {}
    for path in (root.parent, *root.parent.rglob("*")):
        state = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (state.st_mode, state.st_mtime_ns, content)
    return found


@pytest.fixture
def read_only(seeded, tiny_bert, monkeypatch):
    """A finished workspace that the lab shows read-only; its model is in a folder of shared files."""
    monkeypatch.setenv(READ_ONLY, "1")
    monkeypatch.setenv(FILES_ROOT, str(tiny_bert))
    return seeded


def press_every_button(open_page, workspace, part: str) -> int:
    """Press each button of a page that has just been opened; return how many there were."""
    app = open_page(part, workspace)
    assert not app.exception
    keys = [button.key for button in app.button if not button.disabled]
    for place, key in enumerate(keys):
        app = open_page(part, workspace)
        for text in app.text_input:
            if "name" in text.label.lower():  # an empty name would keep a button off
                text.set_value(TYPED)
        app.run()
        pressed = [button for button in app.button if not button.disabled and button.key == key]
        if not pressed:
            pressed = [button for button in app.button if not button.disabled][place : place + 1]
        for button in pressed[:1]:
            button.click().run()
        assert not app.exception, (part, key, app.exception)
        assert not app.error, (part, key, [one.value for one in app.text])
    return len(keys)


def check_parts(open_page, workspace, parts) -> None:
    before = stamp_tree(workspace.root)
    pressed = sum(press_every_button(open_page, workspace, part) for part in parts)
    assert pressed > len(parts)
    assert stamp_tree(workspace.root) == before


def test_buttons_of_a_read_only_lab_change_no_file(read_only, open_page):
    check_parts(open_page, read_only, SHORT)


@pytest.mark.slow
def test_no_button_of_any_page_of_a_read_only_lab_changes_a_file(tmp_path, open_page, monkeypatch):
    """In the workspace of the demo, which fills every page."""
    workspace = Workspace(tmp_path / "demo")
    open_demo(workspace)
    monkeypatch.setenv(READ_ONLY, "1")
    check_parts(open_page, workspace, PARTS)


def test_a_button_that_would_write_says_so_calmly(read_only, open_page):
    app = open_page("home", read_only)
    assert "Read-only" in join_values(app.sidebar.info)
    app.button(key="open_demo").click().run()
    assert "read-only" in join_values(app.main.info) and not app.error


def test_a_job_is_refused_before_anything_is_written(read_only):
    before = stamp_tree(read_only.root)
    with pytest.raises(ReadOnlyError):
        queue.start(read_only, Spec(CorpusStep(), {"text": (__file__,)}), "c")
    assert stamp_tree(read_only.root) == before


def test_only_one_workspace_and_no_file_of_the_machine_is_shown(read_only, open_page, tmp_path):
    app = open_page("home", read_only, workspace="beside")
    assert "one workspace" in join_values(app.text)
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    with raises_input_error("path-not-allowed"):
        check_allowed(secret)


def test_an_empty_workspace_is_not_served_read_only(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(server, "_run", lambda app, flags: pytest.fail("it was served"))
    arguments = ["--no-browser", "--sharing", '{"read_only": true}', "--workspace", f"{tmp_path}/w"]
    assert server.main(arguments) == 2
    assert "python -m vocadapt demo" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()
