"""A linear map plus a small multilayer perceptron, trained to retrieve the own wordpiece.

    f(x) = x·A + relu(x·B + b)·C

A starts from least squares and C from zero, so training starts from the linear map. The loss of a
batch is the cross-entropy of the own wordpiece among the batch's wordpieces, by cosine, and of the
own word among the batch's words (InfoNCE, van den Oord et al. 2018, both directions as in Radford
et al. 2021). Gradients are computed explicitly, because this package does not import torch.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.alignment.least_squares import solve_least_squares
from vocadapt.spaces.neighbors.search import iterate_blocks
from vocadapt.spaces.space import FloatArray, Matrix

# Batch and epochs were chosen on encyclopedia text, not on text used for evaluation.
HIDDEN = 1024
DROPOUT = 0.5
TEMPERATURE = 0.05
BATCH = 512
NORM_WEIGHT = 0.1  # of the two columns of the log norm
# Learning rate of each parameter, for inputs and outputs of length 1.
RATES = {"matrix": 1e-3, "hidden": 1e-3, "bias": 1e-3, "output": 1e-4}
BETAS = (0.9, 0.999)  # of Adam (Kingma and Ba 2015)
WARM_UP = 0.1  # fraction of the steps
TINY = 1e-8
SMALLEST_SD = 1e-3  # of the log norms; if it is smaller, they are not scaled

Parameters = dict[str, Matrix]


def fit_mlp(
    x: FloatArray,
    y: FloatArray,
    norms: FloatArray,
    weights: FloatArray,
    ridge: float,
    epochs: int,
    seed: int,
) -> Parameters:
    """Return the parameters of the network by name, float32, trained on x (n, d) and y (n, e)
    float64.

    norms: (n,) float64, norms of the source vectors before normalizing. Their logarithm is an
    input, because norms depend on the frequency of the word. weights: (n,) float64, of the anchors
    in the loss. Deterministic for a `seed`, except for rounding, which depends on the number of
    threads.

    1. Append the logarithm of the norm; scale the inputs to a mean length of 1.
    2. Start A from ridge regression, scaled to a mean output of length 1, B at random and C from 0.
    3. In each epoch, split the anchors into batches and take a step of Adam on each. The learning
       rate rises in the first tenth of the steps, then falls to zero by a cosine.
    4. Scale the outputs back to the length that ridge regression gives.
    """
    rng = np.random.default_rng(seed)
    targets = _normalize(y.astype(np.float32))[0]
    single = weights.astype(np.float32)

    # 1. Build the inputs.
    logs = np.log(np.maximum(norms, TINY))
    scale = float(np.linalg.norm(x, axis=1).mean()) or 1.0
    sd = logs.std() if logs.std() > SMALLEST_SD else 1.0
    frame = np.array([logs.mean(), sd, scale], dtype=np.float32)
    inputs = _build_inputs(x.astype(np.float32), norms, frame)
    n, dim = inputs.shape

    # 2. Initialize the parameters.
    roots = np.sqrt(weights)[:, None]
    start = solve_least_squares(
        (inputs * roots).astype(np.float64), (y * roots).astype(np.float64), ridge
    )
    length = float(np.linalg.norm(inputs @ start, axis=1).mean()) or 1.0
    parameters = {
        "matrix": (start / length).astype(np.float32),
        "hidden": rng.normal(size=(dim, HIDDEN)).astype(np.float32),
        "bias": np.zeros(HIDDEN, dtype=np.float32),
        "output": np.zeros((HIDDEN, y.shape[1]), dtype=np.float32),
    }

    # 3. Train.
    adam = _Adam(parameters)
    n_batches = max(1, round(n / BATCH))
    for epoch in range(epochs):
        for i, batch in enumerate(np.array_split(rng.permutation(n), n_batches)):
            done = (epoch * n_batches + i + 1) / (epochs * n_batches)
            decay = 0.5 * (1 + np.cos(np.pi * max(0.0, done - WARM_UP) / (1 - WARM_UP)))
            gradients = _compute_gradients(
                parameters, inputs[batch], targets[batch], single[batch], rng
            )
            adam.step(parameters, gradients, min(done / WARM_UP, 1.0) * decay)

    # 4. Scale the outputs back.
    trained = np.linalg.norm(_apply(inputs, parameters), axis=1).mean()
    for name in ("matrix", "output"):
        parameters[name] *= np.float32(length / max(float(trained), TINY))
    return {**parameters, "frame": frame}


def apply_mlp(rows: Matrix, norms: Matrix, parameters: Mapping[str, Matrix]) -> Matrix:
    """Apply the network to rows (n, d) with the norms (n,) of their vectors before normalizing.

    Returns (n, e) float32.
    """
    mapped = np.empty((len(rows), parameters["matrix"].shape[1]), dtype=np.float32)
    for part in iterate_blocks(len(rows), HIDDEN):
        inputs = _build_inputs(rows[part], norms[part], parameters["frame"])
        mapped[part] = _apply(inputs, parameters)
    return mapped


def _build_inputs(rows: Matrix, norms: NDArray[np.floating], frame: Matrix) -> Matrix:
    """Return scaled rows with two more columns, the standardized log norm and its square, (n, d +
    2) float32.

    frame: (3,) float32, mean and standard deviation of the log norms, and scale of the rows.
    """
    mean, sd, scale = frame
    logs = (np.log(np.maximum(norms, TINY)) - mean) / sd
    more = np.column_stack([logs, logs**2 - 1]) * NORM_WEIGHT
    return np.hstack([rows / scale, more.astype(np.float32)])


def _apply(inputs: Matrix, parameters: Mapping[str, Matrix]) -> Matrix:
    active = np.maximum(inputs @ parameters["hidden"] + parameters["bias"], 0)
    return np.asarray(inputs @ parameters["matrix"] + active @ parameters["output"])


def compute_retrieval_loss(
    mapped: Matrix, targets: Matrix, weights: Matrix
) -> tuple[float, Matrix]:
    """Return the loss of a batch and its gradient with respect to the mapped vectors, (n, e)
    float32.

    mapped: (n, e), targets: (n, e) unit vectors, weights: (n,), all float32.

    1. Compute the scores: cosines divided by the temperature.
    2. In both directions, add the cross-entropy of the own pair and its gradient with respect to
       scores.
    3. Propagate the gradient to the unit vectors, and to the vectors before normalizing.

    Example: two mapped vectors equal to two orthogonal targets have the scores [20 0], [0 20]. The
    loss is 2 · log(1 + exp(−20)), about 4e-9.
    """
    # 1. Scores.
    unit, norms = _normalize(mapped)
    scores = unit @ targets.T / np.float32(TEMPERATURE)
    # 2. Cross-entropy, of the own target among targets and of the own word among words.
    own = np.arange(len(scores))
    fractions = weights / max(float(weights.sum()), TINY)
    loss = 0.0
    by_scores = np.zeros_like(scores)
    for axis in (1, 0):
        shifted = scores - scores.max(axis=axis, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
        loss -= float(fractions @ logs[own, own])
        probabilities = np.exp(logs)
        probabilities[own, own] -= 1
        by_scores += probabilities * np.expand_dims(fractions, axis)
    # 3. The normalization removes the part of the gradient along the unit vector.
    by_unit = by_scores @ targets / np.float32(TEMPERATURE)
    along = np.einsum("ij,ij->i", by_unit, unit)[:, None]
    return loss, (by_unit - along * unit) / norms


def _compute_gradients(
    parameters: Parameters,
    rows: Matrix,
    targets: Matrix,
    weights: Matrix,
    rng: np.random.Generator,
) -> Parameters:
    """Return the gradient of the loss of a batch with respect to each parameter, with dropout."""
    # 1. Forward pass, with dropout on the inputs of the hidden layer and on its outputs.
    kept_inputs = rows * _draw_mask(rows.shape, DROPOUT / 2, rng)
    before = kept_inputs @ parameters["hidden"] + parameters["bias"]
    mask = _draw_mask(before.shape, DROPOUT, rng) * (before > 0)
    active = before * mask
    mapped = np.asarray(
        rows @ parameters["matrix"] + active @ parameters["output"], dtype=np.float32
    )
    # 2. Backward pass.
    _, by_mapped = compute_retrieval_loss(mapped, targets, weights)
    by_before = (by_mapped @ parameters["output"].T) * mask
    return {
        "matrix": rows.T @ by_mapped,
        "hidden": kept_inputs.T @ by_before,
        "bias": by_before.sum(axis=0),
        "output": active.T @ by_mapped,
    }


class _Adam:
    """The optimizer Adam (Kingma and Ba 2015)."""

    def __init__(self, parameters: Parameters) -> None:
        self._means = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._squares = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._steps = 0

    def step(self, parameters: Parameters, gradients: Parameters, factor: float) -> None:
        """Take a step in place; `factor` multiplies the learning rates."""
        self._steps += 1
        first, second = (np.float32(1 - beta**self._steps) for beta in BETAS)
        for name, gradient in gradients.items():
            mean = self._means[name]
            square = self._squares[name]
            mean += np.float32(1 - BETAS[0]) * (gradient - mean)
            square += np.float32(1 - BETAS[1]) * (gradient * gradient - square)
            size = np.sqrt(square / second) + np.float32(TINY)
            parameters[name] -= np.float32(factor * RATES[name]) * (mean / first) / size


def _draw_mask(shape: tuple[int, ...], dropout: float, rng: np.random.Generator) -> Matrix:
    """Return a dropout mask, float32: 0 for dropped values, and 1/(1 − dropout) for the others."""
    kept = rng.random(shape, dtype=np.float32) >= dropout
    return kept.astype(np.float32) / np.float32(1 - dropout)


def _normalize(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Return the rows (n, d) scaled to length 1, and their norms (n, 1), at least TINY, float32."""
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(TINY))
    return rows / norms, norms
