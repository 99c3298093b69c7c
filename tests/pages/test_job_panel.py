"""A failed job shows its reason, and can be resumed or dismissed."""

import pytest

from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace

TEXT = "text"


@pytest.fixture
def failed(tmp_path):
    """A workspace whose only job failed: its text is empty."""
    workspace = Workspace(tmp_path / "trials")
    empty = tmp_path / "empty.txt"
    empty.touch()
    job = queue.start(workspace, Spec("corpus", CorpusStep(), {"text": (str(empty),)}), "trials")
    assert job.wait(60).state == "failed"
    return workspace


def test_a_failed_job_says_why_and_what_to_do(open_page, failed):
    app = open_page(TEXT, failed)
    assert not app.exception
    assert any("the file is empty" in text.value for text in app.text)
    assert any("failed" in error.value for error in app.error)


def test_a_dismissed_job_is_gone(open_page, failed):
    app = open_page(TEXT, failed)
    next(button for button in app.button if button.label == "Dismiss").click().run()
    assert not app.exception and not app.error


def test_a_job_can_be_resumed(open_page, failed):
    app = open_page(TEXT, failed)
    next(button for button in app.button if button.label == "Resume").click().run()
    assert not app.exception
    assert len(queue.list_jobs(failed)) == 1
    assert queue.list_jobs(failed)[0].wait(60).state == "failed"
