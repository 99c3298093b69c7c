"""Scores by module size and by hours, for a figure."""

import math

import pytest

from vocadapt.published.model_sizes import list_curves, list_discs
from vocadapt.published.reader import find_table


def test_curves_by_the_size_of_the_module() -> None:
    curves = list_curves(find_table("exbert-1"))
    sizes = curves["exBERT, with extension vocabulary"]
    assert [x for x, _ in sizes] == [0, 16.3, 23.4, 33.2, 66.3, 100]
    assert sizes[3][1] == max(score for own in curves.values() for _, score in own) == 0.8381
    assert [x for x, _ in curves["BERT"]] == [0]
    assert list_curves(find_table("exbert-figure-4")) == {}


def test_curves_by_hours() -> None:
    curves = list_curves(find_table("exbert-2a"))
    assert [x for x, _ in curves["exBERT"]] == [4, 8, 12, 16, 20, 24]
    pairs = zip(curves["exBERT"], curves["oiBioBERT"], strict=True)
    assert all(own > other for (_, own), (_, other) in pairs)


def test_discs_have_areas_proportional_to_parameters() -> None:
    discs = {disc.name: disc for disc in list_discs(find_table("exbert-2b"))}
    assert len(discs) == 7
    exbert, bert = discs["exBERT, 64 hrs"], discs["BERT"]
    assert (exbert.hours, exbert.score, exbert.parameters) == (64, 0.8587, 153)
    assert exbert.diameter == 1.0
    assert bert.diameter**2 == pytest.approx(110 / 153)
    assert math.isclose(bert.hours, 768)
