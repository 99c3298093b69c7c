"""The part Published results: tables of publications, beside our own scores."""

import streamlit as st

from vocadapt.lab.experiments.published.imports import fill_imported
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.reader import load_tables
from vocadapt.published.tables import PublishedTable
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.parts.published import compute_form, figures, ours, values, view
from vocadapt.ui.text.markup import plain

FIRST = "fast-6.2"  # the table of unadapted models, which is the easiest to read


def draw(workspace: Workspace) -> None:
    """Draw a table of a publication: values, figures, our scores, and notes."""
    tables = load_tables()
    name = pickers.pick_name(
        "Table",
        list(tables),
        "published_table",
        FIRST,
        labels={name: view.format_title(table) for name, table in tables.items()},
        help="Selects a table, or the numbers of a figure or section, of one of the publications.",
    )
    _draw_table(workspace, name)


@st.fragment
def _draw_table(workspace: Workspace, name: str) -> None:
    """Draw a table; a setting reruns only this fragment."""
    with mistakes.show_errors():
        table = fill_imported(load_tables()[name], workspace)
        view.draw_source(table)
        view.draw_values(table)
        figures.draw_plot(table)
        figures.draw_gaps(table)
        figures.draw_group_means(table)
        ours.draw_comparison(table, workspace)
        _draw_computing(table, workspace)
        view.draw_costs(table)
        view.draw_empty_cells(table)
        view.draw_definitions(table)
    if load_tables()[name].empty:
        with st.expander("Import values", icon=":material/add:"), mistakes.show_errors():
            values.draw_import_form(load_tables()[name], workspace)


def _draw_computing(table: PublishedTable, workspace: Workspace) -> None:
    """Draw the form that computes the cells of a table, in an expander, or what it lacks."""
    if not table.method:
        draw_note(f"The values cannot be computed here. That needs {plain(table.needs)}.")
        return
    with st.expander("Compute it here", icon=":material/calculate:"), mistakes.show_errors():
        compute_form.draw_form(table, workspace)
