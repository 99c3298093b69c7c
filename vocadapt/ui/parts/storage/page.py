"""The part Workspace: everything that the workspace holds, unused uploads, the trash, and copies of
the workspace.
"""

import streamlit as st

from vocadapt.lab.housekeeping.trash import list_trash
from vocadapt.lab.jobs.uploads import list_unused_uploads
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.parts.storage import view


def draw(workspace: Workspace) -> None:
    """Draw the items of the workspace, the trash, and the forms that copy and export it."""
    # 1. The artifacts and ended jobs; a selected one can be renamed, annotated and deleted.
    view.draw_message()
    view.draw_quota(workspace)
    view.warn_of_hidden(workspace)
    items = view.list_items(workspace)
    if items:
        selected = view.draw_items(items)
        if selected:
            with mistakes.show_errors():
                view.draw_item(workspace, selected)
    else:
        pickers.draw_empty_state(
            "This workspace is empty.",
            "Everything that you make in the lab is listed here.",
            "text",
            "Import a text",
        )
    # 2. Uploads and trash, and copies of the whole workspace.
    trash, copies = st.columns(2, gap="large")
    with trash, mistakes.show_errors():
        view.draw_uploads(workspace, list_unused_uploads(workspace))
        view.draw_trash(workspace, list_trash(workspace))
    with copies, mistakes.show_errors():
        view.draw_copies(workspace, bool(items))
