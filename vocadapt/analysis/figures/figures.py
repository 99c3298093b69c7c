"""Figures of most pages: values in, plotly figures out; no reported number is computed here.

The colors of every page, plot, chip and table are defined here (after Okabe and Ito); a color
always goes with a mark, a word or a shape.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
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
NEUTRAL = "#7A8793"  # removed, random, noise baseline

SERIES = (SOURCE, GOOD, TARGET, CHANGED, DOMAIN, NEUTRAL)  # several models side by side
SYMBOLS = ("circle", "square", "diamond", "x", "triangle-up", "cross")
PATTERNS = ("", "/", "x", ".", "\\", "+")

MAX_POINTS = 800
NOISE = "noise baseline"  # name of its line


def plot_frequency_ranks(
    counts: ArrayLike,
    minimum: int = 0,
    minimum_label: str = "min count {}",
    unit: str = "word",
    color: str = DOMAIN,
) -> go.Figure:
    """Plot occurrences of each word (or other unit) against its rank, both axes logarithmic.

    counts: occurrences, in any order. minimum: drawn as a line; 0 draws none.
    """
    ordered = np.sort(np.asarray(counts))[::-1]
    ranks = np.unique(np.geomspace(1, max(len(ordered), 1), MAX_POINTS).astype(int))
    ranks = ranks[: len(ordered)]
    figure = build_empty_figure(f"rank of the {unit}", "occurrences", height=300)
    figure.add_scatter(
        x=ranks,
        y=ordered[ranks - 1],
        mode="lines",
        line={"color": color, "width": 2.5},
        name=f"{unit}s",
        hovertemplate="rank %{x}: %{y} occurrences<extra></extra>",
    )
    if minimum > 0:
        figure.add_hline(y=minimum, line={"color": NEUTRAL, "dash": "dot"})
        # On a logarithmic axis an annotation is placed at the logarithm.
        figure.add_annotation(
            x=0,
            y=np.log10(minimum),
            text=minimum_label.format(minimum),
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
    """Plot two histograms of cosines: words with their own wordpiece (held out), and with a random
    one.
    """
    figure = build_empty_figure("alignment cosine", "fraction of pairs", height=340)
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
        line = {"color": NEUTRAL, "width": 2.5, "dash": "dot"}
        if number == len(runs):
            line |= {"color": SOURCE, "dash": "solid"}
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


def plot_wordpieces_per_word(fractions: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Plot the fraction of words with one, two, three … wordpieces; one group of bars per model.

    fractions: model → number of wordpieces, as on the axis → fraction of the running words.
    """
    figure = build_empty_figure("wordpieces of a word", "fraction of the words", height=300)
    styles = zip(cycle(SERIES), cycle(PATTERNS), strict=False)
    for (model, bars), (color, pattern) in zip(fractions.items(), styles, strict=False):
        name = html.escape(model)  # plotly interprets a few tags in a legend
        figure.add_bar(
            x=list(bars),
            y=list(bars.values()),
            name=name,
            marker={"color": color, "pattern": {"shape": pattern}},
            hovertemplate=f"%{{x}} wordpieces: %{{y:.3f}} of the words<extra>{name}</extra>",
        )
    figure.update_xaxes(type="category")
    figure.update_layout(barmode="group", bargap=0.25)
    return figure


def plot_leaderboard(
    names: Sequence[str], values: ArrayLike, errors: ArrayLike, baselines: Sequence[bool]
) -> go.Figure:
    """Plot one bar per initializer, best on top: its centered cosine to the true embeddings,
    ± errors; baselines hatched and gray.
    """
    height = 60 + 26 * len(names)
    figure = build_empty_figure("centered cosine to the true embedding", "", height)
    looks = [(NEUTRAL, "/") if baseline else (GOOD, "") for baseline in baselines]
    figure.add_bar(
        x=np.asarray(values),
        y=list(names),
        orientation="h",
        error_x={"array": np.asarray(errors), "thickness": 1.2, "width": 3, "color": NEUTRAL},
        marker={
            "color": [color for color, _ in looks],
            "pattern": {"shape": [pattern for _, pattern in looks]},
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_layout(showlegend=False, bargap=0.3)
    return figure


def plot_length_distribution(lengths: Mapping[str, Mapping[int, int]]) -> go.Figure:
    """Plot how many tokens of each length vocabularies have, each and in common.

    lengths: vocabulary → characters of a token, without marks → tokens.
    """
    figure = build_empty_figure("characters of a token, without marks", "tokens", height=300)
    styles = zip(cycle(SERIES), cycle(PATTERNS), strict=False)
    for (name, counts), (color, pattern) in zip(lengths.items(), styles, strict=False):
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
    """One panel with a dot per token: a title of one line or more, a value for each id (V,), which
    tokens are removed (V,) bool.
    """

    title: str
    values: ArrayLike
    removed: ArrayLike


def plot_against_id(
    panels: Sequence[Dots],
    value: str,
    logarithmic: bool = False,
    across: int = 0,
    lines: Sequence[Sequence[int]] = (),
) -> go.Figure:
    """Plot a value of each token against its id, one panel per space; removed tokens as gray
    crosses.

    On a logarithmic axis tokens of value 0 are not drawn; the panel's title counts them. `across`:
    panels per row (0: all in one). `lines`: for each panel the ids of dotted lines.
    """
    across = across or max(len(panels), 1)
    down = max(-(-len(panels) // across), 1)
    titles = [html.escape(panel.title).replace("\n", "<br>") for panel in panels]
    some_removed = any(np.any(panel.removed) for panel in panels)
    spacing = {"vertical_spacing": 0.5 / down} if down > 1 else {}
    figure = make_subplots(down, across, subplot_titles=titles, shared_yaxes=True, **spacing)
    # Only what differs from the default: plotly takes .2 s to check a whole layout.
    figure.update_layout(**build_layout(max(320, 260 * down)))
    figure.update_annotations(font_size=12)
    for place, panel in enumerate(panels):
        cell = {"row": place // across + 1, "col": place % across + 1}
        for trace in _build_dots(panel, logarithmic):
            trace["showlegend"] = some_removed and place == 0
            figure.add_scattergl(**trace, **cell)
    for place, ids in enumerate(lines):
        cell = {"row": place // across + 1, "col": place % across + 1}
        for id in ids:
            figure.add_vline(id, line={"color": NEUTRAL, "dash": "dot", "width": 1}, **cell)
    figure.update_xaxes(showline=False, zeroline=False)
    figure.update_xaxes(title="id of the token", row=down)
    scale = "log" if logarithmic else "linear"
    figure.update_yaxes(showline=False, zeroline=False, title="", type=scale)
    figure.update_yaxes(title=value, col=1)
    titles_height = 34 if any(titles) else 4  # pixels; the legend is above the titles
    legend_height = 26 if some_removed else 10
    figure.update_layout(
        legend={"y": 1 + titles_height / 220, "itemsizing": "constant"},
        margin={"t": titles_height + legend_height},
    )
    return figure


def _build_dots(panel: Dots, logarithmic: bool) -> Iterator[dict[str, Any]]:
    """Build the traces of a panel: kept tokens, and removed ones."""
    values, removed = np.asarray(panel.values), np.asarray(panel.removed, dtype=bool)
    drawn = values > 0 if logarithmic else np.ones(len(values), dtype=bool)
    for mask, name, color, symbol in (
        (~removed, "kept", SOURCE, "circle"),
        (removed, "removed", NEUTRAL, "x-thin-open"),
    ):
        ids = np.flatnonzero(mask & drawn)
        yield {
            "x": ids.astype(np.int32),
            "y": values[ids].astype(np.float32),
            "mode": "markers",
            "name": name,
            "legendgroup": name,
            "marker": {"color": color, "size": 3, "symbol": symbol, "opacity": 0.55},
            "hovertemplate": f"id %{{x}}: %{{y}}<extra>{name}</extra>",
        }


def plot_vocabulary_growth(
    curves: Mapping[str, Mapping[float, float]], here: tuple[str, float, float] | None = None
) -> go.Figure:
    """Plot how much longer a text becomes against the fraction of the vocabulary kept; a line per
    heuristic.

    curves: heuristic → fraction kept → growth. here: a heuristic, fraction and growth, drawn as a
    ring.
    """
    figure = build_empty_figure("fraction of the vocabulary kept", "more wordpieces", height=320)
    styles = zip(cycle(SERIES), cycle(SYMBOLS), strict=False)
    for (name, curve), (color, symbol) in zip(curves.items(), styles, strict=False):
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
    words: ArrayLike, noise: ArrayLike | None = None, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Plot how many words keep 0, 1, … k neighbors, as fractions; the noise baseline as a gray
    line.

    words, noise: numbers of words (k + 1,). Bars outside `selected` are pale.
    """
    counts = np.asarray(words, dtype=float)
    figure = build_empty_figure("neighbors kept", "fraction of the words", height=200)
    first, last = selected or (0, len(counts) - 1)
    opacity = np.full(len(counts), 0.3)
    opacity[first : last + 1] = 1.0
    figure.add_bar(
        x=np.arange(len(counts)),
        y=counts / counts.sum(),
        name="these two spaces",
        customdata=counts.astype(int),
        marker={"color": CHANGED, "opacity": opacity.tolist()},
        hovertemplate="%{x} kept: %{y:.3f} of the words (%{customdata:,})<extra></extra>",
    )
    if noise is not None:
        expected = np.asarray(noise, dtype=float)
        figure.add_scatter(
            x=np.arange(len(expected)),
            y=expected / expected.sum(),
            mode="lines+markers",
            name="noise baseline",
            line={"color": NEUTRAL, "width": 2.5, "dash": "dot"},
            marker={"symbol": "diamond", "size": 7},
            hovertemplate="%{x} kept: %{y:.3f} of the words<extra>noise baseline</extra>",
        )
    figure.update_xaxes(dtick=1 if len(counts) <= 21 else None)
    margin = 4 if noise is None else 24
    figure.update_layout(showlegend=noise is not None, bargap=0.12, margin={"t": margin})
    return figure


def plot_overlap_by_frequency(
    counts: ArrayLike,
    overlap: ArrayLike,
    names: Sequence[str],
    changed: ArrayLike,
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> go.Figure:
    """Plot the overlap of each word against its frequency; changed ones as violet diamonds.

    lines: name → (occurrences, mean overlap); the line NOISE is gray and dotted.
    """
    figure = build_empty_figure("occurrences of the word", "fraction of neighbors kept", height=300)
    times, kept, marked = np.asarray(counts), np.asarray(overlap), np.asarray(changed, dtype=bool)
    labels = np.array([html.escape(name[:60]) for name in names], dtype=object)
    groups = [
        (~marked, "not changed" if marked.any() else "words", SOURCE, "circle"),
        (marked, "changed", CHANGED, "diamond"),
    ]
    for mask, name, color, symbol in groups:
        if mask.any():
            figure.add_scattergl(
                x=times[mask].astype(np.int32),
                y=kept[mask].astype(np.float32),
                mode="markers",
                name=name,
                text=labels[mask],
                marker={"color": color, "size": 4, "symbol": symbol, "opacity": 0.45},
                hovertemplate="%{text}: %{y:.2f}, %{x:,} times<extra></extra>",
            )
    for name, (x, y) in lines.items():
        color, dash = (NEUTRAL, "dot") if name == NOISE else (DOMAIN, "solid")
        figure.add_scattergl(
            x=np.asarray(x),
            y=np.asarray(y),
            mode="lines+markers",
            name=f"mean, {name}",
            line={"color": color, "width": 3, "dash": dash},
            marker={"size": 7},
            hovertemplate="about %{x:,} times: mean %{y:.3f}<extra></extra>",
        )
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(range=[-0.04, 1.04])
    return figure


def build_empty_figure(x: str, y: str, height: int) -> go.Figure:
    """Return a figure with its layout and the titles of both axes, without traces."""
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
