"""A workspace of 2,000 artifacts: seconds until Home is drawn (budget 3 s) and every other part (5 s),
and of the command `workspace list` (2 s), each with the processor seconds.

    python benchmarks/many_artifacts.py [--artifacts 2000] [--workspace DIR]

Copies the artifacts of the demo under new names, each with a creation time of its own, as if they had
been made one after the other; a tenth of them as jobs, too. Every part is drawn by a real server, over a
websocket: first in a server that has just been started, then once more. DIR is a demo workspace with the
results of its jobs; default: a new one.
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

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.material.lab_server import start_server, stop_server  # noqa: E402
from tests.material.lab_session import LabSession, list_parts  # noqa: E402
from vocadapt.lab.demo import run_demo  # noqa: E402
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402
from vocadapt.ui.state.pages import PAGE_OF_PART  # noqa: E402

BUDGET = 5.0  # seconds of a part
BUDGETS = {"home": 3.0, "workspace list": 2.0}
LARGEST = 1 << 20  # bytes of a file that is copied; larger ones are linked
SPREAD = timedelta(minutes=1)  # between the creation times of copies


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--artifacts", type=int, default=2000)
    parser.add_argument("--workspace", type=Path, help="a demo workspace; default: a new one")
    options = parser.parse_args()
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
        slowest = time_parts(workspace.root, Path(folder))
        slowest["workspace list"] = time_list(workspace.root)
    late = [
        f"{name} {seconds:.2f} s (budget {BUDGETS.get(name, BUDGET):g} s)"
        for name, seconds in slowest.items()
        if seconds > BUDGETS.get(name, BUDGET)
    ]
    print(f"above the budget: {', '.join(late) or 'none'}; load {os.getloadavg()[0]:.1f}")
    return int(bool(late))


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


def time_parts(workspace: Path, folder: Path) -> dict[str, float]:
    """Print the seconds of two drawings of every part, by a new server; return the slowest of each.

    The processor seconds are those of the server.
    """
    slowest: dict[str, float] = {}
    server, address = start_server(workspace, folder)
    process = psutil.Process(server.pid)
    try:
        session = LabSession(address)
        for name in ("first visit", "again"):
            # A page's parts apart from each other: a link opens another page.
            for part in sorted(list_parts(), key=find_place_on_page):
                used, start = measure_used(process), time.perf_counter()
                session.open_part(part)
                seconds = time.perf_counter() - start
                slowest[part] = max(seconds, slowest.get(part, 0.0))
                used = measure_used(process) - used
                print(f"{part:15s} {name:11s} {seconds:6.2f} s, {used:6.2f} CPU s", flush=True)
        session.close()
    finally:
        stop_server(server)
    return slowest


def find_place_on_page(part: str) -> int:
    """Return the place of a part among the tabs of its page."""
    return [one.name for one in PAGE_OF_PART[part].parts].index(part)


def measure_used(process: psutil.Process) -> float:
    """Return the processor seconds that a process has used so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def time_list(workspace: Path) -> float:
    """Print and return the seconds of `vocadapt workspace list` in a new process."""
    command = [sys.executable, "-m", "vocadapt", "workspace", "list", "--workspace", str(workspace)]
    before, start = os.times(), time.perf_counter()
    subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, check=True
    )
    seconds, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    print(f"command workspace list      {seconds:6.2f} s, {used:6.2f} CPU s")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
