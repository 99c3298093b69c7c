"""A workspace of 2,000 artifacts: seconds until Home is drawn (budget 3 s), and of the command list.

    python benchmarks/many_artifacts.py [--artifacts 2000] [--workspace DIR]

Copies the artifacts of the demo under new names, each with a creation time of its own, as if they had
been made one after the other; a tenth of them as jobs, too. Home is drawn by a real server, over a
websocket: first in a server that has just been started, then twice more. DIR is a demo workspace with the results
of its jobs; default: a new one.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import start_server, stop_server  # noqa: E402
from tests.material.lab_session import LabSession  # noqa: E402
from vocadapt.lab.demo import run_demo  # noqa: E402
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402

BOUND = 3.0
LARGEST = 1 << 20  # bytes of a file that is copied; larger ones are linked
SPREAD = timedelta(minutes=1)  # between the creation times of copies


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--artifacts", type=int, default=2000)
    parser.add_argument("--workspace", type=Path, help="a demo workspace; default: a new one")
    options = parser.parse_args()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "many")
        if options.workspace:
            shutil.copytree(options.workspace, workspace.root)
        else:
            for _ in run_demo(workspace):
                pass
        fill(workspace, options.artifacts)
        count = sum(len(workspace.artifacts(kind)) for kind in ARTIFACTS)
        size = sum(1 for _ in (workspace.root / "jobs").iterdir())
        print(f"{count:,} artifacts and {size:,} jobs")
        slowest = max(time_home(workspace.root, Path(folder)))
        print(f"command workspace list      {time_list(workspace.root):5.2f} s")
    print(
        f"slowest drawing of Home {slowest:.2f} s (budget {BOUND:g} s); load {os.getloadavg()[0]:.1f}"
    )
    return int(slowest > BOUND)


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


def time_home(workspace: Path, folder: Path) -> list[float]:
    """Return the seconds of three drawings of Home: the first visit of a new server, and two more."""
    server, address = start_server(workspace, folder)
    seconds = []
    try:
        session = LabSession(address)
        for name in ("first visit", "again", "again"):
            start = time.perf_counter()
            session.open_part("home")
            seconds.append(time.perf_counter() - start)
            print(f"Home, {name:20s}  {seconds[-1]:5.2f} s", flush=True)
        for part in ("storage", "jobs", "projection", "results"):
            start = time.perf_counter()
            session.open_part(part)
            print(f"{part:26s}  {time.perf_counter() - start:5.2f} s", flush=True)
        session.close()
    finally:
        stop_server(server)
    return seconds


def time_list(workspace: Path) -> float:
    """Return the seconds of `vocadapt workspace list` in a new process."""
    command = [sys.executable, "-m", "vocadapt", "workspace", "list", "--workspace", str(workspace)]
    start = time.perf_counter()
    subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
