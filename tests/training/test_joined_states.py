"""Embeddings from joined hidden states: a map that is known, the layer it is found in, spelling,
agreement and reproducibility; ranking of words by it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.training import joined_states
from vocadapt.training.joined_states import PieceJoiner, StateReader, fit_state_map
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.initializers.materials import JoinSettings
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

pytestmark = pytest.mark.usefixtures("one_thread")
SETTINGS = JoinSettings(ridge=1e-6)


@pytest.fixture
def few(monkeypatch):
    """The tiny vocabulary has about 20 words of four letters, half of which are drawn."""
    monkeypatch.setattr(joined_states, "MIN_WORDS", 4)
    monkeypatch.setattr(joined_states, "MIN_LETTERS", 2)


def materials_of(model, *tokens):
    vocabulary = model.vocabulary
    added = tuple(AddedWord(token, vocabulary.tokenize(token)) for token in tokens)
    return Materials(VocabularyPlan(vocabulary, added), model.space, joiner=PieceJoiner(model))


class KnownStates:
    """Stands for a network of three layers: layer 2 holds a rotated embedding of the word that its
    pieces spell, the other two are noise."""

    layers = 3

    def __init__(self, vocabulary, space):
        self.vocabulary, self.space, rng = vocabulary, space, np.random.default_rng(2)
        self.rotation = np.linalg.qr(rng.normal(size=(space.dim, space.dim)))[0]
        self.rng = rng

    def read(self, words, layers, progress):
        states = self.rng.normal(size=(len(words), len(layers), self.space.dim)).astype(np.float32)
        for row, pieces in enumerate(words):
            word = "".join(self.vocabulary.body(piece) for piece in pieces)
            if word in self.space and 2 in layers:
                states[row, list(layers).index(2)] = self.space[word] @ self.rotation + 3
        return states


@pytest.fixture
def known(model):
    """A space of as many words as a map of 4 dimensions needs."""
    rng = np.random.default_rng(1)
    tokens = model.vocabulary.tokens
    return EmbeddingSpace(tokens, rng.normal(size=(len(tokens), 4)).astype(np.float32))


def test_a_known_map_is_recovered_from_the_layer_that_holds_the_words(model, known, few):
    materials = replace(materials_of(model, "hypertension"), model=known)
    reader = KnownStates(model.vocabulary, known)
    found = fit_state_map(reader, model.vocabulary, materials, SETTINGS)
    assert found.layer == 2
    assert found.cosine > 0.999
    state = known["heart"] @ reader.rotation + 3
    assert np.allclose(found.apply(state[None])[0], known["heart"], atol=1e-3)


def test_the_layer_can_be_chosen_and_must_exist(model, known, few):
    materials = replace(materials_of(model, "hypertension"), model=known)
    reader = KnownStates(model.vocabulary, known)
    chosen = fit_state_map(reader, model.vocabulary, materials, replace(SETTINGS, layer=1))
    assert chosen.layer == 1 and chosen.cosine < 0.9
    with raises_input_error("missing-layer", "99"):
        PieceJoiner(model).join(materials, replace(SETTINGS, layer=99))


def test_every_new_token_gets_an_embedding_and_one_that_is_not_spelled_the_mean(model, few):
    materials = materials_of(model, "hypertension", "tachy", "\u4e2d")
    made = initialize(materials, InitializerSettings("joined"))
    assert np.isfinite(made.matrix).all() and made.matrix.shape == (3, model.dim)
    assert "hidden state" in made.provenance[0].how
    assert made.provenance[2].fallback
    assert np.allclose(made.matrix[2], model.space.matrix.mean(axis=0), atol=1e-6)
    again = initialize(materials, InitializerSettings("joined"))
    assert np.array_equal(made.matrix, again.matrix)


def test_an_embedding_of_the_model_read_as_embedding_or_as_token_has_the_same_state(model):
    reader = StateReader(model)
    tokens = ["heart", "drug", "the"]
    as_tokens = reader.read([[token] for token in tokens], (2,))[:, 0]
    matrix = model.space.matrix[model.space.rows(tokens)]
    assert np.allclose(reader.read_embeddings(matrix, 2), as_tokens, atol=1e-6)


def test_states_do_not_depend_on_the_other_words_of_the_batch(model):
    reader = StateReader(model)
    words = [["heart"], list(model.vocabulary.tokenize("tachycardia")), ["the"]]
    together = reader.read(words, (1, 2))
    alone = np.concatenate([reader.read([word], (1, 2)) for word in words])
    assert np.allclose(together, alone, atol=1e-6)


def test_agreement_is_a_cosine_and_missing_where_a_token_is_not_spelled(model, few):
    materials = materials_of(model, "hypertension", "\u4e2d")
    joined = PieceJoiner(model).join(materials, JoinSettings())
    assert -1 <= joined.agreement[0] <= 1 and np.isnan(joined.agreement[1])
    assert joined.is_joined.tolist() == [True, False]


def test_a_model_with_too_few_words_is_refused(model, monkeypatch):
    monkeypatch.setattr(joined_states, "MIN_WORDS", 10_000)
    with raises_input_error("too-few-words"):
        initialize(materials_of(model, "hypertension"), InitializerSettings("joined"))


def test_embeddings_alone_have_no_hidden_states(model):
    materials = replace(materials_of(model, "hypertension"), joiner=None)
    with raises_input_error("no-network"):
        initialize(materials, InitializerSettings("joined"))


def test_a_layer_that_the_model_lacks_is_refused(model, few):
    states = PieceJoiner(model).compute_states([("hyper", "##tension"), ("heart",)], 1)
    assert states.shape == (2, model.dim)
    with raises_input_error("missing-layer", "99") as caught:
        PieceJoiner(model).compute_states([("heart",)], 99)
    assert caught.value.setting == "state_layer"
