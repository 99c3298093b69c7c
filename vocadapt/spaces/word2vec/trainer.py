"""Training of word vectors: the registry of trainers, settings, and estimates of time."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import MethodSettings, setting
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, Matrix
from vocadapt.spaces.word2vec import counted_trainer
from vocadapt.spaces.word2vec.block_plan import count_shared_negatives
from vocadapt.spaces.word2vec.block_trainer import train_in_blocks
from vocadapt.spaces.word2vec.counted_trainer import PairCounter, train_counted
from vocadapt.spaces.word2vec.gensim_trainer import train_by_gensim
from vocadapt.spaces.word2vec.settings import TrainingSettings, compute_keep_probabilities
from vocadapt.system.files import MEGABYTE
from vocadapt.system.forecasts import Work
from vocadapt.text.words import WordCounts


@dataclass(frozen=True)
class Trainer:
    """A program that makes word vectors.

    train: takes a words file, the words with their counts, the settings, progress, and a folder for
    checkpoints or None; returns the vectors (words, dim) float32 and the seconds from the first
    update to the last. about: its description in menus. seconds, bytes: estimate its time in
    `settings.threads` threads and its memory from the counts (words,) of the words that get a
    vector. settings: names of the settings (`Word2VecSettings`) that it uses, of those that not all
    trainers use. depends_on_seed: whether two seeds give different vectors. count_words_in_memory:
    how many of these words, most frequent first, it can train; None: there is no limit.
    """

    train: Callable[
        [Path, dict[str, int], TrainingSettings, Progress, Path | None], tuple[Matrix, float]
    ]
    about: str
    seconds: Callable[[FloatArray, TrainingSettings], float]
    bytes: Callable[[FloatArray, TrainingSettings], int]
    settings: tuple[str, ...] = ()
    depends_on_seed: bool = True
    count_words_in_memory: Callable[[FloatArray, TrainingSettings], int] | None = None


@dataclass(frozen=True)
class TrainedVectors:
    """Word vectors, and the seconds from the first update of the training to the last.

    settings: those that were used: "auto" is replaced by what was chosen. beyond_memory: number of
    words that are frequent enough, but got no vector because of the memory it would need.
    """

    space: EmbeddingSpace
    training_seconds: float
    settings: "Word2VecSettings"
    beyond_memory: int = 0


def _estimate_gensim(counts: FloatArray, settings: TrainingSettings) -> float:
    # Average number of vectors read per word: the window shrinks at random. 12 by default.
    contexts = settings.window + 1
    targets = settings.negative + 1
    rows = contexts + targets
    if settings.skip_gram:
        rows = 2 * contexts * targets
    return _estimate_training_seconds(counts, settings, 1.7 + 4.6e-3 * settings.dim * rows / 12)


def _estimate_blocks(counts: FloatArray, settings: TrainingSettings) -> float:
    # Vectors read and written per word: a constant, the negatives, and in skip-gram the window.
    rows = 10.0 + count_shared_negatives(settings)
    if settings.skip_gram:
        rows += 3 * settings.window
    return _estimate_training_seconds(counts, settings, 0.25 + 1.43e-4 * settings.dim * rows)


def _estimate_training_seconds(
    counts: FloatArray, settings: TrainingSettings, microseconds: float
) -> float:
    """Return the seconds of all epochs; microseconds: of one thread for each trained word."""
    speed_up = 1 + 0.83 * (settings.threads - 1)
    words = count_trained_words(counts, settings.sample) * settings.epochs
    return words * microseconds * 1e-6 / speed_up


def count_trained_words(counts: FloatArray, sample: float) -> float:
    """Return the expected running words per epoch that subsampling keeps; counts: (words,)."""
    return float(counts @ compute_keep_probabilities(counts, sample))


def count_matrix_bytes(counts: FloatArray, settings: TrainingSettings) -> int:
    """Return the bytes of the two matrices of a training: input and output vectors in float32."""
    return 2 * len(counts) * settings.dim * np.float32().nbytes


# Settings of gradient descent.
BY_GRADIENTS = ("epochs", "negative", "skip_gram", "alpha", "cbow_sum")
TRAINERS: dict[str, Trainer] = {
    "gensim": Trainer(
        train_by_gensim,
        "gensim's word2vec, the reference implementation",
        _estimate_gensim,
        count_matrix_bytes,
        BY_GRADIENTS,
    ),
    "blocks": Trainer(
        train_in_blocks,
        "trains blocks of tokens at once, resumes from the last epoch, needs numba",
        _estimate_blocks,
        count_matrix_bytes,
        BY_GRADIENTS,
    ),
    "counts": Trainer(
        train_counted,
        "counts which words occur together, and factorizes the counts: no epochs, takes seconds",
        counted_trainer.estimate_seconds,
        counted_trainer.estimate_bytes,
        depends_on_seed=False,
        count_words_in_memory=counted_trainer.count_words_in_memory,
    ),
}
AUTO, COUNTED = "auto", "counts"
FASTEST, REFERENCE = "blocks", "gensim"  # of those that train; blocks needs numba
# The largest text that was measured: there, counted vectors are ahead of 15 epochs of CBOW
# (docs/small-texts.md). On two texts of 1 to 3 million words they are ahead of 30 epochs.
MAX_COUNTED_WORDS = 20_000_000
# Fraction of the trained words that a word may have for `blocks`, which sums its updates in a block:
# of equally frequent words, 32 can be trained; 16 diverge in skip-gram, 4 in CBOW (learning rate .025).
MAX_FRACTION = 1 / 32
# Epochs of a training on a text of at least so many running words; measured at .6 million.
EPOCHS = ((10_000_000, 15), (0, 30))


def list_trainers() -> dict[str, str | Trainer]:
    """Return the trainers to choose from; auto has a description only."""
    about = "counts for texts of up to 20 million words, else blocks, or gensim without numba"
    return {AUTO: about, **TRAINERS}


@dataclass(frozen=True)
class Word2VecSettings(TrainingSettings, MethodSettings):
    """Settings of the training of word vectors, with the trainer; each trainer names those that
    only some trainers use (`Trainer.settings`).
    """

    chooser: ClassVar[str] = "trainer"

    trainer: str = setting(AUTO, "training program", choices=list_trainers, label="Trainer")


@dataclass(frozen=True)
class TrainingChoice:
    """The settings that fit a text, with a trainer and a number of epochs, and the reason."""

    settings: Word2VecSettings
    reason: str


def choose_training(counts: WordCounts, settings: Word2VecSettings) -> TrainingChoice:
    """Choose the trainer and the epochs for a text, where the settings leave them to it.

    A setting that only some trainers use, such as a number of epochs, excludes the others.
    docs/small-texts.md says what of the rule was measured.
    """
    size = f"the text has {counts.words:,} running words"
    trainer = settings.trainer
    reason = ""
    if trainer == AUTO:
        fits = counts.words <= MAX_COUNTED_WORDS and not settings.find_ineffective(COUNTED)
        trainer = COUNTED
        reason = f"{size}, at most {MAX_COUNTED_WORDS:,}: counted, not trained"
        if not fits:
            trainer, obstacle = _choose_gradient_trainer(counts, settings)
            reason = f"{size}, more than {MAX_COUNTED_WORDS:,}: trained"
            if counts.words <= MAX_COUNTED_WORDS:
                reason = "the chosen settings need a trainer with epochs"
            if obstacle:
                reason = f"{reason}, by {trainer}: {obstacle}"
    epochs = settings.epochs
    if not epochs and "epochs" in TRAINERS[trainer].settings:
        epochs = next(n for words, n in EPOCHS if counts.words >= words)
        reason = f"{reason or size}; {epochs} epochs, because more change little"
    return TrainingChoice(replace(settings, trainer=trainer, epochs=epochs), reason)


def _choose_gradient_trainer(counts: WordCounts, settings: Word2VecSettings) -> tuple[str, str]:
    """Return the trainer of a text that is trained, and why it is not the fastest, or ""."""
    if find_spec("numba") is None:
        return REFERENCE, f"{FASTEST} is faster, but needs numba, which is missing"
    occurrences = _list_occurrences(counts, replace(settings, trainer=FASTEST))
    kept = occurrences * compute_keep_probabilities(occurrences, settings.sample)
    if len(kept) and kept.max() > MAX_FRACTION * kept.sum():
        return REFERENCE, f"with a word as frequent as in this text, {FASTEST} may diverge"
    return FASTEST, ""


def train_word2vec(
    sentences: Path,
    counts: WordCounts,
    settings: Word2VecSettings,
    progress: Progress = silent,
    checkpoint: Path | None = None,
    pair_counter: PairCounter | None = None,
) -> TrainedVectors:
    """Train word vectors on a words file (`write_sentences`) whose words are counted in `counts`.

    Returns a space of the words that occur at least `min_count` times, most frequent first, with
    vectors (words, dim) float32 and counts; of as many of them as the trainer has memory for.
    checkpoint: a folder for checkpoints, from which an interrupted training resumes if its trainer
    can. pair_counter: counts the pairs of the text elsewhere, for counted vectors only. Raises
    InputError if there is no such word, and if `settings.dim` is 0.
    """
    settings = choose_training(counts, settings).settings
    if not settings.dim:
        raise InputError(
            "The dimension of the word vectors is unknown.",
            "Give dim, or a model whose dimension to use.",
            code="unknown-dimension",
        )
    frequent = _select_frequent_words(counts, settings.min_count)
    words = dict(islice(frequent.items(), len(_list_occurrences(counts, settings))))
    train = TRAINERS[settings.trainer].train
    if pair_counter is not None:
        assert settings.trainer == COUNTED
        train = partial(train_counted, pair_counter=pair_counter)
    vectors, seconds = train(sentences, words, settings, progress, checkpoint)
    if not np.isfinite(vectors).all():
        raise InputError(
            "The training diverged: the word vectors are not finite.",
            f"Lower the learning rate (it is {settings.alpha:g}).",
            code="diverged",
        )
    occurrences = np.array(list(words.values()), dtype=np.int64)
    space = EmbeddingSpace(tuple(words), vectors, occurrences, name="word vectors")
    return TrainedVectors(space, seconds, settings, len(frequent) - len(words))


@dataclass(frozen=True)
class MemoryEstimate:
    """Number of words that get a vector, of those that are frequent enough, and the bytes that
    their training needs.
    """

    words: int
    of: int
    bytes: int

    def __str__(self) -> str:
        said = f"{self.words:,} words"
        if self.words < self.of:
            said = (
                f"the {self.words:,} most frequent of {self.of:,} words, as many as fit into memory"
            )
        return f"{said}: {self.bytes / MEGABYTE:,.0f} MB of memory"


def estimate_memory(counts: WordCounts, settings: Word2VecSettings) -> MemoryEstimate:
    """Estimate how many words get a vector, and the memory that their training needs."""
    settings = choose_training(counts, settings).settings
    occurrences = _list_occurrences(counts, settings)
    n_frequent = sum(n >= settings.min_count for n in counts.counts.values())
    n_bytes = TRAINERS[settings.trainer].bytes(occurrences, settings)
    return MemoryEstimate(len(occurrences), n_frequent, n_bytes)


def measure_word2vec(counts: WordCounts, settings: Word2VecSettings) -> Work:
    """Return the work of `train_word2vec`, by trainer, dimension, window, negatives, threads."""
    settings = choose_training(counts, settings).settings
    occurrences = _list_occurrences(counts, settings)
    seconds = TRAINERS[settings.trainer].seconds(occurrences, settings)
    return Work(float(occurrences.sum()), "running words", seconds)


def _list_occurrences(counts: WordCounts, settings: Word2VecSettings) -> FloatArray:
    """Return the counts of the words that get a vector, highest first, (words,) float64."""
    frequent = np.array([n for n in counts.counts.values() if n >= settings.min_count], np.float64)
    frequent = -np.sort(-frequent)
    limit = TRAINERS[settings.trainer].count_words_in_memory
    return frequent if limit is None else frequent[: limit(frequent, settings)]


def _select_frequent_words(counts: WordCounts, min_count: int) -> dict[str, int]:
    """Return the words that are frequent enough, most frequent first, with their counts.

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
            code="too-little-text",
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
