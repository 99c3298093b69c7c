"""Figures of the page Diagnostics: embedding norms against frequency, and relations."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.subplots import make_subplots

from vocadapt.analysis.figures.figures import (
    GOOD,
    NEUTRAL,
    SYMBOLS,
    build_figure,
    build_layout,
    build_name_axis,
    escape_name,
)

MAX_LABEL_LENGTH = 34  # characters of a label


@dataclass(frozen=True, eq=False)
class NormPanel:
    """Embedding norms of one space.

    axis: title of the x axis; logarithmic: its scale. frequency, norms: of each token. place, low,
    median, high: mean frequency and 5th, 50th and 95th percentile of each group of tokens.
    """

    title: str
    color: str
    axis: str
    logarithmic: bool
    frequency: ArrayLike
    norms: ArrayLike
    place: ArrayLike
    low: ArrayLike
    median: ArrayLike
    high: ArrayLike
    added_frequency: ArrayLike = ()
    added_norms: ArrayLike = ()


@dataclass(frozen=True)
class RelationMarks:
    """One space: the corrected mean cosine of each relation, its standard deviation, and the mean
    cosine of its words paired at random; None if unknown.
    """

    name: str
    color: str
    corrected: Sequence[float | None]
    sd: Sequence[float | None]
    random: Sequence[float | None]


def plot_norms(panels: Sequence[NormPanel]) -> go.Figure:
    """Plot the norm of each embedding against the frequency of its token, one panel per space, with
    the 5th, 50th and 95th percentile.
    """
    # 1. The panels, side by side.
    figure = make_subplots(
        1,
        max(len(panels), 1),
        subplot_titles=[escape_name(panel.title, MAX_LABEL_LENGTH) for panel in panels],
        horizontal_spacing=0.07,
    )
    figure.update_layout(**build_layout(340))
    figure.update_annotations(font_size=12)
    for place, panel in enumerate(panels, start=1):
        # 2. A dot for each original token, and a green diamond for each added one.
        groups = (
            ("original tokens", panel.color, "circle", 2.5, panel.frequency, panel.norms),
            ("added tokens", GOOD, "diamond", 3.5, panel.added_frequency, panel.added_norms),
        )
        for name, color, symbol, size, frequency, norms in groups:
            if not len(np.asarray(norms)):
                continue
            figure.add_scattergl(
                x=np.asarray(frequency, dtype=np.float32),
                y=np.asarray(norms, dtype=np.float32),
                mode="markers",
                row=1,
                col=place,
                name=name,
                showlegend=False,
                marker={"color": color, "symbol": symbol, "size": size, "opacity": 0.22},
                hovertemplate=f"{panel.axis} %{{x}}: length %{{y:.3f}}<extra>{name}</extra>",
            )
        # 3. The percentiles; the median is drawn last, above the others.
        for values, dash, width, name in (
            (panel.low, "dot", 2.0, "5 %"),
            (panel.high, "dot", 2.0, "95 %"),
            (panel.median, "solid", 3.5, "median"),
        ):
            figure.add_scattergl(  # WebGL like the dots: otherwise it would be drawn below them
                x=np.asarray(panel.place),
                y=np.asarray(values),
                mode="lines",
                showlegend=False,
                row=1,
                col=place,
                line={"color": NEUTRAL, "dash": dash, "width": width},
                hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>",
            )
        figure.update_xaxes(title=panel.axis, row=1, col=place)
        if panel.logarithmic:
            figure.update_xaxes(type="log", dtick=1, exponentformat="power", row=1, col=place)
    figure.update_xaxes(showline=False, zeroline=False)
    # The panels are compared by eye: they share one scale.
    figure.update_yaxes(showline=False, zeroline=False, rangemode="tozero", matches="y")
    figure.update_yaxes(title="vector length (norm)", col=1)
    return figure


def plot_relations(names: Sequence[str], spaces: Sequence[RelationMarks]) -> go.Figure:
    """Plot the mean cosine of each relation's pairs in each space (± sd), and of words paired
    at random in gray.
    """
    n_spaces = max(len(spaces), 1)
    figure = build_figure(
        "mean cosine of the pairs, minus the mean cosine of the space",
        "",
        90 + (18 + 11 * n_spaces) * len(names),
        y_axis=build_name_axis([escape_name(name, MAX_LABEL_LENGTH) for name in names], 0.6),
    )
    for place, (space, symbol) in enumerate(zip(spaces, cycle(SYMBOLS), strict=False)):
        label = escape_name(space.name, MAX_LABEL_LENGTH)
        # The spaces of a relation are drawn below each other, within .7 of the height of its row.
        y = np.arange(len(names)) + (place - (n_spaces - 1) / 2) * 0.7 / n_spaces
        figure.add_scatter(
            x=np.array(space.random, dtype=float),
            y=y,
            mode="markers",
            name="paired at random",
            legendgroup="random",
            showlegend=place == 0,
            marker={"color": NEUTRAL, "symbol": f"{symbol}-open", "size": 8},
            hovertemplate="paired at random: %{x:.3f}<extra></extra>",
        )
        figure.add_scatter(
            x=np.array(space.corrected, dtype=float),
            y=y,
            mode="markers",
            name=label,
            marker={"color": space.color, "symbol": symbol, "size": 9},
            error_x={
                "array": np.array(space.sd, dtype=float),
                "thickness": 1.2,
                "width": 0,
                "color": space.color,
            },
            hovertemplate=f"%{{x:.3f}}<extra>{label}</extra>",
        )
    return figure.add_vline(0, line={"color": NEUTRAL, "dash": "dot", "width": 1})
