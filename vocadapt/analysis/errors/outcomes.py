"""Two sets of predictions for the same gold: what the second has right that the first had not
(fixed), and so on.
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
    FIXED: "only the second has it right",
    BROKEN: "only the first has it right",
    WRONG: "neither has it right",
    RIGHT: "both have it right",
}


@dataclass(frozen=True)
class OutcomeCounts:
    """How many units had which fate, and what a unit is."""

    unit: str
    counts: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"unit": self.unit, **self.counts}


def classify_outcome(first: bool, second: bool) -> str:
    """The fate of a unit that the first and the second have right or not."""
    return (RIGHT if second else BROKEN) if first else (FIXED if second else WRONG)


def count_outcomes(
    kind: str,
    gold: Sequence[Any],
    first: Sequence[Any],
    second: Sequence[Any],
    untyped: bool = False,
) -> tuple[OutcomeCounts, ...]:
    """Counts by example (all of it right), and for tagged words by gold entity, too (found with its
    words and type).

    `untyped` makes one type of all. Raises InputError where the three are not of the same number.
    """
    if not len(gold) == len(first) == len(second):
        problem = f"{len(gold):,} gold examples, {len(first):,} and {len(second):,} predictions."
        raise InputError(f"Only predictions for the same examples can be compared: {problem}")
    if kind != "ner":
        same = _is_accepted_answer if kind == "qa" else _has_same_labels
        right = [
            (same(ours, a), same(ours, b)) for ours, a, b in zip(gold, first, second, strict=True)
        ]
        return (_count("example", right),)
    kind_of = (lambda tag: "") if untyped else type_of
    spans = [
        tuple(frozenset(spans_of(tags, kind_of)) for tags in three)
        for three in zip(gold, first, second, strict=True)
    ]
    entities = [(span in a, span in b) for ours, a, b in spans for span in ours]
    return _count("gold entity", entities), _count(
        "example", [(ours == a, ours == b) for ours, a, b in spans]
    )


def _has_same_labels(gold: Sequence[str], said: Sequence[str]) -> bool:
    return set(gold) == set(said)


def _is_accepted_answer(gold: Sequence[str], said: str) -> bool:
    """Whether an answer is one of those accepted, by SQuAD's rules; none is right where none is
    accepted.
    """
    return any(exact(answer, said) for answer in gold or ("",))


def _count(unit: str, right: Sequence[tuple[bool, bool]]) -> OutcomeCounts:
    counts = Counter(classify_outcome(*both) for both in right)
    return OutcomeCounts(unit, {fate: counts[fate] for fate in OUTCOMES})
