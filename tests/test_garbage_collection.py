"""Objects that survive a slow full collection are excluded from later ones; later garbage is
still collected."""

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from vocadapt.ui.shell import garbage_collection


class Node:
    """One end of a cycle."""


@pytest.fixture(autouse=True)
def undone():
    before = list(gc.callbacks)
    gc.unfreeze()
    yield
    gc.callbacks[:] = before
    gc.unfreeze()


def test_a_long_collection_sets_aside_what_outlived_it(monkeypatch):
    monkeypatch.setattr(garbage_collection, "SLOW_COLLECTION_SECONDS", 0)
    garbage_collection.shorten_collections()
    gc.collect()
    assert gc.get_freeze_count() > 10_000


def test_a_short_one_sets_nothing_aside(monkeypatch):
    monkeypatch.setattr(garbage_collection, "SLOW_COLLECTION_SECONDS", 600)
    garbage_collection.shorten_collections()
    gc.collect()
    assert gc.get_freeze_count() == 0


def test_collections_of_young_objects_set_nothing_aside(monkeypatch):
    monkeypatch.setattr(garbage_collection, "SLOW_COLLECTION_SECONDS", 0)
    garbage_collection.shorten_collections()
    gc.collect(1)
    assert gc.get_freeze_count() == 0


def test_garbage_is_found_afterwards(monkeypatch):
    monkeypatch.setattr(garbage_collection, "SLOW_COLLECTION_SECONDS", 0)
    garbage_collection.shorten_collections()
    gc.collect()
    node = Node()
    node.itself = node
    seen = weakref.ref(node)
    del node
    gc.collect()
    assert seen() is None


def test_a_cycle_that_was_frozen_in_use_is_freed_a_minute_later(monkeypatch):
    monkeypatch.setattr(garbage_collection, "SLOW_COLLECTION_SECONDS", 0)
    gc.callbacks[:] = [
        one for one in gc.callbacks if not isinstance(one, garbage_collection._FreezeSurvivors)
    ]
    garbage_collection.shorten_collections()
    node = Node()
    node.itself = node
    seen = weakref.ref(node)
    gc.collect()  # freezes it, because it is in use
    del node
    gc.collect()
    assert seen() is not None  # what this costs until the next collection of all objects
    monkeypatch.setattr(garbage_collection, "EXAMINE_EVERY", 0.0)
    gc.collect()
    assert seen() is None


def test_a_second_call_changes_nothing():
    garbage_collection.shorten_collections()
    before = list(gc.callbacks)
    garbage_collection.shorten_collections()
    assert gc.callbacks == before


def test_free_memory_is_returned_now_and_then(monkeypatch):
    returned = []
    monkeypatch.setattr(garbage_collection, "return_free_memory", lambda: returned.append(1))
    gc.callbacks[:] = [
        one for one in gc.callbacks if not isinstance(one, garbage_collection._FreezeSurvivors)
    ]
    garbage_collection.shorten_collections()
    for _ in range(5):
        gc.collect()
    assert len(returned) == 1
    monkeypatch.setattr(garbage_collection, "RETURN_EVERY", 0.0)
    gc.collect()
    gc.collect(1)
    assert len(returned) == 2


def test_memory_freed_by_a_thread_leaves_the_process():
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    if not hasattr(garbage_collection.LIBC, "malloc_trim") or not Path("/proc/self/statm").exists():
        pytest.skip("no glibc")

    def fill() -> None:
        kept.extend(
            b"x" * 60_000 + bytes([number % 256]) for number in range(2_000)
        )  # small enough for an arena

    kept: list[bytes] = []
    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
    last, full = kept[-1], resident()
    kept.clear()
    garbage_collection.return_free_memory()
    assert len(last) > 60_000 and full - resident() > 10_000  # pages: 40 of 120 MB


ALLOCATE = """
import ctypes, sys
import numpy as np
from vocadapt.ui.shell import garbage_collection

names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
figures = type("Figures", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_size_t) for name in names]})
read = garbage_collection.LIBC.mallinfo2  # of glibc's malloc.h
read.restype = figures
if sys.argv[1] == "shortened":
    garbage_collection.shorten_collections()
large = np.ones(garbage_collection.LARGE)  # 8 MB; by default, glibc then raises its threshold
del large
before = read().hblkhd
arrays = [np.ones(garbage_collection.LARGE // 4) for _ in range(5)]  # 2 MB each
print((read().hblkhd - before) // arrays[0].nbytes)
"""


@pytest.mark.skipif(
    not hasattr(garbage_collection.LIBC, "mallinfo2"), reason="needs glibc 2.33 or newer"
)
@pytest.mark.parametrize(("how", "arrays_apart"), [("shortened", 5), ("default", 0)])
def test_large_arrays_are_apart_from_the_arenas_also_after_one_was_freed(how, arrays_apart):
    # In a process of its own: in this one, free parts of the arenas may be large enough.
    done = subprocess.run(
        [sys.executable, "-c", ALLOCATE, how], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == arrays_apart
