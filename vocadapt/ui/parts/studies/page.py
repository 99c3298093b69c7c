"""The part Studies: define a study, start it, watch its grid fill, and read its table."""

import streamlit as st

from vocadapt.lab.experiments.studies.saved import find_running_job
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.studies import cells, form, opened, view
from vocadapt.ui.state.pages import NextPart

UPDATE_SECONDS = 2.0  # between two updates of a running study of up to UPDATE_CELLS cells
UPDATE_CELLS = 1000  # reading and drawing so many cells takes a tenth of UPDATE_SECONDS
# Where to continue before a study has results; after that, the declared part follows.
FIRST_CELL = NextPart("finetune", "Or train a single model first: one cell of such a grid.")
WATCH = NextPart("jobs", "Read the log of the running study.")


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the selected study, and the form of a new one."""
    studies = workspace.artifacts("studies")
    following: NextPart | None = FIRST_CELL
    if studies:
        study = pickers.pick("Study", studies, "studies_study", newest=True)
        is_running = find_running_job(workspace, study.name) is not None
        every = None
        if is_running:
            every = choose_update_seconds(opened.open_study(workspace, study))
        st.fragment(_draw_study, run_every=every)(workspace, study, is_running)
        if is_running:
            following = WATCH
        elif study.manifest.numbers.get("rows"):
            following = None
    else:
        pickers.draw_empty_state(
            "There is no study in this workspace yet.",
            (
                "Define one below: the models to compare, the tasks, and the number of seeds. It"
                " runs in the background, and continues where it stopped."
            ),
        )
    is_open = not studies or form.is_editing()
    with st.expander("Define a study", icon=":material/add:", expanded=is_open):
        _draw_form(workspace)
    return following


def choose_update_seconds(found: opened.OpenedStudy) -> float:
    """Return the seconds between two updates of a running study: more if it is large."""
    if found.grid is None:
        return UPDATE_SECONDS
    return UPDATE_SECONDS * max(1.0, len(found.grid.cells) / UPDATE_CELLS)


def _draw_study(workspace: Workspace, study: Artifact, was_running: bool) -> None:
    """Draw a study: grid, estimate, failures, table and file. A setting, or an update of a running
    study, reruns only this fragment.
    """
    job = find_running_job(workspace, study.name)
    # The study has ended, or a button here has filled the form below: draw the whole page.
    if (was_running and job is None) or form.take_edit():
        st.rerun()
    with mistakes.show_errors():
        found = opened.open_study(workspace, study)
        if found.grid is None:
            view.draw_without_grid(found, form.start_editing)
            return
        if job is not None:
            panel.draw_framed_job(job)
        cells.draw_grid(found)
        if job is None:
            view.draw_start(workspace, found)
        view.draw_failures(found)
        view.draw_table_of(found, is_running=job is not None)
        view.draw_details(found, form.start_editing)


@st.fragment
def _draw_form(workspace: Workspace) -> None:
    """Draw the form of a new study; a setting reruns only this fragment."""
    with mistakes.show_errors():
        form.draw_form(workspace)
