"""Seconds of the first visit of each page and tab on a server that has just been started (needs
playwright and a Chromium).

The workspace holds the demo, gensim's news text with word counts, and a token classification run of
the demo model. Time is measured from the request until the page is complete and shows no spinner.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psutil

from benchmarks._figures import Figure, run
from benchmarks.clicks import serve_workspace
from tests.material.lab_server import ARGUMENTS
from vocadapt.lab.demo import DEMO, find_news_text, open_demo
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS, find_link

BOUND = 5.0  # seconds
FEW = ("home", "lens", "adapt", "projection", "results")
DRAWN = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app?.dataset.testScriptState === 'notRunning' && document.querySelector('h1')
    && !document.querySelector('[data-testid="stSpinner"]');
}"""


def measure(full: bool) -> Iterator[Figure]:
    """Visit some parts, with --full all, each on a fresh server."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        prepare(Workspace(Path(folder) / "first"))
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for part in PARTS if full else FEW:
            seconds, processor = visit(chromium, Path(folder), part)
            note = f"the server used {processor:.1f} CPU s"
            yield Figure(f"{part}, cold", (seconds,), target=BOUND, note=note)


def prepare(workspace: Workspace) -> None:
    """Open the demo, import the news text, and fine-tune the demo model for two epochs on synthetic
    sentences.
    """
    from tests.material.finetuning import sentences, write_conll
    from vocadapt.cli import main as vocadapt

    open_demo(workspace)
    model, root = str(DEMO / "models" / "demo-bert"), str(workspace.root)
    inputs = {"text": (str(find_news_text()),), "model": (model,)}
    run_step(Spec(CorpusStep(copy=True), inputs), workspace.folder("corpora", "news"))
    file = str(write_conll(workspace.root / "ner.txt", sentences(20)))
    tune = [
        "finetune",
        "--model",
        model,
        "--task",
        "ner",
        "--train",
        file,
        "--test",
        file,
        "--num-epochs",
        "2",
    ]
    if vocadapt([*tune, "--workspace", root, "--name", "ner"]):
        raise SystemExit("the fine-tuning failed")


def visit(chromium, folder: Path, part: str) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Visit a part on a fresh server; return the seconds it takes and the CPU seconds of the
    server.
    """
    address, server = serve_workspace(folder, folder / "first")
    try:
        page = chromium.new_page(viewport={"width": 1440, "height": 980})
        page.set_default_timeout(180_000)
        before, start = cpu_seconds(server.pid), time.perf_counter()
        path = "" if part == "home" else PAGE_OF_PART[part].name
        page.goto(f"{address}/{path}?{urlencode(find_link(part)[1])}")
        page.wait_for_function(DRAWN, polling=100)  # polling every frame would slow the page
        seconds, spent = time.perf_counter() - start, cpu_seconds(server.pid) - before
        page.close()
    finally:
        server.terminate()
        server.wait()
    return seconds, spent


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds (user and system) of a process so far."""
    times = psutil.Process(process).cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    sys.exit(run(measure))
