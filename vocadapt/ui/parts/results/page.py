"""The part Results: compare the runs of a task with a selected baseline, and test the differences."""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.results.fair_pairs import list_other_settings
from vocadapt.lab.experiments.studies import merged
from vocadapt.lab.results.runs import (
    RunSet,
    find_fair_pair,
    find_remark,
    list_names_by_age,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import curves, pickers
from vocadapt.ui.components.blocks import draw_note, draw_task_remark
from vocadapt.ui.parts.finetune.result import (
    describe_model_and_task,
    describe_training,
    draw_runs,
)
from vocadapt.ui.parts.results import compared_settings, confusion, view
from vocadapt.ui.state import address, cache


def draw(workspace: Workspace) -> None:
    """Draw the leaderboard of a task, its curves, confusion matrix and settings."""
    pickers.warn_of_unreadable_runs(workspace)
    runs = [one for one in cache.load_runs(workspace) if one.tokenizations]
    if not runs:
        pickers.draw_empty_state(
            "There is no scored run in this workspace yet.",
            (
                "Fine-tune a model on a task with a labeled test split, preferably with five seeds."
                " This page shows the scores, and the difference between two or more models."
            ),
            "finetune",
            "Fine-tune a model",
        )
        return

    if merged.is_study(workspace):
        _draw_study_link(workspace)
        cells, runs = runs, merged.merge_seeds(runs)
        _draw_cell(workspace, cells, runs)
    # 1. Task, baseline and score.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = view.pick_task(runs)
        own = [one for one in runs if one.task == task]
        names = pickers.list_display_names(workspace, "runs")
        pair = find_fair_pair(own)
        baseline = view.pick_baseline(own, pair, names)
        scorer = view.pick_score(own[0].kind)
    # 2. The runs to compare; those with other settings than the baseline are folded.
    sides = view.list_sides(pair, baseline)
    others = list_other_settings([one.description for one in own], sides)
    compared = view.pick_compared(own, sides)
    board = view.compute_results(compared, baseline, scorer).tasks[0]
    models = pickers.list_display_names(workspace)
    same, folded = view.split_by_settings(board, others)
    # 3. The models compared with the baseline, then over all tasks if there are several.
    order = [names.get(name, name) for name in list_names_by_age(own)]
    shown = view.apply_display_names(same, names, models)
    view.draw_headline(shown)
    draw_task_remark(find_remark(own))
    view.draw_leaderboard(shown, order)
    view.draw_other_settings(view.apply_display_names(folded, names, models))
    first = [one for one in own if one.name not in others]
    curves.draw_curves(own, own[0].metric, names, [one.name for one in first])
    confused = pickers.find_run_of_side(own, pair.compared, pair.seeds) if pair else None
    confusion.draw_confusion(task, baseline, confused.name if confused else "")
    if len(own) > 1:
        compared_settings.draw_settings(own, sides, names, models)
    if len({one.task for one in runs}) > 1:
        view.draw_group_means(runs, models)
    view.draw_details(workspace, board, scorer)


def _draw_cell(workspace: Workspace, cells: Sequence[RunSet], rows: Sequence[RunSet]) -> None:
    """Draw the run of one cell of a study, selected in the grid of the study or here.

    cells: runs of all cells. rows: the same, merged by variant and task.
    """
    labels = {one.name: merged.describe_cell(one.name, one.seeds) for one in cells}
    with st.container(border=True):
        chosen = pickers.pick_name(
            "Run of one cell",
            list(labels),
            "results_run",
            placeholder="None selected",
            help="Shows the scores, the learning curve and the manifest of one cell of the study.",
            labels=labels,
        )
        for one in cells:
            if one.name == chosen:
                st.markdown(f"{describe_model_and_task(workspace, one)} · {describe_training(one)}")
                row = next(row for row in rows if one.runs[0] in row.runs)
                draw_runs(one, row.name, curves.list_curves(rows, one.task, {}))


def _draw_study_link(workspace: Workspace) -> None:
    """Draw the button that opens the table of the study whose folder this workspace is."""
    own, study = address.split_study(st.session_state.get(address.WORKSPACE) or "")
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_note("The seeds of a variant are one row here: mean and standard deviation over them.")
        if study and st.button(
            "Table of the study", key="results_study", icon=":material/grid_on:"
        ):
            address.go_to("studies", **{address.WORKSPACE: own, "studies_study": study})
