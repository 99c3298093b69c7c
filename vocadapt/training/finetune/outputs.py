"""Outputs of a network's head: labels to targets, and logits to predictions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.tasks.context_windows import AnswerSettings, best_spans, word_bounds
from vocadapt.training.tasks.examples import Example, Question
from vocadapt.training.tasks.task import labels_of

Targets = NDArray[np.float32] | NDArray[np.int64]
Logits = NDArray[np.float32]
MOST_LABELS = {"ner": 1000}  # entity types: two outputs each per word
MOST_CLASSES = 10_000  # labels of other kinds: one output each per text
MOST_VALUES = 500_000_000  # outputs of all rows of a split, under all tokenizations: 2 GB
TOKEN, SEQUENCE, QUESTION = "token", "sequence", "question"  # heads
Prediction = tuple[str, ...] | str  # labels; the answer to a question


@dataclass(frozen=True)
class Outputs:
    """The outputs of a task by name: tags (O first, then B and I of each type), classes, or start
    and end of an answer.

    Logits have one row per word of the example for ner, one per word of the context for qa, and one
    row in all for every other kind.
    """

    kind: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, examples: Iterable[Example]) -> "Outputs":
        """Return the outputs for the labels of training examples; raises InputError if there is
        nothing to distinguish.
        """
        if kind == "qa":
            return cls(kind, ("start", "end"))
        labels = sorted(labels_of(kind, examples))
        _check_number(kind, len(labels))
        if kind == "ner":
            names = [
                "O",
                *(f"{letter}-{label}" if label else letter for label in labels for letter in "BI"),
            ]
        else:
            names = labels
        if len(names) < (1 if kind == "multilabel" else 2):
            held = f"one label only ({names[0]!r})" if names else "no label"
            raise InputError(
                f"The training examples hold {held}.", "Give examples of at least two labels."
            )
        return cls(kind, tuple(names))

    @property
    def head(self) -> str:
        """Type of head: token, sequence, or question."""
        return {"ner": TOKEN, "qa": QUESTION}.get(self.kind, SEQUENCE)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each output by name."""
        return {name: place for place, name in enumerate(self.names)}

    def targets(self, gold: Sequence[str]) -> Targets:
        """Return the targets of an example: (words,) int64 for ner, (1,) int64, or for multilabel
        (1, outputs) float32 of 0 and 1.
        """
        if self.kind == "multilabel":
            held = np.zeros((1, len(self.names)), dtype=np.float32)
            held[0, [self.index[name] for name in gold if name in self.index]] = 1
            return held
        return np.array([self.index[label] for label in gold], dtype=np.int64)

    def predict(self, logits: Logits, example: Example) -> Prediction:
        """Predict labels from logits (rows, outputs): the highest output, for multilabel all above
        0.

        For qa: the text from the best start to the best end in the context, 500 characters at most.
        """
        if isinstance(example, Question):
            bounds, scores = (
                word_bounds(example.context, example.word_rule),
                logits.astype(np.float64),
            )
            best = best_spans(scores[:, 0], scores[:, 1], bounds, AnswerSettings().characters)
            return example.context[bounds[best[0][0], 0] : bounds[best[0][1], 1]] if best else ""
        if self.kind == "multilabel":
            return tuple(
                name for name, value in zip(self.names, logits[0], strict=True) if value > 0
            )
        return tuple(self.names[place] for place in logits.argmax(axis=1))


def check_values(split: str, rows: int, outputs: int, n_tokenizations: int) -> None:
    """Raise InputError if the logits of a split do not fit in memory."""
    if rows * outputs * n_tokenizations > MOST_VALUES:
        raise InputError(
            f"{split}: {rows:,} words or texts × {outputs:,} outputs do not fit in memory "
            f"(at most {MOST_VALUES // (outputs * n_tokenizations):,} with that many outputs).",
            "Merge rare labels, or use fewer examples.",
        )


def _check_number(kind: str, labels: int) -> None:
    """Raise InputError if there are more labels than a head can be trained for."""
    most = MOST_LABELS.get(kind, MOST_CLASSES)
    if labels > most:
        what = "entity types" if kind == "ner" else "labels"
        raise InputError(
            f"The training examples have {labels:,} {what}; at most {most:,} can be trained.",
            f"Merge rare {what}, or leave out their examples.",
        )
