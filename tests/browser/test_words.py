"""Search that forgives, and neighbors that are links, with mouse and keyboard."""

import re

import pytest

from tests.material.browser import drawn
from tests.material.nightly import mark_slow
from vocadapt.lab.demo import open_demo
from vocadapt.lab.workspace.workspace import Workspace

FIELD = {"vectors": "vectors_word", "vectors?vectors_tab=Alignment": "alignment_word"}


@pytest.mark.parametrize("place", ["vectors", *mark_slow(["vectors?vectors_tab=Alignment"])])
def test_a_neighbor_selects_itself_and_a_misspelled_word_is_found(page, serve, tmp_path, place):
    """In a workspace that is not the first one: a click stays in it, and on the tab."""
    from playwright.sync_api import expect

    open_demo(Workspace(tmp_path / "other"))
    address = serve(tmp_path / "first")
    page.goto(f"{address}/{place}{'&' if '?' in place else '?'}workspace=other")
    field = page.get_by_label("Type a word", exact=True)
    links = page.get_by_test_id("neighbors").locator("a")
    # 1. A click, then the keyboard.
    second = links.nth(1).get_attribute("data-va-word")
    links.nth(1).click()
    expect(field).to_have_value(second)
    page.wait_for_url(re.compile(rf"workspace=other.*{FIELD[place]}={second}\b"))
    drawn(page)  # the list is that of the second word
    third = links.nth(2).get_attribute("data-va-word")
    links.nth(2).focus()
    page.keyboard.press("Enter")
    expect(field).to_have_value(third)
    # 2. A misspelled word gets a suggestion, which is a link, too.
    field.fill("hypertensoin")
    field.press("Enter")
    page.get_by_test_id("word-links").get_by_text("hypertension", exact=True).click()
    expect(field).to_have_value("hypertension")
    expect(page.get_by_text("is not among the")).to_have_count(0)
