"""Garbage collection that does not delay responses.

Streamlit runs a full collection after every run of a page, before the response is sent. With torch,
transformers and plotly loaded, this takes .1–.2 s, mostly to examine objects of these libraries
that are still in use. They are therefore frozen: excluded from later collections. What else was
alive at that moment is frozen, too, such as the figures of the page and the session of its visitor,
and these are cycles, so they would stay in memory forever. Therefore all objects are examined again
once a minute.

Each visit runs in its own thread. glibc allocates separate arenas for threads and keeps their freed
memory, so the memory of the server would grow with every visit. Therefore the number of arenas is
limited, and free memory is returned to the system. Large arrays are not allocated in arenas at all:
glibc would do so after the first of them was freed, and each would leave a hole that small objects
keep from being returned.
"""

import ctypes
import gc
import time
from collections.abc import Mapping

SLOW_COLLECTION_SECONDS = 0.02  # a longer full collection freezes the objects that survived it
OLDEST = 2  # the generation of a full collection
EXAMINE_EVERY = 60.0  # seconds between two collections of all objects
RETURN_EVERY = 10.0  # seconds
LIBC = ctypes.CDLL(None)
M_ARENA_MAX, ARENAS = -8, 2  # of glibc's malloc.h
M_MMAP_THRESHOLD, LARGE = -3, 1 << 20  # bytes from which an allocation is apart from the arenas


class _FreezeSurvivors:
    """Callback that freezes the surviving objects after a slow full collection.

    Later collections examine only new objects, for EXAMINE_EVERY seconds. Frozen objects are freed
    when their reference count becomes 0, but reference cycles among them are found only by the
    collection after that.
    """

    began = returned = examined = 0.0

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] != OLDEST:
            return
        if phase == "start":
            if time.monotonic() - self.examined > EXAMINE_EVERY:
                self.examined = time.monotonic()
                gc.unfreeze()
            self.began = time.perf_counter()
            return
        if time.perf_counter() - self.began > SLOW_COLLECTION_SECONDS:
            gc.freeze()
        if time.monotonic() - self.returned > RETURN_EVERY:
            self.returned = time.monotonic()
            return_free_memory()


def shorten_collections() -> None:
    """Make full collections of this process fast and limit its memory; idempotent."""
    if not any(isinstance(one, _FreezeSurvivors) for one in gc.callbacks):
        gc.callbacks.append(_FreezeSurvivors())
        if hasattr(LIBC, "mallopt"):
            LIBC.mallopt(M_ARENA_MAX, ARENAS)
            LIBC.mallopt(M_MMAP_THRESHOLD, LARGE)


def return_free_memory() -> None:
    """Return freed memory to the system; do nothing if the C library is not glibc."""
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)
