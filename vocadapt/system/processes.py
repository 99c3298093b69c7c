"""Child processes: those that end with their parent, and the environment of a new Python."""

import os
import threading
from multiprocessing import parent_process
from pathlib import Path

import vocadapt


def build_environment() -> dict[str, str]:
    """Return the environment of a new process, which imports this package from any folder."""
    package = str(Path(vocadapt.__file__).parents[1])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def end_with_parent() -> None:
    """End this process at once when its parent process has ended, even if that was killed."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
