"""The part Diagnostics: the geometry of each space, how similar related words are, and mean cosines
within and between spaces.
"""

from collections.abc import Sequence

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.diagnostics.statistics import CosineTables
from vocadapt.ui.components import pickers
from vocadapt.ui.parts.diagnostics import cached, relations, view
from vocadapt.ui.parts.diagnostics.cached import SelectedSpace


def draw(workspace: Workspace) -> None:
    """Draw a card per space, the norms by frequency, and the folded statistics."""
    spaces = view.choose_spaces(workspace)
    if not spaces:
        pickers.draw_empty_state(
            "There is no space to diagnose yet.",
            (
                "Select one under *Spaces*, whose last option takes the folder of a model on this"
                " machine, or a hub name that was used here before. Word vectors and models that you make in this"
                " workspace are listed there."
            ),
            "vectors",
            "Make word vectors",
        )
        return

    # 1. A card per space, and one figure.
    tables = cached.compute_tables(spaces)
    view.draw_cards(spaces)
    view.draw_norms_by_frequency(spaces)
    # 2. The rest, computed when it is opened.
    _draw_more(workspace, spaces, tables)


@st.fragment
def _draw_more(workspace: Workspace, spaces: Sequence[SelectedSpace], tables: CosineTables) -> None:
    """Draw the folded blocks: related words, cosine tables, hubs, details; opening one reruns only
    this fragment.
    """
    file = None
    related = _open_expander("Are related words similar?", "related", "link")
    if related.open:
        with related:
            file = relations.draw_relations(workspace, spaces)
    cosines = _open_expander("Mean cosines between the spaces", "cosines", "grid_on")
    if cosines.open:
        with cosines:
            view.draw_cosine_tables(spaces, tables)
    hubs = _open_expander("Hubs", "hubs", "hub")
    if hubs.open:
        with hubs:
            view.draw_hubs(workspace, spaces)
    files = relations.build_downloads(spaces, file)
    view.draw_details(spaces, tables, relations.build_arguments(spaces, file), files)


def _open_expander(label: str, name: str, icon: str) -> ExpanderContainer:
    """Open an expander whose state is in the address."""
    return st.expander(
        label,
        key=f"diagnostics_{name}",
        icon=f":material/{icon}:",
        on_change="rerun",
        bind="query-params",
    )
