"""The tokenizer lens: tokenizations and figures worked by hand, and compared with the tokenizer
on whole texts."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests.material.adapted import adapted_folder
from tests.material.input_errors import raises_input_error
from tests.material.lab import KNOWN, NEW
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families import FAMILIES, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import read_tokens
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.lens import (
    TERMS,
    Change,
    TextToken,
    WordTokenizer,
    count_text,
    encode_text,
    find_finest_splitter,
    list_changes,
    recount_words,
    refines,
)

WORDPIECE = FAMILIES["wordpiece"]

TOKENS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "pain",
    "hyper",
    "##tension",
    "##s",
    "e",
    "no",
    ".",
    "_",
    "x",
    "é",
)
ODD = (
    "Hypertension, hypers. \U0001f637 cafe\u0301 x_pain e\u0301 \x00\u202eno\u200b 高血 ضغط [MASK]"
    " pain\u00ae " + "x" * 101
)


def tiny(tokens: tuple[str, ...] = TOKENS, lowercase: bool = True) -> Tokenizer:
    return build_tokenizer(tokens, lowercase)


def word_tokenizer(tokenizer: Tokenizer, name: str = "m") -> WordTokenizer:
    return WordTokenizer(
        name, vocabulary_of(tokenizer), Splitter.from_tokenizer(json.loads(tokenizer.to_str()))
    )


def test_a_tokenization_has_ids_positions_and_joins() -> None:
    assert encode_text(tiny(), "No Hypertension?") == (
        TextToken("no", 10, 0, 2, False),
        TextToken("hyper", 6, 3, 8, False),
        TextToken("##tension", 7, 8, 15, True),
        TextToken("[UNK]", 1, 15, 16, False),
    )


def test_odd_text_is_tokenized_at_its_positions() -> None:
    pieces = encode_text(tiny(), ODD)
    assert all(ODD[piece.start : piece.end] for piece in pieces)
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
    found = {(piece.token, ODD[piece.start : piece.end]) for piece in pieces}
    assert {
        ("[UNK]", "\U0001f637"),
        ("e", "e"),
        ("x", "x"),
        ("_", "_"),
        ("[MASK]", "[MASK]"),
    } <= found
    assert any(
        piece.token == "[UNK]" and piece.end - piece.start == 101 for piece in pieces
    )  # too long a word to cut
    assert encode_text(tiny(), "") == () == encode_text(tiny(), "\x00\u202e")


def test_two_words_side_by_side_are_not_joined() -> None:
    assert [piece.continues for piece in encode_text(tiny(), "pain.pain hypers")] == [
        False,
        False,
        False,
        False,
        True,
    ]


def test_half_a_character_is_no_text() -> None:
    with raises_input_error("not-utf8"):
        encode_text(tiny(), "a\ud800b")
    with raises_input_error("not-utf8"):
        count_text("a" * 3000 + "\ud800", Splitter.bert())


def test_figures_worked_by_hand() -> None:
    """pain ×3 is one piece, hypertensions ×1 three, 高 ×2 and ! ×1 unknown: 3 + 3 + 3 tokens of 7
    words, four distinct.
    """
    figures = word_tokenizer(tiny()).measure({"pain": 3, "hypertensions": 1, "高": 2, "!": 1})
    assert figures.words == 7
    assert figures.distinct == 4
    assert figures.pieces == 9
    assert figures.pieces_distinct == 6
    assert figures.unknown_words == 3
    assert figures.by_pieces == {1: 3, 3: 1}
    assert (figures.fertility, figures.fertility_distinct) == (9 / 7, 6 / 4)
    assert (figures.one_piece, figures.unknown) == (3 / 7, 3 / 7)
    assert figures.shares(3) == {"1": 3 / 7, "2": 0, "3+": 1 / 7, "unknown": 3 / 7}
    assert sum(figures.shares().values()) == pytest.approx(1)


def test_no_words_no_figures() -> None:
    with raises_input_error("no-words"):
        word_tokenizer(tiny()).measure({})


def test_what_changed_is_ranked_by_the_pieces_it_saves() -> None:
    before = tiny()
    after = tiny((*TOKENS, "hypertension", "pains", "##tensions"))
    counts = {"hypertension": 3, "pains": 3, "hypertensions": 2, "pain": 9}
    found = list_changes(counts, Splitter.bert(), word_tokenizer(before), word_tokenizer(after))
    assert found == [
        Change("hypertension", 3, ("hyper", "##tension"), ("hypertension",), 3),
        Change("pains", 3, ("pain", "##s"), ("pains",), 3),
        Change("hypertensions", 2, ("hyper", "##tension", "##s"), ("hypertension", "##s"), 2),
    ]
    back = list_changes(counts, Splitter.bert(), word_tokenizer(after), word_tokenizer(before))
    assert [(change.word, change.saved) for change in back] == [
        ("hypertension", -3),
        ("pains", -3),
        ("hypertensions", -2),
    ]
    assert (
        list_changes(counts, Splitter.bert(), word_tokenizer(before), word_tokenizer(before)) == []
    )


def test_a_word_of_another_splitter_is_split_the_models_own_way() -> None:
    assert word_tokenizer(tiny()).tokenize(
        ["PAIN", "Pain\u1fefpain", "\u0301"], Splitter.bert(lowercase=False)
    ) == {"PAIN": ("pain",), "Pain\u1fefpain": ("pain", "[UNK]", "pain"), "\u0301": ()}


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_uncased_words_follow_from_cased_ones_for_every_code_point(step: int) -> None:
    cased, uncased = Splitter.bert(lowercase=False), Splitter.bert()
    # All of the first 0x3000, which hold every script with case, and every `step`-th one after them.
    numbers = [*range(0x3000), *range(0x3000, 0x110000, step)]
    points = [chr(i) for i in numbers if not 0xD800 <= i < 0xE000 and chr(i) != "\n"]
    random.Random(1).shuffle(points)
    lines = [
        "".join(f"A{point}b\u0301 {point}" for point in points[i : i + 500])
        for i in range(0, len(points), 500)
    ]
    text = "\n".join(lines)
    assert recount_words(count_text(text, cased), uncased) == count_text(text, uncased)


def test_which_splitter_distinguishes_more_words() -> None:
    cased, uncased = Splitter.bert(lowercase=False), Splitter.bert()
    assert refines(cased, uncased) and not refines(uncased, cased) and refines(uncased, uncased)
    assert find_finest_splitter([uncased, cased]) == cased
    other = Splitter("null", '{"type": "Whitespace"}')
    assert not refines(cased, other)
    assert not refines(other, cased)
    assert find_finest_splitter([other, uncased]) == other


def tokens_of(tokenizer: Tokenizer, text: str) -> list[str]:
    return [
        token
        for line in text.split("\n")
        for token in tokenizer.encode(line, add_special_tokens=False).tokens
    ]


def test_the_sum_over_distinct_words_is_the_tokenization_of_the_whole_text(tiny_bert: Path) -> None:
    tokenizer, rng = read_tokenizer(tiny_bert), random.Random(3)
    odd = [
        "hypertension",
        "naïve",
        "cafe\u0301",
        "高血",
        "\U0001f637",
        "x-ray,",
        "a_b",
        "10mg/kg",
        "b" * 120,
    ]
    vocabulary = [*KNOWN, *NEW, *odd]
    text = "\n".join(" ".join(rng.choices(vocabulary, k=30)).title() for _ in range(200))
    tokens = tokens_of(tokenizer, text)
    figures = word_tokenizer(tokenizer).measure(count_text(text, Splitter.bert()))
    assert (figures.pieces, figures.unknown_words) == (len(tokens), tokens.count("[UNK]"))


@pytest.mark.parametrize(
    "name", ["bert-base-uncased", "bert-base-cased", "pubmedbert-abstract-fulltext"]
)
def test_the_sum_over_distinct_words_is_the_tokenization_of_real_text(
    shared: Path, name: str
) -> None:
    with gzip.open(
        shared / "data/text/biomedical-abstracts.txt.gz", "rt", encoding="utf-8"
    ) as file:
        text = file.read(300_000)
    tokenizer = build_tokenizer(read_tokens(shared / f"data/vocab/{name}.txt"))
    one = word_tokenizer(tokenizer)
    tokens = tokens_of(tokenizer, text)
    figures = one.measure(count_text(text, one.splitter))
    assert (figures.pieces, figures.unknown_words) == (len(tokens), tokens.count("[UNK]"))


def printed_table(thesis: str) -> dict[str, tuple[str, ...]]:
    """Term → its pieces for BERT as table 2.1 prints them, joined by dashes; a stray bracket is no
    part of any.
    """
    lines = re.findall(r"^(\S+)\t(?:disease|drug|gene|organ|cell)\t(\S+)\t", thesis, re.MULTILINE)
    return {
        term: (term,) if cut == "✓" else tuple(cut.strip("]").split("-")) for term, cut in lines
    }


def test_table_2_1_of_fast_2023_is_what_the_vocabularies_give(shared: Path) -> None:
    """Re-derived and compared with print: no difference, once case and a stray bracket
    (lid-oca-ine]) are set aside.
    """
    printed = printed_table((shared / "papers/fast-2023-thesis.txt").read_text(encoding="utf-8"))
    assert tuple(printed) == TERMS
    bert, pubmed = (
        word_tokenizer(build_tokenizer(read_tokens(shared / f"data/vocab/{name}.txt")))
        for name in ("bert-base-uncased", "pubmedbert-abstract-fulltext")
    )
    derived = bert.tokenize(TERMS, Splitter.bert(lowercase=False))
    bare = {
        term: tuple(piece.removeprefix("##") for piece in pieces)
        for term, pieces in derived.items()
    }
    assert bare == {
        term: tuple(piece.lower() for piece in pieces) for term, pieces in printed.items()
    }
    assert pubmed.tokenize(TERMS, Splitter.bert(lowercase=False)) == {
        term: (term.lower(),) for term in TERMS
    }


@pytest.fixture
def vocabularies(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, tokens in zip(paths, (TOKENS, (*TOKENS, "hypertension")), strict=True):
        path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    return paths


def test_the_command_answers_for_a_text(ask, vocabularies: tuple[Path, Path]) -> None:
    a, b = vocabularies
    answer = ask("lens", "Hypertension pain", "--model", a, "--model", b)
    assert answer["models"] == [str(a), str(b)] and (answer["words"], answer["distinct"]) == (2, 2)
    assert [
        (row["fertility"], row["one_piece"], row["unknown"], row["pieces"])
        for row in answer["rows"]
    ] == [(1.5, 0.5, 0.0, 3), (1.0, 1.0, 0.0, 2)]
    (changed,) = answer["changed"]
    assert (changed["before"], changed["after"], changed["of"]) == (str(a), str(b), 1)
    word = {
        "word": "hypertension",
        "count": 1,
        "before": ["hyper", "##tension"],
        "after": ["hypertension"],
        "saved": 1,
    }
    assert changed["words"] == [word]
    assert answer["tokenizations"][str(a)] == {
        "tokens": ["hyper", "##tension", "pain"],
        "ids": [6, 7, 5],
        "offsets": [[0, 5], [5, 12], [13, 17]],
    }


def test_files_and_a_long_text_have_figures_and_no_tokenizations(
    ask, vocabularies: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("Hypertension pain\n" * 200, encoding="utf-8")
    a, b = vocabularies
    of_file = ask(f"lens {tmp_path}/text.txt --model {a} --model {b} --top 0")
    of_text = ask("lens", "Hypertension pain\n" * 200, "--model", vocabularies[0])
    assert of_file["rows"][0] == of_text["rows"][0]
    assert of_file["tokenizations"] == of_text["tokenizations"] == {}
    assert of_file["changed"][0]["of"] == 1 and of_file["changed"][0]["words"] == []


def test_an_adapted_model_is_compared_with_its_base(ask, tiny_bert: Path, tmp_path: Path) -> None:
    folder = adapted_folder(tiny_bert, tmp_path / "out")
    text = "tachycardia of the heart"
    answer = ask("lens", text, "--model", folder)
    assert answer["models"] == [str(folder / "base"), str(folder)]
    pieces_before = len(tokens_of(read_tokenizer(tiny_bert), text))
    assert [row["pieces"] for row in answer["rows"]] == [pieces_before, 4]


def test_the_built_in_terms(ask, show, tiny_bert: Path) -> None:
    assert ask("lens", "--terms", "--model", tiny_bert)["words"] == len(TERMS) == 17
    shown = show("lens --terms --model", tiny_bert)
    assert "distinct word" in shown
