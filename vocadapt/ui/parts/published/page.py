"""The part Published results: tables of publications, next to our own scores."""

import streamlit as st

from vocadapt.lab.experiments.published.imports import fill_imported, import_values, read_imported
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.reader import load_tables
from vocadapt.published.tables import PublishedTable
from vocadapt.text.spreadsheet import format_csv
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import draw_downloads, draw_note
from vocadapt.ui.parts.published import compute_form, figures, view
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

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
        view.draw_comparison(table, workspace)
        if table.method:
            with (
                st.expander("Compute it here", icon=":material/calculate:"),
                mistakes.show_errors(),
            ):
                compute_form.draw_form(table, workspace)
        else:
            draw_note(f"The values cannot be computed here. That needs {plain(table.needs)}.")
        view.draw_costs(table)
        view.draw_empty_cells(table)
        view.draw_definitions(table)
    if load_tables()[name].empty:
        with st.expander("Import values", icon=":material/add:"), mistakes.show_errors():
            draw_import_form(load_tables()[name], workspace)


def draw_import_form(table: PublishedTable, workspace: Workspace) -> None:
    """Draw the file input, the button Import, and a template with the empty cells.

    table: as published, without imported values.
    """
    st.markdown(
        "If you have the publication at hand, fill the empty cells from a CSV file with the columns"
        " row, column, value and, optionally, note. The values stay in this workspace, marked as"
        " imported."
    )
    lines = [[cell.row, cell.column, "", ""] for cell in table.empty]
    template = format_csv([["row", "column", "value", "note"], *lines])
    draw_downloads({f"{table.id}-empty.csv": template})
    imported = read_imported(table.id, workspace)
    if imported:
        draw_note(f"{count(len(imported.values))} values are {plain(imported.label)}.")
    files = intake.choose_files(workspace, "published_file", ("csv",), several=False)
    who = st.text_input(
        "Imported by", key="published_who", help="Sets the name that is stored with the values."
    ).strip()
    if files and st.button("Import", key="published_import", icon=":material/upload:"):
        import_values(table.id, files[0], workspace, who)
        intake.clear_uploads("published_file")
        st.rerun()
