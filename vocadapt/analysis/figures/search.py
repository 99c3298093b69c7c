"""Figures of a hyperparameter search: importance of each setting, score by trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import plotly.graph_objects as go

from vocadapt.analysis.figures.figures import (
    CHANGED,
    GOOD,
    MAX_TITLE_LENGTH,
    NEUTRAL,
    PERCENT,
    SOURCE,
    build_figure,
    build_name_axis,
    escape_name,
)
from vocadapt.report.formats import format_fraction

MARKS = {  # state of a trial → its color and symbol
    "done": (SOURCE, "circle"),
    "pruned": (NEUTRAL, "x"),
    "failed": (CHANGED, "triangle-down"),
}


@dataclass(frozen=True)
class TrialMark:
    """A trial of a search: its number, state (a key of MARKS), mean dev score over its seeds (None
    without one) and their standard deviation, and its settings as text.
    """

    number: int
    state: str
    mean: float | None
    sd: float | None
    about: str


def plot_importance(importance: Mapping[str, float]) -> go.Figure:
    """Plot the importance of each setting as a bar, the largest on top."""
    ordered = sorted(importance.items(), key=lambda item: -item[1])
    names = [escape_name(name) for name, _ in ordered]
    figure = build_figure(
        "importance (fraction of the variance of the dev scores)",
        "",
        80 + 32 * len(ordered),
        PERCENT | {"rangemode": "tozero"},
        build_name_axis(names, 0.6),
    )
    return figure.add_bar(
        x=[value for _, value in ordered],
        y=list(range(len(ordered))),
        customdata=names,
        orientation="h",
        marker={"color": GOOD},
        hovertemplate="%{customdata}: %{x:.0%}<extra></extra>",
    )


def plot_trials(trials: Sequence[TrialMark], metric: str) -> go.Figure:
    """Plot the mean dev score of each trial with its standard deviation over seeds, and the best
    mean so far as a line. Trials without a score are left out.
    """
    # 1. The trials, by state.
    figure = build_figure("trial", f"{metric} on dev, mean over seeds", 320)
    scored = [trial for trial in trials if trial.mean is not None]
    for state, (color, symbol) in MARKS.items():
        own = [trial for trial in scored if trial.state == state]
        if not own:
            continue
        figure.add_scatter(
            x=[trial.number for trial in own],
            y=[trial.mean for trial in own],
            mode="markers",
            name=state,
            error_y={"array": [trial.sd or 0.0 for trial in own], "thickness": 1.2, "width": 3},
            marker={"color": color, "symbol": symbol, "size": 9},
            customdata=[
                [format_fraction(trial.mean or 0.0), escape_name(trial.about, MAX_TITLE_LENGTH)]
                for trial in own
            ],
            hovertemplate="trial %{x}: %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        )

    # 2. The best so far, among those with all their seeds.
    done = [trial for trial in scored if trial.state == "done"]
    if done:
        figure.add_scatter(
            x=[trial.number for trial in done],
            y=list(accumulate((trial.mean or 0.0 for trial in done), max)),
            mode="lines",
            name="best so far",
            line={"color": GOOD, "shape": "hv", "width": 2},
            hovertemplate="best so far: %{y:.4f}<extra></extra>",
        )
    return figure
