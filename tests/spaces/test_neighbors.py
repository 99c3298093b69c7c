"""Exact neighbors: against brute force and worked by hand, CSLS, and the four lists."""

from dataclasses import replace

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.spaces.alignment.alignment import AlignmentSettings, fit_alignment
from vocadapt.spaces.alignment.cross_space import (
    ALL_PIECES,
    CrossSpace,
    ListSettings,
    find_shared_neighbors,
    resolve_word,
)
from vocadapt.spaces.neighbors import csls
from vocadapt.spaces.neighbors import search as nearest_module
from vocadapt.spaces.neighbors.search import compute_neighbor_cosines, find_nearest, list_neighbors
from vocadapt.spaces.space import EmbeddingSpace, TokenKinds
from vocadapt.text.splitter import Splitter


def space(matrix, words=None, name="space"):
    matrix = np.asarray(matrix, dtype=np.float32)
    return EmbeddingSpace(words or tuple(f"w{i}" for i in range(len(matrix))), matrix, name=name)


PLANE = space([[2, 0], [1, 1], [0, 3], [-1, 0], [0, 0]])


def test_cosine_by_hand():
    found = find_nearest(np.array([[3, 0]], np.float32), PLANE, k=5)
    assert found.rows.tolist() == [[0, 1, 2, 4, 3]]  # a zero row has the cosine 0 with everything
    np.testing.assert_allclose(found.scores, [[1, 0.5**0.5, 0, 0, -1]], atol=1e-6)


def test_a_list_of_neighbors_leaves_the_word_itself_out():
    space = EmbeddingSpace(("a", "b", "c"), np.array([[1, 0], [1, 1], [0, 1]], dtype=np.float32))
    near = list_neighbors(space, space["a"], 2, own="a")
    assert near == [("b", pytest.approx(0.5**0.5)), ("c", pytest.approx(0))]
    distances = list_neighbors(space, space["a"], 2, "euclidean", "a")
    assert distances == [("b", pytest.approx(1)), ("c", pytest.approx(2**0.5))]
    assert [word for word, _ in list_neighbors(space, space["a"], own="d")] == ["a", "b", "c"]


def test_euclid_by_hand():
    found = find_nearest(np.array([[1, 0]], np.float32), PLANE, k=4, metric="euclidean")
    assert found.rows.tolist() == [[0, 1, 4, 3]]  # three at distance 1, by row number
    np.testing.assert_allclose(found.scores, [[1, 1, 1, 2]], atol=1e-6)


def test_a_query_excludes_its_own_row_and_k_is_bounded_by_the_space():
    found = find_nearest(PLANE.matrix[:2], PLANE, k=99, leave_out=np.array([0, 1]))
    assert found.rows.shape == (2, 4)
    assert 0 not in found.rows[0] and 1 not in found.rows[1]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_a_single_word_has_no_neighbors(metric):
    found = find_nearest(PLANE.matrix[:1], space([[1, 2]]), 3, metric, leave_out=np.array([0]))
    assert found.rows.shape == found.scores.shape == (1, 0)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_against_brute_force_in_small_blocks(monkeypatch, metric):
    monkeypatch.setattr(nearest_module, "BLOCK", 700)
    rng = np.random.default_rng(0)
    queries, candidates = (
        rng.normal(size=(23, 6)).astype(np.float32),
        space(rng.normal(size=(200, 6))),
    )
    found = find_nearest(queries, candidates, 7, metric)
    if metric == "cosine":
        cosines = queries @ candidates.unit.T / np.linalg.norm(queries, axis=1, keepdims=True)
        order, scores = np.argsort(-cosines, axis=1)[:, :7], -np.sort(-cosines, axis=1)[:, :7]
    else:
        distances = np.linalg.norm(queries[:, None] - candidates.matrix, axis=2)
        order, scores = np.argsort(distances, axis=1)[:, :7], np.sort(distances, axis=1)[:, :7]
    np.testing.assert_array_equal(found.rows, order)
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)


def test_csls_ranks_a_hub_lower():
    # The hub is near both queries, every other candidate near one.
    candidates = space([[1, 1], [1, 0.3], [0.3, 1]])
    queries = space([[1, 0.62], [0.62, 1]])
    assert find_nearest(queries.matrix, candidates, 1).rows.ravel().tolist() == [0, 0]
    hubness = compute_neighbor_cosines(candidates.unit, queries.unit, k=2)
    assert find_nearest(queries.matrix, candidates, 1, hubness=hubness).rows.ravel().tolist() == [
        1,
        2,
    ]
    scores = find_nearest(queries.matrix, candidates, 3, hubness=hubness).scores
    cosines = queries.unit @ candidates.unit.T
    np.testing.assert_allclose(
        scores[0], np.sort(2 * cosines[0] - cosines[0].mean() - hubness)[::-1], atol=1e-6
    )


def test_csls_against_brute_force_in_small_blocks_takes_one_product(monkeypatch):
    monkeypatch.setattr(nearest_module, "BLOCK", 5000)  # five queries at a time
    rng = np.random.default_rng(2)
    queries = rng.normal(size=(23, 6)).astype(np.float32)
    candidates = space(rng.normal(size=(1000, 6)))
    hubness = rng.uniform(0, 0.5, 1000).astype(np.float32)
    leave_out = rng.integers(-1, 1000, 23)
    # The hubness of a query comes from the product that finds its neighbors: a second one made it
    # twice as slow.
    monkeypatch.setattr(nearest_module, "compute_neighbor_cosines", None)
    found = find_nearest(queries, candidates, 7, leave_out=leave_out, hubness=hubness)
    cosines = queries @ candidates.unit.T / np.linalg.norm(queries, axis=1, keepdims=True)
    csls = 2 * cosines - hubness - np.sort(cosines, axis=1)[:, -10:].mean(axis=1, keepdims=True)
    own = leave_out >= 0
    csls[own, leave_out[own]] = -np.inf
    np.testing.assert_array_equal(found.rows, np.argsort(-csls, axis=1)[:, :7])
    np.testing.assert_allclose(found.scores, -np.sort(-csls, axis=1)[:, :7], atol=1e-5)


@pytest.mark.parametrize(
    ("candidates", "others", "k"), [(2000, 700, 10), (3, 4, 10), (300, 9, 300)]
)
def test_a_list_by_csls_is_exact_without_the_hubness_of_every_candidate(
    monkeypatch, candidates, others, k
):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(candidates, 12)).astype(np.float32)
    space = EmbeddingSpace(tuple(f"w{i}" for i in range(candidates)), rows)
    queries = EmbeddingSpace(
        tuple(f"q{i}" for i in range(others)), rng.normal(size=(others, 12)).astype(np.float32)
    )
    hubness = compute_neighbor_cosines(space.unit, queries.unit)
    search = csls.CslsSearch(space, queries.unit)
    assert (search.least_hubness < hubness).all()
    measured = []

    def count(rows, *arguments):
        measured.append(len(rows))
        return compute_neighbor_cosines(rows, *arguments)

    monkeypatch.setattr(csls, "compute_neighbor_cosines", count)
    for query in (*queries.matrix[:5], np.zeros(12, np.float32)):
        found, expected = (
            search.list_neighbors(query, k),
            list_neighbors(space, query, k, hubness=hubness),
        )
        assert [word for word, _ in found] == [word for word, _ in expected]
        assert np.allclose(
            [score for _, score in found], [score for _, score in expected], atol=1e-5
        )
    # The work is saved for a list that is short beside the candidates.
    if k < candidates / 10:
        assert max(measured[:10]) < candidates / 3
    with raises_input_error("cosines-only"):
        search.list_neighbors(queries.matrix[0], k, "euclidean")


def test_hubness_is_the_mean_of_the_k_nearest():
    others = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
    assert compute_neighbor_cosines(others[:1], others, k=2)[0] == pytest.approx(0.5)
    assert compute_neighbor_cosines(others[:1], others, k=99)[0] == pytest.approx(0)


@pytest.mark.parametrize(
    "options",
    [{"metric": "taxicab"}, {"k": 0}, {"metric": "euclidean", "hubness": np.zeros(5, np.float32)}],
)
def test_bad_choices_are_input_errors(options):
    with pytest.raises(InputError):
        find_nearest(PLANE.matrix, PLANE, **options)
    with raises_input_error("wrong-dimensions", "2", "(1, 3)"):
        find_nearest(np.ones((1, 3), np.float32), PLANE)


@pytest.fixture
def cross():
    """Words and pieces in one plane, turned by a quarter; heart is in both, angina and ##gia in one
    each.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4)).astype(np.float32)
    names = tuple(f"filler{i}" for i in range(28))
    words = space(x, ("heart", "angina", *names), "words")
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0].astype(np.float32)
    pieces = space(5 * x @ turn, ("heart", "##gia", *names), "pieces")
    return CrossSpace(words, pieces, fit_alignment(words, pieces))


def test_four_lists(cross):
    lists = cross.lists("heart", ListSettings(k=3))
    assert "heart" not in [name for name, _ in lists["within_words"] + lists["within_pieces"]]
    assert lists["to_pieces"][0] == ("heart", pytest.approx(1, abs=1e-5))
    assert lists["to_words"][0] == ("heart", pytest.approx(1, abs=1e-5))
    assert [len(listed) for listed in lists.values()] == [3] * 4
    assert "heart" in find_shared_neighbors(lists)


def test_a_space_that_lacks_the_word_gives_none(cross):
    every = ListSettings(among=ALL_PIECES)
    angina, piece = cross.lists("angina", every), cross.lists("##gia", every)
    assert angina["within_pieces"] is angina["to_words"] is None
    assert angina["to_pieces"][0][0] == "##gia"  # the wordpiece to which angina is mapped
    assert piece["within_words"] is piece["to_pieces"] is None
    assert piece["to_words"][0][0] == "angina"


def test_a_word_in_no_space_is_an_input_error_with_the_nearest_spelling(cross):
    with raises_input_error("unknown-word", "hearth") as caught:
        cross.lists("hearth")
    assert "heart" in caught.value.remedy


def test_shared_neighbors_occur_in_two_lists():
    lists = {
        "within_words": [("a", 1.0), ("b", 0.5)],
        "within_pieces": None,
        "to_pieces": [("b", 0.9)],
        "to_words": [("c", 0.1)],
    }
    assert find_shared_neighbors(lists) == {"b"}


def test_the_mean_of_wordpieces_is_a_query_too(cross):
    lists = cross.list_neighbors_of_pieces(["##gia"])
    assert lists["within_words"] is None and lists["to_words"][0][0] == "angina"
    with raises_input_error("unknown-wordpiece", "gibberish"):
        cross.list_neighbors_of_pieces(["gibberish"])


@pytest.mark.parametrize(
    "settings",
    [AlignmentSettings(unit=True, center=True), AlignmentSettings("kernel-ridge", unit=True)],
)
def test_across_with_csls_and_prepared_spaces(cross, settings):
    alignment = fit_alignment(cross.words, cross.pieces, settings)
    lists = CrossSpace(cross.words, cross.pieces, alignment).lists(
        "heart", ListSettings(k=2, csls=True)
    )
    assert lists["to_pieces"][0][0] == "heart" and lists["to_words"][0][0] == "heart"


def test_euclid_orders_all_four_lists(cross):
    lists = cross.lists("heart", ListSettings(k=30, metric="euclidean", among=ALL_PIECES))
    for listed in lists.values():
        assert [distance for _, distance in listed] == sorted(distance for _, distance in listed)
    assert lists["to_pieces"][0] == ("heart", pytest.approx(0, abs=1e-4))  # the map is exact here
    own = np.linalg.norm(cross.pieces.matrix - cross.pieces["heart"], axis=1)
    names = [cross.pieces.words[i] for i in np.argsort(own)[1:]]
    assert [name for name, _ in lists["within_pieces"]] == names
    with raises_input_error("cosines-only"):
        cross.lists("heart", ListSettings(metric="euclidean", csls=True))


def test_a_typed_word_is_used_as_typed_if_known_and_else_normalized(cross):
    def form(typed):
        return resolve_word(typed, Splitter.bert(), cross.words, cross.pieces)

    assert form("heart") == "heart"
    assert form(" Heart ") == "heart"
    assert form("##gia") == "##gia"
    assert form("Tumör") == "tumor"
    for typed, code, value in (
        ("two words", "not-one-word", "2 words"),
        ("", "not-one-word", "0 words"),
        ("a\udcff", "not-utf8", ""),
    ):
        with raises_input_error(code, value):
            form(typed)


def test_identical_spaces_agree_in_all_lists():
    matrix = np.random.default_rng(1).normal(size=(20, 3))
    same = space(matrix)
    lists = CrossSpace(same, same, fit_alignment(same, same, AlignmentSettings("identity"))).lists(
        "w0", ListSettings(k=4)
    )
    assert lists["within_words"] == lists["within_pieces"]
    assert [name for name, _ in lists["to_pieces"][1:]] == [
        name for name, _ in lists["within_words"][:3]
    ]


def test_special_tokens_are_never_neighbors():
    words, pieces = (
        space(np.eye(3), ("a", "b", "new")),
        space(np.eye(3), ("a", "b", "[PAD]"), "pieces"),
    )
    identity = fit_alignment(words, pieces, AlignmentSettings("identity"))
    special = replace(pieces, kinds=TokenKinds(special=frozenset({"[PAD]"})))
    lists = CrossSpace(words, special, identity).lists("new")
    assert [name for name, _ in lists["to_pieces"]] == ["a", "b"]  # its vector is [PAD]'s own row
    every = ListSettings(among=ALL_PIECES)
    assert [
        name for name, _ in CrossSpace(words, special, identity).lists("new", every)["to_pieces"]
    ] == ["a", "b"]
    assert CrossSpace(words, pieces, identity).lists("new", every)["to_pieces"][0] == ("[PAD]", 1.0)


@pytest.mark.parametrize("csls", [False, True])
def test_lists_of_wordpieces_have_whole_words_that_the_domain_space_has(cross, csls):
    rng = np.random.default_rng(3)
    names = (*cross.pieces.words, "portug", "##heart")
    matrix = np.vstack([cross.pieces.matrix, rng.normal(size=(2, 4))]).astype(np.float32)
    # ##heart is also a word of the text, by accident, and still no whole word.
    words = replace(cross.words, words=(*cross.words.words[:-1], "##heart"))
    kinds = TokenKinds(continuations=frozenset({"##gia", "##heart"}))
    spaces = CrossSpace(
        words, EmbeddingSpace(names, matrix, kinds=kinds), fit_alignment(words, cross.pieces)
    )
    whole = set(words.words) & set(cross.pieces.words)
    settings = ListSettings(k=100, csls=csls)
    lists = spaces.lists("angina", settings)
    assert {name for name, _ in lists["to_pieces"]} == whole
    assert spaces.count_candidates(settings) == len(whole) == 28
    assert {name for name, _ in spaces.lists("heart", settings)["within_pieces"]} == whole - {
        "heart"
    }
    assert "heart" in {name for name, _ in spaces.lists("##gia", settings)["within_pieces"]}
    every = replace(settings, among=ALL_PIECES)
    assert {name for name, _ in spaces.lists("angina", every)["to_pieces"]} == set(names)
    # A cosine does not depend on the candidates; all CSLS scores of a word change by its hubness.
    scores = dict(spaces.lists("angina", every)["to_pieces"])
    gaps = [scores[name] - score for name, score in lists["to_pieces"]]
    assert gaps == pytest.approx([gaps[0] if csls else 0] * len(gaps), abs=1e-5)
    mapped = spaces.list_aligned_pieces(words["angina"], settings)
    assert [name for name, _ in mapped] == [name for name, _ in lists["to_pieces"]]


def test_the_best_aligned_words_come_first():
    words = space([[1, 0], [0, 1], [1, 1], [-1, -2]], ("a", "b", "between", "far"))
    pieces = space([[1, 0], [0, 1]], ("a", "b"), "pieces")
    spaces = CrossSpace(words, pieces, fit_alignment(words, pieces, AlignmentSettings("identity")))
    assert spaces.select_best_aligned(["far", "between", "b"], 2) == ["b", "between"]


@pytest.mark.parametrize(
    "values", [np.arange(6000), np.zeros(6000), np.arange(6000) % 7, -np.arange(6000)]
)
@pytest.mark.parametrize("k", [1, 10, 180])
def test_the_top_k_are_those_of_a_full_sort(values, k):
    from vocadapt.spaces.neighbors.search import select_top_k

    rng = np.random.default_rng(1)
    closeness = np.stack([rng.permutation(values) for _ in range(5)]).astype(np.float32)
    got = np.take_along_axis(closeness, select_top_k(closeness, k), axis=1)
    assert (got == -np.sort(-closeness, axis=1)[:, :k]).all()
