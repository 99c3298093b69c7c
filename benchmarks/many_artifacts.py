"""A workspace of 2,000 artifacts: seconds until each part is drawn, and of `workspace list`.

Copies the artifacts of the demo under new names, each with a creation time of its own, as if they had
been made one after the other; a tenth of them as jobs, too. Every part is drawn by a real server, over
a websocket: first in a server that has just been started, then once more.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks._figures import Figure, run, time_in_turn
from tests.material.lab_server import start_server, stop_server
from tests.material.lab_session import LabSession, list_parts
from vocadapt.lab.demo import run_demo
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.state.pages import PAGE_OF_PART

ROOT = Path(__file__).resolve().parents[1]
BUDGET, HOME_BUDGET, LIST_BUDGET = 5.0, 3.0, 2.0  # seconds of a part, of Home, and of the list
LARGEST = 1 << 20  # bytes of a file that is copied; larger ones are linked
SPREAD = timedelta(minutes=1)  # between the creation times of copies


def measure(full: bool) -> Iterator[Figure]:
    """Draw the parts of a workspace of 500 artifacts, with --full of 2,000."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "many")
        for _ in run_demo(workspace):
            pass
        fill(workspace, 2000 if full else 500)
        yield from time_parts(workspace.root, Path(folder))
        list_artifacts = [sys.executable, "-m", "vocadapt", "workspace", "list"]
        command = [*list_artifacts, "--workspace", str(workspace.root)]
        work = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
        seconds = time_in_turn({"list": work}, 3)["list"]
        yield Figure("`workspace list`", seconds, target=LIST_BUDGET)


def fill(workspace: Workspace, number: int) -> None:
    """Copy the artifacts of a workspace, and its jobs, until it has `number` artifacts."""
    originals = [one for kind in ARTIFACTS for one in workspace.artifacts(kind)]
    jobs = sorted((workspace.root / "jobs").iterdir())
    begun = datetime.fromisoformat(min(one.manifest.created for one in originals))
    for copy in range(number - len(originals)):
        one = originals[copy % len(originals)]
        target = one.folder.with_name(f"{one.name}-copy-{copy}")
        shutil.copytree(one.folder, target, copy_function=copy_or_link)
        values = json.loads((target / MANIFEST).read_text(encoding="utf-8"))
        values["name"] = target.name
        values["created"] = (begun - (copy + 1) * SPREAD).isoformat(timespec="microseconds")
        (target / MANIFEST).write_text(json.dumps(values, indent=1), encoding="utf-8")
    for copy in range(number // 10 if jobs else 0):
        source = jobs[copy % len(jobs)]
        when = (begun - (copy + 1) * SPREAD).strftime("%Y%m%d-%H%M%S-%f")
        shutil.copytree(source, source.with_name(f"{when}-{source.name.rpartition('-')[2]}"))


def copy_or_link(source: str, target: str) -> None:
    """Copy a small file; link a large one, which is only read."""
    if os.path.getsize(source) > LARGEST:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def time_parts(workspace: Path, folder: Path) -> Iterator[Figure]:
    """Time two drawings of every part by a new server."""
    server, address = start_server(workspace, folder)
    taken: dict[str, list[float]] = {}
    try:
        session = LabSession(address)
        for _ in range(2):
            # A page's parts apart from each other: a link opens another page.
            for part in sorted(list_parts(), key=find_place_on_page):
                start = time.perf_counter()
                session.open_part(part)
                taken.setdefault(part, []).append(time.perf_counter() - start)
        session.close()
    finally:
        stop_server(server)
    for part, (first, again) in taken.items():
        budget = HOME_BUDGET if part == "home" else BUDGET
        yield Figure(f"{part}, first visit", (first,), target=budget, note=f"again {again:.2f} s")


def find_place_on_page(part: str) -> int:
    """Return the place of a part among the tabs of its page."""
    return [one.name for one in PAGE_OF_PART[part].parts].index(part)


if __name__ == "__main__":
    sys.exit(run(measure))
