"""A small synthetic task, and tiny models to fine-tune on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.material.adapted import adapted_folder
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.training.examples.examples import Sentence, Split, Text
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task

DISEASES = (
    "tachycardia",
    "disease",
    "euthymia",
    "cancer",
)  # two of them the adapted model knows whole
OTHERS = ("patients", "with", "and", "heart", "was", "the", "placebo", "Trials")


def sentences(count: int, seed: int = 0, words: int = 8) -> tuple[Sentence, ...]:
    """Sentences in which the words of DISEASES, and no others, are entities."""
    rng = np.random.default_rng(seed)
    drawn = [tuple(map(str, rng.choice([*DISEASES, *OTHERS], size=words))) for _ in range(count)]
    return tuple(
        Sentence(own, tuple("B-Disease" if word in DISEASES else "O" for word in own))
        for own in drawn
    )


def texts(count: int, seed: int = 0) -> tuple[Text, ...]:
    """Texts of two classes in turn: one of the words of DISEASES, one of OTHERS."""
    rng = np.random.default_rng(seed)
    kinds = ((DISEASES, "ill"), (OTHERS, "well"))
    drawn = [
        (rng.choice(words, size=4), label)
        for words, label in (kinds[place % 2] for place in range(count))
    ]
    return tuple(
        Text(str(place), " ".join(words), (label,)) for place, (words, label) in enumerate(drawn)
    )


def ner_task(train: int = 10, test: int = 6) -> Task:
    """A NER task whose dev split is its test split."""
    held = Split(sentences(test, 1))
    return Task(
        "toy",
        TASK_KINDS["ner"],
        {"train": Split(sentences(train)), "dev": held, "test": held},
        ("Disease",),
    )


def write_conll(path: Path, examples: tuple[Sentence, ...], tags: bool = True) -> Path:
    """Write sentences as a word and its tag a line."""
    blocks = (
        "".join(
            f"{word}\t{tag}\n" if tags else f"{word}\n"
            for word, tag in zip(s.words, s.tags or (), strict=True)
        )
        for s in examples
    )
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


def tiny_adapted(folder: Path) -> Path:
    """A tiny BERT that was taught tachycardia, euthymia and hypertension."""
    return adapted_folder(build_tiny_bert(folder / "before"), folder / "adapted")


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: for tiny models, threads wait for each other longer than they
    compute.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
