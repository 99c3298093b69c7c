"""The demo for a first-time user: open it, view results, start and cancel a job, reload the
page."""

import re
import time

import pytest

from tests.browser.test_jobs import in_state
from tests.browser.test_walk import drawn, go

pytestmark = pytest.mark.browser
AT_ONCE = 10  # seconds from the click to the neighbors, without network


def test_from_an_empty_workspace_to_real_neighbors(serve, page, tmp_path):
    page.goto(serve(tmp_path / "workspace"))
    button = page.get_by_role("button", name="Open the demo")
    button.wait_for()
    start = time.monotonic()
    button.click()
    page.get_by_role("heading", level=1, name="Alignment").wait_for()
    page.get_by_test_id("neighbors").locator(".va-card").first.wait_for()
    assert time.monotonic() - start < AT_ONCE
    assert page.get_by_test_id("neighbors").locator(".va-card").count() == 4

    page.reload()
    page.get_by_test_id("neighbors").locator(".va-card").first.wait_for()
    drawn(page)
    word = page.get_by_role("textbox", name="Type a word")
    word.fill("placebo")
    word.press("Enter")
    page.wait_for_url(re.compile("alignment_word=placebo"))

    go(page, "Adapt")
    page.get_by_role("button", name="Adapt the model").click()
    page.get_by_test_id("stSidebar").get_by_role("button", name="Cancel").click()
    go(page, "Jobs")
    in_state(page, "canceled").first.wait_for()
    page.reload()
    in_state(page, "canceled").first.wait_for()

    go(page, "Tokenizer lens")
    page.get_by_test_id("tokenizations").wait_for()
    assert page.get_by_test_id("stException").count() == 0
