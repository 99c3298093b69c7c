"""Values of error analysis that a kind of task returns: units, claims on them, confusions, and
lines of text with marks that show them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from vocadapt.training.labels import Logits

RIGHT = ""  # in place of a kind of error
MISSED, SPURIOUS, NONE, WRONG = "missed", "spurious", "none", "wrong"
NO_LABEL = "(none)"  # in a confusion: missed if it is predicted, invented if it is gold
GOLD, OTHER = "gold", "other"  # styles of marks, besides those of choose_style
BEFORE, AFTER = 40, 40  # characters before and after what is marked
MAX_LINE_LENGTH = 420  # characters of a line


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


Claims = Sequence[tuple[str, Claim]]  # name of the side, what it predicted


@dataclass(frozen=True)
class Mark:
    """Characters `start` to `end` of a line, and the style of the mark."""

    start: int
    end: int
    style: str


@dataclass(frozen=True)
class Line:
    """A line: name, text, marks, and a note."""

    name: str
    text: str
    marks: tuple[Mark, ...] = ()
    note: str = ""


def choose_style(claim: Claim) -> str:
    """Return the style of what was predicted."""
    if claim.error:
        return "wrong"
    return "right"


def clip_line(name: str, text: str, style: str = "", note: str = "") -> Line:
    """Build a line of at most MAX_LINE_LENGTH characters, noting what was left out; `style` marks
    it all.
    """
    clipped = text
    notes = [note]
    if len(text) > MAX_LINE_LENGTH:
        clipped = f"{text[:MAX_LINE_LENGTH]}…"
        notes.append(f"{MAX_LINE_LENGTH} of {len(text):,} characters")
    marks = (Mark(0, len(clipped), style),) if style and clipped else ()
    return Line(name, clipped, marks, " · ".join(filter(None, notes)))


def clip_around_marks(
    name: str, text: str, marks: Sequence[Mark], start: int, end: int, note: str
) -> Line:
    """Clip a text at word boundaries around a range of characters, and shift its marks.

    Example: "a case of fever and pain", mark "fever", range 6 to 15 -> "… of fever …".
    """
    # 1. Move the start to the next word, but never behind a colored mark.
    start = max(start, 0)
    if start:
        start = text.find(" ", start) + 1 or start
    start = min([start, *(mark.start for mark in marks if mark.style != OTHER)])

    # 2. Move the end to the end of its word, at most MAX_LINE_LENGTH characters away.
    space = text.find(" ", min(end, len(text)))
    if space < 0 or end >= len(text):
        space = len(text)
    end = min(space, start + MAX_LINE_LENGTH)

    # 3. Shift the marks that are still visible.
    before = "… " if start else ""
    after = " …" if end < len(text) else ""
    shift = len(before) - start
    visible = [mark for mark in marks if mark.start < end and mark.end > start]
    shifted = [
        Mark(max(mark.start, start) + shift, min(mark.end, end) + shift, mark.style)
        for mark in visible
    ]
    shifted.sort(key=lambda mark: mark.start)
    return Line(name, f"{before}{text[start:end]}{after}", tuple(shifted), note)
