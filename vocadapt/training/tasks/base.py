"""Task: examples with their splits, labels and score, the same value whatever its kind; and what an
example of each kind is.

    ner                                     Sentence   words and tags
    relations classification multilabel nli Text       a text (nli: two) and its labels
    qa                                      Question   a question, a context and the accepted answers

Every example knows its `gold`, which is what the scorers of its kind take; None where the file
holds none (predict only).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from vocadapt.errors import InputError
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.scoring.registry import scorer_of
from vocadapt.training.tasks.tags import type_of

KINDS = {
    "ner": "entities in sentences: a word and its tag a line",
    "relations": "the relation between two marked or masked entities of a text",
    "classification": "one label for a text",
    "multilabel": "any number of labels for a text, or for the document it is a sentence of",
    "nli": "whether one sentence follows from another",
    "qa": "the answer to a question, as a stretch of a context",
}
SPLITS = ("train", "dev", "test")
UNITS = ("example", "document")


class Example(Protocol):
    """Attributes of all kinds of examples."""

    @property
    def document(self) -> str:
        """Name of its document; "" if the file has none."""
        ...

    @property
    def gold(self) -> tuple[str, ...] | None:
        """Gold labels in the form that the scorers of its kind take; None if unknown."""
        ...


@dataclass(frozen=True)
class Sentence:
    """Words and their tags; None without tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    document: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        """The tags."""
        return self.tags


@dataclass(frozen=True)
class Text:
    """A text and its labels: one, or any number for multilabel; `pair` is the second sentence of
    NLI.
    """

    id: str
    text: str
    labels: tuple[str, ...] | None
    pair: str = ""
    document: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        """The labels."""
        return self.labels


@dataclass(frozen=True)
class Answer:
    """An accepted answer and its first character in the context; None if the context does not
    contain it.
    """

    text: str
    start: int | None


@dataclass(frozen=True)
class Question:
    """A question on a context; answers: empty if there is no answer, None if they are not known.

    word_rule: how to split the context into the words over which logits are pooled (WORD_RULES). It
    is ignored when questions are compared.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...] | None
    document: str = ""
    word_rule: str = field(default="code", compare=False)

    @property
    def gold(self) -> tuple[str, ...] | None:
        """The accepted answers."""
        return None if self.answers is None else tuple(answer.text for answer in self.answers)


@dataclass(frozen=True)
class Split:
    """The examples of one file in order; `notes` counts what was found, left out or repaired while
    reading.
    """

    examples: tuple[Example, ...]
    notes: Mapping[str, int | str] = field(default_factory=dict)
    path: Path | None = None

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def labeled(self) -> bool:
        """Whether its gold labels are known."""
        return bool(self.examples) and self.examples[0].gold is not None

    @property
    def gold(self) -> tuple[tuple[str, ...], ...]:
        """Gold labels of every example; raises InputError if they are not known."""
        found = tuple(example.gold for example in self.examples if example.gold is not None)
        if len(found) != len(self.examples):
            raise InputError(
                f"{self.path}: holds no labels, so nothing can be scored.",
                "Predict on it, or give labels.",
            )
        return found

    @property
    def documents(self) -> tuple[str, ...]:
        """Document of every example."""
        return tuple(example.document for example in self.examples)


@dataclass(frozen=True)
class Task:
    """A task: its kind, labels, splits and score.

    labels: entity types (ner, "" for bare tags), classes, or none (qa). unit: "example", or
    (multilabel) "document" for all sentences of a document together.
    """

    name: str
    kind: str
    splits: Mapping[str, Split]
    labels: tuple[str, ...]
    score: str = ""
    rules: Rules = DEFAULT_RULES
    unit: str = "example"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"There is no kind of task {self.kind!r}.", f"Choose one of: {', '.join(KINDS)}."
            )
        if odd := [name for name in self.splits if name not in SPLITS]:
            raise InputError(
                f"{self.name}: there is no split {odd[0]!r}.", f"Splits are {', '.join(SPLITS)}."
            )
        scorer_of(self.kind, self.score)

    @property
    def scorer(self) -> Scorer:
        """Its scorer."""
        return scorer_of(self.kind, self.score)

    def split(self, name: str) -> Split:
        """Return a split by name; raises InputError if the task does not have it."""
        if name not in self.splits:
            raise InputError(
                f"{self.name} has no {name} split.", f"It has: {', '.join(self.splits)}."
            )
        return self.splits[name]

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences to report before training: labels unseen in training, splits with one class or
        no labels, repairs.
        """
        return tuple(_findings(self))


def labels_of(kind: str, examples: Iterable[Example]) -> frozenset[str]:
    """Return the labels of examples: entity types, or classes; none for questions."""
    if kind == "qa":
        return frozenset()
    gold = (example.gold or () for example in examples)
    if kind == "ner":
        return frozenset(type_of(tag) for tags in gold for tag in tags if tag != "O")
    return frozenset(label for labels in gold for label in labels)


def _findings(task: Task) -> Iterable[str]:
    seen = labels_of(task.kind, task.splits["train"].examples) if "train" in task.splits else None
    for name, split in task.splits.items():
        held = labels_of(task.kind, split.examples)
        if not split.labeled:
            yield f"{name} holds no labels: it can be predicted on, not scored."
        elif task.kind != "qa" and len(held) == 1 and task.kind != "ner":
            yield f"{name} holds one class only ({_listed(held)}): a score on it says little."
        elif task.kind == "ner" and not held:
            yield f"{name} holds no entity: precision and recall are 0 by convention."
        if seen is not None and (unseen := held - seen):
            yield (
                f"{name} holds labels that train lacks, so no model can find them:"
                f" {_listed(unseen)}."
            )
        yield from (
            f"{name}: {count:,} {what}."
            for what, count in split.notes.items()
            if what in WORTH_SAYING and count
        )


# Notes that a reader leaves and a person should see.
INSIDE = "I without a B, read as the beginning of an entity"
EMPTY = "empty sentences, left out"
NO_TEXT = "examples without a text, kept"
NO_PAIR = "texts without two marked or masked entities"
NO_AGREEMENT = "pairs without an agreed label, left out"
REPAIRED = "answers not at their offset, moved to where they stand"
NOT_IN_CONTEXT = "answers that do not stand in their context: no training, but scored"
WORTH_SAYING = {INSIDE, EMPTY, NO_TEXT, NO_PAIR, NO_AGREEMENT, REPAIRED, NOT_IN_CONTEXT}


def _listed(labels: Iterable[str], most: int = 5) -> str:
    names: Sequence[str] = sorted(label or "an entity" for label in labels)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
