"""The demo in a workspace other than the first one: one click fills every part of every page, at the
width of a desk and of a projector, and all pages stay in that workspace."""

import time
from urllib.parse import urlencode

import pytest

from tests.material.browser import check, drawn, enter
from vocadapt.lab.demo import list_demo_jobs
from vocadapt.lab.jobs import queue
from vocadapt.ui.state.pages import PAGES

pytestmark = pytest.mark.browser
AT_ONCE = 30  # seconds from the click to the first full page
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
    return make_workspace("second")


def check_full(page):
    """Wait for a plot, a table or a metric, at both widths."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 980})
        page.locator(FULL).locator("visible=true").first.wait_for()
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.slow
def test_one_click_fills_every_page_and_all_stay_in_the_workspace(serve, page, tmp_path, workspace):
    base = serve(tmp_path / "first")
    enter(page, base, "new")
    assert not workspace.root.exists(), "a workspace is made when something is written"
    start = time.monotonic()
    page.get_by_role("button", name="Open the demo").click()
    page.get_by_role("heading", level=1, name="Tokenizer lens").wait_for()
    page.locator(FULL).locator("visible=true").first.wait_for()
    assert time.monotonic() - start < AT_ONCE
    assert (workspace.root / "models" / "demo-bert").is_dir()
    assert not (tmp_path / "first" / "models").exists()
    assert len(queue.list_jobs(workspace)) == len(list_demo_jobs(workspace))
    check(page)

    for one in PAGES:
        first, *others = one.parts
        title = one.title if others else first.title
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=one.title, exact=True).click()
        page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
        check(page)
        check_full(page)
        for part in others:
            query = {"workspace": workspace.root.name, one.tab_key: part.title}
            page.goto(f"{base}/{one.name}?{urlencode(query)}")
            drawn(page)
            check_full(page)
