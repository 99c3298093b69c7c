"""One's own text of 3 MB, in a workspace that is not the first one: counts, advice, word vectors and
their alignment, the model that the advice recommends, and Try it."""

import gzip
import re
import time
from pathlib import Path

import pytest

from tests.material.browser import drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIZE = 3_000_000  # characters
JOB = 600_000  # milliseconds that a job may take on a busy machine
ADAPT = re.compile("^(library_add )?Adapt( anyway)?: ")


@pytest.fixture
def own_text(tmp_path: Path, shared: Path) -> Path:
    """The first 3 MB of the shared biomedical abstracts, to whole lines."""
    path = tmp_path / "own.txt"
    with gzip.open(
        shared / "data/text/biomedical-abstracts.txt.gz", "rt", encoding="utf-8"
    ) as file:
        path.write_text("".join(file.readlines(SIZE)), encoding="utf-8")
    return path


def metric(page, label):
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


def test_ones_own_text_becomes_a_model_to_try(serve, page, tmp_path, own_text):
    from playwright.sync_api import expect

    # 1. Upload and count.
    base = serve(tmp_path / "first")
    page.goto(f"{base}/text?workspace=second")
    page.locator("input[type=file]").first.set_input_files(own_text)
    page.get_by_text(re.compile(r"own\.txt · 3\.\d MB")).wait_for()
    drawn(page)
    start = time.monotonic()
    page.get_by_role("button", name="Import and count").click()
    expect(metric(page, "Distinct words")).not_to_have_text("–", timeout=JOB)
    seconds = time.monotonic() - start
    assert seconds < 60, seconds  # a few seconds on a machine that is not busy
    page.locator(".stMarkdownBadge", has_text="new").first.wait_for()
    page.get_by_test_id("words").get_by_role("link").first.wait_for()

    # 2. A word of the text leads to the lens, and Back to the text.
    page.get_by_test_id("words").get_by_role("link").first.click()
    page.get_by_role("heading", level=1, name="Tokenizer lens").wait_for()
    page.get_by_test_id("tokenizations").first.wait_for()
    page.go_back()
    page.get_by_role("heading", level=1, name="Your text").wait_for()

    # 3. The advice; word vectors are trained from there, and aligned by a second job.
    page.get_by_role("link", name=re.compile("Next: .*Advice")).click()
    page.get_by_text("Only a measurement shows").wait_for()
    adapt = page.get_by_role("button", name=ADAPT)
    page.get_by_role("button", name="Train word vectors").wait_for()
    assert adapt.count() == 0
    page.get_by_role("button", name="Train word vectors").click()
    adapt.wait_for(timeout=JOB)
    page.goto(f"{base}/vectors?workspace=second&vectors_tab=Alignment")
    expect(metric(page, "Held-out P@5")).not_to_have_text("–", timeout=JOB)

    # 4. The recommended model.
    page.goto(f"{base}/text?workspace=second&text_tab=Advice")
    adapt.click(timeout=JOB)
    page.get_by_role("heading", level=1, name="Adapt").wait_for()
    expect(page.get_by_role("combobox", name=re.compile("Preset"))).to_have_value(
        re.compile("Recommended")
    )
    expect(page.get_by_role("spinbutton", name=re.compile("Max added words"))).not_to_have_value("")
    drawn(page)
    page.get_by_role("button", name="Adapt the model").click()
    page.get_by_text("Certificate passed").wait_for(timeout=JOB)
    page.locator(".va-new").first.wait_for()
    (folder,) = (tmp_path / "second" / "models").glob("[!.]*")

    # 5. Try it.
    page.get_by_role("link", name=re.compile("Next: Try it")).click()
    page.get_by_role("heading", level=1, name="Try it").wait_for()
    page.get_by_test_id("tokenizations").first.wait_for()
    assert page.get_by_test_id("stException").count() == 0
    assert "workspace=second" in page.url and (folder / "recipe.toml").is_file()
    assert not (tmp_path / "first" / "models").exists()
