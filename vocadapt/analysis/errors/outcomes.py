"""Outcomes of two sets of predictions for the same gold labels: fixed, broken, both wrong, both
right.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vocadapt.errors import InputError
from vocadapt.training.scoring.answers import exact
from vocadapt.training.tasks.tags import spans_of, type_of

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
    kind: str,
    gold: Sequence[Any],
    first: Sequence[Any],
    second: Sequence[Any],
    untyped: bool = False,
) -> tuple[OutcomeCounts, ...]:
    """Count outcomes by example (all of it right) and, for ner, first by gold entity.

    A gold entity is right if its words and its type are predicted. `untyped`: ignore types. Raises
    InputError if the three sequences differ in length.
    """
    if not len(gold) == len(first) == len(second):
        problem = f"{len(gold):,} gold examples, {len(first):,} and {len(second):,} predictions."
        raise InputError(f"Only predictions for the same examples can be compared: {problem}")
    examples = zip(gold, first, second, strict=True)
    if kind != "ner":
        is_right = _is_accepted_answer if kind == "qa" else _has_same_labels
        right = [(is_right(labels, a), is_right(labels, b)) for labels, a, b in examples]
        return (_count("example", right),)
    type_of_tag = (lambda tag: "") if untyped else type_of
    entities, whole = [], []
    for sequences in examples:
        in_gold, a, b = (frozenset(spans_of(tags, type_of_tag)) for tags in sequences)
        entities += [(span in a, span in b) for span in in_gold]
        whole.append((in_gold == a, in_gold == b))
    return _count("gold entity", entities), _count("example", whole)


def _has_same_labels(gold: Sequence[str], predicted: Sequence[str]) -> bool:
    return set(gold) == set(predicted)


def _is_accepted_answer(gold: Sequence[str], predicted: str) -> bool:
    """Whether an answer is accepted, by SQuAD's rules; without gold answers only "" is right."""
    return any(exact(answer, predicted) for answer in gold or ("",))


def _count(unit: str, right: Sequence[tuple[bool, bool]]) -> OutcomeCounts:
    counts = Counter(classify_outcome(first, second) for first, second in right)
    return OutcomeCounts(unit, {outcome: counts[outcome] for outcome in OUTCOMES})
