"""Memory of the server over many reruns of all pages: at most 5 % more at the end than after the
warm-up.

    python benchmarks/soak.py [--reruns 500] [--warm-up 600] [--workspace DIR]

Starts a real server on the demo with the results of its jobs (or on a copy of a workspace), and
visits it over a websocket as a browser does, without drawing. Each round opens every part of every
page, and changes random settings of it. Every 250 reruns the visitor closes the tab and opens a new one.
Printed is the resident memory of the server process after a full garbage collection.

The warm-up is long because the caches fill, up to their limits, as settings are visited.

Result on 28 November 2026 (two busy cores, demo workspace with the results of its jobs, seed 23): the
bound is not met. Reruns and MB: 100 1,538; 350 1,683; 600 1,806; 850 1,865; 1,100 2,104 (+17 % after
600; on 27 November +24 %, from 1,944 to 2,412).

The cause is neither the allocator (30 to 110 MB were free after 600 reruns) nor objects that are never
collected (9,142 of 784,000 were garbage): emptying the caches of `st.cache_resource` took the memory in
use from 1,364 to 365 MB. Largest were copies of matrices of embeddings, by setting: 294 MB of Diagnostics,
241 MB of aligned spaces, 155 MB of Initializers, 117 MB of models, 70 MB of Try it. Their limits are
smaller since then. A bound in bytes over all caches is missing.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import free_port, stop_server, wait_until_up  # noqa: E402
from tests.material.lab_session import LabSession, list_parts  # noqa: E402
from vocadapt.lab.demo import run_demo  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402

BOUND = 0.05
SEED = 23
CHANGES = 2  # settings changed on each part, one after the other
# The server with one addition: on SIGUSR1 it collects garbage and writes its resident memory.
SERVER = """
import gc, os, signal, sys, psutil
from vocadapt.ui.serving import garbage_collection, server

figure, arguments = sys.argv[1], sys.argv[2:]

def report(number, frame):
    gc.collect()
    garbage_collection.return_free_memory()
    rss = psutil.Process().memory_info().rss
    with open(figure + ".part", "w") as file:
        file.write(str(rss))
    os.replace(figure + ".part", figure)

signal.signal(signal.SIGUSR1, report)
sys.exit(server.main(arguments))
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reruns", type=int, default=500, help="measured reruns")
    parser.add_argument("--warm-up", type=int, default=600, help="reruns before the first figure")
    parser.add_argument("--tab", type=int, default=250, help="reruns of a tab until it is closed")
    parser.add_argument("--workspace", type=Path, help="a workspace; default: the demo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "soak"
        if options.workspace:
            shutil.copytree(options.workspace, workspace)
        else:
            for _ in run_demo(Workspace(workspace)):
                pass
        growth = soak(workspace, Path(folder), options.warm_up, options.reruns, options.tab)
    return int(growth > BOUND)


def soak(workspace: Path, folder: Path, warm_up: int, reruns: int, tab: int) -> float:
    """Rerun pages of a new server; print its memory and return its growth as a fraction."""
    port, figure = free_port(), folder / "memory"
    command = [sys.executable, "-c", SERVER, str(figure), "--no-browser", "--port", str(port)]
    command += ["--workspace", str(workspace)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(address, server)
        visitor = Visitor(address, tab)
        visitor.rerun(warm_up)
        first = read_memory(server, figure)
        print(f"after {visitor.count:4d} reruns (warm-up)  {first / 1e6:6.1f} MB", flush=True)
        last, quarter = first, max(1, reruns // 4)
        for _ in range(reruns // quarter):
            visitor.rerun(quarter)
            last = read_memory(server, figure)
            print(
                f"after {visitor.count:4d} reruns            {last / 1e6:6.1f} MB"
                f"  {last / first - 1:+.1%}",
                flush=True,
            )
        visitor.close()
    finally:
        stop_server(server)
    growth = last / first - 1
    parts = len(list_parts())
    print(
        f"{visitor.count} reruns of {parts} parts, {visitor.changed} with a changed setting,"
        f" {visitor.tabs} tabs: {growth:+.1%} (budget {BOUND:.0%}); seed {SEED}"
    )
    return growth


class Visitor:
    """Opens all parts in turn and changes their settings; counts its reruns."""

    def __init__(self, address: str, tab: int) -> None:
        self.address, self.tab, self.rng = address, tab, random.Random(SEED)
        self.count = self.changed = 0
        self.tabs = 1
        self.session = LabSession(address)
        self._steps = self._walk()

    def rerun(self, times: int) -> None:
        """Rerun pages this many times."""
        for _ in range(times):
            next(self._steps)

    def close(self) -> None:
        self.session.close()

    def _walk(self):  # type: ignore[no-untyped-def]
        while True:
            parts = list_parts()
            self.rng.shuffle(parts)
            for part in parts:
                if self.count >= self.tab * self.tabs:
                    self.session.close()
                    self.session = LabSession(self.address)
                    self.tabs += 1
                self.session.open_part(part)
                self.count += 1
                yield
                for _ in range(CHANGES):
                    if self.session.change_setting(self.rng):
                        self.count += 1
                        self.changed += 1
                        yield


def read_memory(server: subprocess.Popen, figure: Path) -> int:
    """Let the server collect garbage; return its resident memory in bytes."""
    time.sleep(1)  # the end of the last rerun
    figure.unlink(missing_ok=True)
    server.send_signal(signal.SIGUSR1)
    end = time.monotonic() + 60
    while not figure.exists():
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.05)
    return int(figure.read_text())


if __name__ == "__main__":
    sys.exit(main())
