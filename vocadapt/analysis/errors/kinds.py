"""What is judged in an example, one unit at a time, and in what way a prediction misses it.

ner                     a unit is a gold entity; a predicted one that touches no gold entity is a false alarm
relations               a unit is an example of a gold class; a relation seen in an example of none is a false alarm
multilabel              a unit is a gold label of an example; a label that gold has not is a false alarm
classification, nli     a unit is an example
qa                      a unit is a question; an answer to a question that has none is a false alarm
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vocadapt.training.scoring.answers import exact, normalized
from vocadapt.training.tasks.base import Example, Question, Sentence
from vocadapt.training.tasks.kinds.qa import located
from vocadapt.training.tasks.tags import spans_of

RIGHT = ""  # the kind of error of what is right
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
        BOUNDARY: "the right type on other words that touch it",
        TYPE: "the right words under another type",
        BOTH: "other words that touch it, under another type",
        MISSED: "nothing on any of its words",
        SPURIOUS: "an entity that touches no gold entity",
    },
    "relations": {
        DIRECTION: "the same parts of the label in another order, such as e1 and e2 exchanged",
        NONE: "the class of no relation",
        WRONG: "another relation",
        SPURIOUS: "a relation where there is none",
    },
    "classification": {WRONG: "another class"},
    "nli": {WRONG: "another class"},
    "multilabel": {
        MISSED: "the label is not among those predicted",
        SPURIOUS: "a label that gold has not",
    },
    "qa": {
        PARTIAL: "shares words with an accepted answer",
        ELSEWHERE: (
            "holds an accepted answer, or is part of one, but stands at another place of the"
            " context"
        ),
        DISJOINT: "shares no word with an accepted answer",
        NONE: "no answer",
        SPURIOUS: "an answer to a question that has none",
    },
}


class Unit(NamedTuple):
    """One thing to be right about: its type or class, where it stands (words for ner, characters
    for qa), its text.

    Places are -1 where it stands nowhere: a class, an answer that its context does not hold.
    """

    label: str
    start: int = -1
    end: int = -1
    text: str = ""

    @property
    def name(self) -> str:
        """What tells it from the other units of its example."""
        return f"{self.label}:{self.start}-{self.end}"

    def touches(self, other: "Unit") -> bool:
        """Whether the two have a place in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Claim:
    """What was said of a unit, and in what way it is wrong ("" for right); nothing said is an empty
    tuple.
    """

    error: str
    said: tuple[Unit, ...] = ()


@dataclass(frozen=True)
class Judgment:
    """One prediction for one example: a claim on each gold unit, and the false alarms."""

    units: dict[Unit, Claim]
    alarms: tuple[Unit, ...] = ()


@dataclass(frozen=True)
class Judge:
    """How predictions of a kind of task are judged: which classes say "no relation", and whether
    all types are one.
    """

    kind: str
    negative: Collection[str] = field(default_factory=frozenset)
    untyped: bool = False

    def judge(self, example: Any, gold: Sequence[str], said: Any) -> Judgment:
        """Judge a prediction for an example against its gold labels, tags or answers."""
        if self.kind == "ner":
            return self._tags(example, gold, said)
        if self.kind == "multilabel":
            claims = {
                Unit(label): Claim(
                    RIGHT if label in said else MISSED, _matching_units([label], said)
                )
                for label in gold
            }
            return Judgment(claims, tuple(Unit(label) for label in sorted(set(said) - set(gold))))
        return _judge_answer(example, gold, said) if self.kind == "qa" else self._class(gold, said)

    def _tags(self, example: Sentence, gold: Sequence[str], said: Sequence[str]) -> Judgment:
        ours, theirs = (self.units(example, tags) for tags in (gold, said))
        claims = {unit: _judge_entity(unit, theirs) for unit in ours}
        return Judgment(claims, tuple(unit for unit in theirs if not any(map(unit.touches, ours))))

    def units(self, example: Example, tags: Sequence[str]) -> tuple[Unit, ...]:
        """The entities that tags mean on the words of a sentence."""
        assert isinstance(example, Sentence)
        spans = spans_of(tags, lambda tag: "") if self.untyped else spans_of(tags)
        return tuple(
            Unit(kind, start, end, " ".join(example.words[start:end])) for start, end, kind in spans
        )

    def _class(self, gold: Sequence[str], said: Iterable[str]) -> Judgment:
        held = tuple(said)
        if set(gold) <= set(self.negative):
            return Judgment({}, () if set(held) <= set(self.negative) else tuple(map(Unit, held)))
        label, answer = ", ".join(gold), ", ".join(held)
        return Judgment({Unit(label): Claim(self._confused(label, answer), (Unit(answer),))})

    def _confused(self, gold: str, said: str) -> str:
        if gold == said:
            return RIGHT
        if said in self.negative:
            return NONE
        return (
            DIRECTION
            if self.kind == "relations" and _label_words(gold) == _label_words(said) != []
            else WRONG
        )


def _matching_units(wanted: Iterable[str], said: Iterable[str]) -> tuple[Unit, ...]:
    return tuple(map(Unit, sorted(set(wanted) & set(said))))


def _label_words(label: str) -> list[str]:
    """The words of a label whatever their order: Cause-Effect(e1,e2) and Cause-Effect(e2,e1) have
    the same.
    """
    return sorted(re.findall(r"[^\W_]+", label.lower()))


def _judge_entity(unit: Unit, theirs: Iterable[Unit]) -> Claim:
    """What was said on the words of a gold entity; of several kinds of error the mildest counts."""
    touching = tuple(other for other in theirs if unit.touches(other))
    if not touching:
        return Claim(MISSED)
    if unit in touching:
        return Claim(RIGHT, (unit,))
    if any((other.start, other.end) == (unit.start, unit.end) for other in touching):
        return Claim(TYPE, touching)
    return Claim(
        BOUNDARY if any(other.label == unit.label for other in touching) else BOTH, touching
    )


def _judge_answer(example: Question, gold: Sequence[str], said: str) -> Judgment:
    """An answer against all that are accepted, by SQuAD's rules."""
    places = example.answers or ()
    begins = next((answer.start for answer in places if answer.start is not None), 0)
    given = (_locate_answer(example.context, said, begins),) if said else ()
    if not gold:
        return Judgment({}, given)
    first = next((answer for answer in places if answer.start is not None), None)
    unit = (
        Unit("", first.start or 0, (first.start or 0) + len(first.text), first.text)
        if first
        else Unit("", text=gold[0])
    )
    return Judgment({unit: Claim(_classify_answer(example, gold, said), given)})


def _locate_answer(context: str, said: str, near: int) -> Unit:
    """An answer where it stands in the context, as near to a place as can be: where it was taken
    from is not kept.
    """
    start = located(context, said, near)
    return Unit("", text=said) if start is None else Unit("", start, start + len(said), said)


def _classify_answer(example: Question, gold: Sequence[str], said: str) -> str:
    if any(exact(answer, said) for answer in gold):
        return RIGHT
    ours, theirs = [normalized(answer) for answer in gold], normalized(said)
    if not theirs:
        return NONE
    if not any(set(answer.split()) & set(theirs.split()) for answer in ours):
        return DISJOINT
    there = any(
        _locate_answer(example.context, said, answer.start).touches(
            Unit("", answer.start, answer.start + len(answer.text))
        )
        for answer in example.answers or ()
        if answer.start is not None
    )
    within = any(
        f" {answer} " in f" {theirs} " or f" {theirs} " in f" {answer} "
        for answer in ours
        if answer
    )
    return ELSEWHERE if within and not there else PARTIAL
