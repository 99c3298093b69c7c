"""Relation extraction: the relation between two entities that a text marks or masks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from vocadapt.training.examples.examples import Text
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.tasks.kinds.judgment import (
    AFTER,
    BEFORE,
    GOLD,
    MAX_LINE_LENGTH,
    NONE,
    SPURIOUS,
    WRONG,
    Claims,
    Line,
    Unit,
    clip_around_marks,
)
from vocadapt.training.tasks.kinds.judgment import Mark as LineMark
from vocadapt.training.tasks.kinds.kind import SAMPLE_SENTENCE, TextInput
from vocadapt.training.tasks.kinds.labeled_texts import LabeledTexts

MARKED = re.compile(r"<<\s*(.*?)\s*>>|\[\[\s*(.*?)\s*\]\]|@([A-Za-z]+(?:-[A-Za-z]+)?)\$")
DIRECTION = "direction"
NO_PAIR = "texts without two marked or masked entities"


class Relations(LabeledTexts):
    """Relation extraction, scored over the classes that mean a relation."""

    name = "relations"
    about = "the relation between two marked or masked entities of a text"
    file_format = (
        f"{LabeledTexts.file_format}; the two entities of a relation marked (<< >>, [[ ]]) or"
        " masked (@GENE$)"
    )
    default_scorer = "micro-f1-positive"
    reported_notes = LabeledTexts.reported_notes | {NO_PAIR}
    error_kinds: ClassVar[Mapping[str, str]] = {
        DIRECTION: "same relation in the other direction, such as e1 and e2 exchanged",
        NONE: "no relation predicted",
        WRONG: "another relation",
        SPURIOUS: "a relation where there is none",
    }
    inputs = (
        TextInput(
            "sentence",
            "Text with marked entities",
            SAMPLE_SENTENCE,
            height=110,
            offers_examples=True,
            is_example=False,  # it marks no entities
        ),
    )

    def count_notes(self, texts: Sequence[Text]) -> dict[str, int]:
        """Count the texts without two entities."""
        return {NO_PAIR: sum(not has_pair(text.text) for text in texts)}

    def negative_classes(self, rules: Rules) -> tuple[str, ...]:
        """Return the classes of no relation."""
        return rules.negative

    def classify_confusion(self, gold: str, predicted: str) -> str:
        """Return whether only the direction is wrong: Cause-Effect(e1,e2), Cause-Effect(e2,e1)."""
        words = _label_words(gold)
        return DIRECTION if words and words == _label_words(predicted) else WRONG

    def show_lines(
        self, example: Text, unit: Unit, claims: Claims, *, alarm: bool, untyped: bool
    ) -> Iterable[Line]:
        """Yield the lines of a text with labels; the entities of the pair are marked in it."""
        text, *others = super().show_lines(example, unit, claims, alarm=alarm, untyped=untyped)
        yield mark_pair(text, example.text)
        yield from others


class Mark(NamedTuple):
    """An entity that a text marks (`<< aspirin >>`, `[[ COX-2 ]]`) or masks (`@GENE$`): its
    position and content.
    """

    start: int
    end: int
    text: str
    masked: bool


def find_marks(text: str) -> tuple[Mark, ...]:
    """Return the marked and masked entities of a text, in order."""
    return tuple(
        Mark(
            found.start(), found.end(), found[1] or found[2] or found[3] or "", found[3] is not None
        )
        for found in MARKED.finditer(text)
    )


def has_pair(text: str) -> bool:
    """Whether two entities are marked or masked; one mask for two overlapping ones (`@CHEM-GENE$`)
    counts.
    """
    marks = find_marks(text)
    return len(marks) > 1 or any(mark.masked and "-" in mark.text for mark in marks)


def mark_pair(line: Line, text: str) -> Line:
    """Return the line of a text with its marked or masked entities as marks; a long text is clipped
    around them.

    line: the line without marks, which is returned for a text without entities.
    """
    found = find_marks(text)
    if not found:
        return line
    marks = tuple(LineMark(mark.start, mark.end, GOLD) for mark in found)
    if len(text) <= MAX_LINE_LENGTH:
        return Line(line.name, text, marks, line.note)
    start = found[0].start - BEFORE
    end = found[-1].end + AFTER
    return clip_around_marks(line.name, text, marks, start, end, line.note)


def _label_words(label: str) -> list[str]:
    return sorted(re.findall(r"[^\W_]+", label.lower()))
