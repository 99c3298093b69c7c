"""Neighborhood change: overlaps worked by hand, invariances, the noise baseline, and invalid
input."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.spaces import AFTER, BEFORE, angles
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled
from vocadapt.spaces.neighbors.change import (
    NOT_IN_BASELINE,
    RANKINGS,
    WEIGHTED,
    ZERO_VECTOR,
    ChangeSettings,
    ComparedSpace,
    NeighborhoodChange,
    estimate_change_seconds,
    find_numbers,
    find_punctuation,
    measure_neighborhood_change,
)
from vocadapt.spaces.neighbors.noise_baseline import (
    BaselinePair,
    assign_frequency_bands,
    explain_missing_baseline,
    measure_change_with_baseline,
)
from vocadapt.spaces.neighbors.search import Neighbors
from vocadapt.spaces.space import EmbeddingSpace, TokenKinds


def random_space(words=60, dim=8, seed=1, name="r", counts=None):
    matrix = np.random.default_rng(seed).normal(size=(words, dim)).astype(np.float32)
    return EmbeddingSpace(tuple(f"w{i:03}" for i in range(words)), matrix, counts, name)


def test_overlap_by_hand():
    # before (k = 2): a: b c, b: a c, c: b a, d: e c, e: d c · after: a: e d, b: c d, c: b d, d: a
    # e, e: a d
    change = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2))
    assert dict(zip(change.words, change.overlap, strict=True)) == {
        "a": 0,
        "b": 0.5,
        "c": 0.5,
        "d": 0.5,
        "e": 0.5,
    }
    assert (change.shared, change.sizes) == (5, (6, 6))
    assert change.mean == pytest.approx(0.4)
    assert change.histogram.tolist() == [1, 4, 0]
    assert [change.words[row] for row in change.order] == ["a", "b", "c", "d", "e"]
    assert change.chance == pytest.approx(2 / 4)
    found = change.word("d")
    assert [one.word for one in found.only_before] == ["c"]
    assert [one.word for one in found.only_after] == ["a"]
    (both,) = found.both
    assert both.word == "e"
    assert (both.before, both.after) == pytest.approx(
        (np.cos(np.radians(20)), np.cos(np.radians(30))), abs=1e-6
    )
    assert found.only_before[0].cosine == pytest.approx(np.cos(np.radians(65)), abs=1e-6)


def test_ranking_by_change_times_frequency_by_hand():
    # overlaps: a 0, b to e .5 (see above); log(1 + count) relative to log(1000)
    counts = {"a": 0, "b": 999, "c": 9, "d": 99, "e": 9}
    counted = EmbeddingSpace(
        tuple(counts), np.ones((5, 1), dtype=np.float32), np.array([*counts.values()]), "counted"
    )
    change = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2), counted=counted)
    assert change.counts_from == "counted" and change.counts.tolist() == [0, 999, 9, 99, 9]
    assert change.frequency.tolist() == pytest.approx([0, 1, 1 / 3, 2 / 3, 1 / 3])
    ranked = {by: "".join(change.words[row] for row in change.rank(by)) for by in RANKINGS}
    assert ranked == {WEIGHTED: "bdcea", "change": "abdce", "frequency": "bdcea"}
    # without counts the id stands for the frequency: 6 words before, ids 0 to 4
    plain = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2))
    assert plain.counts is None and plain.counts_from == ""
    expected = [np.log(7 / (row + 1)) / np.log(7) for row in range(5)]
    assert plain.frequency.tolist() == pytest.approx(expected)
    assert "".join(plain.words[row] for row in plain.rank(WEIGHTED)) == "abcde"


def test_counts_of_other_words_are_no_counts():
    other = EmbeddingSpace(("x",), np.ones((1, 1), dtype=np.float32), np.array([5]), "other")
    change = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2), counted=other)
    assert change.counts is None and change.counts_from == ""


def test_numbers_and_punctuation_are_kinds_of_tokens():
    words = ("12", "3.5", "2-0", ".", "(", "--", "x2", "β", "don't", "##14", "½", "_")
    space = EmbeddingSpace(words, np.ones((len(words), 2), dtype=np.float32))
    assert find_numbers(space) == {"12", "3.5", "2-0", "##14"}
    assert find_punctuation(space) == {".", "(", "--", "_"}


def test_spaces_with_the_same_vectors_are_recognized():
    space = random_space(30)
    more = EmbeddingSpace(("new", *space.words), np.vstack([np.ones((1, 8)), space.matrix]))
    change = measure_neighborhood_change(space, more, ChangeSettings(k=2))
    assert change.same_vectors and change.mean == 1
    other = random_space(30, seed=2)
    assert not measure_neighborhood_change(space, other, ChangeSettings(k=2)).same_vectors
    assert not measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2)).same_vectors


def test_a_missing_noise_baseline_is_explained_by_vectors_and_candidates():
    space, other = random_space(30), random_space(30, seed=2)
    more = EmbeddingSpace(("new", *space.words), np.vstack([np.ones((1, 8)), space.matrix]))

    def explain(after, among):
        settings = ChangeSettings(k=2, among=among)
        return explain_missing_baseline(measure_neighborhood_change(space, after, settings)).code

    assert explain(other, "shared") == "no_baseline"
    assert explain(other, "all") == "no_baseline_possible"
    assert explain(more, "shared") == explain(more, "all") == "no_baseline_needed"


def test_with_all_words_as_candidates_new_words_are_neighbors_too():
    # "only" (at 1°) comes next to a, "other" (at 5°) next to e: they are in no other space's list
    change = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=1, among="all"))
    assert [one.word for one in change.word("a").only_before] == ["only"]
    assert [one.word for one in change.word("e").only_after] == ["other"]
    assert change.words == ("a", "b", "c", "d", "e")
    assert dict(zip(change.words, change.overlap, strict=True))["c"] == 1
    assert change.chance == pytest.approx(1 * 4 / 25)


def test_identical_and_rotated_spaces_have_full_overlap():
    space = random_space(300, 16)
    turn, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(16, 16)))
    wider = np.hstack(
        [space.matrix @ turn.astype(np.float32), np.zeros((300, 5), dtype=np.float32)]
    )
    for other in (space, space.with_matrix(3 * space.matrix), space.with_matrix(wider, "turned")):
        change = measure_neighborhood_change(space, other)
        assert (change.overlap == 1).all() and change.histogram[-1] == 300
        assert not change.word("w000").only_before and len(change.word("w000").both) == 10


def test_unrelated_spaces_agree_by_chance():
    change = measure_neighborhood_change(random_space(2000, 32, 1), random_space(2000, 16, 2))
    assert change.chance == pytest.approx(10 / 1999)
    assert change.mean == pytest.approx(change.chance, abs=0.002)


def test_equal_overlaps_are_ordered_by_frequency_if_counts_are_known():
    counted = EmbeddingSpace(BEFORE.words, BEFORE.matrix, np.array([1, 5, 9, 7, 9, 1]), "a")
    change = measure_neighborhood_change(counted, AFTER, ChangeSettings(k=2))
    assert [change.words[row] for row in change.order] == ["a", "c", "e", "d", "b"]


def test_results_do_not_depend_on_word_order_or_blocks(monkeypatch):
    first, second = random_space(90, seed=1), random_space(90, seed=2)
    whole = measure_neighborhood_change(first, second)
    shuffled = second.take(np.random.default_rng(3).permutation(90))
    monkeypatch.setattr("vocadapt.spaces.neighbors.search.BLOCK", 500)
    assert measure_neighborhood_change(first, shuffled).overlap.tolist() == whole.overlap.tolist()


def test_kinds_of_words_are_left_out_and_counted():
    words = ("[CLS]", "[unused7]", "##ing", "##", "zero", "a", "b", "c", "d")
    matrix = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    matrix[4] = 0
    kinds = TokenKinds(frozenset({"[CLS]"}), frozenset({"##ing"}), frozenset({"[unused7]"}))
    space = EmbeddingSpace(words, matrix, kinds=kinds)
    settings = ChangeSettings(k=1, without=("special", "continuation", "unused"))
    change = measure_neighborhood_change(space, space, settings)
    assert change.words == ("##", "a", "b", "c", "d") and change.shared == 9
    assert change.left_out == dict.fromkeys([*settings.without, ZERO_VECTOR], 1)


def test_hostile_words_are_words():
    words = ("<script>", "$x$", "<s>", ":red[x]", "\u202eabc", "x" * 500, "a\tb", "'; --")
    matrix = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
    change = measure_neighborhood_change(
        EmbeddingSpace(words, matrix), EmbeddingSpace(words, matrix[::-1]), ChangeSettings(k=2)
    )
    assert {change.word(word).word for word in words} == set(words)


def test_bad_spaces():
    with raises_input_error("no-common-word"):
        measure_neighborhood_change(angles({"a": 1, "b": 2}), angles({"c": 1, "d": 2}))
    with raises_input_error("too-few-words", "4 neighbors", "6 words", "5 of the 5"):
        measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=4))
    measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=3))
    with raises_input_error("unknown-word", "5"):
        measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2)).word("only")


def test_it_can_be_stopped_and_its_time_is_estimated():
    space, told = random_space(60), []

    def stop(fraction, message=""):
        told.append(message)
        raise Canceled

    with pytest.raises(Canceled):
        measure_neighborhood_change(space, space, progress=stop)
    assert [list_numbers(message) for message in told] == [["60", "60"]]
    assert (
        0
        < estimate_change_seconds(space, space)
        < estimate_change_seconds(space, random_space(60, 400))
    )


def test_the_noise_baseline_by_hand():
    # four words moved of 40; between the null's spaces nothing but the last word did
    before = random_space(40, 12, 1)
    moved = before.matrix.copy()
    moved[:4] = -moved[:4]
    near = before.matrix.copy()
    near[-1] = -near[-1]
    pair = BaselinePair("two seeds", before, before.with_matrix(near, "again"))
    change, null = measure_change_with_baseline(
        before, before.with_matrix(moved, "b"), ChangeSettings(k=3), pair
    )
    same = measure_neighborhood_change(
        before, before.with_matrix(near), ChangeSettings(k=3)
    ).overlap
    assert null is not None and null.overlap.tolist() == same.tolist() and null.bands == 1
    threshold = np.sort(same)[1]  # of 40 values the 5 % quantile is the second
    assert set(null.threshold) == {threshold}
    assert null.fraction_below == (change.overlap < threshold).mean()
    row = change.index["w000"]
    x = change.overlap[row]
    assert null.quantile[row] == pytest.approx(((same < x).sum() + (same == x).sum() / 2) / 40)
    assert null.z[row] == pytest.approx((x - same.mean()) / same.std())
    assert null.baseline_fraction_below <= 0.05 and not null.same
    assert null.names == ("r", "again")


def test_a_noise_baseline_of_two_equal_spaces_does_not_vary():
    space = random_space(50)
    change, null = measure_change_with_baseline(
        space, random_space(50, seed=2), ChangeSettings(k=5), BaselinePair("equal", space, space)
    )
    assert null is not None and null.same and null.mean == 1 and np.isnan(null.z).all()
    assert null.fraction_below == (change.overlap < 1).mean() and null.baseline_fraction_below == 0
    _, still = measure_change_with_baseline(
        space, space, ChangeSettings(k=5), BaselinePair("equal", space, space)
    )
    assert still is not None and still.fraction_below == 0 and set(still.quantile) == {0.5}


def test_words_that_the_noise_baseline_lacks_are_not_compared():
    before, after = random_space(60), random_space(60, seed=2)
    holed = random_space(50, seed=3)
    zero = before.matrix.copy()
    zero[7] = 0
    change, null = measure_change_with_baseline(
        before, after, ChangeSettings(k=4), BaselinePair("x", holed, before.with_matrix(zero))
    )
    assert null is not None
    assert len(change.words) == len(null.overlap) == 49
    assert "w007" not in change.words
    assert change.left_out == {NOT_IN_BASELINE: 11} and change.shared == 60
    with raises_input_error("unlike-candidates"):
        measure_change_with_baseline(
            before, after, ChangeSettings(k=4, among="all"), BaselinePair("x", before, after)
        )


def test_words_are_compared_with_their_own_frequency_band():
    counts = np.repeat([1000, 100, 10, 1], 300)
    assert assign_frequency_bands(counts, 1200).tolist() == np.repeat([3, 2, 1, 0], 300).tolist()
    assert set(assign_frequency_bands(None, 1200)) == {0}
    assert set(assign_frequency_bands(np.arange(300), 300)) == {0}
    assert np.bincount(assign_frequency_bands(np.arange(5000), 5000)).tolist() == [500] * 10
    # most words occur once or twice: the 20 in between are too few to be held against, and go to
    # the smaller neighbor
    counts = np.concatenate(
        [np.ones(4990), np.full(20, 2), np.full(1990, 3), 4 + np.arange(3000)]
    ).astype(np.int64)
    band = assign_frequency_bands(counts, 10_000)
    assert np.bincount(band).tolist() == [4990, 2010, 1000, 1000, 1000]
    assert (np.diff(band) >= 0).all() and set(band[4990:7000]) == {1}
    assert set(assign_frequency_bands(np.repeat([1, 2], [1900, 100]), 2000)) == {0}
    # rare words agree on nothing between the seeds, frequent ones on all: no rare word is called
    # changed, each frequent one is
    space = random_space(400, 10, 1)
    other = random_space(400, 10, 2)
    counts = np.repeat([50, 2], 200)
    before = EmbeddingSpace(space.words, space.matrix, counts, "a")
    mixed = EmbeddingSpace(
        space.words, np.vstack([space.matrix[:200], other.matrix[200:]]), None, "seed 2"
    )
    _, null = measure_change_with_baseline(
        before, other, ChangeSettings(k=5), BaselinePair("seeds", before, mixed)
    )
    assert null is not None and null.bands == 2
    assert null.below[:200].mean() > 0.5 > null.below[200:].mean()


def test_the_showcase_is_the_word_whose_neighbors_became_nearest():
    """Cosines by hand: "first" lost both neighbors at .5 to others at .9, "other" only one of two.

    The means over both words are .5 before and .8 after: (1 · (.9 − .8 − 0), .5 · (.7 − .8 − 0)).
    """
    near = [np.array([[2, 3], [2, 3]]), np.array([[4, 5], [2, 5]])]
    scores = [np.full((2, 2), 0.5), np.array([[0.9, 0.9], [0.7, 0.7]])]
    words = ("first", "other", "c", "d", "e", "f")
    sides = [
        ComparedSpace(name, words, Neighbors(rows, values.astype(np.float32)))
        for name, rows, values in zip("ab", near, scores, strict=True)
    ]

    def change(names, overlap):
        settings = ChangeSettings(k=2)
        return NeighborhoodChange(names, np.array(overlap), *sides, settings, (6, 6), 2, {})

    assert change(("first", "other"), (0.0, 0.5)).showcase == "first"
    # Short words, numbers and words that keep all neighbors are no example.
    assert change(("a", "other"), (0.0, 0.5)).showcase == "other"
    assert change(("co-op", "other"), (0.0, 1.0)).showcase == ""
