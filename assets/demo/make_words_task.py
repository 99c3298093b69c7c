"""Write the demo's second task: which of nine classes is the word in this sentence of?

    python assets/demo/make_words_task.py FOLDER

Constructed so that single words decide: the sentences are alike for all classes. This rule was
committed before the first run on it, and was not changed since:

1. Words are those of `classes.toml` that are in one class only and have a word vector.
2. Words that `demo-bert` has as one wordpiece are for training; every fifth of a class, by alphabet, is
   for dev. Words that it splits into several pieces are for test.
3. Each word for training is in two sentences, each of dev and test in one; train and test have no
   sentence in common.

So a model must know words that it never saw in training: by their pieces, or by an embedding.
"""

import sys
import tomllib
from itertools import cycle
from pathlib import Path

from vocadapt.lab.demo import DEMO, MODEL, VECTORS
from vocadapt.models.language_model import open_model
from vocadapt.spaces.io.storage import load_space

CLASSES = Path(__file__).parent / "classes.toml"
DEV = 5  # every fifth word of a class
TRAINING = (
    "The note was about {word} .",
    "She wrote down {word} first .",
    "They talked about {word} for a while .",
    "He asked for more details on {word} .",
)
TEST = (
    "The last line of the page was about {word} .",
    "Nobody had mentioned {word} before .",
    "The list began with {word} .",
)
Example = tuple[str, str]  # class and sentence


def main(folder: Path) -> None:
    """Write train.tsv, dev.tsv and test.tsv into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, examples in make_examples().items():
        lines = [f"{label}\t{sentence}\n" for label, sentence in examples]
        (folder / f"{split}.tsv").write_text("label\ttext\n" + "".join(lines), encoding="utf-8")


def make_examples() -> dict[str, list[Example]]:
    """Return the examples of each split."""
    # 1. Words of one class that have a vector.
    vectors = load_space(DEMO.joinpath(*VECTORS))
    classes = tomllib.loads(CLASSES.read_text(encoding="utf-8"))["classes"]
    words = {label: sorted(set(text.split())) for label, text in classes.items()}
    seen: dict[str, int] = {}
    for word in (word for chosen in words.values() for word in chosen):
        seen[word] = seen.get(word, 0) + 1

    # 2. Divide them, and fill the sentences in turn.
    vocabulary = open_model(DEMO.joinpath(*MODEL)).vocabulary
    training, test = cycle(TRAINING), cycle(TEST)
    examples: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for label, chosen in words.items():
        usable = [word for word in chosen if seen[word] == 1 and word in vectors]
        known = [word for word in usable if word in vocabulary]
        for number, word in enumerate(known):
            split = "dev" if number % DEV == DEV - 1 else "train"
            for _ in range(2 if split == "train" else 1):
                examples[split].append((label, next(training).format(word=word)))
        for word in usable:
            if word not in vocabulary:
                examples["test"].append((label, next(test).format(word=word)))
    return examples


if __name__ == "__main__":
    main(Path(sys.argv[1]))
