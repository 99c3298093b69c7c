"""The replacement test: sentences with hidden tokens, and how a network reads them."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.leaderboard.inputs import build_vector_materials
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings, compare_initializers
from vocadapt.analysis.leaderboard.replacement import (
    ReadableText,
    ReplacementTest,
    SentencePart,
    find_sentences,
)
from vocadapt.errors import InputError
from vocadapt.models.language_model import open_model
from vocadapt.spaces.space import EmbeddingSpace


@pytest.fixture
def model(tiny_bert):
    return open_model(str(tiny_bert))


def pick_words(model, n):
    """Words of the model's vocabulary that letters can spell."""
    vocabulary = model.vocabulary
    words = [t for t in vocabulary.tokens if t.isalpha() and len(t) > 2 and t.islower()]
    return tuple(words[:n])


def test_sentences_are_drawn_with_the_ids_around_the_token(model):
    word, other = pick_words(model, 2)
    ids = model.vocabulary.ids
    lines = [f"{other} {word}", f"{word} {other} {other}", other]
    found = find_sentences(ReadableText(model, lines), (word,), 5, 1)
    assert found == [
        SentencePart((ids[other],), (), 0),
        SentencePart((), (ids[other], ids[other]), 0),
    ]


def test_a_sentence_with_the_token_twice_is_left_out(model):
    """The second one would keep its known embedding, which the network could look up."""
    word, other = pick_words(model, 2)
    near = f"{word} {other} {word}"
    far = f"{word} {' '.join([other] * 60)} {word}"
    assert find_sentences(ReadableText(model, [near]), (word,), 5, 1) == []
    assert len(find_sentences(ReadableText(model, [far]), (word,), 5, 1)) == 2


def test_at_most_so_many_sentences_are_drawn_and_each_is_as_likely(model):
    word, other = pick_words(model, 2)
    text = ReadableText(model, [f"{other} " * n + word for n in range(8)])
    counts = np.zeros(8)
    for seed in range(400):
        found = find_sentences(text, (word,), 2, seed)
        assert len(found) == 2
        for sentence in found:
            counts[len(sentence.before)] += 1
    # 100 are expected of each; the standard deviation is below 9.
    assert counts.min() > 60 and counts.max() < 140


def test_the_known_embeddings_are_read_as_the_words_and_the_pieces_are_not(model):
    hidden = pick_words(model, 3)
    visible = model.vocabulary.without(frozenset(hidden))
    text = ReadableText(model, [f"{hidden[0]} {word} {hidden[1]}" for word in hidden])
    sentences = find_sentences(text, hidden, 4, 1)
    test = ReplacementTest(model, hidden, visible, sentences)
    known = model.space.matrix[model.space.rows(hidden)]
    scores = test.judge(known)
    np.testing.assert_allclose(scores.word, 1, atol=1e-5)
    np.testing.assert_allclose(scores.sentence, 1, atol=1e-5)
    # An untrained network gives similar states to all words.
    assert (test.pieces.word < 0.9999).all() and scores.compute_win_rate(test.pieces) == 1
    rng = np.random.default_rng(1)
    noise = test.judge(rng.normal(size=known.shape).astype(np.float32))
    assert noise.word.mean() < 0.9999


def test_tokens_without_a_sentence_do_not_count(model):
    hidden = pick_words(model, 3)
    sentences = find_sentences(ReadableText(model, [hidden[2]]), hidden, 4, 1)
    visible = model.vocabulary.without(frozenset(hidden))
    test = ReplacementTest(model, hidden, visible, sentences)
    assert test.tokens.tolist() == [2] and len(test.pieces.word) == 1
    with raises_input_error("no-sentences"):
        ReplacementTest(model, hidden, visible, [])


def test_a_comparison_reads_a_text(model):
    words = pick_words(model, 40)
    rng = np.random.default_rng(1)
    vectors = EmbeddingSpace(
        (*words, "zzyzx"), rng.normal(size=(len(words) + 1, 8)).astype(np.float32)
    )
    materials = build_vector_materials(model, vectors)
    settings = LeaderboardSettings(methods=("syntactic",), held_out=8)
    text = ReadableText(model, [" ".join(words)])
    board = compare_initializers(materials, settings, text=text)
    assert board.pieces is not None and board.pieces.tokens == 8
    mean_of_pieces = next(row for row in board.rows if row.initializer == "syntactic")
    assert mean_of_pieces.word_state is not None and 0 <= mean_of_pieces.beats_pieces <= 1
    assert board.reading in board.findings
    assert vars(board.pieces) == {
        "word": board.pieces.word,
        "sentence": board.pieces.sentence,
        "tokens": 8,
        "sentences": 8,
    }
    # Without sentences, nothing is read.
    off = LeaderboardSettings(methods=("syntactic",), held_out=8, sentences=0)
    unread = compare_initializers(materials, off, text=text)
    assert unread.pieces is None and find_numbers(unread.why_not_read) == [0]


def test_a_network_that_cannot_be_read_stops_nothing(model, monkeypatch):
    problem = "The weights lack the layers."

    def fail(*given):
        raise InputError(problem, "Download them again.")

    monkeypatch.setattr("vocadapt.analysis.leaderboard.replacement.load_until_layer", fail)
    words = pick_words(model, 40)
    vectors = EmbeddingSpace((*words, "zzyzx"), np.eye(len(words) + 1, 8, dtype=np.float32) + 1)
    materials = build_vector_materials(model, vectors)
    settings = LeaderboardSettings(methods=("syntactic",), held_out=8)
    text = ReadableText(model, [" ".join(words)])
    board = compare_initializers(materials, settings, text=text)
    assert board.rows and board.pieces is None and problem in board.why_not_read
