"""Least squares on 20,000 anchors of 768 dimensions against numpy.linalg.lstsq: time and accuracy.

If the condition number is too high for the normal equations, lstsq itself is used and takes as long.
"""

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks._figures import Figure, run, time_in_turn
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.least_squares import solve_least_squares
from vocadapt.spaces.space import EmbeddingSpace

ANCHORS, DIM, REPEATS = 20_000, 768, 3
WELL, BADLY = 30, 1e9  # condition numbers
WORST = 1e-6  # relative difference of the solutions


def build_anchors(condition, rng):
    """Return source vectors with singular values from 1 to 1/condition, and target vectors that are
    a linear function of them plus noise.
    """
    left = np.linalg.qr(rng.normal(size=(ANCHORS, DIM)))[0]
    right = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    x = (left * np.geomspace(1, 1 / condition, DIM)) @ right * np.sqrt(ANCHORS)
    return x, x @ rng.normal(size=(DIM, DIM)) + rng.normal(size=(ANCHORS, DIM))


def measure(full: bool) -> Iterator[Figure]:
    """Solve a well and, with --full, a badly conditioned system."""
    rng = np.random.default_rng(1)
    for condition in (WELL, BADLY) if full else (WELL,):
        x, y = build_anchors(condition, rng)
        reference = np.linalg.lstsq(x, y, rcond=None)[0]
        error = np.linalg.norm(solve_least_squares(x, y) - reference) / np.linalg.norm(reference)
        works = {
            "lstsq": partial(np.linalg.lstsq, x, y, rcond=None),
            "ours": partial(solve_least_squares, x, y),
        }
        is_well = condition == WELL
        if is_well:
            words = tuple(map(str, range(ANCHORS)))
            source = EmbeddingSpace(words, x.astype(np.float32))
            target = EmbeddingSpace(words, y.astype(np.float32))
            works["whole"] = partial(fit_alignment, source, target)
        seconds = time_in_turn(works, REPEATS)
        yield Figure(
            f"least squares, condition {condition:g}",
            seconds["ours"],
            baseline=seconds["lstsq"],
            against="lstsq",
            target=0.25 if is_well else None,
        )
        yield Figure("relative difference", (float(error),), "", target=WORST)
        if is_well:
            yield Figure(
                "an alignment of two spaces",
                seconds["whole"],
                baseline=seconds["lstsq"],
                against="lstsq",
            )


if __name__ == "__main__":
    sys.exit(run(measure))
