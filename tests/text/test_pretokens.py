"""Pre-tokens and words of byte-level BPE and SentencePiece splitters, and their counts by parts of
lines, compared with counts line by line.
"""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

from tests.material.byte_level import LLAMA_3, QWEN_2, build_tiny, read_abstracts, split_as
from tests.material.nightly import mark_slow
from vocadapt.text import counting, shards
from vocadapt.text.corpus import open_corpus
from vocadapt.text.counting import LineCounter, PartCounter, build_word_counter
from vocadapt.text.line_division import BEFORE_ANY_SPACE, BETWEEN_ASCII, find_boundary
from vocadapt.text.shards import count_words_in_parallel
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words, write_sentences
from vocadapt.vocabulary.families import family_of

MARK = "\u2581"
# Blanks, marks, Arabic ligatures and one of each tenth of the others; `python -m benchmarks.words
# --planes` takes all.
CODES = [
    *range(1, 0x700),
    *range(0x2000, 0x2100),
    *range(0x3000, 0x3040),
    *range(0xFC50, 0xFE00),
    *range(0x700, 0x20000, 10),
]
CHARACTERS = [chr(code) for code in CODES if not 0xD800 <= code < 0xE000 and chr(code) != "\n"]


def byte_level(tokenizer: Tokenizer) -> Splitter:
    return family_of(tokenizer).make_splitter(tokenizer)


def marked(normalizer: object, *steps: object) -> Splitter:
    """A splitter of pre-tokens with marks; words are split at marks, spaces and punctuation."""
    parts = [json.loads(step.__getstate__()) for step in steps]  # type: ignore[attr-defined]
    removed = pre_tokenizers.Split(MARK, "removed").__getstate__()
    words = [one for one in parts if one["type"] not in ("Metaspace", "Split")]
    words += [json.loads(removed), {"type": "BertPreTokenizer"}]
    return Splitter(
        "null" if normalizer is None else normalizer.__getstate__().decode(),  # type: ignore[attr-defined]
        json.dumps({"type": "Sequence", "pretokenizers": parts}),
        json.dumps({"type": "Sequence", "pretokenizers": words}),
        MARK,
    )


def lowercase(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    return tokenizer


ONE_SPACE = normalizers.Replace(Regex(" {2,}"), " ")
RUNS = pre_tokenizers.Split(Regex(MARK + "+"), "merged_with_next")
WRITE_MARKS = [normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]
EXPRESSIONS = {
    "plain": byte_level(build_tiny()),
    "prefix": byte_level(build_tiny(prefix=True)),
    "lowercase": byte_level(lowercase(build_tiny())),
    "numbers of three": byte_level(split_as(build_tiny(), LLAMA_3)),
    "single digits, NFC": byte_level(split_as(build_tiny(), QWEN_2, True)),
}
MARKS = {
    "metaspace": marked(None, pre_tokenizers.Metaspace()),
    "one space": marked(
        normalizers.Sequence([normalizers.NFKC(), ONE_SPACE]), pre_tokenizers.Metaspace()
    ),
    "whitespace": marked(
        normalizers.NFKC(),
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Metaspace(prepend_scheme="first"),
    ),
    "stripped, cased": marked(
        normalizers.Sequence([normalizers.Strip(), normalizers.NFKD(), normalizers.Lowercase()]),
        pre_tokenizers.Metaspace(prepend_scheme="first"),
        pre_tokenizers.Digits(individual_digits=True),
    ),
    "runs of marks": marked(normalizers.Sequence(WRITE_MARKS), RUNS),
    "marks that are not split": marked(None, pre_tokenizers.Metaspace(split=False), RUNS),
}
SPLITTERS = EXPRESSIONS | MARKS
every_splitter = pytest.mark.parametrize("splitter", SPLITTERS.values(), ids=SPLITTERS)


def assert_same_counts(splitter: Splitter, text: str) -> None:
    """Compare all results of the counter of a splitter with those line by line."""
    for method in ("count", "sentences", "pretoken_lines"):
        fast, slow = build_word_counter(splitter), LineCounter(splitter)
        assert isinstance(fast, PartCounter)
        found, expected = getattr(fast, method)(text), getattr(slow, method)(text)
        if found is not None:
            assert list(found) == list(expected), method
        assert +fast.word_counts() == +slow.word_counts(), method


def test_lines_by_hand() -> None:
    splitter = SPLITTERS["plain"]
    line = "don't  stop \tat café-au, 3.5 x"
    assert splitter.pretokens(line) == [
        *("don", "'t", "Ġ", "Ġstop", "Ġ", "ĉ", "at", "ĠcafÃ©", "-", "au", ",", "Ġ3", ".", "5", "Ġx")
    ]
    assert splitter.words(line) == [
        *("don", "'", "t", "stop", "at", "café", "-", "au", ",", "3", ".", "5", "x")
    ]
    assert splitter.words_of("ĠcafÃ©") == ("café",) and splitter.words_of("Ġ(") == ("(",)
    assert splitter.words_of("Ġ") == () and splitter.read_pretoken("Ġcaf") == " caf"
    marks = SPLITTERS["metaspace"]
    assert marks.pretokens("a(b)  c") == [f"{MARK}a(b)", MARK, f"{MARK}c"]
    assert marks.words("a(b)  c") == ["a", "(", "b", ")", "c"]
    assert marks.words_of(f"{MARK}(b)") == ("(", "b", ")")


def test_where_lines_are_cut_by_hand() -> None:
    line = "a b  (c \té d\u00a0e "
    assert BEFORE_ANY_SPACE.split(line) == ["a", "b ", "(c \té", "d\u00a0e "]
    assert BETWEEN_ASCII.split(line) == ["a", line[2:]]


@every_splitter
def test_words_are_those_of_the_pretokens(splitter: Splitter) -> None:
    for line in ("The (IL-2) don't…", "  naïve  ±5 % café_x\t日本 👍", "", " ", "a"):
        of_pretokens = [word for one in splitter.pretokens(line) for word in splitter.words_of(one)]
        assert of_pretokens == splitter.words(line)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTERS)
def test_every_character_beside_a_cut(name: str) -> None:
    lines = [line for c in CHARACTERS for line in (f"ab{c}cd", f"a {c}", f"{c} a", f"x {c} {c}  y")]
    assert_same_counts(SPLITTERS[name], "".join(f"{line}\n" for line in lines))


@every_splitter
def test_random_lines(splitter: Splitter) -> None:
    draw = random.Random(5)
    alphabet = "aB's1.,-(   \t\r\x0b\x1c\x85\u00a0\u2028\u3000\u200b\u0301´é\u0600Σ中ﷺ𝒜" + MARK
    lines = ["".join(draw.choices(alphabet, k=draw.randrange(12))) for _ in range(4000)]
    assert_same_counts(splitter, "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    "name", ["plain", "one space", *mark_slow(["numbers of three", "runs of marks"])]
)
def test_real_text(name: str, shared: Path) -> None:
    assert_same_counts(
        SPLITTERS[name], "".join(f"{line}\n" for line in read_abstracts(shared)[:400])
    )


@pytest.mark.parametrize(
    "splitter",
    [
        marked(normalizers.NFKC(), pre_tokenizers.Metaspace(split=False)),  # never split
        marked(normalizers.Replace("a b", "ab"), pre_tokenizers.Metaspace()),  # across a space
        marked(None, pre_tokenizers.Metaspace(replacement="_")),  # another mark
        marked(None, RUNS),  # nothing writes marks
        marked(normalizers.Replace(" ", MARK), pre_tokenizers.WhitespaceSplit()),  # no whitespace
        byte_level(split_as(build_tiny(), r"\s+|\w+ \w+|.")),  # an unknown expression
        Splitter("null", json.dumps({"type": "Digits", "individual_digits": True})),
    ],
)
def test_other_forms_are_counted_line_by_line(splitter: Splitter) -> None:
    assert find_boundary(splitter) is None
    assert type(build_word_counter(splitter)) is LineCounter


def test_an_expression_after_other_normalizers_is_not_cut() -> None:
    tokenizer = build_tiny()
    tokenizer.normalizer = normalizers.NFKC()  # it turns ´ into a space and an accent
    assert find_boundary(byte_level(tokenizer)) is None


def test_few_parts_in_memory_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_CHUNKS", 3)
    monkeypatch.setattr(counting, "GROUP", 2)
    text = "a b c\nd e é f\n\n c b  \n"
    splitter = SPLITTERS["one space"]
    fast, slow = build_word_counter(splitter), LineCounter(splitter)
    for _ in range(3):
        fast.count(text)
        slow.count(text)
    assert +fast.word_counts() == +slow.word_counts()


def test_counts_of_a_corpus_and_of_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "SMALLEST", 1 << 17)
    monkeypatch.setattr(shards, "UNIT", 1 << 16)
    path, splitter = tmp_path / "text.txt", SPLITTERS["plain"]
    path.write_text("heart heart (heart\nHeart 中 heart\n\n heart\n" * 8_000, encoding="utf-8")
    corpus = open_corpus([path])
    counts = count_words(corpus, splitter)
    assert counts.counts["Ġheart"] == 24_000 and counts.counts["heart"] == 16_000
    assert splitter.count_words(counts.counts)["heart"] == 40_000
    parallel = count_words_in_parallel(corpus, splitter, 2)
    assert list(parallel.counts.items()) == list(counts.counts.items())
    assert (parallel.lines, parallel.bytes) == (counts.lines, counts.bytes)


def test_written_words_and_pretokens(tmp_path: Path) -> None:
    path, out = tmp_path / "text.txt", tmp_path / "words"
    path.write_text("naïve (heart)\nheart\n", encoding="utf-8")
    corpus, splitter = open_corpus([path]), SPLITTERS["plain"]
    assert write_sentences(corpus, splitter, out).counts["heart"] == 2
    spaced_words = "naïve ( heart )\nheart\n"
    assert out.read_text(encoding="utf-8") == spaced_words
    counts = write_sentences(corpus, splitter, out, pretokens=True).counts
    spaced_pretokens = "naÃ¯ve Ġ( heart )\nheart\n"
    assert out.read_text(encoding="utf-8") == spaced_pretokens
    assert dict(counts) == Counter(out.read_text(encoding="utf-8").split())
