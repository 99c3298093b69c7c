"""A pytest plugin for mutation tests: what makes thousands of short runs of pytest fast.

It imports the libraries before the process is copied for each mutant, runs quick tests first, and
leaves slow ones out.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import scipy.stats  # noqa: F401
import sklearn.metrics  # noqa: F401
import torch
import transformers.models.bert.modeling_bert  # noqa: F401

from tests.material.warm_process import WarmProcess, run_script

MAX_SECONDS = 2.0  # of a test, measured without a mutant on a busy machine
STATS = Path("mutmut-stats.json")

torch.set_num_threads(1)  # a copy of a process has none of its threads


def run_in_copy(
    self: WarmProcess, script: str, given: str = "", folder: Path = Path("/")
) -> "subprocess.CompletedProcess[str]":
    """Run a script in a copy of this process, without vocadapt, instead of in a warm process."""
    code = compile(script, "<string>", "exec")
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            for name in [name for name in sys.modules if name.partition(".")[0] == "vocadapt"]:
                del sys.modules[name]
            os.chdir(folder)
            sys.stdout, sys.stderr = out, err  # pytest captures what it has in their place
            run_script(code, given, out, err)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(["-c", script], status, out.read(), err.read())


WarmProcess.run_script = run_in_copy  # type: ignore[method-assign]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests by their seconds, and leave out slow ones."""
    if STATS.is_file():
        seconds = json.loads(STATS.read_text(encoding="utf-8"))["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
        items[:] = [item for item in items if seconds.get(item.nodeid, 0.0) < MAX_SECONDS] or items


def pytest_sessionfinish() -> None:
    """Let the garbage collector skip what is in memory: copies of this process share it."""
    gc.collect()
    gc.freeze()
