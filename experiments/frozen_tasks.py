"""Which embeddings of new words help a frozen encoder find entities? Two tasks, 300 sentences each.

    python -m experiments.frozen_tasks DIR [--print]   (two hours on one core; needs ../shared/data)

Baseline: the model as it is. The text is two million words of biomedical articles without the lines
that share ten consecutive words with a test sentence (`experiments.evidence`). For each way to make
embeddings, the words of the task that have a vector and are no wordpiece of MiniLM become tokens, as
they would be added; the network is not trained. A logistic regression on the hidden states of layers
1, 3 and 5 (chosen on dev sentences with the base model), mean over the pieces of a word, is fitted
to SENTENCES sentences and scored on the whole test set, DRAWS times; so is the mean of these states
and of the base model's (pooled). Vectors and embeddings are made with three seeds; the draws are the
same for all. Beside it, how far the ten nearest wordpieces of the new words agree between two seeds.
An interval is from BOOTSTRAPS samples of the test sentences, over all seeds and draws at once.

What was measured is kept in DIR, and not measured again; the summary is experiments/frozen_tasks.json.
"""

import argparse
import gzip
import itertools
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._shared_passages import collect_passages
from experiments.evidence import DATA, minilm, read_blocks, read_test_sentences
from experiments.judges import BOOTSTRAPS
from vocadapt.models.contextual.word_vectors import count_layers, iterate_batches, load_until_layer
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import silent
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, Matrix, normalize_rows
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences
from vocadapt.training.examples.tags import decode_spans
from vocadapt.training.joined_states import PieceJoiner
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    initialize,
)
from vocadapt.vocabulary.initializers.materials import Materials
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan
from vocadapt.vocabulary.plan.planning import split_addable_words

RESULTS = Path(__file__).with_suffix(".json")
TASKS = ("NCBI-disease", "BC5CDR-chem")
WORDS = 2_000_000  # of the text
POOL = 1000  # training sentences to draw from
SENTENCES = 300  # per draw
DRAWS = 10
SEEDS = (1, 2, 3)
BATCH = 64
LAYERS = (1, 3, 5)
NEIGHBORS = 10
FREQUENCY = AlignmentSettings("ridge", unit=True, center=True, ridge=1.0, vector_length="frequency")
ENSEMBLE = AlignmentSettings("ensemble", unit=True, center=True, vector_length="frequency")


@dataclass(frozen=True)
class Arm:
    """A way to make embeddings: initializer, trainer of its vectors ("": no vectors), alignment."""

    method: str
    trainer: str = "counts"
    alignment: AlignmentSettings = FREQUENCY


ARMS = {
    "context, counted": Arm("aligned"),
    "context, CBOW": Arm("aligned", "gensim"),
    "context, ensemble": Arm("aligned", "gensim", ENSEMBLE),
    "form": Arm("stacked", ""),
    "stacked": Arm("stacked"),
    "joined": Arm("joined"),
    "pieces": Arm("syntactic"),
    "random": Arm("random-normal"),
}


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences with a tag for each word."""

    words: tuple[tuple[str, ...], ...]
    tags: tuple[tuple[str, ...], ...]


def read_sentences(path: Path, n: int = 0) -> TaggedSentences:
    """Read the sentences of a task in lower case, or a random sample of n."""
    blocks = read_blocks(path)
    if n:
        blocks = random.Random(1).sample(blocks, n)
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    words = tuple(tuple(row[0].lower() for row in one) for one in rows)
    return TaggedSentences(words, tuple(tuple(row[-1] for row in one) for one in rows))


class HiddenStateReader:
    """Reads the hidden states of each word, with or without new tokens."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.network: Any = load_until_layer(model, count_layers(model))
        self.pieces: dict[str, list[int]] = {}

    def read(self, sentences: Sequence[Sequence[str]], new: dict[str, Matrix]) -> Matrix:
        """Return the states of all words one after another, (words, width); new: embeddings by token."""
        import torch

        roles = self.model.vocabulary.role_ids
        known = self.network.get_input_embeddings().weight
        place_of = {word: len(known) + i for i, word in enumerate(new)}
        added = np.array(list(new.values()), np.float32).reshape(len(new), known.shape[1])
        table = torch.cat([known, torch.from_numpy(added)])

        # 1. Ids, and where each word begins and ends.
        rows, spans = [], []
        for sentence in sentences:
            row, places = [roles["cls"]], []
            for word in sentence:
                start = len(row)
                if word in place_of:
                    row.append(place_of[word])
                else:
                    row += self._get_pieces(word)
                places.append((start, len(row)))
            rows.append([*row, roles["sep"]])
            spans.append(places)

        # 2. States.
        states: list[Matrix] = [np.empty(0, np.float32)] * len(rows)
        with torch.no_grad():
            for chosen, ids, attended in iterate_batches(rows, BATCH, roles["pad"]):
                output = self.network(
                    inputs_embeds=table[ids], attention_mask=attended, output_hidden_states=True
                )
                found = torch.cat([output.hidden_states[i] for i in LAYERS], dim=-1).numpy()
                for place, i in enumerate(chosen.tolist()):
                    words = [found[place, a:b].mean(axis=0) for a, b in spans[i]]
                    states[i] = np.array(words, np.float32)
        return np.concatenate(states)

    def _get_pieces(self, word: str) -> list[int]:
        """Return the ids of the pieces of a word."""
        if word not in self.pieces:
            model = self.model
            pieces = [
                p for pre in model.splitter.pretokens(word) for p in model.vocabulary.tokenize(pre)
            ]
            ids = model.vocabulary.ids
            self.pieces[word] = [ids[p] for p in pieces] or [ids[model.vocabulary.unknown]]
        return self.pieces[word]


def score(
    train: Matrix, test: Matrix, task: tuple[TaggedSentences, TaggedSentences]
) -> NDArray[np.int64]:
    """Return the counts of correct, predicted and true entities, (draws, test sentences, 3)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fitted, judged = task
    ends = np.cumsum([len(words) for words in fitted.words])
    places = [np.arange(end - len(w), end) for end, w in zip(ends, fitted.words, strict=True)]
    tags = np.array([tag for one in fitted.tags for tag in one])
    counts = np.empty((DRAWS, len(judged.words), 3), np.int64)
    for draw in range(DRAWS):
        chosen = random.Random(draw).sample(range(len(places)), SENTENCES)
        rows = np.concatenate([places[i] for i in chosen])
        classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200))
        found = iter(classifier.fit(train[rows], tags[rows]).predict(test).tolist())
        for number, true in enumerate(judged.tags):
            predicted = set(decode_spans([next(found) for _ in true]))
            own = set(decode_spans(true))
            counts[draw, number] = len(predicted & own), len(predicted), len(own)
    return counts


class Bench:
    """Measures arms on the tasks; text and vectors are made once, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = open_model(minilm())
        self.reader = HiddenStateReader(self.model)
        self.tasks = {
            name: (
                read_sentences(DATA / "ner" / name / "train.tsv", POOL),
                read_sentences(DATA / "ner" / name / "test.tsv"),
            )
            for name in TASKS
        }
        self.base: dict[str, tuple[Matrix, Matrix]] = {}
        self.spaces: dict[tuple[str, int], EmbeddingSpace] = {}

    def write_text(self) -> Path:
        """Write random lines of the biomedical articles that share no passage with a test sentence."""
        path = self.folder / "text.txt"
        if path.is_file():
            return path
        passages = collect_passages(read_test_sentences())
        with gzip.open(DATA / "text/biomedical-fulltext.txt.gz", "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
        random.Random(1).shuffle(lines)
        words = 0
        with path.open("w", encoding="utf-8") as out:
            for line in lines:
                if words < WORDS and not passages.are_shared(line):
                    out.write(line + "\n")
                    words += len(line.split())
        return path

    def make_vectors(self, trainer: str, seed: int) -> EmbeddingSpace:
        """Make the vectors of a trainer; counted vectors depend on no seed."""
        key = (trainer, 1 if trainer == "counts" else seed)
        if key not in self.spaces:
            sentences = self.folder / "sentences.txt"
            counts = write_sentences(
                open_corpus([self.write_text()]), self.model.splitter, sentences
            )
            settings = Word2VecSettings(trainer=trainer, dim=self.model.dim, seed=key[1])
            self.spaces[key] = train_word2vec(sentences, counts, settings).space
        return self.spaces[key]

    def make_embeddings(self, arm: Arm, seed: int, words: set[str]) -> dict[str, Matrix]:
        """Return the embeddings of the words of a task that can be added, by token."""
        # 1. The words: the same for all arms.
        vocabulary = self.model.vocabulary
        counted = self.make_vectors("counts", seed)
        addable, _ = split_addable_words(vocabulary, self.model.splitter, counted.words)
        tokens = [token for token in addable if token in words]

        # 2. Their embeddings.
        domain = vocabulary.spell_words(self.make_vectors(arm.trainer or "counts", seed))
        if not arm.trainer:  # no own word has a vector: the form alone
            rows = domain.rows(tokens)
            domain = domain.take(rows)
        plan = VocabularyPlan(vocabulary, tuple(AddedWord(token, ()) for token in tokens))
        alignment = None
        if arm.method == "aligned":
            alignment = fit_alignment(domain, self.model.space, arm.alignment)
        materials = Materials(
            plan, self.model.space, domain, alignment, None, None, silent, PieceJoiner(self.model)
        )
        settings = InitializerSettings(arm.method)
        if "seed" in INITIALIZERS[arm.method].settings:
            settings = replace(settings, seed=seed)
        if settings.own is not None and hasattr(settings.own, "seed"):
            own = replace(settings.own, seed=seed)
            settings = replace(settings, options={arm.method: own})
        made = initialize(materials, settings)
        return dict(zip(made.tokens, made.matrix, strict=True))

    def measure(self, name: str, task: str, seed: int) -> dict[str, float]:
        """Score one arm on one task, and return its mean F1, alone and pooled; the base model has the
        arm "".
        """
        fitted, judged = self.tasks[task]
        if task not in self.base:
            self.base[task] = (
                self.reader.read(fitted.words, {}),
                self.reader.read(judged.words, {}),
            )
        base = self.base[task]
        states = {"alone": base}
        if name:
            words = {word for one in (*fitted.words, *judged.words) for word in one}
            new = self.make_embeddings(ARMS[name], seed, words)
            near = find_neighbors(self.model.space, new)
            np.save(self.folder / f"{task}-{name}-{seed}-neighbors.npy", near)
            own = self.reader.read(fitted.words, new), self.reader.read(judged.words, new)
            halves = [(one + other) * np.float32(0.5) for one, other in zip(own, base, strict=True)]
            states = {"pooled": (halves[0], halves[1]), "alone": own}
        # What is written last says that the cell is complete.
        f1 = {}
        for label, (train, test) in states.items():
            counts = score(train, test, (fitted, judged))
            np.save(self.folder / f"{task}-{name}-{seed}-{label}.npy", counts)
            f1[label] = float(compute_f1(counts.sum(axis=1)).mean())
        return f1


def find_neighbors(space: EmbeddingSpace, new: dict[str, Matrix]) -> NDArray[np.int64]:
    """Return the rows of the nearest wordpieces of new words, (words, NEIGHBORS), by centered cosine."""
    mean = space.matrix.mean(axis=0)
    known = normalize_rows(space.matrix - mean)
    similar = normalize_rows(np.array(list(new.values())) - mean) @ known.T
    return np.asarray(np.argpartition(-similar, NEIGHBORS, axis=1)[:, :NEIGHBORS], dtype=np.int64)


def measure_agreement(folder: Path, task: str, name: str) -> float:
    """Return the mean fraction of the neighbors of a word that two seeds share."""
    found = [np.load(folder / f"{task}-{name}-{seed}-neighbors.npy") for seed in SEEDS]
    shared = [
        len(np.intersect1d(one, other)) / NEIGHBORS
        for first, second in itertools.combinations(found, 2)
        for one, other in zip(first, second, strict=True)
    ]
    return float(np.mean(shared))


def compute_f1(counts: NDArray[np.int64]) -> FloatArray:
    """Return F1 of counts (…, 3) of correct, predicted and true entities."""
    return np.asarray(2 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1))


def compare(
    folder: Path, task: str, name: str, label: str, other: tuple[str, str]
) -> tuple[float, float, float, float]:
    """Return mean F1, its difference to another arm, and its 95 % interval over test sentences."""

    def load(arm: str, what: str) -> NDArray[np.int64]:
        seeds = SEEDS if arm else (1,)
        return np.concatenate([np.load(folder / f"{task}-{arm}-{s}-{what}.npy") for s in seeds])

    own, others = load(name, label), load(*other)
    return float(compute_f1(own.sum(axis=1)).mean()), *bootstrap_difference(own, others)


def bootstrap_difference(
    own: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Return the difference of mean F1, and its 95 % interval over samples of the sentences.

    own, others: counts (runs, sentences, 3), see `compute_f1`.
    """

    # Row 0 weights each sentence once, each other row as often as a sample has it.
    n, rng = own.shape[1], np.random.default_rng(1)
    samples = rng.multinomial(n, np.full(n, 1 / n), size=BOOTSTRAPS)
    weights = np.concatenate([np.ones((1, n)), samples])

    def average_f1(counts: NDArray[np.int64]) -> FloatArray:
        runs = len(counts)
        sums = weights @ counts.transpose(1, 0, 2).reshape(n, runs * 3)
        return np.asarray(compute_f1(sums.reshape(-1, runs, 3)).mean(axis=1))

    found = average_f1(own) - average_f1(others)
    low, high = np.percentile(found[1:], (2.5, 97.5))
    return float(found[0]), float(low), float(high)


def summarize(folder: Path) -> dict[str, Any]:
    """Return by task and arm, alone and pooled: F1 and its difference to the base model and to
    `stacked`, each with its interval.
    """
    table: dict[str, Any] = {}
    for task in TASKS:
        table[task] = {"base": round(compare(folder, task, "", "alone", ("", "alone"))[0], 4)}
        table[task]["agreement"] = {
            name: round(measure_agreement(folder, task, name), 3) for name in ARMS
        }
        for name in ARMS:
            for label in ("alone", "pooled"):
                f1, *to_base = compare(folder, task, name, label, ("", "alone"))
                _, *to_stacked = compare(folder, task, name, label, ("stacked", label))
                table[task][f"{name}, {label}"] = {
                    "f1": round(f1, 4),
                    "difference to base": [round(value, 4) for value in to_base],
                    "difference to stacked": [round(value, 4) for value in to_stacked],
                }
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("--print", action="store_true", help="print what was measured, and end")
    options = parser.parse_args()
    if not options.print:
        if options.folder is None or not DATA.is_dir():
            print("not run: give a folder; ../shared must exist next to this checkout")
            return
        options.folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(options.folder)
        for name in ("", *ARMS):
            for task in TASKS:
                for seed in SEEDS if name else (1,):
                    if (options.folder / f"{task}-{name}-{seed}-alone.npy").is_file():
                        continue
                    started = time.perf_counter()
                    f1 = bench.measure(name, task, seed)
                    shown = ", ".join(f"{label} {value:.4f}" for label, value in f1.items())
                    seconds = time.perf_counter() - started
                    print(f"{task} {name or 'base'} {seed} {shown}, {seconds:.0f} s", flush=True)
        found = {"words": WORDS, "sentences": SENTENCES, "draws": DRAWS, "seeds": list(SEEDS)}
        found |= {"tasks": summarize(options.folder)}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not RESULTS.is_file():
        print("not measured yet")
        return
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    for task, rows in result["tasks"].items():
        print(f"{task}: base model {rows.pop('base'):.3f}")
        agreement = rows.pop("agreement")
        print(
            "  neighbors of two seeds: " + ", ".join(f"{n} {v:.2f}" for n, v in agreement.items())
        )
        for name, row in rows.items():
            cells = [
                f"{d:+.3f} [{a:+.3f}, {b:+.3f}]"
                for d, a, b in (row["difference to base"], row["difference to stacked"])
            ]
            print(f"  {name:<28}{row['f1']:.3f}  to base {cells[0]}  to stacked {cells[1]}")


if __name__ == "__main__":
    main()
