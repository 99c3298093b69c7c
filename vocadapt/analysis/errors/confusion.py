"""Confusion matrix: gold labels against predicted labels, with the examples of each cell.

Single-label texts are counted by text. Tags are counted by entity: one with the right words and
another type is a confusion of types, a missed or invented one is paired with NONE. Each label of a
multilabel text is right, missed or invented.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.tasks.tags import spans_of, type_of

NONE = "(none)"  # missed where it is predicted, invented where it is gold
BARE = "(entity)"  # the type of a bare tag


@dataclass(frozen=True)
class Case:
    """One counted case: the index of its example and, for an entity, its words (end exclusive)."""

    example: int
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Counts (gold, predicted) int64, the names of both axes, the counted unit, and the cases of
    each cell.
    """

    unit: str
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    counts: NDArray[np.int64]
    cases: dict[tuple[str, str], tuple[Case, ...]]

    @property
    def mistakes(self) -> list[tuple[str, str]]:
        """The wrong cells, largest first."""
        wrong = [cell for cell in self.cases if cell[0] != cell[1]]
        return sorted(wrong, key=lambda cell: (-len(self.cases[cell]), cell))

    def most_confused(self, most: int) -> "ConfusionMatrix":
        """Return the matrix of the `most` classes with the most mistakes, in their original
        order.
        """
        wrong = Counter(name for cell in self.mistakes for name in cell for _ in self.cases[cell])
        names = sorted({*self.gold, *self.predicted}, key=lambda name: -wrong[name])[:most]
        rows = [place for place, name in enumerate(self.gold) if name in names]
        columns = [place for place, name in enumerate(self.predicted) if name in names]
        return ConfusionMatrix(
            self.unit,
            tuple(self.gold[place] for place in rows),
            tuple(self.predicted[place] for place in columns),
            self.counts[np.ix_(rows, columns)],
            self.cases,
        )


def build_confusion_matrix(
    kind: str, gold: Sequence[Any], predicted: Sequence[Any], untyped: bool = False
) -> ConfusionMatrix:
    """Count gold labels against predicted labels; `untyped` ignores entity types.

    Raises InputError for questions, and if gold and predictions differ in length.
    """
    if kind == "qa":
        raise InputError(
            "Answers have no classes to confuse.",
            "See the page Error analysis instead.",
        )
    if len(gold) != len(predicted):
        raise InputError(
            f"Expected a prediction for each of {len(gold):,} gold examples, got"
            f" {len(predicted):,}."
        )
    found: dict[tuple[str, str], list[Case]] = {}
    for place, (ours, theirs) in enumerate(zip(gold, predicted, strict=True)):
        for cell, case in _compare_example(kind, place, ours, theirs, untyped):
            found.setdefault(cell, []).append(case)
    names = sorted({name for cell in found for name in cell} - {NONE})
    rows = [*names, *([NONE] if any(cell[0] == NONE for cell in found) else [])]
    columns = [*names, *([NONE] if any(cell[1] == NONE for cell in found) else [])]
    counts = np.zeros((len(rows), len(columns)), dtype=np.int64)
    row_of, column_of = (
        {name: place for place, name in enumerate(side)} for side in (rows, columns)
    )
    for (row, column), cases in found.items():
        counts[row_of[row], column_of[column]] = len(cases)
    unit = {"ner": "entities", "multilabel": "labels"}.get(kind, "texts")
    return ConfusionMatrix(
        unit, tuple(rows), tuple(columns), counts, {k: tuple(v) for k, v in found.items()}
    )


def _compare_example(
    kind: str, place: int, gold: Any, predicted: Any, untyped: bool
) -> Iterator[tuple[tuple[str, str], Case]]:
    if kind == "ner":
        kind_of = (lambda tag: "") if untyped else type_of
        ours, theirs = (
            {(s.start, s.end): s.type or BARE for s in spans_of(tags, kind_of)}
            for tags in (gold, predicted)
        )
        for span in sorted(ours.keys() | theirs.keys()):
            yield (ours.get(span, NONE), theirs.get(span, NONE)), Case(place, *span)
    elif kind == "multilabel":
        for label in sorted(set(gold) | set(predicted)):
            yield (
                (label if label in gold else NONE, label if label in predicted else NONE),
                Case(place),
            )
    else:
        yield (gold[0], predicted[0]), Case(place)
