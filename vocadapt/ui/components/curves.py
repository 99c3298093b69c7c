"""Learning curves of the runs of a task: the loss, smoothed on request, and the dev score."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from vocadapt.analysis.figures import training
from vocadapt.analysis.figures.training import Curve
from vocadapt.lab.results.runs import RunSet
from vocadapt.report.formats import format_fraction, format_metric_name
from vocadapt.ui.components.blocks import draw_figure, draw_heading, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.text.markup import escape_invisible
from vocadapt.ui.text.number_formats import count

MAX_CURVES = 12  # selected at first
MAX_DESCRIBED = 6  # runs whose last value is described
HEIGHT = 240  # pixels, without the legend
LEGEND_LINE = 19  # pixels of a line of the legend
SMOOTHING_HELP = (
    "Sets how much each point is averaged with the points before it (exponential moving average)."
    " The original curve stays faintly visible."
)


@st.fragment
def draw_curves(
    runs: Sequence[RunSet],
    metric: str,
    names: Mapping[str, str],
    first: Collection[str],
) -> None:
    """Draw loss and dev score of the selected runs, by default of the first ones, at most
    MAX_CURVES.

    runs: all of a task, newest first. names: display names of runs. first: names of the runs that
    are selected at first.
    """
    draw_heading("Learning curves")
    # 1. The runs, one per seed, and the smoothing.
    every = label_curves(runs, names)
    selected = list(label_curves([one for one in runs if one.name in first], names))[:MAX_CURVES]
    picker, slider = st.columns([2.4, 1], gap="large", vertical_alignment="bottom")
    chosen = picker.multiselect("Runs", list(every), selected, key="curves", help=explain("Runs"))
    smoothing = slider.slider(
        "Smoothing",
        0.0,
        0.95,
        0.0,
        0.05,
        key="results_smoothing",
        bind="query-params",
        help=SMOOTHING_HELP,
    )
    draw_note(f"{count(len(chosen))} of {count(len(every))} runs.")
    # 2. Losses and dev scores side by side, with the same color for a run in both.
    left, right = st.columns(2, gap="large")
    among = list_curves(runs, runs[0].task, names)
    with left:
        losses = {name: every[name]["curve"] for name in chosen if every[name].get("curve")}
        draw_losses(losses, "losses", among, smoothing)
    with right:
        dev = {name: every[name]["dev"] for name in chosen if every[name].get("dev")}
        draw_dev_scores(dev, format_metric_name(metric), "devs", among)


def draw_losses(
    curves: Mapping[str, Curve], key: str, among: Sequence[str], smoothing: float = 0.0
) -> None:
    """Draw loss curves by label, if there are any. among, smoothing: as in `plot_losses`."""
    if curves:
        height = HEIGHT + LEGEND_LINE * len(curves)
        figure = training.plot_losses(curves, height, among, smoothing)
        last = {name: points[-1][1] for name, points in curves.items()}
        draw_figure(figure, key, _describe_last("Training loss by step", last))


def draw_dev_scores(
    scores: Mapping[str, Sequence[float]], metric: str, key: str, among: Sequence[str]
) -> None:
    """Draw dev scores by epoch and label, or that there are none. among: see `draw_losses`."""
    if not scores:
        st.markdown(":gray[No dev scores: no dev split, or trained on it.]")
        return
    height = HEIGHT + LEGEND_LINE * len(scores)
    figure = training.plot_dev_scores(scores, metric, height, among)
    last = {name: values[-1] for name, values in scores.items()}
    draw_figure(figure, key, _describe_last(f"{metric} on the dev split by epoch", last))


def label_curves(runs: Sequence[RunSet], names: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    """Return the record of each run by the label of its curve: display name · seed.

    names: display names of runs.
    """
    return {
        label_curve(names.get(one.name, one.name), run.called): run.record
        for one in runs
        for run in one.runs
    }


def label_curve(name: str, seed: str) -> str:
    """Return the label of the curve of a run: "green · seed 1"."""
    return f"{escape_invisible(name)} · {seed}"


def list_curves(runs: Sequence[RunSet], task: str, names: Mapping[str, str]) -> list[str]:
    """Return the labels of the curves of a task, the oldest first, by which figures assign colors:
    a new run changes no color.

    runs: newest first; those without scores are not on Results, so they are left out. names:
    display names of runs.
    """
    own = [one for one in reversed(runs) if one.task == task and one.tokenizations]
    return list(label_curves(own, names))


def _describe_last(what: str, last: Mapping[str, float]) -> str:
    """Describe curves by their last values, for those who cannot see the figure."""
    values = [f"{name} {format_fraction(value)}" for name, value in last.items()]
    text = f"{what}. Last value: {', '.join(values[:MAX_DESCRIBED])}"
    if len(values) > MAX_DESCRIBED:
        text += f", and {count(len(values) - MAX_DESCRIBED)} more"
    return f"{text}."
