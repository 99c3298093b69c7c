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
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import Matrix
from vocadapt.spaces.word2vec.block_plan import (
    LINE_END,
    compute_noise,
    derive_state,
    plan_shape,
)
from vocadapt.spaces.word2vec.settings import TrainingSettings
from vocadapt.spaces.word2vec.slices import SLICE, TextSlice, train_in_threads
from vocadapt.system.files import write_atomically

LAST_RATE = 1e-4  # learning rate at the end
SAVE_SECONDS = 300.0  # between two checkpoints
INPUTS, OUTPUTS, STATE = "inputs.npy", "outputs.npy", "word2vec.json"  # files of a checkpoint
CACHE_LINE = 16  # numbers
MAPPED_FRACTION = 0.5  # fraction of the free memory: larger arrays are memory-mapped files


def train_in_blocks(
    sentences: Path,
    words: dict[str, int],
    settings: TrainingSettings,
    progress: Progress,
    checkpoint: Path | None,
) -> tuple[Matrix, float]:
    """Train vectors on a words file, slice by slice, with checkpoints.

    words: the words to train, with their counts. checkpoint: a folder for checkpoints, at most one
    per epoch and every five minutes; a second call with the same folder, text and settings resumes.
    Returns the vectors (words, dim) float32, and the seconds from the first update to the last.
    Raises InputError if numba is not installed.
    """
    kernel = _import_kernel()
    train = kernel.train_skip_gram if settings.skip_gram else kernel.train_cbow
    # 1. Write the text as word ids.
    ids_file, inputs_file, outputs_file = (
        sentences.with_name(f"{sentences.name}.{name}") for name in ("ids", "inputs", "outputs")
    )
    try:
        slices = write_word_ids(sentences, words, ids_file)
        ids = np.asarray(np.memmap(ids_file, dtype=np.int32, mode="r"))

        # 2. Initialize, or resume.
        inputs = allocate(inputs_file, len(words), settings.dim)
        outputs = allocate(outputs_file, len(words), settings.dim)
        state = {"settings": asdict(settings), "words": len(words), "numbers": len(ids)}
        done, seconds = _resume(checkpoint, state, inputs, outputs)
        if not done:
            initialize(inputs, settings.seed)
        noise = compute_noise(np.array(list(words.values()), dtype=np.float64), settings.sample)
        # Compile the kernel, or load it from the cache, by a call without words.
        shape = plan_shape(settings)
        nothing = np.zeros(0, np.int32)
        train(nothing, inputs, outputs, noise, shape, (0.0, 0.0), derive_state(0, 0))

        # 3. Train epoch by epoch; the learning rate falls evenly over all slices.
        n_slices = max(1, len(slices)) * settings.epochs
        decay = (LAST_RATE - settings.alpha) / n_slices

        def train_slice(number: int, part: TextSlice) -> None:
            text = ids[part.offset : part.offset + part.size]
            rates = (settings.alpha + decay * number, settings.alpha + decay * (number + 1))
            state_of_slice = derive_state(settings.seed, number)
            train(text, inputs, outputs, noise, shape, rates, state_of_slice)

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
    """Import the compiled module; raises InputError if numba is missing or cannot store it."""
    try:
        from vocadapt.spaces.word2vec import block_kernel
    except ImportError as error:
        raise InputError(
            f"The trainer 'blocks' needs numba, which cannot be imported: {error}.",
            "Install it with pip install 'vocadapt[fast]', or choose the trainer 'gensim'.",
            "trainer",
            code="no-numba",
        ) from error
    except RuntimeError as error:  # numba found no folder for compiled code
        raise InputError(
            f"numba cannot store compiled code: {error}.",
            "Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        ) from error
    return block_kernel


def write_word_ids(sentences: Path, words: dict[str, int], file: Path) -> list[TextSlice]:
    """Write the words of a words file as int32 numbers, and LINE_END after each line.

    Words that are not in `words` are left out. Returns slices of at least SLICE words.
    """
    numbers = {word: number for number, word in enumerate(words)}
    slices: list[TextSlice] = []
    start = size = n_words = 0
    with sentences.open(encoding="utf-8", newline="\n") as lines, file.open("wb") as out:
        for line in lines:
            ids = [numbers[word] for word in line.split() if word in numbers]
            np.array([*ids, LINE_END], np.int32).tofile(out)
            size = size + len(ids) + 1
            n_words = n_words + len(ids)
            if n_words >= SLICE:
                slices.append(TextSlice(start, n_words, size))
                start += size
                size = 0
                n_words = 0
    if n_words:
        slices.append(TextSlice(start, n_words, size))
    return slices


def allocate(file: Path, rows: int, dim: int) -> Matrix:
    """Return zeros (rows, dim) float32, one of two such matrices; in a memory-mapped file if the
    two need more than MAPPED_FRACTION of the free memory.
    """
    import psutil

    both = 2 * rows * dim * np.float32().nbytes
    if both < MAPPED_FRACTION * psutil.virtual_memory().available:
        # Begin at a cache line: a vector register is then filled from one line instead of two.
        numbers = np.zeros(rows * dim + CACHE_LINE, np.float32)
        start = -(numbers.ctypes.data // numbers.itemsize) % CACHE_LINE
        return numbers[start : start + rows * dim].reshape(rows, dim)
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
    """Read the checkpoint of an equal training; return its epochs and seconds, 0 without one."""
    if not checkpoint or not (checkpoint / STATE).is_file():
        return 0, 0.0
    found = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    epochs = int(found.pop("epochs"))
    seconds = float(found.pop("seconds"))
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
