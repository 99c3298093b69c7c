"""The part Search: try settings of fine-tuning, or compare seeds, by their scores on dev."""

import streamlit as st

from vocadapt.lab.experiments.search.saved import read_spec
from vocadapt.lab.experiments.studies.saved import find_running_job
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.search import form, view
from vocadapt.ui.state.pages import NextPart

KIND = "searches"
UPDATE_SECONDS = 2.0  # seconds between two looks at a running search


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the selected search, and the form of a new one."""
    searches = workspace.artifacts(KIND)
    following = None
    if searches:
        search = pickers.pick("Search", searches, "search_search", newest=True)
        is_running = find_running_job(workspace, search.name, KIND) is not None
        every = UPDATE_SECONDS if is_running else None
        st.fragment(_draw_search, run_every=every)(workspace, search, is_running)
        if search.manifest.numbers.get("best") and not is_running:
            following = NextPart(
                "finetune", "Train the best settings with other seeds, and score them on test."
            )
    else:
        pickers.draw_empty_state(
            "There is no search in this workspace yet.",
            "A search fine-tunes a model again and again, each time with other settings, such"
            " as learning rate and batch size, and finds those with the best score on the dev"
            " split. It needs a model, and a task with a dev split; the test split is not used.",
        )
    with st.expander("New search", icon=":material/add:", expanded=not searches):
        form.draw_form(workspace)
    return following


def _draw_search(workspace: Workspace, search: Artifact, was_running: bool) -> None:
    """Draw a search: its progress, result and figures. A look at a running one reruns only this."""
    job = find_running_job(workspace, search.name, KIND)
    if was_running and job is None:
        st.rerun()
    with mistakes.show_errors():
        spec = read_spec(search, workspace)
        if job is not None:
            panel.draw_framed_job(job)
        if spec.step == "seeds":
            view.draw_seeds(search, spec)
        else:
            view.draw_trials(search, spec, job)
        if job is None:
            view.draw_continue(workspace, search, spec)
        view.draw_details(search)
