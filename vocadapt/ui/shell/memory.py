"""A memory limit for the caches of the pages.

Streamlit limits each cache by its number of results. How much memory a result takes depends on the
models, and there are many caches, so their sum would be without a limit. Therefore a thread reads
the memory of the server every few seconds: above the limit, the caches are emptied, and the pages
compute or read again what they need.

When all visitors have left, nobody needs the caches of their sessions: after IDLE_SECONDS they are
emptied, too.

Memory that is not in these caches may itself reach the limit. The caches are therefore emptied
again only when the memory exceeds ROOM times what remained after the last time.
"""

import gc
import logging
import threading
import time
from contextlib import suppress
from typing import Any

import psutil

from vocadapt.lab.sharing import Sharing
from vocadapt.ui.shell.garbage_collection import return_free_memory

IDLE_SECONDS = 600.0  # without an open tab
ROOM = 1.25  # factor of the memory that remained after the caches were emptied
CHECK_EVERY = 3.0  # seconds
LOG = logging.getLogger(__name__)


class CacheLimit:
    """Empties the caches of the pages when this process takes more memory than its limit."""

    def __init__(self, limit_mb: float) -> None:
        self.set_limit(limit_mb)

    def set_limit(self, limit_mb: float) -> None:
        """Set the limit in megabytes."""
        self._limit = self._threshold = limit_mb * 1e6

    def empty_full_caches(self) -> bool:
        """Empty the caches if this process takes too much memory; return whether it did."""
        before = read_memory()
        # A threshold that was raised is lowered when less memory is used.
        self._threshold = max(self._limit, min(self._threshold, ROOM * before))
        if before <= self._threshold:
            return False
        empty_caches()
        after = read_memory()
        self._threshold = max(self._limit, ROOM * after)
        LOG.info("emptied the caches: %d of %d MB remain", after / 1e6, before / 1e6)
        return True


class IdleRelease:
    """Empties the caches once when no tab has been open for IDLE_SECONDS."""

    def __init__(self) -> None:
        self._left = 0.0  # when the last tab was open
        self._is_due = False

    def release_if_idle(self, sessions: int, now: float) -> bool:
        """Empty the caches if it is time; return whether it did.

        sessions: number of open tabs. now: seconds of a clock that never goes back.
        """
        if sessions:
            self._left, self._is_due = now, True
        if not self._is_due or now - self._left < IDLE_SECONDS:
            return False
        self._is_due = False
        empty_caches()
        LOG.info("emptied the caches: no tab is open, and %d MB remain", read_memory() / 1e6)
        return True


limit = CacheLimit(Sharing().memory_mb)  # the server sets it to its option


def start_checking() -> None:
    """Start the thread that empties the caches above the limit."""
    threading.Thread(target=_check_forever, name="memory", daemon=True).start()


def _check_forever() -> None:
    idle = IdleRelease()
    while True:
        limit.empty_full_caches()
        idle.release_if_idle(count_sessions(), time.monotonic())
        time.sleep(CHECK_EVERY)


def count_sessions() -> int:
    """Return the number of open tabs; forget the sessions of tabs that were closed a while ago."""
    from streamlit import runtime

    manager: Any = None
    if runtime.exists():
        manager = getattr(runtime.get_instance(), "_session_mgr", None)
    if manager is None:
        return 0
    with suppress(AttributeError, RuntimeError):  # changed meanwhile: at the next check
        manager._session_storage.list()
    return len(manager.list_active_sessions())


def read_memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(psutil.Process().memory_info().rss)


def empty_caches() -> None:
    """Empty the caches of the pages and that of predictions; return free memory to the system."""
    import streamlit as st

    from vocadapt.training.finetune.run_files import clear_predictions_cache

    st.cache_resource.clear()
    st.cache_data.clear()
    clear_predictions_cache()
    gc.unfreeze()  # include the objects that garbage_collection has frozen
    gc.collect()
    return_free_memory()
