"""Training of word vectors by gensim's word2vec, slice by slice, with progress and cancellation.

gensim trains a whole epoch of a file per call: no progress within, no way to stop, and with several
threads its learning rate jumps at every epoch and the file is split at arbitrary bytes. Here the
file is split into slices of whole lines; each slice is one call of gensim's compiled trainer with
the learning rate that belongs to it, and all threads take slices from one queue.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np

from vocadapt.cores import count_cores
from vocadapt.errors import InputError
from vocadapt.progress import Progress, duration, silent
from vocadapt.settings import ABOVE_ZERO, MAX_SEED, check_settings, setting
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.words import WordCounts

if TYPE_CHECKING:
    from gensim.models import Word2Vec

BATCH = 10_000  # words: gensim's trainer takes lines until it has more than this (MAX_SENTENCE_LEN)
SLICE = 5 * BATCH  # words of one call: a fraction of a second
REPORT = 0.2  # seconds between two reports


@dataclass(frozen=True)
class Word2VecSettings:
    """How word vectors are trained; the defaults are word2vec's own, CBOW with negative sampling
    (Mikolov et al. 2013).

    With one thread the same settings on the same text give the same bits.
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

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def threads(self) -> int:
        """Number of threads: `workers`, or one for each core that this process may use."""
        return self.workers or count_cores()


@dataclass(frozen=True)
class TextSlice:
    """Whole lines of the words file: where they start (byte) and how many words they hold."""

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
            "Give dim, or the model that they are for.",
        )
    words = _select_frequent_words(counts, settings.min_count)
    slices = split_into_slices(sentences)
    if not slices:
        raise InputError(
            f"{sentences}: the words file is empty.", "Write it from a text that holds words."
        )
    with _quiet_gensim():
        model = _build_untrained_model(words, settings)
        _train_epochs(model, sentences, slices, settings, progress)
    if not np.isfinite(model.wv.vectors).all():
        problem = "The training diverged: the word vectors are not finite."
        raise InputError(problem, f"Lower the learning rate (it is {settings.alpha:g}).")
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
    rows = 2 * contexts * targets if settings.skip_gram else contexts + targets
    microseconds = 1.7 + 4.6e-3 * settings.dim * rows / 12
    speed_up = 1 + 0.83 * (settings.threads - 1)
    return count_trained_words(counts, settings) * settings.epochs * microseconds * 1e-6 / speed_up


def count_trained_words(counts: WordCounts, settings: Word2VecSettings) -> float:
    """Return the expected running words per epoch, after `min_count` and subsampling."""
    kept = np.array(
        [count for count in counts.counts.values() if count >= settings.min_count], dtype=np.float64
    )
    if settings.sample:
        ratio = kept / (settings.sample * kept.sum())
        kept = kept * np.minimum(1, (np.sqrt(ratio) + 1) / ratio)
    return float(kept.sum())


def split_into_slices(sentences: Path) -> list[TextSlice]:
    """Split a words file into slices of just over 50 000 words, where gensim ends a batch."""
    slices: list[TextSlice] = []
    start = offset = words = batch = 0
    with sentences.open("rb") as file:
        for line in file:
            length = len(line.split())
            offset, words, batch = offset + len(line), words + length, batch + length
            if batch > BATCH:
                batch = 0
                if words > SLICE:
                    slices.append(TextSlice(start, words))
                    start, words = offset, 0
    return [*slices, TextSlice(start, words)] if words else slices


def interleave_slices(slices: list[TextSlice], threads: int) -> list[TextSlice]:
    """Order the slices so that threads work in different parts of the text at any time.

    Neighboring slices contain the same words, and threads that update the same vectors at once lose
    some of the updates. Example, 2 threads: slices [0 1 2 3] -> [0 2 1 3].
    """
    stretch = math.ceil(len(slices) / threads)
    return [part for first in range(stretch) for part in slices[first::stretch]]


def _select_frequent_words(counts: WordCounts, min_count: int) -> dict[str, int]:
    """Return the words that get a vector, most frequent first, with their counts.

    Raises InputError if there are none.
    """
    kept = {word: count for word, count in counts.counts.items() if count >= min_count}
    if not kept:
        most = max(counts.counts.values(), default=0)
        raise InputError(
            f"Too little text for word vectors: {counts.words:,} words, and none of the"
            f" {counts.distinct:,} different ones occurs {min_count} times (at most {most}).",
            (
                f"Give more text, or lower min_count to {most} or less."
                if most
                else "Give a text that holds words."
            ),
        )
    return dict(sorted(kept.items(), key=lambda item: -item[1]))


def _build_untrained_model(words: dict[str, int], settings: Word2VecSettings) -> "Word2Vec":
    """Build a gensim model with random initial vectors for the given words."""
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
    return model


def _train_epochs(
    model: "Word2Vec",
    sentences: Path,
    slices: list[TextSlice],
    settings: Word2VecSettings,
    progress: Progress,
) -> None:
    """Train all epochs, slice by slice, in several threads; a progress that raises stops them."""
    from gensim.models.word2vec_corpusfile import CythonVocab, train_epoch_cbow, train_epoch_sg

    train = train_epoch_sg if settings.skip_gram else train_epoch_cbow
    vocabulary = CythonVocab(model.wv)
    # gensim's epoch is one slice here, so that the learning rate falls evenly.
    model.epochs = len(slices) * settings.epochs

    def train_slice(number: int, part: TextSlice) -> int:
        """Train on one slice by a call of the compiled trainer; return the number of its words."""
        memory = model._get_thread_working_mem()
        train(
            model,
            str(sentences),
            part.offset,
            vocabulary,
            number,
            None,
            part.words - 1,
            *memory,
            False,
        )
        return part.words

    ordered = interleave_slices(slices, settings.threads) * settings.epochs
    _train_in_threads(
        train_slice,
        ordered,
        settings.threads,
        _Report(_count_words(slices), settings.epochs, progress).add,
    )


def _train_in_threads(
    train: Callable[[int, TextSlice], int],
    slices: list[TextSlice],
    threads: int,
    report: Callable[[int], None],
) -> None:
    """Train the slices in several threads, and report the number of words of each finished slice.

    If no slice finishes for a while, 0 is reported, so that `report` can cancel. Any exception, by
    a slice, by `report` or by a signal, stops the threads after their current slice.
    """
    # Shared by the threads: one step of a list's iterator is atomic.
    waiting = iter(list(enumerate(slices)))
    done: SimpleQueue[int | BaseException] = SimpleQueue()
    stop = Event()

    def work() -> None:
        try:
            while not stop.is_set() and (task := next(waiting, None)):
                done.put(train(*task))
        except BaseException as error:
            done.put(error)

    workers = [Thread(target=work, daemon=True) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
        left = _count_words(slices)
        while left:
            words = _wait_for_slice(done)
            left -= words
            report(words)
    finally:
        stop.set()
        for worker in workers:
            if worker.ident:
                worker.join()


def _wait_for_slice(done: "SimpleQueue[int | BaseException]") -> int:
    """Return the number of words of the next finished slice, 0 if none finishes for a while.

    Raises the exception that ended a thread.
    """
    try:
        found = done.get(timeout=REPORT)
    except Empty:
        return 0
    if isinstance(found, BaseException):
        raise found
    return found


def _count_words(slices: list[TextSlice]) -> int:
    return sum(part.words for part in slices)


class _Report:
    """Reports fraction, epoch, words per second and remaining time, a few times per second."""

    def __init__(self, words: int, epochs: int, progress: Progress) -> None:
        self.words = words
        self.epochs = epochs
        self.progress = progress
        self.done = 0
        self.start = time.perf_counter()
        self.last = self.start - REPORT

    def add(self, words: int) -> None:
        """Count words as trained, and report when the last report is old or all is done."""
        self.done += words
        now, total = time.perf_counter(), self.words * self.epochs
        if now - self.last < REPORT and self.done < total:
            return
        self.last = now
        self.progress(self.done / total, self._message(now - self.start, total))

    def _message(self, seconds: float, total: int) -> str:
        """For example: epoch 2 of 5, 740,000 words/s, about 80 s left."""
        epoch = f"epoch {min(self.done // self.words + 1, self.epochs)} of {self.epochs}"
        if not self.done:
            return epoch
        speed = self.done / seconds
        return f"{epoch}, {speed:,.0f} words/s, about {duration((total - self.done) / speed)} left"


@contextmanager
def _quiet_gensim() -> Iterator[None]:
    """Let gensim log nothing below an error while the block runs."""
    logger = logging.getLogger("gensim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
