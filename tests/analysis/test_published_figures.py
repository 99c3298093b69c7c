"""Figures of publications: what is drawn for known values."""

import pytest

from vocadapt.analysis.figures.published import (
    LARGEST_DISC,
    DiscMark,
    GapMark,
    plot_discs,
    plot_gap_coverage,
    plot_group_means,
    plot_score_curves,
)
from vocadapt.published.model_sizes import list_curves, list_discs
from vocadapt.published.reader import find_table


def test_a_fraction_has_its_interval_and_an_undefined_one_a_note() -> None:
    marks = [GapMark("a", 0.5, 0.3, 0.8), GapMark("<b>", None), GapMark("c", 0.6)]
    figure = plot_gap_coverage(marks, mean=0.55)
    (trace,) = figure.data
    assert list(trace.x) == [0.5, 0.6] and list(trace.y) == [0, 2]
    assert list(trace.error_x.array) == pytest.approx([0.3, 0])
    assert list(trace.error_x.arrayminus) == pytest.approx([0.2, 0])
    assert [note.y for note in figure.layout.annotations] == [1]
    assert [line.x0 for line in figure.layout.shapes] == [0, 0.55]
    assert "<b>" not in figure.to_json().replace("\\u003c", "<")


def test_published_curves_and_discs_are_drawn() -> None:
    curves = list_curves(find_table("exbert-1"))
    figure = plot_score_curves(curves, "module size, % of a layer")
    assert len(figure.data) == len(curves) and list(figure.data[-1].y) == [curves["BERT"][0][1]]
    discs = list_discs(find_table("exbert-2b"))
    figure = plot_discs([DiscMark(one.name, one.hours, one.score, one.diameter) for one in discs])
    assert max(trace.marker.size for trace in figure.data) == LARGEST_DISC
    # The area, not the diameter, is proportional to the parameters.
    first, second = discs[0], discs[-1]
    ratio = figure.data[0].marker.size / figure.data[-1].marker.size
    assert ratio**2 == pytest.approx(first.parameters / second.parameters)


def test_means_over_groups_have_a_row_for_each_model() -> None:
    groups = {"Mean (all)": {"a": 1.0, "<b>": 2.0}, "Mean (PubMed)": {"<b>": 3.0}}
    figure = plot_group_means(groups, "mean")
    first, second = figure.data
    assert list(first.x) == [1.0, 2.0] and list(first.y) == [0, 1]
    assert list(second.x) == [3.0] and list(second.y) == [1]
    assert list(figure.layout.yaxis.ticktext) == ["a", "&lt;b&gt;"]
