"""Tokenizations of words by a tiny BERT and its adapted version."""

import pytest

from tests.material.finetuning import tiny_adapted
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.analysis.errors.entry_lines import build_card
from vocadapt.analysis.errors.keywords import find_in_examples
from vocadapt.analysis.errors.ledger import Side, build_ledger
from vocadapt.analysis.errors.word_tokenizations import (
    WordIndex,
    build_word_index,
    count_training_words,
    normalize_word,
    read_added_tokens,
)
from vocadapt.models.language_model import open_model
from vocadapt.text.keyword_in_context import ContextSettings
from vocadapt.text.splitter import Splitter
from vocadapt.training.examples.examples import Answer, Question, Sentence, Split, Text
from vocadapt.training.tasks.kinds import TASK_KINDS

TRAIN = (
    Sentence(("Tachycardia", "is", "pain"), ("B-D", "O", "B-D")),
    Sentence(("tachycardia", "again"), ("O", "O")),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tiny_adapted(folder)
    return open_model(folder / "before"), open_model(folder / "adapted")


def test_before_and_after_an_adaptation(models):
    before, adapted = models
    for book in (
        build_word_index(before, adapted, TRAIN),
        build_word_index(adapted, adapted, TRAIN),
        build_word_index(None, adapted, TRAIN),
    ):
        word = book.tokenize("Tachycardia")
        assert word.before == ("tachy", "##card", "##i", "##a")
        assert word.after == ("tachycardia",) == word.new
        assert word.changed and word.seen == 2 and book.has_two_tokenizations
        assert book.tokenize("pain").before == book.tokenize("pain").after == ("pain",)
        assert not book.tokenize("pain").new
        assert book.tokenize("heart").seen == 0
        assert book.seen_entity("TACHYCARDIA") and not book.seen_entity("again")


def test_the_other_way_round_the_new_token_comes_first(models):
    before, adapted = models
    word = build_word_index(adapted, before).tokenize("tachycardia")
    assert word.before == ("tachycardia",) and len(word.after) == 4 and word.new == ()


def test_a_model_that_was_not_adapted_tokenizes_alike(models):
    word = build_word_index(models[0], models[0]).tokenize("tachycardia")
    assert not word.changed and word.seen is None


def test_provenance_of_new_tokens(models):
    added = read_added_tokens(models[1])
    assert set(added) == {"tachycardia", "euthymia", "hypertension"}
    assert not read_added_tokens(models[0])
    assert added["tachycardia"].line.startswith("tachycardia = ")


def test_without_models_words_are_counted_in_lower_case():
    book = build_word_index(None, None, TRAIN)
    assert not book.has_two_tokenizations
    assert book.tokenize("TACHYCARDIA").seen == 2
    assert book.tokenize("x").before == ()
    assert book.words_of("a  b") == ("a", "b") and WordIndex().tokenize("a").seen is None


def test_training_words_of_every_kind_of_example():
    splitter = Splitter.bert()
    assert normalize_word("Non-Hodgkin", splitter).split() == ["non", "-", "hodgkin"]
    texts = (
        Text("1", "Pain, pain!", ("a",), "PAIN"),
        Question("q", "Who?", "Ann", (Answer("Ann", 0),)),
    )
    seen = count_training_words(texts, splitter)
    assert seen.words["pain"] == 3 and seen.words["ann"] == 1 and not seen.entities


def test_words_in_the_context_of_examples():
    found = find_in_examples(TRAIN, "TACHYCARDIA", Splitter.bert(), "train")
    assert found.total == 2
    assert [(hit.match, hit.line) for hit in found.hits] == [
        ("Tachycardia", 1),
        ("tachycardia", 2),
    ]
    assert found.hits[0].right == " is pain" and found.hits[0].left == ""
    one = find_in_examples(
        TRAIN * 50, "tachycardia", Splitter.bert(), "train", ContextSettings(limit=3)
    )
    assert one.total == 100
    assert len(one.hits) == 3
    assert one.hits == tuple(sorted(one.hits, key=lambda hit: hit.line))
    assert find_in_examples(TRAIN, "heart", Splitter.bert(), "train").total == 0
    with raises_input_error("not-one-word"):
        find_in_examples(TRAIN, "two words", Splitter.bert(), "train")


def test_the_card_of_an_entry(models):
    split = Split((Sentence(("no", "tachycardia", "today"), ("O", "B-D", "O"), "12"),))
    book = build_ledger(
        split, Side("a", [("O", "O", "B-D")]), Side("b", [("O", "B-D", "O")]), TASK_KINDS["ner"]
    )
    words = build_word_index(*models, TRAIN)
    view = build_card(book, book.entries[0], words)
    assert view.title == book.title_of(book.entries[0])
    assert view.event == f"D · {book.entries[0].event}"
    gold, first, second = view.lines
    assert [(gold.text[mark.start : mark.end], mark.style) for mark in gold.marks] == [
        ("tachycardia", "gold")
    ]
    assert first.marks == () and first.note == "missed"
    assert [(second.text[mark.start : mark.end], mark.style) for mark in second.marks] == [
        ("tachycardia", "right")
    ]
    (origin,) = view.origins
    assert origin.startswith(words.added["tachycardia"].line) and "2 in" in origin
    alarm = build_card(book, book.entries[1], words)
    assert alarm.lines[0].note == "nothing here"
    assert [mark.style for mark in alarm.lines[1].marks] == ["wrong"]
    assert alarm.lines[2].marks == () and alarm.lines[2].note == ""


def test_long_examples_are_shown_in_part_and_what_is_marked_stays(models):
    words = tuple(f"word{n}" for n in range(5000))
    split = Split((Sentence(words, tuple("B-D" if n == 2500 else "O" for n in range(5000))),))
    book = build_ledger(
        split, Side("a", [("O",) * 5000]), Side("b", [("O",) * 5000]), TASK_KINDS["ner"]
    )
    gold = build_card(book, book.entries[0], WordIndex()).lines[0]
    assert len(gold.text) < 500 and gold.text.startswith("… ") and gold.text.endswith(" …")
    assert [gold.text[mark.start : mark.end] for mark in gold.marks] == ["word2500"]
    whole = Split((Sentence(("x" * 9000,), ("B-D",)),))
    book = build_ledger(whole, Side("a", [("O",)]), Side("b", [("B-D",)]), TASK_KINDS["ner"])
    assert all(
        len(line.text) < 500 for line in build_card(book, book.entries[0], WordIndex()).lines
    )


def test_questions_and_texts_have_cards_too():
    context = "Long ago. " * 80 + "The fever began in May 2012. " + "Then it went. " * 80
    question = Question("q1", "When?", context, (Answer("May 2012", context.find("May 2012")),))
    book = build_ledger(
        Split((question,)), Side("a", ["Long ago"]), Side("b", ["May 2012"]), TASK_KINDS["qa"]
    )
    asked, gold, first, second = build_card(book, book.entries[0], WordIndex()).lines
    assert asked.text == "When?"
    assert gold.text[gold.marks[0].start : gold.marks[0].end] == "May 2012"
    assert "Long ago" in first.text
    assert first.note == "disjoint"
    assert second.marks[0].style == "right"
    texts = Split((Text("1", "t" * 1000, ("ill",), "pair"),))
    book = build_ledger(texts, Side("a", [("well",)]), Side("b", [("ill",)]), TASK_KINDS["nli"])
    lines = build_card(book, book.entries[0], WordIndex()).lines
    assert [line.name for line in lines] == ["text", "second", "gold", "baseline", "compared"]
    assert find_numbers(lines[0].note)[-2:] == [420, 1_000]
    assert lines[3].text == "well"
    assert lines[3].note == "wrong"


def test_a_tokenizer_is_called_once_for_each_word(models, monkeypatch):
    book = build_word_index(*models)
    assert book.tokenize("pain") is book.tokenize("pain")


def test_an_unadapted_copy_under_another_vocabulary_is_before(tmp_path, models):
    other = open_model(
        build_tiny_bert(tmp_path / "other", tokens=[*models[0].vocabulary.tokens, "euthymic"])
    )
    word = build_word_index(models[0], other).tokenize("euthymic")
    assert len(word.before) > 1
    assert word.after == ("euthymic",)
    assert word.new == ()  # known, but nothing says it was added
