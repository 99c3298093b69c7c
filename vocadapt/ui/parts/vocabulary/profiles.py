"""Blocks of the part Vocabulary size: comparison by overlap, token length, and frequency by id."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components.blocks import draw_figure, draw_note
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.parts.lens.view import ModelEntry
from vocadapt.ui.state import count_cache
from vocadapt.ui.text.markup import escape_invisible, plain
from vocadapt.ui.text.number_formats import count
from vocadapt.vocabulary.overlap import VocabularyComparison, compare_vocabularies

MAX_PANELS = 4  # per row
MAX_TITLE_LENGTH = 28  # characters of a panel's title
MAX_TEXTS = 3  # rows of the grid
KEPT_FRACTIONS = (0.25, 0.5, 0.75)  # of the vocabulary, marked for a reduction by `last`
MAX_LISTED = 12  # number of unreachable tokens listed


def compare(workspace: Workspace, models: Sequence[ModelEntry], corpus: Artifact | None) -> None:
    """Draw the overlap of vocabularies, their statistics, and charts."""
    vocabularies = [entry.model.vocabulary for entry in models]
    profiles = [count_cache.profile_of(entry.model) for entry in models]
    compared = compare_vocabularies([entry.label for entry in models], vocabularies, profiles)
    _draw_statistics(compared)
    left = st.container()
    right = st.container()
    if len(models) < 3:
        left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Token length**, in characters")
        drawn = {one.model: one.lengths for one in compared.vocabularies}
        if len(models) > 1:
            drawn["in common"] = compared.lengths_common
        most = [
            f"{label} {max(lengths, key=lambda length: lengths[length], default=0)}"
            for label, lengths in drawn.items()
        ]
        alt = f"Distribution of the lengths of tokens. Most frequent length: {', '.join(most)}."
        draw_figure(figures.plot_length_distribution(drawn), "lengths", escape_invisible(alt))
    with right:
        st.markdown("**Token length by id**, one dot per token")
        panels = []
        for entry in models[:MAX_PANELS]:
            lengths = entry.model.vocabulary.lengths
            unmarked = np.zeros(len(lengths), dtype=bool)
            panels.append(figures.Dots(_shorten_label(entry.label), lengths, unmarked))
        figure = figures.plot_against_id(panels, "characters, without marks")
        alt = f"Length of each token by its id, in {', '.join(one.title for one in panels)}."
        draw_figure(figure, "length_by_id", escape_invisible(alt))
    if corpus is not None:
        _draw_frequencies(workspace, models[:MAX_PANELS], _choose_texts(workspace, corpus))
    if len(models) > MAX_PANELS:
        draw_note(f"By id: the first {MAX_PANELS} of {count(len(models))} models.")


def _draw_statistics(compared: VocabularyComparison) -> None:
    """Draw the overlap of vocabularies and their figures, with notes on single characters and
    unreachable tokens.
    """
    # 1. The overlap of several vocabularies, and the figures of each.
    if len(compared.vocabularies) > 1:
        draw_report(compared.build_overlap_table(), "overlap")
        shared = count(compared.word_start_common)
        draw_note(f"{shared} single characters are tokens in all of these vocabularies.")
    else:
        st.markdown("Select a second model above to compare vocabularies.")
    draw_report(compared.build_figures_table(), "profiles")
    # 2. The tokens that the tokenizer never produces.
    for one in compared.vocabularies:
        found = one.unreachable
        n_others = found.tokens - found.unused
        if n_others:
            listed = ": " + " ".join(plain(token) for token in found.first[:MAX_LISTED])
            if n_others > MAX_LISTED:
                listed = f", {MAX_LISTED} of them{listed}"
            draw_note(
                f"{plain(one.model)}: the tokenizer never produces {count(found.unused)}"
                f" placeholders and {count(n_others)} other tokens{listed}"
            )


def _shorten_label(label: str) -> str:
    """Shorten a label for the title of a panel: keep the end, which distinguishes models."""
    if len(label) <= MAX_TITLE_LENGTH:
        return label
    return f"…{label[1 - MAX_TITLE_LENGTH :]}"


def _choose_texts(workspace: Workspace, corpus: Artifact) -> list[Artifact]:
    """Show the picker of more texts; return the text of the page and the selected ones."""
    others = {one.name: one for one in workspace.artifacts("corpora") if one.name != corpus.name}
    st.markdown(
        "**Token frequency by id** in each text: ids follow the order of training. Marked:"
        " the half of the tokens that *longest* removes."
    )
    if not others:
        return [corpus]
    chosen = st.multiselect(
        "More texts",
        list(others),
        key="vocabulary_texts",
        bind="query-params",
        max_selections=MAX_TEXTS - 1,
    )
    return [corpus, *(others[name] for name in chosen if name in others)]


def _draw_frequencies(
    workspace: Workspace, models: Sequence[ModelEntry], corpora: Sequence[Artifact]
) -> None:
    """Draw the frequency of each token in each text, one row per text and one column per model, or
    name the texts without counts.
    """
    found = {
        (corpus.name, entry.label): count_cache.reducer_of(corpus, entry.name, workspace.root)
        for corpus in corpora
        for entry in models
    }
    # The grid is drawn only if every text has counts for every model.
    if all(found.values()):
        # One figure has a panel for each text and model.
        marks = {entry.label: count_cache.longest_half(entry.model) for entry in models}
        panels = []
        for (name, label), reducer in found.items():
            assert reducer is not None
            tokens = count(int(reducer.token_counts.sum()))
            title = f"{_shorten_label(label)} · {_shorten_label(name)}\n{tokens} wordpieces"
            limits = [round(kept * len(reducer.vocabulary)) for kept in KEPT_FRACTIONS]
            panels.append(figures.Dots(title, reducer.token_counts, marks[label], limits))
        figure = figures.plot_against_id(
            panels, "occurrences", logarithmic=True, across=len(models)
        )
        names = [one.title.replace("\n", ": ") for one in panels]
        alt = f"Occurrences of each token by its id. {'; '.join(names)}."
        draw_figure(figure, "frequencies_by_id", escape_invisible(alt))
        draw_note(
            "Tokens that never occur are not drawn. Dotted lines: the limit of *last* if 25, 50 or"
            " 75 % are kept. Crosses: tokens that *longest* removes at 50 %."
        )
    for (name, label), reducer in found.items():
        if not reducer:
            st.markdown(f"**{plain(name)}** has no word counts for **{plain(label)}** yet.")
