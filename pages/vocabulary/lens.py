"""Tokenizer lens: one text, the cuts of several models under each other, and what that means on a
whole text.
"""

import streamlit as st

from vocadapt.ui.components import pickers
from vocadapt.ui.frame import frame
from vocadapt.ui.jobs import panel
from vocadapt.ui.lens import corpus, view

workspace = frame.workspace()
st.title("Tokenizer lens")
st.markdown(
    "A model reads no words: it reads :blue[**wordpieces**]. See how each model cuts a text, and"
    " which words a new vocabulary keeps whole."
)
panel.job_panel(workspace, ["corpus"])

left, right = st.columns([1.7, 1], gap="large")
with right:
    models = view.choose_models(workspace, "lens_models")
with left:
    text = view.ask_for_text()
if not models:
    pickers.nothing_yet(
        "There is no model to look through yet.",
        "Name one under *Models* (a folder on this machine, or a hub name that was used here"
        " before), or add a `vocab.txt`: a vocabulary is enough. Models that you adapt in this"
        " workspace stand there by themselves, before and after.",
    )
    st.stop()

view.cuts(models, text)
st.divider()
corpus.on_a_corpus(workspace, models)
view.details(workspace, models, text)
