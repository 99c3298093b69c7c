"""Adapt: the words that have a vector become tokens of the model, each with a row; out comes an ordinary model folder."""

import streamlit as st

from vocadapt.lab.steps import ModelStep, Spec
from vocadapt.lab.workspace import adapted_models
from vocadapt.ui import cache, choose, frame, job_panel, model_view, plan_view

workspace = frame.workspace()
st.title("Adapt")
st.markdown("Give the model your :green[**new words**]: each becomes one token with a row of its own. All else stays as it is.")
job_panel.job_panel(workspace, ["model"])

made = adapted_models(workspace)
if made:
    model_view.adapted(workspace, made)
    st.divider()

found = workspace.artefacts("vectors")
if not found:
    choose.nothing_yet(
        "There are no word vectors to make new words from yet.",
        "A new word gets its place in the model from its word vector: make some from a text of your domain first.",
        "pages/words/vectors.py", "Make word vectors",
    )  # fmt: skip
    st.stop()

st.subheader("Adapt a model" if not made else "Adapt another")
form, plan_side = st.columns([1, 1.7], gap="large")
with form:
    vectors = choose.pick("Word vectors", found, "vectors")
    name = choose.pick_model(workspace, default=choose.model_behind(vectors, workspace))
    model = cache.model_of(name)
    recipe = plan_view.recipe_form(vectors, name)
with plan_side:
    plan = cache.plan_of(vectors, name, recipe.vocabulary)
    plan_view.plan_figures(plan, model.dim)
    plan_view.added_words(plan)
    target = choose.name_for(workspace, "models", f"{choose.shown_model(name)}-{vectors.name}", "model_name")
    if st.button("Adapt the model", type="primary", icon=":material/library_add:", key="adapt"):
        inputs = {"model": (str(model.path),), "vectors": (str(vectors.folder),)}
        job_panel.start(workspace, Spec("model", ModelStep(recipe=recipe), inputs), target)
