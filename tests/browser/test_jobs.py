"""In a real Chromium, a job survives a reload, a second tab and a restart of the server."""

import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.material.browser import JOB, drawn, go
from tests.material.lab import write_text
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

pytestmark = pytest.mark.browser


@pytest.fixture
def workspace(make_workspace, page):
    page.set_default_timeout(JOB)
    return make_workspace("trials")


def start_endless(workspace: Workspace, model: Path) -> queue.Job:
    text = write_text(workspace.root.parent / "long.txt", lines=4000)
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=20_000, min_count=1, workers=1))
    return queue.start(workspace, Spec(settings, {"text": text, "model": model}), "long")


def in_state(page, state):
    """The chips of the page that tell of a state: an icon and the word."""
    return (
        page.get_by_test_id("stMain")
        .locator(".stMarkdownBadge")
        .filter(has_text=re.compile(rf"\b{state}$"))
    )


@pytest.mark.slow
def test_a_job_is_started_seen_found_again_canceled_and_resumed(serve, page, workspace, tiny_bert):
    text = write_text(workspace.root.parent / "long.txt", lines=60_000)
    run_step(
        Spec(CorpusStep(), {"text": text, "model": tiny_bert}),
        workspace.folder("corpora", "long"),
    )
    page.goto(f"{serve(workspace.root)}/vectors")
    page.get_by_role("spinbutton", name="Epochs").fill("2000")
    page.get_by_role("spinbutton", name="Epochs").press("Enter")
    page.get_by_role("button", name="Train word vectors").click()
    # The first of two jobs: the choice of an alignment waits for it.
    page.get_by_test_id("stSidebar").get_by_role("link", name="Details").first.click()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    page.wait_for_url(re.compile(r"/jobs\?jobs_job=\d{8}-"))
    in_state(page, "running").first.wait_for()

    page.reload()
    in_state(page, "running").first.wait_for()
    page.get_by_role("heading", name=re.compile("Train word vectors · ")).wait_for()
    page.get_by_test_id("stMain").get_by_role("button", name="Cancel").click()
    in_state(page, "canceled").first.wait_for()

    page.get_by_role("button", name="Resume").click()
    page.get_by_text(re.compile("earlier: canceled")).wait_for()
    job = next(job for job in queue.list_jobs(workspace) if job.spec.step == "vectors")
    assert job.status().alive and job.id in page.url
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.slow
def test_two_tabs_see_the_same_job(serve, browser, page, workspace, tiny_bert):
    job = start_endless(workspace, tiny_bert)
    address = serve(workspace.root)
    other = browser.new_context(viewport={"width": 1440, "height": 980}).new_page()
    other.set_default_timeout(JOB)
    for tab in (page, other):
        tab.goto(f"{address}/jobs?jobs_job={job.id}")
        in_state(tab, "running").first.wait_for()
    page.get_by_test_id("stMain").get_by_role("button", name="Cancel").click()
    for tab in (page, other):
        tab.get_by_role("button", name="Resume").wait_for()
        assert in_state(tab, "canceled").count() > 0
    assert job.status().state == "canceled"
    other.context.close()


@pytest.mark.slow
def test_a_job_outlives_its_server_and_is_shown_by_the_next(serve_anew, page, workspace, tiny_bert):
    page.goto(f"{serve_anew(workspace.root)}/jobs")
    job = start_endless(workspace, tiny_bert)
    page.reload()
    in_state(page, "running").first.wait_for()
    serve_anew.servers[0].kill()
    serve_anew.servers[0].wait(timeout=20)
    page.goto("about:blank")
    before = job.status()
    end = time.monotonic() + 20
    while job.status().updated == before.updated and time.monotonic() < end:
        time.sleep(0.2)
    assert job.status().state == "running" and job.status().updated > before.updated

    page.goto(f"{serve_anew(workspace.root)}/vectors")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Cancel").wait_for()
    go(page, "Jobs")
    in_state(page, "running").first.wait_for()
    page.get_by_role("heading", name="Train word vectors · long").wait_for()
    assert job.status().state == "running"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 1152])
def test_the_name_of_an_ended_job_is_not_cut_in_the_sidebar(
    serve, page, workspace, tiny_bert, width
):
    text = write_text(workspace.root.parent / "short.txt", lines=20)
    spec = Spec(CorpusStep(), {"text": text, "model": tiny_bert})
    job = queue.start(workspace, spec, "w" * 40)  # of wide letters
    assert job.wait(120).state == "done"
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{serve(workspace.root)}/text")
    link = page.get_by_test_id("stSidebar").get_by_role("link", name=12 * "w" + "…" + 11 * "w")
    link.wait_for()
    # No box around the name is narrower than its content, once the sidebar has its width.
    page.wait_for_function(
        "link => link.scrollWidth <= link.clientWidth && [link, ...link.querySelectorAll('*')].every("
        "e => e.scrollWidth <= e.clientWidth || getComputedStyle(e).overflowX === 'visible')",
        arg=link.element_handle(),
        timeout=10_000,
    )


@pytest.mark.slow
def test_the_strip_of_a_job_leaves_room_for_the_button_that_stops_a_page(
    serve_anew, page, workspace, tiny_bert
):
    from playwright.sync_api import TimeoutError

    start_endless(workspace, tiny_bert)
    page.goto(f"{serve_anew(workspace.root)}/jobs")
    details = page.locator(".st-key-job_strip").get_by_role("link", name="Details")
    details.wait_for()
    # 1. Streamlit shows its button while a page takes long: its server stands still while one runs.
    read_place = """() => {
        const box = document.querySelector('[data-testid="stStatusWidget"]')?.getBoundingClientRect()
        return box && box.width && {fromRight: innerWidth - box.left}
    }"""
    [server], place = serve_anew.servers, None
    for name in ("Adapt", "Train", "Tokenizer lens", "Published results", "Projection"):
        drawn(page)
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
        page.locator('[data-testid="stApp"][data-test-script-state="running"]').wait_for()
        server.send_signal(signal.SIGSTOP)
        with suppress(TimeoutError):  # the page had been drawn already
            place = page.wait_for_function(read_place, timeout=5000).json_value()
        server.send_signal(signal.SIGCONT)
        if place is not None:
            break
    assert place is not None
    # 2. Whatever the width, the strip ends before it, and begins behind the sidebar.
    for width in (1440, 1152):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(500)
        link = details.bounding_box()
        assert link["x"] + link["width"] <= width - place["fromRight"]
        sidebar = page.get_by_test_id("stSidebar").bounding_box()
        strip = page.locator(".st-key-job_strip").bounding_box()
        assert sidebar["x"] + sidebar["width"] <= strip["x"]
