"""Kinds of errors: what is judged in an example, and how a prediction can be wrong.

ner                   unit: a gold entity; false alarm: an entity that overlaps no gold entity
relations             unit: an example of a gold class; false alarm: a relation where gold has none
multilabel            unit: a gold label; false alarm: a label that is not in gold
classification, nli   unit: an example
qa                    unit: a question; false alarm: an answer to an unanswerable question
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vocadapt.training.scoring.answers import exact, normalized
from vocadapt.training.tasks.examples import Example, Question, Sentence
from vocadapt.training.tasks.kinds.qa import located
from vocadapt.training.tasks.tags import spans_of

RIGHT = ""  # in place of a kind of error
BOUNDARY, TYPE, BOTH, MISSED, SPURIOUS = (
    "boundary",
    "type",
    "boundary and type",
    "missed",
    "spurious",
)
DIRECTION, NONE, WRONG = "direction", "none", "wrong"
DISJOINT, PARTIAL, ELSEWHERE = "disjoint", "partial", "right elsewhere"
ERROR_KINDS: dict[str, dict[str, str]] = {
    "ner": {
        BOUNDARY: "right type, but on other, overlapping words",
        TYPE: "right words, but another type",
        BOTH: "other, overlapping words and another type",
        MISSED: "nothing predicted on any of its words",
        SPURIOUS: "an entity that overlaps no gold entity",
    },
    "relations": {
        DIRECTION: "same relation in the other direction, such as e1 and e2 exchanged",
        NONE: "no relation predicted",
        WRONG: "another relation",
        SPURIOUS: "a relation where there is none",
    },
    "classification": {WRONG: "another class"},
    "nli": {WRONG: "another class"},
    "multilabel": {
        MISSED: "the label was not predicted",
        SPURIOUS: "a label that is not in gold",
    },
    "qa": {
        PARTIAL: "shares words with an accepted answer",
        ELSEWHERE: (
            "contains an accepted answer, or is part of one, but at another position of the context"
        ),
        DISJOINT: "shares no word with an accepted answer",
        NONE: "no answer",
        SPURIOUS: "an answer to an unanswerable question",
    },
}


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


@dataclass(frozen=True)
class Judge:
    """Judges predictions for one kind of task.

    `negative`: the classes that mean "no relation". `untyped`: ignore entity types.
    """

    kind: str
    negative: Collection[str] = field(default_factory=frozenset)
    untyped: bool = False

    def judge(self, example: Any, gold: Sequence[str], predicted: Any) -> Judgment:
        """Compare the prediction for an example with its gold labels, tags or answers."""
        if self.kind == "ner":
            return self._judge_entities(example, gold, predicted)
        if self.kind == "multilabel":
            return _judge_labels(gold, predicted)
        if self.kind == "qa":
            return _judge_answer(example, gold, predicted)
        return self._judge_class(gold, predicted)

    def units(self, example: Example, tags: Sequence[str]) -> tuple[Unit, ...]:
        """Return the entities that tags mark in a sentence."""
        assert isinstance(example, Sentence)
        spans = spans_of(tags, lambda tag: "") if self.untyped else spans_of(tags)
        return tuple(
            Unit(kind, start, end, " ".join(example.words[start:end])) for start, end, kind in spans
        )

    def _judge_entities(
        self, example: Sentence, gold: Sequence[str], predicted: Sequence[str]
    ) -> Judgment:
        gold_units, found = self.units(example, gold), self.units(example, predicted)
        claims = {unit: _judge_entity(unit, found) for unit in gold_units}
        alarms = tuple(unit for unit in found if not any(map(unit.touches, gold_units)))
        return Judgment(claims, alarms)

    def _judge_class(self, gold: Sequence[str], predicted: Iterable[str]) -> Judgment:
        labels = tuple(predicted)
        if set(gold) <= set(self.negative):
            is_alarm = not set(labels) <= set(self.negative)
            return Judgment({}, tuple(map(Unit, labels)) if is_alarm else ())
        gold_label, label = ", ".join(gold), ", ".join(labels)
        claim = Claim(self._classify_confusion(gold_label, label), (Unit(label),))
        return Judgment({Unit(gold_label): claim})

    def _classify_confusion(self, gold: str, predicted: str) -> str:
        """Return the kind of error of predicting one class for another."""
        if gold == predicted:
            return RIGHT
        if predicted in self.negative:
            return NONE
        if self.kind == "relations" and _label_words(gold) == _label_words(predicted) != []:
            return DIRECTION
        return WRONG


def _judge_labels(gold: Sequence[str], predicted: Sequence[str]) -> Judgment:
    """Judge the predicted labels of a multilabel example, one by one."""
    claims = {}
    for label in gold:
        found = label in predicted
        claims[Unit(label)] = Claim(RIGHT, (Unit(label),)) if found else Claim(MISSED)
    return Judgment(claims, tuple(Unit(label) for label in sorted(set(predicted) - set(gold))))


def _label_words(label: str) -> list[str]:
    """Return the words of a label, sorted.

    They are equal for Cause-Effect(e1,e2) and Cause-Effect(e2,e1).
    """
    return sorted(re.findall(r"[^\W_]+", label.lower()))


def _judge_entity(unit: Unit, predicted: Iterable[Unit]) -> Claim:
    """Judge what was predicted on the words of a gold entity; the mildest kind of error counts."""
    touching = tuple(other for other in predicted if unit.touches(other))
    if not touching:
        return Claim(MISSED)
    if unit in touching:
        return Claim(RIGHT, (unit,))
    if any((other.start, other.end) == (unit.start, unit.end) for other in touching):
        return Claim(TYPE, touching)
    same_type = any(other.label == unit.label for other in touching)
    return Claim(BOUNDARY if same_type else BOTH, touching)


def _judge_answer(example: Question, gold: Sequence[str], predicted: str) -> Judgment:
    """Judge an answer against all accepted answers, normalized as SQuAD does."""
    located_answers = [answer for answer in example.answers or () if answer.start is not None]
    first = located_answers[0] if located_answers else None
    first_start = (first.start or 0) if first else 0
    given: tuple[Unit, ...] = ()
    if predicted:
        given = (_locate_answer(example.context, predicted, first_start),)
    if not gold:
        return Judgment({}, given)
    unit = Unit("", text=gold[0])
    if first:
        unit = Unit("", first_start, first_start + len(first.text), first.text)
    return Judgment({unit: Claim(_classify_answer(example, gold, predicted), given)})


def _locate_answer(context: str, answer: str, near: int) -> Unit:
    """Return an answer with its occurrence in the context that is closest to a position.

    Predictions store the answer's text only, not where it was taken from.
    """
    start = located(context, answer, near)
    if start is None:
        return Unit("", text=answer)
    return Unit("", start, start + len(answer), answer)


def _classify_answer(example: Question, gold: Sequence[str], predicted: str) -> str:
    """Return the kind of error of an answer, "" if it is right."""
    if any(exact(answer, predicted) for answer in gold):
        return RIGHT
    gold_texts, text = [normalized(answer) for answer in gold], normalized(predicted)
    if not text:
        return NONE
    if not any(set(answer.split()) & set(text.split()) for answer in gold_texts):
        return DISJOINT
    if _contains_either(gold_texts, text) and not _is_at_gold_position(example, predicted):
        return ELSEWHERE
    return PARTIAL


def _contains_either(gold_texts: Iterable[str], text: str) -> bool:
    """Whether the text contains an accepted answer, or is part of one (whole words)."""
    padded = f" {text} "
    return any(
        f" {answer} " in padded or padded in f" {answer} " for answer in gold_texts if answer
    )


def _is_at_gold_position(example: Question, predicted: str) -> bool:
    """Whether the answer overlaps an accepted answer in the context."""
    for answer in example.answers or ():
        if answer.start is None:
            continue
        gold = Unit("", answer.start, answer.start + len(answer.text))
        if _locate_answer(example.context, predicted, answer.start).touches(gold):
            return True
    return False
