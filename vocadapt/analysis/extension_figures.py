"""Figures to choose the size of an extension vocabulary by. They draw, and compute nothing."""

import numpy as np
import plotly.graph_objects as go

from vocadapt.analysis.figures import GOOD, MOST_POINTS, NULL, SOURCE
from vocadapt.vocabulary.extension_size import SELDOM, ExtensionCurve


def token_frequency(curve: ExtensionCurve, chosen: int = 0) -> go.Figure:
    """Occurrences of the new tokens by rank, both axes logarithmic; the chosen size and the floor of SELDOM as lines."""
    counts = curve.ranked
    ranks = np.unique(np.geomspace(1, max(len(counts), 1), MOST_POINTS).astype(int))[: len(counts)]
    figure = _figure("rank of the new token", "occurrences in the text")
    figure.add_scatter(
        x=ranks, y=counts[ranks - 1], mode="lines", line={"color": GOOD, "width": 2.5},
        hovertemplate="rank %{x}: %{y} occurrences<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=SELDOM, line={"color": NULL, "dash": "dot"})
    figure.add_annotation(x=0, y=np.log10(SELDOM), text=f"{SELDOM} times", showarrow=False, xanchor="left", yanchor="bottom",
                          font={"color": NULL})  # fmt: skip
    if 0 < chosen <= len(curve.counts):
        figure.add_vline(x=chosen, line={"color": NULL, "dash": "dash"})
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return figure


def pieces_by_size(curve: ExtensionCurve, chosen: int = 0) -> go.Figure:
    """Wordpieces a word against the tokens added; the chosen size as a line."""
    figure = _figure("tokens added", "wordpieces a word")
    figure.add_scatter(
        x=[at.size for at in curve.sizes], y=[at.fertility for at in curve.sizes], mode="lines+markers",
        line={"color": SOURCE, "width": 2.5}, marker={"size": 7}, customdata=[curve.shorter(at) for at in curve.sizes],
        hovertemplate="%{x:,} tokens: %{y:.3f} a word, the text %{customdata:.1%} shorter<extra></extra>",
    )  # fmt: skip
    if 0 < chosen <= len(curve.counts):
        figure.add_vline(x=chosen, line={"color": NULL, "dash": "dash"})
    return figure


def _figure(x: str, y: str) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(height=260, uirevision="fixed", margin={"l": 8, "r": 8, "t": 12, "b": 8}, showlegend=False)
    figure.update_xaxes(title=x, showline=False, zeroline=False, automargin=True)
    figure.update_yaxes(title=y, showline=False, zeroline=False, automargin=True)
    return figure
