"""A workspace other than the one that the lab was started with is opened, and long names are shown;
`test_demo.py` visits every page of such a workspace."""

import pytest

from tests.material.browser import check, drawn, enter, picker
from tests.material.nightly import mark_slow

pytestmark = pytest.mark.browser


@pytest.fixture
def second(make_workspace):
    return make_workspace("second")


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
    # The script that names what is cut may start after the pointer has arrived.
    for _ in range(40):
        page.mouse.move(700, 400)
        picker(page).hover()
        if picker(page).get_attribute("title"):
            break
        page.wait_for_timeout(250)
    expect(picker(page)).to_have_attribute("title", name)
    picker(page).click()
    option = page.get_by_role("option", name=name).locator("[data-item-hl]")
    expect(option).to_be_visible()
    assert option.evaluate("one => one.scrollWidth <= one.clientWidth"), "the option wraps"
