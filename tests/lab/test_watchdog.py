"""A block of lines that takes too long to tokenize ends its job with a message that names the
block."""

import json
import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.material import stuck_tokenizer
from tests.material.lab import wait_for
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.watchdog import find_slow_block
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.progress import report_block, watch_blocks
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import Splitter, count_words

LONG = 30.0  # seconds that no test waits for


def blocks_of(work) -> list[str | None]:
    """What is reported while something runs."""
    seen: list[str | None] = []
    watch_blocks(seen.append)
    try:
        work()
    finally:
        watch_blocks(None)
    return seen


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield read, write
    os.close(read)


def write_block(end: int, block: str | None) -> None:
    os.write(end, json.dumps(block).encode() + b"\n")


def test_a_block_that_takes_too_long_is_named(pipe):
    read, write = pipe
    write_block(write, "text.txt, lines 1 to 9")
    assert find_slow_block(read, os.getpid(), 0.1) == "text.txt, lines 1 to 9"
    os.close(write)


def test_time_counts_from_the_beginning_of_each_block_and_not_between_blocks(pipe):
    read, write = pipe
    found: list[str | None] = []
    watcher = threading.Thread(target=lambda: found.append(find_slow_block(read, os.getpid(), 0.5)))
    watcher.start()
    for number in range(4):  # together longer than the limit
        write_block(write, f"block {number}")
        time.sleep(0.2)
    write_block(write, None)
    time.sleep(0.8)  # a training step, say
    assert watcher.is_alive()
    os.close(write)
    watcher.join(LONG)
    assert found == [None]


def test_a_count_reports_each_block_with_its_file_and_lines(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("the heart\n" * 3)
    corpus = open_corpus([tmp_path / "a.txt", tmp_path / "b.txt"])
    seen = blocks_of(lambda: count_words(corpus, Splitter.bert()))
    assert len(seen) == 2 and seen[1] is None
    assert f"{tmp_path}/a.txt, lines 1 to 3" in seen[0] and "b.txt, lines 1 to 3" in seen[0]


def test_inside_a_block_that_names_the_file_nothing_else_is_reported():
    def work() -> None:
        with report_block("outer"), report_block("inner"):
            pass

    assert blocks_of(work) == ["outer", None]


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_job_whose_tokenizer_never_comes_back_fails_and_names_the_lines(
    tmp_path, text, tiny_bert, monkeypatch
):
    monkeypatch.setattr(queue, "WORKER", (stuck_tokenizer.__file__,))
    job = queue.start(
        Workspace(tmp_path / "w"), Spec(VectorsStep(), {"text": text, "model": tiny_bert}), "v"
    )
    status = wait_for(job, "failed", LONG)
    assert str(text) in status.error and "lines 1 to" in status.error and "0.3 s" in status.error
    assert "leave them out" in status.remedy
    end = time.monotonic() + LONG
    while is_running(status.pid):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert job.status().state == "failed"
    assert not job.target.exists()
