"""The part Text: the size of a text, how a model tokenizes it, and the form that imports one."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_heading
from vocadapt.ui.parts.text import intake_form, view
from vocadapt.ui.parts.text.needed_size import describe_needed_text
from vocadapt.ui.state.pages import NextPart


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the selected text and how a model tokenizes it, and the form that imports one."""
    # 1. Without a text: its job while it runs, else the form, and a text to try.
    corpora = workspace.artifacts("corpora")
    if not corpora and pickers.has_living_job():
        return None
    if not corpora:
        st.markdown(
            "**There is no text in this workspace yet.** Import text from your field:"
            f" {describe_needed_text()}, so that new words get useful vectors."
        )
        model = pickers.pick_model(workspace, "text_model")
        intake_form.draw_text_form(workspace, model)
        intake_form.draw_news_offer(workspace, model)
        return None

    # 2. The selected text and model.
    left, right = st.columns(2, gap="large", vertical_alignment="top")
    with left:
        corpus = pickers.pick("Text", corpora, "text_corpus", newest=True)
    with right:
        model = pickers.pick_model(
            workspace, "text_model", default=pickers.model_behind(corpus, workspace)
        )
    pickers.draw_demo_note(model)
    pickers.warn_if_stale(corpus, workspace)
    view.draw_text(workspace, corpus, model)

    # 3. The form that imports another one.
    st.divider()
    draw_heading("Import another text")
    intake_form.draw_text_form(workspace, model)
    return None
