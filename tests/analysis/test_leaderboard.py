"""The comparison of initializers before training."""

from dataclasses import replace

import numpy as np
import pytest

from tests.material.byte_level import build_tiny
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.leaderboard import leaderboard
from vocadapt.analysis.leaderboard.judges import (
    TrueEmbeddings,
    choose_hidden_stems,
    choose_hidden_tokens,
    hide_tokens,
    weight_like_new_tokens,
)
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings, compare_initializers
from vocadapt.errors import InputError
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import (
    InitializerSettings,
    Materials,
    NewEmbeddings,
    initialize,
)
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

RNG = np.random.default_rng(7)
LETTERS = [chr(ord("a") + i) for i in range(26)]
WORDS = [f"{a}{b}" for a in LETTERS for b in LETTERS[:12]]
BASE = WordPieceVocabulary(
    ("[UNK]", *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS), frozenset({"[UNK]"})
)
NEW = tuple(f"new{a}" for a in LETTERS)
MAP = RNG.normal(size=(8, 6)).astype(np.float32)
SPACE = EmbeddingSpace(
    (*WORDS, *NEW), RNG.normal(size=(len(WORDS) + len(NEW), 8)).astype(np.float32)
)
MODEL = EmbeddingSpace(
    BASE.tokens,
    np.stack(
        [SPACE[t] @ MAP + 1 if t in SPACE else RNG.normal(1, 3, size=6) for t in BASE.tokens]
    ).astype(np.float32),
)
MATERIALS = Materials(
    VocabularyPlan(BASE, tuple(AddedWord(token, ()) for token in NEW)), MODEL, target=SPACE
)
SETTINGS = LeaderboardSettings(held_out=60, neighbors=5)


@pytest.fixture(scope="module")
def board():
    return compare_initializers(MATERIALS, SETTINGS)


def of(board, name):
    return next(row for row in board.rows if row.initializer == name)


def test_the_global_mean_scores_zero_and_random_embeddings_find_nothing(board):
    assert of(board, "global-mean").centered_cosine == 0 and of(board, "global-mean").p1 == 0
    assert of(board, "global-mean").median_rank == pytest.approx((len(BASE) - 1) / 2)
    assert abs(of(board, "random-normal").centered_cosine) < 0.3
    assert {row.initializer for row in board.rows if row.is_baseline} == {
        "global-mean",
        "common-mean",
        "random-normal",
        "random-uniform",
    }


def test_a_linear_target_is_recovered_by_the_alignment(board):
    assert [row.centered_cosine for row in board.rows] == sorted(
        (row.centered_cosine for row in board.rows), reverse=True
    )
    assert of(board, "aligned").centered_cosine > 0.8
    assert of(board, "semantic").centered_cosine > 0.3
    assert board.verdict.code == "best"
    assert board.of == len(WORDS)
    assert len(board.hidden) == 60
    assert board.candidates == len(BASE)
    assert board.added == 26


def test_what_cannot_run_is_listed_with_the_reason(board):
    # What is trained on a text or a glossary was not asked for by name; joined needs a network,
    # stacked words of several letters.
    assert board.skipped.keys() == {"identity", "target", "joined", "stacked"}
    assert find_numbers(board.skipped["target"]) == [8, 6]  # dimensions
    judged = {row.initializer for row in board.rows}
    assert (
        judged | board.skipped.keys()
        == set(leaderboard.INITIALIZERS) - {"distilled", "attention", "grounded"}
        == set(SETTINGS.methods_to_compare)
    )
    assert (
        "distilled"
        in compare_initializers(MATERIALS, replace(SETTINGS, methods=("distilled",))).skipped
    )


def test_nothing_hidden_leaks(monkeypatch):
    hidden, _ = choose_hidden_tokens(MATERIALS, 60)
    without = hide_tokens(MATERIALS, hidden)
    assert not set(hidden) & {*without.model.words, *without.plan.base.tokens, *without.donors}
    assert without.plan.new_embeddings == hidden
    seen = []
    monkeypatch.setattr(
        leaderboard,
        "fit_alignment",
        lambda s, m, *rest: seen.append(m.words) or fit_alignment(s, m, *rest),
    )
    made = []
    monkeypatch.setattr(
        leaderboard, "initialize", lambda m, r: made.append(initialize(m, r)) or made[-1]
    )
    compare_initializers(
        MATERIALS,
        replace(SETTINGS, methods=("aligned", "syntactic", "semantic", "focus", "wechsel", "omp")),
    )
    assert len(seen) == 2 and not set(seen[0]) & set(hidden)
    for rows in (rows for rows in made if rows.tokens == hidden):
        donors = {
            name
            for token, source in zip(rows.tokens, rows.provenance, strict=True)
            for name, _ in source.donors
        }
        through_the_map = rows.provenance[0].how.endswith("aligned by least-squares")
        assert through_the_map or not donors & set(hidden)


def test_tokens_are_hidden_with_all_that_resembles_them():
    tokens = ("patient", "patients", "PATIENCE", "##patie", "pat", "study", "studys", "stud", "pa")
    others = tuple(f"{letter * 6}" for letter in LETTERS)
    base = WordPieceVocabulary(("[UNK]", *LETTERS, *tokens, *others), frozenset({"[UNK]"}))
    space = EmbeddingSpace((*tokens, *others), np.ones((len(tokens) + len(others), 2), np.float32))
    model = EmbeddingSpace(base.tokens, np.ones((len(base), 2), np.float32))
    materials = Materials(VocabularyPlan(base, ()), model, target=space)
    expected = {
        "patient": {"patient", "patients", "PATIENCE", "##patie", "pat"},
        "study": {"study", "studys", "stud"},
    }
    found = set()
    for seed in range(40):
        chosen, removed = choose_hidden_stems(materials, 1, seed)
        for token in set(chosen) & expected.keys():
            found.add(token)
            assert removed == expected[token]
        visible = hide_tokens(materials, chosen, removed)
        assert not removed & {*visible.model.words, *visible.plan.base.tokens}
        assert visible.plan.new_embeddings == chosen
    assert found == expected.keys()
    # More than half of the common tokens are never hidden.
    assert choose_hidden_stems(materials, 30, 1) == ((), frozenset())


def test_hidden_tokens_are_weighted_like_the_new_ones(board):
    hidden, _ = choose_hidden_tokens(MATERIALS, 60)
    weights, matched = weight_like_new_tokens(MATERIALS, hidden, hide_tokens(MATERIALS, hidden))
    # All hidden words have two pieces, the new ones four: none has its like.
    assert matched == board.matched == 0 and (weights == 1).all()
    aligned = of(board, "aligned")
    assert aligned.new_p5 is None and aligned.p1 <= aligned.p5
    # A new word of two pieces is like all of them, in a space without counts.
    like = replace(MATERIALS, plan=VocabularyPlan(BASE, (AddedWord("zz", ()),)))
    weights, matched = weight_like_new_tokens(like, hidden, hide_tokens(MATERIALS, hidden))
    assert matched == 1 and (weights == 1).all()


def test_bytes_are_never_hidden():
    """A byte is one token, though it is written with several characters; without it, a text that has
    it could not be tokenized.
    """
    base = vocabulary_of(build_tiny())
    words = tuple(token for token in base.tokens if token not in base.special)
    space = EmbeddingSpace(words, np.ones((len(words), 2), np.float32))
    materials = Materials(VocabularyPlan(base, ()), space, target=space)
    _, n = choose_hidden_tokens(materials, 1)
    bodies = [base.body(token) for token in words]
    assert n == sum(len(body) > 1 and body.isalnum() for body in bodies) < len(words) - 100
    assert any(len(body) > 1 and not body.isalnum() for body in bodies)


def test_each_column_is_declared_once_and_one_without_values_is_left_out(board):
    names = [one.name for one in board.build_table().shown]
    # No text, no loss, and words of two letters, which have no stems.
    assert not {"word_state", "masked_loss", "stem_p5"} & set(names) and "p5" in names
    assert board.pieces is None and board.reading is None
    assert board.describe_reading().endswith(f": {board.why_not_read}")
    assert all(one.help for one in leaderboard.SCORES if one.label and one.name != "label")


def test_a_planted_leak_is_seen():
    """Were the true rows still in the model, the syntactic cut would find each token itself: the
    score would be perfect.
    """
    hidden, _ = choose_hidden_tokens(MATERIALS, 60)
    leaking = replace(
        MATERIALS, plan=VocabularyPlan(BASE, tuple(AddedWord(token, ()) for token in hidden))
    )
    truth = TrueEmbeddings(MODEL, MODEL.matrix.mean(axis=0), hidden)
    leaked = truth.judge(initialize(leaking, InitializerSettings("syntactic")).matrix)
    honest = truth.judge(
        initialize(hide_tokens(MATERIALS, hidden), InitializerSettings("syntactic")).matrix
    )
    assert leaked[0].mean() == pytest.approx(1, abs=1e-5) and (leaked[1] == 0).all()
    assert honest[0].mean() < 0.6


def test_ranks_and_cosines_by_hand():
    model = EmbeddingSpace(("a", "b", "c"), np.array([[1, 0], [0, 1], [-1, -1]], np.float32))
    truth = TrueEmbeddings(model, np.zeros(2, np.float32), ("a", "b"))
    cosines, ranks = truth.judge(np.array([[2, 1], [5, 0]], np.float32))
    assert np.allclose(cosines, [2 / 5**0.5, 0]) and list(ranks) == [0, 1]
    assert list(truth.judge(np.zeros((2, 2), np.float32))[1]) == [
        1,
        1,
    ]  # as near to everything: the middle of three


def test_overlap_is_one_for_the_targets_own_embeddings_and_norms_are_reported():
    same = Materials(
        MATERIALS.plan,
        EmbeddingSpace(
            BASE.tokens,
            np.stack([SPACE[t] * 2 if t in SPACE else np.ones(8, np.float32) for t in BASE.tokens]),
        ),
        target=SPACE,
    )
    row = of(compare_initializers(same, replace(SETTINGS, methods=("target",))), "target")
    assert row.neighbor_overlap == 1
    assert row.norm_ratio == pytest.approx(0.5, rel=0.2)


def test_norm_matched_embeddings_are_evaluated_next_to_the_plain_ones():
    board = compare_initializers(
        MATERIALS, replace(SETTINGS, methods=("semantic",), norm_matched=True)
    )
    plain, matched = of(board, "semantic"), of(board, "semantic, norm-matched")
    assert matched.norm_ratio > plain.norm_ratio and matched.norm_ratio == pytest.approx(1, rel=0.2)


def test_results_depend_on_the_own_seed_and_not_on_the_global_one(board):
    np.random.seed(99)  # noqa: NPY002
    again = compare_initializers(MATERIALS, SETTINGS)
    assert again.hidden == board.hidden
    assert [row.centered_cosine for row in again.rows] == [
        row.centered_cosine for row in board.rows
    ]
    assert (
        choose_hidden_tokens(MATERIALS, 60, seed=2)[0]
        != board.hidden
        == choose_hidden_tokens(MATERIALS, 60)[0]
    )


def test_nonsense_beats_no_baseline_and_this_is_reported():
    rows = np.random.default_rng(0).normal(size=SPACE.matrix.shape).astype(np.float32)
    noise = replace(MATERIALS, target=SPACE.with_matrix(rows))
    board = compare_initializers(noise, replace(SETTINGS, methods=("semantic", "focus")))
    assert board.verdict.code == "no better"


def test_without_a_loss_only_embeddings_of_hidden_tokens_are_computed():
    board = compare_initializers(MATERIALS, replace(SETTINGS, methods=("semantic",), judged=10))
    assert (board.judged, board.added, board.neighbor_candidates) == (10, 26, len(WORDS) + 10)
    assert of(board, "semantic").neighbor_overlap is not None


def test_the_loss_is_computed_with_the_new_embeddings():
    asked: list[NewEmbeddings] = []
    board = compare_initializers(
        MATERIALS, replace(SETTINGS, methods=("semantic",)), lambda rows: asked.append(rows) or 1.5
    )
    assert of(board, "semantic").masked_loss == 1.5 and asked[0].tokens == NEW


@pytest.mark.parametrize("n", [157, 10_000])
def test_half_of_the_common_tokens_stay(n):
    with raises_input_error("too-few-common-tokens"):
        choose_hidden_tokens(MATERIALS, n)


def test_settings_are_checked():
    with raises_input_error("unknown-choice"):
        LeaderboardSettings(("magic",))
    with pytest.raises(InputError, match="-1"):
        LeaderboardSettings(held_out=-1)
    with raises_input_error("nothing-to-initialize"):
        compare_initializers(replace(MATERIALS, plan=VocabularyPlan(BASE, ())))
    with raises_input_error("no-common-token"):
        compare_initializers(replace(MATERIALS, target=SPACE.take(range(len(WORDS), len(SPACE)))))
