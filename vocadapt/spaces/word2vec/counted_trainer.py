"""Counted vectors: word vectors without training, from the counts of words and their contexts.

Levy, Goldberg and Dagan 2015, Improving distributional similarity with lessons learned from word
embeddings:

1. Count the pairs of words within a window; near pairs weigh more, as in word2vec.
2. Subsample frequent words, by multiplying counts with the expected fraction.
3. Weight the counts: positive pointwise mutual information (PPMI), contexts smoothed with exponent
   ¾.
4. Factorize: U · √S of the truncated singular value decomposition.

Counts are integers, so those of the shards of a text add up to exactly those of the whole text.
There are no epochs and no learning rate. The seed only starts the factorization, which converges.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.orthonormal import find_singular_vectors, orthonormalize
from vocadapt.spaces.space import FloatArray, Matrix
from vocadapt.spaces.word2vec.settings import TrainingSettings, compute_keep_probabilities
from vocadapt.system.files import temporary_folder
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import write_sentences

CHUNK = 1 << 19  # words of the text whose pairs are listed at once
SMOOTHING = 0.75  # exponent of the counts of contexts
EXTRA_DIMENSIONS = 16  # of the factorization, beyond those that are kept: it converges faster
ITERATIONS = 4  # power iterations of the factorization
STEPS = 2 * ITERATIONS + 2  # of the factorization: products of a sparse matrix
ROWS = 4096  # words whose counts are weighted at once
COLUMNS = 64  # of the dense factor in a product: a block stays in the processor's cache
LINE_END = -1
# Fraction of the time until the pairs are counted, and weighted.
PAIRS_COUNTED, WEIGHTED = 0.5, 0.55

# Measured peaks of the memory: bytes of a pair of words, and of a value of the factors.
PAIR_BYTES, FACTOR_BYTES = 32, 40
MAX_BYTES = 6_000_000_000  # memory of a training; the rarest words beyond it get no vector
# Measured on a 2.5 GHz core: the seconds of a pair of the text, of a product of two values, and of
# a value of an orthonormal basis; and the fraction of the estimated pairs that has information.
SECONDS_PER_PAIR, SECONDS_PER_PRODUCT, SECONDS_PER_BASIS = 1e-7, 9e-10, 6e-11
INFORMATIVE = 0.5

Ids = NDArray[np.int32]
SparseMatrix = Any  # scipy.sparse.csr_array, (words, words)
# Counts the pairs of a text, given words and window, as `count_pairs` counts those of a file.
PairCounter = Callable[[dict[str, int], int, Progress], SparseMatrix]


def train_counted(
    sentences: Path,
    words: dict[str, int],
    settings: TrainingSettings,
    progress: Progress,
    checkpoint: Path | None,
    pair_counter: PairCounter | None = None,
) -> tuple[Matrix, float]:
    """Compute vectors from a words file; return them, (words, dim) float32, and the seconds.

    words: the words to count, with their counts, most frequent first. It takes seconds, so
    `checkpoint` is not used. pair_counter: counts the pairs of the same text elsewhere.
    """
    start = time.perf_counter()
    report = part(progress, 0.0, PAIRS_COUNTED)
    if pair_counter is None:
        pairs = count_pairs(sentences, words, settings.window, report)
    else:
        pairs = pair_counter(words, settings.window, report)
    progress(PAIRS_COUNTED, "weighting the counts")
    counts = np.array([*words.values()], dtype=np.float64)
    keep = compute_keep_probabilities(counts, settings.sample)
    weights = weight_pairs(pairs, keep)
    del pairs
    vectors = factorize(
        weights, settings.dim, settings.seed, settings.threads, part(progress, WEIGHTED, 1.0)
    )
    return vectors, time.perf_counter() - start


def estimate_pairs(counts: FloatArray, window: int) -> float:
    """Estimate the number of different pairs of words, in both orders, from above.

    counts: (words,). If words did not depend on their neighbors, m neighbors of a word would be
    Σ (1 − exp(−m · p(c))) different words c. A text repeats itself, so there are fewer.
    """
    # 1. Group the words by count: a group is half as frequent as the one before.
    group = np.floor(np.log2(np.maximum(counts, 1))).astype(np.int64)
    sizes = np.bincount(group)
    means = np.bincount(group, counts) / np.maximum(sizes, 1)

    # 2. The different neighbors of a word of each group.
    neighbors = 2 * window * means
    different = 1 - np.exp(-np.outer(neighbors, means / max(counts.sum(), 1)))
    return float(sizes @ (different @ sizes))


def estimate_bytes(counts: FloatArray, settings: TrainingSettings) -> int:
    """Estimate the memory of counting these words, from their counts (words,) alone."""
    factors = len(counts) * (settings.dim + EXTRA_DIMENSIONS)
    return int(PAIR_BYTES * estimate_pairs(counts, settings.window) + FACTOR_BYTES * factors)


def estimate_seconds(counts: FloatArray, settings: TrainingSettings) -> float:
    """Estimate the seconds of counting and factorizing; counts: (words,), of the words."""
    pairs = INFORMATIVE * estimate_pairs(counts, settings.window)
    rank = min(len(counts), settings.dim + EXTRA_DIMENSIONS)
    counting = SECONDS_PER_PAIR * settings.window * counts.sum()
    products = SECONDS_PER_PRODUCT * (2 * ITERATIONS + 2) * pairs * rank
    factoring = SECONDS_PER_BASIS * (2 * ITERATIONS + 1) * len(counts) * rank**2
    return float(counting + (products + factoring) / (1 + 0.83 * (settings.threads - 1)))


def count_words_in_memory(counts: FloatArray, settings: TrainingSettings) -> int:
    """Return how many words can be counted in MAX_BYTES; counts: (words,), most frequent first."""
    fits = 0
    too_many = len(counts) + 1
    while too_many - fits > 1:
        n = (fits + too_many) // 2
        if estimate_bytes(counts[:n], settings) <= MAX_BYTES:
            fits = n
        else:
            too_many = n
    return fits


def count_pairs(
    sentences: Path, words: dict[str, int], window: int, progress: Progress
) -> SparseMatrix:
    """Count each pair of words within a window in a words file, (words, words) int64, symmetric.

    A pair at the distance d counts window − d + 1: proportional to how often word2vec, whose
    windows shrink at random, trains it. Words without a vector are removed first, as in word2vec.

    Example, window 2: the line a b c → (a, b) 2, (b, c) 2, (a, c) 1, and the same reversed.
    """
    from scipy.sparse import coo_array, csr_array

    shape = (len(words), len(words))
    sums: list[Any] = []  # of chunks, each at least twice as large as the next
    for ids, fraction in _read_ids(sentences, words):
        # 1. Count the pairs of a chunk, each in one order only.
        lower, higher, units = _list_pairs(ids, window)
        counted = coo_array((units, (lower, higher)), shape=shape).tocsr()
        # 2. Add sums of similar size, so that each pair is copied a few times only.
        while sums and sums[-1].nnz < 2 * counted.nnz:
            counted = sums.pop() + counted
        sums.append(counted)
        progress(fraction, "counting pairs of words")
    total = csr_array(shape, dtype=np.int64)
    while sums:
        total = total + sums.pop()
    # 3. Each pair in both orders; a word beside itself is its own neighbor twice.
    return (total + total.T).tocsr()


def count_pairs_of_corpus(
    corpus: Corpus, splitter: Splitter, words: dict[str, int], window: int
) -> SparseMatrix:
    """Count the pairs of a part of a text that can be read as a whole; those of all parts add up to
    those of the text.
    """
    from scipy.sparse import csr_array

    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        try:
            write_sentences(corpus, splitter, sentences)
        except InputError:  # a part without words, such as blank lines
            return csr_array((len(words), len(words)), dtype=np.int64)
        return count_pairs(sentences, words, window, silent)


def _read_ids(sentences: Path, words: dict[str, int]) -> Iterator[tuple[Ids, float]]:
    """Yield the ids of chunks of whole lines, LINE_END after each line, and the fraction read."""
    ids = {word: i for i, word in enumerate(words)}
    size = max(sentences.stat().st_size, 1)
    chunk: list[int] = []
    read = 0
    with sentences.open("rb") as file:
        for line in file:
            read += len(line)
            chunk += [ids[word] for word in line.decode().split() if word in ids]
            chunk.append(LINE_END)
            if len(chunk) >= CHUNK:
                yield np.array(chunk, dtype=np.int32), read / size
                chunk = []
    if chunk:
        yield np.array(chunk, dtype=np.int32), 1.0


def _list_pairs(ids: Ids, window: int) -> tuple[Ids, Ids, NDArray[np.int64]]:
    """List the pairs of a chunk within the window: lower id, higher id, and what each counts."""
    line = np.cumsum(ids == LINE_END)
    lower, higher, units = [], [], []
    for distance in range(1, min(window, len(ids) - 1) + 1):
        first = ids[:-distance]
        second = ids[distance:]
        in_line = line[:-distance] == line[distance:]
        is_pair = in_line & (first != LINE_END) & (second != LINE_END)
        first = first[is_pair]
        second = second[is_pair]
        lower.append(np.minimum(first, second))
        higher.append(np.maximum(first, second))
        units.append(np.full(len(first), window - distance + 1, dtype=np.int64))
    if not units:
        empty = np.zeros(0, dtype=np.int32)
        return empty, empty, np.zeros(0, dtype=np.int64)
    return np.concatenate(lower), np.concatenate(higher), np.concatenate(units)


def weight_pairs(pairs: SparseMatrix, keep: FloatArray) -> SparseMatrix:
    """Return the positive pointwise mutual information of counted pairs, (words, words) float32.

    pairs: (words, words) int64, symmetric. keep: (words,), the probability that subsampling keeps a
    word; a pair is kept if both of its words are. pmi(w, c) = log p(w, c) / (p(w) · p(c)), where
    p(c) is proportional to the count of c to the power of ¾.
    """
    from scipy.sparse import csr_array, vstack

    # 1. The sums of the expected counts after subsampling, by word.
    of_word = keep * (pairs @ keep)
    smoothed = of_word**SMOOTHING

    # 2. p(w, c) / (p(w) · p(c)), in blocks of words to save memory; the total cancels. A word
    #    without pairs divides nothing.
    with np.errstate(divide="ignore", invalid="ignore"):
        row_factor = keep / of_word
        column_factor = keep * (smoothed.sum() / smoothed)
    blocks: list[Any] = []
    for first in range(0, len(keep), ROWS):
        block = pairs[first : first + ROWS]
        rows = np.repeat(np.arange(first, first + block.shape[0]), np.diff(block.indptr))
        ratios = block.data * row_factor[rows] * column_factor[block.indices]

        # 3. Keep what is positive.
        positive = ratios > 1
        starts = np.concatenate(([0], np.cumsum(positive)))[block.indptr]
        information = np.log(ratios[positive]).astype(np.float32)
        blocks.append(csr_array((information, block.indices[positive], starts), shape=block.shape))
    return vstack(blocks, format="csr")


def factorize(
    weights: SparseMatrix, dim: int, seed: int, threads: int, progress: Progress
) -> Matrix:
    """Return U · √S of the truncated singular value decomposition, (words, dim) float32.

    weights: (words, words) float32, sparse. Dimensions beyond its rank are 0. By subspace iteration
    from a random start (Halko, Martinsson and Tropp 2011, algorithm 4.4), with progress.
    """
    n = weights.shape[0]
    rank = min(n, dim + EXTRA_DIMENSIONS)
    done = 0

    def multiply(matrix: SparseMatrix, dense: Matrix) -> Matrix:
        """Multiply blocks of columns, which do not depend on each other, in all threads."""
        nonlocal done
        progress(done / STEPS, f"factorizing, step {done + 1} of {STEPS}")
        done += 1
        product = np.empty((n, dense.shape[1]), np.float32)

        def multiply_block(first: int) -> None:
            block = slice(first, first + COLUMNS)
            product[:, block] = matrix @ np.ascontiguousarray(dense[:, block])

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(multiply_block, range(0, dense.shape[1], COLUMNS)))
        return product

    # 1. An orthonormal basis of the range.
    start = np.random.default_rng(seed).standard_normal((n, rank), dtype=np.float32)
    basis = orthonormalize(multiply(weights, start))
    for _ in range(ITERATIONS):
        basis = orthonormalize(multiply(weights.T, basis))
        basis = orthonormalize(multiply(weights, basis))

    # 2. The decomposition within this basis.
    singular, left = find_singular_vectors(multiply(weights.T, basis))
    kept = min(dim, len(singular))
    vectors = np.zeros((n, dim), dtype=np.float32)
    vectors[:, :kept] = (basis @ left[:, :kept]) * np.sqrt(singular[:kept])
    return vectors
