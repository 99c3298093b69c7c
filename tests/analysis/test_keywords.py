"""Keywords of an error report in context: which words are chosen, and their counts in examples
and in a text."""

import re
from html import escape

import pytest

from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.errors import keywords
from vocadapt.analysis.errors.keywords import (
    find_each_in_examples,
    find_in_examples,
    find_keywords,
)
from vocadapt.analysis.errors.report import Report
from vocadapt.lab.reports.ledgers import PairSpec, open_pair
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import ContextSettings, find_by_name, find_in_context
from vocadapt.text.splitter import Splitter
from vocadapt.training.examples.examples import Sentence

BERT = Splitter.bert()
TEXT = (
    "Euthymia, and FEVER.\nNo fever in café\u0301 or caf\u00e9s; fever-free"
    " eu\u00adthymia!\n<b>fever</b> 与fever\n" * 3
)
TRAIN = (
    Sentence(("Fever", "again"), ("B-D", "O")),
    Sentence(("no", "fever", "fever"), ("O", "O", "O")),
)


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    return Corpus((tmp_path / "text.txt",))


@pytest.fixture
def pair(tmp_path):
    """Two files of predictions: the first says nothing, the second is right."""
    gold = "no O\nfever B-D\n\n<b> O\nbeta-fever B-D\n. O\n"
    for name, text in (("gold", gold), ("a", gold.replace("B-D", "O")), ("b", gold)):
        (tmp_path / name).write_text(text.replace(" ", "\t"), encoding="utf-8")
    return open_pair(
        PairSpec(str(tmp_path / "a"), str(tmp_path / "b"), gold=str(tmp_path / "gold"), kind="ner")
    )


@pytest.mark.parametrize(
    "splitter", [BERT, Splitter.bert(lowercase=False), Splitter("null", '{"type": "Whitespace"}')]
)
@pytest.mark.parametrize(
    "settings",
    [ContextSettings(), ContextSettings(limit=2, width=5), ContextSettings(limit=3, sample=False)],
)
def test_several_words_at_once_are_each_word_alone(corpus, splitter, settings):
    words = ["fever", "and", "café", "free"]
    words = [word for word in words if splitter.words(word) == [word]] + splitter.words("no")
    together = find_by_name(corpus, {word: word for word in words}, splitter, settings)
    assert together == {word: find_in_context(corpus, word, splitter, settings) for word in words}
    assert together["fever"].total > 3
    assert find_each_in_examples(TRAIN, words, splitter, "x", settings) == {
        word: find_in_examples(TRAIN, word, splitter, "x", settings) for word in words
    }


def test_the_words_on_the_cards(pair):
    found = find_keywords(pair.ledger, pair.ledger.with_outcome("fixed"), pair.words, TRAIN)
    assert {one.word: one.entries for one in found.words} == {"fever": 2, "beta": 1}
    assert found.n_words == 2
    fever = found.words[0].found
    assert (fever["test"].total, fever["training"].total) == (2, 3) and "corpus" not in fever


def test_words_that_stand_equally_often_come_in_their_order(tmp_path):
    words = ["euthymia", "alpha", "omega", "beta", "zeta", "gamma", "eta"]
    said = "".join(f"{word}\t{'I' if place else 'B'}-D\n" for place, word in enumerate(words))
    for name, text in (("gold", said), ("a", re.sub(r"\t.*", "\tO", said)), ("b", said)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    pair = open_pair(
        PairSpec(str(tmp_path / "a"), str(tmp_path / "b"), gold=str(tmp_path / "gold"), kind="ner")
    )
    assert [
        one.word for one in find_keywords(pair.ledger, pair.ledger.entries, pair.words).words
    ] == words


def test_the_number_shown_and_the_total_are_reported(pair, corpus, monkeypatch):
    monkeypatch.setattr(keywords, "MAX_WORDS", 1)
    monkeypatch.setattr(keywords, "CONTEXT", ContextSettings(limit=2, width=10))
    found = find_keywords(pair.ledger, pair.ledger.entries, pair.words, None, corpus)
    assert [one.word for one in found.words] == ["fever"] and found.n_words == 2
    in_text = found.words[0].found["corpus"]
    assert (len(in_text.hits), in_text.total) == (2, BERT.words(TEXT).count("fever"))


def test_the_report_shows_them_and_escapes_them(pair, corpus):
    page = Report(pair.slicing(), ("a", "b"), pair.test, train=TRAIN, corpus=corpus).html()
    assert "Not searched" not in page
    shown, of = find_numbers(page.split(" words on")[0])[-2:]
    entries, in_test, in_training = find_numbers(page.split(" in training")[0])[-3:]
    assert (shown, of, entries, in_test, in_training) == (2, 2, 2, 2, 3)
    assert find_numbers(page.split("In training: ")[1])[:2] == [3, 3]
    assert "<b>fever" not in page and "&lt;b&gt;" in page
    alone = Report(pair.slicing(), ("a", "b"), pair.test).html()
    assert "Not searched" in alone
    assert "in training" not in alone
    why = "which takes <1 h"
    long = Report(pair.slicing(), ("a", "b"), pair.test, why_no_corpus=why).html()
    assert long.count("Not searched") == 2 and escape(why) in long
    searched = Report(
        pair.slicing(), ("a", "b"), pair.test, train=TRAIN, corpus=corpus, why_no_corpus=why
    ).html()
    assert "Not searched" not in searched
