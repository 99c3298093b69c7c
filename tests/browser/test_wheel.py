"""The wheel, installed into an empty environment: its two commands, and all pages in a browser."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.material.browser import ADDRESSES, check_first_visit
from tests.material.lab_server import ROOT, free_port, stop_server, wait_until_up
from tests.material.sources import read_pins

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> Path:
    """The folder of the commands of an environment that has the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("empty")
    python = [sys.executable, "-m"]
    build = [*python, "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    subprocess.run([*python, "venv", str(folder / "environment")], check=True)
    bin_folder = folder / "environment" / "bin"
    wheel = next(folder.glob("*.whl"))
    # torch first, as in the Makefile: its build for processors alone is much smaller.
    for packages in ([f"torch=={read_pins()['torch']}"], [str(wheel)]):
        subprocess.run(
            # Isolated, pip downloads: the guard of the network does not reach it.
            [str(bin_folder / "python"), "-I", "-m", "pip", "install", "--quiet", *packages],
            check=True,
            capture_output=True,
        )
    return bin_folder


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command outside of the repository."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_core_install_is_without_numba(commands, tmp_path):
    code = "import sys, vocadapt; print(sys.prefix in vocadapt.__file__); import numba"
    result = run([str(commands / "python"), "-c", code], tmp_path)
    assert result.stdout == "True\n" and "No module named 'numba'" in result.stderr
    refused = run(
        [
            *(str(commands / "vocadapt"), "project", "--method", "umap", "--around", "cancer"),
            *("--model", str(ROOT / "assets/demo/models/demo-bert"), "--out", "picture"),
        ],
        tmp_path,
    )
    assert refused.returncode == 2 and "pip install 'vocadapt[umap]'" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_demo_is_made_and_every_page_opens(commands, tmp_path, page):
    # 1. The demo, in another folder than the repository.
    made = run([str(commands / "vocadapt"), "demo", "--out", "W"], tmp_path)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "W/models/demo-adapted/model.safetensors").is_file()

    # 2. The lab.
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(commands / "vocadapt"), "app", "--workspace", "W", "--no-browser"]
    server = subprocess.Popen(
        [*command, "--port", str(port)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_up(address, server)
        for path in ADDRESSES:
            page.goto(f"{address}/{path}")
            check_first_visit(page)
    finally:
        stop_server(server)
