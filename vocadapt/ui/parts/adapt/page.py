"""The part Model: adapt the vocabulary of a model by a recipe, to a standard model folder."""

import streamlit as st

from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import draw_heading, draw_note
from vocadapt.ui.jobs import forms
from vocadapt.ui.parts.adapt import form, model, plan
from vocadapt.ui.state.pages import NextPart


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the adapted models, and the form of a new one with its plan."""
    # 1. The adapted models of the workspace.
    adapted = list_adapted_models(workspace)
    if adapted:
        with mistakes.show_errors():  # a damaged one does not stop the form
            model.draw_adapted_model(workspace, adapted)
        st.divider()

    # 2. A new one.
    draw_heading("Adapt a model" if not adapted else "Adapt another")
    _draw_form(workspace)

    # 3. Without an adapted model there is nothing to try yet.
    if not adapted and not workspace.artifacts("vectors"):
        return NextPart("vectors", "Make vectors of the words of your text first.")
    return None


@st.fragment
def _draw_form(workspace: Workspace) -> None:
    """Draw the recipe on the left, its plan and costs on the right; a setting reruns only this
    fragment.
    """
    with st.container(key="va_stacked_form"):
        form_side, plan_side = st.columns([1, 1.4], gap="large")
    chosen = None
    # Errors are shown below the inputs that they are about.
    with form_side, mistakes.show_errors():
        chosen = form.draw_recipe_form(workspace)
    if chosen is None:
        return
    with mistakes.show_errors():
        with plan_side:
            plan.draw_plan(workspace, chosen)
        # Not reached if there is no plan.
        with form_side, mistakes.show_errors():
            if chosen.advice is not None and chosen.advice.verdict == "keep":
                draw_note("The advice for this text is not to change the vocabulary.")
            spec = Spec(AdaptStep(recipe=chosen.recipe), chosen.inputs)
            wish = chosen.suggested_name
            forms.draw_start(workspace, spec, wish, "Adapt the model", "adapt", "model_name")
