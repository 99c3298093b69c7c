"""Write the demo's task from `sentences.toml`: train.tsv, dev.tsv, test.tsv, one tagged word a line.

    python assets/demo/make_task.py FOLDER

Deterministic: templates and words are taken in turn from lists shuffled with seed 1.
"""

import random
import sys
import tomllib
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

SENTENCES = Path(__file__).parent / "sentences.toml"
ENTITY = "Disease"
SLOTS = {"{disease}": "diseases", "{other}": "others", "{drug}": "drugs", "{finding}": "findings"}
TaggedWord = tuple[str, str]


def main(folder: Path) -> None:
    """Write the three splits into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, parts in tomllib.loads(SENTENCES.read_text(encoding="utf-8")).items():
        lines = []
        for sentence in make_sentences(parts):
            lines += [f"{word}\t{tag}\n" for word, tag in sentence]
            lines.append("\n")
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")


def make_sentences(parts: dict) -> Iterator[list[TaggedWord]]:
    """Yield the tagged sentences of a split; no sentence occurs twice."""
    draw = random.Random(1)
    templates = cycle(parts["templates"])
    words = {slot: repeat_shuffled(parts[name], draw) for slot, name in SLOTS.items()}
    seen = set()
    while len(seen) < parts["sentences"]:
        sentence = fill_template(next(templates), words)
        text = " ".join(word for word, _ in sentence)
        if text not in seen:
            seen.add(text)
            yield sentence


def repeat_shuffled(words: list[str], draw: random.Random) -> Iterator[str]:
    """Yield all words in random order, again and again: each equally often."""
    while True:
        yield from draw.sample(words, len(words))


def fill_template(template: str, words: dict[str, Iterator[str]]) -> list[TaggedWord]:
    """Return the words of a template with tags: B-Disease, I-Disease, or O."""
    sentence: list[TaggedWord] = []
    for part in template.split():
        if part not in SLOTS:
            sentence.append((part, "O"))
            continue
        filler = next(words[part]).split()
        if not sentence:
            filler[0] = filler[0][0].upper() + filler[0][1:]
        tags = ["O"] * len(filler)
        if part == "{disease}":
            tags = [f"B-{ENTITY}"] + [f"I-{ENTITY}"] * (len(filler) - 1)
        sentence += zip(filler, tags, strict=True)
    return sentence


if __name__ == "__main__":
    main(Path(sys.argv[1]))
