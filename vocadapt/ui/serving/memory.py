"""A memory limit for the caches of the pages.

Streamlit limits each cache by its number of results. How much memory a result takes depends on the
models, and there are many caches, so their sum would be without a limit. Therefore a thread reads the
memory of the server every few seconds: above the limit, the caches are emptied, and the pages compute
or read again what they need.

Memory that is not in these caches may itself reach the limit. The caches are therefore emptied again
only when the memory exceeds ROOM times what remained after the last time.
"""

import gc
import logging
import threading
import time

import psutil

from vocadapt.lab.sharing import Sharing
from vocadapt.ui.serving.garbage_collection import return_free_memory

ROOM = 1.25  # factor of the memory that remained after the caches were emptied
CHECK_EVERY = 3.0  # seconds
LOG = logging.getLogger(__name__)


class CacheLimit:
    """Empties the caches of the pages when this process takes more memory than its limit."""

    def __init__(self, limit_mb: float) -> None:
        self._lock = threading.Lock()
        self.set_limit(limit_mb)

    def set_limit(self, limit_mb: float) -> None:
        """Set the limit in megabytes."""
        self._limit = self._threshold = limit_mb * 1e6

    def empty_full_caches(self) -> bool:
        """Empty the caches if this process takes too much memory; return whether it did."""
        with self._lock:
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


limit = CacheLimit(Sharing().memory_mb)  # the server sets it to its option


def start_checking() -> None:
    """Start the thread that empties the caches above the limit."""
    threading.Thread(target=_check_forever, name="memory", daemon=True).start()


def _check_forever() -> None:
    while True:
        limit.empty_full_caches()
        time.sleep(CHECK_EVERY)


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
