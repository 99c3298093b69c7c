"""Links between the tabs of a page: what they select is what the next click works on."""

import re

import pytest

from tests.material.lab import write_text
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_click_after_a_link_to_another_tab_works_on_what_is_shown(
    page, serve, tmp_path, tiny_bert
):
    from playwright.sync_api import expect

    workspace = Workspace(tmp_path / "trials")
    for name in ("first", "second"):
        inputs = {
            "text": (str(write_text(tmp_path / f"{name}.txt", lines=60)),),
            "model": (str(tiny_bert),),
        }
        run_step(Spec(CorpusStep(), inputs), workspace.folder("corpora", name))
    text = page.get_by_role("combobox", name=re.compile("^Text"))
    # 1. The advice for the first text, chosen by hand, so that the server writes it into the address.
    page.goto(f"{serve(workspace.root)}/text?text_tab=Advice&advise_corpus=second")
    expect(text).to_have_value("second")
    text.fill("first")
    text.press("Enter")
    page.wait_for_url(re.compile("advise_corpus=first"))
    # 2. The other tab, and its link to the advice for the second text.
    page.get_by_role("tab", name="Text", exact=True).click()
    page.wait_for_url(re.compile("text_corpus="))
    text.fill("second")
    text.press("Enter")
    page.wait_for_url(re.compile("text_corpus=second"))
    page.get_by_text("Next: Your text · Advice").click()
    expect(page.get_by_role("button", name="Train word vectors")).to_be_visible()
    expect(text).to_have_value("second")
    # 3. The click trains on the second text.
    page.get_by_role("button", name="Train word vectors").click()
    page.get_by_text("Word vectors are being trained.").or_(
        page.get_by_role("button", name=re.compile("^Adapt"))
    ).first.wait_for()
    [job] = [one for one in queue.list_jobs(workspace) if one.spec.step == "vectors"]
    job.cancel(grace=2)
    assert [path.rpartition("/")[2] for path in job.spec.inputs["text"]] == ["second"]
