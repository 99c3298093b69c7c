"""Parts of the page Word vectors: the selected vectors, nearest neighbors, and word frequencies."""

from contextlib import suppress
from typing import Any

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.neighbors.cross_space import resolve_word
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.components import keyword_in_context, markup, pickers, word_query
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_figure,
    draw_metrics,
    draw_table,
)
from vocadapt.ui.components.number_formats import count, duration, fraction
from vocadapt.ui.frame import cache, mistakes

K = 10
SPEARMAN = (
    "Spearman's rank correlation of cosine and human score, over the pairs whose words both have a"
    " vector."
)


def draw_headline(workspace: Workspace, found: list[Artifact]) -> Artifact:
    """Show the picker of vectors, and the size and origin of the selected ones; return them."""
    columns = st.columns([1, 1, 1, 1.2, 1.8])
    with columns[4]:
        vectors = pickers.pick("Word vectors", found, "vectors_vectors", newest=True)
    numbers, settings = vectors.manifest.numbers, vectors.manifest.settings.get("word2vec")
    seconds = duration(vectors.manifest.seconds)
    metrics: list[tuple[str, ...]] = [
        ("Words", count(numbers["words"])),
        ("Dimension", str(numbers["dim"])),
    ]
    if settings:
        new = numbers["new_words"]
        how = f"{settings['epochs']} epochs · seed {settings['seed']}"
        metrics += [
            ("New to the model", count(new), f"{fraction(new / numbers['words'])} of all"),
            ("Trained in", seconds, how),
        ]
    else:
        occurrences = "–"
        if "occurrences" in numbers:
            occurrences = count(numbers["occurrences"])
        metrics += [("Occurrences", occurrences), ("Imported in", seconds)]
    draw_metrics(*metrics, places=columns[:4])
    for note in numbers.get("notes", ()):
        st.text(note)
    pickers.stale_note(vectors, workspace)
    return vectors


@st.fragment
def draw_near_words(vectors: Artifact, workspace: Workspace, model: str | None) -> None:
    """Draw the nearest neighbors of a word and its lines in the text; the examples are words that
    the model splits, if there is one.
    """
    space, here = cache.space_of(vectors), None
    with suppress(InputError):  # the model may not be on this machine
        here = cache.model_of(model) if model else None
    typed = word_query.ask_for_word(
        "vectors_word", "Type a word", word_query.examples_of(space, here), space
    )
    if typed:
        with mistakes.show_errors():
            word = resolve_word(typed, here.splitter, space) if here else typed
            listed = word_query.similar(space, word, K)
            note = f"cosine, {K} of {count(len(space))} words"
            markup.draw_neighbor_cards([markup.Card(f"Nearest to {word}", note, "domain", listed)])
        keyword_in_context.draw_lines_of_vectors(typed, vectors, workspace, model if here else None)


def draw_frequencies(space: EmbeddingSpace, min_count: int) -> None:
    """Draw the frequency-rank plot, if the counts are known."""
    if space.counts is None:
        st.markdown("These vectors have no word counts.")
        return
    draw_figure(figures.plot_frequency_ranks(space.counts, min_count), "frequencies")


def draw_word_table(space: EmbeddingSpace) -> None:
    """Draw the table of all words with their counts, most frequent first."""
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
    """Draw, on click, the agreement of the vectors with human judgments of word pairs."""
    if st.button("Compare with human judgment", key="evaluate", icon=":material/groups:"):
        st.session_state["evaluated"] = vectors.stamp
    if st.session_state.get("evaluated") == vectors.stamp:
        scores = cache.pair_scores(vectors)
        metrics = [
            (
                name,
                fraction(score.spearman),
                f"{score.covered} of {score.of} pairs covered",
                SPEARMAN,
            )
            for name, score in scores.items()
        ]
        draw_metrics(*metrics, places=st.columns(2))


def draw_details(vectors: Artifact, space: EmbeddingSpace) -> None:
    """Draw the folded block, with downloads of the vectors."""
    folder = vectors.folder
    draw_artifact_details(
        vectors,
        {
            "vectors.safetensors": lambda: (folder / "vectors.safetensors").read_bytes(),
            "words.txt": lambda: (folder / "words.txt").read_bytes(),
        },
    )
