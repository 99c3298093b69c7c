"""Above the limit of memory, the caches of the pages are emptied; below it, they are kept."""

import time

import numpy as np
import pytest
import streamlit as st

from vocadapt.training.finetune import run_files
from vocadapt.ui.shell import memory
from vocadapt.ui.shell.memory import ROOM, CacheLimit

calls: list[int] = []


@st.cache_resource
def make_matrix(rows: int) -> np.ndarray:
    """Return a matrix of 1 MB for each row."""
    return np.ones((rows, 125_000))


@st.cache_data
def make_list(length: int) -> list[int]:
    """Return a list; record the call."""
    calls.append(length)
    return list(range(length))


class Memory:
    """Simulated memory of the process, in megabytes."""

    def __init__(self) -> None:
        self.used = 3_000.0
        self.remains = 800.0  # when the caches are empty


@pytest.fixture
def process(monkeypatch):
    process = Memory()
    empty = memory.empty_caches

    def empty_caches() -> None:
        empty()
        process.used = process.remains

    monkeypatch.setattr(memory, "read_memory", lambda: process.used * 1e6)
    monkeypatch.setattr(memory, "empty_caches", empty_caches)
    yield process
    st.cache_resource.clear()
    st.cache_data.clear()


def test_the_caches_are_kept_below_the_limit(process):
    kept = make_matrix(1)
    assert not CacheLimit(3_000).empty_full_caches()
    assert make_matrix(1) is kept


def test_all_caches_are_emptied_above_the_limit(process):
    matrix, _ = make_matrix(1), make_list(3)
    assert CacheLimit(2_999).empty_full_caches()
    before = len(calls)
    assert make_matrix(1) is not matrix
    assert make_list(3) == [0, 1, 2] and len(calls) == before + 1


def test_what_remains_does_not_empty_the_caches_at_every_run(process):
    process.remains = 2_800.0
    limit = CacheLimit(1_000)
    assert limit.empty_full_caches()
    assert not limit.empty_full_caches()
    process.used = 2_800.0 * ROOM + 1
    assert limit.empty_full_caches()


def test_the_limit_holds_again_when_less_remains(process):
    process.remains = 2_800.0
    limit = CacheLimit(1_000)
    limit.empty_full_caches()
    process.used, process.remains = 4_000.0, 500.0
    limit.empty_full_caches()
    process.used = 1_001.0
    assert limit.empty_full_caches()


def test_memory_is_given_back():
    make_matrix(200)
    before = memory.read_memory()
    memory.empty_caches()
    assert before - memory.read_memory() > 150e6


def test_the_cache_of_predictions_is_emptied(monkeypatch):
    cleared: list[bool] = []
    monkeypatch.setattr(run_files, "clear_predictions_cache", lambda: cleared.append(True))
    memory.empty_caches()
    assert cleared == [True]


def test_the_memory_is_checked_again_and_again(process, monkeypatch):
    monkeypatch.setattr(memory, "CHECK_EVERY", 0.01)
    monkeypatch.setattr(memory, "limit", CacheLimit(2_000))
    memory.start_checking()
    for used in (2_500.0, 3_500.0):
        process.used = used
        wait_until(lambda: process.used == process.remains)


def wait_until(condition) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_caches_are_emptied_once_when_all_tabs_are_closed_for_a_while(process):
    idle, kept = memory.IdleRelease(), make_matrix(1)
    assert not idle.release_if_idle(0, 10_000.0)  # nobody was there
    assert not idle.release_if_idle(2, 10_000.0)
    assert not idle.release_if_idle(0, 10_000.0 + memory.IDLE_SECONDS - 1)
    assert make_matrix(1) is kept
    assert idle.release_if_idle(0, 10_000.0 + memory.IDLE_SECONDS)
    assert make_matrix(1) is not kept
    assert not idle.release_if_idle(0, 90_000.0)
    assert not idle.release_if_idle(1, 90_000.0)
    assert idle.release_if_idle(0, 91_000.0)
