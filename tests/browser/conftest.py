"""A real Chromium, and a server that the tests share; a fresh one for each test that requests it."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.material.lab_server import ARGUMENTS, PATIENCE, absent, start_server, stop_server


@pytest.fixture(scope="package")
def browser() -> Iterator[object]:
    """Debian's Chromium, driven by playwright, whose event loop runs until it is closed: tests of other
    folders start their own.
    """
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None:
        absent("no Chromium on PATH")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser) -> Iterator[object]:
    """A page as large as a laptop's screen; fails the test that leaves an exception or an error in
    its console.

    What could not be loaded is passed over: Streamlit itself asks for addresses that are not there.
    """
    from playwright.sync_api import expect

    page = browser.new_page(viewport={"width": 1440, "height": 980})
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if an_error(message) else None)
    yield page
    page.close()
    assert not errors, errors


def an_error(message) -> bool:
    """Whether a console message is an error of a page.

    None: a look at the file of a download button that ends as the page is left, or that finds the file
    replaced, because the page is just drawn again.
    """
    passed_over = (
        "Failed to load resource",
        "Client Error: Download Button fetch error",
        "Client Error: Download Button source error - 404",
    )
    return message.type == "error" and not message.text.startswith(passed_over)


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that all tests share, since it takes seconds to start: its address, and a link that
    leads to the workspace that it begins with.
    """
    folder = tmp_path_factory.mktemp("lab")
    link = folder / "now"  # the server looks up at each visit where it leads to
    server, address = start_server(link, folder)
    yield address, link
    stop_server(server)


@pytest.fixture
def serve(lab: tuple[str, Path], tmp_path: Path) -> Callable[..., str]:
    """Let the shared server begin with a workspace, and give its address."""
    address, link = lab

    def lead(workspace: Path | None = None) -> str:
        link.unlink(missing_ok=True)
        link.symlink_to(workspace or tmp_path / "workspace")
        return address

    return lead


@pytest.fixture
def serve_anew(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start a fresh server on a workspace and give its address; stopped after the test.
    `serve_anew.servers`: their processes.
    """
    servers: list[subprocess.Popen] = []

    def start(workspace: Path | None = None) -> str:
        server, address = start_server(workspace or tmp_path / "workspace", tmp_path)
        servers.append(server)
        return address

    start.servers = servers
    yield start
    for server in servers:
        stop_server(server)
