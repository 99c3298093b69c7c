"""Keyword in context: every occurrence is found and counted, for any word, splitter and block."""

import random
from pathlib import Path

import pytest

from tests.material.articles import PUBMED, PUBMED_LINES
from tests.material.input_errors import raises_input_error
from tests.material.lab import write_text
from tests.material.nightly import mark_slow
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.lab.reports.word_lookup import look_up
from vocadapt.text.corpus import Corpus, CorpusSettings, open_corpus
from vocadapt.text.keyword_in_context import (
    ContextSettings,
    KeywordContext,
    find_by_name,
    find_in_context,
    normalize_single_word,
)
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

UNCASED, CASED = Splitter.bert(), Splitter.bert(lowercase=False)
WHITESPACE = Splitter.from_tokenizer(
    {"normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "WhitespaceSplit"}}
)
FIRST = ContextSettings(sample=False)
MARKS = [*"İß\u2003与\x85\x0b\ré\u200dﬁ\u212a≠\x7f-", "\u00adx", "e\u0301"]
TEXT = """Aspirin helps; aspirin, ASPIRIN!
no hit: aspirins paraaspirin aspirin2 aspirinα áspirin\u00adx

x<aspirin>y café Cafe CAFÉ a\x01spirin na\u00adïve
与aspirin与 µg ≥5-aspirin e\u0301e
"""
EVERY = ContextSettings(limit=1000, sample=False)


def corpus_of(folder: Path, text: str = TEXT, **settings: object) -> Corpus:
    (folder / "a.txt").write_bytes(text.encode())
    return open_corpus([folder / "a.txt"], CorpusSettings(**settings))  # type: ignore[arg-type]


def shown(found: KeywordContext) -> list[tuple[str, str, str, int]]:
    return [(hit.left, hit.match, hit.right, hit.line) for hit in found.hits]


def test_places_by_hand(tmp_path):
    before = "We gave Aspirin, and "
    (tmp_path / "a.txt").write_text(f"{before}aspirin.\naspirins\n\nAspirin\n")
    found = find_in_context(
        open_corpus([tmp_path]), "ASPIRIN", UNCASED, ContextSettings(width=5, sample=False)
    )
    assert found.word == "aspirin"
    assert found.total == 3
    assert {hit.file for hit in found.hits} == {(tmp_path / "a.txt").resolve()}
    assert shown(found) == [
        ("gave ", "Aspirin", ", and", 1),
        (" and ", "aspirin", ".", 1),
        ("", "Aspirin", "", 4),
    ]
    cased = find_in_context(open_corpus([tmp_path]), "aspirin", CASED, FIRST)
    assert shown(cased) == [(before, "aspirin", ".", 1)]


@pytest.mark.parametrize("splitter", [UNCASED, *mark_slow([CASED, WHITESPACE])])
def test_every_word_of_a_text_is_found_as_often_as_it_is_counted(splitter, tmp_path, monkeypatch):
    rng = random.Random(3)
    drawn = rng.choices([*MARKS, "0", "٣", "a", "B", "ab", " ", " ", ".", "'"], k=1500)
    noise = "".join("".join(drawn[at : at + 40]) + "\n" for at in range(0, 1500, 40))
    corpus = corpus_of(tmp_path, TEXT + noise)
    counts = count_words(corpus, splitter).counts
    assert len(counts) > 60
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", 500)
    for word, count in counts.items():
        found = find_by_name(corpus, {word: word}, splitter, EVERY, core=word)[word]
        assert found.total == count == len(found.hits), word
        for hit in found.hits:
            assert word in splitter.words(hit.match) and "\n" not in hit.left + hit.right
    names = {word: "all" for word in counts if "a" in word}
    together = find_by_name(corpus, names, splitter, core="a")
    assert together["all"].total == sum(count for word, count in counts.items() if "a" in word)


def test_the_lines_are_those_of_the_text(tmp_path):
    lines = TEXT.split("\n")
    for hit in find_in_context(corpus_of(tmp_path), "aspirin", UNCASED, EVERY).hits:
        assert f"{hit.left}{hit.match}{hit.right}" == lines[hit.line - 1]


def test_spans_are_the_words_and_where_they_stand():
    for splitter in (UNCASED, CASED, WHITESPACE, Splitter("null", "null")):
        for line in TEXT.split("\n"):
            assert [word for word, _, _ in splitter.spans(line)] == splitter.words(line)
    assert UNCASED.spans("Café 与b") == [("cafe", 0, 4), ("与", 5, 6), ("b", 6, 7)]


def test_n_of_n_is_exact_and_the_draw_is_seeded_and_ignores_blocks(tmp_path, monkeypatch):
    corpus = corpus_of(tmp_path, "".join(f"{number} drug and\n" for number in range(2000)))

    def lines(seed: int = 1, **more: object) -> list[int]:
        found = find_in_context(
            corpus, "drug", UNCASED, ContextSettings(limit=50, seed=seed, **more)
        )  # type: ignore[arg-type]
        assert (found.total, len(found.hits)) == (2000, 50)
        return [hit.line for hit in found.hits]

    drawn = lines()
    assert drawn == sorted(drawn)
    assert len(set(drawn)) == 50
    assert drawn != lines(2)
    assert 600 < sum(drawn) / 50 < 1400
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", 1000)
    assert lines() == drawn
    assert lines(sample=False) == list(range(1, 51))


def test_every_place_has_the_same_chance(tmp_path):
    corpus = corpus_of(tmp_path, "drug\n" * 10)
    seen = [
        hit.line
        for seed in range(500)
        for hit in find_in_context(corpus, "drug", UNCASED, ContextSettings(2, seed=seed)).hits
    ]
    assert len(seen) == 1000 and all(60 < seen.count(line) < 140 for line in range(1, 11))


def test_lines_keep_their_number_where_others_are_dropped(tmp_path):
    corpus = corpus_of(
        tmp_path, "drug\nthe drug is long enough\ndrug\nanother drug of many\n", min_length=10
    )
    assert [hit.line for hit in find_in_context(corpus, "drug", UNCASED, FIRST).hits] == [2, 4]


def test_articles_are_looked_through_too(tmp_path):
    (tmp_path / "a.xml").write_text(PUBMED, encoding="utf-8")
    [hit] = find_in_context(open_corpus([tmp_path]), "aspirin", UNCASED).hits
    assert (hit.left, hit.match, hit.line) == ("", "Aspirin", 1)
    assert f"{hit.match}{hit.right}" in PUBMED_LINES


@pytest.mark.parametrize("typed", ["<script>", "$x$", ".*", "two words", "", " ", "a-b", "[UNK]"])
def test_what_is_not_one_word_is_refused(typed, tmp_path):
    with raises_input_error("not-one-word"):
        find_in_context(corpus_of(tmp_path), typed, UNCASED)


@pytest.mark.parametrize("typed", ["x" * 500, "nosuchword", "*", "\\", "与", "(", "é" * 300])
def test_odd_words_that_are_not_there_are_not_found(typed, tmp_path):
    found = find_in_context(corpus_of(tmp_path, "only this line\n"), typed, UNCASED)
    assert (found.total, found.hits) == (0, ())


def test_a_word_of_bytes_that_are_no_text_is_refused():
    with raises_input_error("not-utf8"):
        normalize_single_word("a\udcff", UNCASED)


@pytest.mark.parametrize(
    "settings", [{"limit": 0}, {"limit": 10**6}, {"width": -1}, {"width": 10**6}, {"seed": -1}]
)
def test_settings_are_checked(settings):
    with raises_input_error("out-of-range"):
        ContextSettings(**settings)


def test_a_line_of_megabytes_is_no_trouble(tmp_path):
    corpus = corpus_of(
        tmp_path, "naïve" * 200_000 + " drug " + "与" * 10_000 + "drug" * 10_000 + "\n"
    )
    found = find_in_context(corpus, "drug", UNCASED, ContextSettings(width=3))
    assert shown(found)[0] == ("ve ", "drug", " 与与", 1) and found.total == 1
    assert find_in_context(corpus, "与", UNCASED).total == 10_000


def test_a_wordpiece_is_found_through_the_words_that_hold_it(tmp_path):
    vocabulary = vocabulary_of(build_tokenizer(tuple(TINY_TOKENS)))
    corpus = corpus_of(
        tmp_path, "Tachycardia and hypercard; cardoma, card.\nhyper hypertension tachycarditis\n"
    )
    assert vocabulary.tokenize("tachycarditis") == ("tachy", "##card", "##itis")
    found = look_up(corpus, "##card", UNCASED, vocabulary, FIRST)
    assert found.word == "##card"
    assert [hit.match for hit in found.hits] == ["Tachycardia", "hypercard", "tachycarditis"]
    begins = look_up(corpus, "hyper", UNCASED, vocabulary, FIRST, piece=True)
    assert [hit.match for hit in begins.hits] == ["hypercard", "hyper", "hypertension"]
    assert [hit.match for hit in look_up(corpus, "hyper", UNCASED, vocabulary, FIRST).hits] == [
        "hyper"
    ]
    for piece, given, code in (
        ("##zzz", vocabulary, "unknown-wordpiece"),
        ("##card", None, "no-model"),
    ):
        with raises_input_error(code):
            look_up(corpus, piece, UNCASED, given)


def test_what_is_shown_is_reported():
    found = KeywordContext("x", 9, ())
    drawn = found.describe(ContextSettings(seed=7))
    first = found.describe(FIRST)
    assert "7" in drawn and "7" not in first
    assert all("9" in described for described in (drawn, first))
    assert "," not in KeywordContext("x", 0, ()).describe(FIRST)


def test_counts_agree_on_a_larger_text(tmp_path):
    corpus = open_corpus([write_text(tmp_path / "a.txt", 1000)])
    counts = count_words(corpus, UNCASED).counts
    assert {word: find_in_context(corpus, word, UNCASED).total for word in counts} == counts
