"""Tokenization of all words at once, against the tokenizers library word by word."""

import random
from pathlib import Path

import numpy as np
import pytest

from tests.material.word_tables import group_tokens_by_word, token_mask
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words
from vocadapt.vocabulary.families import Vocabulary, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.tables.longest_match import build_word_table
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary

SPECIAL = ("[PAD]", "[UNK]")
WORDS = {"hypertension": 10, "hyper": 2, "hypers": 1, "tension": 5}


def without(vocabulary: Vocabulary, gone: set[str]) -> Vocabulary:
    kept = tuple(token for token in vocabulary.tokens if token not in gone)
    return WordPieceVocabulary(kept, vocabulary.special, vocabulary.whole - gone)


def drawn(seed: int) -> tuple[Vocabulary, dict[str, int], set[str]]:
    """A small vocabulary, words over its letters and one letter more, and tokens to leave out; all
    at random.
    """
    draw = random.Random(seed)

    def text(longest: int, letters: str) -> str:
        return "".join(draw.choice(letters) for _ in range(draw.randint(1, longest)))

    letters = "abé𝕏"
    tokens = list(
        dict.fromkeys(
            [*SPECIAL, *(draw.choice(("", "##")) + text(4, letters) for _ in range(40)), "##"]
        )
    )
    whole = frozenset(
        token for token in tokens if not token.startswith(("##", "[")) and draw.random() < 0.2
    )
    words = {text(9, letters + "x"): draw.randint(1, 50) for _ in range(300)} | {
        word: 3 for word in whole
    }
    return (
        WordPieceVocabulary(tuple(tokens), frozenset(SPECIAL), whole),
        words,
        set(draw.sample(tokens[2:], 12)),
    )


@pytest.mark.parametrize("seed", range(20))
def test_every_word_is_tokenized_as_by_the_library(seed: int) -> None:
    vocabulary, words, gone = drawn(seed)
    table = build_word_table(vocabulary, words)
    for left_out in (set(), gone, set(vocabulary.tokens[2:])):
        reduced, cut = (
            without(vocabulary, left_out),
            table.tokenize(token_mask(vocabulary, left_out)),
        )
        expected = {word: reduced.tokenize(word) for word in words}
        assert group_tokens_by_word(list(words), cut, vocabulary) == expected
        assert table.count_tokens(token_mask(vocabulary, left_out)) == sum(
            words[word] * len(cuts) for word, cuts in expected.items()
        )


def test_a_word_worked_by_hand() -> None:
    vocabulary = WordPieceVocabulary(
        (*SPECIAL, "hyper", "h", "##y", "##per", "##tension", "##ten", "##sion", "##s"),
        frozenset(SPECIAL),
    )
    table = build_word_table(vocabulary, WORDS)
    assert table.tokenize().pieces.tolist() == [2, 1, 2, 1]
    assert table.tokenize().unknown.tolist() == [False, False, False, True]
    assert table.count_tokens() == 20 + 2 + 2 + 5
    counts = dict(
        zip(vocabulary.tokens, table.count_occurrences(table.tokenize()).tolist(), strict=True)
    )
    assert counts["hyper"] == 13
    assert counts["##tension"] == 10
    assert counts["##s"] == 1
    assert counts["[UNK]"] == 0
    gone = token_mask(vocabulary, {"hyper", "##tension"})
    assert group_tokens_by_word(list(WORDS), table.tokenize(gone), vocabulary)["hypertension"] == (
        "h",
        "##y",
        "##per",
        "##ten",
        "##sion",
    )
    assert table.count_tokens(gone) == 10 * 5 + 2 * 3 + 1 * 4 + 5


def test_losses_are_what_each_token_costs_alone() -> None:
    vocabulary = WordPieceVocabulary(
        (*SPECIAL, "hyper", "h", "##y", "##per", "##tension", "##ten", "##sion", "##s"),
        frozenset(SPECIAL),
    )
    table = build_word_table(vocabulary, {"hypertension": 10, "hyper": 2, "hypers": 1})
    losses = dict(zip(vocabulary.tokens, table.compute_removal_costs().tolist(), strict=True))
    for token in ("hyper", "##tension", "##per", "##ten"):
        assert (
            losses[token]
            == table.count_tokens(token_mask(vocabulary, {token})) - table.count_tokens()
        )
    after = table.compute_removal_costs(token_mask(vocabulary, {"hyper"}))[
        vocabulary.ids["##tension"]
    ]
    assert after == 10


def test_continuations_are_tokenized_as_continuations() -> None:
    vocabulary = WordPieceVocabulary((*SPECIAL, "ab", "a", "##a", "##b"), frozenset(SPECIAL))
    table = build_word_table(vocabulary, {"ab": 1.5}, {"ab": 2.0})
    assert table.tokenize().pieces.tolist() == [1, 2]
    assert float(table.counts @ table.tokenize().pieces) == 5.5


def test_a_word_too_long_for_the_tokenizer_is_unknown() -> None:
    vocabulary = WordPieceVocabulary((*SPECIAL, "a", "##a"), frozenset(SPECIAL))
    assert build_word_table(
        vocabulary, {"a" * 100: 1, "a" * 101: 1}
    ).tokenize().pieces.tolist() == [100, 1]


@pytest.mark.parametrize("name", ["bert-base-uncased", "pubmedbert-abstract-fulltext"])
def test_totals_on_real_text(shared: Path, tmp_path: Path, name: str) -> None:
    """Biomedical text, half of the vocabulary gone: the same total as the fast
    tokenizer's own.
    """
    import gzip

    from vocadapt.vocabulary.families.wordpiece import build_tokenizer

    with gzip.open(shared / "data/text/biomedical-fulltext.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read(500_000)
    (tmp_path / "t.txt").write_text(text, encoding="utf-8")
    vocabulary = vocabulary_of(read_tokenizer(shared / f"data/vocab/{name}.txt"))
    counts = count_words(open_corpus([tmp_path / "t.txt"]), Splitter.bert()).counts
    free = [
        token
        for token in vocabulary.tokens
        if len(token.removeprefix("##")) > 3 and token not in vocabulary.special
    ]
    gone = set(np.random.default_rng(0).permutation(free)[: len(vocabulary) // 2].tolist())
    reduced = build_tokenizer(
        tuple(token for token in vocabulary.tokens if token not in gone), lowercase=True
    )
    encodings = reduced.encode_batch(text.split("\n"), add_special_tokens=False)
    assert build_word_table(vocabulary, counts).count_tokens(token_mask(vocabulary, gone)) == sum(
        map(len, encodings)
    )
