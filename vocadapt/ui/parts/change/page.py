"""The part Neighborhood change: words whose nearest neighbors differ between two spaces, compared with
a noise baseline.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.parts.change import comparisons, view
from vocadapt.ui.parts.vectors import contextual


def draw(workspace: Workspace) -> None:
    """Draw a comparison of two spaces, and the form of contextual vectors."""
    # 1. A finished comparison, or a new one of two spaces.
    with mistakes.show_errors():
        saved = comparisons.pick_saved(workspace)
        if saved is not None:
            view.draw_comparison(workspace, comparisons.open_saved(workspace, saved))
        else:
            _draw_new(workspace)
    # 2. The form of contextual vectors, which are more spaces to compare.
    contextual.draw_form(workspace)


@st.fragment
def _draw_new(workspace: Workspace) -> None:
    """Draw the pickers of two spaces and their comparison; a setting reruns only this fragment."""
    with mistakes.show_errors():
        spec = comparisons.choose_new(workspace)
        if spec is None:
            pickers.draw_empty_state(
                "There are not yet two spaces to compare.",
                (
                    "Make word vectors or adapt a model, or select any two models above: a folder on"
                    " this machine, or a hub name that was used here before."
                ),
                "vectors",
                "Make word vectors",
            )
            return
        shown = comparisons.compare(workspace, spec)
        if shown is not None:
            view.draw_comparison(workspace, shown)
