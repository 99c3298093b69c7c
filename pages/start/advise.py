"""Advise: from word counts alone, is a new vocabulary worth a run on this text, and which."""

import streamlit as st

from vocadapt.ui import advise_view, choose, count_cache, frame

workspace = frame.workspace()
st.title("Advise")
st.markdown(
    "What to do with your text: whether :green[**new words**] are worth a run, which ones, and why,"
    " from counts alone."
)

corpora = workspace.artefacts("corpora")
if not corpora:
    choose.nothing_yet(
        "There is no text in this workspace yet.",
        "Take in a text of your domain and choose a model: the advice looks at how the model cuts"
        " its words. Nothing is trained.",
        "pages/words/vectors.py",
        "Take in a text",
    )
    st.stop()

left, middle, right = st.columns([1, 1, 0.6], gap="large", vertical_alignment="bottom")
with left:
    corpus = choose.pick("Text", corpora, "advise_corpus")
with middle:
    model = choose.pick_model(
        workspace, "advise_model", default=choose.model_behind(corpus, workspace)
    )
with right:
    task = advise_view.pick_task(workspace)
choose.stale_note(corpus, workspace)

asked = count_cache.advice_of(corpus, model, workspace.root, task)
if asked is None:
    if advise_view.not_counted(corpus, model):
        advise_view.count_now(corpus, model, workspace)
    st.stop()

advise_view.verdict(asked)
advise_view.headline(asked)
chart, words = st.columns(2, gap="large")
with chart:
    advise_view.pieces_chart(asked)
with words:
    advise_view.most_cut(asked)
if asked.advice.recipes:
    advise_view.recipes(asked, corpus, workspace, model)
advise_view.gains(asked)
advise_view.details(asked, corpus, model, task)
