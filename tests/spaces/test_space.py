"""EmbeddingSpace: its contents, and the input it refuses."""

import numpy as np
import pytest

from vocadapt.errors import InputError
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
    ("words", "matrix", "counts", "said"),
    [
        (("a", "b"), np.ones((1, 2)), None, "2 words and a matrix of shape"),
        (("a",), np.ones(2), None, "shape"),
        (("a", "a"), np.ones((2, 2)), None, "1 words occur more than once"),
        (("a", "b"), np.array([[1, np.nan], [1, 1]]), None, "1 of 2 vectors contain NaN"),
        (("a",), np.ones((1, 2)), np.array([1, 2]), "one count per word"),
    ],
)
def test_inconsistent_input_is_refused(
    words: tuple[str, ...], matrix: np.ndarray, counts: np.ndarray | None, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        EmbeddingSpace(words, matrix.astype(np.float32), counts)
