"""The part Projection: the tokens of one or two spaces in two dimensions, the neighbors of a token,
regions of the picture, and how tokens moved between two spaces.
"""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import mistakes
from vocadapt.ui.projection import controls, sources
from vocadapt.ui.projection import view as projection_view


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    # 1. The controls: spaces, a saved projection or PCA, tokens, and a new projection.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spaces = controls.pick_spaces(workspace)
        if spaces:
            projections = sources.list_projections(workspace, spaces)
            view = controls.pick_projection(projections)
            with st.popover("Tokens", icon=":material/filter_alt:"):
                choice = controls.pick_tokens(view)
            making = controls.open_form_popover()
            st.button(
                controls.EXAMPLE,
                icon=":material/travel_explore:",
                on_click=controls.show_example,
                help=controls.HELP["example"],
            )
    if not spaces:
        pickers.draw_empty_state(
            "There is no space to project yet.",
            (
                "A projection needs word vectors of your domain or a language model: make vectors, or"
                " type a model above."
            ),
            "vectors",
            "Make word vectors",
        )
        return

    # 2. The form of a new projection, in its popover.
    with making, mistakes.show_errors():
        controls.draw_form(
            workspace, spaces, choice, len(sources.project_now(spaces, choice).words)
        )
    # 3. The projection: a saved one, or PCA of the selected tokens.
    if view:
        pickers.warn_if_stale(view, workspace)
    projection_view.draw_projection(
        workspace, sources.open_saved(spaces, view) if view else sources.project_now(spaces, choice)
    )
