"""The ledger of paired predictions: outcomes, false alarms, kinds and titles, counted by hand."""

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.errors.ledger import (
    ADDED,
    KEPT,
    REMOVED,
    ErrorsOfKind,
    Side,
    build_ledger,
    choose_judging_rules,
    count_outcomes,
)
from vocadapt.training.examples.examples import Answer, Question, Sentence, Split, Text
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules
from vocadapt.training.tasks.kinds import TASK_KINDS

SPLIT = Split(
    (
        Sentence(("no", "fever", "today"), ("O", "B-D", "O"), "10369876"),
        Sentence(("high", "fever", "and", "cough"), ("B-D", "I-D", "O", "B-D"), "10369876"),
        Sentence(("aspirin", "helps"), ("B-C", "O"), "77"),
    )
)
FIRST = [("O", "O", "O"), ("O", "B-D", "O", "B-D"), ("B-C", "B-D")]
SECOND = [("O", "B-D", "B-D"), ("O", "B-D", "O", "O"), ("B-C", "B-D")]


def book(first=FIRST, second=SECOND, **tokenizations):
    return build_ledger(
        SPLIT, Side("a", first), Side("b", second, **tokenizations), TASK_KINDS["ner"]
    )


def test_every_gold_unit_has_an_outcome_and_false_alarms_are_separate():
    found = book()
    assert {name: count for name, count in found.counts.items() if count} == {
        "fixed": 1,
        "broken": 1,
        "both wrong": 1,
        "both right": 1,
        ADDED: 1,
        KEPT: 1,
    }
    assert [(entry.outcome, entry.unit.text) for entry in found.entries] == [
        ("fixed", "fever"),
        (ADDED, "today"),
        ("both wrong", "high fever"),
        ("broken", "cough"),
        ("both right", "aspirin"),
        (KEPT, "helps"),
    ]
    assert found.by_label["C"]["both right"] == 1 and found.by_label["D"]["both right"] == 0
    assert found.kinds == (
        ErrorsOfKind("spurious", 1, 2),
        ErrorsOfKind("boundary", 1, 1),
        ErrorsOfKind("missed", 1, 1),
    )


def test_outcomes_are_described_in_words():
    fixed, added, wrong, broken, right, kept = (entry.event for entry in book().entries)
    assert fixed.split(" → ") == ["missed", "right"] == broken.split(" → ")[::-1]
    assert wrong.startswith("boundary ")
    assert (added, right, kept) == (ADDED, "both right", KEPT)


def test_the_other_way_round_fixed_is_broken_and_added_is_removed():
    there, back = book().counts, book(SECOND, FIRST).counts
    assert there["fixed"] == back["broken"]
    assert there[ADDED] == back[REMOVED]
    assert there[KEPT] == back[KEPT]


def test_gold_units_are_counted_as_by_the_outcome_counts():
    counted = count_outcomes(TASK_KINDS["ner"], SPLIT.gold, FIRST, SECOND)[0].counts
    assert counted == {name: book().counts[name] for name in counted}


def test_titles_name_document_and_sentence_and_can_be_searched():
    found = book()
    titles = [found.title_of(found.entries[place]) for place in (0, 2)]
    assert [find_numbers(title) for title in titles] == [[10369876, 1], [10369876, 2]]
    assert {entry.place for entry in found.search(found.entries, "10369876")} == {0, 1}
    assert [entry.unit.text for entry in found.search(found.entries, "ASPIRIN ")] == [
        "aspirin",
        "helps",
    ]
    assert found.search(found.entries, "nowhere") == ()


def test_the_prediction_of_each_tokenization_is_stored():
    tokenizations = {"base": FIRST, "adapted": SECOND, "pooled": SECOND}
    first = book(by_tokenization=tokenizations).entries[0]
    assert {tokenization: claim.error for tokenization, claim in first.by_tokenization.items()} == {
        "base": "missed",
        "adapted": "",
        "pooled": "",
    }
    added = book(by_tokenization=tokenizations).entries[1]
    assert {tokenization: claim.error for tokenization, claim in added.by_tokenization.items()} == {
        "base": "",
        "adapted": "spurious",
        "pooled": "spurious",
    }
    assert book().entries[0].by_tokenization == {} and book().vote(book().entries[0]) is None


def test_ids_depend_only_on_the_example_and_the_unit():
    here, there = book(), book(SECOND, SECOND)
    assert {entry.id for entry in there.with_outcome("both right")} & {here.entries[0].id}
    assert len({entry.id for entry in here.entries}) == len(here.entries)


def test_predictions_of_another_number_and_examples_without_labels_are_refused():
    with raises_input_error("other-length", "3", "a: 2"):
        book(FIRST[:2])
    with raises_input_error("no-labels"):
        build_ledger(
            Split((Sentence(("a",), None),)),
            Side("a", [("O",)]),
            Side("b", [("O",)]),
            TASK_KINDS["ner"],
        )


def test_questions():
    asked = Split(
        (
            Question("q1", "Who?", "Ann met Bob", (Answer("Ann", 0),)),
            Question("q2", "Who?", "Ann met Bob", ()),
        )
    )
    found = build_ledger(asked, Side("a", ["Bob", ""]), Side("b", ["Ann", "Bob"]), TASK_KINDS["qa"])
    fixed, added = found.entries
    assert (fixed.outcome, fixed.event.split()[0]) == ("fixed", "disjoint")
    assert (added.outcome, added.event) == (ADDED, ADDED)
    assert found.title_of(found.entries[0]) == "question q1"

    def count(kind, *predictions, **settings):
        return count_outcomes(TASK_KINDS[kind], *predictions, **settings)[0].counts

    # The right words under another type are wrong, unless all types are one.
    gold, other = [("B-D",)], [("B-G",)]
    assert count("ner", gold, other, gold)["fixed"] == 1
    assert count("ner", gold, other, gold, untyped=True)["both right"] == 1
    assert count("qa", asked.gold, ["Bob", ""], ["Ann", "Bob"])["fixed"] == 1
    assert count("qa", asked.gold, ["the Ann.", ""], ["Ann", ""])["both right"] == 2


def test_the_score_names_the_negative_class():
    split = Split(tuple(Text(str(n), "t", (label,)) for n, label in enumerate(["0", "1", "false"])))
    relations, classes = TASK_KINDS["relations"], TASK_KINDS["classification"]
    usual = choose_judging_rules(relations, split, DEFAULT_RULES, relations.scorer())
    assert usual.negative == DEFAULT_RULES.negative
    binary = choose_judging_rules(relations, split, DEFAULT_RULES, relations.scorer("binary-f1"))
    assert set(binary.negative) == {"0", "false"}
    assert choose_judging_rules(classes, split, DEFAULT_RULES, classes.scorer()).negative == ()
    ner = TASK_KINDS["ner"]
    assert choose_judging_rules(ner, SPLIT, Rules(untyped=True), ner.scorer()).untyped
