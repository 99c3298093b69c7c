"""Projections: known layouts, reproducibility by seed, spaces that cannot be projected, and
cancellation."""

import io
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tqdm.auto import tqdm

from tests.material.input_errors import raises_input_error
from vocadapt.errors import Canceled
from vocadapt.spaces.projection.methods import (
    METHODS,
    ProjectionSettings,
    compute_principal_components,
    find_exact_neighbors,
)
from vocadapt.spaces.projection.projection import (
    Projection,
    align_layout,
    estimate_projection_seconds,
    measure_movement,
    project,
    project_pair,
)
from vocadapt.spaces.projection.quality import measure_projection_quality
from vocadapt.spaces.space import EmbeddingSpace

QUICK = {"method": "tsne", "perplexity": 8.0, "iterations": 250}


def space_of(matrix, words=None, name="made") -> EmbeddingSpace:
    return EmbeddingSpace(
        tuple(words or (f"w{i}" for i in range(len(matrix)))),
        np.asarray(matrix, dtype=np.float32),
        name=name,
    )


@pytest.fixture(scope="module")
def clouds() -> EmbeddingSpace:
    """Three clouds of forty words each, 60 wide."""
    random = np.random.default_rng(0)
    centers = np.repeat(random.normal(size=(3, 60)) * 4, 40, axis=0)
    return space_of(centers + random.normal(size=(120, 60)))


def apart(projection: Projection) -> float:
    """The share of words whose nearest word in the plane is of their own cloud."""
    distance = (
        np.linalg.norm(projection.xy[:, None] - projection.xy[None], axis=2) + np.eye(120) * 1e9
    )
    return float((distance.argmin(axis=1) // 40 == np.arange(120) // 40).mean())


def test_pca_finds_the_plane_of_the_vectors():
    random = np.random.default_rng(1)
    flat = random.normal(size=(50, 2)) * (5, 1)
    found = project(
        space_of(flat @ np.linalg.qr(random.normal(size=(9, 2)))[0].T + 3),
        ProjectionSettings(metric="euclidean"),
    )
    assert found.explained == pytest.approx(1) and found.xy.dtype == np.float32
    centered = flat - flat.mean(axis=0)
    assert np.allclose(
        np.linalg.norm(found.xy, axis=1), np.linalg.norm(centered, axis=1), atol=1e-4
    )


def test_pca_agrees_with_scikit_learn(clouds):
    from sklearn.decomposition import PCA

    ours, share = compute_principal_components(clouds.matrix, 7)
    theirs = PCA(7, svd_solver="full").fit(clouds.matrix)
    assert np.allclose(np.abs(ours), np.abs(theirs.transform(clouds.matrix)), atol=1e-3)
    assert share == pytest.approx(theirs.explained_variance_ratio_.sum(), abs=1e-5)


def test_the_cosine_ignores_norms(clouds):
    longer = clouds.with_matrix(clouds.matrix * np.linspace(1, 9, 120, dtype=np.float32)[:, None])
    assert np.allclose(
        project(longer, ProjectionSettings()).xy,
        project(clouds, ProjectionSettings()).xy,
        atol=1e-5,
    )
    seen = project(longer, ProjectionSettings(metric="euclidean"))
    assert not np.allclose(
        seen.xy[:, 0], project(clouds, ProjectionSettings(metric="euclidean")).xy[:, 0], atol=0.1
    )


def test_tsne_separates_clusters_for_any_global_seed(clouds):
    settings = ProjectionSettings(**{**QUICK, "iterations": 500})
    np.random.seed(1)  # noqa: NPY002
    one = project(clouds, settings)
    np.random.seed(2)  # noqa: NPY002
    again = project(clouds, settings)
    assert np.array_equal(one.xy, again.xy)
    assert one.engine == "openTSNE" and "openTSNE" in one.versions
    assert apart(one) == 1
    assert measure_projection_quality(clouds, one.xy).trustworthiness > 0.9


@pytest.mark.slow
def test_other_progress_bars_work_after_umap_was_stopped(clouds):
    """A bar whose drawing raises keeps tqdm's lock: the next bar of another thread would wait for
    ever.
    """

    def stop(fraction, message=""):
        if "epochs" in message:
            raise Canceled

    with pytest.raises(Canceled):
        project(clouds, ProjectionSettings("umap", neighbors=8, iterations=60), stop)
    other = threading.Thread(target=lambda: list(tqdm(range(2), file=io.StringIO())), daemon=True)
    other.start()
    other.join(10)
    assert not other.is_alive()


@pytest.mark.slow
def test_umap_separates_clusters_and_can_be_stopped(clouds):
    settings, told = ProjectionSettings("umap", neighbors=8, iterations=60), []
    one = project(clouds, settings, lambda fraction, message="": told.append(fraction))
    again = project(clouds, settings)
    assert np.array_equal(one.xy, again.xy) and apart(one) > 0.95
    assert told == sorted(told) and told[-1] == 1 and len(told) > 10
    first, second = project_pair(clouds, clouds, settings)
    assert np.median(measure_movement(first, second)) < 0.5
    with pytest.raises(Canceled):
        project(clouds, settings, stopping_at(0.5))


def stopping_at(fraction):
    def stop(at, message=""):
        if at is not None and at >= fraction:
            raise Canceled

    return stop


def test_tsne_reports_progress_and_can_be_stopped(clouds, capsys):
    told = []
    settings = ProjectionSettings(**QUICK)
    project(
        clouds,
        settings,
        lambda fraction, message="": (
            told.append((fraction, message)) or sys.stdout.write("beside\n")
        ),
    )
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1
    iterations = [message for _, message in told if message.startswith("iteration")]
    assert iterations == [f"iteration {i} of 250" for i in range(50, 251, 50)]
    assert capsys.readouterr().out == "beside\n" * len(
        told
    )  # nothing of the library's, all of the caller's
    with pytest.raises(Canceled):
        project(clouds, settings, stopping_at(0.5))


@pytest.mark.slow
def test_tsne_by_fft_separates_clusters_too(clouds, monkeypatch):
    monkeypatch.setattr("vocadapt.spaces.projection.methods.FFT_FROM", 100)
    assert apart(project(clouds, ProjectionSettings(**QUICK))) == 1


def test_two_spaces_are_aligned_with_each_other(clouds):
    random = np.random.default_rng(4)
    turned = clouds.matrix @ np.linalg.qr(random.normal(size=(60, 60)))[0].astype(np.float32)
    order = random.permutation(120)
    other = space_of(
        turned[order], [f"w{i}" for i in order][:110] + [f"x{i}" for i in range(10)], "other"
    )
    first, second = project_pair(clouds, other, ProjectionSettings())
    assert first.words == second.words == tuple(word for word in clouds.words if word in other)
    assert len(first) == 110 and second.name == "other"
    assert measure_movement(first, second).max() < 1e-3


def test_a_word_that_moved_stands_out(clouds):
    changed = clouds.matrix.copy()
    changed[0] = changed[119]
    settings = ProjectionSettings("tsne", perplexity=8.0, iterations=600)
    first, second = project_pair(clouds, clouds.with_matrix(changed), settings)
    moved = measure_movement(first, second)
    assert moved.argmax() == 0 and moved[0] > 5 * np.median(moved)


def test_procrustes_undoes_rotation_reflection_scaling_and_translation():
    random = np.random.default_rng(6)
    xy = random.normal(size=(30, 2)).astype(np.float32)
    mirrored = (xy @ np.array([[0.6, 0.8], [0.8, -0.6]]) * 3 + 7).astype(np.float32)
    assert np.allclose(align_layout(xy, mirrored), xy, atol=1e-5)


def test_movement_is_in_units_of_the_spread():
    words, settings = ("a", "b"), ProjectionSettings()
    a = Projection(words, np.array([[0, 0], [4, 0]], dtype=np.float32), settings, "x")  # spread 2
    b = Projection(words, np.array([[0, 1], [4, 0]], dtype=np.float32), settings, "x")
    assert measure_movement(a, b).tolist() == [0.5, 0]


def test_too_few_shared_words(clouds):
    with raises_input_error("too-few-tokens", "0"):
        project_pair(clouds, space_of(np.eye(4), "abcd"), ProjectionSettings())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_points(method, n):
    with raises_input_error("too-few-tokens", "3", str(n)):
        project(space_of(np.eye(4)[:n]), ProjectionSettings(method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("matrix", "metric"),
    [
        (np.ones((40, 5)), "euclidean"),
        (np.zeros((40, 5)), "cosine"),
        (np.outer(np.arange(1, 41), [3, 1]), "cosine"),
    ],
)
def test_equal_vectors_are_refused(method, matrix, metric):
    with raises_input_error("equal-vectors"):
        project(space_of(matrix), ProjectionSettings(method, metric=metric))


def test_three_points_have_a_plane_and_points_on_a_line_a_flat_one():
    assert project(space_of(np.eye(3)), ProjectionSettings()).xy.shape == (3, 2)
    line = project(space_of([[1.0], [2.0], [4.0]]), ProjectionSettings(metric="euclidean"))
    assert line.xy[:, 1].tolist() == [0, 0, 0] and line.explained == pytest.approx(1)


@pytest.mark.parametrize(("n", "largest"), [(40, 13), (90, 29), (7, 2)])
def test_fewer_points_than_the_perplexity_needs(n, largest):
    space = space_of(np.random.default_rng(0).normal(size=(n, 4)))
    with raises_input_error("too-few-tokens", "91", str(n), f" {largest} "):
        project(space, ProjectionSettings("tsne"))
    assert len(project(space, ProjectionSettings("tsne", perplexity=largest, iterations=250))) == n


def test_four_points_are_too_few_for_any_perplexity():
    with raises_input_error("too-few-tokens", "PCA"):
        project(space_of(np.eye(4)), ProjectionSettings("tsne"))


def test_fewer_points_than_neighbors():
    with raises_input_error("too-few-tokens", "14"):
        project(space_of(np.random.default_rng(0).normal(size=(15, 4))), ProjectionSettings("umap"))


def test_the_estimate_grows_with_the_work():
    tsne, pca = ProjectionSettings("tsne"), ProjectionSettings()
    assert (
        estimate_projection_seconds(30_522, 768, pca)
        < 3
        < estimate_projection_seconds(4000, 768, tsne)
        < estimate_projection_seconds(30_522, 768, tsne)
    )
    assert estimate_projection_seconds(
        4000, 768, ProjectionSettings("tsne", iterations=2000)
    ) > 1.5 * estimate_projection_seconds(4000, 768, tsne)


def test_umap_without_compiling():
    """numba would compile UMAP for half a minute where no cache has it yet."""
    program = (
        "import numpy as np\n"
        "from vocadapt.spaces.space import EmbeddingSpace\n"
        "from vocadapt.spaces.projection.methods import ProjectionSettings\n"
        "from vocadapt.spaces.projection.projection import project\n"
        "settings = ProjectionSettings('umap', neighbors=2, min_dist=0.0, iterations=10)\n"
        "for n in (3, 15):\n"
        "    rows = np.random.default_rng(n).normal(size=(n, 8)).astype(np.float32)\n"
        "    space = EmbeddingSpace(tuple(map(str, range(n))), rows)\n"
        "    first, again = (project(space, settings).xy for _ in range(2))\n"
        "    assert first.shape == (n, 2) and np.isfinite(first).all()\n"
        "    assert (first == again).all() and np.ptp(first) > 0.1\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 4, 5, 8, 15, 16, 17])
@pytest.mark.parametrize("min_dist", [0.0, 1.0])
def test_umap_lays_out_few_points(n, min_dist):
    rows = np.random.default_rng(n).normal(size=(n, 8)).astype(np.float32)
    settings = ProjectionSettings("umap", neighbors=2, min_dist=min_dist, iterations=5)
    found = project(space_of(rows), settings)
    assert found.xy.shape == (n, 2) and np.isfinite(found.xy).all()


@pytest.mark.slow
def test_functions_compiled_by_umap_are_cached_for_the_next_process(tmp_path):
    """The second process reads what the first one compiled."""
    program = (
        "import time, numpy as np\n"
        "from vocadapt.spaces.space import EmbeddingSpace\n"
        "from vocadapt.spaces.projection.methods import ProjectionSettings\n"
        "from vocadapt.spaces.projection.projection import project\n"
        "rows = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)\n"
        "settings = ProjectionSettings('umap', neighbors=5, iterations=5)\n"
        "from umap import umap_\n"
        "space = EmbeddingSpace(tuple(map(str, range(20))), rows)\n"
        "begin = time.process_time()\n"
        "project(space, settings)\n"
        "print(time.process_time() - begin)\n"
    )
    found = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            text=True,
            capture_output=True,
            check=True,
            timeout=300,
        )
        found.append(float(run.stdout))
    cold, warm = found
    assert warm < 0.5 * cold


def test_exact_neighbors_exclude_the_row_itself():
    rows = np.array([[0.0], [1.0], [1.0], [1.0], [5.0]], dtype=np.float32)
    indices, distances = find_exact_neighbors(rows, 2)
    assert [set(near) for near in indices.tolist()[1:4]] == [{2, 3}, {1, 3}, {1, 2}]
    assert distances.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0], [4, 4]]
    many = np.random.default_rng(0).normal(size=(1250, 4)).astype(np.float32)
    told = []
    indices, distances = find_exact_neighbors(many, 3, lambda share, message="": told.append(share))
    full = np.linalg.norm(many[:, None].astype(np.float64) - many[None], axis=2)
    np.fill_diagonal(full, np.inf)
    assert np.array_equal(indices, np.argsort(full, axis=1)[:, :3]) and told == [0.0, 0.8]
    assert np.allclose(distances, np.sort(full, axis=1)[:, :3], atol=1e-4)


@pytest.mark.slow
def test_umap_never_compiles_its_own_neighbor_search(monkeypatch):
    """Compiling it took most of the minutes that a few points cost."""
    from umap import umap_

    monkeypatch.setattr(
        umap_, "nearest_neighbors", lambda *_, **__: pytest.fail("the approximate search was taken")
    )
    begin, told = time.process_time(), []
    settings = ProjectionSettings("umap", neighbors=5, min_dist=0.0, iterations=0)
    project(
        space_of(np.random.default_rng(0).normal(size=(40, 8))),
        settings,
        lambda *report: told.append(report),
    )
    assert told[0][1] == "loading UMAP"
    assert time.process_time() - begin < 25  # with compiling, where no cache has it yet
