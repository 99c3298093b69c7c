"""Page Tokenizer lens: the tokenizations of a text by several models, and statistics on a whole
corpus.
"""

import streamlit as st

from vocadapt.ui.components import glossary, pickers
from vocadapt.ui.frame import session
from vocadapt.ui.jobs import panel
from vocadapt.ui.lens import corpus, view

workspace = session.workspace()
st.title("Tokenizer lens")
st.markdown(
    "Models read :blue[**wordpieces**], not words. Compare how each model tokenizes a text,"
    " and which words a new vocabulary keeps whole."
)
glossary.offer_terms("added token", "fertility", "tokenization", "wordpiece")
panel.draw_job_panel(workspace, ["corpus"])

left, right = st.columns([1.7, 1], gap="large")
with right:
    models = view.choose_models(workspace, "lens_models")
with left:
    text = view.choose_text()
if not models:
    pickers.draw_empty_state(
        "There is no model to compare yet.",
        (
            "Add one under *Models*: a folder on this machine, a hub name that was used here"
            " before, or a `vocab.txt` file. Models that you adapt are listed automatically,"
            " before and after."
        ),
    )
    st.stop()

view.compare_tokenizations(models, text)
st.divider()
corpus.draw_corpus_statistics(workspace, models)
view.draw_details(workspace, models, text)
