"""Back leaves a page with one click, and a link restores what was seen."""

import re

import pytest

from tests.material.browser import JOB, drawn, go
from tests.material.lab import NEW
from tests.material.workspaces import seed_workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings

pytestmark = pytest.mark.browser

PROCRUSTES = AlignmentSettings("procrustes").digest


def shown_in(page, label):
    return page.get_by_test_id("stMain").get_by_role("combobox", name=re.compile(label)).first


@pytest.mark.slow
def test_back_leaves_a_page_at_once_and_a_link_restores_what_was_seen(
    serve, page, browser, tmp_path, tiny_bert
):
    from playwright.sync_api import expect

    root = tmp_path / "trials"
    seed_workspace(root, tiny_bert)
    page.goto(f"{serve(root)}/vectors?vectors_tab=Alignment")
    drawn(page)
    word = page.get_by_role("textbox", name="Type a word")
    shown_in(page, "Method").click()
    page.get_by_role("option", name="Procrustes", exact=True).click()
    page.wait_for_url(re.compile(f"alignment_method={PROCRUSTES}"))
    drawn(page)
    for typed in (NEW[1], NEW[2]):
        word.fill(typed)
        word.press("Enter")
        page.wait_for_url(re.compile(f"alignment_word={typed}"))
    drawn(page)
    link = page.url
    assert f"alignment_method={PROCRUSTES}" in link
    assert "alignment_vectors=trials-vectors" in link
    assert "alignment_model=" in link

    go(page, "Projection")
    page.wait_for_url(re.compile("projection_view="))
    drawn(page)
    page.go_back()
    page.get_by_role("heading", level=1, name="Word vectors").wait_for()
    expect(page.get_by_role("tab", name="Alignment", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    expect(word).to_have_value(NEW[2])
    expect(shown_in(page, "Method")).to_have_value("Procrustes")

    other = browser.new_context().new_page()
    other.goto(link)
    expect(other.get_by_role("textbox", name="Type a word")).to_have_value(NEW[2], timeout=JOB)
    expect(shown_in(other, "Method")).to_have_value("Procrustes")
    other.context.close()
