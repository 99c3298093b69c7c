"""In a real Chromium, a study is defined, started, watched and read; a cell opens its run."""

import re
import shutil

import pytest

from tests.material.browser import JOB, drawn, go
from vocadapt.lab.demo import DEMO, MODEL, TASK, VECTORS
from vocadapt.lab.workspace.workspace import Workspace

# in the gate: tests/pages/test_studies_page.py
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def count_marks(page, state):
    return page.get_by_test_id("stMain").locator(f".va-seed-{state}").count()


def test_a_study_is_defined_started_watched_and_read(serve, page, tmp_path):
    from playwright.sync_api import expect

    workspace = Workspace(tmp_path / "trials")
    for place in (MODEL, VECTORS, TASK):
        shutil.copytree(DEMO.joinpath(*place), workspace.folder(*place))
    address = serve(workspace.root)

    # 1. Define: the demo's model as it is and adapted, on its task, with two seeds and one epoch.
    page.goto(f"{address}/studies")
    drawn(page)
    for name, value in (("Seeds", "2"), ("Epochs", "1"), ("Limit", "60")):
        box = page.get_by_role("spinbutton", name=re.compile(f"^{name}"))
        box.fill(value)
        box.press("Enter")
        drawn(page)
    page.get_by_role("button", name="Save the study").click()
    start = page.get_by_role("button", name=re.compile("Start$"))
    start.wait_for()
    assert count_marks(page, "waiting") == 4 + 1  # and the one of the legend

    # 2. Start it, by the keyboard, and watch its grid fill.
    start.focus()
    page.keyboard.press("Enter")
    page.locator(".va-seed-running").first.wait_for(timeout=JOB)
    page.get_by_text(re.compile("of 5 steps, running ")).first.wait_for(timeout=JOB)
    page.locator(".va-seed-done, .va-seed-collapsed").first.wait_for(timeout=JOB)
    page.get_by_role("heading", name="Table").wait_for(timeout=JOB)
    expect(page.locator(".va-seed-running")).to_have_count(0, timeout=JOB)
    page.get_by_role("button", name=re.compile(r"\.csv$")).first.wait_for(timeout=JOB)
    assert count_marks(page, "waiting") == 0 and count_marks(page, "failed") == 0

    # 3. A cell opens its run inside the study, and a button leads back.
    page.locator("a.va-seed").first.click()
    page.get_by_text(re.compile("Inside the study")).first.wait_for()
    page.wait_for_url(re.compile("results_run=.*-seed-1-"))
    run = page.get_by_role("combobox", name=re.compile("^Run of one cell"))
    assert re.search("· seed 1$", run.input_value())
    page.get_by_role("button", name=re.compile("Leave|Back")).first.click()
    drawn(page)
    go(page, "Train")
    assert page.get_by_test_id("stException").count() == 0
