"""Everything that looks clickable in Error analysis, Results, Try it and Compare spaces is: counts,
slices, cells of the confusion matrix, words and bars, with the mouse and with the keyboard."""

import re

import pytest

from tests.material.browser import drawn
from tests.material.runs import write_runs
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Sentence

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GOLD = tuple(
    Sentence((word, "and", "placebo"), ("B-D", "O", "O"))
    for word in ("tachycardia", "euthymia", "cancer", "fever")
)
RIGHT = [one.tags for one in GOLD]
NOTHING = [("O", "O", "O")] * len(GOLD)

BAR = """(x) => {  // pixel coordinates of a bar of the first chart, near its foot
  const chart = document.querySelector('.js-plotly-plot');
  const plane = chart.querySelector('.nsewdrag').getBoundingClientRect();
  return [plane.x + chart._fullLayout.xaxis.d2p(x), plane.bottom - 8];
}"""


@pytest.fixture
def workspace(tmp_path):
    """Two runs on one task, and a model that was not fine-tuned."""
    workspace = Workspace(tmp_path / "clicks")
    write_runs(workspace, "plain", GOLD, {1: {"base": [*RIGHT[:1], *NOTHING[1:]]}})
    write_runs(workspace, "green", GOLD, {1: {"base": [*NOTHING[:1], *RIGHT[1:]]}})
    for name, dim in (("tiny", 16), ("other", 24)):
        folder = build_tiny_bert(workspace.root / "models" / name, dim=dim)
        Manifest("models", name, {}).save(folder)
    return workspace


def at(page, part: str) -> None:
    """Wait until the address has a part, as the server writes it after a click."""
    from playwright.sync_api import expect

    expect(page).to_have_url(re.compile(re.escape(part)))


def test_every_kind_of_clickable_thing(page, serve, workspace):
    from playwright.sync_api import expect

    address = serve(workspace.root)
    # 1. Counts and slices of Error analysis, with the mouse and the keyboard.
    page.goto(f"{address}/errors?errors_baseline=plain+·+seed+1+·+base")
    page.get_by_role("button", name="1 broken").click()
    at(page, "errors_fate=broken")
    page.get_by_role("link", name="ends in -ia").click()
    at(page, "errors_slice=suffix")
    page.get_by_role("button", name="Slice: ends in").click()
    at(page, "errors_slice=all")
    page.get_by_role("link", name="everything else").focus()
    page.keyboard.press("Enter")
    at(page, "errors_slice=rest")

    # 2. A cell of the confusion matrix, and the entries behind it.
    page.goto(f"{address}/train?train_tab=Results&results_confused=plain+·+seed+1+·+base")
    page.locator('a[data-va-word="D → D"]').click()
    at(page, "results_cell=D+%E2%86%92+D")
    page.get_by_role("link", name="Compare these examples").click()
    at(page, "errors_cell=D+%E2%86%92+D")
    expect(page.get_by_role("button", name="Gold D, compared run D")).to_be_visible()
    expect(page.get_by_test_id("entry")).to_have_count(1)

    # 3. A word that fits the mask.
    page.goto(f"{address}/try_it?try_model=tiny&try_text=the+heart+and+[MASK]")
    page.locator('a[data-va-field="try_word"]', has_text="the").first.click()
    at(page, "try_word=the")

    # 4. A bar of the histogram of changed words.
    page.goto(f"{address}/compare?change_before=model+·+tiny&change_after=model+·+other&change_k=3")
    page.locator(".js-plotly-plot .nsewdrag").first.wait_for()
    page.wait_for_timeout(1500)
    page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    page.mouse.click(*page.evaluate(BAR, 0))
    at(page, "change_kept=%5B0%2C0%5D")
    drawn(page)  # what the selection adds moves the chart
    page.mouse.click(*page.evaluate(BAR, 0))  # again: all bars
    expect(page).not_to_have_url(re.compile("change_kept"))
