"""Splitter, word counts and the words file, compared with the tokenizer's own normalizer and
pre-tokenizer on whole lines."""

import errno
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from tests.material.input_errors import raises_input_error
from tests.material.nightly import mark_slow
from vocadapt.errors import Canceled
from vocadapt.text import counting, words
from vocadapt.text.corpus import Corpus, CorpusSettings, open_corpus
from vocadapt.text.words import Splitter, WordCounts, count_words, write_sentences

BERTS = [Splitter.bert(), Splitter.bert(lowercase=False)]
KEEP_ACCENTS = Splitter.from_tokenizer(
    {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": False,
            "strip_accents": False,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    }
)
SEQUENCE = Splitter.from_tokenizer(
    {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Whitespace"},
    }
)
PARTS = {
    BERTS[0]: (normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()),
    BERTS[1]: (normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer()),
    KEEP_ACCENTS: (
        normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False),
        pre_tokenizers.BertPreTokenizer(),
    ),
    SEQUENCE: (
        normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]),
        pre_tokenizers.Whitespace(),
    ),
}
ALL = [*BERTS, KEEP_ACCENTS, SEQUENCE]
BMP = [
    chr(code)
    for code in [*range(1, 0x10000), 0]
    if not 0xD800 <= code < 0xE000 and chr(code) not in "\r\n"
]  # NUL last: a file that starts with it is a binary


def whole_line(splitter: Splitter, line: str) -> list[str]:
    """What the tokenizer itself makes of a whole line."""
    normalizer, pre_tokenizer = PARTS[splitter]
    return [word for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(line))]


def whole_lines(splitter: Splitter, lines: list[str]) -> Counter[str]:
    """The tokenizer's own word counts of whole lines."""
    return Counter(word for line in lines for word in whole_line(splitter, line))


def corpus_of(tmp_path: Path, text: str, name: str = "text.txt", **settings: object) -> Corpus:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return open_corpus([path], CorpusSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("splitter", ALL)
def test_words_are_the_tokenizers_own(splitter: Splitter):
    lines = [
        "The B-cell's naïve “IL-2” (5%) response…",
        "北京 café_x\tÅngström\u00a0end",
        "",
        " ",
        "a\x00b\x7fc",
        "placebo®",
        "①½ﬁ",
    ]
    for line in lines:
        assert splitter.words(line) == whole_line(splitter, line)


def test_words_by_hand():
    line = "Tachycardia (IL-2), naïve!"
    assert Splitter.bert().words(line) == [
        "tachycardia",
        "(",
        "il",
        "-",
        "2",
        ")",
        ",",
        "naive",
        "!",
    ]
    assert Splitter.bert(lowercase=False).words("Tachycardia, naïve") == [
        "Tachycardia",
        ",",
        "naïve",
    ]


@pytest.mark.parametrize("splitter", BERTS)
def test_words_of_all_ascii_pairs(splitter: Splitter):
    for first in range(128):
        for second in range(128):
            text = f"a{chr(first)}B{chr(second)}c"
            assert splitter.words(text) == whole_line(splitter, text)


@pytest.mark.parametrize(
    ("splitter", "last"),
    [(BERTS[0], "\uffff"), *mark_slow([(BERTS[1], "\uffff")]), (KEEP_ACCENTS, "\u3100")],
)
def test_counts_and_sentences_equal_whole_lines_for_every_code_point(
    splitter: Splitter, last: str, tmp_path: Path
):
    lines = [f"ab{c}cd" for c in BMP if c <= last] + [
        f"Ab,{c}.cD {c}É{c}e\u0301" for c in BMP if c < "\u3100"
    ]
    expected = [whole_line(splitter, line) for line in lines]
    corpus = corpus_of(tmp_path, "".join(f"{line}\n" for line in lines))
    counts = dict(Counter(word for line in expected for word in line))
    assert dict(count_words(corpus, splitter).counts) == counts
    assert dict(write_sentences(corpus, splitter, tmp_path / "sentences").counts) == counts
    written = (tmp_path / "sentences").read_text(encoding="utf-8").split("\n")[:-1]
    assert [line.split(" ") for line in written] == expected


@pytest.mark.parametrize("splitter", ALL)
def test_counts_of_random_lines(splitter: Splitter, tmp_path: Path):
    draw = random.Random(3)
    alphabet = (
        "aAbB "
        " ,.-(é\u0301ÉΣσİßK\u0085\u001c\u000b\u00a0\u2028\u3000\u200b\ufeff\ufffd\x01\x7f中ﬁ̸=<;\u037e\U0001f600"
    )
    lines = ["".join(draw.choices(alphabet, k=draw.randrange(30))) for _ in range(3000)]
    corpus = corpus_of(tmp_path, "\n".join(lines))
    assert dict(count_words(corpus, splitter).counts) == dict(whole_lines(splitter, lines))
    assert dict(write_sentences(corpus, splitter, tmp_path / "s").counts) == dict(
        whole_lines(splitter, lines)
    )


def test_real_text_equals_whole_lines(shared: Path, tmp_path: Path):
    import gzip

    with gzip.open(
        shared / "data" / "text" / "biomedical-abstracts.txt.gz", "rt", encoding="utf-8"
    ) as file:
        text = file.read(1_000_000)
    corpus = corpus_of(tmp_path, text)
    for splitter in BERTS:
        assert dict(count_words(corpus, splitter).counts) == dict(
            whole_lines(splitter, text.split("\n"))
        )


def test_splitter_of_a_saved_tokenizer(tiny_bert: Path):
    spec = json.loads((tiny_bert / "tokenizer.json").read_text(encoding="utf-8"))
    splitter = Splitter.from_tokenizer(spec)
    tokenizer = Tokenizer.from_file(str(tiny_bert / "tokenizer.json"))
    line = "Naïve B-cells, 5% — “placebo®”"
    assert splitter.words(line) == [
        word
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
            tokenizer.normalizer.normalize_str(line)
        )
    ]
    assert splitter.lowercase and splitter.never_crosses_whitespace


def test_splitter_is_a_value():
    assert Splitter.bert() == Splitter.bert() and hash(Splitter.bert()) == hash(Splitter.bert())
    assert Splitter.bert() != Splitter.bert(lowercase=False)
    assert [splitter.lowercase for splitter in ALL] == [True, False, True, True]
    assert [splitter.never_crosses_whitespace for splitter in ALL] == [True, True, True, False]


def test_splitter_without_parts_and_with_nonsense():
    line = "as it is"
    assert Splitter("null", "null").words(line) == [line]
    assert Splitter("null", '{"type": "Whitespace"}').words("As it-is") == ["As", "it", "-", "is"]
    with raises_input_error("invalid-tokenizer-part"):
        Splitter("null", '{"type": "Nonsense"}')


def test_a_pre_tokenizer_that_keeps_blanks_is_refused(tmp_path: Path):
    with raises_input_error("blanks-in-words"):
        count_words(corpus_of(tmp_path, "two words\n"), Splitter("null", "null"))


def test_counts_by_hand(tmp_path: Path):
    counts = count_words(corpus_of(tmp_path, "b a, a\r\n\nÄ b c"), Splitter.bert())
    assert list(counts.counts.items()) == [("a", 3), ("b", 2), (",", 1), ("c", 1)]
    assert counts.words == 7
    assert counts.distinct == 4
    assert counts.lines == 3
    assert counts.lines_read == 3
    assert counts.bytes == 15


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_folding_changes_nothing(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "".join(f"é{i % 7}, word{i % 11} x{i}\n" for i in range(500))
    corpus = corpus_of(tmp_path, text)
    expected = whole_lines(Splitter.bert(), text.split("\n"))
    monkeypatch.setattr(counting, "MAX_CHUNKS", limit)
    assert dict(count_words(corpus, Splitter.bert()).counts) == dict(expected)
    assert dict(write_sentences(corpus, Splitter.bert(), tmp_path / "s").counts) == dict(expected)


def test_block_borders_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "".join(f"Zeile {i}: naïve é, “x{i}”\r\n" for i in range(300))
    corpus = corpus_of(tmp_path, text)
    before = dict(count_words(corpus, Splitter.bert()).counts)
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", 7)
    assert dict(count_words(corpus, Splitter.bert()).counts) == before


def test_counting_is_reproducible_whatever_the_global_seeds(tmp_path: Path):
    corpus = corpus_of(tmp_path, "".join(f"line {i}\n" for i in range(1000)), sample=0.3)
    first = list(count_words(corpus, Splitter.bert()).counts.items())
    random.seed(99)
    np.random.seed(99)  # noqa: NPY002
    assert list(count_words(corpus, Splitter.bert()).counts.items()) == first


@pytest.mark.parametrize("accent", ["", "é "])
def test_long_lines_are_split_and_nothing_is_lost(accent: str, tmp_path: Path):
    numbers = [f"w{i}" for i in range(25_000)]
    corpus = corpus_of(tmp_path, f"short line\n\n \n{accent}{' '.join(numbers)}\nlast\n")
    counts = write_sentences(corpus, Splitter.bert(), tmp_path / "s")
    lines = [
        line.split(" ") for line in (tmp_path / "s").read_text(encoding="utf-8").split("\n")[:-1]
    ]
    assert [len(line) for line in lines] == [2, 10_000, 10_000, 5000 + len(accent.split()), 1]
    assert [word for line in lines[1:-1] for word in line][len(accent.split()) :] == numbers
    assert counts.words == sum(map(len, lines)) and counts.lines == 5


def test_exactly_ten_thousand_words_stay_one_line():
    assert words._break_sentence(" ".join("a" * 10_000)).count("\n") == 1
    assert words._break_sentence(" ".join("a" * 10_001)) == " ".join("a" * 10_000) + "\na\n"


def test_a_long_line(tmp_path: Path):
    corpus = corpus_of(tmp_path, "naïve cell, " * 200_000)
    counts = write_sentences(corpus, Splitter.bert(), tmp_path / "s")
    assert dict(counts.counts) == {",": 200_000, "cell": 200_000, "naive": 200_000}
    assert counts.lines == 1
    assert dict(count_words(corpus, Splitter.bert()).counts) == dict(counts.counts)


def test_progress_rises_to_one_and_says_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", 100)
    seen: list[tuple[float | None, str]] = []
    corpus = corpus_of(tmp_path, "a line of text\n" * 100 + "x\n", min_length=5)
    count_words(
        corpus, Splitter.bert(), lambda fraction, message="": seen.append((fraction, message))
    )
    fractions = [fraction for fraction, _ in seen if fraction is not None]
    assert len(fractions) > 5 and fractions == sorted(fractions) and fractions[-1] == 1
    assert "100" in seen[-1][1] and "101" in seen[-1][1]


def test_a_canceled_or_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    corpus = corpus_of(tmp_path, "some text\n")

    def stop(fraction: float | None, message: str = "") -> None:
        raise Canceled

    with pytest.raises(Canceled):
        write_sentences(corpus, Splitter.bert(), tmp_path / "s", stop)
    assert not (tmp_path / "s").exists()

    def full(sentence: str) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(words, "_break_sentence", full)
    with raises_input_error("full-disk"):
        write_sentences(corpus, Splitter.bert(), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_the_text_itself_is_never_overwritten_and_a_bad_place_is_reported(tmp_path: Path):
    corpus = corpus_of(tmp_path, "some text\n")
    with raises_input_error("overwrites-text"):
        write_sentences(corpus, Splitter.bert(), tmp_path / "." / "text.txt")
    assert list(corpus) == ["some text"]
    with raises_input_error("unwritable-file"):
        write_sentences(corpus, Splitter.bert(), tmp_path / "no folder" / "s")
    with raises_input_error("unwritable-file"):
        WordCounts({"a": 1}, 1, 2).write(tmp_path)


def test_text_without_words_is_refused(tmp_path: Path):
    for text, settings in (("\n \u200b\n", {}), ("short\n", {"min_length": 50})):
        with raises_input_error("no-words"):
            count_words(corpus_of(tmp_path, text, **settings), Splitter.bert())
        with raises_input_error("no-words"):
            write_sentences(corpus_of(tmp_path, text, **settings), Splitter.bert(), tmp_path / "s")
        assert not (tmp_path / "s").exists()


def test_word_counts_round_trip(tmp_path: Path):
    odd = {
        "lines": 9,
        "é": 8,
        "#": 7,
        '"': 6,
        "中": 5,
        "\U0001f600": 4,
        "\u200d": 3,
        "\ufeff": 2,
        "nan": 1,
    }
    counts = WordCounts(odd, 4, 100, 5)
    counts.write(tmp_path / "counts.tsv")
    again = WordCounts.read(tmp_path / "counts.tsv")
    assert list(again.counts.items()) == list(odd.items())
    assert (again.lines, again.bytes, again.lines_read, again.words) == (4, 100, 5, 45)


HEAD = b"lines\t1\tbytes\t2\tlines_read\t1\tdistinct\t2\n"


@pytest.mark.parametrize(
    "content", [b"", b"word\t3\n", HEAD + b"word three\n", HEAD + b"a\t1\n", b"\xff\xfe\x00"]
)
def test_foreign_word_counts_are_refused(content: bytes, tmp_path: Path):
    (tmp_path / "counts.tsv").write_bytes(content)
    with raises_input_error("invalid-word-count"):
        WordCounts.read(tmp_path / "counts.tsv")
    with raises_input_error("missing-file"):
        WordCounts.read(tmp_path / "none.tsv")


def test_gensim_reads_the_same_words(tmp_path: Path):
    word2vec = pytest.importorskip("gensim.models.word2vec")
    counts = write_sentences(
        corpus_of(tmp_path, "A naïve\u00a0cell, the\x85end\n\nB\n"), Splitter.bert(), tmp_path / "s"
    )
    assert Counter(
        word for sentence in word2vec.LineSentence(str(tmp_path / "s")) for word in sentence
    ) == dict(counts.counts)
