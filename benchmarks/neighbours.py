"""Ten nearest of 60 000 × 768 rows: one query, and 1 000, against a bare product and argpartition, in one process.

Budget: one query at most 15 ms warm; 1 000 queries at most 1.3 × the baseline, which holds all similarities at once, or the same
blocks of rows as ours. Run it as `python -m benchmarks.neighbours` on a quiet machine.
"""

import time

import numpy as np

from vocadapt.spaces.nearest import BLOCK, hubness, nearest
from vocadapt.spaces.space import EmbeddingSpace

ROWS, DIM, QUERIES, K = 60_000, 768, 1000, 10


def bare(queries, candidates, step):
    for start in range(0, len(queries), step):
        similarity = queries[start : start + step] @ candidates.T
        np.argpartition(similarity, ROWS - K, axis=1)[:, ROWS - K :]


def best_time(function, *arguments, repeats=5):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main():
    matrix = np.random.default_rng(1).normal(size=(ROWS, DIM)).astype(np.float32)
    space = EmbeddingSpace(tuple(map(str, range(ROWS))), matrix)
    one, many, unit = matrix[:1], matrix[:QUERIES], space.unit
    hubs = hubness(unit[:2000], unit[:2000]).mean() * np.ones(ROWS, dtype=np.float32)
    warm, floor = best_time(nearest, one, space, repeats=20), best_time(bare, unit[:1], unit, 1, repeats=20)
    print(f"one query: {warm * 1000:.1f} ms, bare {floor * 1000:.1f} ms")
    steps = {"whole": QUERIES, "blocks": BLOCK // ROWS}
    baselines = {how: best_time(bare, unit[:QUERIES], unit, step) for how, step in steps.items()}
    for name, arguments in (("cosine", (K, "cosine")), ("Euclid", (K, "euclidean")), ("CSLS", (K, "cosine", None, hubs))):
        seconds = best_time(nearest, many, space, *arguments)
        ratios = ", ".join(f"{seconds / baseline:.2f} × bare product in {how}" for how, baseline in baselines.items())
        print(f"{QUERIES} queries, {name}: {seconds:.2f} s = {ratios}")


if __name__ == "__main__":
    main()
