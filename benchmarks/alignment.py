"""Least-squares alignment of 20 000 anchors × 768: time and accuracy against numpy.linalg.lstsq.

Baseline: numpy.linalg.lstsq in float64, in the same process. Budget: at most 1/4 of its time,
relative difference of W at most 1e-6. If the condition number is too high for the normal equations,
lstsq itself is used and takes as long. Run `python -m benchmarks.alignment` on an idle machine.
"""

import time

import numpy as np

from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.least_squares import solve_least_squares
from vocadapt.spaces.space import EmbeddingSpace

ANCHORS, DIM = 20_000, 768


def anchors(condition, rng):
    """Return source vectors with singular values from 1 to 1/condition, and target vectors that are
    a linear function of them plus noise.
    """
    left = np.linalg.qr(rng.normal(size=(ANCHORS, DIM)))[0]
    right = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    x = (left * np.geomspace(1, 1 / condition, DIM)) @ right * np.sqrt(ANCHORS)
    return x, x @ rng.normal(size=(DIM, DIM)) + rng.normal(size=(ANCHORS, DIM))


def timed(function, *arguments, repeats=3):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def main():
    rng = np.random.default_rng(1)
    for condition in (30, 1e5, 1e9):
        x, y = anchors(condition, rng)
        (reference, *_), slow = timed(
            lambda x, y: np.linalg.lstsq(x, y, rcond=None), x, y, repeats=2
        )
        ours, fast = timed(solve_least_squares, x, y)
        error = np.linalg.norm(ours - reference) / np.linalg.norm(reference)
        print(
            f"condition {condition:.0e}: {fast:.2f} s, lstsq {slow:.2f} s, ratio {fast / slow:.3f},"
            f" difference {error:.1e}"
        )
        if condition == 30:
            words = tuple(map(str, range(ANCHORS)))
            source, target = (
                EmbeddingSpace(words, x.astype(np.float32)),
                EmbeddingSpace(words, y.astype(np.float32)),
            )
            _, whole = timed(fit_alignment, source, target)
            print(
                f"    fit_alignment in total, from float32 spaces: {whole:.2f} s, ratio"
                f" {whole / slow:.3f}"
            )


if __name__ == "__main__":
    main()
