"""The newest fine-tuning on its page, and the same step as a command line."""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.figures import results
from vocadapt.analysis.results.tables import format_fraction as score
from vocadapt.analysis.results.tables import format_metric_name
from vocadapt.lab.artifacts.runs import RunSet
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_command,
    draw_figure,
    draw_metric,
    draw_note,
)
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.finetune.view import Wanted
from vocadapt.ui.frame.address import here

RESULTS = "pages/train/results.py"
FINDINGS = 4  # findings of the newest runs shown directly


def draw_newest_result(workspace: Workspace, runs: Sequence[RunSet]) -> None:
    """Draw the newest runs: scores under each tokenization, learning curves, and a link to Results."""
    newest = runs[0]
    if newest.artifact:
        pickers.stale_note(newest.artifact, workspace)
    n = len(newest.seeds)
    runs_of_model = f"{n} seed{'s' * (n > 1)}"
    if newest.folds > 1:
        runs_of_model += f" × {newest.folds} folds"
    words, link = st.columns([5, 1.2], vertical_alignment="bottom")
    words.markdown(
        f"**Last: {plain(newest.name)}** · {plain(newest.model)} on {plain(newest.task)} ·"
        f" {newest.tokenization} · {runs_of_model} ·"
        f" {newest.examples_per_second:.0f} examples/s"
    )
    address = {"results_task": newest.task, **here()}
    link.page_link(
        RESULTS, label="All results", icon=":material/arrow_forward:", query_params=address
    )
    figures, dev = st.columns([1.1, 1], gap="large")
    with figures:
        _draw_scores(newest)
        findings: list[str] = []
        for run in newest.runs:
            findings += run.record.get("findings", ())
        findings = list(dict.fromkeys(findings))
        for finding in findings[:FINDINGS]:
            draw_note(plain(finding))
        if len(findings) > FINDINGS:
            draw_note(f"and {len(findings) - FINDINGS} more findings under *Details & export*")
    with dev:
        scores = {run.called: run.record["dev"] for run in newest.runs if run.record.get("dev")}
        curves = {run.called: run.record["curve"] for run in newest.runs if run.record.get("curve")}
        if scores:
            figure = results.plot_dev_scores(scores, format_metric_name(newest.metric))
            draw_figure(figure, "last_curve")
        elif curves:
            draw_figure(results.plot_losses(curves), "last_curve")
    if newest.artifact:
        draw_artifact_details(newest.artifact)


def _draw_scores(newest: RunSet) -> None:
    """Draw the headline metric under each tokenization: mean ± sd, n, and the name of the score."""
    if not newest.tokenizations:
        st.markdown("The test split has no labels: predicted, not scored.")
        return
    metric = format_metric_name(newest.metric)
    columns = st.columns(len(newest.tokenizations))
    for column, tokenization in zip(columns, newest.tokenizations, strict=True):
        summary, sd = newest.summary(tokenization), "one seed: no sd"
        if summary.sd is not None:
            sd = f"± {score(summary.sd)}, n = {len(summary.values)}"
        draw_metric(column, f"{metric} · {tokenization}", score(summary.mean), sd)
    units = newest.scores[newest.main_tokenization]["units"]
    defined = str(newest.scores[newest.main_tokenization].get("definition", newest.scorer.about))
    draw_note(f"{newest.scorer.name}: {plain(defined)}; {count(units)} test units.")
    if any(newest.collapsed):
        st.warning(
            f"{sum(newest.collapsed)} of {len(newest.seeds)} seeds collapsed: their"
            " predictions remained at the majority baseline."
        )


def draw_commands(workspace: Workspace, wanted: Wanted) -> None:
    """Draw the command lines of the form, one per model."""
    with st.expander("The same in a terminal", icon=":material/terminal:"):
        for label, model in wanted.models.items():
            name = workspace.find_free_name(
                "runs", f"{wanted.task.name.rpartition('/')[2]}-{pickers.shown_model(label)}"
            )
            draw_command(build_command(wanted.spec(model), workspace.folder("runs", name)))
