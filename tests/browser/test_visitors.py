"""Two visitors of one server, in two browsers: neither sees anything of the other."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.material.browser import CORPUS, add_text, open_part
from tests.material.lab_server import PATIENCE, start_server, stop_server
from vocadapt.lab.workspace.limits import VISITOR_FOLDER
from vocadapt.lab.workspace.visitors import LAST_VISIT, name_folder
from vocadapt.ui.state.visitors import COOKIE

SHARING = {"workspace_per_visitor": True, "quota_mb": 30, "max_upload_mb": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """A server with a workspace per visitor: its address, and the folder of the visitors."""
    folder = tmp_path_factory.mktemp("shared")
    server, address = start_server(folder / "visitors", folder, "--sharing", json.dumps(SHARING))
    yield address, folder / "visitors"
    stop_server(server)


@pytest.fixture
def visit(browser, shared):
    """Open the lab as a new visitor; return the page and the folder of the visitor."""
    contexts = []
    address, visitors = shared

    def come(part: str = ""):
        context = browser.new_context(viewport={"width": 1440, "height": 980})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        open_part(page, f"{address}/{part}")
        cookies = {one["name"]: one for one in context.cookies()}
        assert cookies[COOKIE]["httpOnly"] and cookies[COOKIE]["sameSite"] == "Lax"
        return page, visitors / name_folder("cookie", cookies[COOKIE]["value"])

    yield come
    for context in contexts:
        context.close()


def test_two_visitors_see_their_own_workspaces_only(visit, shared):
    address, visitors = shared
    before = set(visitors.glob("visitor-*"))
    ann, ann_folder = visit()
    ben, ben_folder = visit()
    assert ann_folder != ben_folder and VISITOR_FOLDER.fullmatch(ann_folder.name)
    assert not ann_folder.exists() and not ben_folder.exists()  # looking around makes nothing

    # 1. Ann has a text; Ben has none, and then one of the same name.
    add_text(ann_folder, 1111)
    open_part(ann, address)
    ann.get_by_text("1\u202f111").first.wait_for()
    open_part(ben, address)
    ben.get_by_text("See it work first").wait_for()
    assert CORPUS not in ben.content()
    add_text(ben_folder, 2222)
    for page, own, other in ((ben, "2\u202f222", "1\u202f111"), (ann, "1\u202f111", "2\u202f222")):
        open_part(page, address)
        page.get_by_text(own).first.wait_for()
        assert other not in page.content()
    assert (ann_folder / LAST_VISIT).exists()

    # 2. An address does not lead from one to the other.
    ben.goto(f"{address}/?workspace=../{ann_folder.name}/workspace")
    ben.get_by_text("This did not work.").first.wait_for()
    assert "1\u202f111" not in ben.content()

    # 3. A visitor who comes back finds the workspace; another browser does not.
    again = ann.context.new_page()
    open_part(again, address)
    again.get_by_text("1\u202f111").first.wait_for()
    assert set(visitors.glob("visitor-*")) - before == {ann_folder, ben_folder}


@pytest.mark.slow
def test_the_quota_and_the_limit_of_uploads_are_shown_and_hold(visit, shared, tmp_path):
    address, _ = shared
    page, folder = visit("text")
    page.get_by_text("1MB per file").first.wait_for()
    large = tmp_path / "large.txt"
    large.write_text("word " * 300_000)
    page.locator("input[type=file]").first.set_input_files(str(large))
    page.get_by_text("must be 1.0MB or smaller").wait_for()
    assert not folder.exists()

    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "large").write_bytes(b" " * 31_000_000)
    small = tmp_path / "small.txt"
    small.write_text("word " * 100)
    page.locator("input[type=file]").first.set_input_files(str(small))
    page.get_by_text("Your storage is full: 31 MB of 30 MB are used").wait_for()
    open_part(page, f"{address}/jobs?jobs_tab=Workspace")
    page.get_by_text("31 MB of 30 MB are used").wait_for()
    page.get_by_text("up to 1 MB").wait_for()
