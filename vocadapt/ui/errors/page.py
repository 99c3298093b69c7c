"""The part Error analysis: the examples on which two runs disagree, and the tokens of the affected
words.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.errors import comparable, filters, notes, view
from vocadapt.ui.frame import mistakes


def draw(workspace: Workspace) -> None:
    """Draw the examples on which two runs disagree, and the form that imports predictions."""
    # 1. The two runs, and the entries on which they differ.
    pickers.warn_of_unreadable_runs(workspace)
    offered = comparable.list_comparable(workspace)
    if not offered:
        pickers.draw_empty_state(
            "There is no run with predictions in this workspace yet.",
            (
                "Fine-tune a model on a task with a test file. For an adapted model one run is"
                " enough: its tokenizations are compared. Or import predictions of other programs"
                " below."
            ),
            "finetune",
            "Fine-tune a model",
        )
    else:
        with mistakes.show_errors():
            chosen = view.choose_two(workspace, offered)
            if chosen is not None:
                found, slicing = chosen
                entries = filters.select_entries(found.compared, slicing)
                outcome = view.draw_headline(found, slicing, entries)
                with st.container(key="va_stacked_errors"):
                    left, right = st.columns([1.75, 1], gap="medium")
                with left:
                    noted = notes.summarize_notes(workspace)
                    shown = view.draw_cards(found, entries, outcome, noted)
                with right:
                    view.draw_slices(found, slicing)
                    view.draw_scores_by_tokenization(slicing)
                    notes.draw_note_form(workspace, shown)
                notes.draw_contexts(workspace, shown)
                notes.draw_details(workspace, found, slicing)
    # 2. The form that imports predictions of other programs.
    with (
        st.expander("Import predictions", icon=":material/add:", expanded=not offered),
        mistakes.show_errors(),
    ):
        comparable.draw_import_form(workspace)
