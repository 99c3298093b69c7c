"""Frame of every page: the workspace, the running jobs, and user errors as messages."""

from collections.abc import Sequence

import streamlit as st

from vocadapt.extensions import check_extensions
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import glossary
from vocadapt.ui.components.markup import plain
from vocadapt.ui.frame import address, mistakes
from vocadapt.ui.jobs import panel
from vocadapt.ui.serving import paths, preload


def draw(page: st.Page) -> None:
    """Draw the sidebar and a page; user errors are shown as messages, other exceptions are logged
    with their trace.
    """
    paths.warn_once()
    address.enter(page.url_path)
    with mistakes.show_errors():
        check_extensions()
        draw_sidebar()
        panel.draw_header_strip(address.workspace())
        page.run()
    # Not reached if the run is interrupted: the page is then drawn again.
    preload.report_page_drawn()


def open_page(title: str, about: str, terms: Sequence[str], steps: Sequence[str] = ()) -> Workspace:
    """Draw the head of a page, and the newest job of its steps; return the workspace.

    terms: the terms of the glossary that the page explains. steps: names of the steps that the page
    starts.
    """
    st.title(title)
    st.markdown(about)
    glossary.offer_terms(*terms)
    # The container is always present: a starting job must not shift and redraw what is below it.
    with st.container():
        panel.draw_job_panel(address.workspace(), steps)
    return address.workspace()


def draw_sidebar() -> None:
    """Draw the workspace picker below the navigation, or open the page that a button requested."""
    start = address.find_initial_folder()
    # In the last run a button may have requested another page (`address.go_to`).
    next_page = st.session_state.pop(address.NEXT_PAGE, None)
    # The other workspaces in the folder of the initial one.
    siblings = [
        folder.name
        for folder in start.parent.glob("*/")
        if any(any(folder.glob(f"{kind}/*/manifest.json")) for kind in ARTIFACTS)
    ]
    names = sorted({start.name, st.session_state.get(address.WORKSPACE) or start.name, *siblings})
    with st.sidebar:
        st.selectbox(
            "Workspace",
            names,
            index=names.index(start.name),
            key=address.WORKSPACE,
            accept_new_options=True,
            bind=None if next_page else "query-params",  # see address.go_to
            help=(
                f"Selects the workspace, a folder in {plain(str(start.parent))}. Type a new"
                " name to create one."
            ),
        )
        if next_page:
            st.switch_page(next_page[0], query_params=next_page[1])
        panel.draw_sidebar_jobs(address.workspace())
        address.keep_history(key="address_history", height=1)
