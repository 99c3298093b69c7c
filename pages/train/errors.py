"""Error analysis: where two runs disagree on the same examples, and how the words they disagree on
were cut.
"""

import streamlit as st

from vocadapt.ui import choose, comparable, error_notes, errors_view, frame, job_panel, mistakes

workspace = frame.workspace()
st.title("Error analysis")
st.markdown(
    "Where two runs disagree on the same examples, and how the words they disagree on were cut."
)
job_panel.job_panel(workspace, ["finetune"])

choose.passed_over(workspace)
there = comparable.of_workspace(workspace)
if not there:
    choose.nothing_yet(
        "There is no run with predictions in this workspace yet.",
        "Fine-tune a model on a task with a test file; of an adapted model, one run is enough: its"
        " cuts are compared. Or bring in the predictions of other programs, below.",
        "pages/train/finetune.py",
        "Fine-tune a model",
    )
else:
    with mistakes.shown():
        found = errors_view.choose_two(there)
        if found is not None:
            sliced = errors_view.sliced(found)
            entries = errors_view.filtered(sliced)
            errors_view.headline(found, sliced, entries)
            left, right = st.columns([1.75, 1], gap="medium")
            with left:
                shown = errors_view.cards(found, entries, error_notes.kept(workspace))
            with right:
                errors_view.slices(found, sliced)
                errors_view.cuts(sliced)
                error_notes.note(workspace, shown)
            error_notes.contexts(workspace, shown)
            error_notes.details(workspace, found, sliced)
with (
    st.expander(
        "Bring in predictions of another program", icon=":material/add:", expanded=not there
    ),
    mistakes.shown(),
):
    comparable.bring(workspace)
