"""The part Word vectors: the neighbors and frequencies of words, and the forms that make vectors."""

import streamlit as st

from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_heading, draw_link
from vocadapt.ui.parts.text.needed_size import describe_needed_text
from vocadapt.ui.parts.vectors import view
from vocadapt.ui.state import cache


def draw(workspace: Workspace) -> None:
    """Draw the selected word vectors, and the forms that train or import others."""
    # 1. The selected vectors: their words and frequencies.
    found, corpora = workspace.artifacts("vectors"), list_texts(workspace)
    if found:
        vectors = view.draw_headline(workspace, found)
        space = cache.space_of(vectors)
        left, right = st.columns([1, 1], gap="large")
        with left:
            draw_heading("Nearest words")
            view.draw_nearest_words(vectors, workspace, pickers.model_behind(vectors, workspace))
        with right:
            draw_heading("Word frequencies")
            view.draw_frequencies(
                space, vectors.manifest.settings.get("word2vec", {}).get("min_count", 0)
            )
            view.draw_judgment(vectors)
    else:
        way = f"Import a text of your domain, {describe_needed_text()}, then train on it"
        if corpora:
            way = "Train them on your text"
        pickers.draw_empty_state(
            "There are no word vectors in this workspace yet.",
            f"{way}. More text gives better vectors.",
        )

    # 2. New vectors: import a text, train on it, or import vectors.
    if not found:
        draw_heading("Make word vectors")
    place = st.container()
    if found:
        # Open if there is a text to train on.
        place = st.expander(
            "Make more word vectors",
            expanded=view.has_new_text(found, corpora, workspace),
            icon=":material/add:",
        )
    with place:
        _draw_forms(workspace, corpora)

    if found:
        # 3. All words, and the details of the selected vectors.
        with st.expander("All words", icon=":material/table_rows:"):
            view.draw_word_table(space)
        view.draw_details(vectors)


@st.fragment
def _draw_forms(workspace: Workspace, corpora: list[Artifact]) -> None:
    """Draw the forms that train on a text and that import vectors; a setting reruns only this
    fragment.
    """
    with mistakes.show_errors():
        model = pickers.pick_model(workspace, "vectors_model")
        train, ready = st.tabs(["Train on a text", "Import existing vectors"])
        with train:
            if corpora:
                view.draw_training_form(workspace, model, corpora)
            else:
                draw_link("text", "Import a text first")
        with ready:
            view.draw_vectors_form(workspace, model, corpora)
