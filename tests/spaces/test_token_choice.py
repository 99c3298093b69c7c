"""The tokens that a projection shows, worked by hand."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import InputError
from vocadapt.spaces.neighbors.search import METRICS
from vocadapt.spaces.projection.token_choice import TokenChoice, choose_tokens, sample_by_origin
from vocadapt.spaces.space import EmbeddingSpace, TokenKinds

WORDS = (
    "[CLS]",
    "[unused3]",
    "the",
    "cancer",
    "##cancer",
    "cancers",
    "heart",
    "hearts",
    "##ing",
    "of",
    "blood",
    "Cancerous",
)
ANGLES = np.radians([0, 90, 90, 0, 5, 2, 90, 95, 180, 200, 60, 10])
KINDS = TokenKinds(
    special=frozenset({"[CLS]"}),
    continuations=frozenset({"##cancer", "##ing"}),
    placeholders=frozenset({"[unused3]"}),
    bodies={"##cancer": "cancer", "##ing": "ing"},
    continuation_name="## pieces",
)
SPACE = EmbeddingSpace(
    WORDS, np.c_[np.cos(ANGLES), np.sin(ANGLES)].astype(np.float32), name="small", kinds=KINDS
)
COUNTED = EmbeddingSpace(
    WORDS, SPACE.matrix, np.array([0, 0, 90, 8, 4, 2, 8, 1, 30, 60, 7, 1]), kinds=KINDS
)


def shown(choice: TokenChoice, space: EmbeddingSpace = SPACE) -> list[str]:
    chosen = choose_tokens(space, choice)
    assert chosen.of == len(WORDS) and chosen.how.startswith(f"{len(chosen)} of 12 shown: ")
    return [space.words[row] for row in chosen.rows]


def test_the_filter_of_fast_2023():
    assert shown(TokenChoice()) == ["cancer", "cancers", "heart", "hearts", "blood", "Cancerous"]
    assert shown(TokenChoice(first=2)) == ["cancer", "cancers"]
    how = choose_tokens(SPACE, TokenChoice(first=2)).how
    assert list_numbers(how) == ["2", "12", "2", "3"]
    assert "special" in how and "##" in how and "[unused]" in how


def test_without_filters_all_tokens_are_shown():
    everything = TokenChoice(first=0, min_length=0, specials=True, continuations=True, unused=True)
    assert shown(everything) == list(WORDS)
    assert list_numbers(choose_tokens(SPACE, everything).how) == ["12", "12"]


def test_length_counts_without_the_mark():
    assert "##ing" not in shown(TokenChoice(continuations=True))
    assert "##ing" in shown(TokenChoice(continuations=True, min_length=3))


@pytest.mark.parametrize(
    ("band", "expected"),
    [
        ({"low": 1, "high": 2}, ["the", "of"]),
        ({"low": 2, "high": 10, "band": "count"}, ["cancer", "cancers", "heart", "blood"]),
        ({"low": 30, "band": "count"}, ["the", "of"]),
    ],
)
def test_a_band_of_frequency(band, expected):
    assert shown(TokenChoice(min_length=0, **band), COUNTED) == expected


def test_without_counts_the_rank_is_the_position_and_this_is_reported():
    choice = TokenChoice(low=4, high=6)
    assert shown(choice) == ["cancer", "cancers"]
    assert "(rank:" in choose_tokens(SPACE, choice).how
    with raises_input_error("no-counts"):
        choose_tokens(SPACE, TokenChoice(band="count", low=2))


def test_neighbors_by_another_measure():
    # "far" has the direction of the center, "near" is closer to it.
    points = np.array([[1, 0], [3, 0], [0.9, 0.3], [0, 5]], dtype=np.float32)
    space = EmbeddingSpace(("center", "far", "near", "other"), points)
    choice = TokenChoice(around="center", nearest=2, min_length=0)
    by_cosine = choose_tokens(space, choice)
    by_distance = choose_tokens(space, choice, metric="euclidean")
    assert by_cosine.rows.tolist() == [0, 1, 2] and by_distance.rows.tolist() == [0, 2, 1]
    assert by_distance.how.endswith(METRICS["euclidean"]) and by_distance.how != by_cosine.how


def test_an_unknown_center_gets_a_suggestion():
    with raises_input_error("unknown-word", "'haert'") as caught:
        choose_tokens(SPACE, TokenChoice(around="haert"))
    assert "heart, hearts" in caught.value.remedy


def test_search_is_plain_text_and_ignores_case():
    assert shown(TokenChoice(search="CANCER")) == ["cancer", "cancers", "Cancerous"]
    with raises_input_error("no-token-left", "12", "'c.*'"):
        choose_tokens(SPACE, TokenChoice(search="c.*"))
    assert shown(TokenChoice(search="/^c.*s$/")) == ["cancers", "Cancerous"]
    with raises_input_error("invalid-pattern"):
        choose_tokens(SPACE, TokenChoice(search="/[/"))


def test_around_a_word_the_nearest_come_first():
    assert shown(TokenChoice(around="cancer", nearest=3)) == [
        "cancer",
        "cancers",
        "Cancerous",
        "blood",
    ]
    assert shown(TokenChoice(around="the", nearest=2)) == [
        "the",
        "heart",
        "hearts",
    ]  # the word itself passes every filter
    around = choose_tokens(SPACE, TokenChoice(around="CANCER", nearest=3))
    assert list_numbers(around.how)[:3] == ["4", "12", "3"] and ": cancer " in around.how


@pytest.mark.parametrize("word", ["missing", "<script>alert(1)</script>", "x" * 500])
def test_a_missing_word(word):
    with raises_input_error("unknown-word", "12", "small") as caught:
        choose_tokens(SPACE, TokenChoice(around=word))
    assert len(str(caught.value)) < 250


def test_a_band_that_ends_before_it_begins_is_refused():
    with pytest.raises(InputError):
        TokenChoice(low=5, high=4)


def test_a_zero_vector_is_not_shown_and_has_no_neighbors():
    matrix = np.eye(6, dtype=np.float32)
    matrix[2] = 0
    space = EmbeddingSpace(tuple(f"word{i}" for i in range(6)), matrix)
    chosen = choose_tokens(space, TokenChoice())
    assert chosen.rows.tolist() == [0, 1, 3, 4, 5]
    assert "zero vectors" in chosen.how
    assert len(chosen) == 5
    with raises_input_error("zero-vector"):
        choose_tokens(space, TokenChoice(around="word2"))


ADDED = frozenset({"hearts", "blood", "Cancerous"})


def test_a_sample_holds_added_tokens():
    """Six tokens pass the filters, the last three of them added: the first four held one."""
    chosen = choose_tokens(SPACE, TokenChoice(first=4), frozenset({"hearts", "blood", "Cancerous"}))
    words = [SPACE.words[row] for row in chosen.rows]
    assert words == ["cancer", "cancers", "hearts", "blood"] and chosen.added == 2
    assert list_numbers(chosen.how)[:5] == ["4", "12", "2", "2", "2"]


def test_all_tokens_and_a_neighborhood_say_how_many_were_added():
    every = choose_tokens(SPACE, TokenChoice(), ADDED)
    assert every.added == 3 and list_numbers(every.how)[:3] == ["6", "12", "3"]
    chosen = choose_tokens(SPACE, TokenChoice(around="cancer", nearest=3), ADDED)
    assert chosen.added == 2 and list_numbers(chosen.how)[:4] == ["4", "12", "2", "3"]


@pytest.mark.parametrize(
    ("n_original", "n_added", "n", "expected"),
    [
        (30, 10, 8, (6, 2)),  # in proportion
        (92, 8, 20, (15, 5)),  # few added tokens: every fourth
        (97, 3, 40, (37, 3)),  # fewer than that: all of them
        (3, 97, 40, (1, 39)),  # in proportion
        (0, 50, 10, (0, 10)),
        (50, 0, 10, (10, 0)),
    ],
)
def test_both_origins_are_sampled(n_original, n_added, n, expected):
    is_added = np.array([False] * n_original + [True] * n_added)
    rows = sample_by_origin(is_added, n)
    assert (int((~is_added[rows]).sum()), int(is_added[rows].sum())) == expected
    assert rows.tolist() == sorted(set(rows.tolist())) and len(rows) == n
    # The first of each kind: the most frequent ones.
    assert is_added[rows].sum() == 0 or rows[is_added[rows]][0] == n_original


def test_listed_tokens_pass_no_filter():
    chosen = choose_tokens(SPACE, TokenChoice(tokens=("of", "##ing", "nowhere", "of", "[CLS]")))
    assert [SPACE.words[row] for row in chosen.rows] == ["of", "##ing", "[CLS]"]
    assert list_numbers(chosen.how) == ["3", "12", "5"]
    with raises_input_error("unknown-word", "2", "12"):
        choose_tokens(SPACE, TokenChoice(tokens=("nowhere", "$x$")))
