"""Time the search for 10 nearest neighbors among 60 000 × 768 rows against a matrix product and
argpartition.

Budget: one query at most 15 ms warm; 1 000 queries, also by CSLS, at most 1.3 × the baseline, which
holds all similarities at once, or blocks of rows as our search does. Both are timed in alternation.
Run it as `python -m benchmarks.neighbors` on an idle machine.
"""

import time

import numpy as np

from vocadapt.spaces.neighbors.search import BLOCK, compute_neighbor_cosines, find_nearest
from vocadapt.spaces.space import EmbeddingSpace

ROWS, DIM, QUERIES, K = 60_000, 768, 1000, 10


def bare(queries, candidates, step):
    for start in range(0, len(queries), step):
        similarity = queries[start : start + step] @ candidates.T
        np.argpartition(similarity, ROWS - K, axis=1)[:, ROWS - K :]


def measure_best_times(jobs, repeats=5):
    """Return the minimum seconds of each job (function, *arguments); jobs alternate to share the
    machine's load.
    """
    seconds = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, (function, *arguments) in jobs.items():
            start = time.perf_counter()
            function(*arguments)
            seconds[name].append(time.perf_counter() - start)
    return {name: min(taken) for name, taken in seconds.items()}


def main():
    matrix = np.random.default_rng(1).normal(size=(ROWS, DIM)).astype(np.float32)
    space = EmbeddingSpace(tuple(map(str, range(ROWS))), matrix)
    one, many, unit = matrix[:1], matrix[:QUERIES], space.unit
    hubs = compute_neighbor_cosines(unit[:2000], unit[:2000]).mean() * np.ones(
        ROWS, dtype=np.float32
    )
    found = measure_best_times(
        {"ours": (find_nearest, one, space), "bare": (bare, unit[:1], unit, 1)}, repeats=20
    )
    print(f"one query: {found['ours'] * 1000:.1f} ms, bare {found['bare'] * 1000:.1f} ms")
    baselines = {"whole": QUERIES, "blocks": BLOCK // ROWS}
    measures = {
        "cosine": (K, "cosine"),
        "Euclid": (K, "euclidean"),
        "CSLS": (K, "cosine", None, hubs),
    }
    jobs = {how: (bare, unit[:QUERIES], unit, step) for how, step in baselines.items()}
    jobs |= {name: (find_nearest, many, space, *arguments) for name, arguments in measures.items()}
    seconds = measure_best_times(jobs)
    for name in measures:
        ratios = ", ".join(
            f"{seconds[name] / seconds[how]:.2f} × bare product in {how}" for how in baselines
        )
        print(f"{QUERIES} queries, {name}: {seconds[name]:.2f} s = {ratios}")


if __name__ == "__main__":
    main()
