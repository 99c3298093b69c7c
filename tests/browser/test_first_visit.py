import time

import pytest

pytestmark = pytest.mark.browser

DEEP_LINKS = {
    "": "Home",
    "advise": "Advise",
    "jobs": "Jobs",
    "vectors": "Word vectors",
    "alignment": "Alignment",
    "lens": "Tokenizer lens",
    "vocabulary": "Vocabulary",
    "initializers": "Initializers",
    "adapt": "Adapt",
}


@pytest.mark.parametrize("path", DEEP_LINKS)
def test_a_fresh_servers_first_visit_may_be_a_deep_link(serve, page, path):
    page.goto(f"{serve()}/{path}")
    page.get_by_role("heading", level=1).wait_for()
    navigation = page.get_by_test_id("stSidebarNav")
    assert [name in navigation.inner_text() for name in DEEP_LINKS.values()] == [True] * len(
        DEEP_LINKS
    )
    page.get_by_test_id("stSidebar").get_by_text("Workspace").first.wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_role("dialog").count() == 0
    assert page.get_by_test_id("stException").count() == 0


def test_first_text_comes_within_three_seconds(serve, page):
    """The quickest of three visits: what else runs on the machine slows single ones."""
    address, seconds = serve(), []
    for _ in range(3):
        start = time.perf_counter()
        page.goto(f"{address}/alignment")
        page.get_by_role("heading", level=1).wait_for()
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 3


def test_no_page_asks_another_machine_for_anything(serve, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    address = serve()
    for path in DEEP_LINKS:
        page.goto(f"{address}/{path}")
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_timeout(500)
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
