"""Outputs: what the head of a network says, one number for each, and how labels become targets and numbers become labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.tasks.base import Example, labels_of

Targets = NDArray[np.float32] | NDArray[np.int64]
Logits = NDArray[np.float32]
NOT_ASKED = -100  # the target that torch's cross-entropy leaves out
TOKEN, SEQUENCE = "token", "sequence"


@dataclass(frozen=True)
class Outputs:
    """The outputs of a kind of task by name: tags (O first, then B and I of each type), or classes.

    ner has a row of outputs for every word of an example, every other kind one row.
    """

    kind: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, examples: Iterable[Example]) -> "Outputs":
        """The outputs that training examples ask for; raises InputError where there is nothing to tell apart."""
        labels = sorted(labels_of(kind, examples))
        if kind == "ner":
            names = ["O", *(f"{letter}-{label}" if label else letter for label in labels for letter in "BI")]
        else:
            names = labels
        if len(names) < (1 if kind == "multilabel" else 2):
            held = f"one label only ({names[0]!r})" if names else "no label"
            raise InputError(f"The training examples hold {held}.", "Give examples of at least two labels.")
        return cls(kind, tuple(names))

    @property
    def head(self) -> str:
        """The head it takes: of tokens, or of the whole sequence."""
        return TOKEN if self.kind == "ner" else SEQUENCE

    @cached_property
    def index(self) -> dict[str, int]:
        """Output by name."""
        return {name: place for place, name in enumerate(self.names)}

    def targets(self, gold: Sequence[str]) -> Targets:
        """What the outputs of an example should be: (words,) for ner, (1,), or for multilabel (1, outputs) of 0 and 1."""
        if self.kind == "multilabel":
            return np.array([[name in gold for name in self.names]], dtype=np.float32)
        return np.array([self.index[label] for label in gold], dtype=np.int64)

    def said(self, logits: Logits) -> tuple[str, ...]:
        """The labels that logits (rows, outputs) mean: the highest output, for multilabel all above 0."""
        if self.kind == "multilabel":
            return tuple(name for name, value in zip(self.names, logits[0], strict=True) if value > 0)
        return tuple(self.names[place] for place in logits.argmax(axis=1))
