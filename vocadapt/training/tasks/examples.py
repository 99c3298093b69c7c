"""Examples of tasks and their splits, the same values whatever the file they were read from.

    ner                                     Sentence   words and tags
    relations classification multilabel nli Text       a text (nli: two) and its labels
    qa                                      Question   a question, a context and the accepted answers

Every example knows its `gold`, which is what the scorers of its kind take; None where the file
holds none (predict only).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from vocadapt.errors import InputError

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


# Notes that a reader leaves and a person should see.
INSIDE = "I without a B, read as the beginning of an entity"
EMPTY = "empty sentences, left out"
NO_TEXT = "examples without a text, kept"
NO_PAIR = "texts without two marked or masked entities"
NO_AGREEMENT = "pairs without an agreed label, left out"
REPAIRED = "answers not at their offset, moved to where they stand"
NOT_IN_CONTEXT = "answers that do not stand in their context: no training, but scored"
WORTH_SAYING = {INSIDE, EMPTY, NO_TEXT, NO_PAIR, NO_AGREEMENT, REPAIRED, NOT_IN_CONTEXT}
