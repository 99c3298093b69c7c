"""Cross-validation of alignments: ranks worked by hand, chance, reproducibility, and the paired
comparison."""

import json

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled
from vocadapt.spaces.alignment.alignment import AlignmentSettings, AnchorFilter
from vocadapt.spaces.alignment.cross_validation import (
    assign_folds,
    compare_alignments,
    compare_fold_by_fold,
    cross_validate,
    find_infeasible_methods,
    list_feasible_alignments,
    rank_own_pieces,
    select_best_alignment,
    tabulate_alignments,
)
from vocadapt.spaces.space import EmbeddingSpace, normalize_rows
from vocadapt.system.json_values import plain


def spaces(n=300, dim=8, noise=0.0, extra=40, seed=0):
    """A source of n words, and a target of these and some more, a linear map away but for the
    noise.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, dim))
    y = np.vstack(
        [
            x @ rng.normal(size=(dim, dim)) + noise * rng.normal(size=(n, dim)),
            rng.normal(size=(extra, dim)),
        ]
    )
    words = tuple(f"w{i}" for i in range(n))
    target = EmbeddingSpace(
        (*words, *(f"##{i}" for i in range(extra))), y.astype(np.float32), name="model"
    )
    return EmbeddingSpace(words, x.astype(np.float32), np.arange(n, 0, -1), "words"), target


def test_a_perfect_alignment_finds_every_word():
    result = cross_validate(*spaces())
    assert result.precision(1) == result.precision(1, "csls pieces") == 1
    assert result.cosine.min() > 0.9999 and result.random_cosine.mean() < 0.5
    assert result.verdict != "chance"
    assert result.candidates == {
        "anchors": 300,
        "pieces": 340,
        "csls anchors": 300,
        "csls pieces": 340,
    }
    assert result.chance(5) == 5 / 300 and result.chance(5, "pieces") == 5 / 340


@pytest.mark.parametrize("method", ["random", "identity", "least-squares"])
def test_an_uninformative_alignment_is_at_chance(method):
    source, target = spaces(dim=64, noise=1e4 if method == "least-squares" else 0.0)
    result = cross_validate(source, target, AlignmentSettings(method))
    assert result.verdict == "chance"
    assert result.precision(5) < 4 * result.chance(5)


def test_ranks_by_hand():
    pieces = normalize_rows(np.array([[1, 0], [1, 1], [0, 1], [-1, 0]], dtype=np.float32))
    queries, own, among = np.array([[1, 0]], dtype=np.float32), np.array([1]), np.array([1, 2])
    plain = rank_own_pieces(queries, pieces, np.zeros(4, np.float32), own, among)
    assert plain["pieces"] == 1 and plain["anchors"] == 0  # (1, 0) is nearer, but not an anchor
    hubness = np.array([0.9, 0, 0, 0], dtype=np.float32)  # 1 − .45 < .707: the hub falls behind
    assert rank_own_pieces(queries, pieces, hubness, own, among)["csls pieces"] == 0


def test_results_are_in_the_order_of_the_anchors():
    source, target = spaces(noise=0.5)
    odd = target.matrix.copy()
    odd[7] = -odd[7]
    result = cross_validate(source, target.with_matrix(odd))
    assert result.anchors.words[result.cosine.argmin()] == "w7"


def test_folds_are_balanced_and_reproducible():
    fold = assign_folds(23, 5, 1)
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]
    np.random.seed(9)  # noqa: NPY002  the global seed must not matter
    np.testing.assert_array_equal(fold, assign_folds(23, 5, 1))
    assert (fold != assign_folds(23, 5, 2)).any()
    for n, folds in ((5, 1), (3, 4)):
        with raises_input_error("too-few-folds", str(folds), str(n)):
            assign_folds(n, folds, 1)


def test_the_alignment_is_not_fitted_on_the_held_out_fold():
    """With as many anchors in training as dimensions the fit is perfect, and the held-out score
    still is chance.
    """
    source, target = spaces(n=40, dim=20, noise=1e4)
    assert cross_validate(source, target, folds=2).precision(1) < 0.2


def test_the_json_is_strict_and_has_the_documented_keys():
    judged = [cross_validate(*spaces(noise=1.0))]
    (answer,) = json.loads(json.dumps(plain(tabulate_alignments(judged)), allow_nan=False))
    assert {"method", "anchors", "held_out", "seconds"} <= set(answer)
    held = answer["held_out"]
    assert {"cosine", "p@1", "p@5", "p@10", "chance@5", "all_pieces", "csls"} <= set(held)
    assert held["all_pieces"]["p@5"] <= held["p@5"] <= held["p@10"]
    assert {"p@1", "p@5", "p@10", "chance@5", "all_pieces"} <= set(held["csls"])


def test_a_baseline_is_not_the_best_even_where_all_are_at_chance():
    source, target = spaces(noise=1000.0)
    settings = [AlignmentSettings("random", seed=seed) for seed in range(20)]
    judged = compare_alignments(source, target, [*settings, AlignmentSettings("procrustes")], 3)
    others = [result.precision(5, "csls anchors") for result in judged[:-1]]
    assert max(others) > judged[-1].precision(5, "csls anchors")
    assert select_best_alignment(judged).settings.method == "procrustes"
    assert select_best_alignment(judged[:-1]).settings.method == "random"


def test_compare_evaluates_all_alignments_on_the_same_folds_and_names_the_best():
    source, target = spaces(noise=0.5)
    judged = compare_alignments(source, target, folds=5)
    assert judged[0].settings == AlignmentSettings()
    assert select_best_alignment(judged).settings.method in (
        "least-squares",
        "ridge",
        "kernel-ridge",
    )
    chance = next(result for result in judged if result.settings.method == "random")
    found = compare_fold_by_fold(select_best_alignment(judged), chance)
    assert found.won == found.folds == 5 and found.difference > 0.5 and found.p < 0.001
    same = compare_fold_by_fold(judged[0], judged[0])
    assert same.difference == 0 and same.p == 1 and same.won == 0


def test_identity_is_left_out_if_dimensions_differ():
    source, target = spaces()
    narrow = source.with_matrix(source.matrix[:, :6])
    assert "identity" not in {
        result.settings.method for result in compare_alignments(narrow, target, folds=2)
    }
    infeasible = find_infeasible_methods(narrow, target, 300, folds=2)
    assert {name: list_numbers(why) for name, why in infeasible.items()} == {"identity": ["6", "8"]}


def test_methods_that_need_more_anchors_are_left_out_with_the_reason():
    source, target = spaces(n=20, dim=16)
    assert (
        find_infeasible_methods(source, target, 20)
        == find_infeasible_methods(source, target, 20, folds=5)
        == {}
    )
    [(name, why)] = find_infeasible_methods(source, target, 20, folds=3).items()
    assert name == "least-squares" and list_numbers(why) == ["13", "20", "3", "16"]
    assert list_numbers(find_infeasible_methods(source, target, 15)[name]) == ["15", "16"]
    methods = {result.settings.method for result in compare_alignments(source, target, folds=3)}
    assert "least-squares" not in methods and {"ridge", "procrustes", "kernel-ridge"} <= methods


def test_all_alignments_are_compared_on_the_chosen_anchors():
    source, target = spaces()
    chosen = AnchorFilter(single_characters=True)
    assert {
        settings.anchors for settings in list_feasible_alignments(source, target, anchors=chosen)
    } == {chosen}


def test_results_on_different_folds_cannot_be_paired():
    source, target = spaces()
    with raises_input_error("unlike-folds"):
        compare_fold_by_fold(
            cross_validate(source, target, seed=1), cross_validate(source, target, seed=2)
        )


def test_cross_validation_reports_progress_and_can_be_canceled():
    seen = []
    cross_validate(*spaces(), folds=3, progress=lambda fraction, message="": seen.append(fraction))
    assert seen == sorted(seen) and seen[-1] == 1

    def cancel(fraction, message=""):
        raise Canceled

    with pytest.raises(Canceled):
        cross_validate(*spaces(), progress=cancel)
