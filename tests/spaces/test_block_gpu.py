"""Word vectors trained in blocks by torch: the arithmetic against loops written out here.

No GPU is needed: torch runs the same functions on the processor.
"""

from dataclasses import asdict

import numpy as np
import pytest
import torch

from tests.spaces.test_block_trainer import interrupt_and_resume, sigmoid
from tests.spaces.test_word2vec import chain, near_hits, two_topics, words_file
from vocadapt.errors import InputError
from vocadapt.spaces.word2vec import block_gpu, block_trainer
from vocadapt.spaces.word2vec.block_gpu import (
    GpuTrainer,
    check_memory,
    plan_blocks_per_step,
    select_device,
    subsample,
)
from vocadapt.spaces.word2vec.block_plan import (
    LINE_END,
    compute_noise,
    derive_state,
    plan_shape,
)
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec

CPU = torch.device("cpu")
SMALL = Word2VecSettings(dim=16, min_count=1, epochs=3, workers=1, sample=0, trainer="blocks-gpu")


@pytest.fixture
def no_gpu_needed(monkeypatch):
    monkeypatch.setattr(block_gpu, "select_device", lambda: CPU)
    monkeypatch.setattr(block_gpu, "check_memory", lambda *_: None)


def reference(inputs, outputs, tokens, steps, shape, skip_gram):
    """The training of a slice in float64, pair by pair, with the random choices given."""
    inputs, outputs = inputs.astype(np.float64), outputs.astype(np.float64)
    for step in steps:
        old, before = inputs.copy(), outputs.copy()
        places = [(b, t) for b in range(len(step.positions)) for t in range(shape.block)]
        hidden, gradients, contexts = {}, {}, {}
        # Vectors that predict.
        for place in places:
            position = int(step.positions[place])
            window = range(int(step.firsts[place]), int(step.lasts[place]))
            around = [p for p in window if p != position] if step.contexts[place] else []
            contexts[place] = around
            assert len(around) == step.contexts[place]
            hidden[place] = old[tokens[position]]
            if not skip_gram:
                total = sum((old[tokens[p]] for p in around), np.zeros(inputs.shape[1]))
                hidden[place] = total / max(len(around), 1) if shape.average else total
            gradients[place] = np.zeros(inputs.shape[1])
        # Negatives: those of a group count for all its tokens.
        for b, t in places:
            pairs = len(contexts[b, t]) if skip_gram else min(len(contexts[b, t]), 1)
            for word in step.negatives[b, t // shape.group % shape.sets].tolist():
                if word == tokens[step.positions[b, t]] and not skip_gram:
                    continue
                change = -float(step.rates[b, 0]) * pairs * shape.negative / shape.shared
                change *= sigmoid(hidden[b, t] @ before[word])
                gradients[b, t] += change * before[word]
                outputs[word] += change * hidden[b, t]
        # Predicted words: in CBOW all at once, in skip-gram one distance at a time.
        distances = [0]
        if skip_gram:
            distances = [d for d in range(-shape.window, shape.window + 1) if d]
        for distance in distances:
            now = outputs.copy()
            for place in places:
                position = int(step.positions[place])
                if not contexts[place] or (
                    skip_gram and position + distance not in contexts[place]
                ):
                    continue
                word = tokens[position + distance]
                change = float(step.rates[place[0], 0]) * (1 - sigmoid(hidden[place] @ now[word]))
                gradients[place] += change * now[word]
                outputs[word] += change * hidden[place]
        # Input vectors.
        for place in places:
            if skip_gram:
                inputs[tokens[step.positions[place]]] += gradients[place]
                continue
            for p in contexts[place]:
                inputs[tokens[p]] += gradients[place] / (
                    1 if shape.average else len(contexts[place])
                )
    return inputs, outputs


@pytest.mark.parametrize("sample", [0.0, 0.01])
@pytest.mark.parametrize(
    "changes",
    [{}, {"cbow_sum": True}, {"skip_gram": True}, {"window": 1}, {"negative": 1}, {"negative": 13}],
)
def test_a_slice_is_trained_as_by_loops(changes, sample, monkeypatch):
    """300 words in lines of 0 to 40 words, in steps of two blocks, the last of which is not full."""
    settings = Word2VecSettings(dim=7, sample=sample, **changes)
    rng = np.random.default_rng(5)
    words = rng.integers(0, 30, 300)
    ids = np.insert(words, np.sort(rng.integers(0, 300, 20)), LINE_END).astype(np.int32)
    noise = compute_noise(np.bincount(words, minlength=30) + 1.0, sample)
    inputs, outputs = (0.4 * rng.normal(size=(2, 30, 7))).astype(np.float32)
    trainer = GpuTrainer(inputs, outputs, noise, settings, CPU, 2)

    # The random choices that the trainer makes.
    steps, seen = [], []
    draw = trainer.draw_step

    def record(tokens, *arguments):
        seen.append(tokens)
        steps.append(draw(tokens, *arguments))
        return steps[-1]

    monkeypatch.setattr(trainer, "draw_step", record)
    trainer.train(ids, (0.05, 0.01), derive_state(3, 4))
    tokens = seen[0].words.tolist()
    assert len(steps) == -(-len(tokens) // 128) and len(tokens) > 128
    assert float(steps[0].rates[0, 0]) == pytest.approx(0.05)
    expected = reference(inputs, outputs, tokens, steps, plan_shape(settings), settings.skip_gram)
    first = inputs.copy()
    trainer.copy_vectors()
    assert np.abs(inputs - first).max() > 0.05
    np.testing.assert_allclose(inputs, expected[0], atol=2e-4)
    np.testing.assert_allclose(outputs, expected[1], atol=2e-4)


def test_windows_stay_in_their_lines_and_have_every_width():
    words = np.arange(399) % 9
    ids = np.insert(words, np.arange(7, 399, 7), LINE_END).astype(np.int32)
    noise = compute_noise(np.ones(9), 0)
    vectors = np.zeros((9, 4), np.float32)
    trainer = GpuTrainer(vectors, vectors.copy(), noise, SMALL, CPU, 64)
    generator = torch.Generator().manual_seed(1)
    tokens = subsample(torch.tensor(ids, dtype=torch.int64), trainer.keep, generator)
    assert tokens.words.tolist() == words.tolist()
    lines = np.arange(399) // 7
    np.testing.assert_array_equal(tokens.starts, lines * 7)
    np.testing.assert_array_equal(tokens.ends, lines * 7 + 7)
    step = trainer.draw_step(tokens, 0, (0.1, 0.0), generator)
    inside = step.contexts.numpy() > 0
    assert inside.sum() == 399  # of 7 blocks of 64
    places = step.positions.numpy()[inside]
    first, last = step.firsts.numpy()[inside], step.lasts.numpy()[inside]
    assert (lines[first] == lines[places]).all() and (lines[last - 1] == lines[places]).all()
    middle = places % 7 == 3
    assert set((places - first)[middle]) == {1, 2, 3}


def test_negatives_are_drawn_in_proportion_to_counts_to_the_power_of_three_quarters():
    counts = np.array([1000.0, 100.0, 10.0, 10.0, 1.0])
    vectors = np.zeros((5, 4), np.float32)
    trainer = GpuTrainer(vectors, vectors.copy(), compute_noise(counts, 0), SMALL, CPU, 64)
    generator = torch.Generator().manual_seed(1)
    text = torch.zeros(64 * 64, dtype=torch.int64)
    tokens = subsample(text, trainer.keep, generator)
    drawn = torch.cat(
        [trainer.draw_step(tokens, 0, (0.1, 0.0), generator).negatives for _ in range(15)]
    )
    found = np.bincount(drawn.flatten(), minlength=5) / drawn.numel()
    np.testing.assert_allclose(found, counts**0.75 / (counts**0.75).sum(), atol=0.01)


def test_a_step_has_fewer_blocks_if_a_word_is_frequent():
    """10 of 100 tokens are 6.4 of a block of 64: two blocks have less than 16 of them, three more."""
    assert plan_blocks_per_step(np.array([10.0, *[1.0] * 90]), np.ones(91, np.float32)) == 2
    assert plan_blocks_per_step(np.array([99.0, 1.0]), np.ones(2, np.float32)) == 1
    assert plan_blocks_per_step(np.ones(10_000), np.ones(10_000, np.float32)) == 16
    # Half of the frequent word is dropped.
    keep = np.array([0.5, *[1.0] * 90], np.float32)
    assert plan_blocks_per_step(np.array([10.0, *[1.0] * 90]), keep) == 4


def test_a_line_of_one_word_teaches_its_words_nothing():
    ids = np.array([0, LINE_END, 1, LINE_END, LINE_END, 2, LINE_END], np.int32)
    inputs, outputs = np.ones((3, 4), np.float32), np.ones((3, 4), np.float32)
    settings = Word2VecSettings(dim=4, sample=0)
    trainer = GpuTrainer(inputs, outputs, compute_noise(np.ones(3), 0), settings, CPU, 1)
    trainer.train(ids, (0.1, 0.1), derive_state(1, 1))
    trainer.train(np.zeros(0, np.int32), (0.1, 0.1), derive_state(1, 2))
    trainer.copy_vectors()
    assert (inputs == 1).all() and (outputs == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("skip_gram", [False, True])
def test_what_is_learned_is_as_good_as_gensims(tmp_path, no_gpu_needed, skip_gram):
    """Words from a ring: a trainer must find the neighbors on the ring."""
    path, counts = words_file(tmp_path, chain(60_000))
    hits = {}
    for name in ("gensim", "blocks-gpu"):
        settings = Word2VecSettings(
            dim=32, window=2, workers=1, epochs=2, sample=0, skip_gram=skip_gram, trainer=name
        )
        hits[name] = near_hits(train_word2vec(path, counts, settings).space)
    assert hits["blocks-gpu"] > hits["gensim"] - 0.05
    assert hits["blocks-gpu"] > 0.5


def test_a_training_resumes_and_repeats_on_the_processor(tmp_path, no_gpu_needed, monkeypatch):
    monkeypatch.setattr(block_trainer, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(block_trainer, "SLICE", 5_000)
    path, counts = words_file(tmp_path, two_topics())
    whole = train_word2vec(path, counts, SMALL).space.matrix

    resumed, again = interrupt_and_resume(path, counts, SMALL, tmp_path / "checkpoint")
    assert resumed >= 1 / 3
    np.testing.assert_array_equal(again.space.matrix, whole)
    other = Word2VecSettings(**{**asdict(SMALL), "seed": 2})
    assert not np.array_equal(whole, train_word2vec(path, counts, other).space.matrix)


def test_without_a_gpu_the_trainer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: None)
    with pytest.raises(InputError, match="needs a GPU") as caught:
        train_word2vec(*words_file(tmp_path, [["a"] * 9]), SMALL)
    assert "'blocks'" in caught.value.remedy
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: CPU)
    assert select_device() == CPU


def test_vectors_that_do_not_fit_into_the_memory_of_the_gpu_are_refused(monkeypatch):
    """A million words of 100 dimensions are two matrices of 400 MB."""
    settings = Word2VecSettings(dim=100)
    monkeypatch.setattr(torch.accelerator, "get_memory_info", lambda device: (700 * 2**20, 2**30))
    with pytest.raises(InputError, match=r"need 77\d MB of the GPU's memory, and 700 MB are free"):
        check_memory(CPU, 1_000_000, settings)
    check_memory(CPU, 500_000, settings)
