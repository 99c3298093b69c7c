"""Figures of trainings: losses and dev scores, scores of runs, held-out loss, sizes of an extension
vocabulary, gates.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vocadapt.analysis.figures.figures import (
    GOOD,
    MAX_LEGEND_LENGTH,
    NEUTRAL,
    SOURCE,
    SYMBOLS,
    assign_colors,
    build_figure,
    build_name_axis,
    escape_name,
    plot_frequency_ranks,
)
from vocadapt.analysis.gates import GateStatistics
from vocadapt.progress import count
from vocadapt.report.formats import format_fraction
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS, label_tokenization
from vocadapt.training.masked.validation import HeldOutCurve
from vocadapt.vocabulary.growth.growth import RARE, ExtensionCurve

MARKERS = dict(zip(ALL_TOKENIZATIONS, ("circle", "square", "diamond"), strict=True))
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
AGAINST = {"tokens": "wordpieces read", "seconds": "seconds of training"}
RAW_OPACITY = 0.25  # of a curve that is also drawn smoothed
MIDDLE = "#D8DDE1"
NARROWEST = 0.1  # half the range of gate values that the colors span, at least
DARKEST = 0.65  # strongest color of a cell, as a fraction of the full color: its digits are dark
EXTENSION_LAYOUT: dict[str, Any] = {"height": 260, "margin": {"t": 12}, "showlegend": False}
Curve = Sequence[tuple[float, float]]  # (x, y) of each point
Style = dict[str, Any]  # mode, line and marker of a plotly trace


def plot_losses(
    curves: Mapping[str, Curve],
    height: int = 240,
    among: Sequence[str] = (),
    smoothing: float = 0.0,
) -> go.Figure:
    """Plot the mean loss by step, a line per run.

    among: the curves of all runs of the task, the oldest first, so that each run keeps its color in
    every figure. smoothing: weight of earlier points,
    see `smooth_curve`; the unsmoothed curves remain visible as faint lines.
    """
    figure = build_figure("step", "loss", height, y_axis={"rangemode": "tozero"})
    styles = _assign_styles([*among, *curves])
    if not smoothing:
        return _add_curves(figure, curves, styles, "step %{x}")
    faint = {
        name: style | {"opacity": RAW_OPACITY, "showlegend": False}
        for name, style in styles.items()
    }
    _add_curves(figure, curves, faint, "step %{x}, not smoothed")
    smoothed = {name: smooth_curve(points, smoothing) for name, points in curves.items()}
    return _add_curves(figure, smoothed, styles, "step %{x}, smoothed")


def smooth_curve(points: Curve, weight: float) -> list[tuple[float, float]]:
    """Smooth a curve by an exponential moving average without bias toward its start.

    weight: of the mean of the earlier points, from 0 (no smoothing) to below 1. The first mean is
    0, so each mean is divided by the sum of its weights (Kingma and Ba 2015, section 3).

    Example: weight .5, values 1 2 -> means .5, 1.25; weights .5, .75 -> 1, 1.667.
    """
    smoothed, mean, remaining = [], 0.0, 1.0
    for x, y in points:
        mean = weight * mean + (1 - weight) * y
        remaining *= weight
        smoothed.append((x, mean / (1 - remaining)))
    return smoothed


def plot_dev_scores(
    scores: Mapping[str, Sequence[float]], metric: str, height: int = 240, among: Sequence[str] = ()
) -> go.Figure:
    """Plot the dev score after each epoch, a line per run; `among` as in `plot_losses`."""
    figure = build_figure("epoch", f"{metric} on dev", height, y_axis={"rangemode": "nonnegative"})
    if max(map(len, scores.values()), default=0) <= 12:
        figure.update_xaxes(dtick=1)
    styles = _assign_styles([*among, *scores])
    for style, symbol in zip(styles.values(), cycle(SYMBOLS), strict=False):
        style |= {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 7}}
    if not any(chain.from_iterable(scores.values())):
        figure.update_yaxes(range=[0, 1])  # all are 0: plotly would draw -1 to 1
    curves = {name: list(enumerate(values, start=1)) for name, values in scores.items()}
    return _add_curves(figure, curves, styles, "epoch %{x}")


def plot_held_out_losses(
    curves: Mapping[str, HeldOutCurve],
    against: str = "tokens",
    height: int = 320,
    among: Sequence[str] = (),
) -> go.Figure:
    """Plot held-out loss per character against a key of AGAINST, a line per model.

    among: all models on the page, so that each keeps its color.
    """
    figure = build_figure(
        AGAINST[against],
        "held-out loss (nats per character)",
        height,
        {"rangemode": "tozero"},
        showlegend=len(curves) > 1,
    )
    styles = {}
    colors = assign_colors([*among, *curves])
    for (name, color), symbol in zip(colors.items(), cycle(SYMBOLS), strict=False):
        styles[name] = {
            "mode": "lines+markers",
            "line": {"color": color, "width": 2.2},
            "marker": {"symbol": symbol, "size": 7},
        }
    points = {
        name: [(getattr(point, against), point.loss) for point in curve.points]
        for name, curve in curves.items()
    }
    return _add_curves(figure, points, styles, f"%{{x:,.0f}} {AGAINST[against]}")


def _add_curves(
    figure: go.Figure, curves: Mapping[str, Curve], styles: Mapping[str, Style], hover: str
) -> go.Figure:
    """Add a line for each curve and return the figure; hover: describes a point's x in a tooltip."""
    for name, points in curves.items():
        values = [y for _, y in points]
        label = escape_name(name, MAX_LEGEND_LENGTH)
        figure.add_scatter(
            x=[x for x, _ in points],
            y=values,
            name=label,
            customdata=list(map(format_fraction, values)),
            hovertemplate=f"{hover}: %{{customdata}}<extra>{label}</extra>",
            **styles[name],
        )
    return figure


def _assign_styles(names: Iterable[str]) -> dict[str, Style]:
    """Assign a color to each run and a dash to each of its seeds ("run · seed")."""
    runs = {name: name.rpartition(" · ")[0] or name for name in names}
    colors = assign_colors(runs.values())
    seeds_of_run: dict[str, int] = {}
    styles: dict[str, Style] = {}
    for name, run in runs.items():
        seed = seeds_of_run.setdefault(run, 0)
        seeds_of_run[run] += 1
        styles[name] = {
            "mode": "lines",
            "line": {"color": colors[run], "width": 2.2, "dash": DASHES[seed % len(DASHES)]},
        }
    return styles


@dataclass(frozen=True)
class ScoreMark:
    """One run under one tokenization: score of each seed, mean, deviation (None for one seed)."""

    name: str
    tokenization: str
    values: Sequence[float]
    mean: float
    sd: float | None
    collapsed: int = 0
    baseline: bool = False


def plot_scores(marks: Sequence[ScoreMark], metric: str, order: Sequence[str] = ()) -> go.Figure:
    """Plot each run and tokenization in a row, best on top: seeds small, mean ± sd large, baseline
    dotted.

    order: all runs of the task, which get their colors in this order.
    """
    # 1. A row for each mark, with its name on the axis.
    rows = build_name_axis([_label_mark(mark) for mark in marks], 0.5)
    figure = build_figure(metric, "", 76 + 27 * len(marks), y_axis=rows)

    # 2. Two traces for each run, in its color: the seeds, and the means.
    colors = assign_colors([*order, *(mark.name for mark in marks)])
    for name, color in colors.items():
        own = [(row, mark) for row, mark in enumerate(marks) if mark.name == name]
        if not own:
            continue
        seeds = [(value, row, mark) for row, mark in own for value in mark.values]
        figure.add_scatter(
            x=[value for value, _, _ in seeds],
            y=[row for _, row, _ in seeds],
            mode="markers",
            showlegend=False,
            hovertemplate="one seed: %{customdata}<extra></extra>",
            customdata=[format_fraction(value) for value, _, _ in seeds],
            marker={
                "color": color,
                "symbol": [f"{MARKERS[mark.tokenization]}-open" for _, _, mark in seeds],
                "size": 7,
                "opacity": 0.8,
            },
        )
        figure.add_scatter(
            x=[mark.mean for _, mark in own],
            y=[row for row, _ in own],
            mode="markers",
            showlegend=False,
            text=[escape_name(mark.name, MAX_LEGEND_LENGTH) for _, mark in own],
            error_x={
                "array": [mark.sd or 0.0 for _, mark in own],
                "thickness": 1.6,
                "width": 5,
                "color": color,
            },
            marker={
                "color": color,
                "symbol": [MARKERS[mark.tokenization] for _, mark in own],
                "size": 12,
            },
            customdata=[format_fraction(mark.mean) for _, mark in own],
            hovertemplate="%{text}: mean %{customdata}<extra></extra>",
        )

    # 3. The legend of the symbols, and the baseline as a line through all rows.
    for tokenization, symbol in MARKERS.items():
        if any(mark.tokenization == tokenization for mark in marks):
            marker = {"color": NEUTRAL, "symbol": symbol, "size": 10}
            label = label_tokenization(tokenization)
            figure.add_scatter(x=[None], y=[None], mode="markers", name=label, marker=marker)
    for mark in marks:
        if mark.baseline:
            figure.add_vline(mark.mean, line={"color": NEUTRAL, "dash": "dot"})
    if not any(value for mark in marks for value in (*mark.values, mark.mean)):
        figure.update_xaxes(range=[0, 1])  # all are 0: plotly would draw -1 to 1
    return figure


def _label_mark(mark: ScoreMark) -> str:
    noted = [mark.tokenization]
    if mark.baseline:
        noted.append("baseline")
    if mark.collapsed:
        noted.append(f"{mark.collapsed} collapsed")
    return f"{escape_name(mark.name)} · {', '.join(noted)}"


def plot_token_frequency(curve: ExtensionCurve, chosen: int = 0) -> go.Figure:
    """Plot occurrences of the new tokens by rank; chosen size and RARE as lines."""
    figure = plot_frequency_ranks(curve.ranked, RARE, "{} times", "new token", GOOD)
    figure.update_layout(EXTENSION_LAYOUT)
    return _draw_chosen_size(figure, curve, chosen)


def plot_added_words(counts: Sequence[int], added: int) -> go.Figure:
    """Plot occurrences of the words that could be added by rank; RARE, and the number of words that
    are added, as lines.
    """
    figure = plot_frequency_ranks(counts, RARE, "{} times", "word", GOOD)
    figure.update_layout(EXTENSION_LAYOUT)
    figure.add_vline(x=added, line={"color": NEUTRAL, "dash": "dash"})
    return figure


def plot_wordpieces_by_size(curve: ExtensionCurve, chosen: int = 0) -> go.Figure:
    """Plot wordpieces per word against the number of added tokens; the chosen size as a line."""
    figure = build_figure("tokens added", "wordpieces per word", **EXTENSION_LAYOUT)
    figure.add_scatter(
        x=[at.size for at in curve.sizes],
        y=[at.fertility for at in curve.sizes],
        mode="lines+markers",
        line={"color": SOURCE, "width": 2.5},
        marker={"size": 7},
        customdata=[at.shorter for at in curve.sizes],
        hovertemplate=(
            "%{x:,} tokens: %{y:.3f} per word, the text %{customdata:.1%} shorter<extra></extra>"
        ),
    )
    return _draw_chosen_size(figure, curve, chosen)


def _draw_chosen_size(figure: go.Figure, curve: ExtensionCurve, chosen: int) -> go.Figure:
    """Draw the chosen size as a line, if it is within the curve; return the figure."""
    if 0 < chosen <= len(curve.counts):
        figure.add_vline(x=chosen, line={"color": NEUTRAL, "dash": "dash"})
    return figure


def plot_gates(gates: GateStatistics) -> go.Figure:
    """Plot the mean gate value by layer (first one at the bottom) and kind of token as a heat
    map.
    """
    # The scale is symmetric around .5, where layer and extension weigh the same.
    half = max(NARROWEST, float(abs(gates.means - 0.5).max())) / DARKEST
    kinds = [f"{kind}<br>{count(n)}" for kind, n in zip(gates.kinds, gates.counts, strict=True)]
    category = {"type": "category"}
    figure = build_figure("", "", 110 + 34 * gates.layers, category, category, margin={"t": 16})
    return figure.add_heatmap(
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


def _format_fractions(values: NDArray[np.float64]) -> list[list[str]]:
    return [list(map(format_fraction, row)) for row in values.tolist()]
