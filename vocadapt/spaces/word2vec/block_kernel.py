"""The compiled functions of `block_trainer`: one call trains one slice of a text.

All vectors are rows of float32 arrays. Random numbers come from a generator that is implemented
here (xorshift64*, Vigna 2016), so that equal seeds give equal vectors in every version of numba.
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
def multiply(left: Matrix, right: Matrix, products: Matrix) -> None:
    """Write left · rightᵀ (n, k) into `products`, for left (n, d) and right (k, d).

    n and k are multiples of TILE. The 16 products of a tile are summed together, so that each value
    is used four times after it is read.
    """
    dim = left.shape[1]
    for i in range(0, left.shape[0], TILE):
        a = left[i]
        b = left[i + 1]
        c = left[i + 2]
        d = left[i + 3]
        for k in range(0, right.shape[0], TILE):
            p = right[k]
            q = right[k + 1]
            r = right[k + 2]
            s = right[k + 3]
            ap = aq = ar = as_ = np.float32(0)
            bp = bq = br = bs = np.float32(0)
            cp = cq = cr = cs = np.float32(0)
            dp = dq = dr = ds = np.float32(0)
            for j in range(dim):
                ap += a[j] * p[j]
                aq += a[j] * q[j]
                ar += a[j] * r[j]
                as_ += a[j] * s[j]
                bp += b[j] * p[j]
                bq += b[j] * q[j]
                br += b[j] * r[j]
                bs += b[j] * s[j]
                cp += c[j] * p[j]
                cq += c[j] * q[j]
                cr += c[j] * r[j]
                cs += c[j] * s[j]
                dp += d[j] * p[j]
                dq += d[j] * q[j]
                dr += d[j] * r[j]
                ds += d[j] * s[j]
            products[i, k] = ap
            products[i, k + 1] = aq
            products[i, k + 2] = ar
            products[i, k + 3] = as_
            products[i + 1, k] = bp
            products[i + 1, k + 1] = bq
            products[i + 1, k + 2] = br
            products[i + 1, k + 3] = bs
            products[i + 2, k] = cp
            products[i + 2, k + 1] = cq
            products[i + 2, k + 2] = cr
            products[i + 2, k + 3] = cs
            products[i + 3, k] = dp
            products[i + 3, k + 1] = dq
            products[i + 3, k + 2] = dr
            products[i + 3, k + 3] = ds


@compile_function
def add_combinations(factors: Matrix, vectors: Matrix, sums: Matrix, fresh: bool) -> None:
    """Add factors (n, k) · vectors (k, d) to `sums` (n, d), or overwrite `sums` if `fresh`.
    n and k are multiples of TILE.
    """
    dim = vectors.shape[1]
    for i in range(0, factors.shape[0], TILE):
        a = sums[i]
        b = sums[i + 1]
        c = sums[i + 2]
        d = sums[i + 3]
        for k in range(0, factors.shape[1], TILE):
            p = vectors[k]
            q = vectors[k + 1]
            r = vectors[k + 2]
            s = vectors[k + 3]
            ap = factors[i, k]
            aq = factors[i, k + 1]
            ar = factors[i, k + 2]
            as_ = factors[i, k + 3]
            bp = factors[i + 1, k]
            bq = factors[i + 1, k + 1]
            br = factors[i + 1, k + 2]
            bs = factors[i + 1, k + 3]
            cp = factors[i + 2, k]
            cq = factors[i + 2, k + 1]
            cr = factors[i + 2, k + 2]
            cs = factors[i + 2, k + 3]
            dp = factors[i + 3, k]
            dq = factors[i + 3, k + 1]
            dr = factors[i + 3, k + 2]
            ds = factors[i + 3, k + 3]
            if fresh and k == 0:
                for j in range(dim):
                    a[j] = ap * p[j] + aq * q[j] + ar * r[j] + as_ * s[j]
                    b[j] = bp * p[j] + bq * q[j] + br * r[j] + bs * s[j]
                    c[j] = cp * p[j] + cq * q[j] + cr * r[j] + cs * s[j]
                    d[j] = dp * p[j] + dq * q[j] + dr * r[j] + ds * s[j]
            else:
                for j in range(dim):
                    a[j] += ap * p[j] + aq * q[j] + ar * r[j] + as_ * s[j]
                    b[j] += bp * p[j] + bq * q[j] + br * r[j] + bs * s[j]
                    c[j] += cp * p[j] + cq * q[j] + cr * r[j] + cs * s[j]
                    d[j] += dp * p[j] + dq * q[j] + dr * r[j] + ds * s[j]


@compile_function
def subsample(
    ids: NDArray[np.int32], keep: Matrix, state: NDArray[np.uint64]
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
    words: NDArray[np.int32],
    weights: Matrix,
    excluded: NDArray[np.int32],
    factor: np.float32,
    scores: Matrix,
    transposed: Matrix,
) -> None:
    """Replace the scores (group, shared) by factor · weight · sigmoid(score); write the transpose.

    weights, excluded: (n,), of the first n rows. Other rows and excluded words become 0.
    """
    for i in range(len(scores)):
        weight = np.float32(0)
        excluded_word = np.int32(LINE_END)
        if i < len(weights):
            weight = factor * weights[i]
            excluded_word = excluded[i]
        row = scores[i]
        for k in range(len(words)):
            row[k] = weight * compute_sigmoid(row[k])
        for k in range(len(words)):
            if words[k] == excluded_word:
                row[k] = 0
            transposed[k, i] = row[k]


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
    # 1. Draw the negatives, and copy their vectors to contiguous memory.
    words = buffers.words
    negatives = buffers.negatives
    changes = buffers.changes
    for k in range(len(words)):
        words[k] = draw_negative(noise, state)
        vector = outputs[words[k]]
        copy = negatives[k]
        for j in range(outputs.shape[1]):
            copy[j] = vector[j]
    scores, transposed = buffers.scores, buffers.transposed

    for number in range((count + shape.group - 1) // shape.group):
        first = number * shape.group
        chosen = number % shape.sets * shape.shared
        hidden = buffers.hidden[first : first + shape.group]
        vectors = negatives[chosen : chosen + shape.shared]

        # 2. Multiply, and turn the products into changes.
        multiply(hidden, vectors, scores)
        last = min(first + shape.group, count)
        compute_changes(
            words[chosen : chosen + shape.shared],
            buffers.weights[first:last],
            buffers.excluded[first:last],
            -rate * np.float32(shape.negative / shape.shared),
            scores,
            transposed,
        )

        # 3. Compute the changes of the hidden vectors, and of the negatives.
        gradient = buffers.gradient[first : first + shape.group]
        add_combinations(scores, vectors, gradient, True)
        add_combinations(
            transposed, hidden, changes[chosen : chosen + shape.shared], number < shape.sets
        )

    # 4. Update the output vectors; a word that was drawn twice is updated twice.
    groups = (count + shape.group - 1) // shape.group
    for k in range(min(groups, shape.sets) * shape.shared):
        vector = outputs[words[k]]
        change = changes[k]
        for j in range(outputs.shape[1]):
            vector[j] += change[j]


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
    for i in range(len(tokens)):
        first, last, contexts = windows[i]
        scale = np.float32(1)
        if average and contexts:
            scale = np.float32(1 / contexts)
        row = hidden[i]
        own = inputs[tokens[i]]
        before = sums[first]
        after = sums[last]
        for j in range(inputs.shape[1]):
            row[j] = (after[j] - before[j] - own[j]) * scale


@compile_function
def train_on_tokens(
    outputs: Matrix,
    tokens: NDArray[np.int32],
    windows: IntArray,
    average: bool,
    rate: np.float32,
    hidden: Matrix,
    gradient: Matrix,
    differences: Matrix,
) -> None:
    """Add the gradients of the tokens themselves, update their output vectors, and add each
    gradient to the difference array `differences`, (m + 1, d) float32, of its window.
    """
    for i in range(len(tokens)):
        first, last, contexts = windows[i]
        if not contexts:
            gradient[i] = 0
            continue
        row = hidden[i]
        change = gradient[i]
        own = outputs[tokens[i]]
        logit = np.float32(0)
        for j in range(outputs.shape[1]):
            logit += row[j] * own[j]
        step = rate * (ONE - compute_sigmoid(logit))
        scale = np.float32(1)
        if not average:
            scale = np.float32(1 / contexts)
        begins = differences[first]
        stops = differences[last]
        for j in range(outputs.shape[1]):
            value = (change[j] + step * own[j]) * scale
            own[j] += step * row[j]
            change[j] = value
            begins[j] += value
            stops[j] -= value


@compile_function
def add_window_gradients(
    inputs: Matrix,
    tokens: NDArray[np.int32],
    differences: Matrix,
    offset: int,
    count: int,
    gradient: Matrix,
) -> None:
    """Add the running sums of `differences`, (m + 1, d) float32, to the input vectors of m tokens,
    and clear the array.

    The `count` tokens from `offset` do not get their own gradient.
    """
    running = np.zeros(inputs.shape[1], np.float32)
    nothing = np.zeros(inputs.shape[1], np.float32)
    for i in range(len(tokens)):
        own = nothing
        if 0 <= i - offset < count:
            own = gradient[i - offset]
        vector = inputs[tokens[i]]
        difference = differences[i]
        for j in range(inputs.shape[1]):
            running[j] += difference[j]
            vector[j] += running[j] - own[j]
            difference[j] = 0
    differences[len(tokens)] = 0


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
    4. Train on the tokens themselves. A gradient applies to all input vectors of the window: store
       it in a difference array.
    5. Add the running sums of the difference array to the input vectors.

    Example of 4 and 5: a gradient g for the positions 1 to 3 of 5 is stored as [0 g 0 0 -g], whose
    running sums are [0 g g g 0].
    """
    tokens, starts, ends = subsample(ids, noise.keep, state)
    dim = inputs.shape[1]
    buffers = allocate_buffers(shape, dim)
    hidden, gradient = buffers.hidden, buffers.gradient
    sums = np.zeros((shape.block + 2 * shape.window + 1, dim), np.float32)
    differences = np.zeros((shape.block + 2 * shape.window + 1, dim), np.float32)
    windows = np.zeros((shape.block, 3), np.int64)

    for start in range(0, len(tokens), shape.block):
        end = min(start + shape.block, len(tokens))
        block = tokens[start:end]
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * start / len(tokens))

        # 1. Running sums.
        left = max(starts[start], start - shape.window)
        right = min(ends[end - 1], end + shape.window)
        for i in range(right - left):
            vector = inputs[tokens[left + i]]
            before = sums[i]
            after = sums[i + 1]
            for j in range(dim):
                after[j] = before[j] + vector[j]

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
        train_on_tokens(outputs, block, windows, shape.average, rate, hidden, gradient, differences)

        # 5. Input vectors.
        add_window_gradients(
            inputs, tokens[left:right], differences, start - left, len(block), gradient
        )


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
    buffers.excluded[:] = LINE_END
    windows = np.zeros((shape.block, 3), np.int64)

    for start in range(0, len(tokens), shape.block):
        end = min(start + shape.block, len(tokens))
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * start / len(tokens))

        # 1. Hidden vectors and windows.
        draw_windows(start, starts[start:end], ends[start:end], shape.window, state, windows)
        for i in range(end - start):
            buffers.weights[i] = windows[i, 2]
            buffers.hidden[i] = inputs[tokens[start + i]]

        # 2. Negatives.
        train_on_negatives(outputs, end - start, noise, shape, rate, buffers, state)

        # 3. The words in the window.
        for i in range(end - start):
            row = buffers.hidden[i]
            change = buffers.gradient[i]
            for position in range(windows[i, 0], windows[i, 1]):
                if position == start + i:
                    continue
                target = outputs[tokens[position]]
                logit = np.float32(0)
                for j in range(dim):
                    logit += row[j] * target[j]
                step = rate * (ONE - compute_sigmoid(logit))
                for j in range(dim):
                    change[j] += step * target[j]
                    target[j] += step * row[j]

        # 4. Input vectors.
        for i in range(end - start):
            inputs[tokens[start + i]] += buffers.gradient[i]
