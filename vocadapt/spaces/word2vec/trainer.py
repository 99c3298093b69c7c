"""Training of word vectors: the registry of trainers, settings, and estimates of time."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.files import MEGABYTE
from vocadapt.progress import Progress, silent
from vocadapt.settings import setting
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.spaces.word2vec.block_plan import count_shared_negatives
from vocadapt.spaces.word2vec.block_trainer import train_in_blocks, train_in_blocks_on_gpu
from vocadapt.spaces.word2vec.gensim_trainer import train_by_gensim
from vocadapt.spaces.word2vec.settings import TrainingSettings, compute_keep_probabilities
from vocadapt.text.words import WordCounts


@dataclass(frozen=True)
class Trainer:
    """A program that trains word vectors.

    train: takes a words file, the words with their counts, the settings, progress, and a folder for
    checkpoints or None; returns the vectors (words, dim) float32 and the seconds from the first
    update to the last. about: its description in menus. microseconds: estimates the time of one
    thread for each trained word.
    """

    train: Callable[
        [Path, dict[str, int], TrainingSettings, Progress, Path | None], tuple[Matrix, float]
    ]
    about: str
    microseconds: Callable[[TrainingSettings], float]


@dataclass(frozen=True)
class TrainedVectors:
    """Word vectors, and the seconds from the first update of the training to the last."""

    space: EmbeddingSpace
    training_seconds: float


def _estimate_gensim(settings: TrainingSettings) -> float:
    # Average number of vectors read per word: the window shrinks at random. 12 by default.
    contexts, targets = settings.window + 1, settings.negative + 1
    rows = contexts + targets
    if settings.skip_gram:
        rows = 2 * contexts * targets
    return 1.7 + 4.6e-3 * settings.dim * rows / 12


def _estimate_blocks(settings: TrainingSettings) -> float:
    # Number of vectors read and written per word: a constant, the negatives, and in skip-gram the
    # window.
    rows = 10.0 + count_shared_negatives(settings)
    if settings.skip_gram:
        rows += 3 * settings.window
    return 0.1 + 1.2e-4 * settings.dim * rows


TRAINERS: dict[str, Trainer] = {
    "gensim": Trainer(
        train_by_gensim, "gensim's word2vec, the reference implementation", _estimate_gensim
    ),
    "blocks": Trainer(
        train_in_blocks,
        "trains blocks of tokens at once, resumes from the last epoch, needs numba",
        _estimate_blocks,
    ),
    "blocks-gpu": Trainer(
        train_in_blocks_on_gpu,
        "the same on a GPU, many blocks at once; not bit-reproducible there",
        _estimate_blocks,  # an upper bound: not measured on a GPU
    ),
}


@dataclass(frozen=True)
class Word2VecSettings(TrainingSettings):
    """Settings of word2vec training, with the training program."""

    trainer: str = setting("gensim", "training program", choices=lambda: TRAINERS, label="Trainer")


def train_word2vec(
    sentences: Path,
    counts: WordCounts,
    settings: Word2VecSettings,
    progress: Progress = silent,
    checkpoint: Path | None = None,
) -> TrainedVectors:
    """Train word vectors on a words file (`write_sentences`) whose words are counted in `counts`.

    Returns a space of the words that occur at least `min_count` times, most frequent first, with
    vectors (words, dim) float32 and counts. checkpoint: a folder for checkpoints, from which an
    interrupted training resumes if its trainer can. Raises InputError if there is no such word, if
    the file is empty, and if `settings.dim` is 0.
    """
    if not settings.dim:
        raise InputError(
            "The dimension of the word vectors is unknown.",
            "Give dim, or a model whose dimension to use.",
        )
    words = _select_frequent_words(counts, settings.min_count)
    with sentences.open("rb") as file:
        if not any(line.strip() for line in file):
            raise InputError(
                f"{sentences}: the words file is empty.",
                "Write it from a text that contains words.",
            )
    train = TRAINERS[settings.trainer].train
    vectors, seconds = train(sentences, words, settings, progress, checkpoint)
    if not np.isfinite(vectors).all():
        raise InputError(
            "The training diverged: the word vectors are not finite.",
            f"Lower the learning rate (it is {settings.alpha:g}).",
        )
    occurrences = np.array(list(words.values()), dtype=np.int64)
    return TrainedVectors(
        EmbeddingSpace(tuple(words), vectors, occurrences, name="word2vec"), seconds
    )


def count_matrix_bytes(words: int, dim: int) -> int:
    """Return the bytes of the two matrices of a training: input and output vectors in float32."""
    return 2 * words * dim * np.float32().nbytes


def describe_memory(counts: WordCounts, settings: Word2VecSettings) -> str:
    """Say how much memory a training needs for its two matrices."""
    words = sum(count >= settings.min_count for count in counts.counts.values())
    megabytes = count_matrix_bytes(words, settings.dim) / MEGABYTE
    return (
        f"{words:,} words in {settings.dim} dimensions: the two matrices need {megabytes:,.0f} MB of"
        " memory"
    )


def estimate_word2vec_seconds(counts: WordCounts, settings: Word2VecSettings) -> float:
    """Estimate the seconds of `train_word2vec` from trainer, dimension, window, negatives and
    threads.

    Calibrated on a 2.5 GHz core; another machine may be twice as fast or slow.
    """
    microseconds = TRAINERS[settings.trainer].microseconds(settings)
    speed_up = 1 + 0.83 * (settings.threads - 1)
    return count_trained_words(counts, settings) * settings.epochs * microseconds * 1e-6 / speed_up


def count_trained_words(counts: WordCounts, settings: Word2VecSettings) -> float:
    """Return the expected running words per epoch, after `min_count` and subsampling."""
    occurrences = np.array(
        [count for count in counts.counts.values() if count >= settings.min_count], dtype=np.float64
    )
    return float(occurrences @ compute_keep_probabilities(occurrences, settings.sample))


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


def train_resampled(
    sentences: Path,
    counts: WordCounts,
    settings: Word2VecSettings,
    seed: int,
    progress: Progress = silent,
    checkpoint: Path | None = None,
) -> TrainedVectors:
    """Train word vectors on a bootstrap resample of the lines of a words file.

    This measures how much the vectors depend on single lines (Antoniak and Mimno 2018, Evaluating
    the stability of embedding-based word similarities). A sample has as many lines as the text,
    drawn with replacement: it lacks about 37 % of the lines and contains others several times.

    The vocabulary consists of the words that occur `settings.min_count` times in the whole text and
    at least once in the sample. The sample is a temporary file in the folder of `sentences`. Raises
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
            checkpoint,
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
