"""The choice of an alignment by held-out words."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.alignment import choose
from vocadapt.spaces.alignment.choose import choose_alignment, hash_word, list_fast_alignments
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace

RNG = np.random.default_rng(5)
WORDS = tuple(f"word{number}" for number in range(600))
PUBLISHED = AlignmentSettings()


def build_spaces(matrix, noise=0.0, words=WORDS, dim=8):
    """Two spaces of the same words: vectors, and their images under a matrix with noise."""
    vectors = RNG.normal(size=(len(words), dim)).astype(np.float32)
    images = vectors @ matrix + noise * RNG.normal(size=(len(words), matrix.shape[1]))
    return EmbeddingSpace(words, vectors), EmbeddingSpace(words, images.astype(np.float32))


def test_the_published_method_stays_where_no_other_is_better():
    source, target = build_spaces(RNG.normal(size=(8, 8)))
    chosen = choose_alignment(source, target)
    assert chosen.settings == PUBLISHED == list_fast_alignments()[0]
    assert chosen.published is chosen.quality and chosen.of == len(list_fast_alignments())
    assert chosen.quality.precision(1) == 1


def test_a_better_method_replaces_it():
    """Vectors on a curve: kernel ridge follows it, and no matrix does."""
    vectors = RNG.normal(size=(600, 3)).astype(np.float32)
    images = np.concatenate([np.sin(2 * vectors), np.cos(3 * vectors), vectors**2], axis=1)
    source, target = EmbeddingSpace(WORDS, vectors), EmbeddingSpace(WORDS, images)
    chosen = choose_alignment(source, target)
    assert chosen.settings.method == "kernel-ridge"
    assert chosen.published is not None and chosen.published.settings == PUBLISHED
    assert chosen.quality.precision(5, "csls anchors") > chosen.published.precision(
        5, "csls anchors"
    )


def test_scores_are_of_words_that_took_no_part_in_the_choice(monkeypatch):
    seen = []
    evaluate = choose.evaluate_split

    def record(anchors, test, *given):
        seen.append(
            (set(anchors.words), {w for w, out in zip(anchors.words, test, strict=True) if out})
        )
        return evaluate(anchors, test, *given)

    monkeypatch.setattr(choose, "evaluate_split", record)
    chosen = choose_alignment(*build_spaces(RNG.normal(size=(8, 8)), noise=1.0))
    last = {word for word in WORDS if hash_word(word) % 5 == 4}
    assert set(chosen.quality.anchors.words) == last
    comparisons = [words for words, _ in seen if words != set(WORDS)]
    assert len(comparisons) >= 4 * chosen.of and all(not words & last for words in comparisons)
    reports = [test for words, test in seen if words == set(WORDS)]
    assert reports and all(test == last for test in reports)
    # Candidates are the wordpieces of all anchors.
    assert chosen.quality.candidates["anchors"] == len(WORDS)
    assert chosen.quality.scores.words == len(last)


def test_many_anchors_are_compared_on_one_fold(monkeypatch):
    calls = []
    evaluate = choose.evaluate_split
    monkeypatch.setattr(choose, "MAX_ROTATED", 100)
    monkeypatch.setattr(
        choose, "evaluate_split", lambda *given: calls.append(1) or evaluate(*given)
    )
    chosen = choose_alignment(*build_spaces(RNG.normal(size=(8, 8))))
    assert len(calls) == chosen.of + 1  # and once on the last fold


def test_methods_that_cannot_be_fitted_are_left_out():
    source, target = build_spaces(RNG.normal(size=(30, 30)), words=WORDS[:40], dim=30)
    chosen = choose_alignment(source, target)
    assert chosen.settings.method != "least-squares" and chosen.published is None


@pytest.mark.parametrize("n", [1, 3])
def test_too_few_words_are_refused(n):
    with raises_input_error("too-few-anchors", str(n)):
        choose_alignment(*build_spaces(np.eye(8), words=WORDS[:n]))


def test_a_single_fold_is_compared_word_by_word():
    from vocadapt.spaces.alignment.cross_validation import compare_fold_by_fold

    vectors = RNG.normal(size=(600, 3)).astype(np.float32)
    images = np.concatenate([np.sin(2 * vectors), np.cos(3 * vectors), vectors**2], axis=1)
    chosen = choose_alignment(EmbeddingSpace(WORDS, vectors), EmbeddingSpace(WORDS, images))
    assert chosen.published is not None
    found = compare_fold_by_fold(chosen.quality, chosen.published)
    assert found.folds == 1 and found.won == 1 and found.p < 0.05
    same = compare_fold_by_fold(chosen.quality, chosen.quality)
    assert (same.difference, same.p, same.won) == (0, 1, 0)
