"""Import the libraries of the page Try it in the background.

Importing torch and the BERT classes of transformers takes about five seconds and some hundred
megabytes. The import starts only if the workspace has a run or an adapted model to try: immediately
if a browser requests the page Try it, otherwise some seconds after the first page is drawn, to
avoid delaying it.
"""

import importlib
import threading
from contextlib import suppress

from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.ui.state.guard import Application, Scope

PATH = "/try_it"
LIBRARIES = ("torch", "transformers.models.bert.modeling_bert")
# seconds after the first page, in which the browser loads its resources and draws the figures
PAUSE = 6.0
_page_drawn = threading.Event()
_requested = threading.Event()  # a browser requested the page Try it: no pause
_lock = threading.Lock()
_needed = threading.Event()  # a page imports the libraries itself: this thread must not


def report_page_drawn() -> None:
    """Report that a page has been drawn."""
    _page_drawn.set()


class RequestWatcher:
    """ASGI middleware that starts the import when a browser requests the page Try it, before the
    page runs.
    """

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Application, send: Application) -> None:
        """Forward a request."""
        if scope["type"] == "http" and scope["path"] == PATH:
            _requested.set()
            _page_drawn.set()
        await self.app(scope, receive, send)


def start(workspace: Workspace) -> threading.Thread:
    """Start the thread that waits for the first page and then imports the libraries."""
    thread = threading.Thread(
        target=_import_libraries, args=(workspace,), name="preload", daemon=True
    )
    thread.start()
    return thread


def wait() -> None:
    """Wait for the end of a running import, or prevent it: the caller imports the libraries itself.

    If two threads import modules with circular imports, one of them can see an incomplete module.
    """
    with _lock:
        _needed.set()


def _import_libraries(workspace: Workspace) -> None:
    _page_drawn.wait()
    _requested.wait(PAUSE)
    with suppress(InputError):  # of a workspace that cannot be read: the pages report it
        if not workspace.artifacts("runs") and not list_adapted_models(workspace):
            return
    with _lock:
        if _needed.is_set():
            return
        for library in LIBRARIES:
            importlib.import_module(library)
