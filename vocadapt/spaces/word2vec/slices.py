"""Slices of a text, trained in several threads with progress and cancellation."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread

from vocadapt.progress import Progress, duration
from vocadapt.spaces.word2vec.settings import TrainingSettings

SLICE = 50_000  # words per slice, which takes a fraction of a second
REPORT = 0.2  # seconds between two reports


@dataclass(frozen=True)
class TextSlice:
    """Consecutive lines: the offset of the first in its file, the number of words, and the size.

    offset and size are in bytes of a words file, or in numbers of a file of word ids.
    """

    offset: int
    words: int
    size: int = 0


def interleave_slices(slices: list[TextSlice], threads: int) -> list[TextSlice]:
    """Order the slices so that threads work in different parts of the text at any time.

    Neighboring slices contain the same words, and threads that update the same vectors at once lose
    some of the updates. Example, 2 threads: slices [0 1 2 3] -> [0 2 1 3].
    """
    per_thread = math.ceil(len(slices) / threads)
    return [part for first in range(per_thread) for part in slices[first::per_thread]]


def train_in_threads(
    train: Callable[[int, TextSlice], None],
    slices: list[TextSlice],
    settings: TrainingSettings,
    progress: Progress,
    epochs: range | None = None,
) -> None:
    """Train the slices in several threads, once per epoch, and report a few times per second.

    train: trains on a slice; slices are numbered continuously over all epochs. epochs: epochs to
    train in this call (default: all). Any exception, by a slice, by `progress` or by a signal,
    stops the threads after their current slice. The message is, for example: epoch 2 of 5, 740,000
    words/s, about 80 s left.
    """
    # This uses no executor: a signal may raise anywhere in the main thread, even while that has a
    # lock of the executor, and the executor's shutdown would then wait forever.
    # 1. All threads take slices from one iterator (a step of a list's iterator is atomic).
    epochs = epochs or range(settings.epochs)
    ordered = interleave_slices(slices, settings.threads) * len(epochs)
    waiting = iter(list(enumerate(ordered, start=epochs.start * len(slices))))
    done: SimpleQueue[int | BaseException] = SimpleQueue()
    stop = Event()

    def train_waiting_slices() -> None:
        """Train slices until none is left; put the words of each, or an exception, in `done`."""
        try:
            while not stop.is_set() and (task := next(waiting, None)):
                train(*task)
                done.put(task[1].words)
        except BaseException as error:
            done.put(error)

    words = sum(part.words for part in slices)
    total = words * settings.epochs
    before = trained = words * epochs.start
    start = time.perf_counter()
    last = start - REPORT
    threads = [Thread(target=train_waiting_slices, daemon=True) for _ in range(settings.threads)]
    try:
        for thread in threads:
            thread.start()
        while trained < words * epochs.stop:
            # 2. Wait for a slice, but briefly, because `progress` may cancel the training.
            with suppress(Empty):
                finished = done.get(timeout=REPORT)
                if isinstance(finished, BaseException):
                    raise finished
                trained += finished
            now = time.perf_counter()
            if now - last < REPORT and trained < words * epochs.stop:
                continue

            # 3. Report.
            last = now
            epoch = min(trained // words + 1, settings.epochs)
            message = f"epoch {epoch} of {settings.epochs}"
            progress(
                trained / total,
                message + _describe_speed(trained - before, total - trained, now - start),
            )
    finally:
        # 4. Wait for each thread to end after its slice. A thread without ident never started.
        stop.set()
        for thread in threads:
            if thread.ident:
                thread.join()


def _describe_speed(trained: int, remaining: int, seconds: float) -> str:
    """Describe speed and remaining time, for example: , 740,000 words/s, about 80 s left."""
    if not trained:
        return ""
    speed = trained / seconds
    return f", {speed:,.0f} words/s, about {duration(remaining / speed)} left"
