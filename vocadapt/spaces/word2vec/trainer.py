"""Training of word vectors by gensim's word2vec, slice by slice, with progress and cancellation.

gensim trains on a file for a whole epoch per call. It cannot report progress or stop within an
epoch, and with several threads its learning rate jumps at every epoch and it splits the file at
arbitrary bytes. Here the file is split into slices of whole lines. Each slice is one call of
gensim's compiled trainer with its own learning rate, and all threads take slices from one queue.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np

from vocadapt.cores import count_cores
from vocadapt.errors import InputError
from vocadapt.progress import Progress, duration, silent
from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.words import WordCounts

if TYPE_CHECKING:
    from gensim.models import Word2Vec

BATCH = 10_000  # words: gensim's trainer takes lines until it has more than this (MAX_SENTENCE_LEN)
SLICE = 5 * BATCH  # words per call of the trainer, which takes a fraction of a second
REPORT = 0.2  # seconds between two reports


@dataclass(frozen=True)
class Word2VecSettings(CheckedSettings):
    """Settings of word2vec training; the defaults are word2vec's own, CBOW with negative sampling
    (Mikolov et al. 2013).

    With one thread, training is bit-reproducible.
    """

    dim: int = setting(
        0,
        "dimension of the vectors",
        high=20_000,
        label="Dimension",
        empty="the model's own",
    )
    window: int = setting(5, "context words on either side", low=1, high=1_000)
    min_count: int = setting(
        5, "minimum number of occurrences: rarer words get no vector", low=1, label="Min count"
    )
    negative: int = setting(
        5, "negative samples for each word", low=1, high=1_000, label="Negative samples"
    )
    skip_gram: bool = setting(
        False, "train skip-gram instead of CBOW", label="Skip-gram instead of CBOW"
    )
    alpha: float = setting(
        0.025, "initial learning rate", low=ABOVE_ZERO, high=1, label="Learning rate"
    )
    epochs: int = setting(5, "passes over the text", low=1, high=100_000)
    sample: float = setting(
        1e-3,
        "threshold above which frequent words are downsampled",
        high=1,
        flag="--subsample",
        label="Subsampling threshold",
    )
    seed: int = setting(1, "random seed of the training", high=MAX_SEED)
    workers: int = setting(
        0, "threads; 1: bit-reproducible", high=256, label="Threads", empty="all cores"
    )

    @property
    def threads(self) -> int:
        """Number of threads: `workers`, or one for each core that this process may use."""
        return self.workers or count_cores()


@dataclass(frozen=True)
class TextSlice:
    """Consecutive lines of the words file: byte offset of the first, and number of words."""

    offset: int
    words: int


def train_word2vec(
    sentences: Path, counts: WordCounts, settings: Word2VecSettings, progress: Progress = silent
) -> EmbeddingSpace:
    """Train word vectors on a words file (`write_sentences`) whose words are counted in `counts`.

    Returns a space of the words that occur at least `min_count` times, most frequent first, with
    vectors (words, dim) float32 and counts. Raises InputError if there is no such word, if the file
    is empty, and if `settings.dim` is 0.
    """
    if not settings.dim:
        raise InputError(
            "The dimension of the word vectors is unknown.",
            "Give dim, or a model whose dimension to use.",
        )
    # 1. The vocabulary, and the slices of the text.
    words = _select_frequent_words(counts, settings.min_count)
    slices = split_into_slices(sentences)
    if not slices:
        raise InputError(
            f"{sentences}: the words file is empty.", "Write it from a text that contains words."
        )

    # 2. Train.
    with _quiet_gensim():
        from gensim.models import Word2Vec

        model = Word2Vec(
            vector_size=settings.dim,
            window=settings.window,
            min_count=1,
            negative=settings.negative,
            sg=int(settings.skip_gram),
            alpha=settings.alpha,
            sample=settings.sample,
            seed=settings.seed,
            sorted_vocab=0,
            workers=1,
        )
        model.build_vocab_from_freq(words)
        _train_epochs(model, sentences, slices, settings, progress)
    if not np.isfinite(model.wv.vectors).all():
        raise InputError(
            "The training diverged: the word vectors are not finite.",
            f"Lower the learning rate (it is {settings.alpha:g}).",
        )
    return EmbeddingSpace(
        tuple(words),
        model.wv.vectors,
        np.array(list(words.values()), dtype=np.int64),
        name="word2vec",
    )


def estimate_word2vec_seconds(counts: WordCounts, settings: Word2VecSettings) -> float:
    """Estimate the seconds of `train_word2vec` from dimension, window, negatives and threads.

    Calibrated on a 2.5 GHz core; another machine may be twice as fast or slow.
    """
    # Average number of vectors read per word: the window shrinks at random. 12 by default.
    contexts, targets = settings.window + 1, settings.negative + 1
    rows = contexts + targets
    if settings.skip_gram:
        rows = 2 * contexts * targets
    microseconds = 1.7 + 4.6e-3 * settings.dim * rows / 12
    speed_up = 1 + 0.83 * (settings.threads - 1)
    return count_trained_words(counts, settings) * settings.epochs * microseconds * 1e-6 / speed_up


def count_trained_words(counts: WordCounts, settings: Word2VecSettings) -> float:
    """Return the expected running words per epoch, after `min_count` and subsampling."""
    occurrences = np.array(
        [count for count in counts.counts.values() if count >= settings.min_count], dtype=np.float64
    )
    if settings.sample:
        ratio = occurrences / (settings.sample * occurrences.sum())
        occurrences = occurrences * np.minimum(1, (np.sqrt(ratio) + 1) / ratio)
    return float(occurrences.sum())


def split_into_slices(sentences: Path) -> list[TextSlice]:
    """Split a words file into slices of just over 50 000 words that end where gensim ends a batch."""
    slices: list[TextSlice] = []
    start = offset = words = batch = 0
    with sentences.open("rb") as file:
        for line in file:
            length = len(line.split())
            offset, words, batch = offset + len(line), words + length, batch + length
            # gensim ends a batch here: a slice that ended elsewhere would end with a small batch.
            if batch > BATCH:
                batch = 0
                if words > SLICE:
                    slices.append(TextSlice(start, words))
                    start, words = offset, 0
    if words:
        slices.append(TextSlice(start, words))
    return slices


def interleave_slices(slices: list[TextSlice], threads: int) -> list[TextSlice]:
    """Order the slices so that threads work in different parts of the text at any time.

    Neighboring slices contain the same words, and threads that update the same vectors at once lose
    some of the updates. Example, 2 threads: slices [0 1 2 3] -> [0 2 1 3].
    """
    per_thread = math.ceil(len(slices) / threads)
    return [part for first in range(per_thread) for part in slices[first::per_thread]]


def _select_frequent_words(counts: WordCounts, min_count: int) -> dict[str, int]:
    """Return the words that get a vector, most frequent first, with their counts.

    Raises InputError if there are none.
    """
    frequent = {word: count for word, count in counts.counts.items() if count >= min_count}
    if not frequent:
        highest = max(counts.counts.values(), default=0)
        remedy = "Give a text that contains words."
        if highest:
            remedy = f"Give more text, or lower min_count to {highest} or less."
        raise InputError(
            f"Too little text for word vectors: {counts.words:,} words, and none of the"
            f" {counts.distinct:,} different ones occurs {min_count} times (at most {highest}).",
            remedy,
        )
    return dict(sorted(frequent.items(), key=lambda item: -item[1]))


def _train_epochs(
    model: "Word2Vec",
    sentences: Path,
    slices: list[TextSlice],
    settings: Word2VecSettings,
    progress: Progress,
) -> None:
    """Train all epochs, slice by slice, in several threads; an exception from `progress` stops them."""
    from gensim.models.word2vec_corpusfile import CythonVocab, train_epoch_cbow, train_epoch_sg

    train = train_epoch_cbow
    if settings.skip_gram:
        train = train_epoch_sg
    vocabulary = CythonVocab(model.wv)
    # Each slice counts as an epoch of gensim, which lowers the learning rate evenly.
    model.epochs = len(slices) * settings.epochs

    def train_slice(number: int, part: TextSlice) -> int:
        """Train on one slice by a call of the compiled trainer; return the number of its words."""
        train(
            model,
            str(sentences),
            part.offset,
            vocabulary,
            number,
            None,
            part.words - 1,
            *model._get_thread_working_mem(),
            False,
        )
        return part.words

    _train_in_threads(train_slice, slices, settings, progress)


def _train_in_threads(
    train: Callable[[int, TextSlice], int],
    slices: list[TextSlice],
    settings: Word2VecSettings,
    progress: Progress,
) -> None:
    """Train the slices in several threads, once per epoch, and report a few times per second.

    train: trains on a slice with a number, and returns the number of its words. Any exception, by a
    slice, by `progress` or by a signal, stops the threads after their current slice. The message
    is, for example: epoch 2 of 5, 740,000 words/s, about 80 s left.
    """
    # This uses no executor: a signal may raise anywhere in the main thread, even while that has a lock
    # of the executor, and the executor's shutdown would then wait forever.
    # 1. All threads take slices from one iterator (a step of a list's iterator is atomic).
    ordered = interleave_slices(slices, settings.threads) * settings.epochs
    waiting = iter(list(enumerate(ordered)))
    done: SimpleQueue[int | BaseException] = SimpleQueue()
    stop = Event()

    def train_waiting_slices() -> None:
        """Train slices until none is left; put the word count of each, or an exception, in `done`."""
        try:
            while not stop.is_set() and (task := next(waiting, None)):
                done.put(train(*task))
        except BaseException as error:
            done.put(error)

    words = sum(part.words for part in slices)
    total = words * settings.epochs
    trained = 0
    start = time.perf_counter()
    last = start - REPORT
    threads = [Thread(target=train_waiting_slices, daemon=True) for _ in range(settings.threads)]
    try:
        for thread in threads:
            thread.start()
        while trained < total:
            # 2. Wait for a slice, but briefly, because `progress` may cancel the training.
            with suppress(Empty):
                finished = done.get(timeout=REPORT)
                if isinstance(finished, BaseException):
                    raise finished
                trained += finished
            now = time.perf_counter()
            if now - last < REPORT and trained < total:
                continue

            # 3. Report.
            last = now
            epoch = min(trained // words + 1, settings.epochs)
            message = f"epoch {epoch} of {settings.epochs}"
            progress(trained / total, message + _describe_speed(trained, total, now - start))
    finally:
        # 4. Wait for each thread to end after its current slice. A thread without ident never started.
        stop.set()
        for thread in threads:
            if thread.ident:
                thread.join()


def _describe_speed(trained: int, total: int, seconds: float) -> str:
    """Describe speed and remaining time, for example: , 740,000 words/s, about 80 s left."""
    if not trained:
        return ""
    speed = trained / seconds
    return f", {speed:,.0f} words/s, about {duration((total - trained) / speed)} left"


@contextmanager
def _quiet_gensim() -> Iterator[None]:
    """Suppress gensim's log messages below the level ERROR inside the block."""
    logger = logging.getLogger("gensim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def train_resampled(
    sentences: Path,
    counts: WordCounts,
    settings: Word2VecSettings,
    seed: int,
    progress: Progress = silent,
) -> EmbeddingSpace:
    """Train word vectors on a bootstrap resample of the lines of a words file.

    This measures how much the vectors depend on single lines (Antoniak and Mimno 2018, Evaluating
    the stability of embedding-based word similarities). A sample has as many lines as the text,
    drawn with replacement: it lacks about 37 % of the lines and contains others several times.

    The vocabulary consists of the words that occur `settings.min_count` times in the whole text and at least
    once in the sample. The sample is a temporary file in the folder of `sentences`. Raises
    InputError for too little text.
    """
    sample = sentences.with_name(f"resampled-{seed}.txt")
    try:
        drawn = resample(sentences, sample, seed)
        words = [word for word, n in counts.counts.items() if n >= settings.min_count]
        found = {word: drawn[word] for word in words if drawn[word]}
        if not found:
            raise InputError(
                f"No word of the text occurs {settings.min_count} times.",
                "Give more text, or lower the minimum count.",
            )
        return train_word2vec(
            sample,
            WordCounts(found, counts.lines, counts.bytes),
            replace(settings, min_count=1),
            progress,
        )
    finally:
        sample.unlink(missing_ok=True)


def resample(sentences: Path, sample: Path, seed: int) -> Counter[str]:
    """Write a bootstrap resample of a words file, in the original order; return its word counts.

    Example: of 3 lines, 3 random line numbers [2 0 2] -> times [1 0 2] -> lines 0 2 2.
    """
    # 1. Draw as many line numbers as there are lines, with replacement.
    with sentences.open("rb") as file:
        lines = sum(1 for _ in file)
    drawn = np.random.default_rng(seed).integers(0, max(lines, 1), lines)
    times = np.bincount(drawn, minlength=lines).tolist()

    # 2. Write each line as often as it was drawn.
    words = Counter[str]()
    with sentences.open("rb") as file, sample.open("wb") as out:
        for line, count in zip(file, times, strict=True):
            if not count:
                continue
            out.write(line * count)
            for word in line.decode().rstrip("\n").split(" "):
                words[word] += count
    return words
