"""The part Published results: tables of publications, beside our own scores."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.reader import load_tables
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import mistakes
from vocadapt.ui.published import view

FIRST = "fast-6.2"  # the table of models as they are: the one that explains the page


def draw(workspace: Workspace) -> None:
    """Draw a table of a publication: values, our scores, and what has to be known about it."""
    tables = load_tables()
    names = pickers.pick_name(
        "Table",
        list(tables),
        "published_table",
        FIRST,
        labels={name: view.format_title(table) for name, table in tables.items()},
        help="Selects a table, or the numbers of a figure or section, of one of the publications.",
    )
    _draw_table(workspace, names)


@st.fragment
def _draw_table(workspace: Workspace, name: str) -> None:
    """Draw a table; a setting reruns only this fragment."""
    with mistakes.show_errors():
        table = load_tables()[name]
        view.draw_source(table)
        view.draw_values(table)
        view.draw_empty_cells(table)
        view.draw_definitions(table)
