"""The part Home: introduction, state of the workspace, and next steps."""

import streamlit as st

from vocadapt.lab.demo import is_demo_installed
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.home import view


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    view.draw_strip(workspace)
    recent = view.list_recent(workspace)
    if recent:
        st.subheader("Recent")
        st.dataframe(recent, hide_index=True, width="stretch")
        if is_demo_installed() and not workspace.artifacts("corpora"):
            st.subheader("Add a text")
            view.draw_cards(workspace, view.TEXT_CARDS)
    else:
        view.draw_ways_to_begin(workspace)
    st.markdown(
        f":small[:gray[The workspace is the folder `{workspace.root}`. Your data does not leave this"
        " machine.]]"
    )
