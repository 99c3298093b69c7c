"""Stacked embeddings: the model's own words divided by halves, the two maps, and their fallbacks."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.alignment.alignment import AlignmentSettings, fit_alignment
from vocadapt.spaces.space import EmbeddingSpace, normalize_rows
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import (
    InitializerSettings,
    Materials,
    NewEmbeddings,
    initialize,
)
from vocadapt.vocabulary.initializers.materials import JoinedEmbeddings, JoinSettings
from vocadapt.vocabulary.initializers.stacked import (
    Block,
    FormReader,
    StackedSettings,
    divide_own_words,
    fit_stacked,
)
from vocadapt.vocabulary.initializers.stacked_quality import (
    compute_matching_weights,
    cross_validate_stacked,
    find_cells,
)
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

LETTERS = "abcdefgh"
DIM = 12
RNG = np.random.default_rng(1)
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS)]
# Words of three letters, each one token; their pieces are letters.
OWN = [f"{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS]
NEW = [f"{a}{a}{b}{b}" for a in LETTERS for b in LETTERS if a != b]
VOCABULARY = WordPieceVocabulary(("[UNK]", *PIECES, *OWN), frozenset({"[UNK]"}))
PIECE_VECTORS = dict(zip(PIECES, RNG.normal(size=(len(PIECES), DIM)), strict=True))
BY_CONTEXT = RNG.normal(size=(DIM, DIM)) / DIM**0.5
MEANINGS = {word: RNG.normal(size=DIM) for word in OWN + NEW}


def embed(word: str) -> np.ndarray:
    """The embedding of a word is half the mean of its letters and half its mapped meaning."""
    pieces = [PIECE_VECTORS[word[0]], *(PIECE_VECTORS[f"##{letter}"] for letter in word[1:])]
    form = np.mean(pieces, axis=0) * len(pieces) ** 0.5
    return np.asarray(0.7 * form + 0.7 * MEANINGS[word] @ BY_CONTEXT)


TRUTH = {word: embed(word) for word in OWN + NEW}
MODEL = EmbeddingSpace(
    VOCABULARY.tokens,
    np.stack(
        [np.ones(DIM), *(PIECE_VECTORS[piece] for piece in PIECES), *(TRUTH[w] for w in OWN)]
    ).astype(np.float32),
)
DOMAIN = EmbeddingSpace(
    tuple(OWN[::2] + NEW),
    np.stack([MEANINGS[word] for word in OWN[::2] + NEW]).astype(np.float32),
    np.full(len(OWN[::2] + NEW), 1000),
)
PLAN = VocabularyPlan(VOCABULARY, tuple(AddedWord(word, ()) for word in NEW))
MATERIALS = Materials(PLAN, MODEL, DOMAIN)
SETTINGS = InitializerSettings("stacked")


def measure_cosine(made: NewEmbeddings) -> float:
    """Mean cosine to the true embeddings, both centered."""
    true = np.stack([TRUTH[word] for word in made.tokens])
    mean = np.mean([TRUTH[word] for word in OWN], axis=0)
    one, other = normalize_rows(made.matrix - mean), normalize_rows(true - mean)
    return float(np.einsum("ij,ij->i", one, other).mean())


def test_context_and_form_together_recover_what_neither_does_alone() -> None:
    both = measure_cosine(initialize(MATERIALS, SETTINGS))
    without = DOMAIN.take(DOMAIN.rows(OWN[::2]))
    by_form = measure_cosine(initialize(replace(MATERIALS, domain=without), SETTINGS))
    pieces = measure_cosine(initialize(MATERIALS, InitializerSettings("syntactic")))
    by_context = replace(
        MATERIALS, alignment=fit_alignment(DOMAIN, MODEL, AlignmentSettings(center=True))
    )
    context = measure_cosine(initialize(by_context, InitializerSettings("aligned")))
    assert both > 0.85
    assert max(pieces, by_form, context) < both - 0.15


def test_own_words_are_divided_by_halves_without_each_other() -> None:
    own = divide_own_words(VOCABULARY, MODEL, 1)
    assert set(own.words) == set(OWN)
    for word, pieces in zip(own.words, own.pieces, strict=True):
        assert pieces == (word[0], f"##{word[1]}", f"##{word[2]}")
    np.testing.assert_array_equal(own.rows, MODEL.rows(own.words))
    # A word that is the start of another stays in the vocabulary for half of them.
    longer = WordPieceVocabulary(
        (*VOCABULARY.tokens, *(f"{w}a" for w in OWN)), frozenset({"[UNK]"})
    )
    vectors = RNG.normal(size=(len(longer), DIM)).astype(np.float32)
    divided = divide_own_words(longer, EmbeddingSpace(longer.tokens, vectors), 1)
    starts = [
        p[0] == w[:3] for w, p in zip(divided.words, divided.pieces, strict=True) if len(w) == 4
    ]
    assert 0.4 < np.mean(starts) < 0.6


def test_the_division_and_the_result_depend_on_the_seed_alone() -> None:
    one = initialize(MATERIALS, SETTINGS)
    np.testing.assert_array_equal(one.matrix, initialize(MATERIALS, SETTINGS).matrix)
    other = InitializerSettings("stacked", options={"stacked": {"seed": 2}})
    assert divide_own_words(VOCABULARY, MODEL, 2).words == tuple(OWN)
    assert initialize(MATERIALS, other).matrix.shape == one.matrix.shape


def test_a_block_has_the_mean_square_of_its_weight() -> None:
    vectors = RNG.normal(3, 2, size=(200, 5)).astype(np.float32)
    features = Block.fit(vectors, 4.0).apply(vectors)
    assert features.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-5)
    assert (features**2).sum(axis=1).mean() == pytest.approx(16, rel=1e-4)
    # Equal vectors carry no information.
    assert not Block.fit(np.ones((4, 5), np.float32)).apply(np.ones((4, 5), np.float32)).any()


def test_the_form_is_mean_first_and_last_piece() -> None:
    reader = FormReader.fit(VOCABULARY, MODEL, OWN, 1)
    words, pieces = ["abc", "d"], [("a", "##b", "##c"), ("d",)]
    mean, first, last, spelling = reader.read(words, pieces)
    np.testing.assert_allclose(mean[0], (MODEL["a"] + MODEL["##b"] + MODEL["##c"]) / 3, rtol=1e-5)
    np.testing.assert_array_equal(first, [MODEL["a"], MODEL["d"]])
    np.testing.assert_array_equal(last, [MODEL["##c"], MODEL["d"]])
    # Words with more common n-grams are more alike; a single letter has none.
    assert not spelling[1].any()
    one, near, far = normalize_rows(reader.read(["abc", "abd", "gef"], [("a",)] * 3)[3])
    assert one @ near > one @ far


class InformativeStates:
    """Stands for a network whose first layer joins the pieces of a word to its embedding, rotated."""

    rotation = np.linalg.qr(np.random.default_rng(5).normal(size=(DIM, DIM)))[0].astype(np.float32)

    def join(self, materials: Materials, settings: JoinSettings) -> JoinedEmbeddings:
        raise AssertionError("only states are read")

    def compute_states(self, words: Sequence[Sequence[str]], layer: int) -> np.ndarray:
        assert layer == 1
        spelled = ["".join(one).replace("##", "") for one in words]
        return np.array([TRUTH[word] for word in spelled], np.float32) @ self.rotation


def test_the_hidden_state_of_a_layer_is_part_of_the_form() -> None:
    settings = InitializerSettings("stacked", options={"stacked": {"state_layer": 1}})
    materials = replace(MATERIALS, joiner=InformativeStates())
    assert measure_cosine(initialize(materials, settings)) > measure_cosine(
        initialize(MATERIALS, SETTINGS)
    )
    with raises_input_error("no-network"):
        initialize(MATERIALS, settings)


def test_rare_words_get_nearly_the_prediction_from_their_form() -> None:
    own = divide_own_words(VOCABULARY, MODEL, 1)
    reader = FormReader.fit(VOCABULARY, MODEL, OWN, 1)
    form = reader.read(own.words, own.pieces)
    stacked = fit_stacked(reader.model, DOMAIN, own, form, StackedSettings(half_reliable=10))
    form = reader.read(NEW, [VOCABULARY.tokenize_token(word) for word in NEW])
    vectors = DOMAIN.matrix[DOMAIN.rows(NEW)]
    never = np.zeros(len(NEW), np.int64)
    alone = stacked.predict(form, vectors, never)
    np.testing.assert_array_equal(stacked.predict(form, np.zeros_like(vectors), never), alone)
    # At ten occurrences, half of the correction is used. (The log count is a feature, too: it is the
    # same for all anchors here, and has no weight.)
    half = stacked.predict(form, vectors, np.full(len(NEW), 10)) - alone
    whole = stacked.predict(form, vectors, np.full(len(NEW), 10**9)) - alone
    np.testing.assert_allclose(half, whole / 2, atol=1e-4)


def test_lengths_are_those_of_own_words_of_equal_frequency() -> None:
    counts = np.where(np.arange(len(DOMAIN)) % 2, 10, 1000)
    longer = MODEL.matrix.copy()
    rare = [w for w in OWN if w in DOMAIN and counts[DOMAIN.index[w]] == 10]
    longer[MODEL.rows(rare)] *= 5
    made = initialize(
        replace(MATERIALS, model=MODEL.with_matrix(longer), domain=replace(DOMAIN, counts=counts)),
        SETTINGS,
    )
    norms = np.linalg.norm(made.matrix, axis=1)
    is_rare = counts[DOMAIN.rows(made.tokens)] == 10
    assert norms[is_rare].mean() > 3 * norms[~is_rare].mean()


def test_a_word_without_a_vector_gets_its_form_and_says_so() -> None:
    lacking = DOMAIN.take(np.array([i for i, w in enumerate(DOMAIN.words) if w != NEW[0]]))
    made = initialize(replace(MATERIALS, domain=lacking), SETTINGS)
    assert made.fallbacks == 1 and made.provenance[0].fallback
    assert "context" in made.provenance[0].how and "context" not in made.provenance[1].how
    assert np.linalg.norm(made.matrix[0]) > 0


def test_no_own_word_with_a_context() -> None:
    alone = DOMAIN.take(DOMAIN.rows(NEW))
    made = initialize(replace(MATERIALS, domain=alone), SETTINGS)
    assert made.fallbacks == len(NEW) and np.isfinite(made.matrix).all()
    assert "too few" in made.provenance[0].how


def test_vectors_without_counts_count_as_reliable() -> None:
    uncounted = replace(DOMAIN, counts=None)
    assert measure_cosine(initialize(replace(MATERIALS, domain=uncounted), SETTINGS)) > 0.85


def test_a_token_that_is_no_word_gets_the_mean_of_its_pieces() -> None:
    tokens = ("##abcd", "a9z")
    plan = VocabularyPlan(VOCABULARY, tuple(AddedWord(token, ()) for token in tokens))
    made = initialize(replace(MATERIALS, plan=plan), SETTINGS)
    expected = initialize(replace(MATERIALS, plan=plan), InitializerSettings("syntactic"))
    np.testing.assert_array_equal(made.matrix, expected.matrix)
    assert made.fallbacks == 2
    assert made.provenance[0].fallback


def test_a_model_of_single_characters_is_refused() -> None:
    letters = WordPieceVocabulary(("[UNK]", *PIECES), frozenset({"[UNK]"}))
    plan = VocabularyPlan(letters, (AddedWord("abcd", ()),))
    with raises_input_error("too-few-words", "0 words", "aligned"):
        initialize(Materials(plan, MODEL, DOMAIN), SETTINGS)


def test_word_vectors_are_needed() -> None:
    with raises_input_error("no-target-space"):
        initialize(replace(MATERIALS, domain=None), SETTINGS)
    # The vectors of a target model serve as well.
    target = initialize(replace(MATERIALS, domain=None, target=DOMAIN), SETTINGS)
    np.testing.assert_array_equal(target.matrix, initialize(MATERIALS, SETTINGS).matrix)


# --- How precisely words are placed


def test_words_are_weighted_like_new_ones() -> None:
    weights, matched = compute_matching_weights(np.array([0, 0, 0, 1]), np.array([0, 1]))
    assert weights.tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])
    assert matched == 1
    # Cells without an own word cannot be matched; without any match, nothing is reweighted.
    assert compute_matching_weights(np.array([0, 0, 1]), np.array([1, 1, 5, 5]))[1] == 0.5
    weights, matched = compute_matching_weights(np.array([0, 1]), np.array([7]))
    assert (weights.tolist(), matched) == ([1, 1], 0)
    assert compute_matching_weights(np.array([0, 1]), np.zeros(0, np.int64))[1] == 0
    # No word counts more than ten times as much as its band would.
    weights, _ = compute_matching_weights(np.array([0] * 999 + [1]), np.array([1]))
    assert weights.max() == 1000 and weights[:999].max() == 0


def test_cells_are_counts_pieces_and_the_first_piece() -> None:
    words, counts = ["abcd", "abcd", "abcd", "abcd"], np.array([5, 5, 500, 5])
    pieces = [("abc", "##d"), ("a", "##bcd"), ("abc", "##d"), ("ab", "##c", "##d")]
    cells = find_cells(VOCABULARY, words, pieces, counts).tolist()
    assert len(set(cells)) == 4
    assert find_cells(VOCABULARY, words[:1], pieces[:1], counts[:1] + 4).tolist() == cells[:1]


def test_held_out_words_are_found_far_above_chance() -> None:
    quality = cross_validate_stacked(VOCABULARY, MODEL, DOMAIN, NEW)
    assert set(quality.words) == set(OWN[::2]) and quality.candidates == len(MODEL)
    assert quality.precision(1) > 0.3 and quality.precision(5) > 0.6
    found = quality.scores
    assert found.anchors == len(OWN[::2]) and found.folds == 5
    assert found.reweighted.new_words == len(NEW)
    again = cross_validate_stacked(VOCABULARY, MODEL, DOMAIN, NEW)
    np.testing.assert_array_equal(quality.ranks, again.ranks)
    # Shuffled embeddings cannot be predicted.
    shuffled = MODEL.matrix.copy()
    rows = MODEL.rows(OWN)
    shuffled[rows] = shuffled[np.random.default_rng(2).permutation(rows)]
    chance = cross_validate_stacked(VOCABULARY, MODEL.with_matrix(shuffled), DOMAIN, NEW)
    assert chance.precision(1) < 0.05


def test_held_out_words_are_judged_with_the_hidden_state_of_the_settings() -> None:
    # Word vectors of other words tell nothing.
    order = np.random.default_rng(3).permutation(len(DOMAIN))
    domain = DOMAIN.with_matrix(DOMAIN.matrix[order])
    given = (VOCABULARY, MODEL, domain, NEW, StackedSettings(state_layer=1))
    with_states = cross_validate_stacked(*given, joiner=InformativeStates())
    without = cross_validate_stacked(VOCABULARY, MODEL, domain, NEW)
    assert with_states.precision(1) > without.precision(1) + 0.1
    with raises_input_error("no-network"):
        cross_validate_stacked(*given)


def test_too_few_words_to_judge_are_refused() -> None:
    few = DOMAIN.take(DOMAIN.rows([OWN[0], *NEW]))
    with raises_input_error("too-few-words", "1 words"):
        cross_validate_stacked(VOCABULARY, MODEL, few, NEW)
