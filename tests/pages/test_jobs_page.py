"""The Jobs page and the sidebar: every state, the job named in the address, and the link to its
result."""

import os
import signal

import pytest

from tests.material.apps import join_values, list_texts, read_page
from tests.material.lab import write_text
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import Status, read_status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.ui.parts.jobs.page import FIRST
from vocadapt.ui.text.markup import plain


@pytest.fixture
def workspace(make_workspace):
    return make_workspace("trials")


@pytest.fixture
def take(workspace, tmp_path):
    def start(name="trials", content="a line\n"):
        (tmp_path / f"{name}.txt").write_text(content)
        return queue.start(workspace, Spec(CorpusStep(), {"text": tmp_path / f"{name}.txt"}), name)

    return start


@pytest.fixture
def endless(workspace, tmp_path, tiny_bert):
    text = write_text(tmp_path / "long.txt", lines=4000)
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=20_000, min_count=1, workers=1))
    return queue.start(workspace, Spec(settings, {"text": text, "model": tiny_bert}), "long")


def buttons(app):
    return {button.key.split("_")[0]: button for button in app.main.button}


def headings(app):
    """The headings of jobs, without that of the forms of steps."""
    return [heading.value for heading in app.header if heading.value != "More steps"]


def test_a_done_job_leads_to_its_result(open_page, workspace, take):
    job = take("mine_1")
    assert job.wait(60).state == "done"
    app = open_page("jobs", workspace)
    assert not app.exception and headings(app) == [r"Import text · mine\_1"]
    assert "check_circle: done" in read_page(app)
    links = [link.proto for link in app.get("page_link")]
    assert [link.page for link in links if link.label == "Show result"] == ["text"]
    assert "end" not in buttons(app) and "again" not in buttons(app)
    assert f"jobs show {job.id}" in join_values(app.code) and "done after" in join_values(app.code)


def test_a_failed_job_says_why_and_is_resumed_here(open_page, workspace, take, tmp_path):
    job = take(content="")
    assert job.wait(60).state == "failed"
    app = open_page("jobs", workspace)
    assert app.error
    assert "again" not in buttons(app)  # it would fail again
    (tmp_path / "trials.txt").write_text("a line\n")
    buttons(app.run())["again"].click().run()
    assert not app.exception and job.wait(60).state == "done"
    app = open_page("jobs", workspace)
    assert "earlier: failed" in read_page(app) and not app.error


def test_a_resume_that_cannot_be_is_a_message(open_page, workspace, take, tmp_path):
    job = take(content="")
    job.wait(60)
    (tmp_path / "trials.txt").write_text("a line\n")
    app = open_page("jobs", workspace)
    (workspace.root / "corpora" / "trials").mkdir(parents=True)
    (workspace.root / "corpora" / "trials" / "mine").touch()
    buttons(app)["again"].click().run()
    assert not app.exception and "already exists" in read_page(app)


def test_a_running_job_and_one_behind_it(open_page, workspace, take, endless):
    waiting = take()
    app = open_page("jobs", workspace, jobs_job=endless.id)
    assert not app.exception and headings(app) == ["Train word vectors · long"]
    assert any("waiting" in text and "long" in text for text in list_texts(app))
    assert {"end", "look"} <= set(buttons(app))
    buttons(app)["end"].click().run()
    assert endless.wait(30).state == "canceled" and waiting.wait(60).state == "done"


def test_the_address_names_the_job_that_is_looked_at(open_page, workspace, take):
    first, second = take("first"), take("second")
    assert (first.wait(60).state, second.wait(60).state) == ("done", "done")
    assert headings(open_page("jobs", workspace)) == ["Import text · second"]
    app = open_page("jobs", workspace)
    app.button(key=f"look_{first.id}").click().run()
    assert headings(app) == ["Import text · first"] and first.id in app.query_params["jobs_job"]
    app.query_params["jobs_job"] = "nothing<img>"
    app.run()
    assert not app.exception and "nothing" in join_values(app.warning)


def rename_here(app, job, name):
    app.text_input(key=f"storage_name_jobs/{job.id}").set_value(name).run()
    return app.button(key="storage_rename").click().run()


def test_a_finished_job_is_renamed_and_its_old_link_opens_it(open_page, workspace, take):
    job, other = take("first"), take("second")
    assert (job.wait(60).state, other.wait(60).state) == ("done", "done")
    app = open_page("jobs", workspace, jobs_job=job.id)
    rename_here(app, job, "<b>mine</b>")
    assert not app.exception and headings(app) == [f"Import text · {plain('<b>mine</b>')}"]
    app = open_page("jobs", workspace, jobs_job=job.id)
    assert headings(app) == [f"Import text · {plain('<b>mine</b>')}"] and not app.warning
    links = [link.proto for link in app.get("page_link")]
    assert [link.page for link in links if link.label == "Show result"] == ["text"]
    # Too long: a message, and the name stays. Empty: the name of the result again.
    rename_here(app, job, "x" * 300)
    assert not app.exception and "80" in join_values(app.text)
    assert headings(app) == [f"Import text · {plain('<b>mine</b>')}"]
    rename_here(app, job, "")
    assert headings(app) == ["Import text · first"]


@pytest.mark.slow
def test_a_running_job_is_renamed_and_goes_on(open_page, workspace, endless):
    running(endless)
    app = rename_here(open_page("jobs", workspace), endless, "mine")
    assert not app.exception and headings(app) == ["Train word vectors · mine"]
    assert "**Train word vectors** · mine" in join_values(app.sidebar.markdown)
    assert endless.status().alive and endless.target.name == "long"
    endless.cancel()


def test_jobs_are_shown_although_the_notes_cannot_be_read(open_page, workspace, take):
    take("first").wait(60)
    (workspace.root / "notes.jsonl").write_text("{")
    app = open_page("jobs", workspace)
    assert not app.exception and headings(app) == ["Import text · first"]


def test_a_killed_job_is_interrupted_and_can_be_resumed(open_page, workspace, endless):
    os.kill(running(endless).pid, signal.SIGKILL)
    assert endless.wait(30).state == "interrupted"
    app = open_page("jobs", workspace)
    assert "killed" in join_values(app.error) and "checkpoint" in buttons(app)["again"].help


def test_a_job_that_does_not_stop_is_stopped_by_force(open_page, workspace, endless):
    pid = running(endless).pid
    os.kill(pid, signal.SIGSTOP)  # it can do nothing now, not even stop
    app = open_page("jobs", workspace)
    buttons(app)["end"].click().run()
    assert buttons(app)["end"].label == "Canceling …" and buttons(app)["end"].disabled
    os.utime(endless.folder / "cancel", (1, 1))  # long ago
    app.run()
    assert buttons(app)["end"].label == "Stop by force"
    buttons(app)["end"].click().run()
    assert endless.wait(30).state == "canceled"


def running(job):
    while (status := read_status(job.folder)).state != "running":
        assert job.status().alive
    return status


def test_many_jobs_are_shown_in_part_and_say_so(open_page, workspace, take):
    job = take()
    job.wait(60)
    for number in range(20):
        folder = workspace.root / "jobs" / f"20200101-000000-0000{number:02}-corpus"
        folder.mkdir()
        (folder / "spec.json").write_bytes((job.folder / "spec.json").read_bytes())
        write_status(folder, Status("done", updated=1.0))
    app = open_page("jobs", workspace)
    assert sum(button.key.startswith("look_") for button in app.button) == FIRST
    [table] = [one.value for one in app.dataframe]
    assert len(table) == 21 and set(table["State"]) == {"done"}


def test_the_sidebar_shows_running_jobs_and_those_that_just_ended(
    open_page, workspace, take, endless
):
    done = take("quick")
    app = open_page("vectors", workspace)
    assert "Train word vectors" in join_values(app.sidebar.markdown)
    app.sidebar.button(key=f"stop_{endless.id}").click().run()
    assert endless.wait(30).state == "canceled" and done.wait(60).state == "done"
    links = [link.proto.label for link in open_page("vectors", workspace).sidebar.get("page_link")]
    assert links == ["done · quick", "canceled · long"]


def test_names_of_living_jobs_are_not_offered(workspace, endless):
    names = queue.list_promised_names(workspace, "vectors")
    assert workspace.find_free_name("vectors", "long", names) == "long-2"
