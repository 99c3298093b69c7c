"""The part Pretraining: continued pretraining by stages, the held-out loss, and the gates of an exBERT."""

import streamlit as st

from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.reports.pretraining import list_pretrained_models
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_heading
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.parts.pretraining import result, view


def draw(workspace: Workspace) -> None:
    """Draw the loss curves and gates of a pretrained model, and the form of a new one."""
    # 1. The running job, and the selected result: its curves and gates.
    with st.container():
        panel.draw_running(
            workspace,
            "continue-pretraining",
            "pretraining_live",
            result.draw_running_job,
            result.LIVE_HEIGHT,
        )
    pretrained, corpora = list_pretrained_models(workspace), list_texts(workspace)
    selected = result.choose_result(workspace, pretrained) if pretrained else None
    if selected:
        names = pickers.list_display_names(workspace)
        result.draw_curves(pretrained, selected, names)
    with mistakes.show_errors():
        result.draw_gate_section(workspace, corpora, selected.name if selected else "")
    if selected:
        result.draw_details(selected)

    # 2. The form of a new one.
    draw_heading("Pretrain a model" if not pretrained else "Pretrain another")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text to pretrain on yet.",
            (
                "Import a text of your domain first. For an exBERT, first adapt a model with an"
                " exBERT preset: then the stage *extension* is available here."
            ),
            "text",
            "Import a text",
        )
        return
    _draw_form(workspace, corpora)


@st.fragment
def _draw_form(workspace: Workspace, corpora: list[Artifact]) -> None:
    """Draw the form of a new pretraining; a setting reruns only this fragment."""
    with mistakes.show_errors():
        request = view.draw_form(workspace, corpora)
        if request:
            wish, key = request.suggested_name, "start_pretraining"
            forms.draw_start(workspace, request.spec, wish, "Start", key, "pretrained_name")
