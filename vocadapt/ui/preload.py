"""Import the libraries of the page Try it in the background.

torch and the BERT classes of transformers take about five seconds to import, and some hundred megabytes. The import starts
after the first page is drawn, so as not to slow it, and only if the workspace has a run to try.
"""

import importlib
import threading

from vocadapt.lab.workspace import Workspace

LIBRARIES = ("torch", "transformers.models.bert.modeling_bert")
PAUSE = 2.0  # seconds after the first page, in which the browser loads its resources
_page_drawn = threading.Event()
_lock = threading.Lock()
_needed = threading.Event()  # somebody imports them: the thread does not begin any more


def report_page_drawn() -> None:
    """Report that a page has been drawn."""
    _page_drawn.set()


def start(workspace: Workspace) -> threading.Thread:
    """Start the thread that waits for the first page and then imports the libraries."""
    thread = threading.Thread(target=_import_libraries, args=(workspace,), name="preload", daemon=True)
    thread.start()
    return thread


def wait() -> None:
    """Wait for the end of a running import, and begin no other: the caller imports the libraries itself.

    Two threads importing circular modules can see an incomplete one.
    """
    with _lock:
        _needed.set()


def _import_libraries(workspace: Workspace) -> None:
    _page_drawn.wait()
    threading.Event().wait(PAUSE)
    if not workspace.artefacts("runs"):
        return
    with _lock:
        if _needed.is_set():
            return
        for library in LIBRARIES:
            importlib.import_module(library)
