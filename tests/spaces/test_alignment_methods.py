"""Alignment methods that retrieve, learn from few anchors, and set vector lengths: answers
worked by hand, invariants, reproducibility and invalid input.
"""

from dataclasses import replace

import numpy as np
import pytest

from vocadapt.spaces.alignment.alignment import METHODS, AlignmentSettings, fit_alignment
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.alignment.least_squares import solve_least_squares
from vocadapt.spaces.alignment.mlp import TEMPERATURE, apply_mlp, compute_retrieval_loss, fit_mlp
from vocadapt.spaces.alignment.rcsls import _compute_loss, fit_rcsls
from vocadapt.spaces.alignment.self_learning import find_mutual_neighbors, fit_self_learning
from vocadapt.spaces.alignment.vector_length import fit_norm_curve, read_norm_curve
from vocadapt.spaces.space import EmbeddingSpace, normalize_rows

NEW = (
    "weighted-least-squares",
    "rcsls",
    "mlp",
    "ensemble",
    "self-learning",
)


def space(matrix, counts=None):
    words = tuple(f"w{i}" for i in range(len(matrix)))
    return EmbeddingSpace(words, np.asarray(matrix, dtype=np.float32), counts)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rotation(rng, dim):
    return np.linalg.qr(rng.normal(size=(dim, dim)))[0]


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def quick(method, **changes):
    """Return settings with two epochs, if the method has epochs."""
    if "mlp_epochs" in METHODS[method].settings:
        changes["mlp_epochs"] = 2
    return AlignmentSettings(method, **changes)


def test_self_learning_recovers_a_rotation_exactly(rng):
    x, turn = rng.normal(size=(80, 6)), rotation(rng, 6)
    settings = AlignmentSettings("self-learning", vector_length="mapped", induction_rounds=3)
    fitted = fit_alignment(space(x), space(x @ turn), settings)
    assert relative(fitted.apply(x.astype(np.float32)), x @ turn) < 1e-5


def test_self_learning_recovers_a_rotation_from_few_anchors(rng):
    x, turn = rng.normal(size=(400, 12)) * np.linspace(1, 3, 12), rotation(rng, 12)
    order = rng.permutation(400)
    y = x @ turn
    y[:8] += 0.1 * rng.normal(size=(8, 12))
    fitted = fit_self_learning(
        x[:8], y[:8], x.astype(np.float32), y[order].astype(np.float32), 15, 1
    )
    assert relative(x @ fitted, x @ turn) < 0.05


def test_mutual_neighbors_by_hand(rng):
    mapped = normalize_rows(np.array([[1, 0], [0, 1], [0.9, 0.5]], dtype=np.float32))
    targets = normalize_rows(np.array([[0, 1], [1, 0]], dtype=np.float32))
    rows, columns = find_mutual_neighbors(mapped, targets, 1.0, rng)
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]
    empty = np.empty((0, 2), np.float32)
    assert [len(found) for found in find_mutual_neighbors(mapped, empty, 1.0, rng)] == [0, 0]


def test_weights_of_one_equal_the_unweighted(rng):
    """With equal counts the weights of all anchors are 1."""
    x, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 5))
    counts = np.full(60, 7)
    weighted = fit_alignment(
        space(x, counts), space(y), AlignmentSettings("weighted-least-squares")
    )
    ridge = fit_alignment(space(x), space(y), AlignmentSettings("ridge"))
    np.testing.assert_array_equal(weighted.matrix, ridge.matrix)
    for method in ("rcsls", "mlp"):
        settings = quick(method)
        one, other = (
            fit_alignment(space(x, given), space(y), settings) for given in (counts, None)
        )
        np.testing.assert_array_equal(one.matrix, other.matrix)


def test_rare_anchors_count_less():
    settings = AlignmentSettings("weighted-least-squares", ridge=1e-6)
    fitted = fit_alignment(space([[1], [1]], np.array([50, 1])), space([[1], [0]]), settings)
    # weights 50/100 and 1/51
    assert fitted.matrix[0, 0] == pytest.approx(0.5 / (0.5 + 1 / 51), rel=1e-4)


def test_the_gradient_of_rcsls_is_that_of_its_loss(rng):
    x, y = (normalize_rows(rng.normal(size=(30, 4)).astype(np.float32)) for _ in range(2))
    x, y, weights = x.astype(np.float64), y.astype(np.float64), np.full(30, 1 / 30)
    matrix, step = rng.normal(size=(4, 4)), 1e-6 * rng.normal(size=(4, 4))
    loss, gradient = _compute_loss(x, y, weights, matrix)
    assert _compute_loss(x, y, weights, matrix + step)[0] - loss == pytest.approx(
        float((gradient * step).sum()), rel=1e-3
    )


def test_rcsls_lowers_its_loss(rng):
    x = normalize_rows(rng.normal(size=(60, 5)).astype(np.float32)).astype(np.float64)
    y = normalize_rows((x @ rotation(rng, 5) + 0.3 * rng.normal(size=(60, 5))).astype(np.float32))
    start, weights = solve_least_squares(x, y.astype(np.float64)), np.ones(60)
    spread = np.linalg.norm(x @ start, axis=1).mean()
    shares = (weights / 60).astype(np.float32)
    fitted = fit_rcsls(x, y.astype(np.float64), weights, start)
    single = x.astype(np.float32)
    before, _ = _compute_loss(single, y, shares, (start / spread).astype(np.float32))
    assert _compute_loss(single, y, shares, fitted)[0] < before


def test_the_retrieval_loss_by_hand_and_its_gradient(rng):
    targets = np.eye(2, dtype=np.float32)
    ones = np.ones(2, dtype=np.float32)
    # Cosines 1 and 0 in both directions: −log(e^(1/T) / (e^(1/T) + 1)), twice.
    loss, _ = compute_retrieval_loss(3 * targets, targets, ones)
    assert loss == pytest.approx(2 * np.log1p(np.exp(-1 / TEMPERATURE)), abs=1e-6)
    mapped, step = rng.normal(size=(5, 3)), 1e-6 * rng.normal(size=(5, 3))
    targets = rng.normal(size=(5, 3))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    weights = rng.random(5)
    loss, gradient = compute_retrieval_loss(mapped, targets, weights)
    moved, _ = compute_retrieval_loss(mapped + step, targets, weights)
    assert moved - loss == pytest.approx(float((gradient * step).sum()), rel=1e-3)


def test_the_network_without_training_is_ridge_regression(rng):
    x, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 4))
    norms = np.ones(60)
    fitted = fit_mlp(x, y, norms, np.ones(60), 0.0, 0, 1)
    rows = x.astype(np.float32)
    mapped = apply_mlp(rows, norms.astype(np.float32), fitted)
    constant = np.column_stack([x, np.full(60, -0.1)])  # the square of the log norm
    wanted = constant @ np.linalg.lstsq(constant, y, rcond=None)[0]
    assert relative(mapped, wanted) < 1e-4


def test_the_network_learns_what_a_matrix_cannot(rng):
    x = normalize_rows(rng.normal(size=(300, 4)).astype(np.float32))
    y = np.column_stack([np.abs(x), x[:, 0] * x[:, 1]])
    source, target = space(x), space(y)
    linear, network = (
        cross_validate(source, target, settings, 2)
        for settings in (AlignmentSettings("ridge"), AlignmentSettings("mlp", mlp_epochs=60))
    )
    assert network.precision(5) > linear.precision(5)


def test_the_norm_of_anchors_of_equal_frequency():
    counts = np.repeat([8, 1], 10)
    targets = np.repeat([[2.0, 0.0], [0.0, 5.0]], 10, axis=0).astype(np.float32)
    curve = fit_norm_curve(counts, np.arange(20), targets)
    np.testing.assert_allclose(curve, [[0, np.log(8)], [5, 2]], rtol=1e-6)
    # In the middle of the log counts the norm is in the middle; beyond the ends it is constant.
    found = read_norm_curve(curve, np.array([1, 8, 100, 0]), 4)
    np.testing.assert_allclose(found, [5, 2, 2, 5], rtol=1e-6)
    np.testing.assert_allclose(read_norm_curve(curve, None, 2), [3.5, 3.5])
    assert fit_norm_curve(None, np.arange(20), targets).tolist() == [[0.0], [3.5]]


@pytest.mark.parametrize("method", NEW)
def test_mapped_vectors_have_the_length_of_the_anchors(rng, method):
    x = rng.normal(size=(60, 5))
    y = 3 * normalize_rows(rng.normal(size=(60, 4)).astype(np.float32))
    settings = quick(method, unit=True, center=True)
    source = space(x, np.arange(60) + 1)
    fitted = fit_alignment(source, space(y), settings)
    norms = np.linalg.norm(fitted.apply(source.matrix, source.counts), axis=1)
    np.testing.assert_allclose(norms, 3, rtol=1e-4)
    result = cross_validate(source, space(y), settings, 3)
    np.testing.assert_allclose(result.length, 1, rtol=1e-4)
    assert result.scores.length.ratio == pytest.approx(1, rel=1e-4)
    mapped = fit_alignment(source, space(y), replace(settings, vector_length="mapped"))
    assert mapped.norm_curve is None


@pytest.mark.parametrize("method", NEW)
def test_methods_are_reproducible_by_seed(rng, method):
    source, target = space(rng.normal(size=(50, 5))), space(rng.normal(size=(50, 5)))
    settings = quick(method, unit=True, center=True)
    one = fit_alignment(source, target, settings)
    np.random.seed(3)  # noqa: NPY002  the global seed must not matter
    other = fit_alignment(source, target, settings)
    np.testing.assert_array_equal(one.apply(source.matrix), other.apply(source.matrix))


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("anchors", ["few", "one", "duplicates", "zeros", "some zeros"])
@pytest.mark.parametrize("method", NEW)
def test_hostile_anchors_give_finite_vectors(rng, method, anchors, centered):
    x, y = rng.normal(size=(30, 8)), rng.normal(size=(30, 8))
    if anchors == "few":
        x, y = x[:5], y[:5]
    elif anchors == "one":
        x, y = x[:1], y[:1]
    elif anchors == "duplicates":
        x[:], y[:] = x[0], y[0]
    elif anchors == "zeros":
        x[:], y[:] = 0, 0
    else:
        x[3], y[4] = 0, 0
    settings = quick(method, unit=centered, center=centered)
    assert method in METHODS
    rows = rng.normal(size=(4, 8)).astype(np.float32)
    for counts in (None, np.ones(len(x), dtype=np.int64)):
        fitted = fit_alignment(space(x, counts), space(y), settings)
        assert np.isfinite(fitted.apply(rows)).all()
