"""The part Lens: compare how several models tokenize a typed text and a whole corpus."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.example_texts import draw_text
from vocadapt.ui.parts.lens import corpus, view
from vocadapt.ui.parts.lens.demo_card import draw_demo_card


def draw(workspace: Workspace) -> None:
    """Draw the tokens of a typed text under each model, and statistics on a corpus."""
    draw_demo_card(workspace)

    # 1. The models, and a text.
    left, right = st.columns([1.7, 1], gap="large")
    with right:
        models = view.choose_models(workspace, "lens_models", view.choose_adapted_and_original)
    with left:
        examples = view.list_examples(workspace, models)
        text = draw_text(
            "Text",
            view.KEY,
            next(iter(examples.values())),
            examples,
            height=110,
            placeholder="Type a text, or click an example.",
        )
    if not models:
        pickers.draw_empty_state(
            "Select a model to compare.",
            (
                "Select one under *Models*, whose last option takes a folder on this machine or a"
                " hub name that was used here before, or add a `vocab.txt` file. Models that you"
                " adapt are listed automatically, before and after."
            ),
        )
        return

    # 2. The tokens of this text, then statistics on a whole corpus.
    view.compare_tokenizations(models, text)
    st.divider()
    corpus.draw_corpus_statistics(workspace, models)
    view.draw_details(workspace, models, text)
