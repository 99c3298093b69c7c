"""Pretraining: a model reads more text, stage by stage; the held-out loss as it falls, and the
gates of an exBERT.
"""

import streamlit as st

from vocadapt.lab.pretraining import pretrained_models
from vocadapt.ui import (
    choose,
    frame,
    gates_view,
    mistakes,
    pretraining_live,
    pretraining_result,
    pretraining_view,
)

workspace = frame.workspace()
st.title("Pretraining")
st.markdown(
    "Let a model read more text with masked words: only its :green[**extension**], only its rows,"
    " or all of it. What it gains shows in how well it guesses words of lines that it never read."
)
with st.container():
    pretraining_live.running(workspace)
made, corpora = pretrained_models(workspace), workspace.artefacts("corpora")
looked_at = pretraining_result.result(workspace, made) if made else None
if looked_at:
    pretraining_result.curves(made, looked_at)
with mistakes.shown():
    gates_view.gates(workspace, corpora, looked_at.name if looked_at else "")
if looked_at:
    pretraining_result.details(looked_at)

st.subheader("Pretrain a model" if not made else "Pretrain another")
if not corpora:
    choose.nothing_yet(
        "There is no text to pretrain on yet.",
        "Take in a text of your domain first. For an exBERT, adapt a model with a preset `exbert-…`"
        " before: then its stage *extension* is offered here.",
        "pages/words/vectors.py",
        "Take in a text",
    )
    st.stop()
with mistakes.shown():
    wanted = pretraining_view.form(workspace, corpora)
    if wanted:
        pretraining_view.cost(workspace, wanted, made)
        pretraining_view.start(workspace, wanted)
