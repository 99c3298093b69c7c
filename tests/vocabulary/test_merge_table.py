"""BPE of all words at once, against the tokenizers library word by word; and the order in which
tokens can be removed.
"""

import gzip
import json
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from vocadapt.vocabulary.families.tables.leaf_pruning import order_leaf_removals
from vocadapt.vocabulary.families.tables.merge_table import MergeTable, build_merge_table
from vocadapt.vocabulary.vocabulary import Mask, Tokenization

Merge = tuple[str, str]

TENS = {token: i for i, token in enumerate(["t", "e", "n", "s", "te", "ns", "ten", "tens"])}
TENS_MERGES = [("t", "e"), ("n", "s"), ("te", "n"), ("te", "ns")]


def mask_of(ids: Mapping[str, int], tokens: Collection[str]) -> Mask:
    mask = np.zeros(max(ids.values()) + 1, dtype=np.bool_)
    mask[[ids[token] for token in tokens]] = True
    return mask


def group_by_word(tokenization: Tokenization) -> list[list[int]]:
    """Return the token ids of each word, in the order of the word."""
    order = np.lexsort((tokenization.places, tokenization.words))
    grouped: list[list[int]] = [[] for _ in tokenization.pieces]
    for word, token in zip(
        tokenization.words[order].tolist(), tokenization.tokens[order].tolist(), strict=True
    ):
        grouped[word].append(token)
    assert [len(tokens) for tokens in grouped] == tokenization.pieces.tolist()
    return grouped


def read_tokens(table: MergeTable, gone: Collection[str] = ()) -> list[list[str]]:
    name = {i: token for token, i in table.ids.items()}
    grouped = group_by_word(table.tokenize(mask_of(table.ids, gone)))
    return [[name[i] for i in tokens] for tokens in grouped]


def keep_merges(merges: Sequence[Merge], kept: Collection[str]) -> list[Merge]:
    return [
        (left, right)
        for left, right in merges
        if left in kept and right in kept and left + right in kept
    ]


def tokenize_by_library(
    ids: Mapping[str, int],
    merges: Sequence[Merge],
    words: Sequence[str],
    gone: Collection[str] = (),
    **options: bool,
) -> list[list[int]]:
    """Tokenize words with the library's BPE over the tokens that are left."""
    kept = {token: i for token, i in ids.items() if token not in gone}
    tokenizer = Tokenizer(models.BPE(kept, keep_merges(merges, kept), **options))
    return [encoding.ids for encoding in tokenizer.encode_batch(list(words))]


def draw_vocabulary(seed: int, n_merges: int = 30) -> tuple[dict[str, int], list[Merge]]:
    """Draw a small vocabulary; its merges are in random order, so a part may be made after a
    merge that uses it, and a token may be made in several ways.
    """
    draw = random.Random(seed)
    tokens, merges = list("abé𝕏"), list[Merge]()
    for _ in range(n_merges):
        pair = draw.choice(tokens), draw.choice(tokens)
        if len("".join(pair)) <= 6:
            merges.append(pair)
            tokens = list(dict.fromkeys([*tokens, "".join(pair)]))
    if seed % 2:
        draw.shuffle(merges)
    draw.shuffle(tokens)
    return {token: i for i, token in enumerate(tokens)}, merges


def shuffle(tokens: Collection[str], seed: int) -> list[str]:
    return random.Random(seed).sample(list(tokens), len(tokens))


def draw_words(seed: int) -> dict[str, float]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abé𝕏", k=draw.randint(1, 12))) for _ in range(300)]
    return {word: draw.randint(1, 50) for word in [*words, "a" * 40, "ab" * 25, ""]}


def test_a_word_worked_by_hand() -> None:
    table = build_merge_table(TENS, TENS_MERGES, {"tens": 10, "tent": 2, "": 1})
    assert read_tokens(table) == [["tens"], ["ten", "t"], []]
    assert table.count_tokens() == 10 + 4
    assert read_tokens(table, {"tens"}) == [["te", "ns"], ["ten", "t"], []]
    assert read_tokens(table, {"tens", "ns"}) == [["ten", "s"], ["ten", "t"], []]
    assert read_tokens(table, {"tens", "ns", "ten"}) == [["te", "n", "s"], ["te", "n", "t"], []]
    assert table.count_tokens(mask_of(TENS, {"tens", "ns", "ten"})) == 30 + 6


@pytest.mark.parametrize("seed", range(20))
def test_every_word_is_tokenized_as_by_the_library(seed: int) -> None:
    ids, merges = draw_vocabulary(seed)
    words = draw_words(seed)
    table = build_merge_table(ids, merges, words)
    order = order_leaf_removals(merges, shuffle(ids, seed), ids)
    for n_removed in (0, 1, len(order) // 3, len(order) // 2, len(order)):
        gone = set(order[:n_removed])
        tokenization = table.tokenize(mask_of(ids, gone))
        expected = tokenize_by_library(ids, merges, list(words), gone)
        assert group_by_word(tokenization) == expected
        assert not tokenization.unknown.any()
        total = sum(words[word] * len(cut) for word, cut in zip(words, expected, strict=True))
        assert table.count_tokens(mask_of(ids, gone)) == total


@pytest.mark.parametrize("seed", range(10))
def test_whole_words_are_looked_up_before_merging(seed: int) -> None:
    ids, merges = draw_vocabulary(seed)
    words = draw_words(seed)
    exact = [word for word in list(words)[:20] if word not in ids]
    ids |= {word: len(ids) + i for i, word in enumerate(exact)}
    table = build_merge_table(ids, merges, words, ignore_merges=True)
    order = order_leaf_removals(merges, shuffle(ids, seed), ids)
    assert set(exact) <= set(order)
    for n_removed in (0, len(order) // 2, len(order)):
        gone = set(order[:n_removed])
        expected = tokenize_by_library(ids, merges, list(words), gone, ignore_merges=True)
        assert group_by_word(table.tokenize(mask_of(ids, gone))) == expected


def test_the_last_rank_of_a_merge_that_is_listed_twice_counts() -> None:
    ids = {token: i for i, token in enumerate(["a", "b", "c", "ab", "bc"])}
    merges = [("a", "b"), ("b", "c"), ("a", "b")]
    table = build_merge_table(ids, merges, {"abc": 1})
    assert read_tokens(table) == [["a", "bc"]]
    assert group_by_word(table.tokenize()) == tokenize_by_library(ids, merges, ["abc"])


def test_characters_without_a_token() -> None:
    names = ["a", "b", "ab", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    ids = {token: i for i, token in enumerate(names)}
    words = {"ab☃𝕏éab": 1, "☃": 2, "ab": 1}
    for byte_fallback in (False, True):
        table = build_merge_table(ids, [("a", "b")], words, byte_fallback=byte_fallback)
        expected = tokenize_by_library(ids, [("a", "b")], list(words), byte_fallback=byte_fallback)
        assert group_by_word(table.tokenize()) == expected
    assert read_tokens(table)[1] == ["<0xE2>", "<0x98>", "<0x83>"]
    table = build_merge_table(ids, [("a", "b")], words, unknown=ids["<unk>"])
    assert read_tokens(table) == [["ab", *["<unk>"] * 3, "ab"], ["<unk>"], ["ab"]]


def test_entries_are_looked_up() -> None:
    table = build_merge_table({"a": 0, "b": 1, "ab": 2}, [], {"ab": 1.5}, ignore_merges=True)
    assert read_tokens(table) == [["ab"]]


def test_a_set_that_is_not_closed_can_be_closed() -> None:
    table = build_merge_table(TENS, TENS_MERGES, {"tens": 1})
    closed = table.close(mask_of(TENS, {"te"}))
    assert closed.tolist() == mask_of(TENS, {"te", "ten", "tens"}).tolist()
    assert table.tokenize(closed).pieces.tolist() == [3]


def test_an_empty_text_and_a_vocabulary_without_merges() -> None:
    table = build_merge_table(TENS, TENS_MERGES, {})
    assert table.count_tokens() == 0
    assert table.compute_removal_costs().tolist() == [0] * len(TENS)
    assert build_merge_table({"a": 0}, [], {"aa": 3}).count_tokens() == 6


def test_a_long_word_of_repeated_letters() -> None:
    """100,000 letters: merged in rounds, not pair by pair."""
    ids, merges = {"a": 0, "aa": 1, "aaaa": 2}, [("a", "a"), ("aa", "aa")]
    assert build_merge_table(ids, merges, {"a" * 100_003: 1}).count_tokens() == 25_000 + 2


def test_costs_of_words_worked_by_hand() -> None:
    table = build_merge_table(TENS, TENS_MERGES, {"tens": 10, "ten": 5})
    costs = dict(zip(TENS, table.compute_removal_costs().tolist(), strict=True))
    assert costs["tens"] == 10
    assert costs["ten"] == 5
    assert costs["ns"] == 10 + 10  # of tens, and of its own
    assert costs["te"] == 10 + 10 + 5 + 5
    # Without tens, its merge is gone; without te as well, those of te and ten.
    costs = dict(
        zip(TENS, table.compute_removal_costs(mask_of(TENS, {"tens"})).tolist(), strict=True)
    )
    assert costs["tens"] == 0
    assert costs["ns"] == 10
    assert costs["te"] == 10 + 5 + 5


def test_costs_of_an_exact_word_are_exact() -> None:
    ids = {**TENS, "tense": len(TENS)}
    table = build_merge_table(ids, TENS_MERGES, {"tense": 7, "ten": 1}, ignore_merges=True)
    costs = table.compute_removal_costs()
    assert costs[ids["tense"]] == 7  # tens e
    removed = mask_of(ids, {"tens", "ns"})
    assert table.compute_removal_costs(removed)[ids["tense"]] == 14  # ten s e


@pytest.mark.parametrize("seed", range(10))
def test_costs_never_fall_below_those_of_tokens_made_from_it(seed: int) -> None:
    ids, merges = draw_vocabulary(seed)
    table = build_merge_table(ids, merges, draw_words(seed))
    costs = table.compute_removal_costs()
    for left, right in merges:
        assert costs[ids[left]] >= costs[ids[left + right]]
        assert costs[ids[right]] >= costs[ids[left + right]]


def test_leaves_are_removed_in_the_order_of_the_ranking() -> None:
    merges = [("t", "e"), ("te", "n"), ("n", "s")]
    tokens = ["t", "e", "n", "s", "te", "ten", "ns"]
    assert order_leaf_removals(merges, ["te", "ns", "ten"], tokens) == ["ns", "ten", "te"]
    assert order_leaf_removals(merges, ["ten", "te", "ns"], tokens) == ["ten", "te", "ns"]
    assert order_leaf_removals(merges, ["te", "ns", "t", "ten"], tokens, {"ten"}) == ["ns"]
    assert order_leaf_removals(merges, ["te", "ns", "ns"], tokens) == ["ns"]
    assert order_leaf_removals(merges, [], tokens) == []
    # A merge of a token that the vocabulary lacks protects nothing.
    assert order_leaf_removals(merges, ["te"], [*tokens[:5], "ns"]) == ["te"]
    # A token without merges, such as an exact word, can always be removed.
    assert order_leaf_removals(merges, ["tense"], [*tokens, "tense"]) == ["tense"]


def test_a_token_made_in_two_ways_and_one_used_twice() -> None:
    tokens = ["a", "aa", "aaa", "aaaa"]
    merges = [("a", "a"), ("aa", "a"), ("a", "aa"), ("aa", "aa")]
    assert order_leaf_removals(merges, tokens, tokens) == ["aaa", "aaaa", "aa"]


@pytest.mark.parametrize("seed", range(10))
def test_no_kept_token_becomes_unreachable(seed: int) -> None:
    """Every kept token that its own text was tokenized to is still one token."""
    ids, merges = draw_vocabulary(seed)
    alone = build_merge_table(ids, merges, dict.fromkeys(ids, 1))
    is_reachable = dict(zip(ids, (alone.tokenize().pieces == 1).tolist(), strict=True))
    order = order_leaf_removals(merges, shuffle(ids, seed), ids)
    assert len(order) == len(ids) - 4  # all but the single characters
    for n_removed in range(len(order) + 1):
        gone = set(order[:n_removed])
        pieces = dict(zip(ids, alone.tokenize(mask_of(ids, gone)).pieces.tolist(), strict=True))
        for token in ids.keys() - gone:
            assert pieces[token] == 1 or not is_reachable[token]


# Real merges


@pytest.fixture(scope="module")
def gpt2(shared: Path) -> tuple[dict[str, int], list[Merge]]:
    folder = shared / "data/tokenizers/gpt2-bpe"
    ids = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    merges = [tuple(line.split(" ")) for line in lines if line]
    return ids, merges  # type: ignore[return-value]


@pytest.fixture(scope="module")
def abstracts(shared: Path) -> Counter[str]:
    """The distinct pre-tokens of the shared abstracts."""
    # A pre-token has no space after its first character, so each distinct chunk is split once.
    chunks: Counter[str] = Counter()
    path = shared / "data/text/biomedical-abstracts.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            first, *others = line.rstrip("\n").split(" ")
            chunks.update([first, *(f" {chunk}" for chunk in others)])
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for pretoken, _ in splitter.pre_tokenize_str(chunk):
            counts[pretoken] += count
    return counts


@pytest.mark.slow
def test_real_merges_on_every_pre_token_of_real_text(
    gpt2: tuple[dict[str, int], list[Merge]], abstracts: Counter[str]
) -> None:
    ids, merges = gpt2
    words = list(abstracts)
    table = build_merge_table(ids, merges, abstracts)
    ranking = [token for token in shuffle(ids, 0) if token != "<|endoftext|>"]
    order = order_leaf_removals(merges, ranking, ids)
    assert len(order) == 50_000  # all but the 256 symbols of bytes and <|endoftext|>
    for n_removed in (0, 12_500, 37_500):
        gone = set(order[:n_removed])
        model = models.BPE(
            {token: i for token, i in ids.items() if token not in gone},
            keep_merges(merges, ids.keys() - gone),
        )
        expected = [[token.id for token in model.tokenize(word)] for word in words]
        assert group_by_word(table.tokenize(mask_of(ids, gone))) == expected


def test_costs_of_real_leaves_are_close_to_the_exact_ones(
    gpt2: tuple[dict[str, int], list[Merge]], abstracts: Counter[str]
) -> None:
    ids, merges = gpt2
    table = build_merge_table(ids, merges, abstracts)
    costs, total = table.compute_removal_costs(), table.count_tokens()
    used = {part for merge in merges for part in merge}
    leaves = [i for token, i in ids.items() if token not in used and costs[i] > 0]
    sample = random.Random(0).sample(leaves, 40)
    exact = np.zeros(len(sample))
    for i, leaf in enumerate(sample):
        removed = np.zeros(len(ids), dtype=np.bool_)
        removed[leaf] = True
        exact[i] = table.count_tokens(removed) - total
    assert exact.sum() <= costs[sample].sum() <= 1.03 * exact.sum()
