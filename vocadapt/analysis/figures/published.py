"""Figures of publications, drawn from values: covered fractions of a gap, scores by module size,
hours, or seed and number of epochs, and means over groups of tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import plotly.graph_objects as go

from vocadapt.analysis.figures.figures import (
    GOOD,
    LINE_STYLES,
    NEUTRAL,
    PERCENT,
    build_figure,
    build_name_axis,
    escape_name,
)

LARGEST_DISC = 60  # pixels of the largest diameter
Curve = Sequence[tuple[float, float]]  # (x, score) of each point


@dataclass(frozen=True)
class GapMark:
    """A covered fraction of a gap, and its confidence interval. fraction: None if it is not
    defined; low, high: None if the noise is not known.
    """

    name: str
    fraction: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class DiscMark:
    """A model: hours of pretraining, score, diameter of its disc relative to the largest."""

    name: str
    hours: float
    score: float
    diameter: float


def plot_gap_coverage(marks: Sequence[GapMark], mean: float | None = None) -> go.Figure:
    """Plot the covered fraction of each task in a row, with its interval; the mean as a line.

    A fraction that is not defined has an empty row with a note.
    """
    rows = build_name_axis([escape_name(mark.name) for mark in marks], 0.5)
    title = "fraction of the gap that is covered"
    figure = build_figure(title, "", 76 + 27 * len(marks), PERCENT, rows)
    defined = [(row, mark) for row, mark in enumerate(marks) if mark.fraction is not None]
    upper = [_measure_distance(mark.fraction, mark.high) for _, mark in defined]
    lower = [_measure_distance(mark.fraction, mark.low) for _, mark in defined]
    figure.add_scatter(
        x=[mark.fraction for _, mark in defined],
        y=[row for row, _ in defined],
        mode="markers",
        name="fraction",
        marker={"color": GOOD, "size": 12},
        error_x={"array": upper, "arrayminus": lower, "color": GOOD, "thickness": 1.6, "width": 5},
        hovertemplate="%{x:.0%}<extra></extra>",
        showlegend=False,
    )
    for row, mark in enumerate(marks):
        if mark.fraction is None:
            figure.add_annotation(x=0, y=row, text="not defined", showarrow=False, xanchor="left")
    figure.add_vline(0, line={"color": NEUTRAL, "width": 1})
    if mean is not None:
        figure.add_vline(mean, line={"color": NEUTRAL, "dash": "dot"})
    return figure


def _measure_distance(fraction: float | None, end: float | None) -> float:
    return 0.0 if fraction is None or end is None else abs(end - fraction)


def plot_score_curves(curves: Mapping[str, Curve], x_title: str, metric: str = "F1") -> go.Figure:
    """Plot scores against the size of a module, hours, or epochs: a line for each model or seed."""
    figure = build_figure(x_title, metric, 340)
    for (name, points), (color, symbol) in zip(curves.items(), cycle(LINE_STYLES), strict=False):
        figure.add_scatter(
            x=[x for x, _ in points],
            y=[score for _, score in points],
            mode="lines+markers",
            name=escape_name(name),
            line={"color": color, "width": 2.2},
            marker={"symbol": symbol, "size": 8},
            hovertemplate=f"%{{x}}: %{{y:.4f}}<extra>{escape_name(name)}</extra>",
        )
    return figure


def plot_discs(marks: Sequence[DiscMark], metric: str = "F1") -> go.Figure:
    """Plot scores against hours of pretraining, the area of a disc proportional to the parameters
    of its model.
    """
    figure = build_figure("hours of pretraining on four V100", metric, 380, showlegend=False)
    # Names stand below and above their discs by turns: those of neighbors would overlap.
    places = cycle(("bottom center", "top center"))
    for mark, (color, _), place in zip(marks, cycle(LINE_STYLES), places, strict=False):
        name = escape_name(mark.name)
        figure.add_scatter(
            x=[mark.hours],
            y=[mark.score],
            mode="markers+text",
            name=name,
            text=[name],
            textposition=place,
            cliponaxis=False,
            marker={"color": color, "size": LARGEST_DISC * mark.diameter, "opacity": 0.6},
            hovertemplate=f"%{{x}} hours: %{{y:.4f}}<extra>{name}</extra>",
        )
    return figure


def plot_group_means(groups: Mapping[str, Mapping[str, float]], x_title: str) -> go.Figure:
    """Plot means over groups of tasks: a row for each model, a mark for each group.

    groups: name of a group → model → its mean.
    """
    models = list(dict.fromkeys(model for means in groups.values() for model in means))
    rows = build_name_axis([escape_name(model) for model in models], 0.5)
    figure = build_figure(x_title, "", 90 + 27 * len(models), None, rows)
    for (name, means), (color, symbol) in zip(groups.items(), cycle(LINE_STYLES), strict=False):
        figure.add_scatter(
            x=list(means.values()),
            y=[models.index(model) for model in means],
            mode="markers",
            name=escape_name(name),
            marker={"color": color, "symbol": symbol, "size": 10},
            hovertemplate=f"%{{x:.2f}}<extra>{escape_name(name)}</extra>",
        )
    return figure
