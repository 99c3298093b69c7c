"""Word vectors trained in blocks: the compiled arithmetic against loops written out here."""

import json
import sys
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.sentences import chain, near_hits, two_topics, words_file
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled
from vocadapt.models.language_model import open_model
from vocadapt.progress import silent
from vocadapt.spaces.word2vec import block_trainer
from vocadapt.spaces.word2vec.block_kernel import (
    add_combinations,
    compute_sigmoid,
    draw_negative,
    multiply,
    train_cbow,
    train_skip_gram,
)
from vocadapt.spaces.word2vec.block_plan import (
    LINE_END,
    compute_noise,
    count_shared_negatives,
    derive_state,
    plan_shape,
)
from vocadapt.spaces.word2vec.block_trainer import allocate, initialize, write_word_ids
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, estimate_memory, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import WordCounts
from vocadapt.training.word_vectors import train_domain_vectors

SMALL = Word2VecSettings(dim=16, min_count=1, epochs=3, workers=1, sample=0, trainer="blocks")


class Generator:
    """xorshift64* in Python's whole numbers."""

    def __init__(self, state):
        self.bits = int(state[0])

    def draw(self):
        self.bits ^= self.bits >> 12
        self.bits ^= self.bits << 25 & 2**64 - 1
        self.bits ^= self.bits >> 27
        return self.bits * 2685821657736338717 % 2**64 >> 32

    def fraction(self):
        return self.draw() / 2**32

    def negative(self, noise):
        word = self.draw() * len(noise.chance) >> 32
        return word if self.fraction() < noise.chance[word] else int(noise.alias[word])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read_tokens(ids, keep, random):
    """Tokens that are kept, each with the number of its line."""
    tokens, lines, line = [], [], 0
    for word in ids.tolist():
        if word == LINE_END:
            line += 1
        elif keep[word] >= 1 or random.fraction() < keep[word]:
            tokens.append(word)
            lines.append(line)
    return tokens, lines


def reference(ids, inputs, outputs, noise, shape, rates, state, skip_gram):
    """The training of a slice in float64, pair by pair."""
    random = Generator(state)
    tokens, lines = read_tokens(ids, noise.keep, random)
    inputs, outputs = inputs.astype(np.float64), outputs.astype(np.float64)
    for start in range(0, len(tokens), shape.block):
        block = range(start, min(start + shape.block, len(tokens)))
        rate = rates[0] + (rates[1] - rates[0]) * start / len(tokens)
        # Windows.
        contexts = []
        for i in block:
            radius = 1 + random.draw() % shape.window
            around = [*range(i - radius, i), *range(i + 1, i + radius + 1)]
            inside = [p for p in around if 0 <= p < len(tokens) and lines[p] == lines[i]]
            contexts.append(inside)
        # Vectors that predict.
        old = inputs.copy()
        hidden = [old[tokens[i]] for i in block]
        if not skip_gram:
            for i, around in enumerate(contexts):
                total = sum((old[tokens[p]] for p in around), np.zeros(inputs.shape[1]))
                hidden[i] = total / max(len(around), 1) if shape.average else total
        # Negatives: those of a group count for all its tokens.
        negatives = [random.negative(noise) for _ in range(shape.sets * shape.shared)]
        before = outputs.copy()
        gradients = [np.zeros(inputs.shape[1]) for _ in block]
        for i, position in enumerate(block):
            chosen = i // shape.group % shape.sets
            pairs = len(contexts[i]) if skip_gram else min(len(contexts[i]), 1)
            for word in negatives[chosen * shape.shared : (chosen + 1) * shape.shared]:
                if word == tokens[position] and not skip_gram:
                    continue
                step = -rate * pairs * shape.negative / shape.shared
                step *= sigmoid(hidden[i] @ before[word])
                gradients[i] += step * before[word]
                outputs[word] += step * hidden[i]
        # Predicted words.
        for i, position in enumerate(block):
            targets = [tokens[p] for p in contexts[i]] if skip_gram else [tokens[position]]
            for word in targets if contexts[i] else []:
                step = rate * (1 - sigmoid(hidden[i] @ outputs[word]))
                gradients[i] += step * outputs[word]
                outputs[word] = outputs[word] + step * hidden[i]
        # Input vectors.
        for i, position in enumerate(block):
            if skip_gram:
                inputs[tokens[position]] += gradients[i]
                continue
            for p in contexts[i]:
                inputs[tokens[p]] += gradients[i] / (1 if shape.average else len(contexts[i]))
    return inputs, outputs


@pytest.mark.parametrize("sample", [0.0, 0.01])
@pytest.mark.parametrize(
    "changes",
    [{}, {"cbow_sum": True}, {"skip_gram": True}, {"window": 1}, {"negative": 1}, {"negative": 13}],
)
def test_a_slice_is_trained_as_by_loops(changes, sample):
    """300 words in lines of 0 to 40 words; all vectors after it agree with those of the loops."""
    settings = Word2VecSettings(dim=7, sample=sample, **changes)
    rng = np.random.default_rng(5)
    words = rng.integers(0, 30, 300)
    ids = np.insert(words, np.sort(rng.integers(0, 300, 20)), LINE_END).astype(np.int32)
    counts = np.bincount(words, minlength=30) + 1.0
    noise, shape = compute_noise(counts, sample), plan_shape(settings)
    inputs, outputs = (0.4 * rng.normal(size=(2, 30, 7))).astype(np.float32)
    state, rates = derive_state(3, 4), (0.05, 0.01)
    expected = reference(
        ids, inputs, outputs, noise, shape, rates, state.copy(), settings.skip_gram
    )
    train = train_skip_gram if settings.skip_gram else train_cbow
    first = inputs.copy()
    train(ids, inputs, outputs, noise, shape, rates, state)
    assert np.abs(inputs - first).max() > 0.05
    np.testing.assert_allclose(inputs, expected[0], atol=2e-4)
    np.testing.assert_allclose(outputs, expected[1], atol=2e-4)


def test_a_line_of_one_word_teaches_its_words_nothing():
    settings = Word2VecSettings(dim=4, sample=0)
    ids = np.array([0, LINE_END, 1, LINE_END, LINE_END, 2, LINE_END], np.int32)
    inputs = np.ones((3, 4), np.float32)
    outputs = np.ones((3, 4), np.float32)
    noise = compute_noise(np.ones(3), 0)
    shape = plan_shape(settings)
    train_cbow(ids, inputs, outputs, noise, shape, (0.1, 0.1), derive_state(1, 1))
    assert (inputs == 1).all() and (outputs == 1).all()


def test_the_products_are_those_of_numpy():
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(n, 21)).astype(np.float32) for n in (8, 12))
    products, sums = np.zeros((4, 8), np.float32), np.ones((8, 21), np.float32)
    multiply(left, 4, right, 4, products)
    np.testing.assert_allclose(products, left[4:] @ right[4:].T, atol=1e-5)
    combinations = products @ right[4:]
    add_combinations(products, right, 4, sums, 4, False)
    np.testing.assert_allclose(sums[4:], 1 + combinations, rtol=1e-4, atol=1e-4)
    add_combinations(products, right, 4, sums, 4, True)
    np.testing.assert_allclose(sums[4:], combinations, rtol=1e-4, atol=1e-4)
    assert (sums[:4] == 1).all()


def test_the_sigmoid_is_off_by_less_than_five_in_a_hundred_thousand():
    logits = np.linspace(-50, 50, 20_001, dtype=np.float32)
    found = np.array([compute_sigmoid(logit) for logit in logits])
    assert np.abs(found - sigmoid(logits.astype(np.float64))).max() < 5e-5


def test_the_tables_of_negatives_hold_counts_to_the_power_of_three_quarters():
    counts = np.array([1000.0, 100.0, 10.0, 10.0, 1.0])
    noise = compute_noise(counts, 0)
    found = noise.chance / len(counts)
    np.add.at(found, noise.alias, (1 - noise.chance) / len(counts))
    np.testing.assert_allclose(found, counts**0.75 / (counts**0.75).sum(), atol=1e-6)
    # Drawn, too.
    state = derive_state(1, 1)
    drawn = np.bincount([draw_negative(noise, state) for _ in range(40_000)], minlength=5) / 40_000
    np.testing.assert_allclose(drawn, found, atol=0.01)


def test_words_are_kept_as_gensim_keeps_them():
    from gensim.models import Word2Vec

    counts = {"a": 100_000, "b": 5_000, "c": 400, "d": 1}
    for sample in (1e-4, 1e-3, 1e-2):
        model = Word2Vec(min_count=1, sample=sample)
        model.build_vocab_from_freq(dict(counts))
        expected = [model.wv.get_vecattr(word, "sample_int") / (2**32 - 1) for word in counts]
        noise = compute_noise(np.array([*counts.values()], dtype=np.float64), sample)
        np.testing.assert_allclose(noise.keep, expected, rtol=1e-5)


def test_states_of_neighboring_slices_and_seeds_are_unlike():
    states = [int(derive_state(seed, number)[0]) for seed in range(30) for number in range(30)]
    assert len(set(states)) == 900
    ones = [bin(a ^ b).count("1") for a, b in pairwise(states)]
    assert 28 < np.mean(ones) < 36 and min(ones) > 10
    assert derive_state(2**32 - 1, 10**9)[0] > 0


def test_a_text_becomes_numbers_in_slices_of_whole_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(block_trainer, "SLICE", 3)
    path, _ = words_file(tmp_path, [["a", "rare", "b"], ["b"], [], ["a", "a", "a", "b"], ["b"]])
    slices = write_word_ids(path, {"b": 4, "a": 4}, tmp_path / "ids")
    numbers = np.fromfile(tmp_path / "ids", np.int32).tolist()
    assert numbers == [1, 0, -1, 0, -1, -1, 1, 1, 1, 0, -1, 0, -1]
    assert [(part.offset, part.words, part.size) for part in slices] == [
        (0, 3, 5),
        (5, 4, 6),
        (11, 1, 2),
    ]


def test_the_vectors_start_as_those_of_word2vec(tmp_path):
    inputs = allocate(tmp_path / "x", 500, 40)
    initialize(inputs, 1)
    assert np.abs(inputs).max() <= 1 / 40 and np.abs(inputs.mean()) < 1e-3
    assert inputs.std() == pytest.approx(1 / 40 / np.sqrt(3), rel=0.02)


def test_vectors_larger_than_the_memory_are_mapped_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(block_trainer, "MAPPED_FRACTION", 0.0)
    path, counts = words_file(tmp_path, two_topics(200))
    mapped = train_word2vec(path, counts, SMALL).space.matrix
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    monkeypatch.undo()
    np.testing.assert_array_equal(mapped, train_word2vec(path, counts, SMALL).space.matrix)


def test_the_number_of_shared_negatives_grows_with_word2vecs():
    numbers = {n: count_shared_negatives(Word2VecSettings(negative=n)) for n in (1, 5, 10, 20)}
    assert numbers == {1: 4, 5: 12, 10: 24, 20: 48}
    assert count_shared_negatives(Word2VecSettings(skip_gram=True)) == 32


@pytest.mark.slow
@pytest.mark.parametrize("skip_gram", [False, True])
def test_what_is_learned_is_as_good_as_gensims(tmp_path, skip_gram):
    """Words from a ring: a trainer must find the neighbors on the ring."""
    path, counts = words_file(tmp_path, chain(60_000))
    hits = {}
    for name in ("gensim", "blocks"):
        settings = Word2VecSettings(
            dim=32, window=2, workers=1, epochs=2, sample=0, skip_gram=skip_gram, trainer=name
        )
        hits[name] = near_hits(train_word2vec(path, counts, settings).space)
    assert hits["blocks"] > hits["gensim"] - 0.05
    assert hits["blocks"] > 0.5


def test_one_thread_gives_the_same_bits(tmp_path):
    path, counts = words_file(tmp_path, two_topics())
    first, second = (train_word2vec(path, counts, SMALL).space.matrix for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = Word2VecSettings(**{**asdict(SMALL), "seed": 2})
    assert not np.array_equal(first, train_word2vec(path, counts, other).space.matrix)


def interrupt_and_resume(path, counts, settings, folder):
    """Cancel a training after half of it, and start it again with the checkpoint in a new folder;
    return the fraction at which it resumed, and its vectors.
    """

    def stop(fraction, message=""):
        if fraction > 0.5:
            raise Canceled

    folder.mkdir()
    with pytest.raises(Canceled):
        train_word2vec(path, counts, settings, stop, folder)
    resumed = []
    again = train_word2vec(
        path, counts, settings, lambda fraction, message="": resumed.append(fraction), folder
    )
    return resumed[0], again


def test_an_interrupted_training_resumes_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(block_trainer, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(block_trainer, "SLICE", 5_000)
    path, counts = words_file(tmp_path, two_topics())
    whole = train_word2vec(path, counts, SMALL).space.matrix
    folder = tmp_path / "checkpoint"
    resumed, again = interrupt_and_resume(path, counts, SMALL, folder)
    np.testing.assert_array_equal(again.space.matrix, whole)
    assert resumed >= 1 / 3
    # The seconds before the interruption count.
    before = json.loads((folder / "word2vec.json").read_text())["seconds"]
    assert again.training_seconds >= before > 0
    # Another training does not read this checkpoint.
    other = Word2VecSettings(**{**asdict(SMALL), "alpha": 0.01})
    fresh = train_word2vec(path, counts, other).space.matrix
    np.testing.assert_array_equal(
        train_word2vec(path, counts, other, silent, folder).space.matrix, fresh
    )


def test_no_file_is_left_beside_the_words_file(tmp_path):
    path, counts = words_file(tmp_path, two_topics(100))
    trained = train_word2vec(path, counts, SMALL)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert 0 < trained.training_seconds < 60


def test_without_numba_the_trainer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "vocadapt.spaces.word2vec.block_kernel")
    monkeypatch.delattr("vocadapt.spaces.word2vec.block_kernel")
    with raises_input_error("no-numba") as caught:
        train_word2vec(*words_file(tmp_path, [["a"] * 9]), SMALL)
    assert "gensim" in caught.value.remedy


@pytest.mark.parametrize("trainer", ["auto", "counts", "gensim"])
def test_a_text_of_one_word_has_no_word_vectors(tiny_bert, tmp_path, trainer):
    text = tmp_path / "text.txt"
    text.write_text("drug drug drug heart\n" * 10, encoding="utf-8")
    settings = Word2VecSettings(min_count=11, trainer=trainer)
    with raises_input_error("one-word", "'drug'", "11"):
        train_domain_vectors(open_corpus([text]), open_model(tiny_bert), settings)


def test_the_memory_of_the_matrices_is_told_before_the_training(tiny_bert, tmp_path):
    """10,000 words of 100 dimensions are two matrices of 4 MB."""
    counts = WordCounts({**{f"w{number}": 5 for number in range(10_000)}, "rare": 1}, 1, 0)
    trained = Word2VecSettings(dim=100, min_count=5, trainer="gensim")
    estimate = estimate_memory(counts, trained)
    assert (estimate.words, estimate.of, estimate.bytes) == (10_000, 10_000, 8_000_000)
    assert list_numbers(str(estimate)) == ["10,000", "8"]

    text = tmp_path / "text.txt"
    text.write_text("heart drug\n" * 10, encoding="utf-8")
    told = []
    train_domain_vectors(
        open_corpus([text]),
        open_model(tiny_bert),
        Word2VecSettings(min_count=5, epochs=1, workers=1),
        lambda fraction, what: told.append(what),
    )
    [memory] = [i for i, what in enumerate(told) if "gensim" in what and "MB" in what]
    assert not any(what.startswith("epoch") for what in told[:memory])
    assert any(what.startswith("epoch") for what in told[memory:])
