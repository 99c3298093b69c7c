"""The part Vocabulary size: statistics and overlap of vocabularies, and the effect of reducing one."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.parts.lens import view as lens_view
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.parts.vocabulary import profiles
from vocadapt.ui.parts.vocabulary import view as vocabulary_view
from vocadapt.ui.state import count_cache


def draw(workspace: Workspace) -> None:
    """Draw the reduction of a vocabulary, and the comparison of vocabularies."""
    # 1. The models, and the text that the reduction is measured on.
    left, right = st.columns([2, 1], gap="large")
    with left:
        models = lens_view.choose_models(
            workspace, "vocabulary_models", vocabulary_view.choose_default_model
        )
    corpora = workspace.artifacts("corpora")
    with right:
        corpus = pickers.pick("Text", corpora, "vocabulary_corpus") if corpora else None
    if not models:
        pickers.draw_empty_state(
            "Select a model to compare.",
            (
                "Select one under *Models*, whose last option takes a folder on this machine or a hub"
                " name that was used here before, or add a `vocab.txt` file. The first one can be reduced; the"
                " others are compared with it."
            ),
        )
        return

    # 2. The reduction of the first model; it needs a text with word counts.
    reducer = None
    if corpus is None:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            "Import one to see how many more tokens it has as the vocabulary shrinks.",
            "text",
            "Import a text",
        )
    else:
        with mistakes.show_errors():
            reducer = count_cache.reducer_of(corpus, models[0].name, workspace.root)
            if reducer:
                vocabulary_view.draw_reduction(workspace, corpus, models[0], reducer)
            else:
                offer_counting(workspace, corpus, models[0].name)
    # 3. The comparison of vocabularies, which needs no text; it is computed when it is opened.
    comparison = st.expander(
        "Compare vocabularies: overlap, token length, frequency",
        icon=":material/compare_arrows:",
        key="vocabulary_compare",
        bind="query-params",
    )
    if comparison.open:
        with comparison, mistakes.show_errors():
            profiles.compare(workspace, models, corpus)
    if corpus and reducer:
        vocabulary_view.draw_details(corpus, models, reducer)
