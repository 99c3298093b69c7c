"""The part Adapt: adapt the vocabulary of a model by a recipe; the result is a standard model folder."""

import streamlit as st

from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.ui.adapt import model, plan
from vocadapt.ui.components import pickers
from vocadapt.ui.jobs import panel


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    # 1. The adapted models of the workspace.
    adapted = list_adapted_models(workspace)
    if adapted:
        model.draw_adapted_model(workspace, adapted)
        st.divider()

    # 2. A new one: the recipe on the left, its plan and costs on the right.
    st.subheader("Adapt a model" if not adapted else "Adapt another")
    form, plan_side = st.columns([1, 1.7], gap="large")
    with form:
        chosen = plan.draw_recipe_form(workspace)
    with plan_side:
        if chosen is None:
            return
        plan.draw_plan(workspace, chosen)
        target = pickers.draw_name_input(workspace, "models", chosen.suggested_name, "model_name")
        if st.button("Adapt the model", type="primary", icon=":material/library_add:", key="adapt"):
            panel.start(
                workspace, Spec("model", ModelStep(recipe=chosen.recipe), chosen.inputs), target
            )
