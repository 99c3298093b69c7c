"""A workspace other than the one that the lab was started with is opened, and long names are shown;
`test_demo.py` visits every page of such a workspace."""

import re

import pytest

from tests.browser.test_walk import drawn
from tests.material.nightly import mark_slow

pytestmark = pytest.mark.browser


@pytest.fixture
def second(make_workspace):
    return make_workspace("second")


def picker(page):
    return page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("Workspace"))


def enter(page, base, way):
    """Open Home in the workspace `second`: by its address, or as a new one."""
    page.goto(f"{base}/?workspace=second" if way == "address" else base)
    page.get_by_role("button", name="Open the demo").wait_for()
    if way == "new":
        drawn(page)
        page.get_by_role("button", name="New workspace").click()
        page.get_by_label("Name of the workspace").fill("second")
        page.get_by_role("button", name="Create").click()
        page.get_by_label("Name of the workspace").wait_for(state="hidden")
    page.wait_for_url(re.compile("workspace=second"))
    drawn(page)


def check(page):
    from playwright.sync_api import expect

    drawn(page)
    assert page.get_by_test_id("stException").count() == 0
    expect(picker(page)).to_have_value("second")
    assert "workspace=second" in page.url


@pytest.mark.parametrize("way", ["new", *mark_slow(["address"])])
def test_the_demo_opens_in_a_second_workspace(serve, page, tmp_path, second, way):
    enter(page, serve(tmp_path / "first"), way)
    page.get_by_role("button", name="Open the demo").click()
    page.get_by_role("heading", level=1, name="Tokenizer lens").wait_for()
    check(page)
    assert (second.root / "models" / "demo-bert").is_dir()
    assert not (tmp_path / "first" / "models").exists()


def test_a_long_name_in_a_select_box_is_shown_on_hover_and_in_full_in_the_menu(
    serve, page, tmp_path
):
    from playwright.sync_api import expect

    name = "papers-of-1997-to-2019-" * 3 + "end"
    page.goto(serve(tmp_path / name))
    drawn(page)
    picker(page).hover()
    expect(picker(page)).to_have_attribute("title", name)
    picker(page).click()
    option = page.get_by_role("option", name=name).locator("[data-item-hl]")
    expect(option).to_be_visible()
    assert option.evaluate("one => one.scrollWidth <= one.clientWidth"), "the option wraps"
