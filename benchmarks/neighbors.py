"""The 10 nearest neighbors among 60,000 vectors of 768 dimensions, against a matrix product and
argpartition.

The baseline holds all similarities at once, or blocks of rows as our search does.
"""

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks._figures import Figure, run, time_in_turn
from vocadapt.spaces.neighbors.search import BLOCK, compute_neighbor_cosines, find_nearest
from vocadapt.spaces.space import EmbeddingSpace

ROWS, DIM, QUERIES, K = 60_000, 768, 1000, 10


def search_bare(queries, candidates, step):
    """Search by a matrix product."""
    for start in range(0, len(queries), step):
        similarity = queries[start : start + step] @ candidates.T
        np.argpartition(similarity, ROWS - K, axis=1)[:, ROWS - K :]


def measure(full: bool) -> Iterator[Figure]:
    """Search for the neighbors of one vector, and of many by each measure."""
    matrix = np.random.default_rng(1).normal(size=(ROWS, DIM)).astype(np.float32)
    space = EmbeddingSpace(tuple(map(str, range(ROWS))), matrix)
    one, many, unit = matrix[:1], matrix[:QUERIES], space.unit
    hubs = compute_neighbor_cosines(unit[:2000], unit[:2000]).mean() * np.ones(
        ROWS, dtype=np.float32
    )
    works = {
        "ours": partial(find_nearest, one, space),
        "bare": partial(search_bare, unit[:1], unit, 1),
    }
    seconds = time_in_turn(works, 20)
    milliseconds = tuple(1000 * value for value in seconds["ours"])
    bare = tuple(1000 * value for value in seconds["bare"])
    yield Figure("one query", milliseconds, "ms", bare, "bare product")
    works = {
        "whole": partial(search_bare, unit[:QUERIES], unit, QUERIES),
        "blocks": partial(search_bare, unit[:QUERIES], unit, max(BLOCK // ROWS, 1)),
        "cosine": partial(find_nearest, many, space, K, "cosine"),
        "Euclid": partial(find_nearest, many, space, K, "euclidean"),
        "CSLS": partial(find_nearest, many, space, K, "cosine", None, hubs),
    }
    seconds = time_in_turn(works)
    baseline = min(seconds["whole"], seconds["blocks"], key=min)
    for name in ("cosine", "Euclid", "CSLS"):
        label = f"{QUERIES:,} queries, {name}"
        yield Figure(label, seconds[name], "s", baseline, "bare product", target=1.3)


if __name__ == "__main__":
    sys.exit(run(measure))
