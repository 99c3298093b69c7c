"""Lines of text with marks: an example, its gold labels, and what was predicted for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from vocadapt.training.tasks.kinds.judgment import Claim

GOLD, OTHER, RIGHT, WRONG = "gold", "other", "right", "wrong"  # styles of marks
BEFORE, AFTER = 40, 40  # characters before and after what is marked
MAX_LINE_LENGTH = 420  # characters of a line
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


def style_of(claim: Claim) -> str:
    """Return the style of what was predicted."""
    return WRONG if claim.error else RIGHT


def clip_line(name: str, text: str, style: str = "", note: str = "") -> Line:
    """Build a line of at most MAX_LINE_LENGTH characters, noting what was left out; `style` marks
    it all.
    """
    clipped, notes = text, [note]
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
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shift = len(before) - start
    visible = [mark for mark in marks if mark.start < end and mark.end > start]
    shifted = [
        Mark(max(mark.start, start) + shift, min(mark.end, end) + shift, mark.style)
        for mark in visible
    ]
    shifted.sort(key=lambda mark: mark.start)
    return Line(name, f"{before}{text[start:end]}{after}", tuple(shifted), note)
