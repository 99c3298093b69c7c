"""Figures for choosing the size of an extension vocabulary."""

import plotly.graph_objects as go

from vocadapt.analysis.figures.figures import (
    GOOD,
    NEUTRAL,
    SOURCE,
    build_empty_figure,
    plot_frequency_ranks,
)
from vocadapt.vocabulary.growth.growth import RARE, ExtensionCurve

HEIGHT, TOP = 260, 12  # pixels: of a figure, of its upper margin


def plot_token_frequency(curve: ExtensionCurve, chosen: int = 0) -> go.Figure:
    """Plot occurrences of the new tokens by rank; chosen size and RARE as lines."""
    figure = plot_frequency_ranks(curve.ranked, RARE, "{} times", "new token", GOOD)
    figure.update_layout(height=HEIGHT, margin={"t": TOP})
    _draw_chosen_size(figure, curve, chosen)
    return figure


def plot_wordpieces_by_size(curve: ExtensionCurve, chosen: int = 0) -> go.Figure:
    """Plot wordpieces per word against the number of added tokens; the chosen size as a line."""
    figure = build_empty_figure("tokens added", "wordpieces per word", HEIGHT)
    figure.update_layout(showlegend=False, margin={"t": TOP})
    figure.add_scatter(
        x=[at.size for at in curve.sizes],
        y=[at.fertility for at in curve.sizes],
        mode="lines+markers",
        line={"color": SOURCE, "width": 2.5},
        marker={"size": 7},
        customdata=[curve.shorter(at) for at in curve.sizes],
        hovertemplate=(
            "%{x:,} tokens: %{y:.3f} per word, the text %{customdata:.1%} shorter<extra></extra>"
        ),
    )
    _draw_chosen_size(figure, curve, chosen)
    return figure


def _draw_chosen_size(figure: go.Figure, curve: ExtensionCurve, chosen: int) -> None:
    """Draw the chosen size as a line, if it is within the curve."""
    if 0 < chosen <= len(curve.counts):
        figure.add_vline(x=chosen, line={"color": NEUTRAL, "dash": "dash"})
