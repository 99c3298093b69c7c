"""Multi-label classification: any number of labels for a text, or for a document."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Example, Prediction, Split, Text
from vocadapt.training.labels import Logits, Targets
from vocadapt.training.scoring.counts import LABELS, Rules
from vocadapt.training.tasks.formats.table_rows import TEXTS
from vocadapt.training.tasks.kinds.judgment import (
    MISSED,
    NO_LABEL,
    RIGHT,
    SPURIOUS,
    Choice,
    Claim,
    Confusion,
    Judgment,
    Unit,
)
from vocadapt.training.tasks.kinds.labeled_texts import LabeledTexts, read_label

FLAG = re.compile(r"(.+)_([01])")  # HoC: 0_1,1_0 – label 0 yes, label 1 no
JOINED = "sentences joined to documents"


class MultiLabel(LabeledTexts):
    """Multi-label classification: each output is a label that holds if its logit is above 0."""

    name = "multilabel"
    about = "any number of labels for a text, or for the document it is a sentence of"
    file_format = (
        f"{LabeledTexts.file_format}; the label a list, or names between commas; or flags as HoC"
        " has them (0_1,1_0)"
    )
    prediction_format = (
        f"{LabeledTexts.prediction_format}; the label a list, or names between commas"
    )
    gold_form = LABELS
    default_scorer = "example-f1"
    min_per_label = 0  # not measured
    min_outputs = 1
    is_multilabel = True
    error_kinds: ClassVar[Mapping[str, str]] = {
        MISSED: "the label was not predicted",
        SPURIOUS: "a label that is not in gold",
    }
    confusion_unit = "labels"
    columns = replace(TEXTS, columns="id, text, labels")

    def read_labels(self, value: Any, place: str) -> tuple[str, ...]:
        """Read labels from a list, or from a comma-separated text: names, or flags such as
        0_1,1_0.
        """
        # 1. The names, from a list or a text.
        parts: list[Any] = []
        if isinstance(value, list):
            parts = value
        elif str(value).strip():
            parts = str(value).split(",")
        names = [read_label(part, place) for part in parts]
        # 2. Flags, only if all names are flags: a label may end in _1 by itself.
        flags = [FLAG.fullmatch(name) for name in names]
        if names and all(flags):
            names = [flag[1] for flag in flags if flag and flag[2] == "1"]
        if "" in names:
            raise InputError(
                f"{place}: an empty label among {value!r:.60}.",
                "Put names between the commas.",
                code="empty-label",
            )
        return tuple(sorted(set(names)))

    def join_documents(self, split: Split) -> Split:
        """Merge the sentences of each document into one example (HoC's document level)."""
        joined = merge_documents(split.examples)
        return replace(split, examples=joined, notes={**split.notes, JOINED: len(split)})

    def build_targets(self, gold: Sequence[str], index: Mapping[str, int]) -> Targets:
        """Return 1 for each label and 0 elsewhere: (1, outputs) float32; others are ignored."""
        held = np.zeros((1, len(index)), dtype=np.float32)
        held[0, [index[name] for name in gold if name in index]] = 1
        return held

    def compute_loss(self, logits: Logits, example: Text, index: Mapping[str, int]) -> float:
        """Return the mean binary cross-entropy of all labels."""
        targets = self.build_targets(example.gold or (), index)
        return float((np.logaddexp(0, logits) - targets * logits).mean())

    def predict(self, logits: Logits, example: Text, names: tuple[str, ...]) -> Prediction:
        """Predict all labels whose logit is above 0."""
        return tuple(name for name, logit in zip(names, logits[0], strict=True) if logit > 0)

    def constant_predictions(self, gold: Sequence[Any]) -> list[Sequence[Any]]:
        """Return one prediction for each of the most frequent sets of labels, and no label."""
        found = super().constant_predictions(gold)
        nothing = [frozenset[str]()] * len(gold)
        return found if nothing in found else [*found, nothing]

    def judge(self, example: Text, gold: Sequence[str], predicted: Any, rules: Rules) -> Judgment:
        """Judge the predicted labels one by one."""
        claims = {}
        for label in gold:
            found = label in predicted
            claims[Unit(label)] = Claim(RIGHT, (Unit(label),)) if found else Claim(MISSED)
        return Judgment(claims, tuple(map(Unit, sorted(set(predicted) - set(gold)))))

    def find_choices(
        self, example: Text, names: tuple[str, ...], units: Iterable[Unit] | None = None
    ) -> Iterator[Choice]:
        """Yield the choice between a label and its absence, for each label."""
        labels = set(names) if units is None else {unit.label for unit in units}
        for place, name in enumerate(names):
            if name in labels:
                yield _choose_label(name, place)

    def list_confusions(
        self, gold: Sequence[str], predicted: Sequence[str], untyped: bool
    ) -> Iterator[Confusion]:
        """Yield each label as right, missed or invented."""
        for label in sorted(set(gold) | set(predicted)):
            yield Confusion(
                label if label in gold else NO_LABEL, label if label in predicted else NO_LABEL
            )


def merge_documents(examples: Iterable[Example]) -> tuple[Text, ...]:
    """Merge the sentences of each document into one example: joined by spaces, with the labels of
    any of them.
    """
    found: dict[str, list[Text]] = {}
    for example in examples:
        if not isinstance(example, Text) or not example.document:
            raise InputError(
                "The examples do not say which document they are of.",
                "Give an index such as 12553062_s3.",
                code="no-documents",
            )
        found.setdefault(example.document, []).append(example)
    return tuple(
        Text(
            name,
            " ".join(part.text for part in parts),
            merge_labels([part.labels for part in parts]),
            document=name,
        )
        for name, parts in found.items()
    )


def merge_labels(labels: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the labels that any part has, in order; None if they are not known."""
    parts = list(labels)
    if any(part is None for part in parts):
        return None
    return tuple(sorted({label for part in parts if part for label in part}))


def _choose_label(name: str, place: int) -> Choice:
    def score(logits: Logits, chosen: bool) -> float:
        return float(logits[0, place]) if chosen else 0.0

    return Choice(
        pick=lambda logits: bool(logits[0, place] > 0),
        score=score,
        describe=lambda chosen: name if chosen else f"not {name}",
    )
