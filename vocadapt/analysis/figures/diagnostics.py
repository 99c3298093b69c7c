"""Figures of the diagnostics page: lengths against frequency, and relations. They draw, and compute
nothing.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.subplots import make_subplots

from vocadapt.analysis.figures.figures import NEUTRAL, SYMBOLS, build_layout

LONGEST = 34  # characters of a label


@dataclass(frozen=True, eq=False)
class NormPanel:
    """One space: its title and color, what stands on the x axis, each row's length there, the
    bands over groups of rows.
    """

    title: str
    color: str
    axis: str
    logarithmic: bool
    frequency: ArrayLike
    lengths: ArrayLike
    place: ArrayLike
    low: ArrayLike
    median: ArrayLike
    high: ArrayLike


@dataclass(frozen=True)
class RelationMarks:
    """One space: for each relation its corrected mean cosine, its standard deviation, the same
    words re-paired; None: unknown.
    """

    name: str
    color: str
    corrected: Sequence[float | None]
    sd: Sequence[float | None]
    null: Sequence[float | None]


def plot_norms(panels: Sequence[NormPanel]) -> go.Figure:
    """The length of every row against the frequency of its token, a panel a space, with the 5th,
    50th and 95th percentile.
    """
    many = max(len(panels), 1)
    figure = make_subplots(
        1, many, subplot_titles=[label(panel.title) for panel in panels], horizontal_spacing=0.07
    )
    figure.update_layout(**build_layout(340))
    figure.update_annotations(font_size=12)
    for place, panel in enumerate(panels, start=1):
        x, y = (
            np.asarray(panel.frequency, dtype=np.float32),
            np.asarray(panel.lengths, dtype=np.float32),
        )
        figure.add_scattergl(
            x=x,
            y=y,
            mode="markers",
            row=1,
            col=place,
            showlegend=False,
            marker={"color": panel.color, "size": 2.5, "opacity": 0.22},
            hovertemplate=f"{panel.axis} %{{x}}: length %{{y:.3f}}<extra></extra>",
        )
        for values, dash, name in (
            (panel.low, "dot", "5 %"),
            (panel.high, "dot", "95 %"),
            (panel.median, "solid", "median"),
        ):
            figure.add_scattergl(  # on the same canvas as the dots, and so above them
                x=np.asarray(panel.place),
                y=np.asarray(values),
                mode="lines",
                showlegend=False,
                row=1,
                col=place,
                line={"color": NEUTRAL, "dash": dash, "width": 3.5 if dash == "solid" else 2},
                hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>",
            )
        axis: dict[str, Any] = (
            {"type": "log", "dtick": 1, "exponentformat": "power"} if panel.logarithmic else {}
        )
        figure.update_xaxes(title=panel.axis, row=1, col=place, **axis)
    figure.update_xaxes(showline=False, zeroline=False)
    figure.update_yaxes(showline=False, zeroline=False, rangemode="tozero")
    figure.update_yaxes(title="length of the row", col=1)
    return figure


def plot_relations(names: Sequence[str], spaces: Sequence[RelationMarks]) -> go.Figure:
    """Plot the mean cosine of each relation's pairs in each space (± sd), and of re-paired words in
    gray.
    """
    figure, many = go.Figure(), max(len(spaces), 1)
    for place, (space, symbol) in enumerate(zip(spaces, cycle(SYMBOLS), strict=False)):
        y = np.arange(len(names)) + (place - (many - 1) / 2) * 0.7 / many
        figure.add_scatter(
            x=_floats(space.null),
            y=y,
            mode="markers",
            name="re-paired at random",
            legendgroup="null",
            showlegend=place == 0,
            marker={"color": NEUTRAL, "symbol": f"{symbol}-open", "size": 8},
            hovertemplate="re-paired: %{x:.3f}<extra></extra>",
        )
        figure.add_scatter(
            x=_floats(space.corrected),
            y=y,
            mode="markers",
            name=label(space.name),
            marker={"color": space.color, "symbol": symbol, "size": 9},
            error_x={
                "array": _floats(space.sd),
                "thickness": 1.2,
                "width": 0,
                "color": space.color,
            },
            hovertemplate="%{x:.3f}<extra>" + label(space.name) + "</extra>",
        )
    figure.add_vline(0, line={"color": NEUTRAL, "dash": "dot", "width": 1})
    figure.update_layout(**build_layout(90 + (18 + 11 * many) * len(names)))
    figure.update_xaxes(
        title="mean cosine of the pairs, minus the space's own", showline=False, zeroline=False
    )
    figure.update_yaxes(
        **_ticks(names),
        range=[len(names) - 0.4, -0.6],
        showline=False,
        zeroline=False,
        automargin=True,
        showgrid=False,
    )
    return figure


def label(text: str) -> str:
    """Escape and shorten a name for plotly."""
    return html.escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _ticks(names: Sequence[str]) -> dict[str, Any]:
    """Names at 0, 1, 2 …: equal names stay apart."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [label(name) for name in names],
    }


def _floats(values: Sequence[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]
