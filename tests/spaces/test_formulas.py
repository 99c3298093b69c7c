"""Neighbors of formulas of words, by hand."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.neighbors.formulas import compute_formula, find_formula_neighbors
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.formulas import Formula, Term

SPACE = EmbeddingSpace(
    ("king", "man", "woman", "queen", "apple"),
    np.array([[2, 2, 0], [3, 0, 0], [0, 0, 5], [0, 1, 1], [-1, 0, 0]], dtype=np.float32),
)
ROYAL = Formula((Term("king", 1.0), Term("man", -1.0), Term("woman", 1.0)))


def test_a_formula_is_the_sum_of_unit_vectors():
    half = 2**-0.5
    assert compute_formula(ROYAL, SPACE) == pytest.approx([half - 1, half, 1])
    twice = Formula((Term("king", 2.0), Term("apple", 0.5)))
    assert compute_formula(twice, SPACE) == pytest.approx([2 * half - 0.5, 2 * half, 0])


def test_its_neighbors_leave_out_its_own_words():
    near = find_formula_neighbors(ROYAL, SPACE, 2)
    assert [word for word, _ in near] == ["queen", "apple"]
    vector = np.array([2**-0.5 - 1, 2**-0.5, 1])
    cosine = (vector[1] + vector[2]) / (np.linalg.norm(vector) * 2**0.5)
    assert near[0][1] == pytest.approx(cosine, abs=1e-6)
    assert len(find_formula_neighbors(ROYAL, SPACE, 50)) == 2


def test_words_that_cancel_out_are_a_sentence():
    with raises_input_error("zero-sum", "king − king"):
        compute_formula(Formula((Term("king", 1.0), Term("king", -1.0))), SPACE)
    with raises_input_error("zero-sum"):
        compute_formula(Formula((Term("man", 1.0), Term("apple", 1.0))), SPACE)


def test_a_word_without_a_vector_is_a_sentence():
    with raises_input_error("unknown-word", "'zebra'"):
        compute_formula(Formula((Term("king", 1.0), Term("zebra", -1.0))), SPACE)


def test_unknown_words_of_a_formula_are_named_with_suggestions():
    with raises_input_error("unknown-word", "'kign', 'qqqq'") as caught:
        compute_formula(Formula((Term("kign", 1.0), Term("qqqq", -1.0))), SPACE)
    assert "king" in caught.value.remedy
