"""Where the time of the trainer `blocks` goes: each of its steps alone, in one thread.

    python -m experiments.block_profile [--dims 100 384 768] [--words 40000 400000]

Random text of words with Zipf's distribution, 300,000 running words. Each step runs over all blocks of the
text, with the vectors of the words in their places, so its cache misses are those of the training; what
one step leaves in the cache for the next is lost, so the sum may be above the whole. Microseconds and bytes
are those of a word that subsampling keeps; bytes are counted from the algorithm: rows read and written.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
from numba import njit

from vocadapt.spaces.word2vec import block_kernel as kernel
from vocadapt.spaces.word2vec.block_plan import (
    BLOCK,
    GROUP,
    Shape,
    compute_noise,
    derive_state,
    plan_shape,
)
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

RUNNING_WORDS = 300_000
LINE = 20  # words
ROUNDS = 5
WINDOW = 5
compiled = njit(nogil=True, fastmath=True, error_model="numpy")


@compiled
def draw_all_windows(tokens, starts, ends, window, state, windows):
    for start in range(0, len(tokens) - BLOCK, BLOCK):
        end = start + BLOCK
        kernel.draw_windows(start, starts[start:end], ends[start:end], window, state, windows)


@compiled
def draw_all_negatives(blocks, noise, state, words):
    for block in range(blocks):
        for k in range(words.shape[1]):
            words[block, k] = kernel.draw_negative(noise, state)


@compiled
def sum_inputs(inputs, tokens, sums):
    for start in range(WINDOW, len(tokens) - BLOCK - WINDOW, BLOCK):
        for i in range(BLOCK + 2 * WINDOW):
            row = tokens[start - WINDOW + i]
            for j in range(inputs.shape[1]):
                sums[i + 1, j] = sums[i, j] + inputs[row, j]


@compiled
def average_all(inputs, tokens, sums, windows, hidden):
    for start in range(WINDOW, len(tokens) - BLOCK - WINDOW, BLOCK):
        kernel.average_contexts(inputs, tokens[start : start + BLOCK], sums, windows, True, hidden)


@compiled
def gather_negatives(outputs, words, negatives):
    for block in range(len(words)):
        for k in range(words.shape[1]):
            row = words[block, k]
            for j in range(outputs.shape[1]):
                negatives[k, j] = outputs[row, j]


@compiled
def scatter_negatives(outputs, words, changes):
    for block in range(len(words)):
        for k in range(words.shape[1]):
            row = words[block, k]
            for j in range(outputs.shape[1]):
                outputs[row, j] += changes[k, j]


@compiled
def run_groups(blocks, buffers, shape, step):
    """Run one step of all groups: 0 scores, 1 sigmoids, 2 gradients, 3 changes of negatives."""
    for _ in range(blocks):
        for number in range(shape.sets):
            k = number * shape.shared
            for group in range(number, BLOCK // GROUP, shape.sets):
                i = group * GROUP
                if step == 0:
                    kernel.multiply(buffers.hidden, i, buffers.negatives, k, buffers.scores)
                elif step == 1:
                    kernel.compute_changes(buffers, i, i + GROUP, k, np.float32(-1e-3))
                elif step == 2:
                    kernel.add_combinations(
                        buffers.scores, buffers.negatives, k, buffers.gradient, i, True
                    )
                else:
                    kernel.add_combinations(
                        buffers.transposed, buffers.hidden, i, buffers.changes, k, False
                    )


@compiled
def train_all_tokens(outputs, tokens, windows, hidden, gradient):
    rate = np.float32(1e-9)
    for start in range(WINDOW, len(tokens) - BLOCK - WINDOW, BLOCK):
        block = tokens[start : start + BLOCK]
        kernel.train_on_tokens(outputs, block, windows, True, rate, hidden, gradient)


@compiled
def add_all_gradients(inputs, tokens, windows, gradient, running):
    for start in range(WINDOW, len(tokens) - BLOCK - WINDOW, BLOCK):
        around = tokens[start - WINDOW : start + BLOCK + WINDOW]
        kernel.add_window_gradients(inputs, around, windows, WINDOW, WINDOW, gradient, running)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dims", nargs="+", type=int, default=[100, 384, 768], metavar="N")
    parser.add_argument("--words", nargs="+", type=int, default=[40_000, 400_000], metavar="N")
    options = parser.parse_args()
    cases = [(dim, words) for dim in options.dims for words in options.words]
    columns = [dict(measure(dim, words)) for dim, words in cases]
    print("| step |", " | ".join(f"d {dim}, {words:,} words" for dim, words in cases), "|")
    print("|---|" + "---|" * len(cases))
    for step in columns[0]:
        print(f"| {step} |", " | ".join(column[step] for column in columns), "|")
    return 0


def measure(dim: int, n_words: int) -> Iterator[tuple[str, str]]:
    """Time each step; return its name, and its microseconds and bytes as text."""
    rng = np.random.default_rng(0)
    shape = plan_shape(Word2VecSettings(dim=dim, window=WINDOW))
    counts = 1e7 / (np.arange(n_words) + 2.7)
    noise = compute_noise(counts, 1e-3)
    drawn = np.searchsorted(np.cumsum(counts / counts.sum()), rng.random(RUNNING_WORDS))
    ids = drawn.clip(0, n_words - 1).astype(np.int32)
    ids = np.insert(ids, np.arange(LINE, len(ids), LINE), -1).astype(np.int32)
    inputs, outputs = (rng.random((n_words, dim), dtype=np.float32) / dim for _ in range(2))
    state = derive_state(1, 1)
    kernel.train_cbow(ids[:0], inputs, outputs, noise, shape, (0.0, 0.0), state)
    tokens, starts, ends = kernel.subsample(ids, noise.keep, state)
    blocks = len(tokens) // BLOCK
    buffers = kernel.allocate_buffers(shape, dim)
    buffers.hidden[:] = rng.random(buffers.hidden.shape) / dim
    buffers.weights[:] = 1
    words = np.zeros((blocks, shape.sets * shape.shared), np.int32)
    sums = np.zeros((BLOCK + 2 * WINDOW + 1, dim), np.float32)
    running = np.zeros(dim, np.float32)
    windows = np.zeros((BLOCK, 3), np.int64)
    kernel.draw_windows(
        WINDOW, np.zeros(BLOCK, int), np.full(BLOCK, BLOCK + 2 * WINDOW), WINDOW, state, windows
    )
    around = 1 + 2 * WINDOW / BLOCK  # input vectors of a block, for each of its words
    negatives = words.shape[1] / BLOCK
    gradient, hidden = buffers.gradient, buffers.hidden
    # Name, work, rows read and written for each word.
    steps: list[tuple[str, Callable[[], object], float]] = [
        ("subsampling", lambda: kernel.subsample(ids, noise.keep, state), 0),
        (
            "random windows",
            lambda: draw_all_windows(tokens, starts, ends, WINDOW, state, windows.copy()),
            0,
        ),
        ("random negatives", lambda: draw_all_negatives(blocks, noise, state, words), 0),
        ("gathering inputs, running sums", lambda: sum_inputs(inputs, tokens, sums), 3 * around),
        ("hidden vectors", lambda: average_all(inputs, tokens, sums, windows, hidden), 4),
        (
            "gathering negatives",
            lambda: gather_negatives(outputs, words, buffers.negatives),
            2 * negatives,
        ),
        *list_group_steps(blocks, buffers, shape),
        (
            "scattering negatives",
            lambda: scatter_negatives(outputs, words, buffers.changes),
            3 * negatives,
        ),
        (
            "predicted words",
            lambda: train_all_tokens(outputs, tokens, windows, hidden, gradient),
            8,
        ),
        (
            "scattering input gradients",
            lambda: add_all_gradients(inputs, tokens, windows, gradient, running),
            4 * around + 7,
        ),
    ]
    total = 0.0
    for name, work, rows in steps:
        microseconds = time_work(work) / len(tokens) * 1e6
        total += microseconds
        yield name, f"{microseconds:.3f} µs, {rows * dim * 4 / 1000:.1f} kB"
    yield "sum of the steps", f"{total:.3f} µs"
    whole = time_work(
        lambda: kernel.train_cbow(ids, inputs, outputs, noise, shape, (0.01, 0.01), state)
    )
    yield "the training", f"{whole / len(tokens) * 1e6:.3f} µs"


def list_group_steps(
    blocks: int, buffers: kernel.Buffers, shape: Shape
) -> list[tuple[str, Callable[[], object], float]]:
    """Return the four steps of the negatives, with the rows that each reads and writes for a word."""
    shared = shape.shared / GROUP
    return [
        ("products: scores", lambda: run_groups(blocks, buffers, shape, 0), 1 + shared),
        ("sigmoids", lambda: run_groups(blocks, buffers, shape, 1), 0),
        ("products: gradients", lambda: run_groups(blocks, buffers, shape, 2), 3 + shared),
        ("products: changes", lambda: run_groups(blocks, buffers, shape, 3), 2 + 2 * shared),
    ]


def time_work(work: Callable[[], object]) -> float:
    """Return the median seconds of a call, after one that compiles."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


if __name__ == "__main__":
    sys.exit(main())
