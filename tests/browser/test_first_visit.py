import time
from urllib.parse import urlencode

import pytest

from tests.material.nightly import mark_slow
from vocadapt.ui.state.pages import HOME, PAGES

pytestmark = pytest.mark.browser

ADDRESSES = ["" if page is HOME else page.name for page in PAGES]
TABS = {
    f"{page.name}?{urlencode({page.tab_key: part.title})}": part.title
    for page in PAGES
    for part in page.parts[1:]
}


@pytest.mark.parametrize("path", ["", *mark_slow(path for path in ADDRESSES if path)])
def test_a_fresh_servers_first_visit_may_be_a_deep_link(serve_anew, page, path):
    page.goto(f"{serve_anew()}/{path}")
    check_first_visit(page)


@pytest.mark.parametrize(
    "paths",
    [[ADDRESSES[0], next(iter(TABS)), ADDRESSES[-1]], *mark_slow([ADDRESSES, list(TABS)])],
    ids=["some", "pages", "tabs"],
)
def test_every_part_comes_by_its_link_and_asks_no_other_machine(serve, page, paths):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    address = serve()
    for path in paths:
        page.goto(f"{address}/{path}")
        check_first_visit(page)
        if path in TABS:
            page.get_by_role("tab", name=TABS[path], exact=True, selected=True).wait_for()
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def check_first_visit(page):
    """Check that a page comes with the whole navigation, without a dialog or an exception."""
    page.get_by_role("heading", level=1).wait_for()
    navigation = page.get_by_test_id("stSidebarNav")
    assert [one.title for one in PAGES if one.title not in navigation.inner_text()] == []
    page.get_by_test_id("stSidebar").get_by_text("Workspace").first.wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_role("dialog").count() == 0
    assert page.get_by_test_id("stException").count() == 0


def test_first_text_comes_within_three_seconds(serve, page):
    """The quickest of three visits: what else runs on the machine slows single ones."""
    address, seconds = serve(), []
    for _ in range(3):
        start = time.perf_counter()
        page.goto(f"{address}/vectors?vectors_tab=Alignment")
        page.get_by_role("heading", level=1).wait_for()
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 3
