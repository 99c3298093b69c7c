"""The part Studies: define a study, start it, watch its grid fill, and read its table."""

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.saved import find_running_job
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.studies import cells, form, opened, view
from vocadapt.ui.state.pages import NextPart

UPDATE_SECONDS = 3.0  # between two updates of a running study; 1 000 cells take 0.2 s
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
        every = UPDATE_SECONDS if is_running else None
        st.fragment(_draw_study, run_every=every)(workspace, study, is_running)
        if is_running:
            following = WATCH
        elif study.manifest.numbers.get("rows"):
            following = None
    else:
        pickers.draw_empty_state(
            "There is no study in this workspace yet.",
            "Define one below: the models to compare, the tasks, and the number of seeds. It"
            " runs in the background, and continues where it stopped.",
        )
    is_open = not studies or form.is_editing()
    with st.expander("Define a study", icon=":material/add:", expanded=is_open):
        form.draw_form(workspace)
    return following


def _draw_study(workspace: Workspace, study: Artifact, was_running: bool) -> None:
    """Draw a study: grid, estimate, failures, table and file. A setting, or an update of a running
    study, reruns only this fragment.
    """
    job = find_running_job(workspace, study.name)
    if was_running and job is None:  # it has ended: draw the whole page
        st.rerun()
    with mistakes.show_errors():
        try:
            found = opened.open_study(workspace, study)
        except InputError as error:
            view.draw_without_grid(workspace, study, error)
            return
        if job is not None:
            panel.draw_framed_job(job)
        cells.draw_grid(found)
        if job is None:
            view.draw_start(workspace, found)
        view.draw_failures(found)
        view.draw_table_of(found, is_running=job is not None)
        view.draw_details(study, found.file)
