"""Initialisers: which rows new tokens start from, compared before any training, and one token under each of them."""

import streamlit as st

from vocadapt.ui import cache, choose, frame, initialisers_view

workspace = frame.workspace()
st.title("Initialisers")
st.markdown("Choose the rows that :green[**new tokens**] start from: each initialiser judged on rows you know, before training.")

targets = initialisers_view.targets(workspace)
if not targets:
    choose.nothing_yet(
        "There is nothing to transfer rows from yet.",
        "Initialisers need a language model and a target: word vectors of your domain, or a model of this workspace.",
        "pages/words/vectors.py", "Make word vectors",
    )  # fmt: skip
    st.stop()

with st.container(horizontal=True):
    shown = st.selectbox("Target", list(targets), key="target", bind="query-params")
    target = targets.get(str(shown)) or next(iter(targets.values()))
    name = choose.pick_model(workspace, default=choose.model_behind(target, workspace))
model = cache.model_of(name)
choose.stale_note(target, workspace)
key, materials = initialisers_view.materials_of(name, target)
initialisers_view.headline(materials)
initialisers_view.token_inspector(key, materials)
role = "--target" if materials.target is not None else "--vectors"
command = ["python", "-m", "vocadapt", "initialisers", "--model", str(model.path), role, str(target.folder)]
initialisers_view.leaderboard(key, materials, command)
