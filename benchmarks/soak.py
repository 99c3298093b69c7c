"""Memory of the server over many reruns of all pages: without its caches it grows by at most 5 %, and
at ten measurements it is at most 5 % above the limit of the option `--memory-mb`.

    python benchmarks/soak.py [--reruns 500] [--warm-up 1000] [--memory-mb 1500] [--workspace DIR]

Starts a real server on the demo with the results of its jobs (or on a copy of a workspace), and
visits it over a websocket as a browser does, without drawing. Each round opens every part of every
page, and changes random settings of it. Every 250 reruns the visitor closes the tab and opens a new one.

Printed is the resident memory of the server process after a full garbage collection: as it is, and
with its caches emptied. Caches fill as settings are visited, which is no leak; the second figure shows
whether there is one. The warm-up is long because libraries are imported when a setting first needs
them.

Result on 28 November 2026 (two busy cores, demo workspace with the results of its jobs, seed 23): both
bounds are met. Without caches 1,049 MB after 1,000 reruns and 1,053 after 1,500 (+.3 %); with them at
most 1,501 MB.

Before large arrays were allocated apart from the arenas of glibc, it was 994, 1,043 and 1,091 MB without
caches after 750, 1,000 and 1,250 reruns: 250 to 300 MB were in use, and 500 MB were free in the arenas.
"""

import argparse
import json
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

from tests.material.lab_server import free_port, stop_server, wait_until_up  # noqa: E402
from tests.material.lab_session import LabSession, list_parts  # noqa: E402
from vocadapt.lab.demo import run_demo  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402

BOUND = 0.05
SEED = 23
PARTS = 10  # measurements with caches
CHANGES = 2  # settings changed on each part, one after the other
# The server with one addition: on SIGUSR1 it collects garbage and writes its resident memory; on
# SIGUSR2 it empties its caches first.
SERVER = """
import gc, os, signal, sys, psutil
from vocadapt.ui.shell import garbage_collection, memory, server

figure, arguments = sys.argv[1], sys.argv[2:]

def report(number, frame):
    if number == signal.SIGUSR2:
        memory.empty_caches()
    gc.unfreeze()
    gc.collect()
    garbage_collection.return_free_memory()
    rss = psutil.Process().memory_info().rss
    with open(figure + ".part", "w") as file:
        file.write(str(rss))
    os.replace(figure + ".part", figure)

signal.signal(signal.SIGUSR1, report)
signal.signal(signal.SIGUSR2, report)
sys.exit(server.main(arguments))
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reruns", type=int, default=500, help="measured reruns")
    parser.add_argument("--warm-up", type=int, default=1000, help="reruns before the first figure")
    parser.add_argument("--tab", type=int, default=250, help="reruns of a tab until it is closed")
    parser.add_argument("--memory-mb", type=int, default=1500, help="limit of the server")
    parser.add_argument("--workspace", type=Path, help="a workspace; default: the demo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "soak"
        if options.workspace:
            shutil.copytree(options.workspace, workspace)
        else:
            for _ in run_demo(Workspace(workspace)):
                pass
        return int(not soak(workspace, Path(folder), options))


def soak(workspace: Path, folder: Path, options: argparse.Namespace) -> bool:
    """Rerun pages of a new server and print its memory; return whether both bounds hold."""
    port, figure = free_port(), folder / "memory"
    sharing = json.dumps({"memory_mb": options.memory_mb})
    command = [sys.executable, "-c", SERVER, str(figure), "--no-browser", "--port", str(port)]
    command += ["--workspace", str(workspace), "--sharing", sharing]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    log = folder / "server.txt"
    with log.open("w") as file:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=file)
    address = f"http://127.0.0.1:{port}"
    highest = 0.0
    try:
        wait_until_up(address, server)
        visitor = Visitor(address, options.tab)
        visitor.rerun(options.warm_up)
        first = read_memory(server, figure, signal.SIGUSR2)
        print(
            f"after {visitor.count:4d} reruns: {first:5.0f} MB without caches (warm-up)", flush=True
        )
        for _ in range(PARTS):
            visitor.rerun(max(1, options.reruns // PARTS))
            used = read_memory(server, figure, signal.SIGUSR1)
            highest = max(highest, used)
            print(f"after {visitor.count:4d} reruns: {used:5.0f} MB", flush=True)
        last = read_memory(server, figure, signal.SIGUSR2)
        visitor.close()
    except AssertionError:
        print(log.read_text())  # the traceback of an error on a page
        raise
    finally:
        stop_server(server)
    growth = last / first - 1
    print(
        f"after {visitor.count:4d} reruns: {last:5.0f} MB without caches, {growth:+.1%} (bound {BOUND:.0%})"
    )
    print(f"highest: {highest:.0f} MB (limit {options.memory_mb})")
    print(
        f"{visitor.count} reruns of {len(list_parts())} parts, {visitor.changed} with a changed setting,"
        f" {visitor.tabs} tabs; seed {SEED}"
    )
    return growth <= BOUND and highest <= options.memory_mb * (1 + BOUND)


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


def read_memory(server: subprocess.Popen, figure: Path, number: signal.Signals) -> float:
    """Let the server collect garbage by a signal; return its resident memory in megabytes."""
    time.sleep(1)  # the end of the last rerun
    figure.unlink(missing_ok=True)
    server.send_signal(number)
    end = time.monotonic() + 60
    while not figure.exists():
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.05)
    return int(figure.read_text()) / 1e6


if __name__ == "__main__":
    sys.exit(main())
