"""Kinds of errors: each kind is tested once on an example worked by hand."""

import pytest

from vocadapt.analysis.errors.ledger import ALL_CLASSES
from vocadapt.training.examples.examples import Answer, Question, Sentence, Text
from vocadapt.training.scoring.counts import Rules
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.kinds.judgment import MISSED, NONE, SPURIOUS, WRONG, Unit
from vocadapt.training.tasks.kinds.ner import BOTH, BOUNDARY, TYPE
from vocadapt.training.tasks.kinds.qa import DISJOINT, ELSEWHERE, PARTIAL
from vocadapt.training.tasks.kinds.relations import DIRECTION

WORDS = ("familial", "adenomatous", "polyposis", "and", "fever")
GOLD = ("B-D", "I-D", "I-D", "O", "O")


def claim(tags, gold=GOLD, untyped=False):
    rules = Rules(untyped=untyped)
    judged = TASK_KINDS["ner"].judge(Sentence(WORDS, gold), gold, tags, rules)
    return next(iter(judged.units.values())).error, [(one.start, one.end) for one in judged.alarms]


@pytest.mark.parametrize(
    ("tags", "error", "alarms"),
    [
        ("B-D I-D I-D O O", "", []),
        ("O B-D I-D O O", BOUNDARY, []),
        ("B-C I-C I-C O O", TYPE, []),
        ("O B-C I-C O O", BOTH, []),
        ("O O O O O", MISSED, []),
        ("O O O O B-D", MISSED, [(4, 5)]),
        ("B-D I-D I-D O B-C", "", [(4, 5)]),
        ("B-D O B-C O O", BOUNDARY, []),  # of several the mildest
        ("I-D I-D I-D O O", "", []),  # an I without a B begins one
        ("B-D I-D I-D I-D I-D", BOUNDARY, []),
    ],
)
def test_entities(tags, error, alarms):
    assert claim(tuple(tags.split())) == (error, alarms)


def test_without_types_another_type_is_right():
    assert claim(("B-C", "I-C", "I-C", "O", "O"), untyped=True) == ("", [])


def relation(gold, said):
    rules = Rules(negative=("false",))
    judged = TASK_KINDS["relations"].judge(Text("1", "t", (gold,)), (gold,), (said,), rules)
    return [one.error for one in judged.units.values()], [unit.label for unit in judged.alarms]


@pytest.mark.parametrize(
    ("gold", "said", "errors", "alarms"),
    [
        ("Cause-Effect(e1,e2)", "Cause-Effect(e1,e2)", [""], []),
        ("Cause-Effect(e1,e2)", "Cause-Effect(e2,e1)", [DIRECTION], []),
        ("+", "-", [WRONG], []),
        ("Cause-Effect(e1,e2)", "false", [NONE], []),
        ("Cause-Effect(e1,e2)", "Part-Whole(e1,e2)", [WRONG], []),
        ("false", "Part-Whole(e1,e2)", [], ["Part-Whole(e1,e2)"]),
        ("false", "false", [], []),
    ],
)
def test_relations(gold, said, errors, alarms):
    assert relation(gold, said) == (errors, alarms)


def test_an_exchange_of_parts_is_a_direction_for_relations_only():
    judged = TASK_KINDS["classification"].judge(
        Text("1", "t", ("a b",)), ("a b",), ("b a",), ALL_CLASSES
    )
    assert [one.error for one in judged.units.values()] == [WRONG]


def test_several_labels_are_units_of_their_own():
    judged = TASK_KINDS["multilabel"].judge(
        Text("1", "t", ("a", "b")), ("a", "b"), ("b", "c"), ALL_CLASSES
    )
    assert {unit.label: one.error for unit, one in judged.units.items()} == {"a": MISSED, "b": ""}
    assert judged.alarms == (Unit("c"),)


CONTEXT = (
    "The fever began in May 2012. In May of that year a high fever and a cough came back in the"
    " north."
)


def answer(said, *accepted):
    held = tuple(Answer(text, CONTEXT.find(text)) for text in accepted)
    judged = TASK_KINDS["qa"].judge(
        Question("1", "When?", CONTEXT, held), accepted, said, ALL_CLASSES
    )
    return [one.error for one in judged.units.values()] or [SPURIOUS] * len(judged.alarms)


@pytest.mark.parametrize(
    ("said", "accepted", "error"),
    [
        ("May 2012", ("May 2012",), ""),
        ("the May, 2012", ("May 2012",), ""),  # SQuAD's rules: no articles, no punctuation
        ("in May 2012", ("May 2012",), PARTIAL),
        ("high fever", ("The fever",), ELSEWHERE),  # holds "fever", but the other one
        ("a cough", ("May 2012",), DISJOINT),
        ("", ("May 2012",), NONE),
        ("May of that year", ("May 2012",), PARTIAL),
        ("May 2012", (), SPURIOUS),
        ("a cough", ("May 2012", "cough"), ""),  # any accepted answer will do
    ],
)
def test_answers(said, accepted, error):
    assert answer(said, *accepted) == [error]


def test_no_answer_where_there_is_none_is_nothing_to_tell():
    assert answer("") == []


def test_an_answer_that_its_context_does_not_hold_is_still_judged():
    question = Question("1", "When?", CONTEXT, (Answer("in the spring", None),))
    judged = TASK_KINDS["qa"].judge(question, ("in the spring",), "spring", ALL_CLASSES)
    (unit,) = judged.units
    assert unit.start == -1 and judged.units[unit].error in (PARTIAL, ELSEWHERE)


def test_every_kind_of_task_has_its_kinds_of_errors():
    assert all(kind.error_kinds for kind in TASK_KINDS.values())
