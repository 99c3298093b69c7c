"""Pretraining: a model reads more text, stage by stage; the held-out loss as it falls, and the
gates of an exBERT.
"""

import streamlit as st

from vocadapt.lab.reports.pretraining import list_pretrained_models
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import frame, mistakes
from vocadapt.ui.pretraining import gates, live, result, view

workspace = frame.workspace()
st.title("Pretraining")
st.markdown(
    "Let a model read more text with masked words: only its :green[**extension**], only its rows,"
    " or all of it. What it gains shows in how well it guesses words of lines that it never read."
)
with st.container():
    live.running(workspace)
made, corpora = list_pretrained_models(workspace), workspace.artifacts("corpora")
looked_at = result.result(workspace, made) if made else None
if looked_at:
    result.curves(made, looked_at)
with mistakes.shown():
    gates.gates(workspace, corpora, looked_at.name if looked_at else "")
if looked_at:
    result.details(looked_at)

st.subheader("Pretrain a model" if not made else "Pretrain another")
if not corpora:
    pickers.nothing_yet(
        "There is no text to pretrain on yet.",
        "Take in a text of your domain first. For an exBERT, adapt a model with a preset `exbert-…`"
        " before: then its stage *extension* is offered here.",
        "pages/words/vectors.py",
        "Take in a text",
    )
    st.stop()
with mistakes.shown():
    wanted = view.form(workspace, corpora)
    if wanted:
        view.cost(workspace, wanted, made)
        view.start(workspace, wanted)
