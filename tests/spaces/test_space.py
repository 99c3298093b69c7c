"""EmbeddingSpace: its contents, and the input it refuses."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.spaces.space import EmbeddingSpace, normalize_rows

MATRIX = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], dtype=np.float32)
SPACE = EmbeddingSpace(("heart", "##s", "blood"), MATRIX.copy(), np.array([5, 3, 1]), name="small")


def test_rows_are_found_by_word() -> None:
    assert SPACE["blood"].tolist() == [1.0, 0.0]
    assert "##s" in SPACE and "drug" not in SPACE
    assert SPACE.rows(["blood", "heart"]).tolist() == [2, 0]
    assert (len(SPACE), SPACE.dim) == (3, 2)


def test_unit_rows_by_hand_and_a_zero_row_stays_zero() -> None:
    assert np.allclose(SPACE.unit, [[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]])
    assert normalize_rows(MATRIX) is not MATRIX


def test_take_keeps_counts_and_the_given_order() -> None:
    part = SPACE.take([2, 0])
    assert part.words == ("blood", "heart")
    assert part.counts is not None and part.counts.tolist() == [1, 5]


def test_a_space_is_immutable() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SPACE.matrix[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        SPACE.unit[0, 0] = 1.0


def test_other_precisions_become_float32() -> None:
    assert EmbeddingSpace(("a",), np.ones((1, 2), dtype=np.float64)).matrix.dtype == np.float32  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "matrix", "counts", "code", "value"),
    [
        (("a", "b"), np.ones((1, 2)), None, "unlike-words", "2 words"),
        (("a",), np.ones(2), None, "unlike-words", "(2,)"),
        (("a", "a"), np.ones((2, 2)), None, "repeated-word", "1"),
        (("a", "b"), np.array([[1, np.nan], [1, 1]]), None, "not-finite", "1 of 2"),
        (("a",), np.ones((1, 2)), np.array([1, 2]), "unlike-counts", "(2,)"),
    ],
)
def test_inconsistent_input_is_refused(
    words: tuple[str, ...], matrix: np.ndarray, counts: np.ndarray | None, code: str, value: str
) -> None:
    with raises_input_error(code, value):
        EmbeddingSpace(words, matrix.astype(np.float32), counts)
