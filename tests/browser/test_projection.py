"""The projection page in a real Chromium: link, search, click, lasso, slice, export, reload, and
tooltips of hostile tokens."""

import re
from pathlib import Path
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest

from tests.material.browser import JOB, drawn
from tests.material.workspaces import HOSTILE, seed_hostile, seed_workspace
from vocadapt.lab.workspace.slices import list_slices
from vocadapt.lab.workspace.workspace import Workspace

pytestmark = pytest.mark.browser

ALL = "projection_tokens=first&projection_all=true&projection_shortest=0"
POINT = """(id) => {
  const chart = document.querySelector('.js-plotly-plot'), {xaxis, yaxis} = chart._fullLayout;
  const plane = chart.querySelector('.nsewdrag').getBoundingClientRect();
  for (const trace of chart._fullData) for (let i = 0; i < trace.x.length; i++)
    if (trace.customdata[i] === id) return [plane.x + xaxis.d2p(trace.x[i]), plane.y + yaxis.d2p(trace.y[i])];
}"""
INKED = """() => {  // pixels of the marks that are not empty
  const marks = document.querySelector('[data-testid="projection-marks"]');
  const {data} = marks.getContext('2d').getImageData(0, 0, marks.width, marks.height);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length;
}"""
SHOWN = """() => document.querySelector('.js-plotly-plot')._fullData.reduce((n, trace) => n + trace.x.length, 0)"""
LONELY = """() => {  // the id of a point that no other covers
  const chart = document.querySelector('.js-plotly-plot'), {xaxis, yaxis} = chart._fullLayout, trace = chart._fullData[0];
  const at = [...trace.x].map((x, i) => [xaxis.d2p(x), yaxis.d2p(trace.y[i])]);
  let best = 0, far = -1;
  at.forEach((a, i) => {
    const near = Math.min(...at.map((b, j) => i === j ? 1e9 : Math.hypot(a[0] - b[0], a[1] - b[1])));
    if (near > far && a[0] > 60 && a[1] > 60) [best, far] = [i, near];
  });
  return trace.customdata[best];
}"""


def chart(page):
    page.locator(".js-plotly-plot .gl-canvas").first.wait_for(timeout=JOB)
    drawn(page)
    page.wait_for_timeout(1500)


def point_at(page, id):
    """Rest the pointer on a token of the map: plotly looks for the point under it a moment
    later.
    """
    x, y = page.evaluate(POINT, id)
    page.mouse.move(x - 2, y - 2)
    page.mouse.move(x, y)
    page.wait_for_timeout(1200)
    return x, y


def lasso_everything(page):
    page.locator('.modebar-btn[data-title="Lasso Select"]').first.click()
    page.wait_for_timeout(800)
    box = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    left, right, top, bottom = (
        box["x"] + 3,
        box["x"] + box["width"] - 3,
        box["y"] + 30,
        box["y"] + box["height"] - 3,
    )
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=6)
    page.mouse.up()


@pytest.mark.slow
def test_search_click_lasso_slice_export_and_reload(serve, page, tmp_path, tiny_bert):
    root = seed_workspace(tmp_path / "trials", tiny_bert).root
    page.goto(f"{serve(root)}/projection?projection_space=word+vectors+·+trials-vectors&{ALL}")
    chart(page)
    page.wait_for_url(
        re.compile("projection_view=PCA")
    )  # what is looked at stands in the address, the default too

    page.evaluate("window.picture = document.querySelector('.js-plotly-plot .gl-canvas')")
    search = page.get_by_role("textbox", name="Find a token")
    search.fill("aspirin")
    search.press("Enter")
    page.get_by_test_id("neighbors").get_by_text("Nearest to aspirin").wait_for()
    page.wait_for_url(re.compile("word=aspirin"))
    chart(page)

    id = page.evaluate(LONELY)
    page.mouse.click(*point_at(page, id))
    page.wait_for_url(re.compile("word=(?!aspirin)"))
    (clicked,) = parse_qs(urlsplit(page.url).query)["projection_word"]
    page.get_by_test_id("neighbors").get_by_text(f"Nearest to {clicked}").wait_for()
    chart(page)
    assert page.get_by_test_id("projection-marks").count() == 1
    assert page.evaluate(INKED) > 50  # a star, rings and names
    assert page.evaluate(
        "window.picture.isConnected"
    )  # neither a word nor a click draws the points anew

    lasso_everything(page)
    page.get_by_role("heading", name=re.compile(r"Selected · \d")).wait_for()
    name = page.get_by_role("textbox", name="Slice name")
    name.fill("All of <them>")
    name.press("Enter")
    page.get_by_role("button", name="Save slice").click()
    page.wait_for_url(re.compile("slice=all-of-them"))
    (saved,) = list_slices(Workspace(root))
    assert saved.name == "All of <them>" and clicked in saved.tokens and len(saved.tokens) > 20

    drawn(page)  # a run of the page replaces the files that its buttons lead to
    with page.expect_download() as download:
        page.get_by_role("button", name="all-of-them.csv").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("id,token,length") and len(lines) == len(saved.tokens) + 1

    page.get_by_text("Details & export").click()
    drawn(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="map.html").click()
    assert "plotly" in Path(download.value.path()).read_text(encoding="utf-8")

    page.reload()
    chart(page)
    assert search.input_value() == clicked
    page.get_by_text(f"{len(saved.tokens)} of {len(saved.tokens)} tokens in this space").wait_for()
    page.get_by_test_id("neighbors").get_by_text(f"Nearest to {clicked}").wait_for()
    page.get_by_role("button", name="Clear", exact=True).click()
    page.wait_for_url(re.compile(r"^(?!.*slice=)"))
    page.get_by_role("heading", name="Selected tokens").wait_for()
    assert page.get_by_test_id("stException").count() == 0


PLACE = """() => {  // size of the points' plane, and whether a tool covers it
  const plane = document.querySelector('.js-plotly-plot .nsewdrag').getBoundingClientRect();
  const tools = document.querySelector('.modebar').getBoundingClientRect();
  return {width: plane.width, height: plane.height, covered: tools.left < plane.right - 1};
}"""


@pytest.mark.slow
def test_the_first_view_walks_isolates_and_marks_table_rows(serve, page, tmp_path, tiny_bert):
    root = seed_workspace(tmp_path / "trials", tiny_bert).root
    page.set_viewport_size({"width": 1440, "height": 980})
    page.goto(f"{serve(root)}/projection?projection_space=model+·+trials-model")
    chart(page)
    # 1. A large picture with named points, and a legend; no tool hides a point.
    place = page.evaluate(PLACE)
    assert place["width"] >= 640 and place["height"] >= 560 and not place["covered"], place
    assert page.evaluate(INKED) > 500
    assert page.locator(".legendtext").all_text_contents()

    # 2. A neighbor is a link: a click walks to it.
    neighbors = page.get_by_test_id("neighbors")
    link = neighbors.get_by_role("link").first
    word = link.inner_text()
    link.focus()
    page.keyboard.press("Enter")
    neighbors.get_by_text(f"Nearest to {word}").wait_for()
    page.wait_for_url(re.compile(f"projection_word={re.escape(quote_plus(word))}"))

    # 3. Rows of the table mark their points; the plot is not replaced.
    page.evaluate("window.picture = document.querySelector('.js-plotly-plot .gl-canvas')")
    before = page.evaluate(INKED)
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    for row in range(1, 5):
        page.mouse.click(box["x"] + 18, box["y"] + 18 + 35 * row)
        page.get_by_role("heading", name=f"Selected · {row}").wait_for()
    page.wait_for_url(re.compile("projection_picked="))
    assert page.evaluate(INKED) > before and page.evaluate("window.picture.isConnected")

    # 4. The selection alone is projected, and everything comes back.
    page.get_by_role("button", name="Show only these").click()
    page.get_by_role("button", name=re.compile("Show all again")).wait_for()
    drawn(page)
    page.wait_for_function(f"() => ({SHOWN})() === 4")
    page.reload()
    chart(page)
    assert page.evaluate(SHOWN) == 4
    page.get_by_role("button", name=re.compile("Show all again")).click()
    page.wait_for_function(f"() => ({SHOWN})() > 4")

    # 5. In a narrow window the neighbors are below the plot, and nothing is wider than the window.
    page.set_viewport_size({"width": 900, "height": 980})
    page.wait_for_timeout(1000)
    plot = page.locator(".js-plotly-plot").first.bounding_box()
    assert neighbors.bounding_box()["y"] > plot["y"] + plot["height"] - 1
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.slow
def test_tsne_is_made_while_the_old_map_stays(serve, page, tmp_path, tiny_bert):
    root = seed_workspace(tmp_path / "trials", tiny_bert).root
    page.goto(f"{serve(root)}/projection?projection_space=word+vectors+·+trials-vectors&{ALL}")
    chart(page)
    page.get_by_role("button", name="Set up").click()
    page.get_by_role("tab", name="New projection").click()
    page.get_by_role("button", name="Create projection").click()
    page.get_by_test_id("stSidebar").get_by_text(re.compile("Compute a projection")).wait_for()
    page.locator(".js-plotly-plot").wait_for()  # the old one
    page.wait_for_url(re.compile("view=trials-vectors-tsne"), timeout=JOB)
    chart(page)
    page.get_by_text(re.compile(r"trustworthiness \.\d")).wait_for()


@pytest.mark.slow
def test_hostile_tokens_are_literal_under_the_pointer(serve, page, tmp_path, tiny_bert):
    root = seed_hostile(tmp_path / "hostile", tiny_bert).root
    page.goto(
        f"{serve(root)}/projection?projection_space=word+vectors+·+hostile&{ALL}&projection_specials=true"
    )
    chart(page)
    seen = set()
    for id in range(len(HOSTILE)):
        point_at(page, id)
        seen |= set(page.locator(".hoverlayer .nums").all_text_contents())
    assert seen & set(HOSTILE) and not any("&" in text for text in seen), seen
    assert page.evaluate("document.querySelectorAll('img[src=\"x\"]').length") == 0
