"""Page Error analysis: examples on which two runs disagree, and how the affected words are
tokenized.
"""

import streamlit as st

from vocadapt.ui.components import glossary, pickers
from vocadapt.ui.errors import comparable, notes, view
from vocadapt.ui.frame import frame, mistakes
from vocadapt.ui.jobs import panel

workspace = frame.workspace()
st.title("Error analysis")
st.markdown(
    "Compare two runs on the same examples: where they disagree, and how the affected words"
    " are tokenized."
)
glossary.offer_terms(
    "adapted tokenization",
    "base tokenization",
    "outcome",
    "pooled",
    "run",
    "scorer",
    "slice",
    "unit",
)
panel.job_panel(workspace, ["finetune"])

pickers.passed_over(workspace)
there = comparable.of_workspace(workspace)
if not there:
    pickers.nothing_yet(
        "There is no run with predictions in this workspace yet.",
        (
            "Fine-tune a model on a task with a test file. For an adapted model one run is"
            " enough: its tokenizations are compared. Or import predictions of other programs"
            " below."
        ),
        "pages/train/finetune.py",
        "Fine-tune a model",
    )
else:
    with mistakes.shown():
        found = view.choose_two(there)
        if found is not None:
            sliced = view.sliced(found)
            entries = view.filtered(sliced)
            view.headline(found, sliced, entries)
            left, right = st.columns([1.75, 1], gap="medium")
            with left:
                shown = view.cards(found, entries, notes.kept(workspace))
            with right:
                view.slices(found, sliced)
                view.tokenizations(sliced)
                notes.note(workspace, shown)
            notes.contexts(workspace, shown)
            notes.details(workspace, found, sliced)
with (
    st.expander("Import predictions", icon=":material/add:", expanded=not there),
    mistakes.shown(),
):
    comparable.bring(workspace)
