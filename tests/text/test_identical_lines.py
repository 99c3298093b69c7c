"""Held-out lines and identical lines: which ones they are does not depend on who counts them."""

import random
from collections import Counter

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.text import identical_lines
from vocadapt.text.corpus import CorpusSettings, open_corpus
from vocadapt.text.identical_lines import LineTally, SeenLines, find_held_out, hash_lines
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import (
    FrequentLine,
    IdenticalLines,
    WordCounts,
    count_words,
    describe_held_out,
)

SPLITTER = Splitter.bert()
# Of "line 0" to "line 29": known from the hash, so that every machine holds out the same lines.
HELD_OUT = [line for line in (f"line {i}" for i in range(30)) if find_held_out(hash_lines([line]))]


def count(tmp_path, lines, **settings):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return count_words(open_corpus([path], CorpusSettings(**settings)), SPLITTER)


def test_the_hash_of_a_line_never_changes():
    # blake2b of "a b" with 8 bytes, read as a little-endian number.
    assert hash_lines(["a b", " a b\t", "c"]).tolist()[:2] == [
        2952434739088078779,
        2952434739088078779,
    ]
    assert not find_held_out(hash_lines(["", "  "])).any()


def test_words_are_counted_in_two_tables_that_sum_up_to_all(tmp_path):
    lines = [f"w{i} same" for i in range(500)]
    found = count(tmp_path, lines)
    held = [line for line in lines if find_held_out(hash_lines([line]))[0]]
    assert 30 < len(held) < 70
    assert found.held_out_lines == len(held)
    assert dict(found.held_out) == dict(Counter(" ".join(held).split()))
    assert Counter(found.in_sample) + Counter(found.held_out) == Counter(found.counts)
    assert next(iter(found.in_sample.items())) == ("same", 500 - len(held))


def test_copies_stay_on_one_side(tmp_path):
    found = count(tmp_path, [f"w{i % 40}" for i in range(2000)])
    assert found.held_out
    assert all(value == 50 for value in found.held_out.values())
    assert not set(found.held_out) & set(found.in_sample)


def test_a_text_with_one_line_holds_nothing_out(tmp_path):
    for i in range(30):  # some of them would be held out
        found = count(tmp_path, [f"line {i}"])
        assert (found.held_out_lines, dict(found.held_out)) == (0, {})
        assert found.in_sample == found.counts
    assert HELD_OUT
    described = describe_held_out(1234, 12345)
    assert "1,234" in described and "12,345" in described
    assert "1" not in describe_held_out(0, 1)


def test_identical_lines_by_hand(tmp_path):
    found = count(tmp_path, ["a b", "", "c", "a b ", "", "c", "a b", "d"]).identical
    assert (found.copies, found.most_frequent) == (3, FrequentLine("a b", 3))
    assert count(tmp_path, ["a", "b"]).identical == IdenticalLines()


def test_copies_are_dropped_wherever_a_text_is_read(tmp_path):
    lines = ["a b", "", "c", "a b ", "", "c", "d"]
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    corpus = open_corpus([path], CorpusSettings(drop_copies=True))
    assert list(corpus) == ["a b", "", "c", "", "d"] == list(corpus)
    blocks = list(corpus.file_blocks())
    assert [list(block.numbers) for block in blocks] == [[1, 2, 3, 5, 7]]
    found = count_words(corpus, SPLITTER)
    assert (found.lines, found.lines_read, found.identical.copies) == (5, 7, 0)


def test_articles_that_occur_twice_are_dropped(tmp_path):
    record = '{"paper_id": "p", "abstract": [], "body_text": [{"text": "One paragraph."}]}'
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(record)
    corpus = open_corpus([tmp_path])
    assert count_words(corpus, SPLITTER).identical.copies == 1
    once = open_corpus([tmp_path], CorpusSettings(drop_copies=True))
    assert list(once) == ["One paragraph."]


def test_more_lines_than_fit_are_compared_by_a_part(monkeypatch):
    monkeypatch.setattr(identical_lines, "MAX_LINES", 1000)
    monkeypatch.setattr(identical_lines, "MAX_WAITING", 500)
    lines = [f"line {i}" for i in range(7000)] + ["many"] * 40 + [f"line {i}" for i in range(4000)]
    tally = LineTally()
    for start in range(0, len(lines), 700):
        tally.count(hash_lines(lines[start : start + 700]))
    assert len(tally.hashes) <= 1000
    assert tally.compared_fraction == 1 / 8
    assert tally.count_identical() == pytest.approx(4040, rel=0.15)


def test_a_sum_of_parts_is_the_tally_of_all(monkeypatch):
    monkeypatch.setattr(identical_lines, "MAX_LINES", 250)
    draws = random.Random(1)
    lines = [f"line {draws.randrange(700)}" for _ in range(2000)]
    whole = LineTally()
    whole.count(hash_lines(lines))
    whole.merge()
    parts = [LineTally(), LineTally(), LineTally()]
    for line in lines:
        draws.choice(parts).count(hash_lines([line]))
    total = parts[0].add(parts[1]).add(parts[2])
    assert total.level == whole.level > 0
    assert np.array_equal(total.hashes, whole.hashes)
    assert np.array_equal(total.counts, whole.counts)
    assert total.find_most_frequent() == whole.find_most_frequent()


def test_seen_lines_equal_a_set():
    draws, seen, known = random.Random(2), SeenLines(), set()
    for _ in range(60):
        lines = [str(draws.randrange(200)) for _ in range(draws.randrange(12))]
        expected = []
        for line in lines:
            expected.append(line not in known)
            known.add(line)
        assert seen.find_first(hash_lines(lines)).tolist() == expected
    assert sum(map(len, seen.arrays)) == len(known)


def test_two_tables_and_lines_round_trip(tmp_path):
    found = count(tmp_path, [f'w{i % 90} same\t"x"' for i in range(200)] + ["y"])
    found.write(tmp_path / "counts.tsv")
    again = WordCounts.read(tmp_path / "counts.tsv")
    assert list(again.counts.items()) == list(found.counts.items())
    assert dict(again.held_out) == dict(found.held_out)
    assert again.held_out_lines == found.held_out_lines
    assert again.identical == found.identical
    assert found.identical.most_frequent.count == 3


def test_counts_of_earlier_versions_hold_nothing_out(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("lines\t1\tbytes\t2\tlines_read\t1\tdistinct\t1\na\t3\n")
    found = WordCounts.read(path)
    assert (found.held_out_lines, found.in_sample) == (0, {"a": 3})
    path.write_text("lines\t1\tbytes\t2\tlines_read\t1\tdistinct\t1\na\t3\t1\t1\n")
    with raises_input_error("invalid-word-count"):
        WordCounts.read(path)
