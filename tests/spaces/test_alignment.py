"""Alignments: exact recovery, ill-conditioned anchors, scale, and invalid input."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.alignment.alignment import (
    METHODS,
    Alignment,
    AlignmentSettings,
    AnchorFilter,
    find_anchors,
    fit_alignment,
)
from vocadapt.spaces.alignment.kernel_ridge import apply_kernel_alignment, solve_kernel_ridge
from vocadapt.spaces.alignment.least_squares import solve_least_squares
from vocadapt.spaces.space import EmbeddingSpace, TokenKinds, normalize_rows


def words(n):
    return tuple(f"w{i}" for i in range(n))


def space(matrix, counts=None, name="space"):
    matrix = np.asarray(matrix, dtype=np.float32)
    return EmbeddingSpace(words(len(matrix)), matrix, counts, name)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def test_anchors_are_all_shared_words_in_the_order_of_the_source():
    source = EmbeddingSpace(("b", "only here", "a", "[CLS]"), np.ones((4, 2), np.float32))
    kinds = TokenKinds(special=frozenset({"[CLS]"}))
    target = EmbeddingSpace(("a", "b", "[CLS]"), np.ones((3, 2), np.float32), kinds=kinds)
    anchors = find_anchors(source, target)
    assert anchors.words == ("b", "a")
    assert anchors.source_rows.tolist() == [0, 2]
    assert anchors.target_rows.tolist() == [1, 0]


def test_the_filter_leaves_out_what_it_names():
    shared = ("x", "h1n1", "##ing", "rare", "common")
    source = EmbeddingSpace(shared, np.ones((5, 2), np.float32), np.array([9, 9, 9, 2, 9]))
    kinds = TokenKinds(continuations=frozenset({"##ing"}))
    target = EmbeddingSpace(shared, np.ones((5, 2), np.float32), kinds=kinds)
    assert find_anchors(source, target).words == shared
    strict = AnchorFilter(single_characters=True, digits=True, continuation=True, min_count=5)
    assert find_anchors(source, target, strict).words == ("common",)


def test_no_shared_word_and_a_minimum_without_counts_are_input_errors():
    one, other = (
        EmbeddingSpace(("a",), np.ones((1, 2), np.float32)),
        EmbeddingSpace(("b",), np.ones((1, 2), np.float32)),
    )
    with raises_input_error("no-anchor"):
        find_anchors(one, other)
    with raises_input_error("no-counts", "3"):
        find_anchors(one, one, AnchorFilter(min_count=3))


def test_least_squares_recovers_a_linear_map(rng):
    x, true = rng.normal(size=(60, 8)), rng.normal(size=(8, 5))
    fitted = fit_alignment(space(x), space(x @ true))
    assert relative(fitted.matrix, true) < 1e-5
    assert relative(fitted.apply(x.astype(np.float32)), x @ true) < 1e-5
    assert fitted.anchors == 60


def test_least_squares_by_hand():
    # one dimension: w = Σxy / Σx² = (1·2 + 2·3) / (1 + 4)
    assert fit_alignment(space([[1], [2]]), space([[2], [3]])).matrix[0, 0] == pytest.approx(8 / 5)


def test_procrustes_recovers_a_rotation_and_keeps_lengths(rng):
    x, rotation = rng.normal(size=(40, 6)), np.linalg.qr(rng.normal(size=(6, 6)))[0]
    fitted = fit_alignment(space(x), space(3 * x @ rotation), AlignmentSettings("procrustes"))
    assert relative(fitted.matrix, rotation) < 1e-5


def test_ridge_shrinks_the_weights_and_kernel_ridge_is_nonlinear(rng):
    x = normalize_rows(rng.normal(size=(300, 4)))
    y = np.column_stack([x[:, 0] * x[:, 1], x[:, 2] ** 2 - x[:, 3] ** 2])
    straight, bent = (
        fit_alignment(space(x), space(y), AlignmentSettings(m, ridge=1e-3))
        for m in ("ridge", "kernel-ridge")
    )
    error = [relative(fitted.apply(x.astype(np.float32)), y) for fitted in (straight, bent)]
    assert error[0] > 0.9 and error[1] < 0.2
    maps = [
        fit_alignment(space(x), space(y), AlignmentSettings("ridge", ridge=penalty))
        for penalty in (0.01, 1, 100)
    ]
    norms = [np.linalg.norm(fitted.matrix) for fitted in maps]
    assert norms == sorted(norms, reverse=True)


def test_kernel_ridge_solves_its_equation_and_weights_are_repetitions(rng):
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    weights = np.array([2.0, *[1.0] * 19])
    twice = np.r_[0, np.arange(20)]
    weighted = solve_kernel_ridge(x, y, weights, 0.5)
    repeated = solve_kernel_ridge(x[twice], y[twice], np.ones(21), 0.5)
    rows = rng.normal(size=(7, 3)).astype(np.float32)
    one, other = (
        apply_kernel_alignment(rows, z.astype(np.float32), a)
        for z, a in ((x, weighted), (x[twice], repeated))
    )
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_frequent_anchors_count_more():
    settings = AlignmentSettings(weights="reliability")
    fitted = fit_alignment(space([[1], [1]], np.array([10_000, 1])), space([[1], [0]]), settings)
    assert fitted.matrix[0, 0] > 0.9
    with raises_input_error("no-counts", "reliability"):
        fit_alignment(space([[1], [1]]), space([[1], [0]]), settings)


@pytest.mark.parametrize("condition", [30, 1e5, 1e9])
def test_the_solver_agrees_with_lstsq_however_bad_the_condition(rng, condition):
    left, right = (
        np.linalg.qr(rng.normal(size=(400, 40)))[0],
        np.linalg.qr(rng.normal(size=(40, 40)))[0],
    )
    x, y = (left * np.geomspace(1, 1 / condition, 40)) @ right, rng.normal(size=(400, 30))
    assert relative(solve_least_squares(x, y), np.linalg.lstsq(x, y, rcond=None)[0]) < 1e-6


def test_dependent_or_zero_columns_give_the_solution_of_minimum_norm(rng):
    x, y = rng.normal(size=(50, 6)), rng.normal(size=(50, 3))
    x[:, 5], x[:, 4] = x[:, 0], 0.0
    assert relative(solve_least_squares(x, y), np.linalg.pinv(x) @ y) < 1e-8


def test_columns_of_very_different_scale_need_no_svd(rng):
    x, y = rng.normal(size=(50, 6)) * np.geomspace(1, 1e-8, 6), rng.normal(size=(50, 3))
    assert relative(solve_least_squares(x, y), np.linalg.lstsq(x, y, rcond=1e-20)[0]) < 1e-6


def test_fewer_anchors_than_dimensions(rng):
    source, target = space(rng.normal(size=(5, 8))), space(rng.normal(size=(5, 8)))
    with raises_input_error("too-few-anchors", "5 anchors", "8 dimensions") as caught:
        fit_alignment(source, target)
    assert "ridge" in caught.value.remedy
    for method in ("ridge", "procrustes", "kernel-ridge"):
        assert np.isfinite(
            fit_alignment(source, target, AlignmentSettings(method)).apply(source.matrix)
        ).all()


def test_identity_keeps_the_vectors_and_needs_equal_dimensions(rng):
    source = space(rng.normal(size=(9, 4)))
    fitted = fit_alignment(source, source, AlignmentSettings("identity"))
    np.testing.assert_array_equal(fitted.apply(source.matrix), source.matrix)
    with raises_input_error("wrong-dimensions", "4", "5"):
        fit_alignment(source, space(rng.normal(size=(9, 5))), AlignmentSettings("identity"))


def test_random_alignments_have_the_targets_norm_and_their_own_seed(rng):
    source, target = space(rng.normal(size=(50, 4))), space(7 * rng.normal(size=(50, 6)))
    first = fit_alignment(source, target, AlignmentSettings("random"))
    np.random.seed(3)  # noqa: NPY002  the global seed must not matter
    again, other = (
        fit_alignment(source, target, AlignmentSettings("random", seed=seed)) for seed in (1, 2)
    )
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert (first.matrix != other.matrix).any()
    lengths = (
        np.linalg.norm(first.apply(source.matrix), axis=1).mean(),
        np.linalg.norm(target.matrix, axis=1).mean(),
    )
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-4)


@pytest.mark.parametrize("method", ["least-squares", "procrustes"])
def test_normalized_and_centered_alignments_give_vectors_of_the_targets_scale(rng, method):
    x = normalize_rows(rng.normal(size=(80, 5)) + 3)
    y = 4 * normalize_rows(x @ np.linalg.qr(rng.normal(size=(5, 5)))[0])
    fitted = fit_alignment(
        space(9 * x), space(y), AlignmentSettings(method, unit=True, center=True)
    )
    assert relative(fitted.apply((2 * x).astype(np.float32)), y) < 1e-4
    prepared = fitted.prepare_target(y.astype(np.float32))
    assert abs(prepared.mean(axis=0)).max() < 1e-6
    assert relative(fitted.map_source(x.astype(np.float32)), prepared) < 1e-4


@pytest.mark.parametrize("method", [*METHODS])
def test_save_and_load(rng, tmp_path, method):
    source, target = space(rng.normal(size=(30, 4))), space(rng.normal(size=(30, 4)))
    fitted = fit_alignment(
        source,
        target,
        AlignmentSettings(method, unit=True, anchors=AnchorFilter(digits=False, min_count=0)),
    )
    fitted.save(tmp_path)
    loaded = Alignment.load(tmp_path)
    assert loaded.settings == fitted.settings and loaded.anchors == 30
    np.testing.assert_array_equal(loaded.apply(source.matrix), fitted.apply(source.matrix))


def test_bad_input_is_named(rng, tmp_path):
    with raises_input_error("missing-file"):
        Alignment.load(tmp_path)
    fitted = fit_alignment(space(rng.normal(size=(30, 4))), space(rng.normal(size=(30, 4))))
    with raises_input_error("wrong-dimensions", "4", "(2, 5)"):
        fitted.apply(np.ones((2, 5), np.float32))


def test_the_inputs_are_not_changed(rng):
    source, target = space(rng.normal(size=(30, 4))), space(rng.normal(size=(30, 4)))
    before = source.matrix.copy(), target.matrix.copy()
    for method in METHODS:
        fit_alignment(source, target, AlignmentSettings(method, unit=True, center=True)).apply(
            source.matrix
        )
    np.testing.assert_array_equal(source.matrix, before[0])
    np.testing.assert_array_equal(target.matrix, before[1])
