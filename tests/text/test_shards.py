"""Counting by several processes gives the counts of a single pass, in the same order."""

import gzip
import json
import random

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import Canceled, InputError
from vocadapt.text import shards
from vocadapt.text.corpus import CorpusSettings, open_corpus
from vocadapt.text.formats import text_file
from vocadapt.text.shards import add_counts, count_words_in_parallel, divide_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words, tally_words

SPLITTER = Splitter.bert()
WORDS = ["acid", "Don't", "β-blocker", "naïve", "\ufeffmark", "\x85", "中文", "a\u00a0b", "\u2028x"]


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of any size: the texts of these tests are small."""
    monkeypatch.setattr(shards, "SMALLEST", 1)
    monkeypatch.setattr(shards, "UNIT", 1000)


def make_lines(seed=1, lines=400):
    draws = random.Random(seed)
    return [" ".join(draws.choices(WORDS, k=draws.randrange(12))) for _ in range(lines)]


def write(path, lines, end="\n", last="\n"):
    path.write_bytes((end.join(lines) + last).encode())
    return path


def describe(counts):
    return (
        list(counts.counts.items()),
        counts.lines,
        counts.bytes,
        counts.lines_read,
        counts.notes,
        list(counts.in_sample.items()),
        dict(counts.held_out),
        counts.held_out_lines,
        counts.identical,
    )


def add_parts(corpus, parts):
    found = divide_corpus(corpus, parts, smallest=1)
    return found, add_counts([tally_words(part, SPLITTER) for part in found], corpus)


def test_two_parts_by_hand(tmp_path):
    path = write(tmp_path / "a.txt", ["b a", "a c", "c a", "d"])  # bytes 0-3, 4-7, 8-11, 12-13
    found, counts = add_parts(open_corpus([path]), 2)
    assert [part.span for part in found] == [(0, 8), (8, 14)]
    assert [part.bytes for part in found] == [8, 6]
    assert list(counts.counts.items()) == [("a", 3), ("c", 2), ("b", 1), ("d", 1)]
    assert (counts.lines, counts.bytes) == (4, 14)


@pytest.mark.parametrize("parts", [2, 3, 7, 50])
@pytest.mark.parametrize(("end", "last"), [("\n", "\n"), ("\r\n", ""), ("\n", "\n\n\n")])
def test_any_division_gives_the_counts_of_one_pass(tmp_path, parts, end, last):
    corpus = open_corpus([write(tmp_path / "a.txt", make_lines(), end, last)])
    found, counts = add_parts(corpus, parts)
    assert 1 < len(found) <= parts
    assert describe(counts) == describe(count_words(corpus, SPLITTER))


def test_a_mark_at_the_start_of_a_part_is_kept(tmp_path):
    # Only the first bytes of a file can be a byte order mark.
    path = write(tmp_path / "a.txt", ["\ufeffx y", "\ufeffx y"])
    corpus = open_corpus([path])
    splitter = Splitter.from_tokenizer({"pre_tokenizer": {"type": "WhitespaceSplit"}})
    found = divide_corpus(corpus, 2, smallest=1)
    assert len(found) == 2
    counts = add_counts([tally_words(part, splitter) for part in found], corpus)
    assert dict(counts.counts) == {"y": 2, "x": 1, "\ufeffx": 1}
    assert describe(counts) == describe(count_words(corpus, splitter))


def test_one_long_line_is_one_part(tmp_path):
    corpus = open_corpus([write(tmp_path / "a.txt", ["word " * 2000, "end"])])
    found, counts = add_parts(corpus, 8)
    assert [part.span for part in found] == [(0, 10001), (10001, 10005)]
    assert counts.counts == {"word": 2000, "end": 1}


def test_small_files_are_grouped_and_others_stay_whole(tmp_path):
    for number in range(6):
        write(tmp_path / f"{number}.txt", make_lines(number, 20))
    write(tmp_path / "large.txt", make_lines(9, 900))
    (tmp_path / "t.jsonl").write_text(json.dumps({"text": "acid acid"}) + "\n")
    (tmp_path / "z.txt.gz").write_bytes(gzip.compress(b"acid\nbase\n"))
    corpus = open_corpus([tmp_path], CorpusSettings(min_length=3))
    found, counts = add_parts(corpus, 3)
    files = [file for part in found for file in part.files]
    assert list(dict.fromkeys(files)) == list(corpus.files)
    assert all(part.span is None or part.files[0].name == "large.txt" for part in found)
    assert describe(counts) == describe(count_words(corpus, SPLITTER))


@pytest.mark.parametrize("setting", [{"sample": 0.5}, {"language": True}, {"drop_copies": True}])
def test_lines_that_depend_on_others_are_not_divided(tmp_path, setting, small_parts):
    corpus = open_corpus([write(tmp_path / "a.txt", [*make_lines(), *["the house is red"] * 300])])
    corpus = open_corpus(corpus.files, CorpusSettings(**setting))
    assert divide_corpus(corpus, 4, smallest=1) == (corpus,)
    counts = count_words_in_parallel(corpus, SPLITTER, 2)
    assert describe(counts) == describe(count_words(corpus, SPLITTER))


def test_two_processes_count_a_file_and_a_compressed_one(tmp_path, small_parts, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 1000)
    plain = open_corpus([write(tmp_path / "a.txt", make_lines())])
    assert len(list(plain.passages())) > 5
    packed = tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(plain.files[0].read_bytes()))
    expected = describe(count_words(plain, SPLITTER))
    assert describe(count_words_in_parallel(plain, SPLITTER, 2)) == expected
    assert describe(count_words_in_parallel(open_corpus([packed]), SPLITTER, 2)) == expected


def test_a_mistake_is_reported_with_its_place_in_the_whole_text(tmp_path, small_parts):
    path = write(tmp_path / "a.txt", ["acid base"] * 1000)
    path.write_bytes(path.read_bytes()[:8000] + b"\xff" + path.read_bytes()[8001:])
    settings = CorpusSettings()
    corpus = shards.Corpus((path,), settings)
    with pytest.raises(InputError) as single:
        count_words(corpus, SPLITTER)
    with pytest.raises(InputError) as parallel:
        count_words_in_parallel(corpus, SPLITTER, 2)
    assert "8,000" in parallel.value.problem
    assert parallel.value.problem == single.value.problem


def test_a_text_without_words_is_refused(tmp_path, small_parts):
    corpus = open_corpus([write(tmp_path / "a.txt", [" "] * 50)])
    with raises_input_error("no-words"):
        count_words_in_parallel(corpus, SPLITTER, 2)


def test_a_canceled_count_leaves_no_process(tmp_path, small_parts):
    import multiprocessing

    corpus = open_corpus([write(tmp_path / "a.txt", make_lines())])

    def cancel(fraction, message=""):
        raise Canceled

    with pytest.raises(Canceled):
        count_words_in_parallel(corpus, SPLITTER, 2, cancel)
    assert multiprocessing.active_children() == []
