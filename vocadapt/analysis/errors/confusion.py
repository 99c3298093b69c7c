"""Confusion matrix: gold labels against predicted labels, with the examples of each cell.

Single-label texts are counted by text. Tags are counted by entity: an entity with the right words
but another type is a confusion of types; a missed or spurious entity is paired with NO_LABEL. Each
label of a multilabel text is right, missed or spurious.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.scoring.counts import check_lengths
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.training.tasks.kinds.judgment import NO_LABEL


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
        """The cells off the diagonal, largest first."""
        wrong = [cell for cell in self.cases if cell[0] != cell[1]]
        return sorted(wrong, key=lambda cell: (-len(self.cases[cell]), cell))

    def most_confused(self, n: int) -> "ConfusionMatrix":
        """Return the matrix of the `n` classes with the most mistakes, in their original
        order.
        """
        # A mistake counts for both of its classes.
        wrong: Counter[str] = Counter()
        for cell in self.mistakes:
            wrong.update(dict.fromkeys(cell, len(self.cases[cell])))
        names = sorted({*self.gold, *self.predicted}, key=lambda name: -wrong[name])[:n]
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
    kind: TaskKind, gold: Sequence[Any], predicted: Sequence[Any], untyped: bool = False
) -> ConfusionMatrix:
    """Count gold labels against predicted labels; `untyped` ignores entity types.

    Raises InputError for questions, and if gold and predictions differ in length.
    """
    if not kind.confusion_unit:
        raise InputError(
            "A question answering task has no classes, so it has no confusion matrix.",
            "See the page Error analysis instead.",
            code="no-classes",
        )
    check_lengths(gold, predicted)
    # 1. Collect the cases of each cell.
    cells = defaultdict(list)
    for place, (labels, prediction) in enumerate(zip(gold, predicted, strict=True)):
        for confusion in kind.list_confusions(labels, prediction, untyped):
            case = Case(place, confusion.start, confusion.end)
            cells[confusion.gold, confusion.predicted].append(case)

    # 2. Name both axes; NO_LABEL comes last, and only if it occurs.
    names = sorted({*chain.from_iterable(cells)} - {NO_LABEL})
    rows, columns = list(names), list(names)
    if any(gold_label == NO_LABEL for gold_label, _ in cells):
        rows.append(NO_LABEL)
    if any(label == NO_LABEL for _, label in cells):
        columns.append(NO_LABEL)
    # 3. Count the cases of each cell.
    index_of = {name: index for index, name in enumerate([*names, NO_LABEL])}
    counts = np.zeros((len(rows), len(columns)), dtype=np.int64)
    for (row, column), cases in cells.items():
        counts[index_of[row], index_of[column]] = len(cases)
    return ConfusionMatrix(
        kind.confusion_unit,
        tuple(rows),
        tuple(columns),
        counts,
        {cell: tuple(cases) for cell, cases in cells.items()},
    )
