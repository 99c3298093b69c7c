"""Overlap of vocabularies, and unreachable tokens."""

import json
import random
from itertools import product
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.overlap import (
    Unreachable,
    compare_vocabularies,
    compute_overlap,
    count_common_tokens,
    count_lengths,
    profile,
)

BERT = Splitter.bert()


def vocabulary(*tokens: str, whole: frozenset[str] = frozenset()) -> Vocabulary:
    return WordPieceVocabulary(("[PAD]", "[UNK]", *tokens), frozenset({"[PAD]", "[UNK]"}), whole)


def test_common_tokens_of_table_31(shared: Path) -> None:
    files = [
        shared / f"data/vocab/{name}.txt"
        for name in ("bert-base-uncased", "pubmedbert-abstract-fulltext")
    ]
    common = count_common_tokens([vocabulary_of(read_tokenizer(path)) for path in files])
    assert common == ((30_522, 12_309), (12_309, 30_522))
    assert round(compute_overlap(common)[0][1], 3) == 0.403


def test_the_share_is_of_the_row() -> None:
    vocabularies = [vocabulary("x", "##x"), vocabulary("x"), vocabulary("y", "z", "##x", "w")]
    profiles = [profile(one, BERT) for one in vocabularies]
    found = compare_vocabularies("abc", vocabularies, profiles)
    assert [(one.model, one.size) for one in found.vocabularies] == [("a", 4), ("b", 3), ("c", 6)]
    assert found.common == ((4, 3, 3), (3, 3, 2), (3, 2, 6))
    assert found.share[0] == (1.0, 3 / 4, 3 / 4)
    assert found.share[2] == (3 / 6, 2 / 6, 1.0)
    assert (found.lengths_common, found.word_start_common) == ({}, 0)
    two = compare_vocabularies("ac", vocabularies[::2], profiles[::2])
    assert (two.lengths_common, two.continuation_common) == ({1: 1}, 1)


def test_positions_and_lengths() -> None:
    own = vocabulary(
        "[unused0]", "heart", "##s", "##", "##tension", "placebo", whole=frozenset({"placebo"})
    )
    assert [own.position(token) for token in own.tokens] == [
        "special",
        "special",
        "unused",
        "word start",
        "continuation",
        "word start",
        "continuation",
        "whole word",
    ]
    assert own.lengths[own.ids["##tension"]] == 7
    assert own.lengths[own.ids["##"]] == 2
    assert count_lengths(own, own.tokens) == {1: 1, 2: 1, 5: 1, 7: 2}
    found = profile(own, BERT)
    assert found.single == frozenset() and found.single_more == {"s"}
    assert sum(found.figures.positions.values()) == len(own)
    assert found.figures.unreachable == Unreachable(2, 1, ("##",))


@pytest.mark.parametrize(
    ("token", "reached"),
    [
        ("heart", True),
        ("Heart", False),
        ("naïve", False),
        ("x-ray", False),
        ("...", False),
        ("!", True),
        ("与", True),
        ("与与", False),
        ("##s", True),
        ("##S", False),
        ("##!", False),
        ("##与", False),
        ("##-x", False),
        ("two words", False),
        ("\u200b", False),
        ("a" * 100, True),
        ("a" * 101, False),
        ("##" + "a" * 99, True),
        ("##" + "a" * 100, False),
    ],
)
def test_what_the_splitter_of_bert_lets_through(token: str, reached: bool) -> None:
    """One letter is the shortest carrier: with 100 more the word is longer than BERT cuts."""
    own = vocabulary("q", token)
    assert own.find_unreachable(BERT, [token]) == (() if reached else (token,))


def test_a_whole_word_is_reached_where_the_splitter_keeps_it() -> None:
    own = vocabulary("q", "placebo", "与", whole=frozenset({"placebo", "与"}))
    assert own.find_unreachable(BERT) == ("与",)


def test_without_a_word_start_no_continuation_is_reached() -> None:
    assert vocabulary("!", "##s").find_unreachable(BERT) == ("##s",)


@pytest.mark.parametrize("seed", range(8))
def test_unreachable_is_what_no_word_gives(seed: int) -> None:
    """All words over three letters, cut; the tokens drawn at random, so that some words cannot be
    read.
    """
    draw = random.Random(seed)
    bodies = ["".join(letters) for size in (1, 2, 3) for letters in product("ab!", repeat=size)]
    tokens = draw.sample(bodies, 12) + [f"##{text}" for text in draw.sample(bodies, 12)]
    own = vocabulary(*tokens)
    texts = ["".join(letters) for size in range(1, 8) for letters in product("ab!", repeat=size)]
    seen = {piece for text in texts for word in BERT.words(text) for piece in own.tokenize(word)}
    assert set(own.find_unreachable(BERT)) == set(tokens) - seen


def test_the_unreachable_tokens_of_bert(shared: Path) -> None:
    """[unused0] … and what BERT's pre-tokenizer splits off: continuations of punctuation and of
    Chinese characters.
    """
    tokenizer: Tokenizer = read_tokenizer(shared / "data/vocab/bert-base-uncased.txt")
    splitter = Splitter.from_tokenizer(json.loads(tokenizer.to_str()))
    found = vocabulary_of(tokenizer).find_unreachable(splitter)
    others = [token for token in found if not token.startswith("[unused")]
    assert len(found) - len(others) == 994
    assert "..." in others and "##!" in others and "##高" in others
    assert all(token == "..." or len(token) == 3 for token in others)
