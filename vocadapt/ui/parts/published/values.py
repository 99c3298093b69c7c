"""Form that fills the empty cells of a published table from a CSV file."""

import streamlit as st

from vocadapt.lab.experiments.published.imports import import_values, read_imported
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.published.tables import PublishedTable
from vocadapt.text.spreadsheet import format_csv
from vocadapt.ui.components import intake
from vocadapt.ui.components.blocks import draw_downloads, draw_note
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count


def draw_import_form(table: PublishedTable, workspace: Workspace) -> None:
    """Draw the file input, the button Import, and a template with the empty cells.

    table: as published, without imported values.
    """
    st.markdown(
        "If you have the publication at hand, fill the empty cells from a CSV file with the columns"
        " row, column, value and, optionally, note. The values stay in this workspace, marked as"
        " imported."
    )
    draw_downloads({f"{table.id}-empty.csv": format_template(table)})
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


def format_template(table: PublishedTable) -> str:
    """Return a CSV file with a line for each empty cell, to be filled in."""
    lines = [[cell.row, cell.column, "", ""] for cell in table.empty]
    return format_csv([["row", "column", "value", "note"], *lines])
