"""The demo in a workspace other than the first one: one click fills every part of every page, at the
width of a desk and of a projector."""

import re
import time
from urllib.parse import urlencode

import pytest

from tests.browser.test_walk import drawn
from vocadapt.lab.demo import list_demo_jobs
from vocadapt.lab.jobs import queue
from vocadapt.ui.frame.pages import HOME, PAGES

pytestmark = pytest.mark.browser
AT_ONCE = 10  # seconds from the click to the first full page
WIDTHS = (1440, 1152)
FULL = ", ".join(
    f'[data-testid="stMain"] {kind}'
    for kind in (
        '[data-testid="stMetric"]',
        '[data-testid="stPlotlyChart"]',
        '[data-testid="stDataFrame"]',
        "table",
    )
)


@pytest.fixture
def workspace(make_workspace):
    return make_workspace("class")


def check_full(page):
    """Wait for a plot, a table or a metric, at both widths."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 980})
        page.locator(FULL).locator("visible=true").first.wait_for()
    assert page.get_by_test_id("stException").count() == 0


def test_one_click_fills_every_page(serve, page, tmp_path, workspace):
    base = serve(tmp_path / "first")
    page.goto(f"{base}/?workspace={workspace.root.name}")
    button = page.get_by_role("button", name=re.compile("demo", re.IGNORECASE)).first
    button.wait_for()
    drawn(page)
    assert not workspace.root.exists(), "a workspace is made when something is written"
    start = time.monotonic()
    button.click()
    page.get_by_role("heading", level=1, name="Tokenizer lens").wait_for()
    page.locator(FULL).locator("visible=true").first.wait_for()
    assert time.monotonic() - start < AT_ONCE
    assert "workspace=class" in page.url and not (tmp_path / "first" / "models").exists()
    assert len(queue.list_jobs(workspace)) == len(list_demo_jobs(workspace))

    for one in PAGES:
        for part in one.parts:
            query = {"workspace": workspace.root.name}
            if len(one.parts) > 1:
                query[one.tab_key] = part.title
            address = "" if one is HOME else one.name
            page.goto(f"{base}/{address}?{urlencode(query)}")
            drawn(page)
            check_full(page)
