"""Measure what the first screen of the demo says, and write `headline.json`.

    python -m assets.demo.make_headline

Compared are two models that were pretrained equally on biomedical text, from `demo-bert`: one as it
is, and one with new words. The sentences are our own notes (`notes.txt`).

1. Sentence: the one of at most MOST_WORDS words that the new words save most tokens of.
2. Neighbors: of the most frequent new words of that sentence, among words with other first letters.
3. Masked word: each new word that is once in a sentence is masked there. Written are how often the
   model with new words finds it, first and among five, and the sentence in which it is most certain.
4. Loss: of both models on the same masked words of held-out lines.
5. Task: the scores of the study of the task in which single words decide.
6. Real task: the scores of `experiments/full_task.json`.
"""

import io
import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from experiments._results import read_cells
from experiments.full_task import RESULTS, TASK, summarize
from vocadapt.cli import main as run_vocadapt
from vocadapt.lab.demo import DEMO, HEADLINE, PLAIN_MODEL, VECTORS, WORDS_MODEL, WORDS_STUDY
from vocadapt.lab.workspace.manifest import read_manifest
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.training.encoding.model_tokenizers import load_tokenizers
from vocadapt.training.finetune.tokenizations import ADAPTED, BASE
from vocadapt.training.prediction.fill_mask import fill_mask

MOST_WORDS = 18  # of the sentence
STEM = 4  # letters; a word with the same ones is another form of the word
N_WORDS, N_NEIGHBORS = 3, 4
K = 5
MASK = "[MASK]"


@dataclass(frozen=True)
class MaskedWord:
    """A sentence with a masked new word, and the rank and probability of this word."""

    text: str
    word: str
    rank: int
    probability: float


def main() -> None:
    """Measure, and write the file."""
    model, plain = (open_model(DEMO.joinpath(*place)) for place in (WORDS_MODEL, PLAIN_MODEL))
    notes = (DEMO / "notes.txt").read_text(encoding="utf-8").splitlines()
    sentence = find_sentence(model, notes)
    masked = mask_new_words(model, notes)
    best = max(masked, key=lambda one: (one.rank == 1, one.probability))
    record = {
        "sentence": sentence,
        "words": [
            {"word": word, "neighbors": find_neighbors(model, word)}
            for word in choose_words(model, sentence)
        ],
        "masked": {
            "text": best.text,
            "mask": MASK,
            "word": best.word,
            "with": list_filled(model, best.text, ADAPTED),
            "without": list_filled(plain, best.text, BASE),
            "first": sum(one.rank == 1 for one in masked),
            "among_five": sum(one.rank <= K for one in masked),
            "of": len(masked),
        },
        "loss": read_losses(),
        "task": read_scores(),
        "real": {"task": TASK, "variants": summarize(read_cells(RESULTS))},
    }
    HEADLINE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_losses() -> dict[str, Any]:
    """Return the losses of both models in nats per character, and on how many words."""
    found = {}
    for name, place in (("with", WORDS_MODEL), ("without", PLAIN_MODEL)):
        found[name] = read_manifest(DEMO.joinpath(*place)).numbers
    assert found["with"]["held_out_asked"] == found["without"]["held_out_asked"]
    losses = {name: round(one["loss_per_character"]["after"], 3) for name, one in found.items()}
    return {**losses, "words": found["with"]["held_out_words"]}


def read_scores() -> dict[str, Any]:
    """Return the mean F1 of each variant of the study, its number of seeds, and p against the first."""
    folder = DEMO.joinpath(*WORDS_STUDY)
    answer = io.StringIO()
    with redirect_stdout(answer):
        run_vocadapt(["study", "table", str(folder / "study.toml"), "--out", str(folder), "--json"])
    rows = json.loads(answer.getvalue())["rows"]
    return {
        "seeds": rows[0]["n"],
        "f1": {row["variant"]: round(row["mean"], 3) for row in rows},
        "p": {row["variant"]: row["p"] for row in rows[1:]},
    }


def find_new_words(model: LanguageModel, text: str) -> list[str]:
    """Return the words of a text that are tokens of the model, and that its base vocabulary splits."""
    base = load_tokenizers(model)[BASE]
    known = set(base.tokenizer.get_vocab())
    return [
        word
        for word in model.splitter.words(text)
        if word in model.vocabulary and word not in known
    ]


def find_sentence(model: LanguageModel, notes: list[str]) -> str:
    """Return the sentence of which the new words save most tokens."""
    tokenizers = load_tokenizers(model)
    short = [line for line in notes if len(line.split()) <= MOST_WORDS]

    def count_saved(line: str) -> int:
        lengths = [len(tokenizers[name].tokenizer.encode(line).ids) for name in (BASE, ADAPTED)]
        return lengths[0] - lengths[1]

    return max(short, key=count_saved)


def choose_words(model: LanguageModel, sentence: str) -> list[str]:
    """Return the new words of a sentence that are most frequent in the text of the vectors."""
    counts = load_space(DEMO.joinpath(*VECTORS))
    words = dict.fromkeys(find_new_words(model, sentence))
    assert counts.counts is not None
    frequent = sorted(words, key=lambda word: -int(counts.counts[counts.index[word]]))
    return frequent[:N_WORDS]


def find_neighbors(model: LanguageModel, word: str) -> list[str]:
    """Return the nearest whole words with other first letters."""
    found = list_neighbors(model.space, model.space[word], 100, own=word)
    body = model.vocabulary.body
    return [
        token
        for token, _ in found
        if model.vocabulary.position(token) in ("word start", "whole word")
        and len(body(token)) > STEM
        and token[:STEM] != word[:STEM]
    ][:N_NEIGHBORS]


def mask_new_words(model: LanguageModel, notes: list[str]) -> list[MaskedWord]:
    """Mask each new word that is once in a sentence, and find its rank."""
    found = []
    for line in notes:
        for word in dict.fromkeys(find_new_words(model, line)):
            written = [one for one in line.split() if one.strip(".,;:").lower() == word]
            if len(written) != 1:
                continue
            text = line.replace(written[0].strip(".,;:"), MASK, 1)
            tokens = fill_mask(model, text, 1000)[ADAPTED].tokens
            ranks = {token: rank for rank, (token, _) in enumerate(tokens, 1)}
            probability = dict(tokens).get(word, 0.0)
            found.append(MaskedWord(text, word, ranks.get(word, len(tokens) + 1), probability))
    return found


def list_filled(model: LanguageModel, text: str, tokenization: str) -> list[list[Any]]:
    """Return the K most probable tokens with their probabilities."""
    tokens = fill_mask(model, text, K)[tokenization].tokens
    return [[token, round(probability, 4)] for token, probability in tokens]


if __name__ == "__main__":
    main()
