"""Blocks of the part Lens: tokenizations of a whole text of the workspace, from its word
counts.
"""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.text.spreadsheet import format_csv
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_figure, draw_heading, draw_note, draw_table
from vocadapt.ui.parts.lens.view import ModelEntry, build_tokenization_line
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.state import count_cache
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, percent, signed
from vocadapt.vocabulary.lens import Change, TokenizationFigures

SHOWN = 500  # rows of the table of changed words


def draw_corpus_statistics(workspace: Workspace, models: Sequence[ModelEntry]) -> None:
    """Draw the figures of each model on a whole text of the workspace, and the most changed words."""
    head, picker = st.columns([2, 1], vertical_alignment="bottom")
    draw_heading("On a corpus", head)
    corpora = workspace.artifacts("corpora")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            "Import one to see how often each model splits its words.",
            "text",
            "Import a text",
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
    """Draw the words that another model tokenizes differently from the first, and the tokenizations
    of the selected word.
    """
    # 1. Choose the other model; the first one is always the reference.
    others = {entry.label: entry for entry in models[1:]}
    draw_heading("Most changed words")
    label = next(iter(others))
    if len(others) > 1:
        label = str(
            st.selectbox(
                f"Compared with {markup.plain(models[0].label)}", list(others), key="lens_other"
            )
        )
    first, other = models[0], others[label]
    changed = count_cache.changes_of(corpus, first.model, other.model, workspace.root)
    if not changed:
        st.markdown(
            f"**{markup.plain(other.label)}** tokenizes every word of this text as"
            f" **{markup.plain(first.label)}** does."
        )
        return
    # 2. State how many words changed.
    shown = changed[:SHOWN]
    listed = f"{count(len(shown))} of {count(len(changed))} words"
    if len(shown) < len(changed):
        listed += " (all in the CSV)"
    st.markdown(
        f"{listed} that **{markup.plain(other.label)}** tokenizes differently from"
        f" **{markup.plain(first.label)}**, ordered by the wordpieces saved in the whole text. Select"
        " a word to see its tokenizations."
    )
    # 3. List the first of them, with the tokenizations of the selected word.
    with st.container(key="va_stacked_changed"):
        table, chips = st.columns([1.25, 1], gap="large")
    with table:
        selected = select_rows(shown) or [0]
    with chips:
        word = shown[selected[0]].word
        markup.draw_tokenization_lines(
            [build_tokenization_line(entry, first, word) for entry in models]
        )
    st.download_button(
        "changed-words.csv",
        lambda: format_changes_csv(changed),
        "changed-words.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
        key="get_changed",
    )


def select_rows(changed: Sequence[Change]) -> list[int]:
    """Draw changed words as a table; return the rows selected in it."""
    event = draw_table(
        {
            "word": [change.word for change in changed],
            "occurrences": [change.count for change in changed],
            "before": [" ".join(change.before) for change in changed],
            "after": [" ".join(change.after) for change in changed],
            "wordpieces saved": [change.saved for change in changed],
        },
        height=330,
        key="changed",
        on_select="rerun",
        selection_mode="single-row",
        column_config={name: st.column_config.TextColumn() for name in ("word", "before", "after")},
    )
    return [row for row in event["selection"]["rows"] if row < len(changed)]


def format_changes_csv(changed: Sequence[Change]) -> str:
    """Format every changed word with its count, its two tokenizations and the tokens saved as CSV."""
    lines = [(c.word, c.count, " ".join(c.before), " ".join(c.after), c.saved) for c in changed]
    return format_csv([("word", "count", "before", "after", "saved"), *lines])


def _draw_table(rows: Sequence[TokenizationFigures]) -> None:
    """Draw a table of tokenization figures, one row per model."""
    first = rows[0]
    differences = ["", *(signed(row.fertility - first.fertility) for row in rows[1:])]
    draw_table(
        {
            "model": [row.model for row in rows],
            "wordpieces per word": [round(row.fertility, 3) for row in rows],
            "vs. the first": differences,
            "per distinct word": [round(row.fertility_distinct, 3) for row in rows],
            "whole words": [100 * row.one_piece for row in rows],
            "unknown": [percent(row.unknown) for row in rows],
        },
        key="fertility",
        column_config={
            "model": st.column_config.TextColumn(),
            **{
                name: st.column_config.NumberColumn(format="%.3f")
                for name in ("wordpieces per word", "per distinct word")
            },
            "whole words": st.column_config.ProgressColumn(
                format="%.1f %%", min_value=0, max_value=100, width="small"
            ),
            "vs. the first": st.column_config.TextColumn(alignment="right"),
            "unknown": st.column_config.TextColumn(width="small", alignment="right"),
        },
    )
    # Cased and uncased models count different numbers of words.
    sizes = dict.fromkeys(
        f"{count(row.words)} words, {count(row.distinct)} of them distinct" for row in rows
    )
    draw_note(" · ".join(sizes))
