"""Figures of the page Pretraining: held-out loss, and gates."""

import html
from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vocadapt.analysis.figures.figures import (
    GOOD,
    SERIES,
    SOURCE,
    SYMBOLS,
    build_empty_figure,
    build_layout,
)
from vocadapt.analysis.gates import GateStatistics
from vocadapt.analysis.results.tables import format_fraction
from vocadapt.progress import count
from vocadapt.training.masked.validation import HeldOutCurve

AGAINST = {"tokens": "wordpieces read", "seconds": "seconds of training"}
MIDDLE = "#D8DDE1"
NARROWEST = 0.1  # half the range of gate values that the colors span, at least
DARKEST = 0.65  # strongest color of a cell, as a fraction of the full color: its digits are dark


def plot_held_out_losses(
    curves: Mapping[str, HeldOutCurve],
    against: str = "tokens",
    height: int = 320,
    among: Sequence[str] = (),
) -> go.Figure:
    """Plot held-out loss per character against a key of AGAINST, a line per model.

    among: all models on the page, so that each keeps its color.
    """
    figure = build_empty_figure(AGAINST[against], "held-out loss per character", height)
    looks = zip(cycle(SERIES), cycle(SYMBOLS), strict=False)
    styles = dict(zip(dict.fromkeys([*among, *curves]), looks, strict=False))
    for name, curve in curves.items():
        color, symbol = styles[name]
        figure.add_scatter(
            x=[getattr(point, against) for point in curve.points],
            y=[point.loss for point in curve.points],
            mode="lines+markers",
            name=html.escape(name),
            line={"color": color, "width": 2.2},
            marker={"symbol": symbol, "size": 7},
            customdata=[format_fraction(point.loss) for point in curve.points],
            hovertemplate=(
                f"%{{x:,.0f}} {AGAINST[against]}: %{{customdata}}<extra>{html.escape(name)}</extra>"
            ),
        )
    figure.update_layout(showlegend=len(curves) > 1)
    figure.update_xaxes(rangemode="tozero")
    return figure


def plot_gates(gates: GateStatistics) -> go.Figure:
    """Plot the mean gate value by layer (first one at the bottom) and kind of token as a heat
    map.
    """
    half = max(NARROWEST, float(abs(gates.means - 0.5).max())) / DARKEST
    kinds = [f"{kind}<br>{count(of)}" for kind, of in zip(gates.kinds, gates.counts, strict=True)]
    figure = go.Figure(
        go.Heatmap(
            z=gates.means,
            x=kinds,
            y=[f"layer {layer + 1}" for layer in range(gates.layers)],
            text=_format_fractions(gates.means),
            customdata=_format_fractions(gates.deviations),
            zmin=0.5 - half,
            zmax=0.5 + half,
            colorscale=[(0, SOURCE), (0.5, MIDDLE), (1, GOOD)],
            xgap=2,
            ygap=2,
            texttemplate="%{text}",
            textfont={"size": 12, "color": "#101418"},
            showscale=False,  # each cell contains its number
            hovertemplate="%{y}, %{x}: %{text} ± %{customdata}<extra></extra>",
        )
    )
    figure.update_layout(
        **build_layout(110 + 34 * gates.layers) | {"margin": {"l": 8, "r": 8, "t": 16, "b": 8}}
    )
    figure.update_xaxes(type="category", showline=False, automargin=True)
    figure.update_yaxes(type="category", showline=False, automargin=True)
    return figure


def _format_fractions(values: NDArray[np.float64]) -> list[list[str]]:
    return [list(map(format_fraction, row)) for row in values.tolist()]
