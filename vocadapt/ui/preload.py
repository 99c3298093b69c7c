"""Import what the page Try it needs while the visitor reads the first page.

torch and the BERT classes of transformers take some five seconds to import. The thread that imports them begins once the
first page is drawn, so that it slows no first page, and only if the workspace holds a run that could be tried: they take
some hundred megabytes.
"""

import importlib
import threading

from vocadapt.lab.workspace import Workspace

LIBRARIES = ("torch", "transformers.models.bert.modeling_bert")
PAUSE = 2.0  # seconds after the first page, in which the browser fetches its parts
_page_drawn = threading.Event()
_lock = threading.Lock()


def report_page_drawn() -> None:
    """Report that a page is drawn."""
    _page_drawn.set()


def start(workspace: Workspace) -> threading.Thread:
    """Start the thread that waits for the first page and then imports the libraries."""
    thread = threading.Thread(target=_import_libraries, args=(workspace,), name="warming", daemon=True)
    thread.start()
    return thread


def wait() -> None:
    """Wait until imports that have begun are done: two threads that import circular modules can meet half of one."""
    with _lock:
        pass


def _import_libraries(workspace: Workspace) -> None:
    _page_drawn.wait()
    threading.Event().wait(PAUSE)
    if not workspace.artefacts("runs"):
        return
    with _lock:
        for library in LIBRARIES:
            importlib.import_module(library)
