"""Make docs/tour.md and its pictures from the running lab.

    python -m vocadapt demo --out /tmp/demo
    python docs/make_tour.py /tmp/demo

Needs Chromium and playwright. Each stop is a part of the lab with its state, as a lesson would open
it; the sentences below are all that the tour says beside the sentence of the part itself.
"""

import argparse
import io
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS, find_link  # noqa: E402

TOUR, PICTURES = ROOT / "docs" / "tour.md", ROOT / "docs" / "tour"
WIDTH, HEIGHT = 1280, 900  # pixels
COLORS = 64  # of a picture: enough for a page, and a fifth of the size
MAX_BYTES = 100_000  # of a picture
PATIENCE = 120_000  # milliseconds


@dataclass(frozen=True)
class Stop:
    """A part of the lab in a state, and what there is to see."""

    part: str
    see: str
    query: Mapping[str, str | list[str]] = field(default_factory=dict)
    top: int = 0  # pixels of the page that are scrolled out of the picture


STOPS = (
    Stop(
        "home",
        "*Open the demo* fills every page in a minute, without a network. The five steps lead from a"
        " text to a model that is fine-tuned and compared.",
    ),
    Stop(
        "lens",
        "The demo's first screen: the same sentence before and after adaptation, the nearest neighbors of new"
        " words, a predicted masked word, and scores on a constructed task whose labels depend on single"
        " words.",
        {"lens_demo": "opened"},
    ),
    Stop(
        "lens",
        "*Tachycardia* is five wordpieces to the original model and one token to the adapted one. A"
        " green frame marks an added token.",
        {
            "lens_text": "Patients with tachycardia and hypertension had no fever.",
            "lens_models": ["demo-bert", "demo-adapted"],
        },
    ),
    Stop(
        "advise",
        "The advice for the biomedical text of the demo: what new words save, how precisely they can be"
        " placed, and what is not known. The button opens the page Adapt with these settings.",
        {"advise_corpus": "demo-biomedical", "advise_model": "demo-bert"},
    ),
    Stop(
        "alignment",
        "Underlined words are in more than one list. Below the lists: how often the alignment finds"
        " the right word, by word frequency, compared with chance.",
        {
            "alignment_vectors": "demo-biomedical",
            "alignment_model": "demo-bert",
            "alignment_word": "medication",
        },
    ),
    Stop(
        "adapt",
        "The result is a standard Hugging Face model folder, which needs no vocadapt.",
        {"adapt_adapted": "demo-adapted"},
    ),
    Stop(
        "try",
        "The examples are the lines of your text with the most new words. The bars of the neighbors"
        " have a tick at the cosine of two random tokens.",
    ),
    Stop(
        "projection",
        "The neighborhood of *cancer* in the adapted model, by t-SNE; added tokens are green"
        " diamonds.",
        {
            "projection_space": "demo-adapted",
            "projection_view": "demo-cancer",
            "projection_word": "cancer",
        },
    ),
    Stop(
        "change",
        "The page opens on the word that changed most convincingly: the neighbors that a word had"
        " only before, in both, and only after.",
    ),
    Stop(
        "results",
        "Six small runs of the same settings: each dot is a seed, and the verdict says whether the difference to the"
        " baseline is more than noise. The task is constructed to show the page: its scores prove"
        " nothing.",
    ),
    Stop(
        "errors",
        "Two runs on the same sentences: which errors were fixed, which are new, how the"
        " affected words are tokenized, and whether the difference is more than chance.",
        {
            "errors_baseline": "demo-diseases-base · seed 1 · base",
            "errors_compared": "demo-diseases-adapted · seed 1 · pooled",
        },
    ),
    Stop(
        "lessons",
        "Each takes 4 to 6 minutes. The tab *Teacher* has the plan of an hour,"
        " the answers, and the progress of the class.",
    ),
)


def main() -> None:
    """Take the pictures, and write the text around them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspace", type=Path, help="workspace of the demo")
    folder = parser.parse_args().workspace.resolve()
    PICTURES.mkdir(exist_ok=True)
    for picture in PICTURES.glob("*.png"):
        picture.unlink()
    take_pictures(folder)
    TOUR.write_text(build_text(), encoding="utf-8")


def take_pictures(folder: Path) -> None:
    """Open each stop in a browser, and save its picture."""
    import subprocess

    from playwright.sync_api import sync_playwright

    from tests.material.lab_server import ARGUMENTS, free_port, wait_until_up

    port = free_port()
    command = [sys.executable, "-m", "vocadapt.ui.shell.server", "--no-browser"]
    command += ["--port", str(port), "--workspace", str(folder)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(address, server)
        with sync_playwright() as driver:
            program = shutil.which("chromium") or shutil.which("google-chrome")
            browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(PATIENCE)
            for number, stop in enumerate(STOPS, start=1):
                (PICTURES / name_picture(number, stop)).write_bytes(
                    take_picture(page, address, stop)
                )
    finally:
        server.terminate()
        server.wait()


def take_picture(page: Any, address: str, stop: Stop) -> bytes:
    """Open a stop, and return its picture as PNG of at most MAX_BYTES."""
    _, query = find_link(stop.part, **stop.query)
    name = PAGE_OF_PART[stop.part].name
    path = "" if name == "home" else name
    page.goto(f"{address}/{path}?{urlencode(query, doseq=True)}")
    page.locator("h1").first.wait_for()
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.locator('[data-testid="stSpinner"]').first.wait_for(state="detached")
    if page.get_by_test_id("stException").count():
        raise SystemExit(f"{stop.part}: the page failed.")
    page.get_by_test_id("stMain").evaluate(f"main => main.scrollTo(0, {stop.top})")
    page.wait_for_timeout(1500)  # plots draw after the page
    return shrink(page.screenshot())


def shrink(picture: bytes) -> bytes:
    """Reduce the colors of a PNG; exits if it is still larger than MAX_BYTES."""
    from PIL import Image

    out = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLORS).save(out, "PNG", optimize=True)
    if len(out.getvalue()) > MAX_BYTES:
        raise SystemExit(f"A picture has {len(out.getvalue()):,} bytes: use fewer colors.")
    return out.getvalue()


def name_picture(number: int, stop: Stop) -> str:
    """Return the file name of the picture of a stop."""
    return f"{number}-{stop.part}.png"


def build_text() -> str:
    """Build the Markdown of the tour."""
    lines = [
        "# Tour",
        "",
        "Use this page to see what the lab does before you install it: the demo, page by page.",
        "`python docs/make_tour.py` makes this page and its pictures from the running lab.",
    ]
    for number, stop in enumerate(STOPS, start=1):
        page, part = PAGE_OF_PART[stop.part], PARTS[stop.part]
        title = page.title
        if len(page.parts) > 1 and part.title != page.title:
            title = f"{page.title}: {part.title}"
        about = re.sub(r":\w+\[\*\*(.+?)\*\*\]", r"*\1*", part.about)
        picture = f"![{title}](tour/{name_picture(number, stop)})"
        lines += ["", f"## {number}. {title}", "", f"{about} {stop.see}", "", picture]
    lines += ["", "Continue with [Start](start.md), which makes this demo on your machine."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
