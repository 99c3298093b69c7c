"""Points selected on a projection become token ids, which are written to and read from the
address."""

import pytest

from vocadapt.ui.parts.projection.chart import (
    MAX_IN_ADDRESS,
    compute_window,
    format_selection,
    parse_selection,
    read_point_ids,
)


def test_ids_come_from_customdata_never_from_the_point_number():
    points = [
        {"point_index": 0, "curve_number": 0, "customdata": 7},
        {"point_index": 0, "curve_number": 1, "customdata": [3]},
        {"point_index": 1, "customdata": {"0": 7}},
        {"point_index": 2, "customdata": 5.0},
    ]
    assert read_point_ids(points, 10) == [7, 3, 5]


@pytest.mark.parametrize(
    "custom", [None, "7", "<script>", [], {}, True, 1.5, -1, 10, [None], float("nan")]
)
def test_what_is_no_id_of_the_space_is_passed_over(custom):
    assert read_point_ids([{"customdata": custom}, {}], 10) == []


def test_a_small_selection_stands_in_the_address_and_comes_back():
    assert parse_selection(format_selection([5, 3, 900]), 1000) == [5, 3, 900]
    assert format_selection(list(range(MAX_IN_ADDRESS + 1))) == "" == format_selection([])


@pytest.mark.parametrize(
    "text", ["", ",,", "a,b", "-1", "1e3", "٣", "99999999999999999999", "<script>", "1000"]
)
def test_a_forged_address_selects_nothing(text):
    assert parse_selection(text, 1000) == []
    assert len(parse_selection(",".join(map(str, range(10_000))), 100_000)) == MAX_IN_ADDRESS


def test_the_window_of_a_zoom():
    import numpy as np

    xy = np.array([[0, 0], [10, 20], [4, 4]], dtype=np.float32)
    assert compute_window(xy, 1) is None
    assert compute_window(xy, 2) == pytest.approx((2.375, 7.625, 4.75, 15.25))
    left, right, bottom, top = compute_window(xy, 4, [2])
    assert ((left + right) / 2, (bottom + top) / 2) == pytest.approx((4, 4))
    assert right - left == pytest.approx(10 * 1.05 / 4)
