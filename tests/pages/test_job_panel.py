"""A failed job shows its reason, and can be resumed or dismissed."""

from dataclasses import replace
from gzip import BadGzipFile
from pathlib import Path

import pytest

from tests.material.apps import join_values, press
from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import write_status
from vocadapt.lab.jobs.worker import _is_system_error
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace

TEXT = "text"


@pytest.fixture
def failed(tmp_path):
    """A workspace whose only job failed: its text is empty."""
    workspace = Workspace(tmp_path / "trials")
    empty = tmp_path / "empty.txt"
    empty.touch()
    job = queue.start(workspace, Spec(CorpusStep(), {"text": (str(empty),)}), "trials")
    assert job.wait(60).state == "failed"
    return workspace


def test_a_failed_job_says_why_until_it_is_dismissed(open_page, failed):
    app = open_page(TEXT, failed)
    assert not app.exception and app.error and "empty.txt" in join_values(app.text)
    press(app, "Dismiss")
    assert not app.exception and not app.error


def test_a_job_is_resumed_once_its_file_was_mended(open_page, failed):
    (job,) = queue.list_jobs(failed)
    app = open_page(TEXT, failed)
    assert "Resume" not in [button.label for button in app.button]  # it would fail again
    Path(job.spec.inputs["text"][0]).write_text("now there is a line\n", encoding="utf-8")
    app.run()
    press(app, "Resume")
    assert not app.exception
    [job] = queue.list_jobs(failed)
    assert job.wait(60).state == "done"


def test_a_failure_of_the_system_can_be_resumed(open_page, failed):
    (job,) = queue.list_jobs(failed)
    write_status(job.folder, replace(job.status(), rejected=False))
    assert "Resume" in [button.label for button in open_page(TEXT, failed).button]


def test_failures_of_the_system_are_told_from_those_of_the_input():
    of_system = (OSError(28, "No space left on device"), PermissionError(13, "denied"))
    of_input = (BadGzipFile("not a gzip file"), UnicodeDecodeError("utf-8", b"", 0, 1, "x"), None)
    for cause in (*of_system, *of_input):
        error = InputError("It failed.")
        error.__cause__ = cause
        assert _is_system_error(error) is (cause in of_system)


def test_a_text_that_the_workspace_holds_is_named(open_page, tmp_path):
    workspace = Workspace(tmp_path / "w")
    for name in ("first.txt", "again.txt"):
        (tmp_path / name).write_text("the drug\n", encoding="utf-8")
    (tmp_path / "other.txt").write_text("the dose\n", encoding="utf-8")
    spec = Spec(CorpusStep(copy=True), {"text": (str(tmp_path / "first.txt"),)})
    run_step(spec, workspace.folder("corpora", "contracts"))
    app = open_page(TEXT, workspace)
    for name, expected in (("again.txt", True), ("other.txt", False)):
        app.text_input(key="text_path").set_value(str(tmp_path / name)).run()
        assert ("**contracts**" in join_values(app.markdown)) is expected
        [button] = [one for one in app.button if one.label == "Import and count"]
        assert (button.proto.type == "secondary") is expected


def test_an_upload_replaces_a_path_that_was_typed(open_page, tmp_path):
    workspace = Workspace(tmp_path / "w")
    app = open_page(TEXT, workspace)
    app.text_input(key="text_path").set_value(str(tmp_path / "none.txt")).run()
    assert app.error and app.session_state["text_path"]
    app.file_uploader(key="text_0").set_value([("mine.txt", b"the drug", "text/plain")]).run()
    assert not app.error and not app.exception and not app.session_state["text_path"]
    assert app.text_input(key="corpus_name_mine").value == "mine"
