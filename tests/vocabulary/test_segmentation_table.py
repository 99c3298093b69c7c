"""Unigram tokenization of all words at once, against the tokenizers library word by word."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from vocadapt.vocabulary.families.tables.segmentation_table import (
    SegmentationTable,
    build_segmentation_table,
)
from vocadapt.vocabulary.vocabulary import Mask

Piece = tuple[str, float]

UNKNOWN = ("<unk>", 0.0)
HYPER: list[Piece] = [
    UNKNOWN,
    *((letter, -3.0) for letter in "hyper"),
    ("hyper", -9.0),
    ("hy", -4.0),
    ("per", -4.0),
]
BYTES: list[Piece] = [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]


def mask_of(pieces: Sequence[Piece], gone: Collection[str]) -> Mask:
    return np.array([piece in gone for piece, _ in pieces], dtype=np.bool_)


def group_by_word(table: SegmentationTable, removed: Mask | None = None) -> list[list[int]]:
    """Return the token ids of each word, in the order of the word; [] if it is unknown."""
    tokenization = table.tokenize(removed)
    order = np.lexsort((tokenization.places, tokenization.words))
    grouped: list[list[int]] = [[] for _ in tokenization.pieces]
    for word, token in zip(
        tokenization.words[order].tolist(), tokenization.tokens[order].tolist(), strict=True
    ):
        grouped[word].append(token)
    for tokens, n_pieces, is_unknown in zip(
        grouped, tokenization.pieces.tolist(), tokenization.unknown.tolist(), strict=True
    ):
        assert (len(tokens) == n_pieces and not is_unknown) or (n_pieces == 1 and not tokens)
    return grouped


def tokenize_by_library(
    pieces: Sequence[Piece], words: Sequence[str], removed: Mask, byte_fallback: bool = False
) -> list[list[int]]:
    """Tokenize words with the library's Unigram over the tokens that are left.

    The unknown token has the id 0; a word that becomes the unknown token alone is [].
    """
    kept = np.flatnonzero(~removed).tolist()
    model = models.Unigram([pieces[i] for i in kept], 0, byte_fallback)
    tokenized = [[kept[token.id] for token in model.tokenize(word)] for word in words]
    return [[] if tokens == [0] else tokens for tokens in tokenized]


def draw_pieces(seed: int) -> list[Piece]:
    """Draw a small model; in every second one, few different scores give many ties."""
    draw = random.Random(seed)
    texts = {"".join(draw.choices("abé𝕏", k=draw.randint(1, 4))) for _ in range(40)}
    pieces = [UNKNOWN]
    for text in sorted(texts):
        score = -draw.uniform(1, 8)
        if seed % 2:
            score = -float(draw.choice([1, 2, 2, 4])) * len(text)
        pieces.append((text, score))
    return pieces


def draw_words(seed: int) -> dict[str, float]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abé𝕏☃", k=draw.randint(1, 12))) for _ in range(300)]
    return {word: draw.randint(1, 50) for word in [*words, "a" * 40, "☃☃☃", ""]}


def test_a_word_worked_by_hand() -> None:
    table = build_segmentation_table(HYPER, {"hyper": 10, "per": 2, "": 1}, unknown=0)
    names = [piece for piece, _ in HYPER]

    def read(gone: Collection[str] = ()) -> list[list[str]]:
        return [[names[i] for i in tokens] for tokens in group_by_word(table, mask_of(HYPER, gone))]

    assert read() == [["hy", "per"], ["per"], []]
    assert read({"per"}) == [["hyper"], ["p", "e", "r"], []]
    assert read({"per", "hyper"}) == [["hy", "p", "e", "r"], ["p", "e", "r"], []]
    assert table.count_tokens() == 20 + 2
    assert table.count_tokens(mask_of(HYPER, {"per", "hyper"})) == 40 + 6
    occurrences = table.count_occurrences(table.tokenize())
    assert dict(zip(names, occurrences.tolist(), strict=True))["per"] == 12


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_every_word_is_tokenized_as_by_the_library(seed: int, byte_fallback: bool) -> None:
    pieces = draw_pieces(seed)
    n_removable = len(pieces)
    if byte_fallback:
        pieces += BYTES
    words = draw_words(seed)
    table = build_segmentation_table(
        pieces, words, unknown=0, byte_fallback=byte_fallback, size=len(pieces) + 2
    )
    order = 1 + np.random.default_rng(seed).permutation(n_removable - 1)
    for n_removed in (0, 1, 10, 20, n_removable - 2):
        removed = np.zeros(len(pieces) + 2, dtype=np.bool_)
        removed[order[:n_removed]] = True
        expected = tokenize_by_library(
            pieces, list(words), removed[: len(pieces)], byte_fallback=byte_fallback
        )
        assert group_by_word(table, removed) == expected
        lengths = [
            len(tokens) or min(len(word), 1) for word, tokens in zip(words, expected, strict=True)
        ]
        total = sum(count * n for count, n in zip(words.values(), lengths, strict=True))
        assert table.count_tokens(removed) == total


def test_of_equal_sums_the_longest_last_token_wins() -> None:
    pieces = [UNKNOWN, ("a", -1.0), ("b", -1.0), ("c", -1.0), ("ab", -2.0), ("bc", -2.0)]
    table = build_segmentation_table(pieces, {"abc": 1}, unknown=0)
    assert (
        group_by_word(table)
        == [[1, 5]]
        == tokenize_by_library(pieces, ["abc"], mask_of(pieces, ()))
    )


def test_adjacent_unknown_characters_are_one_token() -> None:
    pieces = [UNKNOWN, ("a", -1.0), ("☃☃a", -9.0)]
    words = {"a☃☃a☃": 1, "☃☃": 3, "☃": 1, "☃☃a": 1}
    table = build_segmentation_table(pieces, words, unknown=0)
    assert group_by_word(table) == [[1, 2, 0], [], [], [2]]
    assert table.tokenize().unknown.tolist() == [False, True, True, False]
    removed = mask_of(pieces, {"☃☃a"})
    assert group_by_word(table, removed) == [[1, 0, 1, 0], [], [], [0, 1]]
    assert table.count_tokens(removed) == 4 + 3 + 1 + 2


def test_an_unknown_character_scores_more_without_the_token_of_the_lowest_score() -> None:
    """x is no token: with a lowest score of -50, xa b (-50) beats x ab (-60 - 1); without it, the
    lowest score is -30, and x ab is better (-40 - 1), although no token of xa b was removed.
    """
    pieces = [UNKNOWN, ("b", -30.0), ("xa", -20.0), ("ab", -1.0), ("lowest", -50.0)]
    table = build_segmentation_table(pieces, {"xab": 1, "ab": 1}, unknown=0)
    assert group_by_word(table) == [[2, 1], [3]]
    removed = mask_of(pieces, {"lowest"})
    assert group_by_word(table, removed) == [[0, 3], [3]]
    assert tokenize_by_library(pieces, ["xab", "ab"], removed) == [[0, 3], [3]]


def test_a_character_without_a_token_and_without_an_unknown_token() -> None:
    table = build_segmentation_table([("a", -1.0)], {"a☃a": 5, "aa": 1})
    assert group_by_word(table) == [[], [0, 0]]
    assert table.tokenize().unknown.tolist() == [True, False]
    assert table.count_tokens() == 5 + 2


def test_of_two_equal_texts_the_last_one_counts() -> None:
    pieces = [UNKNOWN, ("a", -1.0), ("b", -1.0), ("ab", -9.0), ("ab", -1.5), ("", -1.0)]
    table = build_segmentation_table(pieces, {"ab": 1}, unknown=0)
    assert table.compute_removal_costs().tolist() == [0, 0, 0, 0, 1, 0]
    assert group_by_word(table) == [[4]] == tokenize_by_library(pieces, ["ab"], mask_of(pieces, ()))


def test_an_empty_text_has_no_tokens() -> None:
    assert build_segmentation_table(HYPER, {}, unknown=0).count_tokens() == 0


def test_costs_worked_by_hand() -> None:
    table = build_segmentation_table(HYPER, {"hyper": 10, "per": 2}, unknown=0)
    costs = table.compute_removal_costs()
    names = [piece for piece, _ in HYPER]
    cost = dict(zip(names, costs.tolist(), strict=True))
    assert cost["hy"] == 10  # h y
    assert cost["per"] == 12 * 2  # p e r
    assert cost["hyper"] == 0
    removed = mask_of(HYPER, {"per"})
    cost = dict(zip(names, table.compute_removal_costs(removed).tolist(), strict=True))
    assert cost["hyper"] == 10 * 3  # hy p e r
    assert cost["hy"] == cost["per"] == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_token_that_is_the_whole_word_has_its_exact_cost(seed: int) -> None:
    pieces = draw_pieces(seed)
    words = {piece: float(i) for i, (piece, _) in enumerate(pieces) if i}
    for word, count in words.items():
        table = build_segmentation_table(pieces, {word: count}, unknown=0)
        index = int(count)
        removed = np.zeros(len(pieces), dtype=np.bool_)
        removed[index] = True
        if group_by_word(table) == [[index]]:
            exact = table.count_tokens(removed) - table.count_tokens()
            assert table.compute_removal_costs()[index] == exact


# A real model


@pytest.mark.slow
def test_a_real_model_on_every_pre_token_of_real_text(shared: Path) -> None:
    path = shared / "data/tokenizers/spm-unigram/tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    pieces = [(text, score) for text, score in model["vocab"]]
    unknown = model["unk_id"]
    # Whitespace separates pre-tokens, so each distinct chunk is read once.
    chunks: Counter[str] = Counter()
    with gzip.open(
        shared / "data/text/biomedical-abstracts.txt.gz", "rt", encoding="utf-8"
    ) as file:
        for line in file:
            chunks.update(line.split())
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        text = tokenizer.normalizer.normalize_str(chunk)
        for pretoken, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text):
            counts[pretoken] += count
    table = build_segmentation_table(pieces, counts, unknown=unknown)
    removable = [i for i, (text, _) in enumerate(pieces) if len(text) > 1 and i > unknown]
    order = np.random.default_rng(0).permutation(removable)
    for n_removed in (0, len(order) // 2):
        removed = np.zeros(len(pieces), dtype=np.bool_)
        removed[order[:n_removed]] = True
        kept = np.flatnonzero(~removed).tolist()
        reduced = models.Unigram([pieces[i] for i in kept], unknown, False)
        expected = [[kept[token.id] for token in reduced.tokenize(word)] for word in counts]
        assert sum(unknown in tokens for tokens in expected) > 1000
        assert group_by_word(table, removed) == expected
