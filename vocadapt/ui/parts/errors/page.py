"""The part Error analysis: the examples on which two runs disagree, and the tokens of the affected
words.
"""

from collections.abc import Sequence

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.parts.errors import comparable, filters, notes, view
from vocadapt.ui.parts.errors.comparable import Comparable


def draw(workspace: Workspace) -> None:
    """Draw the examples on which two runs disagree, and the form that imports predictions."""
    # 1. The two runs, and the entries on which they differ.
    pickers.warn_of_unreadable_runs(workspace)
    offered = comparable.list_comparable(workspace)
    if offered:
        _draw_comparison(workspace, offered)
    else:
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
    # 2. The form that imports predictions of other programs.
    with st.expander("Import predictions", icon=":material/add:", expanded=not offered):
        comparable.draw_import_form(workspace)


@st.fragment
@mistakes.show_errors()
def _draw_comparison(workspace: Workspace, offered: Sequence[Comparable]) -> None:
    """Draw the comparison of two runs; a click reruns only this fragment, not the page."""
    # 1. The runs, and the entries that the filters leave.
    chosen = view.choose_two(workspace, offered)
    if chosen is None:
        return
    found, slicing = chosen
    entries = filters.select_entries(found.compared, slicing)
    outcome = view.draw_headline(found, slicing, entries)
    # 2. The entries as cards, beside the slices and the notes.
    with st.container(key="va_stacked_errors"):
        left, right = st.columns([1.75, 1], gap="medium")
    with left:
        noted = notes.summarize_notes(workspace)
        shown = view.draw_cards(found, entries, outcome, noted)
    with right:
        view.draw_slices(found, slicing)
        view.draw_scores_by_tokenization(slicing)
        notes.draw_note_form(workspace, shown)
    # 3. The folded blocks.
    notes.draw_contexts(workspace, shown)
    notes.draw_details(workspace, found, slicing)
