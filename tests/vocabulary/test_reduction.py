"""Which tokens are removed: each heuristic on a very small vocabulary, and the tokens that are
never removed."""

from pathlib import Path

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.reductions import COUNTS, OWN, SPECIAL, TOKENS
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.plan.reduction import (
    NEEDED,
    PUBLISHED,
    REDUCTIONS,
    ReductionSettings,
    group_protected_tokens,
    select_removed_tokens,
)

SIZE = len(TOKENS)


def left(heuristic: str, going: int, **options: object) -> set[str]:
    settings = ReductionSettings(heuristic, keep=(SIZE - going) / SIZE, **options)  # type: ignore[arg-type]
    gone = select_removed_tokens(OWN, settings, COUNTS)
    assert len(gone) == going
    assert [OWN.ids[token] for token in gone] == sorted(OWN.ids[token] for token in gone)
    return set(gone)


def test_last_removes_the_highest_ids() -> None:
    assert left("last", 2) == {"##shed", "traits"}
    assert left("last", 7) == {
        "[unused0]",
        "heart",
        "hearts",
        "##tard",
        "trait",
        "traits",
        "##shed",
    }


def test_longest_counts_without_marks_and_takes_the_higher_id_of_equals() -> None:
    assert left("longest", 1) == {"[unused0]"}
    assert left("longest", 2) == {"[unused0]", "traits"}  # as long as hearts
    assert left("longest", 4) == {"[unused0]", "traits", "hearts", "trait"}
    assert left("longest", 6) == {"[unused0]", "traits", "hearts", "trait", "heart", "##shed"}


def test_longest_with_marks() -> None:
    assert left("longest", 4, count_marks=True) == {"[unused0]", "##shed", "traits", "##tard"}


def test_freq_removes_the_rarest_tokens_of_the_text() -> None:
    assert left("freq", 3) == {
        "[unused0]",
        "##tard",
        "##shed",
    }  # tard begins no continuation: its letters are cut
    assert left("freq", 5) == {"[unused0]", "##tard", "##shed", "hearts", "trait"}


def test_random_follows_the_seed() -> None:
    assert left("random", 3, seed=4) == left("random", 3, seed=4)
    assert len({frozenset(left("random", 3, seed=seed)) for seed in range(10)}) > 3


def test_cost_is_the_number_of_additional_tokens() -> None:
    """hearts stands once and costs 1 (heart ##s), as does traits nine times (trait ##s): 9; trait
    four times costs 4 · 4 = 16.
    """
    assert left("cost", 1) == {"[unused0]"}
    assert {"hearts"} < left("cost", 4)
    assert "heart" not in left("cost", 6)


def test_cost_trusts_many_words_more_than_one_common_one() -> None:
    """##tard saves 3 in one word of 50, ##shed in five words of 9 (45 in all); to the power of 3/4:
    18.8 against 5 · 5.2 = 26.
    """
    counts = {"atard": 50} | {f"{letter}shed": 9 for letter in "abcde"}
    gone = select_removed_tokens(OWN, ReductionSettings("cost", keep=(SIZE - 6) / SIZE), counts)
    assert set(gone) == {"[unused0]", "heart", "hearts", "trait", "traits", "##tard"}


@pytest.mark.parametrize("heuristic", REDUCTIONS)
@pytest.mark.parametrize("keep", [0.8, 0.9, 0.99, 1.0])
def test_every_reduction_ends_at_the_exact_size_and_keeps_what_must_stay(
    heuristic: str, keep: float
) -> None:
    gone = select_removed_tokens(OWN, ReductionSettings(heuristic, keep), COUNTS)
    assert len(gone) == len(set(gone)) == SIZE - round(keep * SIZE)
    assert not set(gone) & {
        token for tokens in group_protected_tokens(OWN).values() for token in tokens
    }
    assert gone == select_removed_tokens(OWN, ReductionSettings(heuristic, keep), COUNTS)


def test_a_reduction_includes_every_smaller_one() -> None:
    for heuristic in REDUCTIONS:
        sizes = [
            set(select_removed_tokens(OWN, ReductionSettings(heuristic, keep), COUNTS))
            for keep in (0.95, 0.87, 0.8)
        ]
        assert sizes[0] < sizes[1] < sizes[2]


def test_a_token_that_alone_spells_a_character_stays() -> None:
    """Nothing else spells z inside a word, and ý at its beginning: without them hazard and ýmir
    would be [UNK].
    """
    own = WordPieceVocabulary((*TOKENS, "hazard", "ýthes", "zeta", "z"), frozenset(SPECIAL))
    assert group_protected_tokens(own)[NEEDED] == ("hazard", "ýthes")
    gone = select_removed_tokens(own, ReductionSettings("last", 1 - 8 / len(own)))
    assert "zeta" in gone and len(gone) == 8
    reduced = WordPieceVocabulary(
        tuple(token for token in own.tokens if token not in gone), own.special
    )
    for word in ("hazard", "ýthes", "zeta", "hearts"):
        assert reduced.tokenize(word) != ("[UNK]",) or own.tokenize(word) == ("[UNK]",)


def test_no_word_becomes_unreadable_in_real_vocabularies(shared: Path) -> None:
    """Every token of BERT that leaves is spelled by what stays, in its own position."""
    own = vocabulary_of(read_tokenizer(shared / "data/vocab/bert-base-uncased.txt"))
    gone = select_removed_tokens(own, ReductionSettings("random", 0.25))
    assert len(own) - len(gone) == 7630  # round(7630.5), to the even one
    leaving = set(gone)
    kept = WordPieceVocabulary(
        tuple(token for token in own.tokens if token not in leaving), own.special
    )
    words = [token for token in gone if not token.startswith(("##", "[unused"))]
    more = [f"a{token.removeprefix('##')}" for token in gone if token.startswith("##")]
    assert all(kept.tokenize(word) != ("[UNK]",) for word in [*words, *more])


@pytest.mark.parametrize(
    ("settings", "code", "value"),
    [
        ({"keep": 0.0}, "out-of-range", "0"),
        ({"keep": 1.5}, "out-of-range", "1.5"),
        ({"keep": float("nan")}, "out-of-range", "nan"),
        ({"keep": -0.5}, "out-of-range", "-0.5"),
        ({"heuristic": "shortest"}, "unknown-choice", ", ".join(REDUCTIONS)),
        ({"seed": -1}, "out-of-range", "seed"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object], code: str, value: str) -> None:
    with raises_input_error(code, value):
        ReductionSettings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "heuristic", [name for name, reduction in REDUCTIONS.items() if reduction.needs_counts]
)
def test_a_heuristic_that_needs_a_text_asks_for_it(heuristic: str) -> None:
    with raises_input_error("no-text", heuristic):
        select_removed_tokens(OWN, ReductionSettings(heuristic, 0.9))
    with raises_input_error("no-text", heuristic):
        select_removed_tokens(OWN, ReductionSettings(heuristic, 0.9), {})
    assert select_removed_tokens(OWN, ReductionSettings(heuristic, 1.0)) == ()


def test_the_catalog_of_reductions() -> None:
    assert PUBLISHED == ("last", "longest", "freq", "random")
    assert all(reduction.about and reduction.source for reduction in REDUCTIONS.values())


def test_the_published_conventions_on_pubmedbert(shared: Path) -> None:
    """8 512 of its 30 522 tokens are special or shorter than four characters: a quarter can only be
    kept if ## counts.
    """
    own = vocabulary_of(read_tokenizer(shared / "data/vocab/pubmedbert-abstract-fulltext.txt"))
    with raises_input_error("too-few-tokens", "Keep 0.2", "mark"):
        select_removed_tokens(own, ReductionSettings("last", 0.25))
    assert len(
        select_removed_tokens(own, ReductionSettings("last", 0.25, count_marks=True))
    ) == 30_522 - round(0.25 * 30_522)
    assert np.isclose(sum(map(len, group_protected_tokens(own).values())), 8512, atol=200)
