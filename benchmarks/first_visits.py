"""Measure how long the first visit of each page and tab takes: at most 6 s on an idle machine.

    python benchmarks/first_visits.py [--parts vocabulary change] [--times 1]     (needs playwright and a Chromium)

The workspace holds the demo, gensim's news text with word counts, and a token classification run of
the demo model. Each visit starts a fresh server. Time is measured from the request until the page
is complete and shows no spinner. The server's CPU seconds are printed too: they depend less on the
load of the machine.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import psutil  # noqa: E402

from benchmarks.clicks import serve_workspace  # noqa: E402
from tests.material.lab_server import ARGUMENTS  # noqa: E402
from vocadapt.lab.demo import DEMO, find_news_text, open_demo  # noqa: E402
from vocadapt.lab.steps.corpus import CorpusStep  # noqa: E402
from vocadapt.lab.steps.run import run_step  # noqa: E402
from vocadapt.lab.steps.step import Spec  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402
from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS, find_link  # noqa: E402

BOUND = 6.0
DRAWN = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app?.dataset.testScriptState === 'notRunning' && document.querySelector('h1')
    && !document.querySelector('[data-testid="stSpinner"]');
}"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--parts",
        nargs="*",
        choices=PARTS,
        default=PARTS,
        metavar="PART",
        help="parts to visit, by name",
    )
    parser.add_argument(
        "--times", type=int, default=1, help="visits of each part; the fastest counts"
    )
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        prepare(Workspace(Path(folder) / "first"))
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for part in options.parts:
            seconds, processor = min(
                visit(chromium, Path(folder), part) for _ in range(options.times)
            )
            print(f"{part:14s} {seconds:5.1f} s, server CPU {processor:5.1f} s", flush=True)
            slowest = max(slowest, seconds)
    print(
        f"slowest {slowest:.1f} s (budget {BOUND:g} s); load {os.getloadavg()[0]:.1f} on"
        f" {os.cpu_count()} cores"
    )
    return 0 if slowest <= BOUND else 1


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
    sys.exit(main())
