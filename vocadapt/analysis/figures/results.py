"""Figures of the pages Fine-tune and Results: learning curves, and scores of runs."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import plotly.graph_objects as go

from vocadapt.analysis.figures.figures import (
    GOOD,
    NEUTRAL,
    SERIES,
    SOURCE,
    SYMBOLS,
    TARGET,
    build_empty_figure,
)
from vocadapt.analysis.results.tables import format_fraction
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS, label_tokenization

LOOKS = ((SOURCE, "circle"), (GOOD, "square"), (TARGET, "diamond"))
STYLES = dict(zip(ALL_TOKENIZATIONS, LOOKS, strict=True))
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


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


def plot_losses(
    curves: Mapping[str, Sequence[tuple[int, float]]], height: int = 240, among: Sequence[str] = ()
) -> go.Figure:
    """Plot the mean loss by step, a line per run; `among`: all runs on the page, so that each keeps
    its color.
    """
    figure = build_empty_figure("step", "loss", height)
    styles = _assign_styles([*among, *curves])
    for name, curve in curves.items():
        figure.add_scatter(
            x=[step for step, _ in curve],
            y=[loss for _, loss in curve],
            mode="lines",
            name=html.escape(name),
            line=styles[name],
            customdata=[format_fraction(loss) for _, loss in curve],
            hovertemplate=f"step %{{x}}: %{{customdata}}<extra>{html.escape(name)}</extra>",
        )
    figure.update_yaxes(rangemode="tozero")
    return figure


def plot_dev_scores(
    scores: Mapping[str, Sequence[float]], metric: str, height: int = 240, among: Sequence[str] = ()
) -> go.Figure:
    """Plot the dev score after each epoch, a line per run; `among` as in `plot_losses`."""
    figure = build_empty_figure("epoch", f"{metric} on dev", height)
    styles = _assign_styles([*among, *scores])
    symbols = dict(zip(styles, cycle(SYMBOLS), strict=False))
    for name, values in scores.items():
        figure.add_scatter(
            x=list(range(1, len(values) + 1)),
            y=list(values),
            mode="lines+markers",
            name=html.escape(name),
            line=styles[name],
            marker={"symbol": symbols[name], "size": 7},
            customdata=[format_fraction(value) for value in values],
            hovertemplate=f"epoch %{{x}}: %{{customdata}}<extra>{html.escape(name)}</extra>",
        )
    if max(map(len, scores.values()), default=0) <= 12:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(rangemode="nonnegative")
    return figure


def plot_scores(marks: Sequence[ScoreMark], metric: str) -> go.Figure:
    """Plot each run and tokenization in a row, best on top: seeds small, mean ± sd large, baseline
    dotted.
    """
    figure = build_empty_figure(metric, "", 76 + 27 * len(marks))
    places = {id(mark): place for place, mark in enumerate(marks)}
    for tokenization, (color, symbol) in STYLES.items():
        own = [mark for mark in marks if mark.tokenization == tokenization]
        if not own:
            continue
        figure.add_scatter(
            x=[value for mark in own for value in mark.values],
            y=[places[id(mark)] for mark in own for _ in mark.values],
            mode="markers",
            showlegend=False,
            hovertemplate="one seed: %{customdata}<extra></extra>",
            customdata=[format_fraction(value) for mark in own for value in mark.values],
            marker={"color": color, "symbol": f"{symbol}-open", "size": 7, "opacity": 0.8},
        )
        figure.add_scatter(
            x=[mark.mean for mark in own],
            y=[places[id(mark)] for mark in own],
            mode="markers",
            name=label_tokenization(tokenization),
            text=[html.escape(mark.name) for mark in own],
            error_x={
                "array": [mark.sd or 0.0 for mark in own],
                "thickness": 1.6,
                "width": 5,
                "color": color,
            },
            marker={"color": color, "symbol": symbol, "size": 12},
            customdata=[format_fraction(mark.mean) for mark in own],
            hovertemplate="%{text}: mean %{customdata}<extra></extra>",
        )
    for mark in marks:
        if mark.baseline:
            figure.add_vline(mark.mean, line={"color": NEUTRAL, "dash": "dot"})
    names = [html.escape(_label_mark(mark)) for mark in marks]
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(marks))),
        ticktext=names,
        range=[len(marks) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def _label_mark(mark: ScoreMark) -> str:
    name = mark.name
    if len(name) > 28:
        name = f"{name[:27]}…"
    noted = [mark.tokenization]
    if mark.baseline:
        noted.append("baseline")
    if mark.collapsed:
        noted.append(f"{mark.collapsed} collapsed")
    return f"{name} · {', '.join(noted)}"


def _assign_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Assign a color to each run and a dash to each of its seeds ("run · seed")."""
    seen: dict[str, int] = {}
    styles = {}
    for name in dict.fromkeys(names):
        run = name.rpartition(" · ")[0] or name
        own = seen[run] = seen.get(run, -1) + 1
        place = list(seen).index(run)
        styles[name] = {
            "color": SERIES[place % len(SERIES)],
            "width": 2.2,
            "dash": DASHES[own % len(DASHES)],
        }
    return styles
