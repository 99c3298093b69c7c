"""Parts of the word vectors page: what the vectors in use are, what is near a word, how often words
occur.
"""

from typing import Any

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.neighbors.cross_space import resolve_word
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.components import export, keyword_in_context, markup, pickers, word_query
from vocadapt.ui.components.blocks import draw_figure, draw_metric, draw_table
from vocadapt.ui.components.number_formats import count, duration, fraction
from vocadapt.ui.frame import cache, mistakes

K = 10
SPEARMAN = (
    "Spearman's rank correlation of cosine and human score, over the pairs whose words both have a"
    " vector."
)


def headline(workspace: Workspace, found: list[Artifact]) -> Artifact:
    """The vectors in use, and their size and origin in figures."""
    columns = st.columns([1, 1, 1, 1.2, 1.8])
    with columns[4]:
        vectors = pickers.pick("Word vectors", found, "vectors_vectors", newest=True)
    numbers, settings = vectors.manifest.numbers, vectors.manifest.settings.get("word2vec")
    columns[0].metric("Words", count(numbers["words"]))
    columns[1].metric("Dimension", numbers["dim"])
    if settings:
        new = numbers["new_words"]
        share = f"{fraction(new / numbers['words'])} of all"
        draw_metric(columns[2], "New to the model", count(new), share)
        how = f"{settings['epochs']} epochs · seed {settings['seed']}"
        draw_metric(columns[3], "Trained in", duration(vectors.manifest.seconds), how)
    else:
        columns[2].metric(
            "Occurrences", count(numbers["occurrences"]) if "occurrences" in numbers else "–"
        )
        columns[3].metric("Imported in", duration(vectors.manifest.seconds))
        for note in numbers.get("notes", ()):
            st.text(note)
    pickers.stale_note(vectors, workspace)
    return vectors


@st.fragment
def near_words(vectors: Artifact, workspace: Workspace, model: str | None) -> None:
    """The similar-words probe, and the word's lines; its examples are words that the model splits,
    where there is one.
    """
    space, here = cache.space_of(vectors), _here(model)
    typed = word_query.ask_for_word(
        "vectors_word", "Type a word", word_query.examples_of(space, here), space
    )
    if typed:
        with mistakes.shown():
            word = resolve_word(typed, here.splitter, space) if here else typed
            listed = word_query.similar(space, word, K)
            note = f"cosine, {K} of {count(len(space))} words"
            markup.neighbor_cards([markup.Card(f"Nearest to {word}", note, "domain", listed)])
        keyword_in_context.of_vectors(typed, vectors, workspace, model if here else None)


def frequencies(space: EmbeddingSpace, min_count: int) -> None:
    """The frequency-rank plot, where the counts are known."""
    if space.counts is None:
        st.markdown("These vectors have no word counts.")
        return
    draw_figure(figures.plot_frequency_ranks(space.counts, min_count), "frequencies")


def word_table(space: EmbeddingSpace) -> None:
    """Every word with its count, most frequent first."""
    columns: dict[str, Any] = {"word": space.words}
    if space.counts is not None:
        columns["occurrences"] = space.counts
    draw_table(
        columns,
        height=330,
        key="words",
        column_config={"word": st.column_config.TextColumn()},
    )


def judgment(vectors: Artifact, space: EmbeddingSpace) -> None:
    """Compare with what people say of word pairs, when asked to."""
    if st.button("Compare with human judgment", key="evaluate", icon=":material/groups:"):
        st.session_state["evaluated"] = vectors.stamp
    if st.session_state.get("evaluated") == vectors.stamp:
        for column, (name, score) in zip(
            st.columns(2), cache.pair_scores(vectors).items(), strict=True
        ):
            note = f"{score.covered} of {score.of} pairs covered"
            draw_metric(column, name, fraction(score.spearman), note, help=SPEARMAN)


def details(vectors: Artifact, space: EmbeddingSpace) -> None:
    """Details & export, with the vectors themselves."""
    folder = vectors.folder
    export.details(
        vectors,
        {
            "vectors.safetensors": lambda: (folder / "vectors.safetensors").read_bytes(),
            "words.txt": lambda: (folder / "words.txt").read_bytes(),
        },
    )


def _here(model: str | None) -> LanguageModel | None:
    """A model, where it is on this machine."""
    try:
        return cache.model_of(model) if model else None
    except InputError:
        return None
