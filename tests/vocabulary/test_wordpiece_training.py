"""The two WordPiece trainers: worked by hand, against a plain rescan, and against the tokenizers
library."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled
from vocadapt.training.training_text import read_pretoken_lines
from vocadapt.vocabulary.families.files.vocab_file import SPECIAL_TOKENS
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.families.wordpiece_training import (
    TRAINERS,
    generate_tokens,
    round_down,
    train_wordpiece,
)

HUGS = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
LETTERS = ("b", "g", "h", "n", "p", "s", "u", "##g", "##n", "##s", "##u")


def merged(counts: dict[str, int], trainer: str, min_count: int = 1) -> list[str]:
    """The tokens of all merges, in their order."""
    tokens = list(generate_tokens(counts, trainer, min_count=min_count))
    return tokens[sum(len(token.removeprefix("##")) == 1 for token in tokens) :]


def test_bpe_merges_the_most_frequent_pair_first() -> None:
    """By hand: h##u 15, ##u##g 20, p##u 17, ##u##n 16, b##u 4, ##g##s 5: ##ug is first. It leaves
    p##u 12, h##ug 15, ##u##n 16: ##un. Then h##ug 15, p##un 12; hug##s and p##ug both 5, of which
    hugs is the smaller as text; b##un 4.
    """
    assert merged(HUGS, "bpe-merges") == ["##ug", "##un", "hug", "pun", "hugs", "pug", "bun"]


def test_wordpiece_score_first_merges_tokens_that_rarely_occur_apart() -> None:
    """By hand, f: h 15, p 17, b 4, ##u 36, ##g 20, ##n 16, ##s 5. ##g##s 5/(20·5) = 1/20, all the
    others 1/36: ##gs is first. Then all are 1/36, and ##ug is the smallest as text. It leaves ##u
    21, ##ug 15: ##u##gs = ##u##n = b##u = 1/21: ##ugs. Then ##u is 16: h##ugs 5/(15·5) = 1/15:
    hugs. h is 10: h##ug 10/(10·15) = 1/15: hug. ##u##n = b##u = 1/16: ##un. b##un 4/(4·16) = 1/16:
    bun. p##ug 5/(17·5) = 1/17 = p##un 12/(17·12): pug, then pun.
    """
    expected = ["##gs", "##ug", "##ugs", "hugs", "hug", "##un", "bun", "pug", "pun"]
    assert merged(HUGS, "wordpiece-score") == expected


def test_a_vocabulary_is_special_tokens_then_letters_then_merges() -> None:
    assert train_wordpiece(HUGS, 18) == (*SPECIAL_TOKENS, *LETTERS, "##ug", "##un")
    assert len(train_wordpiece(HUGS, 1000, min_count=1)) == 5 + 11 + 7


def test_a_pair_below_the_minimum_count_is_not_merged() -> None:
    assert merged(HUGS, "bpe-merges", 5) == ["##ug", "##un", "hug", "pun", "hugs", "pug"]
    assert merged(HUGS, "wordpiece-score", 6) == [
        "##ug",
        "##un",
        "hug",
        "pun",
    ]  # no ##gs: ##g##s occurs 5 times


def test_the_own_minimum_of_a_trainer_grows_with_the_text_where_rare_pieces_are_favored() -> None:
    assert [TRAINERS["bpe-merges"].min_count(running) for running in (10, 6_000_000)] == [2, 2]
    assert [TRAINERS["wordpiece-score"].min_count(running) for running in (10, 6_000_000)] == [
        2,
        120,
    ]


def rescanned(counts: dict[str, int], trainer: str, least: int) -> list[str]:
    """The same by the plainest way: every pair is counted and scored anew for each merge."""
    words = [
        ([word[0], *(f"##{letter}" for letter in word[1:])], count)
        for word, count in counts.items()
    ]
    tokens: list[str] = []
    while True:
        pieces, pairs = Counter[str](), Counter[tuple[str, str]]()
        for word, count in words:
            for piece in word:
                pieces[piece] += count
            for pair in pairwise(word):
                pairs[pair] += count
        ranked = sorted(
            (
                -TRAINERS[trainer].score(count, pieces[left], pieces[right]),
                left + right.removeprefix("##"),
                (left, right),
            )
            for (left, right), count in pairs.items()
            if count >= least
        )
        if not ranked:
            return list(dict.fromkeys(tokens))
        _, token, (left, right) = ranked[0]
        tokens.append(token)
        for word, _ in words:
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == (left, right):
                    word[at : at + 2] = [token]
                at += 1


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("seed", range(6))
def test_incremental_merging_equals_counting_all_pairs_again(trainer: str, seed: int) -> None:
    """Few letters, so that words repeat them (aaaa) and the same token comes by two ways (ab+c,
    a+bc).
    """
    rng = random.Random(seed)
    words = {
        "".join(rng.choices("abcd"[: 2 + seed % 3], k=rng.randint(1, 9))): rng.randint(1, 2000)
        for _ in range(60)
    }
    for least in (1, 40):
        assert merged(words, trainer, least) == rescanned(words, trainer, least)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_order_of_the_counts_and_the_process_do_not_matter(trainer: str) -> None:
    rng = random.Random(3)
    counts = {
        "".join(rng.choices("aeioubcdr", k=rng.randint(2, 8))): rng.randint(1, 4)
        for _ in range(400)
    }
    program = (
        "import sys, json\nfrom vocadapt.vocabulary.families.wordpiece_training import"
        " *\nprint(json.dumps(train_wordpiece(json.loads(sys.stdin.read()), 300,"
        f" {trainer!r}, min_count=2)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(dict(reversed(counts.items()))),
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert tuple(json.loads(run.stdout)) == train_wordpiece(counts, 300, trainer, min_count=2)


@pytest.mark.parametrize("times", [1, 7])
def test_bpe_merges_does_what_the_tokenizers_library_does(times: int) -> None:
    """As far as no two pairs are equally frequent: then the library leaves it to chance."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=40,
        min_frequency=6 * times,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        [word for word, count in HUGS.items() for _ in range(count * times)], trainer
    )
    theirs = tokenizer.get_vocab()
    ours = train_wordpiece(
        {word: count * times for word, count in HUGS.items()}, 40, min_count=6 * times
    )
    assert set(ours) == set(theirs)
    assert (
        ours[16:]
        == tuple(sorted(theirs, key=theirs.__getitem__))[16:]
        == ("##ug", "##un", "hug", "pun")
    )


def test_only_the_most_frequent_characters_are_kept_ties_by_character() -> None:
    counts = {"ab": 9, "ac": 3, "ad": 3, "az": 2}
    tokens = train_wordpiece(counts, 99, alphabet=3)
    assert tokens[5:] == ("a", "b", "c", "##b", "##c", "ab", "ac")


def test_a_word_too_long_for_any_model_is_ignored() -> None:
    assert "##b" not in train_wordpiece({"a": 5, "b" * 101: 9}, 99)


def test_every_word_can_be_spelled() -> None:
    tokens = train_wordpiece(HUGS, 16)
    vocabulary = WordPieceVocabulary(tokens, frozenset(SPECIAL_TOKENS))
    assert all("[UNK]" not in vocabulary.tokenize(word) for word in (*HUGS, "bugs", "gun"))


def test_mistakes_are_named() -> None:
    with raises_input_error("too-few-tokens", "5"):
        train_wordpiece(HUGS, 5)
    with raises_input_error("too-few-tokens", "15", "16"):
        train_wordpiece(HUGS, 15)


def test_a_text_without_words_gives_the_special_tokens_only() -> None:
    assert train_wordpiece({}, 99) == SPECIAL_TOKENS


def test_words_of_a_file_are_divided_at_blanks_only(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("a b a\n\nb\u3000c a\n", encoding="utf-8", newline="\n")
    assert list(read_pretoken_lines(file)) == [["a", "b", "a"], [], ["b\u3000c", "a"]]


def test_training_reports_itself_and_can_be_stopped() -> None:
    rng = random.Random(1)
    counts = {"".join(rng.choices("abcdefgh", k=6)): 5 for _ in range(200)}

    def stop(fraction: float | None, message: str = "") -> None:
        assert fraction == 0.5 and list_numbers(message) == ["100", "200"]
        raise Canceled

    with pytest.raises(Canceled):
        train_wordpiece(counts, 200, progress=stop)


def test_a_rounded_count_is_never_higher_and_at_most_a_sixteenth_lower() -> None:
    assert round_down(1000) == 992
    for count in [*range(1, 2000), 10**9 + 7]:
        assert count * 15 / 16 < round_down(count) <= count
