"""Results of finished jobs: the part of the lab that shows a result, and its selection there.

A job that ends while its part is open selects its result, and the page scrolls to the top.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.steps.step import Step
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_link
from vocadapt.ui.components.pickers import NONE
from vocadapt.ui.jobs import panel
from vocadapt.ui.state import address
from vocadapt.ui.state.names import label_of, models_of, spaces_of

STEP, RESULT = "jobs_step", "jobs_result"  # query parameters of the page Jobs
SPACE_ROLES = ("vectors", "target")  # inputs that embeddings of new tokens were transferred from
Query = dict[str, str]  # query parameter -> value


@dataclass(frozen=True)
class Place:
    """Where the pages show what a step made: the part, the query parameter that selects a result
    there by its name ("": none), and what else must be selected to see it.
    """

    part: str
    selected_by: str = ""
    select_more: Callable[[queue.Job], Query] | None = None


def find_result_part(job: queue.Job) -> tuple[str, Query]:
    """Return the part that shows the result of a finished job, and the query parameters that select
    it there.
    """
    part, query = find_artifact_part(job.spec.declaration, job.target.name)
    place = PLACES.get(job.spec.step)
    if place is not None and place.select_more is not None:
        query |= place.select_more(job)
    return part, query


def find_artifact_part(step: Step, name: str) -> tuple[str, Query]:
    """Return the part that shows what a step made, and the query parameters that select it there."""
    place = PLACES.get(step.name)
    if place is None:
        return "jobs", {STEP: step.about, RESULT: name}
    return place.part, {place.selected_by: name} if place.selected_by else {}


def select_new_results(workspace: Workspace) -> None:
    """Select the results of the jobs that have ended since the last run of the page.

    Called before the page is drawn. Jobs of other parts are announced by a toast.
    """
    # 1. The jobs of this session that were alive in the last run and are done now, oldest first.
    watched = st.session_state.setdefault(panel.WATCHED, {})
    found = queue.list_jobs(workspace, panel.MAX_JOBS)[::-1]
    ended = [job for job in found if job.id in watched and not job.status().alive]
    # 2. Watch the jobs that are alive now.
    launched_in = {job.id: watched.pop(job.id) for job in ended}
    for job in found:
        if job.status().alive:
            watched.setdefault(job.id, "")
    # 3. Select their results.
    for job in ended:
        status = job.status()
        if status.state == "done" and job.finished:
            _select_result(job, status, launched_in[job.id])


def _select_result(job: queue.Job, status: Status, launched_in: str) -> None:
    """Select the result of a job, if its part is open.

    launched_in: the part whose form started the job; "" if another session or a command did.
    """
    part, query = find_result_part(job)
    address.mark_new(job.spec.kind, job.target.name)
    open_part = address.find_open_part()
    if open_part == part:
        for key, value in query.items():
            address.mark_new(key, value)
            address.show_next(key, value)
    else:
        sentence = f"{panel.format_title(job)} is done."
        if status.outcome:
            sentence = f"{panel.format_title(job)}: {status.outcome}."
        st.toast(sentence, icon=panel.find_icon(status))
    if open_part == launched_in:
        address.scroll_to_top(job.id)


def draw_result_link(job: queue.Job, label: str, icon: str = ":material/arrow_forward:") -> None:
    """Draw a link to the result of a finished job; the label is Markdown."""
    part, query = find_result_part(job)
    draw_link(part, label, icon=icon, **query)


def _select_counted_text(job: queue.Job) -> Query:
    return {
        "text_corpus": Path(job.spec.one("text") or "").name,
        **_select_model(job, "text_model"),
    }


def _select_alignment(job: queue.Job) -> Query:
    return {
        "alignment_vectors": Path(job.spec.one("vectors") or "").name,
        **_select_model(job, "alignment_model"),
        "alignment_method": job.spec.settings.alignment.digest,
    }


def _select_leaderboard(job: queue.Job) -> Query:
    source = next(filter(None, map(job.spec.one, SPACE_ROLES)), "")
    return {
        "initializers_target": label_of(source, spaces_of(job.workspace)),
        **_select_model(job, "initializers_model"),
    }


def _select_projection(job: queue.Job) -> Query:
    known = spaces_of(job.workspace)
    other = job.spec.one("other")
    return {
        "projection_space": label_of(job.spec.one("space") or "", known),
        "projection_other": label_of(other, known) if other else NONE,
    }


def _select_run(job: queue.Job) -> Query:
    for run in pickers.list_runs_to_pick(job.workspace, by_tokenization=True):
        if run.run_set.name == job.target.name:
            return {"results_task": run.run_set.task, "results_confused": run.name}
    return {}


def _select_model(job: queue.Job, key: str) -> Query:
    model = job.spec.one("model")
    return {key: label_of(model, models_of(job.workspace))} if model else {}


# By step. The others have a form on the page Jobs, and their results there.
PLACES: dict[str, Place] = {
    "corpus": Place("text", "text_corpus", partial(_select_model, key="text_model")),
    "word-counts": Place("text", "", _select_counted_text),
    "vectors": Place("vectors", "vectors_vectors"),
    "contextual": Place("vectors", "vectors_vectors"),
    "import-vectors": Place("vectors", "vectors_vectors"),
    "alignment": Place("alignment", "", _select_alignment),
    "initializers": Place("initializers", "initializers_board", _select_leaderboard),
    "adapt": Place("adapt", "adapt_adapted"),
    "convert": Place("lens", "lens_models"),
    "pretrain": Place("lens", "lens_models"),
    "continue-pretraining": Place("pretraining", "pretraining_pretrained"),
    "projection": Place("projection", "projection_view", _select_projection),
    "import-layout": Place("projection", "projection_view"),
    "change": Place("change", "change_comparison"),
    "finetune": Place("results", "", _select_run),
    "study": Place("studies", "studies_study"),
    "search": Place("search", "search_search"),
    "seeds": Place("search", "search_search"),
}
