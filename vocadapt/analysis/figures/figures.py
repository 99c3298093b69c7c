"""Figures of most pages: values in, plotly figures out; no reported number is computed here.

The colors of every page, plot, chip and table are defined here (after Okabe and Ito); no
information is given by color alone, but also by a mark, a word or a shape.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
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
# Each model has a color, and a symbol (lines) or pattern (bars) that identifies it without color.
LINE_STYLES = tuple(zip(SERIES, SYMBOLS, strict=True))
BAR_STYLES = tuple(zip(SERIES, PATTERNS, strict=True))

LOGARITHMIC = {"type": "log", "dtick": 1, "exponentformat": "power"}  # axis, a tick per power of 10
PERCENT = {"tickformat": "~%"}  # axis of fractions
MAX_POINTS = 800
MAX_NAME_LENGTH = 40  # characters of a name
MAX_LEGEND_LENGTH = 100  # of a name in a legend or on an axis
MAX_TITLE_LENGTH = 300  # of the title of an axis, and of a hover text
DIGIT_SPACES = "\xa0\u202f"  # between groups of digits
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
    # All ranks would be too many points: draw ranks at equal distances on the logarithmic axis.
    ordered = np.sort(np.asarray(counts))[::-1]
    ranks = np.unique(np.geomspace(1, max(len(ordered), 1), MAX_POINTS).astype(int))
    ranks = ranks[: len(ordered)]
    figure = build_figure(
        f"rank of the {unit}", "occurrences", 300, LOGARITHMIC, LOGARITHMIC, showlegend=False
    )
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
        # On a logarithmic axis plotly expects the logarithm as the position of an annotation.
        figure.add_annotation(
            x=0,
            y=np.log10(minimum),
            text=minimum_label.format(minimum),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
        )
    return figure


def plot_pair_similarities(true: ArrayLike, random: ArrayLike) -> go.Figure:
    """Plot two histograms of cosines: words with their own wordpiece (held out), and with a random
    one.
    """
    figure = build_figure(
        "alignment cosine", "fraction of pairs", 340, None, PERCENT, barmode="overlay", bargap=0.02
    )
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
            hovertemplate=f"cosine %{{x}}: %{{y:.1%}} of {name}<extra></extra>",
        )
    return figure


def plot_wordpieces_per_word(fractions: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Plot the fraction of words with one, two, three … wordpieces; one group of bars per model.

    fractions: model → label of a number of wordpieces → fraction of all words of the text.
    """
    figure = build_figure(
        "wordpieces of a word",
        "fraction of the words",
        300,
        {"type": "category"},
        PERCENT,
        barmode="group",
        bargap=0.25,
    )
    return _add_bars(figure, fractions, "%{x} wordpieces: %{y:.1%} of the words")


def plot_length_distribution(lengths: Mapping[str, Mapping[int, int]]) -> go.Figure:
    """Plot the number of tokens of each length for each vocabulary and for their intersection.

    lengths: vocabulary → characters of a token, without marks → number of tokens.
    """
    figure = build_figure(
        "characters of a token, without marks", "tokens", 300, barmode="group", bargap=0.2
    )
    return _add_bars(figure, lengths, "%{y:,} tokens of %{x} characters")


def _add_bars(figure: go.Figure, groups: Mapping[str, Mapping[Any, Any]], hover: str) -> go.Figure:
    """Add the bars of each group, name → position → height, in its own style; return the figure."""
    for (group, bars), (color, pattern) in zip(groups.items(), cycle(BAR_STYLES), strict=False):
        name = escape_name(group, MAX_LEGEND_LENGTH)
        figure.add_bar(
            x=list(bars),
            y=list(bars.values()),
            name=name,
            marker={"color": color, "pattern": {"shape": pattern}},
            hovertemplate=f"{hover}<extra>{name}</extra>",
        )
    return figure


def plot_leaderboard(
    names: Sequence[str], values: ArrayLike, errors: ArrayLike, baselines: Sequence[bool]
) -> go.Figure:
    """Plot one bar per initializer, best on top: its centered cosine to the true embeddings,
    ± errors; baselines hatched and gray.
    """
    figure = build_figure(
        "centered cosine to the true embedding",
        "",
        60 + 26 * len(names),
        y_axis={"autorange": "reversed", "type": "category"},
        showlegend=False,
        bargap=0.3,
    )
    return figure.add_bar(
        x=np.asarray(values),
        y=[escape_name(name, MAX_LEGEND_LENGTH) for name in names],
        orientation="h",
        error_x={"array": np.asarray(errors), "thickness": 1.2, "width": 3, "color": NEUTRAL},
        marker={
            "color": np.where(baselines, NEUTRAL, GOOD).tolist(),
            "pattern": {"shape": np.where(baselines, "/", "").tolist()},
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )


@dataclass(frozen=True, eq=False)
class Dots:
    """One panel with a dot per token.

    values: a value for each id (V,); removed: which tokens are removed (V,) bool; lines: ids at
    which dotted lines are drawn.
    """

    title: str
    values: ArrayLike
    removed: ArrayLike
    lines: Sequence[int] = ()


def plot_against_id(
    panels: Sequence[Dots], value: str, logarithmic: bool = False, across: int = 0
) -> go.Figure:
    """Plot a value of each token against its id, one panel per space; removed tokens as gray
    crosses.

    On a logarithmic axis tokens of value 0 are not drawn; the panel's title counts them. `across`:
    panels per row (0: all in one).
    """
    # 1. Empty panels in rows. Only layout values that differ from the default are set: plotly takes
    # .2 s to validate a whole layout.
    across = across or max(len(panels), 1)
    down = max(-(-len(panels) // across), 1)
    titles = [_escape_title(panel.title) for panel in panels]
    spacing = {"vertical_spacing": 0.5 / down} if down > 1 else {}
    figure = make_subplots(down, across, subplot_titles=titles, shared_yaxes=True, **spacing)
    figure.update_layout(**build_layout(max(320, 260 * down)))
    figure.update_annotations(font_size=12)

    # 2. Dots and lines of each panel; only those of the first panel appear in the legend.
    some_removed = any(np.any(panel.removed) for panel in panels)
    for place, panel in enumerate(panels):
        cell = {"row": place // across + 1, "col": place % across + 1}
        for trace in _build_dots(panel, logarithmic):
            figure.add_scattergl(showlegend=some_removed and place == 0, **trace, **cell)
        for id in panel.lines:
            figure.add_vline(id, line={"color": NEUTRAL, "dash": "dot", "width": 1}, **cell)

    # 3. Titles only on the outer axes; the legend above the titles of the panels.
    figure.update_xaxes(showline=False, zeroline=False)
    figure.update_xaxes(title="id of the token", row=down)
    scale = "log" if logarithmic else "linear"
    figure.update_yaxes(showline=False, zeroline=False, title="", type=scale)
    figure.update_yaxes(title=value, col=1)
    titles_height = 34 if any(titles) else 4  # pixels
    legend_height = 26 if some_removed else 10
    return figure.update_layout(
        legend={"y": 1 + titles_height / 220, "itemsizing": "constant"},
        margin={"t": titles_height + legend_height},
    )


def _escape_title(title: str) -> str:
    return "<br>".join(escape_name(line, MAX_LEGEND_LENGTH) for line in title.split("\n"))


def _build_dots(panel: Dots, logarithmic: bool) -> Iterator[dict[str, Any]]:
    values = np.asarray(panel.values)
    removed = np.asarray(panel.removed, dtype=bool)
    drawn = np.full(len(values), True)
    if logarithmic:
        drawn = values > 0
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
    curves: Mapping[str, Mapping[float, float]],
    here: tuple[str, float, float] | None = None,
    in_sample: Mapping[str, Mapping[float, float]] | None = None,
) -> go.Figure:
    """Plot the growth of a text in wordpieces against the fraction of the vocabulary kept; a line
    per heuristic.

    curves: heuristic → fraction kept → growth on held-out lines. here: heuristic, fraction and
    growth of the point that is marked by a ring. in_sample: the growth in sample, as
    dotted lines, for some of the heuristics.
    """
    figure = build_figure(
        "fraction of the vocabulary kept",
        "increase in wordpieces",
        320,
        PERCENT,
        PERCENT | {"rangemode": "tozero"},
    )
    # 1. A line for each heuristic, and a dotted one in the same color.
    colors: dict[str, str] = {}
    for (name, curve), (color, symbol) in zip(curves.items(), cycle(LINE_STYLES), strict=False):
        label, colors[name] = escape_name(name, MAX_LEGEND_LENGTH), color
        figure.add_scatter(
            x=list(curve),
            y=list(curve.values()),
            mode="lines+markers",
            name=label,
            line={"color": color, "width": 2},
            marker={"symbol": symbol, "size": 7},
            hovertemplate=f"%{{x:.0%}} kept: %{{y:+.2%}}<extra>{label}</extra>",
        )
    for name, curve in (in_sample or {}).items():
        figure.add_scatter(
            x=list(curve),
            y=list(curve.values()),
            mode="lines",
            showlegend=False,
            line={"color": colors[name], "width": 2, "dash": "dot"},
            hovertemplate="%{x:.0%} kept: %{y:+.2%} in sample<extra></extra>",
        )
    # 2. The ring, in the color of its line.
    if here:
        name, keep, growth = here
        figure.add_scatter(
            x=[keep],
            y=[growth],
            mode="markers",
            showlegend=False,
            hoverinfo="skip",
            marker={
                "symbol": "circle-open",
                "size": 16,
                "color": colors[name],
                "line": {"width": 3},
            },
        )
    return figure


def plot_overlap_histogram(
    words: ArrayLike, noise: ArrayLike | None = None, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Plot how many words keep 0, 1, … k − 1 neighbors, as fractions of all words; the noise
    baseline as a gray line.

    Words that keep all k are left out: their bar would hide the others. words, noise: numbers of
    words (k + 1,). Bars outside `selected` are pale.
    """
    # 1. The fraction of words for each number of kept neighbors.
    counts = np.asarray(words, dtype=float)
    first, last = selected or (0, len(counts) - 1)
    opacity = np.full(len(counts), 0.3)
    opacity[first : last + 1] = 1.0
    figure = build_figure(
        "neighbors kept",
        "fraction of all words",
        200,
        y_axis=PERCENT,
        showlegend=noise is not None,
        bargap=0.12,
        margin={"t": 4},
    )
    figure.add_bar(
        x=np.arange(len(counts) - 1),
        y=counts[:-1] / counts.sum(),
        name="these two spaces",
        customdata=counts[:-1].astype(int),
        marker={"color": CHANGED, "opacity": opacity[:-1].tolist()},
        # The bars that the browser selects look like those of `selected`.
        selected={"marker": {"opacity": 1.0}},
        unselected={"marker": {"opacity": 0.3}},
        hovertemplate="%{x} kept: %{y:.1%} of the words (%{customdata:,})<extra></extra>",
    )
    # 2. The noise baseline; it has another number of words, so fractions are compared.
    if noise is not None:
        expected = np.asarray(noise, dtype=float)
        figure.add_scatter(
            x=np.arange(len(expected) - 1),
            y=expected[:-1] / expected.sum(),
            mode="lines+markers",
            name=NOISE,
            line={"color": NEUTRAL, "width": 2.5, "dash": "dot"},
            marker={"symbol": "diamond", "size": 7},
            hovertemplate=f"%{{x}} kept: %{{y:.1%}} of the words<extra>{NOISE}</extra>",
        )
        figure.update_layout(margin={"t": 24})  # for the legend
    # 3. A click selects a bar: with a drag mode to select, Streamlit would ignore clicks. A tick for
    #    each number, if they fit side by side.
    figure.update_layout(clickmode="event+select", dragmode=False)
    if len(counts) <= 21:
        figure.update_xaxes(dtick=1)
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
    # 1. A dot for each word; changed words are drawn last, above the others.
    times = np.asarray(counts)
    kept = np.asarray(overlap)
    marked = np.asarray(changed, dtype=bool)
    labels = escape_names(names)
    figure = build_figure(
        "occurrences of the word",
        "fraction of neighbors kept",
        300,
        LOGARITHMIC,
        PERCENT | {"range": [-0.04, 1.04]},
    )
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
                customdata=np.flatnonzero(mask),
                marker={"color": color, "size": 4, "symbol": symbol, "opacity": 0.45},
                hovertemplate="%{text}: %{y:.0%}, %{x:,} times<extra></extra>",
            )
    # 2. The means by frequency, of the words and of the noise baseline.
    for name, (x, y) in lines.items():
        color, dash = (NEUTRAL, "dot") if name == NOISE else (DOMAIN, "solid")
        figure.add_scattergl(
            x=np.asarray(x),
            y=np.asarray(y),
            mode="lines+markers",
            name=f"mean, {escape_name(name, MAX_LEGEND_LENGTH)}",
            line={"color": color, "width": 3, "dash": dash},
            marker={"size": 7},
            hovertemplate="about %{x:,} times: mean %{y:.1%}<extra></extra>",
        )
    return figure


def assign_colors(names: Iterable[str]) -> dict[str, str]:
    """Assign a color to each run, model or line, in order of first appearance.

    A run has one color in every figure: `names` begins with all runs of its task, the oldest first.
    """
    return dict(zip(dict.fromkeys(names), cycle(SERIES), strict=False))


def build_figure(
    x: str,
    y: str,
    height: int,
    x_axis: Mapping[str, Any] | None = None,
    y_axis: Mapping[str, Any] | None = None,
    **layout: Any,
) -> go.Figure:
    """Build a figure without traces from axis titles, axis settings and layout settings."""
    x = escape_name(x, MAX_TITLE_LENGTH)
    y = escape_name(y, MAX_TITLE_LENGTH)
    axis = {"showline": False, "zeroline": False, "automargin": True}
    figure = go.Figure(layout=build_layout(height))
    figure.update_xaxes(title=x, **axis, **(x_axis or {}))
    figure.update_yaxes(title=y, **axis, **(y_axis or {}))
    return figure.update_layout(layout)


def build_layout(height: int) -> dict[str, Any]:
    """Build the common layout of all figures: no frame, legend on top."""
    return {
        "height": height,
        "uirevision": "fixed",
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }


def build_name_axis(names: Sequence[str], margin: float) -> dict[str, Any]:
    """Build an axis with escaped names at 0, 1, 2 … from the top; equal names keep separate rows.

    margin: distance of the first and last row from the edge.
    """
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": names,
        "range": [len(names) - 1 + margin, -margin],
        "showgrid": False,
    }


def escape_names(tokens: Sequence[str]) -> NDArray[np.object_]:
    """Escape tokens for plotly, (n,) object; call it once per projection: it is slower than
    drawing.
    """
    return np.array([escape_name(token) for token in tokens], dtype=object)


def escape_name(token: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Shorten a token or name by omitting its middle, and escape it for plotly, which interprets
    some tags.
    """
    if len(token) > longest:
        token = token[: longest // 2] + "…" + token[len(token) - (longest - longest // 2 - 1) :]
    printable = "".join(
        letter if letter.isprintable() or letter in DIGIT_SPACES else "�" for letter in token
    )
    # A dollar begins a formula, and %{ a field of a hover text.
    return html.escape(printable).replace("$", "&#36;").replace("%{", "&#37;{")
