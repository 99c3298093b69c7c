"""Progress of a task is divided into parts that report separately."""

import pytest

from vocadapt.progress import part, parts


def told(weights, *reports):
    seen = []
    cut = parts(lambda fraction, message="": seen.append((fraction, message)), weights)
    for name, fraction in reports:
        cut[name](fraction, name)
    return seen


def test_parts_take_fractions_by_their_weights():
    seen = told(
        {"a": 1, "b": 0, "c": 3},
        ("a", 0.0),
        ("a", 1.0),
        ("b", 0.5),
        ("c", 0.0),
        ("c", 0.5),
        ("c", 1.0),
        ("c", None),
    )
    assert seen == [
        (0.0, "a"),
        (0.25, "a"),
        (0.25, "b"),
        (0.25, "c"),
        (0.625, "c"),
        (1.0, "c"),
        (None, "c"),
    ]


@pytest.mark.parametrize("weights", [[0.1] * 10, [1 / 3, 1e-9, 7.0], [0.0, 0.0]])
def test_the_last_part_ends_at_one(weights):
    names = [str(place) for place in range(len(weights))]
    reports = [(name, fraction) for name in names for fraction in (0.0, 1.0)]
    seen = [fraction for fraction, _ in told(dict(zip(names, weights, strict=True)), *reports)]
    assert seen == sorted(seen) and seen[0] == 0.0 and seen[-1] == (1.0 if any(weights) else 0.0)


def test_a_nested_part_reports_its_name():
    seen = []
    outer = part(lambda fraction, message="": seen.append((fraction, message)), 0.5, 1.0, "all")
    part(outer, 0.5, 1.0, "rows")(0.5, "step 1")
    ((fraction, message),) = seen
    assert fraction == 0.875 and message.split(": ") == ["all", "rows", "step 1"]
