"""Milliseconds from a click on the projection, or from Enter after a typed word, until the page shows
the neighbors (needs playwright and a Chromium).

Starts a server on the demo workspace and a Chromium with software rendering. Three projections are
measured: the neighborhood of a word, which the page shows first, 4,000 wordpieces of demo-bert, and
all 20,000 words of demo-biomedical. The browser's clock is used: from the event to the change of the
page.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks._figures import Figure, run
from tests.material.lab_server import ARGUMENTS, free_port, wait_until_up

ROOT = Path(__file__).resolve().parents[1]
BOUND = 200  # milliseconds
PROJECTIONS = {
    "neighborhood": "projection_space=model+·+demo-bert",
    "4 000 wordpieces": "projection_space=model+·+demo-bert&projection_tokens=first",
    "20 000 words": (
        "projection_space=word+vectors+·+demo-biomedical&projection_tokens=first&projection_all=true&projection_shortest=0"
    ),
}
WORDS = (
    "cancer",
    "patients",
    "treatment",
    "blood",
    "cell",
    "water",
    "risk",
    "virus",
    "heart",
    "protein",
    "brain",
    "surgery",
    "insulin",
    "dose",
    "tumor",
    "women",
    "age",
    "infection",
    "pressure",
    "response",
    "muscle",
    "health",
    "lung",
    "bone",
)
WATCH = """() => {
  window.watched = {};
  const title = () => document.querySelector('[data-testid="neighbors"] .va-title')?.textContent ?? '';
  const begin = (event) => { window.watched = {shown: 0, at: event.timeStamp, title: title()}; };
  addEventListener('keydown', (event) => event.key === 'Enter' && begin(event), true);
  addEventListener('pointerup', begin, true);
  new MutationObserver(() => {
    const watched = window.watched;
    if (watched.at && !watched.shown && title() && title() !== watched.title) watched.shown = performance.now();
  }).observe(document, {subtree: true, childList: true, characterData: true});
}"""
PLACES = """(ids) => {  // pixel coordinates of points, by their index in the first trace, without those near the border
  const chart = document.querySelector('.js-plotly-plot'), {xaxis, yaxis} = chart._fullLayout, trace = chart._fullData[0];
  const plane = chart.querySelector('.nsewdrag').getBoundingClientRect();
  return ids.map((i) => [xaxis.d2p(trace.x[i % trace.x.length]), yaxis.d2p(trace.y[i % trace.x.length])])
    .filter(([x, y]) => x > 60 && y > 20 && x < plane.width - 60 && y < plane.height - 20)
    .map(([x, y]) => [plane.x + x, plane.y + y]);
}"""


def measure(full: bool) -> Iterator[Figure]:
    """Type words and click on points of each projection."""
    from playwright.sync_api import sync_playwright

    times = 12 if full else 6
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        address, server = serve(Path(folder))
        try:
            chromium = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=ARGUMENTS
            )
            for name in PROJECTIONS:
                yield from measure_projection(chromium, address, name, times)
        finally:
            server.terminate()
            server.wait()


def serve(folder: Path):  # type: ignore[no-untyped-def]
    shutil.copytree(ROOT / "assets" / "demo", folder / "demo")
    return serve_workspace(folder, folder / "demo")


def serve_workspace(folder: Path, workspace: Path):  # type: ignore[no-untyped-def]
    """Start a lab server on a workspace; return its address and process."""
    import subprocess

    port = free_port()
    command = [
        sys.executable,
        "-m",
        "vocadapt.ui.shell.server",
        "--no-browser",
        "--port",
        str(port),
    ]
    command += ["--workspace", str(workspace)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    wait_until_up(f"http://127.0.0.1:{port}", server)
    return f"http://127.0.0.1:{port}", server


def measure_projection(chromium, address: str, name: str, times: int) -> Iterator[Figure]:  # type: ignore[no-untyped-def]
    """Type and click on one projection."""
    page = chromium.new_page(viewport={"width": 1440, "height": 980})
    page.set_default_timeout(60_000)
    page.add_init_script(f"({WATCH})()")
    page.goto(f"{address}/projection?{PROJECTIONS[name]}")
    wait_until_idle(page)
    typed = [type_word(page, word) for word in WORDS[:times]]
    clicked = click_points(page, times)
    page.close()
    for kind, found in (("a typed word", typed), ("a click", clicked)):
        yield Figure(f"{kind}, {name}", tuple(found), "ms", target=BOUND)


def type_word(page, word: str) -> float:  # type: ignore[no-untyped-def]
    field = page.get_by_role("textbox", name="Find a token")
    field.fill(word)
    page.wait_for_timeout(300)
    field.press("Enter")
    found = wait_for_neighbors(page)
    assert found is not None, word
    return found


def click_points(page, times: int) -> list[float]:  # type: ignore[no-untyped-def]
    """Click on distant points, pausing on each; return the times of those that responded."""
    found: list[float] = []
    for x, y in page.evaluate(PLACES, [number * 677 for number in range(1, 4 * times)]):
        if len(found) == times:
            break
        page.mouse.move(x - 3, y - 3)
        page.mouse.move(x, y)
        page.wait_for_timeout(700)
        page.mouse.click(x, y)
        taken = wait_for_neighbors(page, 5_000)
        if taken is not None:
            found.append(taken)
    return found


def wait_for_neighbors(page, timeout: int = 60_000) -> float | None:  # type: ignore[no-untyped-def]
    """Return the milliseconds from the event until the page contained the neighbors; None if there
    was no response.
    """
    from playwright.sync_api import TimeoutError as TooLong

    try:
        page.wait_for_function("window.watched.shown > 0", timeout=timeout)
    except TooLong:
        return None
    one = page.evaluate("window.watched")
    wait_until_idle(page)
    return float(one["shown"] - one["at"])


def wait_until_idle(page) -> None:  # type: ignore[no-untyped-def]
    """Wait until the page and its plot are complete."""
    page.locator(".js-plotly-plot .gl-canvas").first.wait_for()
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_timeout(1200)


if __name__ == "__main__":
    sys.exit(run(measure))
