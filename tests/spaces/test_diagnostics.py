"""Mean cosines, isotropy, hubness, norms and frequency bias: worked by hand, by brute force, and
on spaces with a known mean cosine."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from vocadapt.errors import Canceled
from vocadapt.spaces.diagnostics.diagnosis import diagnose, interpret_hubness
from vocadapt.spaces.diagnostics.geometry import (
    Hubness,
    compute_norm_bands,
    count_k_occurrences,
    measure_frequency_bias,
    measure_hubness,
    measure_hubness_work,
    measure_isotropy,
    measure_norms,
)
from vocadapt.spaces.diagnostics.statistics import (
    build_cosine_tables,
    compute_mean_cosine,
    sum_directions,
)
from vocadapt.spaces.space import EmbeddingSpace, normalize_rows


def space_of(counts=None, /, **vectors):
    return EmbeddingSpace(
        tuple(vectors), np.array(list(vectors.values()), dtype=np.float32), counts
    )


def numbered(matrix, start=0, counts=None):
    return EmbeddingSpace(
        tuple(f"w{start + i}" for i in range(len(matrix))),
        np.asarray(matrix, dtype=np.float32),
        counts,
    )


def known(mean, n, dim, axis, rng):
    """Rows of any length whose expected cosine is `mean`: √mean along an axis, the rest in random
    directions across it.
    """
    across = rng.normal(size=(n, dim))
    across[:, axis] = 0
    rows = normalize_rows(across) * np.sqrt(1 - abs(mean))
    rows[:, axis] = np.sqrt(abs(mean))
    return rows * rng.uniform(0.2, 5, size=(n, 1))


def brute(one, other=None):
    """Every cosine, one by one, in float64."""
    left = one.matrix.astype(np.float64)
    right = left if other is None else other.matrix.astype(np.float64)
    cosines = (left / np.linalg.norm(left, axis=1)[:, None]) @ (
        right / np.linalg.norm(right, axis=1)[:, None]
    ).T
    return cosines[~np.eye(len(left), dtype=bool)].mean() if other is None else cosines.mean()


def mean_cosine_common(one, other):
    """The mean cosine of the twins of two spaces, and how many they are."""
    tables = build_cosine_tables([one, other])
    return tables.mean_cosine_common[0][1], tables.common[0][1]


def test_by_hand():
    # cosines: a·b 0, a·c √½, b·c √½; the lengths do not matter
    one = space_of(a=[2, 0], b=[0, 5], c=[1, 1])
    assert compute_mean_cosine(one) == pytest.approx(2 * np.sqrt(0.5) / 3)
    # a with d 0, with e −1; b with d 1, with e 0; c with d √½, with e −√½
    other = space_of(d=[0, 3], e=[-1, 0])
    assert build_cosine_tables([one, other]).mean_cosine[0][1] == pytest.approx(0, abs=1e-15)
    assert mean_cosine_common(one, other) == (None, 0)
    # twins: b with b 1, a with a −1, in another order and among others
    assert mean_cosine_common(one, space_of(b=[0, 1], x=[1, 1], a=[-7, 0])) == (
        pytest.approx(0.0),
        2,
    )


@pytest.mark.parametrize("mean", [0.0, 0.44])
def test_a_space_of_known_mean_cosine(mean):
    space = numbered(known(mean, 2000, 200, 0, np.random.default_rng(3)))
    assert compute_mean_cosine(space) == pytest.approx(mean, abs=0.002)
    assert compute_mean_cosine(space) == pytest.approx(brute(space), abs=1e-9)


def test_two_spaces_of_known_mean_cosine_between():
    # .44 within each; along the common axis √.44 and −.05/√.44: −.05 between
    rng = np.random.default_rng(4)
    one = known(0.44, 900, 200, 0, rng)
    other = rng.normal(size=(700, 200))
    other[:, :2] = 0
    along = -0.05 / np.sqrt(0.44)
    other = normalize_rows(other) * np.sqrt(1 - 0.44)
    other[:, 0], other[:, 1] = along, np.sqrt(0.44 - along**2)
    one, other = numbered(one), numbered(other, start=300)
    tables = build_cosine_tables([one, other])
    assert [row[i] for i, row in enumerate(tables.mean_cosine)] == [
        pytest.approx(0.44, abs=0.002)
    ] * 2
    assert tables.mean_cosine[0][1] == tables.mean_cosine[1][0] == pytest.approx(-0.05, abs=0.002)
    assert tables.mean_cosine[0][1] == pytest.approx(brute(one, other), abs=1e-9)
    assert tables.common == ((900, 600), (600, 700))
    twins = [
        normalize_rows(one.matrix)[300 + i] @ normalize_rows(other.matrix)[i] for i in range(600)
    ]
    assert tables.mean_cosine_common[0][1] == pytest.approx(np.mean(twins), abs=1e-6)
    assert tables.mean_cosine_common[0][0] == tables.mean_cosine_common[1][1] == 1


def test_the_mean_is_exact_if_the_mean_vector_is_long():
    # 2 000 rows that are all but equal: 1 − cos is 5e-9, lost in float32
    rows = np.ones((2000, 100)) + np.random.default_rng(1).normal(size=(2000, 100)) * 1e-3
    space = numbered(rows)
    assert 0 < 1 - compute_mean_cosine(space) < 1e-5
    assert compute_mean_cosine(space) == pytest.approx(brute(space), abs=1e-9)


def test_norms_of_very_different_size_do_not_matter():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(300, 20)).astype(np.float32) + 0.5
    scaled = rows * 10.0 ** rng.integers(-15, 15, size=(300, 1))
    assert compute_mean_cosine(numbered(scaled)) == pytest.approx(
        compute_mean_cosine(numbered(rows)), abs=1e-6
    )


def test_zero_rows_are_left_out_and_counted():
    one = space_of(a=[1, 0], zero=[0, 0], b=[0, 1], c=[1, 1])
    assert compute_mean_cosine(one) == pytest.approx(2 * np.sqrt(0.5) / 3)
    tables = build_cosine_tables([one, space_of(zero=[1, 1], a=[3, 0], none=[0, 0])])
    assert tables.mean_cosine_common[0][1] == pytest.approx(1) and tables.common[0][1] == 1
    nothing = build_cosine_tables([space_of(zero=[0, 0], none=[0, 0])])
    assert nothing.mean_cosine == ((None,),)
    assert nothing.mean_cosine_common == ((None,),)
    assert nothing.common == ((0,),)


def test_a_single_token_has_no_pair_within_but_one_between():
    one = space_of(a=[1, 0])
    assert compute_mean_cosine(one) is None
    assert build_cosine_tables([one, space_of(b=[1, 0])]).mean_cosine[0][1] == pytest.approx(1)
    assert measure_isotropy(one).partition is None and measure_hubness(one) is None
    assert measure_frequency_bias(one).norm is None and measure_norms(one).mean == 1


def test_spaces_of_different_dimensions_have_no_cosine_but_common_tokens():
    tables = build_cosine_tables(
        [space_of(a=[1, 0], b=[0, 1]), space_of(a=[1, 0, 0], c=[1, 1, 1], d=[0, 1, 0])]
    )
    assert tables.mean_cosine[0][1] is None and tables.mean_cosine_common[0][1] is None
    assert tables.common[0][1] == 1


def test_an_empty_space():
    empty = EmbeddingSpace((), np.empty((0, 3), dtype=np.float32))
    assert compute_mean_cosine(empty) is None and sum_directions(empty).counted == 0
    assert build_cosine_tables([empty, numbered(np.eye(3))]).mean_cosine[0] == (None, None)
    assert measure_norms(empty).mean == 0 and len(compute_norm_bands(empty).place) == 0


def test_the_order_of_rows_does_not_matter():
    space = numbered(np.random.default_rng(5).normal(size=(1500, 30)) + 0.3)
    turned = space.take(np.random.default_rng(6).permutation(1500))
    assert compute_mean_cosine(turned) == pytest.approx(compute_mean_cosine(space), abs=1e-12)
    assert mean_cosine_common(space, turned) == (pytest.approx(1.0), 1500)


def test_isotropy_of_rows_along_the_axes():
    # e₁ −e₁ e₂ −e₂: every principal direction has the same Z, and the covariance is even
    even = measure_isotropy(space_of(a=[1, 0], b=[-1, 0], c=[0, 1], d=[0, -1]))
    assert (even.partition, even.isoscore, even.first_direction) == pytest.approx((1, 1, 0.5))


def test_isotropy_of_one_direction_by_hand():
    # all rows are e₁: Z(e₁) = n·e, Z(−e₁) = n/e, Z(±e₂) = n
    crowded = measure_isotropy(space_of(a=[1, 0], b=[1, 0], c=[1, 0]))
    assert crowded.partition == pytest.approx(np.exp(-2))
    assert crowded.first_direction == pytest.approx(1)
    assert crowded.isoscore is None  # no variance at all
    line = measure_isotropy(space_of(a=[1, 0], b=[-1, 0], c=[2, 0], d=[-2, 0]))
    assert line.isoscore == pytest.approx(0, abs=1e-9)


def test_the_unnormalized_figures_can_be_left_out():
    space = numbered(np.random.default_rng(8).normal(size=(500, 20)) + 0.3)
    whole, card = measure_isotropy(space), measure_isotropy(space, unnormalized=False)
    assert (card.partition, card.first_direction) == (whole.partition, whole.first_direction)
    assert card.partition_as_published is None and card.isoscore is None
    assert whole.partition_as_published is not None and whole.isoscore is not None


def test_lengths_change_only_the_published_measure():
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(500, 20)) + 0.3
    one, ten = measure_isotropy(numbered(rows)), measure_isotropy(numbered(rows * 10))
    assert one.partition == pytest.approx(ten.partition, rel=1e-4)
    assert one.isoscore == pytest.approx(ten.isoscore, rel=1e-4)
    assert ten.partition_as_published < one.partition_as_published
    assert measure_isotropy(numbered(rows * 1e4)).partition_as_published == pytest.approx(
        0, abs=1e-300
    )  # and no overflow


def test_isotropy_agrees_with_its_definition():
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(400, 12)) * np.linspace(1, 3, 12) + 0.4
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    for measured, given in (
        (measure_isotropy(numbered(rows)).partition, unit),
        (measure_isotropy(numbered(rows)).partition_as_published, rows),
    ):
        vectors = np.linalg.eigh(given.T @ given)[1]
        z = np.exp(given @ np.hstack([vectors, -vectors])).sum(axis=0)
        assert measured == pytest.approx(z.min() / z.max(), rel=1e-3)
    variances = np.linalg.eigvalsh(np.cov(rows.T))
    share = np.sqrt(12) * variances / np.linalg.norm(variances)
    defect = np.linalg.norm(share - 1) / np.sqrt(2 * (12 - np.sqrt(12)))
    filled = (12 - defect**2 * (12 - np.sqrt(12))) ** 2 / 144
    assert measure_isotropy(numbered(rows)).isoscore == pytest.approx(
        (12 * filled - 1) / 11, rel=1e-4
    )


def test_hubs_by_hand():
    # by angle: hub 0°, a 10°, b −11°, c 21.5°; nearest: hub→a, a→hub, b→hub, c→a
    angles = np.deg2rad([0, 10, -11, 21.5])
    space = EmbeddingSpace(
        ("hub", "a", "b", "c"),
        np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32),
    )
    assert count_k_occurrences(space, 1).tolist() == [2, 2, 0, 0]
    found = measure_hubness(space, 1)
    assert (found.k, found.largest, found.never, found.skewness) == (1, 2, 0.5, 0)
    assert found.hubs[:2] == (("hub", 2), ("a", 2))


def test_k_occurrences_agree_with_brute_force(monkeypatch):
    monkeypatch.setattr("vocadapt.spaces.neighbors.search.BLOCK", 20_000)  # many blocks
    rows = np.random.default_rng(10).normal(size=(700, 6))
    space = numbered(rows)
    cosines = space.unit.astype(np.float64) @ space.unit.T.astype(np.float64)
    np.fill_diagonal(cosines, -2)
    expected = np.bincount(np.argsort(-cosines, axis=1)[:, :10].ravel(), minlength=700)
    assert (count_k_occurrences(space) == expected).all()
    from scipy.stats import skew

    assert measure_hubness(space).skewness == pytest.approx(skew(expected))


def test_zero_vectors_are_not_hubs_and_k_is_bounded_by_the_space():
    space = space_of(a=[1, 0], zero=[0, 0], b=[0, 1], c=[1, 1])
    found = measure_hubness(space, 50)
    assert (found.k, found.skewness, found.largest) == (2, None, 2)
    assert "zero" not in dict(found.hubs)


def test_measuring_hubness_reports_progress_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr("vocadapt.spaces.neighbors.search.BLOCK", 5000)
    told = []
    space = numbered(np.random.default_rng(11).normal(size=(300, 4)))
    measure_hubness(space, progress=lambda fraction, message="": told.append(fraction))
    assert told == sorted(told) and len(told) > 10 and told[-1] < 1
    assert measure_hubness_work(space).seconds > 0

    def stop(fraction, message=""):
        raise Canceled

    with pytest.raises(Canceled):
        measure_hubness(space, progress=stop)


def test_norms_by_hand():
    found = measure_norms(space_of(a=[3, 4], b=[0, 0], c=[0, 7]))
    assert (found.n, found.mean, found.sd, found.median, found.zero_rows) == (2, 6, 1, 6, 1)


def test_frequency_bias_by_counts_and_by_id():
    rows = [[i + 1.0, 1.0] for i in range(20)]
    counts = np.arange(1, 21)
    found = measure_frequency_bias(numbered(rows, counts=counts))
    assert (found.by, found.n, found.norm) == ("counts", 20, pytest.approx(1))
    found = measure_frequency_bias(numbered(rows))
    assert found.by == "id rank"
    assert found.norm == pytest.approx(-1)  # the first ids, taken for frequent, are the short ones
    assert (
        measure_frequency_bias(numbered(rows, counts=np.full(20, 7))).norm is None
    )  # no order to compare


def test_the_component_along_the_mean_direction():
    # rows turn away from the mean direction as they get rarer
    angles = np.deg2rad(np.repeat(np.arange(1, 11) * 4.0, 2) * np.tile([1, -1], 10))
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = measure_frequency_bias(numbered(rows, counts=np.repeat(np.arange(10, 0, -1), 2)))
    assert found.mean_direction == pytest.approx(1, abs=0.01)


def test_bands_hold_every_row_once():
    rows = np.random.default_rng(12).normal(size=(95, 3))
    counts = np.random.default_rng(13).integers(1, 1000, size=95)
    bands = compute_norm_bands(numbered(rows, counts=counts), groups=10)
    assert len(bands.place) == 10 and (np.diff(bands.place) <= 0).all()
    assert (bands.low <= bands.median).all() and (bands.median <= bands.high).all()
    assert compute_norm_bands(numbered(rows), groups=10).place[0] == pytest.approx(
        4.5
    )  # ids 0 to 9


def test_minilm(minilm):
    from vocadapt.lab.inputs.open_space import open_space

    space = open_space(minilm).space
    some = space.take(np.arange(0, len(space), 10))
    assert compute_mean_cosine(some) == pytest.approx(brute(some), abs=1e-9)
    assert compute_mean_cosine(space) == pytest.approx(0.01806, abs=1e-4)


def test_ranks_and_their_correlation_are_those_of_scipy():
    from scipy.stats import rankdata, spearmanr

    from vocadapt.spaces.diagnostics.statistics import compute_mean_ranks, compute_spearman

    rng = np.random.default_rng(7)
    one, other = rng.integers(0, 40, 500).astype(np.float32), rng.normal(size=500)
    np.testing.assert_array_equal(compute_mean_ranks(one), rankdata(one))
    assert compute_spearman(one, other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)
    assert compute_spearman(one, np.ones(500)) is None
    assert compute_spearman(one[:2], other[:2]) is None


def test_the_figures_of_the_page_import_neither_scipys_statistics_nor_gensim():
    """Their imports took half of the page's first visit."""
    code = (
        "import sys, numpy as np\nfrom vocadapt.lab.reports.diagnostics import diagnose\nfrom"
        " vocadapt.spaces.diagnostics.word_lists import load_bundled_relations\nfrom vocadapt.spaces.space"
        " import EmbeddingSpace\nmatrix = np.random.default_rng(1).normal(size=(50,"
        " 8)).astype(np.float32)\ndiagnose(EmbeddingSpace(tuple(map(str, range(50))), matrix),"
        " hubs=False)\nassert load_bundled_relations()\nprint([name for name in ('scipy.stats',"
        " 'gensim', 'torch', 'transformers') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_added_tokens_do_not_cause_a_correlation_with_frequency():
    """Rows of added tokens stand last and are shorter: alone they made ρ = .867 of original rows
    without any order.
    """
    rng = np.random.default_rng(0)
    originals, added = 200, 150
    lengths = np.concatenate(
        [rng.permutation(np.linspace(1.0, 1.2, originals)), np.full(added, 0.4)]
    )
    space = numbered(np.stack([lengths, np.zeros(len(lengths))], axis=1).astype(np.float32))
    new = frozenset(space.words[originals:])
    assert measure_frequency_bias(space).norm > 0.6
    found = measure_frequency_bias(space, new)
    assert (found.n, abs(found.norm) < 0.15) == (originals, True)
    found = diagnose(space, hubs=False, added=new)
    assert (found.added_norms.n, found.original_norms.n) == (added, originals)
    assert found.added_norms.median == pytest.approx(0.4)
    assert found.original_norms.median == pytest.approx(1.1)
    assert diagnose(space, hubs=False).added_norms is None


def list_codes(*lengths, added=0):
    """Codes of the findings of a space whose vectors have these lengths, all in one direction."""
    space = numbered([[length, 0.0] for length in lengths])
    new = frozenset(space.words[len(lengths) - added :])
    return [one.code for one in diagnose(space, hubs=False, added=new).findings]


def test_what_the_figures_show():
    assert list_codes(1.0) == ["too_few_tokens"]
    assert list_codes(3, 2, 1) == ["narrow_cone", "frequent_longer"]
    assert list_codes(1, 2, 3) == ["narrow_cone", "frequent_shorter"]
    assert list_codes(2, 3, 1, 3, 2) == ["narrow_cone", "length_without_frequency"]
    assert list_codes(9, 8, *[0.1] * 2, 7, added=1)[-2:] == ["added_differ", "uneven_lengths"]
    assert "added_alike" in list_codes(1, 1.05, 1, added=1)
    across = numbered([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    assert diagnose(across, hubs=False).findings[0].code == "no_common_direction"
    hubs = Hubness(10, 6.0, 40, 0.5, (("a", 40),))
    assert [interpret_hubness(one).code for one in (hubs, replace(hubs, skewness=1.0), None)] == [
        "hubs",
        "no_hubs",
        "too_few_for_hubs",
    ]


def test_the_norm_correlates_with_frequency_if_added_tokens_are_excluded():
    space = numbered([*([20.0 - i, 0.0] for i in range(15)), *([100.0 + i, 0.0] for i in range(5))])
    assert measure_frequency_bias(space, frozenset(space.words[15:])).norm == pytest.approx(1)
