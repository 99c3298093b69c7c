"""Outcomes of two sets of predictions for the same gold labels: fixed, broken, both wrong, both
right.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vocadapt.errors import InputError
from vocadapt.training.tasks.kinds import TaskKind

FIXED, BROKEN, WRONG, RIGHT = "fixed", "broken", "both wrong", "both right"
OUTCOMES = {
    FIXED: "only the second is right",
    BROKEN: "only the first is right",
    WRONG: "both are wrong",
    RIGHT: "both are right",
}


@dataclass(frozen=True)
class OutcomeCounts:
    """Number of units with each outcome, and the name of the unit."""

    unit: str
    counts: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"unit": self.unit, **self.counts}


def classify_outcome(first: bool, second: bool) -> str:
    """Return the outcome of a unit from whether the first and the second prediction are right."""
    if first:
        return RIGHT if second else BROKEN
    return FIXED if second else WRONG


def count_outcomes(
    kind: TaskKind,
    gold: Sequence[Any],
    first: Sequence[Any],
    second: Sequence[Any],
    untyped: bool = False,
) -> tuple[OutcomeCounts, ...]:
    """Count outcomes by example (all of it right) and, if there are entities, first by gold entity.

    A gold entity is right if its words and its type are predicted. `untyped`: ignore types. Raises
    InputError if the three sequences differ in length.
    """
    if not len(gold) == len(first) == len(second):
        problem = f"{len(gold):,} gold examples, {len(first):,} and {len(second):,} predictions."
        raise InputError(f"Only predictions for the same examples can be compared: {problem}")
    whole, entities = [], []
    for labels, a, b in zip(gold, first, second, strict=True):
        whole.append((kind.is_right(labels, a, untyped), kind.is_right(labels, b, untyped)))
        if kind.finds_entities:
            in_a, in_b = kind.label_items(a, untyped), kind.label_items(b, untyped)
            entities += [(item in in_a, item in in_b) for item in kind.label_items(labels, untyped)]
    examples = _count("example", whole)
    return (_count("gold entity", entities), examples) if kind.finds_entities else (examples,)


def _count(unit: str, right: Sequence[tuple[bool, bool]]) -> OutcomeCounts:
    counts = Counter(classify_outcome(first, second) for first, second in right)
    return OutcomeCounts(unit, {outcome: counts[outcome] for outcome in OUTCOMES})
