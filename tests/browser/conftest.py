"""A real Chromium, and a server that the tests share; a fresh one for each test that requests it."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-gpu-compositing",  # drawn by the processor anyway; WebGL stays
    "--force-prefers-reduced-motion",
]
# milliseconds: on a crowded machine a page takes long to come; how fast pages are is measured
# elsewhere
PATIENCE = 90_000


def absent(what: str) -> None:
    """Skip with the reason, except where everything must run."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


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


def start_server(workspace: Path, folder: Path, *options: str) -> tuple[subprocess.Popen, str]:
    """Start a server on a workspace, in a working folder that is not the repository: nothing may
    depend on standing there. Return it, and its address, when it answers.

    options: more options of the command line.
    """
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "vocadapt.ui.shell.server",
        "--no-browser",
        "--port",
        str(port),
    ]
    command += ["--workspace", str(workspace), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(address, server)
    except BaseException:
        stop_server(server)
        raise
    return server, address


def stop_server(server: subprocess.Popen) -> None:
    server.terminate()
    server.wait(timeout=20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(address: str, server: subprocess.Popen, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, f"the server ended with {server.returncode}"
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).read()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"no server at {address} after {seconds} s")
