"""Values of error analysis that a kind of task returns: units, claims on them, and confusions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from vocadapt.training.labels import Logits

RIGHT = ""  # in place of a kind of error
MISSED, SPURIOUS, NONE, WRONG = "missed", "spurious", "none", "wrong"
NO_LABEL = "(none)"  # in a confusion: missed if it is predicted, invented if it is gold


class Unit(NamedTuple):
    """One unit of an example: its type or class, its position (start, end) and its text.

    Positions count words for ner and characters for qa. They are -1 if the unit has no position,
    such as a class, or an answer that does not occur in its context.
    """

    label: str
    start: int = -1
    end: int = -1
    text: str = ""

    @property
    def name(self) -> str:
        """Name that is unique within the example."""
        return f"{self.label}:{self.start}-{self.end}"

    def touches(self, other: "Unit") -> bool:
        """Whether the two units overlap."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Claim:
    """What was predicted for a unit, and the kind of error ("" if it is right).

    `predicted` is empty if nothing was predicted.
    """

    error: str
    predicted: tuple[Unit, ...] = ()


@dataclass(frozen=True)
class Judgment:
    """The prediction for one example, judged: a claim for each gold unit, and the false alarms."""

    units: dict[Unit, Claim]
    alarms: tuple[Unit, ...] = ()


class Confusion(NamedTuple):
    """A gold label, the predicted label, and the words (end exclusive) if they label a span."""

    gold: str
    predicted: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Choice:
    """A choice that a prediction makes between options, such as the tags of a word.

    pick: the option that logits (rows, outputs) prefer; None if they allow none. score: the logit
    of an option. describe: an option in words. row: the row of the logits it is made at. at: the
    word there, "" if it concerns the whole example.
    """

    pick: Callable[[Logits], Any]
    score: Callable[[Logits, Any], float]
    describe: Callable[[Any], str]
    row: int = 0
    at: str = ""


def choose_in_row(names: tuple[str, ...], row: int = 0, at: str = "") -> Choice:
    """Return the choice of the highest output in one row of the logits, if they have that row."""

    def pick(logits: Logits) -> int | None:
        return int(logits[row].argmax()) if row < len(logits) else None

    return Choice(
        pick=pick,
        score=lambda logits, place: float(logits[row, place]),
        describe=lambda place: names[place],
        row=row,
        at=at,
    )
