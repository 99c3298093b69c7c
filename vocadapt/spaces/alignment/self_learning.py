"""Self-learning: an alignment from few anchors, fitted again on pairs of words that it finds.

Artetxe et al. 2017, Learning bilingual word embeddings with (almost) no bilingual data, and Artetxe
et al. 2018, A robust self-learning method for fully unsupervised cross-lingual mappings, sections
3.2 and 3.3 (stochastic dictionary induction, CSLS, frequency cutoff). Pairs are found only by
vectors, not by the spelling of words.
"""

import numpy as np

from vocadapt.spaces.alignment.least_squares import solve_procrustes
from vocadapt.spaces.space import FloatArray, IntArray, Matrix, normalize_rows

NEIGHBORS = 10  # k of CSLS
FIRST_KEPT = 0.3  # fraction of the similarities that the first round keeps
SEED_WEIGHT = 5.0  # of a given anchor, relative to an induced pair


def fit_self_learning(
    x: FloatArray, y: FloatArray, all_x: Matrix, all_y: Matrix, rounds: int, seed: int
) -> FloatArray:
    """Return the matrix W (d, e) float64 of self-learning from the anchors x (n, d) and y (n, e)
    float64.

    all_x: (m, d), all_y: (p, e), float32: vectors of the most frequent words of both spaces, from
    which pairs are induced.

    1. Fit a rotation on the anchors; wrong pairs affect it less than least squares.
    2. In each round, map all words, and compute CSLS with a random part of the similarities
       dropped: fewer in each round, none in the last. This escapes from poor local optima.
    3. Fit again on the pairs of mutual nearest neighbors, and on the anchors with a greater weight.
    """
    rng = np.random.default_rng(seed)
    # 1. Fit on the anchors.
    matrix = solve_procrustes(x, y)
    targets = normalize_rows(all_y.astype(np.float32))
    for i in range(rounds):
        # 2. Find pairs by CSLS; the kept fraction rises to 1.
        kept = FIRST_KEPT ** ((rounds - 1 - i) / max(rounds - 1, 1))
        mapped = normalize_rows(all_x.astype(np.float32) @ matrix.astype(np.float32))
        rows, columns = find_mutual_neighbors(mapped, targets, kept, rng)
        # 3. Fit on the anchors and the pairs.
        roots = np.sqrt(np.r_[np.full(len(x), SEED_WEIGHT), np.ones(len(rows))])[:, None]
        matrix = solve_procrustes(
            np.vstack([x, all_x[rows]]) * roots, np.vstack([y, all_y[columns]]) * roots
        )
    return matrix


def find_mutual_neighbors(
    mapped: Matrix, targets: Matrix, kept: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the pairs of rows that are mutual nearest neighbors by CSLS, two (pairs,) int64.

    mapped: (m, e), targets: (p, e), unit vectors, float32. kept: random fraction of the
    similarities to use.

    1. Compute cosines, and the mean cosine of each row and column to its k nearest neighbors.
    2. Compute CSLS, and drop a random part of it.
    3. Keep the pairs in which each is the best of the other.

    Example, kept 1: CSLS [[.9 .1], [.8 .2]] -> row 0 and column 0 choose each other; row 1 chooses
    column 0, which does not choose it -> rows [0], columns [0].
    """
    if not len(mapped) or not len(targets):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # 1. Cosines, and their means over the nearest neighbors.
    similarity = mapped @ targets.T
    k_columns = min(NEIGHBORS, len(targets))
    k_rows = min(NEIGHBORS, len(mapped))
    split = len(targets) - k_columns
    of_mapped = np.partition(similarity, split, axis=1)[:, split:].mean(axis=1)
    split = len(mapped) - k_rows
    of_targets = np.partition(similarity, split, axis=0)[split:].mean(axis=0)
    # 2. CSLS.
    similarity *= 2
    similarity -= of_mapped[:, None]
    similarity -= of_targets
    if kept < 1:
        dropped = rng.random(similarity.shape, dtype=np.float32) >= kept
        similarity[dropped] = -np.inf
    # 3. Mutual nearest neighbors.
    best_column = similarity.argmax(axis=1)
    best_row = similarity.argmax(axis=0)
    rows = np.arange(len(mapped))
    mutual = (best_row[best_column] == rows) & np.isfinite(similarity[rows, best_column])
    return rows[mutual], best_column[mutual]
