"""What tests of the browser do on pages."""

import json
import re
import shutil
from pathlib import Path

from vocadapt.lab.demo import DEMO
from vocadapt.ui.components.pickers import TYPE
from vocadapt.ui.state.pages import PAGES

JOB = 120_000  # milliseconds that a job may take on a busy machine


def go(page, name):
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
    page.get_by_role("heading", level=1, name=name).wait_for()


def drawn(page):
    """Wait until the page is drawn to its end: Streamlit leaves what is typed before that out of
    the address.
    """
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()


def type_path(page, box, path):
    """Give a path to a picker: its last option opens a field."""
    box.click()
    page.get_by_role("option", name=TYPE).click()
    field = page.get_by_role("textbox", name="Path or name")
    field.fill(str(path))
    field.press("Enter")
    field.wait_for(state="detached")


def picker(page):
    return page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile("Workspace"))


def enter(page, base, way):
    """Open Home in the workspace `second`: by its address, or as a new one."""
    page.goto(f"{base}/?workspace=second" if way == "address" else base)
    page.get_by_role("button", name="Open the demo").wait_for()
    if way == "new":
        drawn(page)
        page.get_by_role("button", name="New workspace").click()
        page.get_by_label("Name of the workspace").fill("second")
        page.get_by_role("button", name="Create").click()
        page.get_by_label("Name of the workspace").wait_for(state="hidden")
    page.wait_for_url(re.compile("workspace=second"))
    drawn(page)


def check(page):
    from playwright.sync_api import expect

    drawn(page)
    assert page.get_by_test_id("stException").count() == 0
    expect(picker(page)).to_have_value("second")
    assert "workspace=second" in page.url


def open_part(page, address: str) -> None:
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    page.get_by_text("Workspace", exact=True).first.wait_for()


def add_text(folder: Path, words: int) -> None:
    """Give a visitor a text of the same name as others have, with so many words in its manifest."""
    place = folder / "workspace" / "corpora" / CORPUS
    shutil.copytree(DEMO / "corpora" / CORPUS, place)
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["numbers"]["words"] = words
    (place / "manifest.json").write_text(json.dumps(manifest))


ADDRESSES = ["" if page.name == "home" else page.name for page in PAGES]


def check_first_visit(page):
    """Check that a page comes with the whole navigation, without a dialog or an exception."""
    page.get_by_role("heading", level=1).wait_for()
    navigation = page.get_by_test_id("stSidebarNav")
    assert [one.title for one in PAGES if one.title not in navigation.inner_text()] == []
    page.get_by_test_id("stSidebar").get_by_text("Workspace").first.wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_role("dialog").count() == 0
    assert page.get_by_test_id("stException").count() == 0


CORPUS = "demo-biomedical"
