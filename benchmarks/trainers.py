"""The trainer `blocks` against gensim: seconds and quality of word vectors, over several seeds.

Both train on the same words with the same counts and settings, 4 MB with two seeds. --full: 30 MB for
5 epochs and 8 MB for 30, with three seeds.

Quality: P@1 and P@5 of an alignment with MiniLM (least squares, normalized and centered, 5 folds,
CSLS, all anchors are candidates), analogies, and Spearman's correlation with judgments of similarity.
Each difference has a 90 % interval by a bootstrap over anchors, questions or pairs and over seeds.
Equal means that the interval lies within -.01 and .01. gensim with other seeds stands beside it: a
measure for which even that is not shown to be equal does not judge.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks._figures import SHARED, Figure, run
from benchmarks.vectors import sample
from experiments.alignments import minilm
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.alignment import AlignmentSettings, find_anchors
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.diagnostics.evaluation import answer_analogies, build_lookup, detect_casing
from vocadapt.spaces.diagnostics.statistics import compute_spearman
from vocadapt.spaces.diagnostics.word_lists import read_analogies, read_pairs
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences

WORDS = SHARED / "words"
DIM = 384
PAIRS = ("Bio-SimLex", "UMNSRS-sim", "SimLex-999")
RANKING = "csls anchors"
DRAWS = 1000
MARGIN = 0.01  # of equal quality
TARGET = 2.5

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
    """Return the mean scores of both sides, their difference and its 90 % interval."""
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
    low, high = np.quantile(draws, [0.05, 0.95])
    return *means, means[1] - means[0], float(low), float(high)


def measure(full: bool) -> Iterator[Figure]:
    """Train with each trainer in turn, and compare the vectors."""
    if full:
        yield from compare_trainers(30, 5, 3)
        yield from compare_trainers(8, 30, 3)
    else:
        yield from compare_trainers(4, 5, 2)


def compare_trainers(megabytes: int, epochs: int, seeds: int) -> Iterator[Figure]:
    """Train on the beginning of the text, with several seeds; compare seconds and quality."""
    settings = Word2VecSettings(dim=DIM, epochs=epochs)
    model = open_model(minilm())
    scores: Scores = {"gensim": [], "again": [], "blocks": []}
    seconds: dict[str, list[float]] = {name: [] for name in scores}
    with tempfile.TemporaryDirectory() as folder:
        text, words = Path(folder) / "text.txt", Path(folder) / "words.txt"
        sample(megabytes, text)
        counts = write_sentences(open_corpus([text]), model.splitter, words)
        for seed in range(1, seeds + 1):
            for name in scores:
                chosen = replace(
                    settings,
                    seed=seed + 100 * (name == "again"),
                    trainer="gensim" if name == "again" else name,
                )
                result = train_word2vec(words, counts, chosen)
                seconds[name].append(result.training_seconds)
                scores[name].append(score_space(result.space, model.word_space))
    case = f"{megabytes} MB, {epochs} epochs"
    yield Figure(
        f"training, {case}, {DIM} dimensions, {settings.threads} threads",
        tuple(seconds["blocks"]),
        baseline=(*seconds["gensim"], *seconds["again"]),
        against="gensim",
        speed=True,
        target=TARGET,
        at_least=True,
    )
    yield from compare_quality(scores, case)


def compare_quality(scores: Scores, case: str) -> Iterator[Figure]:
    """Compare the vectors by each measure; `again` (gensim) shows which can judge."""
    for measure in scores["gensim"][0]:
        sides = {name: [one[measure] for one in found] for name, found in scores.items()}
        *_, low, high = compare(sides["gensim"], sides["again"])
        judges = low > -MARGIN and high < MARGIN
        first, second, difference, low, high = compare(sides["gensim"], sides["blocks"])
        verdict = "not shown to be equal"
        if not judges:
            verdict = "too few items to judge"
        elif low > -MARGIN and high < MARGIN:
            verdict = "equal"
        note = f"difference {difference:+.4f}, 90 % interval {low:+.4f} to {high:+.4f}: {verdict}"
        yield Figure(f"{measure}, {case}", (second,), "", (first,), "gensim", note=note)


if __name__ == "__main__":
    sys.exit(run(measure))
