"""The part Fine-tune: fine-tune models on a task with several seeds as jobs, and show their results."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_heading
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.finetune import result, task_intake, view
from vocadapt.ui.state import cache


def draw(workspace: Workspace) -> None:
    """Draw the headline result, and the forms of new runs and new tasks."""
    # 1. The running job, and the latest result.
    with st.container():
        panel.draw_running(
            workspace, ("finetune",), "finetune_live", result.draw_running_job, result.LIVE_HEIGHT
        )
    runs = cache.load_runs(workspace)
    if runs:
        result.draw_headline_result(workspace, runs)

    # 2. The forms of new runs and new tasks.
    _draw_forms(workspace, is_first=not runs)


@st.fragment
def _draw_forms(workspace: Workspace, is_first: bool) -> None:
    """Draw the forms of new runs and new tasks; a setting reruns only this fragment."""
    # 1. The form of new runs, with their cost.
    draw_heading("Fine-tune models" if is_first else "Fine-tune more models")
    if not workspace.artifacts("tasks"):
        pickers.draw_empty_state(
            "There is no task in this workspace yet.",
            (
                "Fine-tuning needs labeled examples: download a benchmark or import your own files"
                " below, or choose a task's .toml by its path. Then select models and press Start."
            ),
        )
    with mistakes.show_errors():
        request = view.draw_form(workspace)
        if request:
            view.describe_task(request)
            view.draw_cost(workspace, request)
            view.draw_start_button(workspace, request)
    # 2. The forms of new tasks.
    with st.expander(
        "Add a task", icon=":material/add:", expanded=not workspace.artifacts("tasks")
    ):
        task_intake.draw_task_forms(workspace)
