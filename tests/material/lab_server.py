"""A server of the lab, started by a test."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-gpu-compositing",  # drawn by the processor anyway; WebGL stays
    "--force-prefers-reduced-motion",
]
# milliseconds: on a crowded machine a page takes long to come; how fast pages are is measured
# elsewhere
PATIENCE = 90_000


def absent(what: str) -> None:
    """Skip with the reason, except where everything must run."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


def start_server(workspace: Path, folder: Path, *options: str) -> tuple[subprocess.Popen, str]:
    """Start a server on a workspace, in a working folder that is not the repository: nothing may
    depend on standing there. Return it, and its address, when it answers.

    options: more options of the command line.
    """
    port = free_port()
    command = [sys.executable, *f"-m vocadapt.ui.shell.server --no-browser --port {port}".split()]
    command += ["--workspace", str(workspace), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(address, server)
    except BaseException:
        stop_server(server)
        raise
    return server, address


def stop_server(server: subprocess.Popen) -> None:
    server.terminate()
    server.wait(timeout=20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(address: str, server: subprocess.Popen, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, f"the server ended with {server.returncode}"
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).read()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"no server at {address} after {seconds} s")
