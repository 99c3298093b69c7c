"""Blocks about a search: the best settings, its figures and trials, and its seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.analysis.figures.search import plot_importance, plot_trials
from vocadapt.analysis.figures.training import plot_dev_scores
from vocadapt.lab.experiments.search.results import STATES
from vocadapt.lab.experiments.search.search import MIN_TRIALS_FOR_IMPORTANCE, read_journal
from vocadapt.lab.experiments.search.space import declare_searched, find_published_choices
from vocadapt.lab.experiments.search.step import FIGURES, OPTIMISTIC
from vocadapt.lab.experiments.search.tables import (
    build_marks,
    build_seed_table,
    build_trial_table,
    format_value,
    list_curves,
)
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.report.formats import format_fraction, format_metric_name
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_command,
    draw_figure,
    draw_heading,
    draw_metrics,
    draw_note,
    draw_table,
)
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.jobs import panel
from vocadapt.ui.text.markup import escape_invisible, plain
from vocadapt.ui.text.number_formats import count, percent

MORE_TRIALS = 10  # that a finished search is first offered
CURVE_HEIGHT = 360  # pixels
Row = Mapping[str, Any]  # a trial, as the numbers of a search have it


def draw_trials(search: Artifact, spec: Spec, job: Job | None) -> None:
    """Draw the best settings, the figures and the trials of a search; of a running one, the trials
    so far.
    """
    # 1. The trials that have ended.
    numbers = search.manifest.numbers
    rows = read_rows(search, job)
    wanted = (job.spec if job else spec).settings.trials
    ended = [row for row in rows if row["state"] in STATES]
    text = f"**{count(len(ended))} of {count(max(wanted, len(ended)))} trials** have ended"
    if ended:
        counts = Counter(row["state"] for row in ended)
        numbers_by_state = [f"{count(counts[one])} {one}" for one in STATES if counts[one]]
        text += f": {', '.join(numbers_by_state)}"
    st.markdown(f"{describe_inputs(spec)} · {text}.")
    if not ended:
        return
    # 2. The best settings so far, and the figures.
    metric = format_metric_name(numbers.get("metric", "")) or "score"
    _draw_best(ended, metric)
    _draw_scores(ended, metric)
    if job is None:
        _draw_importance(numbers.get("importance") or {})
    # 3. All trials.
    draw_heading("Trials")
    draw_report(build_trial_table(rows, metric), key="search_table")
    draw_note("Best first. Mean and standard deviation over the seeds of a trial, on dev.")
    for row in rows:
        if row.get("problem"):
            problem = plain(mistakes.format_message(row["problem"]))
            st.markdown(f":material/error: **Trial {count(row['trial'])}**: {problem}")
    if thesis := numbers.get("thesis"):
        draw_note(plain(thesis))


def read_rows(search: Artifact, job: Job | None) -> list[Row]:
    """Return the trials of a search: those of the last run, or those in the journal if it is
    running or was stopped.
    """
    rows = search.manifest.numbers.get("rows")
    if rows and job is None:
        return list(rows)
    found = read_journal(search.folder)
    if job is None:
        stopped = {"running": "interrupted"}
        found = [replace(one, state=stopped.get(one.state, one.state)) for one in found]
    return list(map(asdict, found))


def describe_inputs(spec: Spec) -> str:
    """Describe model and task of a search (Markdown)."""
    model, task = (Path(spec.inputs[role][0]).name for role in ("model", "task"))
    return f"{plain(model)} on {plain(task)}"


def _draw_best(rows: Sequence[Row], metric: str) -> None:
    """Draw the best trial: its score on dev, and its settings beside those that Fast 2023 chose."""
    done = [row for row in rows if row["state"] == "done"]
    if not done:
        return
    best = max(done, key=lambda row: row["mean"])
    spread = f"n = {count(best['n'])} seed{'s' * (best['n'] != 1)}"
    if best["sd"] is not None:
        spread = f"± {format_fraction(best['sd'])}, {spread}"
    draw_heading("Best settings")
    score, settings = st.columns([1, 2.4], gap="medium")
    with score:
        draw_metrics((f"{metric} on dev", format_fraction(best["mean"]), spread, None))
        draw_note(f"Trial {count(best['trial'])}, the best of {count(len(done))} done.")
    with settings:
        declared = declare_searched()
        chosen = find_published_choices()
        columns = {
            "setting": [declared[key].label for key in best["settings"]],
            "best": [format_value(value) for value in best["settings"].values()],
            "chosen by Fast 2023": [chosen.get(key, "–") for key in best["settings"]],
        }
        draw_table(columns, key="search_best")
    draw_note(OPTIMISTIC)


def _draw_scores(rows: Sequence[Row], metric: str) -> None:
    marks = build_marks(rows)
    draw_heading("Score by trial")
    scores = [f"trial {mark.number} {format_fraction(mark.mean)}" for mark in marks]
    draw_figure(
        plot_trials(marks, metric),
        "search_figure_trials",
        alt=f"Mean {metric} on dev of each trial: {', '.join(scores)}.",
    )


def _draw_importance(importance: Mapping[str, float]) -> None:
    draw_heading("Importance of each setting")
    if not importance:
        draw_note(
            f"It is computed from {MIN_TRIALS_FOR_IMPORTANCE} trials that are done and differ in"
            " their scores."
        )
        return
    declared = declare_searched()
    named = {declared[key].label: value for key, value in importance.items()}
    shares = ", ".join(f"{name} {percent(value)}" for name, value in named.items())
    draw_figure(
        plot_importance(named),
        "search_figure_importance",
        alt=f"Importance of each setting: {shares}.",
    )
    draw_note(
        "The fraction of the differences between trials that a setting explains (fANOVA, Hutter et"
        " al. 2014). Trials that were pruned do not count."
    )


def draw_seeds(search: Artifact, spec: Spec) -> None:
    """Draw the dev score after each epoch, for each seed, as a figure and a table."""
    numbers = search.manifest.numbers
    rows = numbers.get("rows") or []
    seeds = numbers.get("seeds") or []
    st.markdown(f"{describe_inputs(spec)} · **{count(len(spec.settings.seeds))} seeds**.")
    if not rows:
        draw_note("The scores are shown when all seeds are trained.")
        return
    metric = format_metric_name(numbers["metric"])
    curves = list_curves(numbers)
    draw_heading("Dev score by epoch and seed")
    last = ", ".join(f"{name} {format_fraction(values[-1])}" for name, values in curves.items())
    draw_figure(
        plot_dev_scores(curves, metric, CURVE_HEIGHT),
        "search_figure_seeds",
        alt=f"{metric} on dev after the last epoch: {last}.",
    )
    draw_report(build_seed_table(numbers), key="search_epochs")
    best = ", ".join(
        f"seed {seed} after {count(epoch)}"
        for seed, epoch in zip(seeds, numbers["best_epoch"], strict=True)
    )
    draw_note(f"All settings are equal: only the seeds differ. Best epoch: {best}.")
    for seed in numbers.get("collapsed", ()):
        st.markdown(
            f":material/warning: **Seed {seed} collapsed**: never better than always giving the"
            " most frequent answer on dev."
        )
    for failure in numbers.get("failures", ()):
        problem = plain(mistakes.format_message(failure["problem"]))
        st.markdown(f":material/error: {plain(failure['name'])}: {problem}")


def draw_continue(workspace: Workspace, search: Artifact, spec: Spec) -> None:
    """Draw the button that continues a search: what is left of it, or more trials."""
    n_ended = search.manifest.numbers.get("trials", 0)
    is_whole = bool(search.manifest.numbers)
    if is_whole and spec.step == "seeds":
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if is_whole:
            more = st.number_input(
                "More trials", 1, 10_000, MORE_TRIALS, key="search_more", width=180
            )
            settings = replace(spec.settings, trials=n_ended + int(more))
            spec = replace(spec, settings=settings)
        if st.button("Continue", key="search_continue", icon=":material/play_arrow:"):
            panel.start(workspace, spec, search.name)


def draw_details(search: Artifact) -> None:
    """Draw the command that trains the best settings, and the expander Details & export."""
    numbers = search.manifest.numbers
    if numbers.get("command"):
        with st.expander("Train the best settings in a terminal", icon=":material/terminal:"):
            draw_command(numbers["command"])
    downloads = {}
    if (search.folder / FIGURES).is_file():
        downloads[f"{escape_invisible(search.name)}.html"] = (search.folder / FIGURES).read_bytes
    draw_artifact_details(search, downloads)
