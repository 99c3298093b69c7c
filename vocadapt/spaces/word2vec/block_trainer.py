"""Training of word vectors in blocks of tokens: CBOW and skip-gram with negative sampling.

word2vec (Mikolov et al. 2013) reads and writes the vectors of all context words and of five
negatives for each word of the text, so memory limits its speed. Here a block of 64 tokens is
trained at once: each vector is read and written once per block, sums over windows are differences
of running sums, and the products with the negatives are matrix products in the cache. Four tokens
share their negatives (Ji et al. 2016, Parallelizing word2vec in shared and distributed memory). A
context word is trained with about as many different negatives as in word2vec, because it occurs in
the windows of several groups.

Within a block, all vectors are those at its start, except those of predicted words. Windows,
subsampling, the distribution of negatives and the learning rate are as in word2vec.
"""

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import write_atomically
from vocadapt.progress import Progress
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import FloatArray, Matrix
from vocadapt.spaces.word2vec.settings import TrainingSettings, compute_keep_probabilities
from vocadapt.spaces.word2vec.slices import SLICE, TextSlice, train_in_threads

if TYPE_CHECKING:
    from vocadapt.spaces.word2vec.block_kernel import Noise, Shape

BLOCK = 64  # tokens: their vectors and sums fit into the second-level cache
GROUP = 4  # tokens that share negatives: the rows of the kernel's products (TILE)
NOISE_EXPONENT = 0.75  # of the counts, for the distribution of negatives
LAST_RATE = 1e-4  # learning rate at the end
SAVE_SECONDS = 300.0  # between two checkpoints
INPUTS, OUTPUTS, STATE = "inputs.npy", "outputs.npy", "word2vec.json"  # files of a checkpoint
MAPPED_FRACTION = 0.5  # fraction of the free memory: larger arrays are memory-mapped files


@dataclass(frozen=True)
class SharedNegatives:
    """Numbers of shared negatives.

    ratio: shared negatives of a group for each negative of word2vec. sets: sets of them per block.
    """

    ratio: float
    sets: int


# In CBOW, a context word is trained with the negatives of all groups in whose windows it occurs; in
# skip-gram, only with those of its own group.
CBOW, SKIP_GRAM = SharedNegatives(1.6, 6), SharedNegatives(6.4, 2)


def train_in_blocks(
    sentences: Path,
    words: dict[str, int],
    settings: TrainingSettings,
    progress: Progress,
    checkpoint: Path | None,
) -> tuple[Matrix, float]:
    """Train vectors on a words file.

    words: the words to train, with their counts. checkpoint: a folder for checkpoints, at most one
    per epoch and every five minutes; a second call with the same folder, text and settings resumes.
    Returns the vectors (words, dim) float32, and the seconds from the first update to the last.
    Raises InputError if numba is not installed.
    """
    # 1. Compile the trainer, or load it from the cache.
    kernel = _import_kernel()
    shape = plan_shape(settings)
    noise = compute_noise(np.array(list(words.values()), dtype=np.float64), settings.sample)
    train = kernel.train_skip_gram if settings.skip_gram else kernel.train_cbow
    small = np.zeros((2, settings.dim), np.float32)
    train(np.zeros(0, np.int32), small, small, noise, shape, (0.0, 0.0), derive_state(0, 0))

    # 2. Write the text as word ids.
    ids_file, inputs_file, outputs_file = (
        sentences.with_name(f"{sentences.name}.{name}") for name in ("ids", "inputs", "outputs")
    )
    try:
        slices = write_word_ids(sentences, words, ids_file)
        ids = np.asarray(np.memmap(ids_file, dtype=np.int32, mode="r"))

        # 3. Initialize, or resume.
        inputs = allocate(inputs_file, len(words), settings.dim)
        outputs = allocate(outputs_file, len(words), settings.dim)
        state = {"settings": asdict(settings), "words": len(words), "numbers": len(ids)}
        done, seconds = _resume(checkpoint, state, inputs, outputs)
        if not done:
            initialize(inputs, settings.seed)

        # 4. Train epoch by epoch; the learning rate falls evenly over all slices.
        n_slices = max(1, len(slices)) * settings.epochs
        decay = (LAST_RATE - settings.alpha) / n_slices

        def train_slice(number: int, part: TextSlice) -> None:
            """Train on one slice by a call of the compiled trainer."""
            text = ids[part.offset : part.offset + part.size]
            rates = (settings.alpha + decay * number, settings.alpha + decay * (number + 1))
            train(text, inputs, outputs, noise, shape, rates, derive_state(settings.seed, number))

        saved = time.perf_counter()
        start = saved - seconds
        for epoch in range(done, settings.epochs):
            train_in_threads(train_slice, slices, settings, progress, range(epoch, epoch + 1))
            if checkpoint and time.perf_counter() - saved > SAVE_SECONDS:
                saved = time.perf_counter()
                progressed = {"epochs": epoch + 1, "seconds": saved - start}
                _save(checkpoint, {**state, **progressed}, inputs, outputs)
        return inputs, time.perf_counter() - start
    finally:
        # What is mapped from a deleted file stays readable.
        for file in (ids_file, inputs_file, outputs_file):
            file.unlink(missing_ok=True)


def _import_kernel() -> Any:
    """Import the compiled module; raises InputError if numba is missing or cannot store its
    code.
    """
    try:
        from vocadapt.spaces.word2vec import block_kernel
    except ImportError as error:
        raise InputError(
            f"The trainer 'blocks' needs numba, which cannot be imported: {error}.",
            "Install it with pip install 'vocadapt[fast]', or choose the trainer 'gensim'.",
            "trainer",
        ) from error
    except RuntimeError as error:  # numba found no folder for compiled code
        raise InputError(
            f"numba cannot store compiled code: {error}.",
            "Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        ) from error
    return block_kernel


def count_shared_negatives(settings: TrainingSettings) -> int:
    """Return the number of negatives that a group of tokens shares: 8 by default, 32 in
    skip-gram.
    """
    sharing = SKIP_GRAM if settings.skip_gram else CBOW
    return GROUP * math.ceil(settings.negative * sharing.ratio / GROUP)


def plan_shape(settings: TrainingSettings) -> "Shape":
    """Return the sizes of a training for the compiled trainer."""
    from vocadapt.spaces.word2vec.block_kernel import Shape

    return Shape(
        window=settings.window,
        negative=settings.negative,
        block=BLOCK,
        group=GROUP,
        shared=count_shared_negatives(settings),
        sets=SKIP_GRAM.sets if settings.skip_gram else CBOW.sets,
        average=not settings.cbow_sum,
    )


def compute_noise(counts: FloatArray, sample: float) -> "Noise":
    """Compute the probabilities of keeping words, and the tables to draw negatives, from word
    counts.

    counts: (words,) float64. Negatives are drawn in proportion to count^0.75, by the tables of
    Walker 1977:

    1. Divide the probability 1 into one equal slot per word, which the word fills up to its own
       probability.
    2. Fill the rest of the slot of a word with less than one slot by a word with more than one.

    Example: probabilities [.75 .25] and slots of .5 -> relative sizes [1.5 .5] -> the rest of
    slot 1 goes to word 0: chances [1 .5], aliases [0 0].
    """
    from vocadapt.spaces.word2vec.block_kernel import Noise

    # 1. Size of each word in slots.
    sizes = counts**NOISE_EXPONENT
    sizes = (sizes / sizes.sum() * len(counts)).tolist()
    chance, alias = [1.0] * len(sizes), list(range(len(sizes)))
    small = [word for word, size in enumerate(sizes) if size < 1]
    large = [word for word, size in enumerate(sizes) if size >= 1]

    # 2. Fill the slots.
    while small and large:
        word, donor = small.pop(), large.pop()
        chance[word], alias[word] = sizes[word], donor
        sizes[donor] -= 1 - sizes[word]
        if sizes[donor] < 1:
            small.append(donor)
        else:
            large.append(donor)
    keep = compute_keep_probabilities(counts, sample).astype(np.float32)
    return Noise(keep, np.array(chance, np.float32), np.array(alias, np.int32))


def derive_state(seed: int, number: int) -> NDArray[np.uint64]:
    """Return the state of the random generator for a slice, (1,) uint64, by the mixer of
    splitmix64.
    """
    bits = np.array([seed], np.uint64) << np.uint64(32) | np.uint64(number)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ bits >> np.uint64(shift)) * np.uint64(factor)
    # The generator stays at 0 if its state is 0.
    return np.asarray((bits ^ bits >> np.uint64(31)) | np.uint64(1))


def write_word_ids(sentences: Path, words: dict[str, int], file: Path) -> list[TextSlice]:
    """Write the words of a words file as int32 numbers, and LINE_END after each line.

    Words that are not in `words` are left out. Returns slices of at least SLICE words.
    """
    from vocadapt.spaces.word2vec.block_kernel import LINE_END

    numbers = {word: number for number, word in enumerate(words)}
    slices: list[TextSlice] = []
    start = size = n_words = 0
    with sentences.open(encoding="utf-8", newline="\n") as lines, file.open("wb") as out:
        for line in lines:
            ids = [numbers[word] for word in line.split() if word in numbers]
            np.array([*ids, LINE_END], np.int32).tofile(out)
            size, n_words = size + len(ids) + 1, n_words + len(ids)
            if n_words >= SLICE:
                slices.append(TextSlice(start, n_words, size))
                start, size, n_words = start + size, 0, 0
    if n_words:
        slices.append(TextSlice(start, n_words, size))
    return slices


def allocate(file: Path, rows: int, dim: int) -> Matrix:
    """Return zeros (rows, dim) float32, one of two such matrices; in a memory-mapped file if the two
    need more than MAPPED_FRACTION of the free memory.
    """
    import psutil

    both = 2 * rows * dim * np.float32().nbytes
    if both < MAPPED_FRACTION * psutil.virtual_memory().available:
        return np.zeros((rows, dim), np.float32)
    return np.asarray(np.memmap(file, np.float32, "w+", shape=(rows, dim)))


def initialize(inputs: Matrix, seed: int) -> None:
    """Draw the input vectors (words, d) uniformly from -1/d to 1/d, as in word2vec."""
    rng = np.random.default_rng(seed)
    dim = inputs.shape[1]
    for part in iterate_blocks(len(inputs), dim):
        rows = rng.random((len(inputs[part]), dim), dtype=np.float32)
        inputs[part] = (2 * rows - 1) / dim


def _resume(
    checkpoint: Path | None, state: dict[str, Any], inputs: Matrix, outputs: Matrix
) -> tuple[int, float]:
    """Read the checkpoint of a training with an equal state; return its epochs and seconds, 0 if
    there is none.
    """
    if not checkpoint or not (checkpoint / STATE).is_file():
        return 0, 0.0
    found = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    epochs, seconds = int(found.pop("epochs")), float(found.pop("seconds"))
    if found != json.loads(json.dumps(state)):
        return 0, 0.0
    inputs[:] = np.load(checkpoint / INPUTS, mmap_mode="r", allow_pickle=False)
    outputs[:] = np.load(checkpoint / OUTPUTS, mmap_mode="r", allow_pickle=False)
    return epochs, seconds


def _save(checkpoint: Path, state: dict[str, Any], inputs: Matrix, outputs: Matrix) -> None:
    """Write a checkpoint; its state file is missing while the vectors are replaced."""
    (checkpoint / STATE).unlink(missing_ok=True)
    np.save(checkpoint / INPUTS, inputs)
    np.save(checkpoint / OUTPUTS, outputs)
    write_atomically(checkpoint / STATE, json.dumps(state))
