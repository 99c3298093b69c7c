"""A workspace other than the one that the lab was started with: it is opened, and stays open on
every page."""

import re

import pytest

from tests.browser.test_walk import drawn

pytestmark = pytest.mark.browser
PAGES = (
    "Advise",
    "Jobs",
    "Word vectors",
    "Alignment",
    "Tokenizer lens",
    "Vocabulary",
    "Initializers",
    "Adapt",
    "Projection",
    "Diagnostics",
    "Neighborhood change",
    "Pretraining",
    "Fine-tune",
    "Results",
    "Error analysis",
    "Try it",
    "Home",
)


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
@pytest.mark.parametrize(
    ("button", "title"), [("Open the demo", "Alignment"), ("Import the news", "Word vectors")]
)
def test_both_start_buttons_in_a_second_workspace(serve, page, tmp_path, by_address, button, title):
    enter(page, serve(tmp_path / "first"), by_address)
    page.get_by_role("button", name=button).click()
    page.get_by_role("heading", level=1, name=title).wait_for()
    check(page)
    assert (tmp_path / "second" / "models" / "demo-bert").is_dir()
    assert not (tmp_path / "first" / "models").exists()


def test_all_pages_of_a_second_workspace(serve, page, tmp_path):
    enter(page, serve(tmp_path / "first"), by_address=True)
    page.get_by_role("button", name="Open the demo").click()
    page.get_by_role("heading", level=1, name="Alignment").wait_for()
    check(page)
    for name in PAGES:
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
        page.get_by_role(
            "heading", level=1, name="vocadapt" if name == "Home" else name, exact=True
        ).wait_for()
        check(page)
