"""Examples of tasks, their splits, and predictions for them: values, whatever file they are from.

Sentence: words and tags. Text: a text, or a pair of texts, and its labels. Question: a question, a
context and the accepted answers. A kind of task (kinds) uses one of them, or a class of its own.

Every example knows its `gold`, which is what the scorers of its kind take; None where the file
holds none (predict only).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vocadapt.errors import InputError
from vocadapt.training.examples.tags import decode_spans

UNITS = ("example", "document")
EXAMPLE, DOCUMENT = UNITS
SAMPLE_SEED = 0  # of a sample of a split: the same examples for every seed of a training
SUPERFLUOUS = "predictions for nothing that is in the gold file, passed over"  # a note
Prediction = tuple[str, ...] | str  # labels; the answer to a question
SplitWords = Callable[[str], Sequence[str]]  # a text -> its words


class Example(ABC):
    """What all examples have; `noun`, `plural`: what they are called in titles and messages."""

    noun: ClassVar[str] = "example"
    plural: ClassVar[str] = "texts"
    document: str  # name of its document; "" if the file has none

    @property
    @abstractmethod
    def gold(self) -> tuple[str, ...] | None:
        """Gold labels in the form that the scorers of its kind take; None if unknown."""

    @property
    @abstractmethod
    def inputs(self) -> dict[str, str]:
        """What a user types to get this example: name of the input field -> text."""

    @property
    def full_text(self) -> str:
        """All that a model reads of it, as one text."""
        return "\n".join(text for text in self.inputs.values() if text)

    @property
    @abstractmethod
    def identity(self) -> dict[str, str]:
        """Texts that must not be both in training and in test: name -> text."""

    @property
    def entities(self) -> tuple[str, ...]:
        """The gold entities of a tagged sentence; empty for any other example."""
        return ()

    @property
    def tagged_words(self) -> tuple[tuple[str, str], ...] | None:
        """Each word with its gold tag; None if its words have no tags."""
        return None

    def list_words(self, split: SplitWords) -> Sequence[str]:
        """Return its words."""
        return split(self.full_text)


@dataclass(frozen=True)
class Sentence(Example):
    """Words and their tags; None without tags."""

    noun: ClassVar[str] = "sentence"
    plural: ClassVar[str] = "sentences"
    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    document: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        """The tags."""
        return self.tags

    @property
    def inputs(self) -> dict[str, str]:
        """Its words with spaces between."""
        return {"sentence": " ".join(self.words)}

    @property
    def identity(self) -> dict[str, str]:
        """Its words."""
        return {"words": self.full_text}

    @property
    def entities(self) -> tuple[str, ...]:
        """Its gold entities as text."""
        return tuple(
            " ".join(self.words[start:end]) for start, end, _ in decode_spans(self.tags or ())
        )

    @property
    def tagged_words(self) -> tuple[tuple[str, str], ...] | None:
        """Each word with its gold tag; None without tags."""
        return None if self.tags is None else tuple(zip(self.words, self.tags, strict=True))

    def list_words(self, split: SplitWords) -> Sequence[str]:
        """Return its words, which are already split."""
        return self.words


@dataclass(frozen=True)
class Text(Example):
    """A text and its labels: one, or any number; `pair`: the second sentence of a pair."""

    id: str
    text: str
    labels: tuple[str, ...] | None
    pair: str = ""
    document: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        """The labels."""
        return self.labels

    @property
    def inputs(self) -> dict[str, str]:
        """The text and its pair."""
        return {"sentence": self.text, "pair": self.pair}

    @property
    def identity(self) -> dict[str, str]:
        """The text with its pair, divided by a mark that whitespace cannot hide."""
        return {"text": f"{self.text} \0 {self.pair}"}


@dataclass(frozen=True)
class Answer:
    """An accepted answer and its first character in the context; None if the context does not
    contain it.
    """

    text: str
    start: int | None


@dataclass(frozen=True)
class Question(Example):
    """A question on a context; answers: empty if there is no answer, None if they are not known.

    word_rule: how to split the context into the words over which logits are pooled (WORD_RULES). It
    is ignored when questions are compared.
    """

    noun: ClassVar[str] = "question"
    plural: ClassVar[str] = "questions, or their contexts,"
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

    @property
    def inputs(self) -> dict[str, str]:
        """The question and its context."""
        return {"question": self.question, "context": self.context}

    @property
    def identity(self) -> dict[str, str]:
        """The context and the question: neither may be seen in training."""
        return {"context": self.context, "question": self.question}


@dataclass(frozen=True)
class Split:
    """The examples of one file in order; `notes` counts what was found, left out or repaired while
    reading.

    collection: what predictions choose from, such as the documents of a search: it is encoded with
    the examples, and not scored.
    """

    examples: tuple[Example, ...]
    notes: Mapping[str, int | str] = field(default_factory=dict)
    path: Path | None = None
    collection: tuple[Example, ...] = ()

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
                code="no-labels",
            )
        return found

    @property
    def documents(self) -> tuple[str, ...]:
        """Document of every example."""
        return tuple(example.document for example in self.examples)


def sample_split(split: Split, limit: int) -> Split:
    """Return a random sample of a split (0: all), the same each time, in the split's order."""
    if not limit or len(split) <= limit:
        return split
    places = np.sort(np.random.default_rng(SAMPLE_SEED).choice(len(split), limit, replace=False))
    return replace(split, examples=tuple(split.examples[place] for place in places))


@dataclass(frozen=True)
class Predictions:
    """Predictions for each gold example, in the form that its kind's scorers take; `notes` counts
    missing and superfluous ones, and names what differs from the gold file.
    """

    predicted: tuple[Any, ...]
    notes: Mapping[str, int | str] = field(default_factory=dict)


NUMBERED = re.compile(r", fold \d+$")


def name_fold(name: str, fold: int) -> str:
    """Return the name of a fold: GAD → GAD, fold 3; the name itself if the fold is 0, which means
    none.
    """
    return f"{name}, fold {fold}" if fold else name


def without_fold(name: str) -> str:
    """Return the name without its fold: GAD, fold 3 → GAD."""
    return NUMBERED.sub("", name)
