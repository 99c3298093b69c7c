"""Diagnostics: mean cosines within and between spaces, the shape of each, and where the words of a
relation lie.
"""

import streamlit as st

from vocadapt.ui.components import pickers
from vocadapt.ui.diagnostics import cached, relations, view
from vocadapt.ui.frame import frame, mistakes

workspace = frame.workspace()
st.title("Diagnostics")
st.markdown(
    "What does a cosine mean in these spaces? How near two tokens are on average, how evenly the"
    " rows fill the space, and where words of a relation lie."
)
spaces = view.choose_spaces(workspace)
if not spaces:
    pickers.nothing_yet(
        "There is no space to look at yet.",
        "Name one under *Spaces*: the folder of a model on this machine, or a hub name that was"
        " used here before. Word vectors and models that you make in this workspace are offered"
        " there by themselves.",
        "pages/words/vectors.py",
        "Make word vectors",
    )
    st.stop()

with mistakes.shown():
    tables = cached.tables(spaces)
    view.cosine_tables(spaces, tables)
    view.cards(spaces, tables)
    view.norms_against_frequency(spaces)
    file = relations.relations(workspace, spaces)
    files = relations.downloads(spaces, file)
    view.details(spaces, tables, relations.command(spaces, file), files)
