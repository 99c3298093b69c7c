"""What outlives a full collection that took long is set aside; garbage made later is still found."""

import gc
import weakref

import pytest

from vocadapt.ui import collection


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
    monkeypatch.setattr(collection, "LONG", 0)
    collection.keep_short()
    gc.collect()
    assert gc.get_freeze_count() > 10_000


def test_a_short_one_sets_nothing_aside(monkeypatch):
    monkeypatch.setattr(collection, "LONG", 600)
    collection.keep_short()
    gc.collect()
    assert gc.get_freeze_count() == 0


def test_collections_of_young_objects_set_nothing_aside(monkeypatch):
    monkeypatch.setattr(collection, "LONG", 0)
    collection.keep_short()
    gc.collect(1)
    assert gc.get_freeze_count() == 0


def test_garbage_is_found_afterwards(monkeypatch):
    monkeypatch.setattr(collection, "LONG", 0)
    collection.keep_short()
    gc.collect()
    node = Node()
    node.itself = node
    seen = weakref.ref(node)
    del node
    gc.collect()
    assert seen() is None


def test_a_second_call_changes_nothing():
    collection.keep_short()
    before = list(gc.callbacks)
    collection.keep_short()
    assert gc.callbacks == before
