"""Blocks of the part Lens: tokenizations of a whole text of the workspace, from its word
counts.
"""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.table import Table
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_downloads, draw_figure, draw_heading, draw_note
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.parts.lens.view import ModelEntry, build_tokenization_line
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.state import count_cache
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, percent
from vocadapt.vocabulary.lens import CHANGES, TokenizationFigures, build_figures_table

SHOWN = 500  # rows of the table of changed words


def draw_corpus_statistics(workspace: Workspace, models: Sequence[ModelEntry]) -> None:
    """Draw the figures of each model on a whole text, and the most changed words."""
    head, picker = st.columns([2, 1], vertical_alignment="bottom")
    draw_heading("On a corpus", head)
    corpora = workspace.artifacts("corpora")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            "Import one to see how often each model splits its words.",
            "text",
        )
        return
    with picker:
        corpus = pickers.pick("Text", corpora, "lens_corpus")
    with mistakes.show_errors():
        rows = {
            entry.name: count_cache.figures_of(corpus, entry.name, entry.label, workspace.root)
            for entry in models
        }
        counted = [row for row in rows.values() if row]
        if counted:
            _draw_table(counted)
            fractions = {row.model: row.shares() for row in counted}
            whole = [f"{row.model} {percent(row.one_piece)}" for row in counted]
            alt = f"Words by their number of wordpieces. Whole words: {', '.join(whole)}."
            draw_figure(
                figures.plot_wordpieces_per_word(fractions), "pieces", markup.escape_invisible(alt)
            )
        # Models with the same casing share the counts: after the first one, few need their own.
        uncounted = [entry.name for entry in models if not rows[entry.name]]
        if uncounted:
            offer_counting(workspace, corpus, uncounted[0])
        if len(counted) > 1:
            draw_changed_words(workspace, corpus, [entry for entry in models if rows[entry.name]])


@st.fragment
def draw_changed_words(
    workspace: Workspace, corpus: Artifact, models: Sequence[ModelEntry]
) -> None:
    """Draw the words that another model tokenizes differently from the first."""
    # 1. Choose the other model; the first one is always the reference.
    draw_heading("Most changed words")
    first = models[0]
    other = _pick_other(models)
    changed = count_cache.changes_of(corpus, first.model, other.model, workspace.root)
    if not changed:
        st.markdown(
            f"**{markup.plain(other.label)}** tokenizes every word of this text as"
            f" **{markup.plain(first.label)}** does."
        )
        return
    # 2. State how many words changed.
    shown = changed[:SHOWN]
    st.markdown(
        f"{count(len(shown))} of {count(len(changed))} words that **{markup.plain(other.label)}**"
        f" tokenizes differently from **{markup.plain(first.label)}**, ordered by the wordpieces"
        " saved in the whole text; all are in the CSV. Select a word to see its tokenizations."
    )
    # 3. List the first of them, with the tokenizations of the selected word.
    with st.container(key="va_stacked_changed"):
        table, chips = st.columns([1.25, 1], gap="large")
    with table:
        options = {"height": 330, "on_select": "rerun", "selection_mode": "single-row"}
        event = draw_report(Table("", CHANGES, shown), "changed", **options)
    selected = [row for row in event["selection"]["rows"] if row < len(shown)] or [0]
    with chips:
        word = shown[selected[0]].word
        markup.draw_tokenization_lines(
            [build_tokenization_line(entry, first, word) for entry in models]
        )
    draw_downloads({"changed-words.csv": lambda: write_csv([Table("", CHANGES, changed)])})


def _pick_other(models: Sequence[ModelEntry]) -> ModelEntry:
    """Draw the picker of the model to compare with the first, if there are several."""
    others = {entry.label: entry for entry in models[1:]}
    if len(others) == 1:
        return models[1]
    label = f"Compared with {markup.plain(models[0].label)}"
    return others[str(st.selectbox(label, list(others), key="lens_other"))]


def _draw_table(rows: Sequence[TokenizationFigures]) -> None:
    """Draw a table of tokenization figures, one row per model."""
    draw_report(build_figures_table(rows), "fertility")
    # Cased and uncased models count different numbers of words.
    sizes = dict.fromkeys(
        f"{count(row.words)} words, {count(row.distinct)} of them distinct" for row in rows
    )
    draw_note(" · ".join(sizes))
