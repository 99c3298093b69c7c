"""Figures of most pages: values in, plotly figures out; no reported number is computed here.

The colors of every page, plot, chip and table are defined here (after Okabe and Ito); a color
always goes with a mark, a word or a shape.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.subplots import make_subplots

SOURCE = "#0B6FB3"  # the model's wordpieces
DOMAIN = "#D55E00"  # words of the domain
GOOD = "#009E73"  # added, good, held-out truth
TARGET = "#E69F00"  # a target model
CHANGED = "#CC79A7"  # changed or wrong
NEUTRAL = "#7A8793"  # dropped, random, null

SERIES = (SOURCE, GOOD, TARGET, CHANGED, DOMAIN, NEUTRAL)  # several models side by side
SYMBOLS = ("circle", "square", "diamond", "x", "triangle-up", "cross")
PATTERNS = ("", "/", "x", ".", "\\", "+")

MOST_POINTS = 800


def plot_frequency_ranks(
    counts: ArrayLike,
    cut: int = 0,
    said: str = "min count {}",
    of: str = "word",
    color: str = DOMAIN,
) -> go.Figure:
    """Plot occurrences of each word (or `of`) against its rank, both axes logarithmic.

    counts: occurrences, any order. cut: minimum count of words with a vector, drawn as a line; 0
    draws none.
    """
    ordered = np.sort(np.asarray(counts))[::-1]
    ranks = np.unique(np.geomspace(1, max(len(ordered), 1), MOST_POINTS).astype(int))[
        : len(ordered)
    ]
    figure = build_empty_figure(f"rank of the {of}", "occurrences", height=300)
    figure.add_scatter(
        x=ranks,
        y=ordered[ranks - 1],
        mode="lines",
        line={"color": color, "width": 2.5},
        name=f"{of}s",
        hovertemplate="rank %{x}: %{y} occurrences<extra></extra>",
    )
    if cut > 0:
        figure.add_hline(y=cut, line={"color": NEUTRAL, "dash": "dot"})
        figure.add_annotation(  # on a logarithmic axis an annotation stands at the logarithm
            x=0,
            y=np.log10(cut),
            text=said.format(cut),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"color": NEUTRAL},
        )
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_layout(showlegend=False)
    return figure


def plot_pair_similarities(true: ArrayLike, random: ArrayLike) -> go.Figure:
    """Two histograms of cosines: words with their own wordpiece (held out), and with a random
    one.
    """
    figure = build_empty_figure("cosine after the map", "share of pairs", height=340)
    for values, name, color in (
        (random, "random pairs", NEUTRAL),
        (true, "held-out anchors", GOOD),
    ):
        figure.add_histogram(
            x=np.asarray(values),
            name=name,
            marker={"color": color},
            opacity=0.72,
            histnorm="probability",
            xbins={"start": -1, "end": 1, "size": 0.02},
            hovertemplate=f"cosine %{{x}}: %{{y:.3f}} of {name}<extra></extra>",
        )
    figure.update_layout(barmode="overlay", bargap=0.02)
    return figure


def plot_progress(runs: Sequence[tuple[ArrayLike, ArrayLike]]) -> go.Figure:
    """Plot the progress of a job over time: one (seconds, fractions) pair per run."""
    figure = build_empty_figure("seconds", "done", height=210)
    for number, (seconds, fractions) in enumerate(runs, start=1):
        last = number == len(runs)
        line = {
            "color": SOURCE if last else NEUTRAL,
            "width": 2.5,
            "dash": "solid" if last else "dot",
        }
        figure.add_scatter(
            x=seconds,
            y=fractions,
            mode="lines",
            line=line,
            name=f"run {number}",
            hovertemplate="%{x} s: %{y:.3f}<extra></extra>",
        )
    figure.update_yaxes(range=[0, 1.02])
    figure.update_layout(showlegend=len(runs) > 1)
    return figure


def plot_wordpieces_per_word(shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Plot the fraction of words with one, two, three … wordpieces; one group of bars per model.

    shares: model → number of wordpieces, as on the axis → fraction of the running words.
    """
    figure = build_empty_figure("wordpieces of a word", "share of the words", height=300)
    for (model, bars), color, pattern in zip(
        shares.items(), cycle(SERIES), cycle(PATTERNS), strict=False
    ):
        name = html.escape(model)  # plotly reads a few tags in a legend
        figure.add_bar(
            x=list(bars),
            y=list(bars.values()),
            name=name,
            marker={"color": color, "pattern": {"shape": pattern}},
            hovertemplate=f"%{{x}} pieces: %{{y:.3f}} of the words<extra>{name}</extra>",
        )
    figure.update_xaxes(type="category")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure


def plot_leaderboard(
    names: Sequence[str], values: ArrayLike, errors: ArrayLike, floors: Sequence[bool]
) -> go.Figure:
    """One bar an initializer, best on top: its centered cosine to the true rows, ± errors; floors
    hatched and gray.
    """
    figure = build_empty_figure("centered cosine to the true row", "", height=60 + 26 * len(names))
    figure.add_bar(
        x=np.asarray(values),
        y=list(names),
        orientation="h",
        error_x={"array": np.asarray(errors), "thickness": 1.2, "width": 3, "color": NEUTRAL},
        marker={
            "color": [NEUTRAL if floor else GOOD for floor in floors],
            "pattern": {"shape": ["/" if floor else "" for floor in floors]},
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_layout(showlegend=False, bargap=0.3)
    return figure


def plot_length_distribution(lengths: Mapping[str, Mapping[int, int]]) -> go.Figure:
    """Plot how many tokens of each length vocabularies have, each and in common.

    lengths: vocabulary → characters of a token, without ## → tokens.
    """
    figure = build_empty_figure("characters of a token, without ##", "tokens", height=300)
    for (name, counts), color, pattern in zip(
        lengths.items(), cycle(SERIES), cycle(PATTERNS), strict=False
    ):
        label = html.escape(name)
        figure.add_bar(
            x=list(counts),
            y=list(counts.values()),
            name=label,
            marker={"color": color, "pattern": {"shape": pattern}},
            hovertemplate=f"%{{y:,}} tokens of %{{x}} characters<extra>{label}</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.2)
    return figure


@dataclass(frozen=True, eq=False)
class Dots:
    """One panel of dots, a token each: a title of one line or more, a value for every id (V,),
    which tokens are dropped (V,).
    """

    title: str
    values: ArrayLike
    dropped: ArrayLike


def plot_against_id(
    panels: Sequence[Dots],
    value: str,
    logarithmic: bool = False,
    across: int = 0,
    lines: Sequence[Sequence[int]] = (),
) -> go.Figure:
    """Plot a value of each token against its id, one panel per space; dropped tokens as gray
    crosses.

    On a logarithmic axis tokens of value 0 are not drawn; the panel's title counts them. `across`:
    panels per row (0: all in one). `lines`: for each panel the ids of dotted lines.
    """
    across = across or max(len(panels), 1)
    down = max(-(-len(panels) // across), 1)
    titles = [html.escape(panel.title).replace("\n", "<br>") for panel in panels]
    told = any(
        np.any(panel.dropped) for panel in panels
    )  # of one kind only there is nothing to tell apart
    spaced = {"vertical_spacing": 0.5 / down} if down > 1 else {}
    figure = make_subplots(down, across, subplot_titles=titles, shared_yaxes=True, **spaced)
    figure.update_layout(
        **build_layout(max(320, 260 * down))
    )  # not a figure's whole layout: to check that takes plotly .2 s
    figure.update_annotations(font_size=12)
    for place, panel in enumerate(panels):
        row, column = place // across + 1, place % across + 1
        values, gone = np.asarray(panel.values), np.asarray(panel.dropped, dtype=bool)
        for mask, name, color, symbol in (
            (~gone, "stays", SOURCE, "circle"),
            (gone, "goes", NEUTRAL, "x-thin-open"),
        ):
            ids = np.flatnonzero(mask & (values > 0)) if logarithmic else np.flatnonzero(mask)
            figure.add_scattergl(
                x=ids.astype(np.int32),
                y=values[ids].astype(np.float32),
                mode="markers",
                name=name,
                legendgroup=name,
                showlegend=told and place == 0,
                row=row,
                col=column,
                marker={"color": color, "size": 3, "symbol": symbol, "opacity": 0.55},
                hovertemplate=f"id %{{x}}: %{{y}}<extra>{name}</extra>",
            )
        for line in lines[place] if lines else ():
            figure.add_vline(
                line, line={"color": NEUTRAL, "dash": "dot", "width": 1}, row=row, col=column
            )
    figure.update_xaxes(showline=False, zeroline=False)
    figure.update_xaxes(title="id of the token", row=down)
    figure.update_yaxes(
        showline=False, zeroline=False, title="", type="log" if logarithmic else "linear"
    )
    figure.update_yaxes(title=value, col=1)
    above = 34 if any(titles) else 4  # pixels that titles take; the legend stands over them
    figure.update_layout(
        legend={"y": 1 + above / 220, "itemsizing": "constant"},
        margin={"t": above + (26 if told else 10)},
    )
    return figure


def plot_vocabulary_growth(
    curves: Mapping[str, Mapping[float, float]], here: tuple[str, float, float] | None = None
) -> go.Figure:
    """Plot how much longer a text becomes against the fraction of the vocabulary kept; a line per
    heuristic.

    curves: heuristic → fraction kept → growth. here: a heuristic, fraction and growth, drawn as a
    ring.
    """
    figure = build_empty_figure(
        "share of the vocabulary that is kept", "more wordpieces", height=320
    )
    for (name, curve), color, symbol in zip(
        curves.items(), cycle(SERIES), cycle(SYMBOLS), strict=False
    ):
        figure.add_scatter(
            x=list(curve),
            y=list(curve.values()),
            mode="lines+markers",
            name=html.escape(name),
            line={"color": color, "width": 2},
            marker={"symbol": symbol, "size": 7},
            hovertemplate=f"%{{x:.0%}} kept: %{{y:+.2%}}<extra>{html.escape(name)}</extra>",
        )
    if here:
        name, keep, growth = here
        color = dict(zip(curves, cycle(SERIES), strict=False))[name]
        figure.add_scatter(
            x=[keep],
            y=[growth],
            mode="markers",
            showlegend=False,
            hoverinfo="skip",
            marker={"symbol": "circle-open", "size": 16, "color": color, "line": {"width": 3}},
        )
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    return figure


def plot_overlap_histogram(
    words: ArrayLike, null: ArrayLike | None = None, kept: tuple[int, int] | None = None
) -> go.Figure:
    """Plot how many words keep 0, 1, … k neighbors, as fractions; the noise baseline as a gray
    line.

    words, null: numbers of words (k + 1,). Bars outside `kept` are pale.
    """
    counts = np.asarray(words, dtype=float)
    figure = build_empty_figure("neighbors kept", "share of the words", height=200)
    first, last = kept or (0, len(counts) - 1)
    figure.add_bar(
        x=np.arange(len(counts)),
        y=counts / counts.sum(),
        name="these two spaces",
        customdata=counts.astype(int),
        marker={
            "color": CHANGED,
            "opacity": [1.0 if first <= i <= last else 0.3 for i in range(len(counts))],
        },
        hovertemplate="%{x} kept: %{y:.3f} of the words (%{customdata:,})<extra></extra>",
    )
    if null is not None:
        luck = np.asarray(null, dtype=float)
        figure.add_scatter(
            x=np.arange(len(luck)),
            y=luck / luck.sum(),
            mode="lines+markers",
            name="null: nothing changed",
            line={"color": NEUTRAL, "width": 2.5, "dash": "dot"},
            marker={"symbol": "diamond", "size": 7},
            hovertemplate="%{x} kept: %{y:.3f} of the words<extra>null</extra>",
        )
    figure.update_xaxes(dtick=1 if len(counts) <= 21 else None)
    figure.update_layout(
        showlegend=null is not None, bargap=0.12, margin={"t": 24 if null is not None else 4}
    )
    return figure


def plot_overlap_by_frequency(
    counts: ArrayLike,
    overlap: ArrayLike,
    names: Sequence[str],
    changed: ArrayLike,
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> go.Figure:
    """Plot the overlap of each word against its frequency; changed ones as violet diamonds.

    lines: name → (occurrences, mean overlap); the noise baseline ("null") is gray and dotted.
    """
    figure = build_empty_figure("occurrences of the word", "neighbors kept, share", height=300)
    times, shares, marked = np.asarray(counts), np.asarray(overlap), np.asarray(changed, dtype=bool)
    labels = np.array([html.escape(name[:60]) for name in names], dtype=object)
    groups = [
        (~marked, "not changed" if marked.any() else "words", SOURCE, "circle"),
        (marked, "changed", CHANGED, "diamond"),
    ]
    for mask, name, color, symbol in groups:
        if mask.any():
            figure.add_scattergl(
                x=times[mask].astype(np.int32),
                y=shares[mask].astype(np.float32),
                mode="markers",
                name=name,
                text=labels[mask],
                marker={"color": color, "size": 4, "symbol": symbol, "opacity": 0.45},
                hovertemplate="%{text}: %{y:.2f}, %{x:,} times<extra></extra>",
            )
    for name, (x, y) in lines.items():
        dash = "dot" if name == "null" else "solid"
        figure.add_scattergl(
            x=np.asarray(x),
            y=np.asarray(y),
            mode="lines+markers",
            name=f"mean, {name}",
            line={"color": NEUTRAL if name == "null" else DOMAIN, "width": 3, "dash": dash},
            marker={"size": 7},
            hovertemplate="about %{x:,} times: mean %{y:.3f}<extra></extra>",
        )
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(range=[-0.04, 1.04])
    return figure


def build_empty_figure(x: str, y: str, height: int) -> go.Figure:
    """A figure with its layout and the titles of both axes, and nothing drawn yet."""
    figure = go.Figure()
    figure.update_layout(**build_layout(height))
    figure.update_xaxes(title=x, showline=False, zeroline=False, automargin=True)
    figure.update_yaxes(title=y, showline=False, zeroline=False, automargin=True)
    return figure


def build_layout(height: int) -> dict[str, Any]:
    """Return the layout of every figure: height, no frame, legend on top."""
    return {
        "height": height,
        "uirevision": "fixed",
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }
