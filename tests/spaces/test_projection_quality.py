"""Trustworthiness and preservation: against scikit-learn, worked by hand, and limits of their
input."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.projection import quality as module
from vocadapt.spaces.projection.quality import find_neighbors_in_plane, measure_projection_quality
from vocadapt.spaces.space import EmbeddingSpace


def space_of(matrix) -> EmbeddingSpace:
    return EmbeddingSpace(
        tuple(f"w{i}" for i in range(len(matrix))), np.asarray(matrix, dtype=np.float32)
    )


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize(("n", "k"), [(60, 15), (200, 5), (7, 3)])
def test_agrees_with_scikit_learn(n, k, metric):
    from sklearn.manifold import trustworthiness

    random = np.random.default_rng(n)
    matrix, xy = (
        random.normal(size=(n, 12)).astype(np.float32),
        random.normal(size=(n, 2)).astype(np.float32),
    )
    found = measure_projection_quality(space_of(matrix), xy, k, metric)
    assert found.trustworthiness == pytest.approx(
        trustworthiness(matrix, xy, n_neighbors=k, metric=metric), abs=1e-6
    )
    assert (found.k, found.n, found.of, found.metric) == (k, n, n, metric)


def test_blocks_change_nothing(monkeypatch):
    random = np.random.default_rng(3)
    space, xy = (
        space_of(random.normal(size=(300, 6))),
        random.normal(size=(300, 2)).astype(np.float32),
    )
    whole = measure_projection_quality(space, xy)
    monkeypatch.setattr("vocadapt.spaces.neighbors.search.BLOCK", 1000)
    assert measure_projection_quality(space, xy) == whole


def test_an_unchanged_plane_is_perfect_and_a_shuffled_one_is_at_chance():
    random = np.random.default_rng(5)
    xy = random.normal(size=(2000, 2)).astype(np.float32)
    perfect = measure_projection_quality(space_of(xy), xy, metric="euclidean")
    assert perfect.trustworthiness == 1 and perfect.preservation == 1
    shuffled = measure_projection_quality(
        space_of(xy), xy[random.permutation(2000)], metric="euclidean"
    )
    assert shuffled.trustworthiness == pytest.approx(0.5, abs=0.02)
    assert shuffled.preservation == pytest.approx(shuffled.chance, abs=0.003)


def test_by_hand():
    """Five points on a line; in the picture the last one has come to lie between the first two.

    Nearest in the picture: w0 → w4, w1 → w4, w4 → w0, each the farthest of four in truth; w2 → w1
    and w3 → w2 are right.
    """
    space = space_of([[0.0], [1.0], [3.0], [6.0], [10.0]])
    xy = np.array([[0, 0], [1, 0], [3, 0], [6, 0], [0.4, 0]], dtype=np.float32)
    found = measure_projection_quality(space, xy, 1, "euclidean")
    assert found.preservation == pytest.approx(2 / 5)
    assert found.trustworthiness == pytest.approx(
        1 - 2 / (5 * 1 * (2 * 5 - 3 * 1 - 1)) * 3 * (4 - 1)
    )


def test_a_sample_is_seeded_and_reported():
    random = np.random.default_rng(7)
    space, xy = (
        space_of(random.normal(size=(500, 6))),
        random.normal(size=(500, 2)).astype(np.float32),
    )
    one, again, other = (
        measure_projection_quality(space, xy, max_tokens=200, seed=seed) for seed in (1, 1, 2)
    )
    assert one == again and one != other and (one.n, one.of) == (200, 500)
    assert one.trustworthiness == pytest.approx(
        measure_projection_quality(space, xy).trustworthiness, abs=0.03
    )


def test_too_many_pairs_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "PAIRS", 4000)
    random = np.random.default_rng(7)
    assert (
        measure_projection_quality(
            space_of(random.normal(size=(100, 3))), random.normal(size=(100, 2))
        ).n
        == 40
    )


def test_points_with_equal_coordinates_are_never_their_own_neighbor():
    xy = np.zeros((30, 2), dtype=np.float32)
    near = find_neighbors_in_plane(xy, np.arange(30), 5)
    assert near.shape == (30, 5) and (near != np.arange(30)[:, None]).all()


def test_k_is_reduced_for_few_points_and_too_few_are_an_error():
    xy = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert measure_projection_quality(space_of(np.eye(4)), xy).k == 1
    with raises_input_error("too-few-tokens", "3", "2"):
        measure_projection_quality(space_of(np.eye(2)), xy[:2])
