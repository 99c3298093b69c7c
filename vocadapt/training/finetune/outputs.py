"""Outputs of a network's head: their names, and predictions from their logits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from vocadapt.errors import InputError
from vocadapt.models.heads import EMBEDDING
from vocadapt.training.examples.examples import Example, Prediction, Split
from vocadapt.training.labels import Logits
from vocadapt.training.tasks.kinds import TaskKind

MAX_OUTPUTS = 500_000_000  # logits of a split under all tokenizations: 2 GB


@dataclass(frozen=True)
class Outputs:
    """The outputs of a task by name: tags (O first, then B and I of each type), classes, or start
    and end of an answer.

    Logits have one row per word of the example for ner, one per word of the context for qa, and one
    row in all for every other kind. Without a head, the outputs have no names and are the
    embeddings of the texts.
    """

    kind: TaskKind
    names: tuple[str, ...]

    @classmethod
    def of(cls, kind: TaskKind, examples: Iterable[Example]) -> "Outputs":
        """Return the outputs for the labels of training examples.

        Raises InputError for too many labels, or too few to distinguish.
        """
        if kind.head == EMBEDDING:
            return cls(kind, ())
        labels = sorted(kind.labels_of(examples))
        if len(labels) > kind.max_labels:
            noun = kind.label_noun
            raise InputError(
                f"The training examples have {len(labels):,} {noun}; at most"
                f" {kind.max_labels:,} can be trained.",
                f"Merge rare {noun}, or leave out their examples.",
                code="too-many-labels",
            )
        names = kind.name_outputs(labels)
        if len(names) < kind.min_outputs:
            found = "no label"
            if names:
                found = f"only one label ({names[0]!r})"
            raise InputError(
                f"The training examples have {found}.",
                "Give examples of at least two labels.",
                code="one-label",
            )
        return cls(kind, names)

    @cached_property
    def index(self) -> dict[str, int]:
        """Index of each output by name."""
        return {name: number for number, name in enumerate(self.names)}

    def predict(self, logits: Logits, example: Example) -> Prediction:
        """Predict labels, tags or an answer from logits (rows, outputs)."""
        return self.kind.predict(logits, example, self.names)

    def predict_split(self, logits: Sequence[Logits], split: Split) -> list[Prediction]:
        """Predict for the examples of a split; logits: of its examples, then of its collection."""
        n_examples = len(split)
        own = logits[:n_examples]
        among = logits[n_examples:]
        return self.kind.predict_all(own, split.examples, self.names, among, split.collection)

    def compute_loss(self, logits: Sequence[Logits], examples: Sequence[Example]) -> float:
        """Return the mean loss of examples; logits: (rows, outputs) float32 of each."""
        losses = [
            self.kind.compute_loss(own, example, self.index)
            for own, example in zip(logits, examples, strict=True)
        ]
        return sum(losses) / max(1, len(losses))


def check_logits_size(split: str, rows: int, outputs: int, n_tokenizations: int) -> None:
    """Raise InputError if the logits of a split do not fit in memory."""
    if rows * outputs * n_tokenizations > MAX_OUTPUTS:
        raise InputError(
            f"{split}: {rows:,} words or texts × {outputs:,} outputs do not fit in memory "
            f"(at most {MAX_OUTPUTS // (outputs * n_tokenizations):,} with that many outputs).",
            "Merge rare labels, or use fewer examples.",
            code="too-many-outputs",
        )
