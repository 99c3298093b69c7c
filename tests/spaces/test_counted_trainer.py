"""Counted vectors: pairs, their information, the factorization, and the choice of a trainer."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.material.input_errors import raises_input_error
from tests.material.sentences import two_topics, words_file
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled
from vocadapt.lab.steps.vectors import VectorsStep, check_cluster_settings
from vocadapt.progress import silent
from vocadapt.spaces.word2vec import counted_trainer, trainer
from vocadapt.spaces.word2vec.counted_trainer import (
    count_pairs,
    count_pairs_of_corpus,
    factorize,
    weight_pairs,
)
from vocadapt.spaces.word2vec.trainer import (
    AUTO,
    MAX_COUNTED_WORDS,
    TRAINERS,
    Word2VecSettings,
    choose_training,
    estimate_memory,
    measure_word2vec,
    train_word2vec,
)
from vocadapt.text.corpus import open_corpus
from vocadapt.text.shards import divide_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, write_sentences

COUNTED = Word2VecSettings(dim=16, min_count=1, workers=1, sample=0, trainer="counts")


def count(folder, sentences, window=2, words=None, name="sentences.txt"):
    path, counts = words_file(folder, sentences, name)
    return count_pairs(path, words or dict(counts.counts), window, silent)


def test_pairs_are_counted_by_distance_within_a_line(tmp_path):
    """Lines a b c and a a, window 2: (a, b) 2, (b, c) 2, (a, c) 1, (a, a) 2 in both orders."""
    words = {"a": 3, "b": 1, "c": 1}
    pairs = count(tmp_path, [["a", "b", "c"], ["a", "a"]], words=words)
    assert pairs.toarray().tolist() == [[4, 2, 1], [2, 0, 2], [1, 2, 0]]


def test_words_without_a_vector_are_removed_before_pairs_are_counted(tmp_path):
    """a rare b: a and b are neighbors, as in word2vec."""
    pairs = count(tmp_path, [["a", "rare", "b"]], window=1, words={"a": 1, "b": 1})
    assert pairs.toarray().tolist() == [[0, 1], [1, 0]]


def test_the_counts_of_shards_add_up_exactly(tmp_path, monkeypatch):
    sentences = two_topics(500)
    words = dict(Counter(word for sentence in sentences for word in sentence))
    whole = count(tmp_path, sentences, 5, words)
    shards = [count(tmp_path, sentences[first::3], 5, words, f"{first}.txt") for first in range(3)]
    assert (sum(shards) != whole).nnz == 0
    # The size of a chunk changes nothing either.
    monkeypatch.setattr(counted_trainer, "CHUNK", 7)
    assert (count(tmp_path, sentences, 5, words) != whole).nnz == 0


def test_parts_of_a_text_are_counted_elsewhere_with_equal_vectors(tmp_path):
    """As on a Ray cluster: each part of the text is counted by itself, and the counts are added."""
    lines = [" ".join(sentence) for sentence in two_topics(300)]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    corpus, splitter = open_corpus([tmp_path / "a.txt"]), Splitter.bert()
    counts = write_sentences(corpus, splitter, tmp_path / "sentences.txt")
    parts = divide_corpus(corpus, 3, smallest=1)
    assert len(parts) == 3

    def count_parts(words, window, progress):
        progress(0.5, "counting")
        return sum(count_pairs_of_corpus(part, splitter, words, window) for part in parts).tocsr()

    here = train_word2vec(tmp_path / "sentences.txt", counts, COUNTED)
    elsewhere = train_word2vec(
        tmp_path / "sentences.txt", counts, COUNTED, pair_counter=count_parts
    )
    np.testing.assert_array_equal(here.space.matrix, elsewhere.space.matrix)
    # A part without words has no pairs.
    (tmp_path / "blank.txt").write_text("\n\n", encoding="utf-8")
    blank = open_corpus([tmp_path / "blank.txt"])
    assert count_pairs_of_corpus(blank, splitter, {"a": 1, "b": 1}, 2).nnz == 0


def test_what_cannot_be_counted_on_a_cluster_is_refused_before_anything_is_read():
    trained = Word2VecSettings(trainer="gensim")
    for settings in (VectorsStep(on="ray", resample=3), VectorsStep(on="ray", word2vec=trained)):
        with raises_input_error("not-on-a-cluster"):
            check_cluster_settings(settings)
    assert check_cluster_settings(VectorsStep(on="ray")).trainer == "counts"


def test_information_is_computed_as_by_hand():
    """Pairs (a, b) 3, (a, c) 1; sums a 4, b 3, c 1. With contexts smoothed by ¾:
    pmi(a, b) = log(3 · Σ / (4 · 3^¾)), Σ = 4^¾ + 3^¾ + 1.
    """
    pairs = csr_array(np.array([[0, 3, 1], [3, 0, 0], [1, 0, 0]]))
    weights = weight_pairs(pairs, np.ones(3)).toarray()
    total = 4**0.75 + 3**0.75 + 1
    expected = [
        [0, math.log(3 * total / (4 * 3**0.75)), math.log(total / 4)],
        [math.log(total / 4**0.75), 0, 0],
        [math.log(total / 4**0.75), 0, 0],
    ]
    np.testing.assert_allclose(weights, expected, rtol=1e-6)


def test_subsampling_and_negative_information():
    # a occurs with b less often than by chance: that is no information.
    pairs = csr_array(np.array([[80, 10, 10], [10, 1, 9], [10, 9, 1]]))
    weights = weight_pairs(pairs, np.ones(3)).toarray()
    assert weights[0, 1] == 0 < weights[0, 0] < weights[1, 2]
    # Words that subsampling always removes leave no pairs, and no division by zero.
    assert weight_pairs(pairs, np.zeros(3)).nnz == 0
    # A pair is kept if both words are.
    halved = weight_pairs(pairs, np.array([0.5, 1, 1]))
    expected = weight_pairs(
        csr_array(pairs.toarray() * [[1, 2, 2], [2, 4, 4], [2, 4, 4]]), np.ones(3)
    )
    np.testing.assert_allclose(halved.toarray(), expected.toarray(), rtol=1e-6)


def test_the_factorization_is_that_of_numpy():
    rng = np.random.default_rng(1)
    dense = np.maximum(rng.normal(size=(60, 60)), 0).astype(np.float32)
    dense = dense @ dense.T @ dense
    vectors = factorize(csr_array(dense), 8, 1, 2, silent)
    left, singular, _ = np.linalg.svd(dense)
    expected = left[:, :8] * np.sqrt(singular[:8])
    np.testing.assert_allclose(np.abs(vectors), np.abs(expected), rtol=1e-2, atol=1e-2)
    # Another start leads to the same vectors, except for signs; threads change nothing.
    other = factorize(csr_array(dense), 8, 2, 1, silent)
    np.testing.assert_allclose(np.abs(vectors), np.abs(other), rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(vectors, factorize(csr_array(dense), 8, 1, 1, silent))


@pytest.mark.parametrize("n", [1, 3])
def test_there_may_be_fewer_words_than_dimensions(n, tmp_path):
    words = [f"w{number}" for number in range(n)]
    space = train_word2vec(*words_file(tmp_path, [words] * 10), COUNTED).space
    assert space.matrix.shape == (n, 16)
    assert np.isfinite(space.matrix).all()
    assert not space.matrix[:, n:].any()


def test_one_word_a_million_times(tmp_path):
    """The text has no word with any context but itself."""
    space = train_word2vec(*words_file(tmp_path, [["word"] * 1000] * 1000), COUNTED).space
    assert space.words == ("word",) and np.isfinite(space.matrix).all()
    alone = train_word2vec(*words_file(tmp_path, [["a"], ["b"], ["a"]]), COUNTED).space
    assert not alone.matrix.any()


def test_words_of_a_topic_are_similar_with_any_number_of_threads(tmp_path):
    path, counts = words_file(tmp_path, two_topics())
    trained = train_word2vec(path, counts, COUNTED)
    space = trained.space
    heart, tax = (
        space.unit[space.rows(f"{topic}{n}" for n in range(10))] for topic in ("heart", "tax")
    )
    assert (heart @ heart.T).min() > (heart @ tax.T).max()
    assert trained.beyond_memory == 0
    again = train_word2vec(path, counts, replace(COUNTED, workers=3)).space
    np.testing.assert_array_equal(space.matrix, again.matrix)


def test_it_is_canceled_between_the_steps_of_the_factorization(tmp_path):
    def cancel(fraction, message=""):
        if message == "factorizing, step 4 of 10":
            raise Canceled

    with pytest.raises(Canceled):
        train_word2vec(*words_file(tmp_path, two_topics(50)), COUNTED, cancel)


def test_words_beyond_the_memory_get_no_vector_and_are_reported(tmp_path, monkeypatch):
    sentences = [["a", "b", "c", "d"]] * 4 + [["a", "b", "c"]] * 3 + [["a", "b"]] * 2
    path, counts = words_file(tmp_path, sentences)
    two = counted_trainer.estimate_bytes(np.array([9.0, 9.0]), COUNTED)
    monkeypatch.setattr(counted_trainer, "MAX_BYTES", two)
    estimate = estimate_memory(counts, COUNTED)
    assert (estimate.words, estimate.of, estimate.bytes) == (2, 4, two)
    assert list_numbers(str(estimate))[:2] == ["2", "4"]
    trained = train_word2vec(path, counts, COUNTED)
    assert trained.space.words == ("a", "b") and trained.beyond_memory == 2


def test_many_words_are_limited_before_anything_is_counted(monkeypatch):
    monkeypatch.setattr(counted_trainer, "MAX_BYTES", 600_000_000)
    counts = WordCounts({f"w{n}": 10 + 10**6 // (n + 1) for n in range(10**5)}, 1, 1)
    estimate = estimate_memory(counts, replace(COUNTED, dim=384))
    assert 1_000 < estimate.words < 10**5 and estimate.of == 10**5
    assert estimate.bytes <= counted_trainer.MAX_BYTES


def spread(words: int) -> WordCounts:
    """Counts of 100 equally frequent words."""
    return WordCounts({f"w{number}": words // 100 for number in range(100)}, 1, 1)


def test_auto_counts_small_texts_and_trains_large_ones():
    small = spread(100_000)
    chosen = choose_training(small, Word2VecSettings())
    assert (chosen.settings.trainer, chosen.settings.epochs) == ("counts", 0)
    assert "100,000" in list_numbers(chosen.reason)
    large = spread(MAX_COUNTED_WORDS + 100)
    chosen = choose_training(large, Word2VecSettings())
    assert chosen.settings.trainer == "blocks" and chosen.settings.epochs > 5
    # What was chosen is chosen again.
    assert choose_training(small, chosen.settings).settings == chosen.settings


@pytest.mark.parametrize("given", [{"epochs": 3}, {"skip_gram": True}, {"negative": 7}])
def test_a_setting_that_only_some_trainers_use_chooses_among_them(given, monkeypatch):
    text = spread(1000)
    chosen = choose_training(text, Word2VecSettings(**given))
    assert chosen.settings.trainer == "blocks"
    assert chosen.settings.epochs == given.get("epochs", chosen.settings.epochs) > 0
    assert "1,000" not in list_numbers(chosen.reason)  # not the size of the text
    # Without numba, the reason names what is missing.
    monkeypatch.setattr(trainer, "find_spec", lambda name: None)
    without = choose_training(text, Word2VecSettings(**given))
    assert without.settings.trainer == "gensim" and "numba" in without.reason


def test_a_text_of_few_words_is_not_trained_in_blocks():
    """A word of more than a 32nd of the text would be changed too often in a block."""
    for words, expected in ((16, "gensim"), (64, "blocks")):
        text = WordCounts({f"w{number}": 50 for number in range(words)}, 1, 1)
        settings = Word2VecSettings(epochs=3, sample=0)
        assert choose_training(text, settings).settings.trainer == expected
    # Rarer words get no vector, so they do not count.
    rare = WordCounts({"a": 50, **{f"w{number}": 1 for number in range(1000)}}, 1, 1)
    assert choose_training(rare, Word2VecSettings(epochs=3)).settings.trainer == "gensim"


@pytest.mark.parametrize("given", [{"epochs": 3}, {"skip_gram": True}, {"alpha": 0.1}])
def test_a_setting_that_the_trainer_does_not_use_is_refused(given):
    with raises_input_error("setting-without-effect", "counts") as refused:
        Word2VecSettings(trainer="counts", **given)
    assert refused.value.setting in given


def test_epochs_are_chosen_for_a_trainer_that_has_them():
    text = WordCounts({"a": 100_000}, 1, 1)
    for name in TRAINERS:
        chosen = choose_training(text, Word2VecSettings(trainer=name)).settings
        assert chosen.trainer == name
        assert (chosen.epochs > 0) == ("epochs" in TRAINERS[name].settings)
    assert Word2VecSettings().trainer == AUTO


def test_the_estimate_grows_with_the_text_and_the_dimension():
    def estimate(words, dim):
        counts = WordCounts({f"w{n}": words // (n + 1) for n in range(2000)}, 1, 1)
        return measure_word2vec(counts, replace(COUNTED, dim=dim)).seconds

    assert 0 < estimate(10_000, 100) < estimate(100_000, 100) < estimate(100_000, 400)
