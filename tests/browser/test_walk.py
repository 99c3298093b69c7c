"""Upload a text, train, align, list neighbors and adapt in a real Chromium, with a tiny model;
and checks that need a browser."""

import re
from pathlib import Path

import pytest

from tests.material.browser import JOB, drawn, go, type_path
from tests.material.lab import NEW, write_text
from tests.material.workspaces import HOSTILE, seed_hostile, seed_workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings

pytestmark = pytest.mark.browser

PROCRUSTES = AlignmentSettings("procrustes").digest


def open_tab(page, name):
    """Open a tab of the page: what it draws is fetched only then."""
    tab = page.get_by_role("tab", name=name, exact=True)
    tab.click()
    page.locator('[role="tab"][aria-selected="true"]', has_text=name).wait_for()


def letter_by_letter(word):
    """The note of the card that searches the model's own wordpieces: the tiny model has no pieces
    longer than a letter for these.
    """
    return f"mean of {word[0]} {' '.join(f'##{letter}' for letter in word[1:])}, among"


def choose_model(page, folder):
    box = page.get_by_role("combobox", name=re.compile("Language model"))
    type_path(page, box, folder)
    page.wait_for_timeout(500)
    assert Path(box.input_value()).name == folder.name


def test_the_walk_from_a_text_to_a_model_that_knows_its_words(serve, page, tmp_path, tiny_bert):
    workspace = tmp_path / "workspace"
    text = write_text(tmp_path / "trials.txt", lines=1000)

    page.goto(serve(workspace))
    page.get_by_role("link", name="Start with a text").click()
    page.get_by_role("heading", level=1, name="Your text").wait_for()

    choose_model(page, tiny_bert)
    page.locator("input[type=file]").first.set_input_files(text)
    page.get_by_text(re.compile(r"trials\.txt · \d")).wait_for()
    page.get_by_role("button", name="Import and count").click()
    distinct = page.get_by_test_id("stMetric").filter(has_text="Distinct words")
    distinct.wait_for(timeout=JOB)
    assert re.search(r"\d", distinct.get_by_test_id("stMetricValue").inner_text())

    go(page, "Word vectors")
    page.get_by_text(re.compile("distinct words occur")).wait_for()
    page.get_by_role("button", name="Train word vectors").click()
    page.get_by_role("heading", name="Nearest words").wait_for(timeout=JOB)
    page.get_by_test_id("neighbors").wait_for()

    open_tab(page, "Alignment")
    page.get_by_role("button", name="Evaluate all methods").click()
    page.get_by_text("Best on this data").wait_for(timeout=JOB)
    # the result is there at once, and no panel of the ended job draws the page again while a word
    # is typed
    page.reload()
    page.get_by_text("Best on this data").wait_for()
    drawn(page)
    word = page.get_by_role("textbox", name="Type a word")
    word.fill(NEW[0])
    word.press("Enter")
    page.get_by_text(letter_by_letter(NEW[0])).wait_for()
    assert page.get_by_test_id("neighbors").locator(".va-card").count() == 4
    page.wait_for_url(re.compile(f"alignment_word={NEW[0]}"))

    go(page, "Adapt")
    page.get_by_role("button", name="Adapt the model").click()
    page.get_by_text("Certificate passed").wait_for(timeout=JOB)
    page.locator(".va-new").first.wait_for()
    assert page.get_by_test_id("stException").count() == 0

    assert list((workspace / "uploads").iterdir()) == []  # the corpus has its own copy
    (folder,) = (workspace / "models").glob("[!.]*")
    from transformers import AutoTokenizer

    assert AutoTokenizer.from_pretrained(folder).tokenize(f"patients with {NEW[0]}") == [
        "patients",
        "with",
        NEW[0],
    ]


@pytest.mark.slow
def test_a_link_restores_the_view(serve, page, tmp_path, tiny_bert):
    root = tmp_path / "trials"
    seed_workspace(root, tiny_bert)
    page.goto(
        f"{serve(root)}/vectors?vectors_tab=Alignment&alignment_word={NEW[2]}&alignment_method={PROCRUSTES}&alignment_k=5&alignment_csls=true"
    )
    from playwright.sync_api import expect

    page.get_by_text("k = 5").wait_for()
    expect(page.get_by_role("textbox", name="Type a word")).to_have_value(NEW[2])
    expect(page.get_by_role("combobox", name=re.compile("Method"))).to_have_value("Procrustes")
    expect(
        page.get_by_test_id("neighbors").locator(".va-card").first.locator(".va-row")
    ).to_have_count(5)


def test_hostile_words_do_nothing(serve, page, tmp_path, tiny_bert):
    root = tmp_path / "hostile"
    seed_hostile(root, tiny_bert)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(f"{serve(root)}/vectors")
    probe = page.get_by_role("textbox", name="Type a word")
    probe.fill(HOSTILE[0])
    probe.press("Enter")
    page.get_by_text(f"Nearest to {HOSTILE[0]}").wait_for()
    assert page.locator("img[src=x], img[src='x/onerror=alert(1)']").count() == 0
    page.get_by_test_id("neighbors").locator(".va-row").first.wait_for()
