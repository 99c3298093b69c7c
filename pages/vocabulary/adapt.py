"""Adapt: a model gets another vocabulary by a recipe; out comes an ordinary model folder."""

import streamlit as st

from vocadapt.lab.spec import ModelStep, Spec
from vocadapt.lab.workspace import adapted_models
from vocadapt.ui import choose, frame, job_panel, model_view, plan_view

workspace = frame.workspace()
st.title("Adapt")
st.markdown(
    "Change what a model's vocabulary holds: :green[**new tokens**] come in, each with a row of its"
    " own, others go. A certificate proves that all else is as it was."
)
job_panel.job_panel(workspace, ["model"])

made = adapted_models(workspace)
if made:
    model_view.adapted(workspace, made)
    st.divider()

st.subheader("Adapt a model" if not made else "Adapt another")
form, plan_side = st.columns([1, 1.7], gap="large")
with form:
    chosen = plan_view.recipe_form(workspace)
with plan_side:
    if chosen is None:
        st.stop()
    plan_view.plan(workspace, chosen)
    plan_view.training_cost(workspace, chosen)
    target = choose.name_for(workspace, "models", chosen.wish, "model_name")
    if st.button("Adapt the model", type="primary", icon=":material/library_add:", key="adapt"):
        job_panel.start(
            workspace, Spec("model", ModelStep(recipe=chosen.recipe), chosen.inputs), target
        )
