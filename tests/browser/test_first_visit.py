from urllib.parse import urlencode

import pytest

from tests.material.browser import ADDRESSES, check_first_visit
from tests.material.nightly import mark_slow
from vocadapt.ui.state.pages import PAGES

pytestmark = pytest.mark.browser

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
