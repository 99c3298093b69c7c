"""Memory of the server over many reruns of all pages: without its caches it hardly grows, and it stays
near the limit of the option `--memory-mb`.

Starts a real server on the demo with the results of its jobs, and visits it over a websocket as a
browser does, without drawing. Each round opens every part of every page, and changes random settings
of it. Every 250 reruns the visitor closes the tab and opens a new one.

The memory is the resident memory of the server process after a full garbage collection: as it is, and
with its caches emptied. Caches fill as settings are visited, which is no leak; the second figure shows
whether there is one. A long warm-up (--full) is needed because libraries are imported when a setting
first needs them. Large arrays are allocated apart from the arenas of glibc; before, 250 to 300 MB were
in use, and 500 MB were free in the arenas.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks._figures import Figure, run
from tests.material.lab_server import free_port, stop_server, wait_until_up
from tests.material.lab_session import LabSession, list_parts
from vocadapt.lab.demo import run_demo
from vocadapt.lab.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]
BOUND = 0.05
TAB = 250  # reruns of a tab until it is closed
MEMORY = 1500  # megabytes: the limit of the server
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


def measure(full: bool) -> Iterator[Figure]:
    """Rerun pages of a new server: 1,000 times as a warm-up and 500 times; without --full a tenth."""
    warm_up, reruns = (1000, 500) if full else (100, 50)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "soak"
        for _ in run_demo(Workspace(workspace)):
            pass
        first, last, used = soak(workspace, Path(folder), warm_up, reruns)
    note = f"after {warm_up} and {warm_up + reruns} reruns"
    yield Figure("without caches", (last,), "MB", (first,), "before", target=1 + BOUND, note=note)
    yield Figure("highest of ten", (max(used),), "MB", target=MEMORY * (1 + BOUND))


def soak(
    workspace: Path, folder: Path, warm_up: int, reruns: int
) -> tuple[float, float, list[float]]:
    """Return the megabytes without caches after the warm-up and at the end, and ten with them."""
    port, figure = free_port(), folder / "memory"
    sharing = json.dumps({"memory_mb": MEMORY})
    command = [sys.executable, "-c", SERVER, str(figure), "--no-browser", "--port", str(port)]
    command += ["--workspace", str(workspace), "--sharing", sharing]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    log = folder / "server.txt"
    with log.open("w") as file:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=file)
    address = f"http://127.0.0.1:{port}"
    used = []
    try:
        wait_until_up(address, server)
        visitor = Visitor(address, TAB)
        visitor.rerun(warm_up)
        first = read_memory(server, figure, signal.SIGUSR2)
        for _ in range(PARTS):
            visitor.rerun(max(1, reruns // PARTS))
            used.append(read_memory(server, figure, signal.SIGUSR1))
        last = read_memory(server, figure, signal.SIGUSR2)
        visitor.close()
    except AssertionError:
        print(log.read_text())  # the traceback of an error on a page
        raise
    finally:
        stop_server(server)
    return first, last, used


class Visitor:
    """Opens all parts in turn and changes their settings; counts its reruns."""

    def __init__(self, address: str, tab: int) -> None:
        self.address, self.tab, self.rng = address, tab, random.Random(SEED)
        self.count = 0
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
    sys.exit(run(measure))
