"""Diagnostics: mean cosines within and between spaces, the shape of each, and where the words of a
relation lie.
"""

import streamlit as st

from vocadapt.ui import choose, diagnosed, diagnostics_view, frame, mistakes, relations_view

workspace = frame.workspace()
st.title("Diagnostics")
st.markdown(
    "What does a cosine mean in these spaces? How near two tokens are on average, how evenly the"
    " rows fill the space, and where words of a relation lie."
)
spaces = diagnostics_view.choose_spaces(workspace)
if not spaces:
    choose.nothing_yet(
        "There is no space to look at yet.",
        "Name one under *Spaces*: the folder of a model on this machine, or a hub name that was"
        " used here before. Word vectors and models that you make in this workspace are offered"
        " there by themselves.",
        "pages/words/vectors.py",
        "Make word vectors",
    )
    st.stop()

with mistakes.shown():
    tables = diagnosed.tables(spaces)
    diagnostics_view.cosine_tables(spaces, tables)
    diagnostics_view.cards(spaces, tables)
    diagnostics_view.norms_against_frequency(spaces)
    file = relations_view.relations(workspace, spaces)
    files = relations_view.downloads(spaces, file)
    diagnostics_view.details(spaces, tables, relations_view.command(spaces, file), files)
