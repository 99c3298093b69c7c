"""Neighbourhood change: which words have other neighbours in one space than in another, and whether
luck explains it.
"""

import streamlit as st

from vocadapt.ui import change_view, choose, contextual_view, frame, job_panel, mistakes, null_view

workspace = frame.workspace()
st.title("Neighbourhood change")
st.markdown(
    "Which words have :violet[**other neighbours**] in one space than in another: before and after"
    " adapting or fine-tuning, in two models, in two texts? Told in the original spaces, and held"
    " against what luck does."
)
job_panel.job_panel(workspace, ["vectors", "contextual"])

spaces, asked = st.columns([5, 6], gap="medium")
with spaces, st.container(horizontal=True):
    before = choose.pick_space(workspace, "Before", "change_before")
    after = choose.pick_space(workspace, "After", "change_after", default=1)
with asked:
    settings = change_view.ask()
if not (before and after):
    choose.nothing_yet(
        "There are no two spaces to compare yet.",
        "Make word vectors or adapt a model, or name any two models above: a folder on this"
        " machine, or a hub name that was used here before.",
        "pages/words/vectors.py",
        "Make word vectors",
    )
else:
    with mistakes.shown():
        null = null_view.choose_null(workspace, before, after, settings)
        found = change_view.compared(before, after, settings, null.pair, null.about)
        if found:
            choose.crowded_note(before, after)
            change_view.headline(*found)
            change_view.pictures_and_list(workspace, *found)
            change_view.details(*found, before, after, null.pair)
contextual_view.form(workspace)
