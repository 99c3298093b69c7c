"""Blocks of the part Fine-tune: the running job, and the newest runs."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from vocadapt.analysis.results.fair_pairs import FairPair
from vocadapt.analysis.results.results import COLLAPSED
from vocadapt.lab.experiments.search.saved import read_spec
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.queue import list_promised_names
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.results.runs import RunSet, find_fair_pair
from vocadapt.lab.steps.finetune import read_live_runs
from vocadapt.lab.steps.guards import Change, apply_change, is_change
from vocadapt.lab.steps.run import CHECKPOINT
from vocadapt.lab.steps.task_guards import MORE_EPOCHS
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.formats import format_fraction as score
from vocadapt.report.formats import format_metric_name
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_link,
    draw_metric,
    draw_note,
)
from vocadapt.ui.components.curves import (
    draw_dev_scores,
    draw_losses,
    label_curve,
    label_curves,
    list_curves,
)
from vocadapt.ui.components.setting_inputs import format_change
from vocadapt.ui.jobs import panel
from vocadapt.ui.state import address
from vocadapt.ui.state.names import display_model, display_name, list_display_names
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import count, count_noun, fraction

LIVE_HEIGHT = 440  # pixels of a running job with both of its curves


def draw_running_job(job: Job, status: Status) -> None:
    """Draw a running job: its progress and its curves."""
    line = f"{panel.CHIPS[status.state]} {panel.format_title(job)}"
    line += f" · {panel.describe_pace(job, status)}"
    panel.draw_running_job(job, status, line)
    live_runs = read_live_runs(job.folder / CHECKPOINT)
    if not live_runs:
        draw_note("The curves appear here after the first steps.")
        return
    name = display_name(job.workspace, job.spec.kind, job.target.name)
    seeds = {label_curve(name, seed): one for seed, one in live_runs.items()}
    newest, live = list(seeds.items())[-1]
    if live.dev:
        best = max(live.dev)
        st.markdown(
            f"**{plain(newest)}** · {count_noun(len(live.dev), 'epoch')} of"
            f" {count(job.spec.settings.finetune.epochs)} · best dev {fraction(best)} after epoch"
            f" {live.dev.index(best) + 1}"
        )
    loss, dev = st.columns(2, gap="large")
    curves = {label: one.curve for label, one in seeds.items() if one.curve}
    with loss:
        if any(len(curve) > 1 for curve in curves.values()):
            draw_losses(curves, f"loss_{job.id}", ())
    with dev:
        scores = {label: one.dev for label, one in seeds.items() if one.dev}
        if scores:
            draw_dev_scores(scores, "Score", f"dev_{job.id}", ())


def draw_headline_result(workspace: Workspace, runs: Sequence[RunSet]) -> None:
    """Draw the runs that were just made or, on any other visit, the compared side of the fair pair;
    with the baseline that it is compared with, and a link to Results.
    """
    # 1. Which runs, and their baseline.
    shown = runs[0]
    pair = find_fair_pair(runs)
    is_new = address.is_new("runs", shown.name)
    if is_new and shown.tokenizations:
        pair = find_fair_pair(runs, (shown.name, shown.main_tokenization))
    elif pair is not None:
        shown = next(one for one in runs if one.name == pair.compared[0])

    # 2. Their names and scores.
    if shown.artifact:
        pickers.warn_if_stale(shown.artifact, workspace)
    words, link = st.columns([5, 1.2], vertical_alignment="bottom")
    badge = pickers.NEW_BADGE if is_new else ""
    name = display_name(workspace, "runs", shown.name)
    facts = [f"{badge} **{plain(name)}**", describe_training(shown)]
    if name == shown.name:  # chosen by the user: it may not name the model and the task
        facts.insert(1, describe_model_and_task(workspace, shown))
    words.markdown(" · ".join(facts))
    draw_link("results", "All results", link, results_task=shown.task)
    if pair is not None and pair.compared[0] == shown.name:
        _draw_baseline(workspace, runs, pair)
    among = list_curves(runs, shown.task, list_display_names(workspace, "runs"))
    draw_runs(shown, name, among, workspace)


def _draw_baseline(workspace: Workspace, runs: Sequence[RunSet], pair: FairPair) -> None:
    """Draw the score of the baseline of a fair pair in a line; nothing if it has none."""
    if pair.baseline is None or not pair.is_fair:
        return
    name, tokenization = pair.baseline
    one = next(one for one in runs if one.name == name)
    summary = one.summary(tokenization)
    value = score(summary.mean)
    if summary.sd is not None:
        value += f" ± {score(summary.sd)}"
    model = plain(display_model(workspace, one.model))
    st.markdown(
        f"Compared with **{model} · {tokenization}**, {format_metric_name(one.metric)} **{value}**,"
        f" n = {count(len(summary.values))}: the two differ only in the"
        f" {pickers.label_difference(pair.differences[0])}."
    )


def _draw_retrain_button(workspace: Workspace, runs: RunSet) -> None:
    """Draw the button that trains again with other settings, if a run learned nothing."""
    if runs.artifact is None or not any(runs.collapsed):
        return
    with mistakes.show_errors():
        spec = read_spec(runs.artifact, workspace)
        change: Change = {"finetune.epochs": MORE_EPOCHS * spec.settings.finetune.epochs}
        recorded = runs.artifact.manifest.numbers.get("again", {})
        if is_change(spec.settings, recorded):  # runs of earlier versions have none
            change = recorded
        again = replace(spec, settings=apply_change(spec.settings, change))
        if panel.draw_if_running(workspace, again):
            return
        label = f"Train again with {format_change(spec.settings, change)}"
        if st.button(label, icon=":material/replay:", type="primary", key="finetune_again"):
            taken = list_promised_names(workspace, "runs")
            panel.start(workspace, again, workspace.find_free_name("runs", runs.name, taken))


def describe_model_and_task(workspace: Workspace, runs: RunSet) -> str:
    """Return the model and the task of runs (Markdown)."""
    return f"{plain(display_model(workspace, runs.model))} on {plain(runs.task)}"


def describe_training(runs: RunSet) -> str:
    """Describe a training: its tokenization, number of runs and speed."""
    runs_of_model = count_noun(len(runs.seeds), "seed")
    if runs.folds > 1:
        runs_of_model += f" × {runs.folds} folds"
    speed = count(round(runs.examples_per_second))
    return f"{runs.tokenization} · {runs_of_model} · {speed} examples/s"


def list_findings(runs: RunSet) -> list[str]:
    """List the findings of runs, each once (Markdown); one of some runs only begins with their
    seeds.
    """
    seeds: dict[str, list[int]] = {}
    for run in runs.runs:
        for finding in run.record.get("findings", ()):
            seeds.setdefault(finding, []).append(run.seed)
    found = []
    for finding, own in seeds.items():
        lead = ""
        distinct = sorted(set(own))
        if len(own) < len(runs.runs):
            lead = f"Seed{'s' * (len(distinct) > 1)} {', '.join(map(str, distinct))}: "
        found.append(lead + format_sentence(finding))
    return found


def draw_runs(
    runs: RunSet, name: str, among: Sequence[str], workspace: Workspace | None = None
) -> None:
    """Draw runs of a model on a task: scores under each tokenization and findings on the left,
    learning curves on the right, details below.

    name: their display name. among: the labels of the curves of the task, as `list_curves` returns
    them. workspace: where collapsed runs can be trained again with other settings; None: nowhere.
    """
    figures, dev = st.columns([1.1, 1], gap="large")
    with figures:
        _draw_scores(runs)
        if workspace is not None:
            _draw_retrain_button(workspace, runs)
        for finding in list_findings(runs):
            draw_note(finding)
    with dev:
        records = label_curves([runs], {runs.name: name})
        scores = {label: one["dev"] for label, one in records.items() if one.get("dev")}
        curves = {label: one["curve"] for label, one in records.items() if one.get("curve")}
        if scores:
            draw_dev_scores(scores, format_metric_name(runs.metric), "last_curve", among)
        else:
            draw_losses(curves, "last_curve", among)
    if runs.artifact:
        draw_artifact_details(runs.artifact)


def _draw_scores(newest: RunSet) -> None:
    """Draw the headline metric under each tokenization: mean ± sd, n, and the name of the score."""
    if not newest.tokenizations:
        st.markdown("The test split has no labels, so its predictions are not scored.")
        return
    metric = format_metric_name(newest.metric)
    columns = st.columns(len(newest.tokenizations))
    for column, tokenization in zip(columns, newest.tokenizations, strict=True):
        summary = newest.summary(tokenization)
        sd = "one seed: no sd"
        if summary.sd is not None:
            sd = f"± {score(summary.sd)}, n = {count(len(summary.values))}"
        draw_metric(column, f"{metric} · {tokenization}", score(summary.mean), sd)
    scores = newest.scores[newest.main_tokenization]
    defined = plain(str(scores.get("definition", newest.scorer.about)))
    draw_note(f"{newest.scorer.name}: {defined}; {count(scores['units'])} test units.")
    if any(newest.collapsed):
        st.warning(
            f"{count(sum(newest.collapsed))} of {count_noun(len(newest.seeds), 'seed')} collapsed."
            f" {COLLAPSED.help}"
        )
