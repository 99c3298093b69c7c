"""The part Neighborhood change: words whose nearest neighbors differ between two spaces, compared with
a noise baseline.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.change import noise_baseline, view
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import mistakes
from vocadapt.ui.vectors import contextual


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    # 1. The two spaces, and how their neighborhoods are compared.
    spaces, options = st.columns([5, 6], gap="medium")
    with spaces, st.container(horizontal=True):
        before = pickers.pick_space(workspace, "Before", "change_before")
        after = pickers.pick_space(workspace, "After", "change_after", default=1)
    with options:
        settings = view.choose_settings()
    # 2. The words whose neighbors changed, against the noise baseline.
    if not (before and after):
        pickers.draw_empty_state(
            "There are not yet two spaces to compare.",
            (
                "Make word vectors or adapt a model, or select any two models above: a folder on this"
                " machine, or a hub name that was used here before."
            ),
            "vectors",
            "Make word vectors",
        )
    else:
        with mistakes.show_errors():
            baseline = noise_baseline.choose_baseline(workspace, before, after, settings)
            found = view.compare(before, after, settings, baseline.pair, baseline.about)
            if found:
                pickers.warn_if_crowded(before, after)
                view.draw_headline(*found)
                view.draw_charts_and_list(workspace, *found)
                view.draw_details(*found, before, after, baseline.pair)
    # 3. The form of contextual vectors, which are more spaces to compare.
    contextual.draw_form(workspace)
