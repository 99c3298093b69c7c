"""The part Advise: recommend whether and how to extend the vocabulary for a text, from word counts
alone.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.advise import view
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import count_cache


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    corpora = workspace.artifacts("corpora")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            (
                "Import a text of your domain and choose a model: the advice is based on how the"
                " model tokenizes its words. Nothing is trained."
            ),
            "text",
            "Import a text",
        )
        return

    # 1. Text, model, and an optional task.
    left, middle, right = st.columns([1, 1, 0.6], gap="large", vertical_alignment="bottom")
    with left:
        corpus = pickers.pick("Text", corpora, "advise_corpus")
    with middle:
        model = pickers.pick_model(
            workspace, "advise_model", default=pickers.model_behind(corpus, workspace)
        )
    with right:
        task = view.pick_task(workspace)
    pickers.warn_if_stale(corpus, workspace)

    # 2. The advice; if the text has no word counts, a button counts its words.
    report = count_cache.advice_of(corpus, model, workspace.root, task)
    if report is None:
        if view.offer_to_count(corpus, model):
            view.count_now(corpus, model, workspace)
        return

    # 3. The verdict, the figures behind it, and recipes.
    view.draw_verdict(report)
    view.draw_headline(report)
    chart, words = st.columns(2, gap="large")
    with chart:
        view.draw_length_chart(report)
    with words:
        view.draw_split_words(report)
    if report.advice.recipes:
        view.draw_recipes(report, corpus, workspace, model)
    view.draw_gains(report)
    view.draw_details(report, corpus, model, task)
