"""One limit of memory for all caches of the pages.

Streamlit limits each cache by its number of results. How much memory a result takes depends on the
models, and there are many caches, so their sum would be without a limit. Therefore the memory of the
server is read before each run of a page: above the limit, all caches are emptied, and the pages
compute or read again what they need.

Not everything is in caches: what remains may be close to the limit, or above it. The caches may
therefore always grow by a part of what remained the last time.
"""

import gc
import logging
import threading

import psutil

from vocadapt.lab.sharing import Sharing
from vocadapt.ui.serving.garbage_collection import return_free_memory

ROOM = 1.25  # times what remained when the caches were emptied
LOG = logging.getLogger(__name__)


class CacheLimit:
    """Empties the caches of the pages when this process takes more memory than allowed."""

    def __init__(self, limit_mb: float) -> None:
        self._lock = threading.Lock()
        self.set_limit(limit_mb)

    def set_limit(self, limit_mb: float) -> None:
        """Allow this process so many megabytes."""
        self._limit = self._allowed = limit_mb * 1e6

    def empty_full_caches(self) -> bool:
        """Empty all caches if this process takes more memory than allowed; return whether it did."""
        if read_memory() <= self._allowed:
            return False
        with self._lock:
            before = read_memory()
            if before <= self._allowed:  # another visit emptied them meanwhile
                return False
            empty_caches()
            after = read_memory()
            self._allowed = max(self._limit, ROOM * after)
        LOG.info("emptied the caches: %d of %d MB remain", after / 1e6, before / 1e6)
        return True


limit = CacheLimit(Sharing().memory_mb)  # the server changes it to that of its option


def read_memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(psutil.Process().memory_info().rss)


def empty_caches() -> None:
    """Empty the caches of the pages and that of predictions; return free memory to the system."""
    import streamlit as st

    from vocadapt.training.finetune.run_files import forget_predictions

    st.cache_resource.clear()
    st.cache_data.clear()
    forget_predictions()
    gc.unfreeze()  # what was in use when garbage_collection excluded it
    gc.collect()
    return_free_memory()
