"""The result of a job is selected on its page, a link opens it by name, and Back leaves a page
with one click."""

import re

import pytest

from tests.material.browser import JOB, drawn, go, open_expander
from tests.material.lab import NEW
from tests.material.workspaces import seed_workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings

pytestmark = pytest.mark.browser

PROCRUSTES = AlignmentSettings("procrustes").digest


def shown_in(page, label):
    return page.get_by_test_id("stMain").get_by_role("combobox", name=re.compile(label)).first


@pytest.mark.slow  # in the gate: tests/pages/test_results_of_jobs.py, and the walk
def test_vectors_that_a_job_made_are_shown_and_linked_to(serve, page, tmp_path, tiny_bert):
    from playwright.sync_api import expect

    root = tmp_path / "trials"
    seed_workspace(root, tiny_bert)
    page.goto(f"{serve(root)}/vectors")
    drawn(page)
    expect(shown_in(page, "Word vectors")).to_have_value("trials-vectors")
    page.wait_for_url(re.compile("vectors_vectors=trials-vectors"))  # the default, too
    open_expander(page, "Make more word vectors")  # there are vectors of its text already
    page.get_by_role("button", name="Train word vectors").click()
    expect(shown_in(page, "Word vectors")).to_have_value("trials", timeout=JOB)
    page.wait_for_url(re.compile("vectors_vectors=trials(&|$)"))
    page.locator(".stMarkdownBadge", has_text="new").first.wait_for()

    go(page, "Adapt")
    drawn(page)
    before = shown_in(page, "Adapted model").input_value()
    (model,) = (root / "models").glob("[!.]*")
    assert before and f"adapt_adapted={model.name}" in page.url
    page.get_by_role("button", name="Adapt the model").click()
    expect(shown_in(page, "Adapted model")).not_to_have_value(before, timeout=JOB)
    made = shown_in(page, "Adapted model").input_value()
    page.get_by_text("Certificate passed").wait_for()
    (folder,) = {*(root / "models").glob("[!.]*")} - {model}

    go(page, "Jobs")
    # the picker shows a model by a readable name, the address has the name of its folder
    for about, kind, key, name, shown in (
        ("Adapt a model", "Adapted model", "adapt_adapted", folder.name, made),
        ("Train word vectors", "Word vectors", "vectors_vectors", "trials", "trials"),
    ):
        drawn(page)
        if page.get_by_role("heading", name=re.compile(about)).count() == 0:
            page.get_by_role("button", name="Show", exact=True).last.click()
        page.get_by_role("heading", name=re.compile(about)).wait_for()
        made_here = page.get_by_role("link", name="Show result")
        selects = re.compile(f"{key}={re.escape(name)}(&|$)")
        expect(made_here).to_have_attribute("href", selects)  # no longer the link of another job
        made_here.click()
        page.wait_for_url(selects)
        expect(shown_in(page, kind)).to_have_value(shown)
        go(page, "Jobs")


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
