"""The compiled functions of `block_trainer`: one call trains one slice of a text.

All vectors are rows of float32 arrays. Random numbers come from a generator that is implemented
here (xorshift64*, Vigna 2016), so that equal seeds give equal vectors in every version of numba.

Loops read `matrix[row, j]` and never assign a row, as in `vector = matrix[row]`: numba counts the
references to such a view by atomic instructions, which took a quarter of the time at 100
dimensions, and made threads wait for each other.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vocadapt.spaces.space import IntArray, Matrix
from vocadapt.spaces.word2vec.block_plan import LINE_END, Noise, Shape

F = TypeVar("F", bound=Callable[..., Any])

TILE = 4  # numbers of rows and of columns that the matrix products compute at once
ONE = np.float32(1)  # an int would turn the arithmetic into float64
# Logit beyond which the approximation of the sigmoid is constant; its error is at most 5e-5.
LARGEST_LOGIT = np.float32(9.8)
MULTIPLIER = np.uint64(2685821657736338717)  # of xorshift64*
SHIFT_12, SHIFT_25, SHIFT_27, SHIFT_32 = (np.uint64(bits) for bits in (12, 25, 27, 32))
TO_FRACTION = np.float32(2.0**-32)


def compile_function(function: F) -> F:
    """Compile a function by numba, without the GIL; the result is cached on disk."""
    return cast(F, njit(nogil=True, fastmath=True, error_model="numpy", cache=True)(function))


class Buffers(NamedTuple):
    """Arrays of one block, allocated once per slice.

    hidden, gradient: (block, d) float32, the hidden vector at each position, and its change.
    weights: (block,) float32, the number of word pairs of each position. excluded: (block,) int32,
    the word that must not be a negative there. words: (sets · shared,) int32, the negatives.
    negatives and changes: (sets · shared, d) float32, their vectors, and the changes of these.
    scores: (group, shared) float32. transposed: (shared, group) float32.
    """

    hidden: Matrix
    gradient: Matrix
    weights: Matrix
    excluded: NDArray[np.int32]
    words: NDArray[np.int32]
    negatives: Matrix
    changes: Matrix
    scores: Matrix
    transposed: Matrix


@compile_function
def draw(state: NDArray[np.uint64]) -> np.uint32:
    """Return a random number of 32 bits, and advance the state, (1,) uint64."""
    bits = state[0]
    bits ^= bits >> SHIFT_12
    bits ^= bits << SHIFT_25
    bits ^= bits >> SHIFT_27
    state[0] = bits
    return np.uint32((bits * MULTIPLIER) >> SHIFT_32)


@compile_function
def draw_negative(noise: Noise, state: NDArray[np.uint64]) -> np.int32:
    """Return a random word by Walker's alias method: two random numbers, one comparison."""
    word = (np.uint64(draw(state)) * np.uint64(len(noise.chance))) >> SHIFT_32
    if draw(state) * TO_FRACTION < noise.chance[word]:
        return np.int32(word)
    return np.int32(noise.alias[word])


@compile_function
def compute_sigmoid(logit: np.float32) -> np.float32:
    """Return 1 / (1 + exp(-logit)) by a continued fraction of tanh, which compilers vectorize."""
    bounded = min(max(logit, -LARGEST_LOGIT), LARGEST_LOGIT)
    half = np.float32(0.5) * bounded
    square = half * half
    numerator = half * (
        np.float32(135135) + square * (np.float32(17325) + square * (np.float32(378) + square))
    )
    denominator = np.float32(135135) + square * (
        np.float32(62370) + square * (np.float32(3150) + square * np.float32(28))
    )
    return np.float32(0.5) + np.float32(0.5) * numerator / denominator


@compile_function
def multiply(left: Matrix, i: int, right: Matrix, k: int, products: Matrix) -> None:
    """Write the products of rows i, i + 1, … of `left` (…, d) with rows k, k + 1, … of `right`
    (…, d) into `products`, whose sizes are multiples of TILE.

    The 16 products of a tile are summed together, so that each value is used four times after it is
    read.
    """
    dim = left.shape[1]
    for row in range(0, products.shape[0], TILE):
        m = i + row
        for column in range(0, products.shape[1], TILE):
            n = k + column
            ap = aq = ar = as_ = np.float32(0)
            bp = bq = br = bs = np.float32(0)
            cp = cq = cr = cs = np.float32(0)
            dp = dq = dr = ds = np.float32(0)
            for j in range(dim):
                ap += left[m, j] * right[n, j]
                aq += left[m, j] * right[n + 1, j]
                ar += left[m, j] * right[n + 2, j]
                as_ += left[m, j] * right[n + 3, j]
                bp += left[m + 1, j] * right[n, j]
                bq += left[m + 1, j] * right[n + 1, j]
                br += left[m + 1, j] * right[n + 2, j]
                bs += left[m + 1, j] * right[n + 3, j]
                cp += left[m + 2, j] * right[n, j]
                cq += left[m + 2, j] * right[n + 1, j]
                cr += left[m + 2, j] * right[n + 2, j]
                cs += left[m + 2, j] * right[n + 3, j]
                dp += left[m + 3, j] * right[n, j]
                dq += left[m + 3, j] * right[n + 1, j]
                dr += left[m + 3, j] * right[n + 2, j]
                ds += left[m + 3, j] * right[n + 3, j]
            products[row, column] = ap
            products[row, column + 1] = aq
            products[row, column + 2] = ar
            products[row, column + 3] = as_
            products[row + 1, column] = bp
            products[row + 1, column + 1] = bq
            products[row + 1, column + 2] = br
            products[row + 1, column + 3] = bs
            products[row + 2, column] = cp
            products[row + 2, column + 1] = cq
            products[row + 2, column + 2] = cr
            products[row + 2, column + 3] = cs
            products[row + 3, column] = dp
            products[row + 3, column + 1] = dq
            products[row + 3, column + 2] = dr
            products[row + 3, column + 3] = ds


@compile_function
def add_combinations(
    factors: Matrix, vectors: Matrix, k: int, sums: Matrix, i: int, fresh: bool
) -> None:
    """Add the products of `factors` with rows k, k + 1, … of `vectors` (…, d) to rows i, i + 1, … of
    `sums` (…, d), or overwrite these if `fresh`. The sizes of `factors` are multiples of TILE.
    """
    dim = sums.shape[1]
    for row in range(0, factors.shape[0], TILE):
        m = i + row
        for column in range(0, factors.shape[1], TILE):
            n = k + column
            ap = factors[row, column]
            aq = factors[row, column + 1]
            ar = factors[row, column + 2]
            as_ = factors[row, column + 3]
            bp = factors[row + 1, column]
            bq = factors[row + 1, column + 1]
            br = factors[row + 1, column + 2]
            bs = factors[row + 1, column + 3]
            cp = factors[row + 2, column]
            cq = factors[row + 2, column + 1]
            cr = factors[row + 2, column + 2]
            cs = factors[row + 2, column + 3]
            dp = factors[row + 3, column]
            dq = factors[row + 3, column + 1]
            dr = factors[row + 3, column + 2]
            ds = factors[row + 3, column + 3]
            if fresh and column == 0:
                for j in range(dim):
                    p = vectors[n, j]
                    q = vectors[n + 1, j]
                    r = vectors[n + 2, j]
                    s = vectors[n + 3, j]
                    sums[m, j] = ap * p + aq * q + ar * r + as_ * s
                    sums[m + 1, j] = bp * p + bq * q + br * r + bs * s
                    sums[m + 2, j] = cp * p + cq * q + cr * r + cs * s
                    sums[m + 3, j] = dp * p + dq * q + dr * r + ds * s
            else:
                for j in range(dim):
                    p = vectors[n, j]
                    q = vectors[n + 1, j]
                    r = vectors[n + 2, j]
                    s = vectors[n + 3, j]
                    sums[m, j] += ap * p + aq * q + ar * r + as_ * s
                    sums[m + 1, j] += bp * p + bq * q + br * r + bs * s
                    sums[m + 2, j] += cp * p + cq * q + cr * r + cs * s
                    sums[m + 3, j] += dp * p + dq * q + dr * r + ds * s


@compile_function
def subsample(
    ids: NDArray[np.int32],
    keep: Matrix,
    state: NDArray[np.uint64],
) -> tuple[NDArray[np.int32], IntArray, IntArray]:
    """Drop frequent words at random; return the tokens, (n,) int32, and the line of each as start
    and end, two (n,) int64.
    """
    tokens = np.empty(len(ids), np.int32)
    starts = np.empty(len(ids), np.int64)
    ends = np.empty(len(ids), np.int64)
    count = line = 0
    for word in ids:
        if word == LINE_END:
            starts[line:count], ends[line:count] = line, count
            line = count
        elif keep[word] >= 1 or draw(state) * TO_FRACTION < keep[word]:
            tokens[count] = word
            count += 1
    starts[line:count], ends[line:count] = line, count
    return tokens[:count], starts[:count], ends[:count]


@compile_function
def allocate_buffers(shape: Shape, dim: int) -> Buffers:
    """Return the buffers of a slice, all zero."""
    negatives = shape.sets * shape.shared
    return Buffers(
        np.zeros((shape.block, dim), np.float32),
        np.zeros((shape.block, dim), np.float32),
        np.zeros(shape.block, np.float32),
        np.zeros(shape.block, np.int32),
        np.zeros(negatives, np.int32),
        np.zeros((negatives, dim), np.float32),
        np.zeros((negatives, dim), np.float32),
        np.zeros((shape.group, shape.shared), np.float32),
        np.zeros((shape.shared, shape.group), np.float32),
    )


@compile_function
def draw_windows(
    start: int,
    starts: IntArray,
    ends: IntArray,
    window: int,
    state: NDArray[np.uint64],
    windows: IntArray,
) -> None:
    """Draw the window of each token of a block: 1 to `window` words on either side, in its line.

    start: position of the first token. starts, ends: (n,) int64, the lines of the tokens. Writes
    `windows`, (n, 3) int64: first position, last position + 1, and the number of context words.
    """
    for i in range(len(starts)):
        radius = 1 + int(draw(state) % np.uint32(window))
        windows[i, 0] = max(starts[i], start + i - radius)
        windows[i, 1] = min(ends[i], start + i + radius + 1)
        windows[i, 2] = windows[i, 1] - windows[i, 0] - 1


@compile_function
def compute_changes(
    buffers: Buffers, first: int, last: int, negative: int, factor: np.float32
) -> None:
    """Replace the scores of a group by factor · weight · sigmoid(score); write the transpose.

    The group is that of the positions `first` to `last` - 1; other rows become 0, and so do
    excluded words. negative: number of the group's first negative.
    """
    scores = buffers.scores
    for i in range(scores.shape[0]):
        weight = np.float32(0)
        excluded = np.int32(LINE_END)
        if first + i < last:
            weight = factor * buffers.weights[first + i]
            excluded = buffers.excluded[first + i]
        for k in range(scores.shape[1]):
            scores[i, k] = weight * compute_sigmoid(scores[i, k])
        for k in range(scores.shape[1]):
            if buffers.words[negative + k] == excluded:
                scores[i, k] = 0
            buffers.transposed[k, i] = scores[i, k]


@compile_function
def train_on_negatives(
    outputs: Matrix,
    count: int,
    noise: Noise,
    shape: Shape,
    rate: np.float32,
    buffers: Buffers,
    state: NDArray[np.uint64],
) -> None:
    """Compute the gradient of the negatives at `count` positions, and update their output vectors.

    The `shared` negatives of a group are weighted like `negative` ones of each of its tokens. All
    vectors are those at the start of the block.
    """
    dim = outputs.shape[1]
    negatives = buffers.negatives
    changes = buffers.changes
    # 1. Draw the negatives, and copy their vectors to contiguous memory.
    for k in range(len(buffers.words)):
        word = draw_negative(noise, state)
        buffers.words[k] = word
        for j in range(dim):
            negatives[k, j] = outputs[word, j]

    # The groups of one set follow each other: its vectors stay in the first-level cache.
    factor = -rate * np.float32(shape.negative / shape.shared)
    groups = (count + shape.group - 1) // shape.group
    for number in range(shape.sets):
        k = number * shape.shared
        for group in range(number, groups, shape.sets):
            i = group * shape.group

            # 2. Multiply, and turn the products into changes.
            multiply(buffers.hidden, i, negatives, k, buffers.scores)
            compute_changes(buffers, i, min(i + shape.group, count), k, factor)

            # 3. Compute the changes of the hidden vectors, and of the negatives.
            add_combinations(buffers.scores, negatives, k, buffers.gradient, i, True)
            first = group < shape.sets
            add_combinations(buffers.transposed, buffers.hidden, i, changes, k, first)

    # 4. Update the output vectors; a word that was drawn twice is updated twice.
    for k in range(min(groups, shape.sets) * shape.shared):
        word = buffers.words[k]
        for j in range(dim):
            outputs[word, j] += changes[k, j]


@compile_function
def average_contexts(
    inputs: Matrix,
    tokens: NDArray[np.int32],
    sums: Matrix,
    windows: IntArray,
    average: bool,
    hidden: Matrix,
) -> None:
    """Write the mean of the input vectors in each window, without the token itself, into `hidden`.

    windows: (n, 3) int64: first position, last position + 1, and the number of context words. sums:
    (m + 1, d) float32, running sums of the input vectors: the sum of a window is a difference of
    two.
    """
    dim = inputs.shape[1]
    for i in range(len(tokens)):
        first, last, contexts = windows[i, 0], windows[i, 1], windows[i, 2]
        own = tokens[i]
        scale = ONE
        if average and contexts:
            scale = np.float32(1 / contexts)
        for j in range(dim):
            hidden[i, j] = (sums[last, j] - sums[first, j] - inputs[own, j]) * scale


@compile_function
def train_on_tokens(
    outputs: Matrix,
    tokens: NDArray[np.int32],
    windows: IntArray,
    average: bool,
    rate: np.float32,
    hidden: Matrix,
    gradient: Matrix,
) -> None:
    """Add the gradients of the tokens themselves, and update their output vectors."""
    dim = outputs.shape[1]
    for i in range(len(tokens)):
        contexts = windows[i, 2]
        if not contexts:
            for j in range(dim):
                gradient[i, j] = 0
            continue
        own = tokens[i]
        logit = np.float32(0)
        for j in range(dim):
            logit += hidden[i, j] * outputs[own, j]
        step = rate * (ONE - compute_sigmoid(logit))
        scale = ONE
        if not average:
            scale = np.float32(1 / contexts)
        for j in range(dim):
            value = (gradient[i, j] + step * outputs[own, j]) * scale
            outputs[own, j] += step * hidden[i, j]
            gradient[i, j] = value


@compile_function
def add_window_gradients(
    inputs: Matrix,
    tokens: NDArray[np.int32],
    windows: IntArray,
    offset: int,
    window: int,
    gradient: Matrix,
    running: Matrix,
) -> None:
    """Add the gradient of each window, (n, d) float32, to the input vectors of its words.

    tokens: (m,), those of the block begin at `offset`. `running`, (d,) float32, is the sum of the
    gradients of all windows around a position: a gradient is added to it where its window begins,
    and subtracted where it ends. A token does not get its own gradient.
    """
    dim = inputs.shape[1]
    count = len(windows)
    running[:] = 0
    for i in range(len(tokens)):
        row = tokens[i]
        own = i - offset
        for k in range(max(own - window - 1, 0), min(own + window + 1, count)):
            if windows[k, 0] == i:
                for j in range(dim):
                    running[j] += gradient[k, j]
            if windows[k, 1] == i:
                for j in range(dim):
                    running[j] -= gradient[k, j]
        for j in range(dim):
            inputs[row, j] += running[j]
        if 0 <= own < count:
            for j in range(dim):
                inputs[row, j] -= gradient[own, j]


@compile_function
def train_cbow(
    ids: NDArray[np.int32],
    inputs: Matrix,
    outputs: Matrix,
    noise: Noise,
    shape: Shape,
    rates: tuple[float, float],
    state: NDArray[np.uint64],
) -> None:
    """Train CBOW on a slice of word ids: change `inputs` and `outputs` (words, d) in place.

    rates: learning rates at the start and at the end of the slice. state: (1,), of the random
    generator. For each block of tokens:

    1. Sum the input vectors up to each position, one window beyond the block on both sides.
    2. Compute the hidden vector of each token: the mean of the input vectors in its window, without
       the token itself.
    3. Train on the negatives.
    4. Train on the tokens themselves.
    5. Add the gradient of each token to all input vectors of its window, by running sums.

    Example of 5: for a window of the positions 1 to 3 of 5, its gradient g is added at 1 and
    subtracted at 4, and the running sums are [0 g g g 0].
    """
    tokens, starts, ends = subsample(ids, noise.keep, state)
    dim = inputs.shape[1]
    buffers = allocate_buffers(shape, dim)
    hidden, gradient = buffers.hidden, buffers.gradient
    sums = np.zeros((shape.block + 2 * shape.window + 1, dim), np.float32)
    running = np.zeros(dim, np.float32)
    windows = np.zeros((shape.block, 3), np.int64)

    for start in range(0, len(tokens), shape.block):
        end = min(start + shape.block, len(tokens))
        block = tokens[start:end]
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * start / len(tokens))

        # 1. Running sums.
        left = max(starts[start], start - shape.window)
        right = min(ends[end - 1], end + shape.window)
        for i in range(right - left):
            row = tokens[left + i]
            for j in range(dim):
                sums[i + 1, j] = sums[i, j] + inputs[row, j]

        # 2. Hidden vectors.
        draw_windows(start, starts[start:end], ends[start:end], shape.window, state, windows)
        windows[:, :2] -= left
        for i in range(len(block)):
            buffers.weights[i] = min(windows[i, 2], 1)
            buffers.excluded[i] = block[i]
        average_contexts(inputs, block, sums, windows, shape.average, hidden)

        # 3. Negatives.
        train_on_negatives(outputs, len(block), noise, shape, rate, buffers, state)

        # 4. The tokens themselves.
        train_on_tokens(outputs, block, windows, shape.average, rate, hidden, gradient)

        # 5. Input vectors.
        add_window_gradients(
            inputs,
            tokens[left:right],
            windows[: len(block)],
            start - left,
            shape.window,
            gradient,
            running,
        )


@compile_function
def train_on_word(
    outputs: Matrix, row: int, rate: np.float32, i: int, hidden: Matrix, gradient: Matrix
) -> None:
    """Add the gradient of a predicted word to that of position i, and update its output vector."""
    logit = np.float32(0)
    for j in range(outputs.shape[1]):
        logit += hidden[i, j] * outputs[row, j]
    step = rate * (ONE - compute_sigmoid(logit))
    for j in range(outputs.shape[1]):
        gradient[i, j] += step * outputs[row, j]
        outputs[row, j] += step * hidden[i, j]


@compile_function
def train_skip_gram(
    ids: NDArray[np.int32],
    inputs: Matrix,
    outputs: Matrix,
    noise: Noise,
    shape: Shape,
    rates: tuple[float, float],
    state: NDArray[np.uint64],
) -> None:
    """Train skip-gram on a slice of word ids: change `inputs` and `outputs` (words, d) in place.

    rates: learning rates at the start and at the end of the slice. state: (1,), of the random
    generator. For each block of tokens:

    1. Copy the hidden vectors: that of a token is its input vector, and predicts each word in the
       window.
    2. Train on the negatives, which count once for each predicted word.
    3. Train on the predicted words.
    4. Add the gradients to the input vectors.
    """
    tokens, starts, ends = subsample(ids, noise.keep, state)
    dim = inputs.shape[1]
    buffers = allocate_buffers(shape, dim)
    hidden, gradient = buffers.hidden, buffers.gradient
    buffers.excluded[:] = LINE_END
    windows = np.zeros((shape.block, 3), np.int64)

    for start in range(0, len(tokens), shape.block):
        end = min(start + shape.block, len(tokens))
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * start / len(tokens))

        # 1. Hidden vectors and windows.
        draw_windows(start, starts[start:end], ends[start:end], shape.window, state, windows)
        for i in range(end - start):
            buffers.weights[i] = windows[i, 2]
            row = tokens[start + i]
            for j in range(dim):
                hidden[i, j] = inputs[row, j]

        # 2. Negatives.
        train_on_negatives(outputs, end - start, noise, shape, rate, buffers, state)

        # 3. The words in the window.
        for i in range(end - start):
            for position in range(windows[i, 0], windows[i, 1]):
                if position != start + i:
                    train_on_word(outputs, tokens[position], rate, i, hidden, gradient)

        # 4. Input vectors.
        for i in range(end - start):
            row = tokens[start + i]
            for j in range(dim):
                inputs[row, j] += gradient[i, j]
