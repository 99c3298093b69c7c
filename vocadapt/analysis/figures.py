"""Values in, plotly figures out. Nothing here computes a number that a reader takes away.

The colour language of every page, plot, chip and table is defined here (Okabe-Ito based); a mark, a word or a shape
always goes with a colour.
"""

import html
from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

SOURCE = "#0B6FB3"  # the model's wordpieces
DOMAIN = "#D55E00"  # words of the domain
GOOD = "#009E73"  # added, good, held-out truth
TARGET = "#E69F00"  # a target model
CHANGED = "#CC79A7"  # changed or wrong
NULL = "#7A8793"  # dropped, random, null

SERIES = (SOURCE, GOOD, TARGET, CHANGED, DOMAIN, NULL)  # several models side by side
PATTERNS = ("", "/", "x", ".", "\\", "+")

MOST_POINTS = 800


def frequency_rank(counts: ArrayLike, cut: int = 0) -> go.Figure:
    """Occurrences of each word against its rank, both axes logarithmic.

    counts: occurrences, any order. cut: a floor under which words got no vector, drawn as a line; 0 draws none.
    """
    ordered = np.sort(np.asarray(counts))[::-1]
    ranks = np.unique(np.geomspace(1, max(len(ordered), 1), MOST_POINTS).astype(int))[: len(ordered)]
    figure = _figure("rank of the word", "occurrences", height=300)
    figure.add_scatter(
        x=ranks, y=ordered[ranks - 1], mode="lines", line={"color": DOMAIN, "width": 2.5}, name="words",
        hovertemplate="rank %{x}: %{y} occurrences<extra></extra>",
    )  # fmt: skip
    if cut > 0:
        figure.add_hline(y=cut, line={"color": NULL, "dash": "dot"})
        figure.add_annotation(  # on a logarithmic axis an annotation stands at the logarithm
            x=0, y=np.log10(cut), text=f"min count {cut}", showarrow=False, xanchor="left", yanchor="bottom", font={"color": NULL}
        )
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_layout(showlegend=False)
    return figure


def true_and_random_pairs(true: ArrayLike, random: ArrayLike) -> go.Figure:
    """Two histograms of cosines: words with their own wordpiece (held out), and with a random one."""
    figure = _figure("cosine after the map", "share of pairs", height=340)
    for values, name, colour in ((random, "random pairs", NULL), (true, "held-out anchors", GOOD)):
        figure.add_histogram(
            x=np.asarray(values), name=name, marker={"color": colour}, opacity=0.72, histnorm="probability",
            xbins={"start": -1, "end": 1, "size": 0.02}, hovertemplate=f"cosine %{{x}}: %{{y:.3f}} of {name}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(barmode="overlay", bargap=0.02)
    return figure


def progress_over_time(runs: Sequence[tuple[ArrayLike, ArrayLike]]) -> go.Figure:
    """How far a job was, against the seconds since each of its runs began: one (seconds, fractions) pair a run."""
    figure = _figure("seconds", "done", height=210)
    for number, (seconds, fractions) in enumerate(runs, start=1):
        last = number == len(runs)
        line = {"color": SOURCE if last else NULL, "width": 2.5, "dash": "solid" if last else "dot"}
        figure.add_scatter(
            x=seconds, y=fractions, mode="lines", line=line, name=f"run {number}",
            hovertemplate="%{x} s: %{y:.3f}<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(range=[0, 1.02])
    figure.update_layout(showlegend=len(runs) > 1)
    return figure


def pieces_per_word(shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Share of the words that are cut into one, two, three … pieces; one group of bars a model, in the order given.

    shares: model → number of pieces, as it stands on the axis → share of the running words, from 0 to 1.
    """
    figure = _figure("wordpieces of a word", "share of the words", height=300)
    for (model, bars), colour, pattern in zip(shares.items(), cycle(SERIES), cycle(PATTERNS), strict=False):
        name = html.escape(model)  # plotly reads a few tags in a legend
        figure.add_bar(
            x=list(bars), y=list(bars.values()), name=name, marker={"color": colour, "pattern": {"shape": pattern}},
            hovertemplate=f"%{{x}} pieces: %{{y:.3f}} of the words<extra>{name}</extra>",
        )  # fmt: skip
    figure.update_xaxes(type="category")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure


def leaderboard(names: Sequence[str], values: ArrayLike, errors: ArrayLike, floors: Sequence[bool]) -> go.Figure:
    """One bar an initialiser, best on top: its centred cosine to the true rows, ± errors; floors hatched and grey."""
    figure = _figure("centred cosine to the true row", "", height=60 + 26 * len(names))
    figure.add_bar(
        x=np.asarray(values), y=list(names), orientation="h",
        error_x={"array": np.asarray(errors), "thickness": 1.2, "width": 3, "color": NULL},
        marker={
            "color": [NULL if floor else GOOD for floor in floors],
            "pattern": {"shape": ["/" if floor else "" for floor in floors]},
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_layout(showlegend=False, bargap=0.3)
    return figure


def _figure(x: str, y: str, height: int) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        height=height, uirevision="fixed", margin={"l": 8, "r": 8, "t": 34, "b": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    figure.update_xaxes(title=x, showline=False, zeroline=False, automargin=True)
    figure.update_yaxes(title=y, showline=False, zeroline=False, automargin=True)
    return figure
