"""Scores by module size and by hours, for a figure."""

import math

import pytest

from vocadapt.published.model_sizes import (
    list_discs,
    list_hour_points,
    list_module_points,
)
from vocadapt.published.reader import find_table


def test_module_points() -> None:
    points = list_module_points(find_table("exbert-1"))
    series = [point for point in points if point.series == "exBERT, with extension vocabulary"]
    assert [point.x for point in series] == [0, 16.3, 23.4, 33.2, 66.3, 100]
    assert series[3].score == max(point.score for point in points) == 0.8381
    assert [point.x for point in points if point.series == "BERT"] == [0]
    assert list_module_points(find_table("exbert-figure-4")) == ()


def test_hour_points() -> None:
    points = list_hour_points(find_table("exbert-2a"))
    exbert, bio = (
        [point for point in points if point.series == name] for name in ("exBERT", "oiBioBERT")
    )
    assert [point.x for point in exbert] == [4, 8, 12, 16, 20, 24]
    assert all(one.score > other.score for one, other in zip(exbert, bio, strict=True))


def test_discs_have_areas_proportional_to_parameters() -> None:
    discs = {disc.name: disc for disc in list_discs(find_table("exbert-2b"))}
    assert len(discs) == 7
    exbert, bert = discs["exBERT, 64 hrs"], discs["BERT"]
    assert (exbert.hours, exbert.score, exbert.parameters) == (64, 0.8587, 153)
    assert exbert.diameter == 1.0
    assert bert.diameter**2 == pytest.approx(110 / 153)
    assert math.isclose(bert.hours, 768)
