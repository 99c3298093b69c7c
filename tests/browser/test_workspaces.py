"""A workspace other than the one that the lab was started with: it is opened, and stays open on
every page."""

import re

import pytest

from tests.browser.test_walk import drawn
from vocadapt.ui.frame.pages import PAGES

pytestmark = pytest.mark.browser


@pytest.fixture
def second(make_workspace):
    return make_workspace("second")


def picker(page):
    return page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("Workspace"))


def enter(page, base, by_address):
    """Open Home in the workspace `second`, by its address or typed into the picker."""
    page.goto(f"{base}/?workspace=second" if by_address else base)
    page.get_by_role("button", name="Open the demo").wait_for()
    if not by_address:
        drawn(page)
        picker(page).click()
        picker(page).fill("second")
        picker(page).press("Enter")
        page.wait_for_url(re.compile("workspace=second"))
        drawn(page)


def check(page):
    from playwright.sync_api import expect

    drawn(page)
    assert page.get_by_test_id("stException").count() == 0
    expect(picker(page)).to_have_value("second")
    assert "workspace=second" in page.url


@pytest.mark.parametrize("by_address", [True, False], ids=["by address", "typed"])
def test_the_demo_opens_in_a_second_workspace_and_all_pages_stay_there(
    serve, page, tmp_path, second, by_address
):
    enter(page, serve(tmp_path / "first"), by_address)
    page.get_by_role("button", name="Open the demo").click()
    page.get_by_role("heading", level=1, name="Tokenizer lens").wait_for()
    check(page)
    assert (second.root / "models" / "demo-bert").is_dir()
    assert not (tmp_path / "first" / "models").exists()
    if by_address:
        return
    for one in PAGES:
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=one.title, exact=True).click()
        title = one.title
        if len(one.parts) == 1:
            title = one.parts[0].title
        page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
        check(page)
