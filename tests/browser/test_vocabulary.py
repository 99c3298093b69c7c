"""The parts Vocabulary size, Initializers and Adapt in a real Chromium, with a tiny model and text."""

import re
from pathlib import Path

import pytest

from tests.material.browser import JOB, drawn, go, type_path
from tests.material.lab import NEW, write_text
from tests.material.tiny_bert import TINY_TOKENS
from tests.material.workspaces import inputs
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

pytestmark = pytest.mark.browser

WORDS = [f"word{i}" for i in range(120)]  # may go: longer than three characters
KEPT = round(0.95 * len(TINY_TOKENS + WORDS))


@pytest.fixture
def root(tmp_path: Path, make_bert) -> Path:
    """A workspace with a text and word vectors, for a model some of whose tokens may go."""
    model = make_bert("reducible", tokens=[*TINY_TOKENS, *WORDS])
    workspace = Workspace(tmp_path / "trials")
    text = write_text(tmp_path / "trials.txt", lines=400)
    with text.open("a", encoding="utf-8") as lines:
        lines.writelines(f"{word} follows the patient\n" for word in WORDS)
    run_step(
        Spec(CorpusStep(), {"text": (str(text),), "model": (str(model),)}),
        workspace.folder("corpora", "trials"),
    )
    training = VectorsStep(word2vec=Word2VecSettings(epochs=2, min_count=2, workers=1))
    spec = Spec(training, inputs(workspace, model, text="corpora/trials"))
    run_step(spec, workspace.folder("vectors", "trials-vectors"))
    return workspace.root


def figure(page, label):
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


@pytest.mark.slow
def test_a_smaller_vocabulary_and_its_rows(serve, page, root):
    from playwright.sync_api import expect

    page.goto(f"{serve(root)}/lens?lens_tab=Vocabulary+size&vocabulary_keep=100")
    expect(figure(page, "Tokens removed")).to_have_text("0")
    expect(figure(page, "Text growth")).to_have_text("0 %")
    drawn(page)
    for _ in range(5):
        page.get_by_role("slider").press("ArrowLeft")
    expect(figure(page, "Tokens kept")).to_have_text(str(KEPT))
    expect(figure(page, "Text growth")).not_to_have_text("0 %")
    page.wait_for_url(re.compile("keep=95"))
    page.reload()
    expect(figure(page, "Tokens kept")).to_have_text(str(KEPT))
    drawn(page)

    select_first_row(
        page, page.get_by_test_id("tokenizations").get_by_text("tokenized without it")
    )  # what goes stands first
    page.get_by_test_id("concordance").get_by_text(re.compile(r"word\d+")).first.wait_for()

    go(page, "Adapt")
    page.get_by_role("tab", name="Initializers").click()
    page.get_by_test_id("neighbors").wait_for()
    drawn(page)
    token = page.get_by_role("textbox", name="Type a token of the target")
    token.fill(NEW[1])
    token.press("Enter")
    page.get_by_text(re.compile(f"{NEW[1]} = 1/")).first.wait_for()
    page.wait_for_url(re.compile(f"token={NEW[1]}"))
    page.get_by_role("button", name="Compare initializers").click()
    page.get_by_text(re.compile("common tokens held out")).first.wait_for(timeout=JOB)
    page.reload()
    expect(page.get_by_role("textbox", name="Type a token of the target")).to_have_value(NEW[1])
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.slow
def test_a_bare_vocabulary_learns_what_its_tokens_mean_from_a_text(serve, page, root):
    target = root.parent / "vocab.txt"
    target.write_text("".join(f"{token}\n" for token in [*TINY_TOKENS, *NEW]), encoding="utf-8")
    page.goto(f"{serve(root)}/adapt?adapt_tab=Initializers")
    box = page.get_by_role("combobox", name=re.compile("Target"))
    box.wait_for()
    drawn(page)
    type_path(page, box, target)
    page.get_by_role("button", name="Train token vectors").click()
    page.get_by_test_id("neighbors").wait_for(timeout=JOB)
    page.get_by_text(re.compile(f"{NEW[0]} = 1/")).first.wait_for()
    assert page.get_by_test_id("stException").count() == 0


def select_first_row(page, until, tries=3):
    """Tick the first row of the table of tokens; again, if need be: its cells are drawn on a
    canvas, and a click before it is ready is lost without a trace.
    """
    from playwright.sync_api import TimeoutError

    for left in reversed(range(tries)):
        click_first_row(page)
        try:
            return until.wait_for(timeout=30_000)
        except TimeoutError:
            if not left:
                raise


def click_first_row(page):
    """Click where the first row has its mark."""
    canvas = page.get_by_test_id("stDataFrame").first.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box, before = canvas.bounding_box(), None
    while box != before:  # what is drawn above it may still move it
        page.wait_for_timeout(500)
        box, before = canvas.bounding_box(), box
    page.mouse.click(box["x"] + 20, box["y"] + 55)
