"""The trainer `blocks` against gensim: seconds and quality of word vectors, over several seeds.

    python -m benchmarks.trainers [--seeds 5] [--megabytes 30] [--dim 384] [--skip-gram] [--workers 2]

Both train on the same words with the same counts and settings; the seconds are those from the first
update to the last. Target: a third of gensim's time at equal quality. Needs ../shared/data.

Quality: P@1 and P@5 of an alignment with MiniLM (least squares, normalized and centered, 5 folds,
CSLS, all anchors are candidates), analogies, and Spearman's correlation with judgments of similarity.
Each difference has a 95 % interval by a bootstrap over anchors, questions or pairs and over seeds.
Equal means that the interval lies above -.01. gensim with other seeds stands beside it: a measure for
which even that is not shown to be equal does not judge.

Limits of the machine: the memory bandwidth is that of copying 512 MB, the peak arithmetic that of a
product of matrices in NumPy, both with as many threads. The traffic and the arithmetic of a training
are counted from the algorithm, as if each vector came from memory.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.alignments import minilm
from benchmarks.vectors import sample
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.alignment import AlignmentSettings, find_anchors
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.diagnostics.evaluation import answer_analogies, build_lookup, detect_casing
from vocadapt.spaces.diagnostics.statistics import compute_spearman
from vocadapt.spaces.diagnostics.word_lists import read_analogies, read_pairs
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.block_plan import BLOCK, CBOW, count_shared_negatives
from vocadapt.spaces.word2vec.trainer import (
    Word2VecSettings,
    count_trained_words,
    train_word2vec,
)
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences

WORDS = Path(__file__).resolve().parents[2] / "shared/data/words"
PAIRS = ("Bio-SimLex", "UMNSRS-sim", "SimLex-999")
RANKING = "csls anchors"
DRAWS = 1000
MARGIN = -0.01  # of equal quality
TARGET = 3.0

# From chosen items (anchors, questions, pairs) to a score.
Scorer = Callable[[np.ndarray], float]
# By side, then seed, then measure: the number of items, and their scorer.
Scores = dict[str, list[dict[str, tuple[int, Scorer]]]]


def score_space(space: EmbeddingSpace, target: EmbeddingSpace) -> dict[str, tuple[int, Scorer]]:
    """Return the number of items of each measure, and a function from chosen items to its score."""
    settings = AlignmentSettings("least-squares", unit=True, center=True)
    pieces = target.take(find_anchors(space, target).target_rows)
    ranks = cross_validate(space, pieces, settings, 5).ranks[RANKING]
    find_row = build_lookup(space, detect_casing(space))
    measures = {f"P@{k}": average((ranks < k).astype(float)) for k in (1, 5)}

    questions = [
        [find_row(word) for word in question]
        for section in read_analogies(WORDS / "questions-words.txt")
        for question in section.questions
    ]
    known = np.array([question for question in questions if min(question) >= 0])
    measures["analogies"] = average(answer_analogies(space, known).astype(float))
    for name in PAIRS:
        rows = [
            (find_row(pair.first), find_row(pair.second), pair.score)
            for pair in read_pairs(WORDS / f"{name}.txt").pairs
        ]
        first, second, judged = map(
            np.array, zip(*(r for r in rows if min(r[:2]) >= 0), strict=True)
        )
        cosines = np.einsum("nd,nd->n", space.unit[first], space.unit[second])
        measures[name] = correlate(cosines, judged)
    return measures


def average(values: np.ndarray) -> tuple[int, Scorer]:
    return len(values), lambda chosen: float(values[chosen].mean())


def correlate(cosines: np.ndarray, judged: np.ndarray) -> tuple[int, Scorer]:
    return len(cosines), lambda chosen: float(
        compute_spearman(cosines[chosen], judged[chosen]) or 0
    )


def compare(
    one: list[tuple[int, Scorer]], other: list[tuple[int, Scorer]]
) -> tuple[float, float, float, float, float]:
    """Return the mean scores of both sides, their difference and its 95 % interval."""
    n = one[0][0]
    everything = np.arange(n)
    means = [float(np.mean([score(everything) for _, score in side])) for side in (one, other)]
    rng = np.random.default_rng(0)
    draws = np.empty(DRAWS)
    for i in range(DRAWS):
        chosen = rng.integers(0, n, n)
        sides = [
            np.mean([side[k][1](chosen) for k in rng.integers(0, len(side), len(side))])
            for side in (one, other)
        ]
        draws[i] = sides[1] - sides[0]
    low, high = np.quantile(draws, [0.025, 0.975])
    return *means, means[1] - means[0], float(low), float(high)


def measure_machine(workers: int) -> tuple[float, float]:
    """Return the bandwidth of memory in GB/s and the arithmetic in GFLOP/s, of `workers` threads."""
    from threadpoolctl import threadpool_limits

    def copy(arrays: np.ndarray) -> None:
        for _ in range(8):
            np.copyto(arrays[0], arrays[1])

    def multiply(_: int) -> None:
        matrix = np.ones((1024, 1024), np.float32)
        for _ in range(20):
            matrix @ matrix

    arrays = np.ones((workers, 2, 64 * 10**6), np.float32)
    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        start = time.perf_counter()
        list(pool.map(copy, arrays))
        copied = 8 * 2 * 4 * 64e6 * workers / (time.perf_counter() - start)
        start = time.perf_counter()
        list(pool.map(multiply, range(workers)))
        multiplied = 20 * 2 * 1024**3 * workers / (time.perf_counter() - start)
    return copied / 1e9, multiplied / 1e9


def describe_limits(words: float, seconds: float, settings: Word2VecSettings) -> str:
    """Describe how near to the limits of the machine the trainer `blocks` is with CBOW."""
    bandwidth, peak = measure_machine(settings.threads)
    # Per token: the input vector is read and written, the output vector too, and those of the sets
    # of negatives per block. Arithmetic: three products with the shared negatives.
    shared = count_shared_negatives(settings)
    traffic = 4 * settings.dim * (4 + 2 * CBOW.sets * shared / BLOCK) * words / seconds / 1e9
    arithmetic = 6 * settings.dim * shared * words / seconds / 1e9
    return (
        f"{traffic:.1f} GB/s of vectors ({traffic / bandwidth:.0%} of {bandwidth:.1f} GB/s), "
        f"{arithmetic:.0f} GFLOP/s in products ({arithmetic / peak:.0%} of {peak:.0f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=30.0)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--skip-gram", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    settings = Word2VecSettings(
        dim=options.dim, skip_gram=options.skip_gram, workers=options.workers, epochs=5
    )
    model = open_model(minilm())
    scores: Scores = {
        "gensim": [],
        "again": [],
        "blocks": [],
    }
    seconds: dict[str, list[float]] = {name: [] for name in scores}
    with tempfile.TemporaryDirectory() as folder:
        text, words = Path(folder) / "text.txt", Path(folder) / "words.txt"
        sample(options.megabytes, text)
        counts = write_sentences(open_corpus([text]), model.splitter, words)
        occurrences = [n for n in counts.counts.values() if n >= settings.min_count]
        kept = count_trained_words(np.array(occurrences, dtype=np.float64), settings.sample)
        trained = kept * settings.epochs
        print(f"{counts.words:,} words, {trained:,.0f} trained, dimension {settings.dim}")
        for seed in range(1, options.seeds + 1):
            for name in scores:
                chosen = replace(
                    settings,
                    seed=seed + 100 * (name == "again"),
                    trainer="gensim" if name == "again" else name,
                )
                result = train_word2vec(words, counts, chosen)
                seconds[name].append(result.training_seconds)
                scores[name].append(score_space(result.space, model.word_space))
                print(
                    f"seed {chosen.seed} {chosen.trainer}: {result.training_seconds:.1f} s",
                    flush=True,
                )

    best = {name: min(seconds[name]) for name in scores}
    for name in ("gensim", "blocks"):
        speed = counts.words * settings.epochs / best[name]
        print(f"{name}: {best[name]:.1f} s, {speed:,.0f} words/s")
    theirs = seconds["gensim"] + seconds["again"]
    for kind, summarize in (("best", min), ("median", np.median)):
        ratio = summarize(theirs) / summarize(seconds["blocks"])
        print(f"blocks, {kind} runs: {ratio:.2f} × gensim (target {TARGET:g})")
    if not options.skip_gram:
        print(describe_limits(trained, best["blocks"], settings))

    print_quality(scores)


def print_quality(scores: Scores) -> None:
    print(f"\n{'measure':12} {'n':>6} gensim other difference and 95 % interval")
    for measure in scores["gensim"][0]:
        sides = {name: [one[measure] for one in found] for name, found in scores.items()}
        judges = False
        for name in list(scores)[1:]:
            first, second, difference, low, high = compare(sides["gensim"], sides[name])
            verdict = "equal" if low > MARGIN else "NOT SHOWN"
            judges = judges or (name == "again" and low > MARGIN)
            if not judges:
                verdict = "too few items to judge"
            print(
                f"{measure:12} {sides[name][0][0]:>6} {first:.4f} {second:.4f}"
                f" {difference:+.4f} [{low:+.4f}, {high:+.4f}] {name}: {verdict}"
            )


if __name__ == "__main__":
    main()
