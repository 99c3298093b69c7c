"""The part Text: the texts of the workspace, and the form that imports one."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.text import view


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    # 1. The selected text.
    corpora = workspace.artifacts("corpora")
    corpus = None
    if corpora:
        corpus = pickers.pick("Text", corpora, "text_corpus", newest=True)
    else:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            "Import a few megabytes of text of your field below.",
        )
    # 2. The form that imports another one.
    st.subheader("Import another text" if corpora else "Import a text")
    behind = pickers.model_behind(corpus, workspace) if corpus else None
    model = pickers.pick_model(workspace, "text_model", default=behind)
    view.draw_text_form(workspace, model)
