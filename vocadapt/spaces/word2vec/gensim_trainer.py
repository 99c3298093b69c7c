"""Training of word vectors by gensim's word2vec, slice by slice.

gensim trains on a file for a whole epoch per call. It cannot report progress or stop within an
epoch, and with several threads its learning rate jumps at every epoch and it splits the file at
arbitrary bytes. Here the file is split into slices of whole lines. Each slice is one call of
gensim's compiled trainer with its own learning rate, and all threads take slices from one queue.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vocadapt.progress import Progress
from vocadapt.spaces.space import Matrix
from vocadapt.spaces.word2vec.settings import TrainingSettings
from vocadapt.spaces.word2vec.slices import SLICE, TextSlice, train_in_threads

if TYPE_CHECKING:
    from gensim.models import Word2Vec

BATCH = 10_000  # words: gensim's trainer takes lines until it has more than this (MAX_SENTENCE_LEN)


def train_by_gensim(
    sentences: Path,
    words: dict[str, int],
    settings: TrainingSettings,
    progress: Progress,
    checkpoint: Path | None,
) -> tuple[Matrix, float]:
    """Train vectors on a words file.

    words: the words to train, with their counts. gensim cannot resume, so `checkpoint` is not used.
    Returns the vectors (words, dim) float32, and the seconds from the first update to the last.
    """
    with _quiet_gensim():
        from gensim.models import Word2Vec

        model = Word2Vec(
            vector_size=settings.dim,
            window=settings.window,
            min_count=1,
            negative=settings.negative,
            sg=int(settings.skip_gram),
            cbow_mean=int(not settings.cbow_sum),
            alpha=settings.alpha,
            sample=settings.sample,
            seed=settings.seed,
            sorted_vocab=0,
            workers=1,
        )
        model.build_vocab_from_freq(words)
        slices = split_into_slices(sentences)
        start = time.perf_counter()
        _train_epochs(model, sentences, slices, settings, progress)
    return model.wv.vectors, time.perf_counter() - start


def split_into_slices(sentences: Path) -> list[TextSlice]:
    """Split a words file into slices of over 50 000 words that end where gensim ends a batch."""
    slices: list[TextSlice] = []
    start = offset = words = batch = 0
    with sentences.open("rb") as file:
        for line in file:
            length = len(line.split())
            offset += len(line)
            words += length
            batch += length
            # gensim ends a batch here: a slice that ended elsewhere would end with a small batch.
            if batch > BATCH:
                batch = 0
                if words > SLICE:
                    slices.append(TextSlice(start, words))
                    start, words = offset, 0
    if words:
        slices.append(TextSlice(start, words))
    return slices


def _train_epochs(
    model: "Word2Vec",
    sentences: Path,
    slices: list[TextSlice],
    settings: TrainingSettings,
    progress: Progress,
) -> None:
    """Train all epochs, slice by slice, in threads; an exception from `progress` stops them."""
    from gensim.models.word2vec_corpusfile import CythonVocab, train_epoch_cbow, train_epoch_sg

    train = train_epoch_cbow
    if settings.skip_gram:
        train = train_epoch_sg
    vocabulary = CythonVocab(model.wv)
    # Each slice counts as an epoch of gensim, which lowers the learning rate evenly.
    model.epochs = len(slices) * settings.epochs

    def train_slice(number: int, part: TextSlice) -> None:
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

    train_in_threads(train_slice, slices, settings, progress)


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
