"""The jobs of the workspace, visible on every page at any height: the running one in the header,
all recent ones in the sidebar.

Both are fragments that rerun every two seconds while a job is alive. When a job has ended, they
rerun the page, which shows its result (`jobs.results`).
"""

import time
from collections.abc import Collection, Mapping

import streamlit as st

from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.estimates import estimate_seconds_left
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.jobs import panel, results
from vocadapt.ui.state import address
from vocadapt.ui.state.names import shorten_name
from vocadapt.ui.state.pages import find_link
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, duration

LISTED_SECONDS = 300.0  # time for which the sidebar lists an ended job
MAX_ENDED = 4  # ended jobs in the sidebar
STRIP_KEY = "job_strip"  # markup_style positions this container


def draw_header_strip(workspace: Workspace) -> None:
    """Draw the status of the running job in the header of a page, updated while it lives."""
    alive = _find_alive(workspace)
    st.fragment(_draw_strip, run_every=panel.UPDATE_SECONDS if alive else None)(workspace, alive)


def draw_sidebar_jobs(workspace: Workspace) -> None:
    """Draw the running job, the waiting ones below it, and those that ended within the last
    minutes.
    """
    alive = _find_alive(workspace)
    st.fragment(_draw_sidebar_jobs, run_every=panel.UPDATE_SECONDS if alive else None)(workspace)


def sort_by_urgency(
    found: Collection[queue.Job], statuses: Mapping[str, Status]
) -> list[queue.Job]:
    """Sort jobs: the running one, then waiting ones in queue order, then ended ones, newest first."""
    # Ids begin with the start time, so their order is that of the queue.
    order = {"running": 0, "waiting": 1}
    ended = sorted(
        (job for job in found if not statuses[job.id].alive), key=lambda job: job.id, reverse=True
    )
    alive = sorted(
        (job for job in found if statuses[job.id].alive),
        key=lambda job: (order[statuses[job.id].state], job.id),
    )
    return [*alive, *ended]


def build_strip(
    job: queue.Job, status: Status, seconds_left: float | None, waiting: Collection[str] = ()
) -> markup.Strip:
    """Build the strip of a job: step, name, progress and time.

    waiting: steps and names of the waiting jobs.
    """
    done = min(max(status.fraction or 0.0, 0.0), 1.0)
    progress = "waiting"
    if status.state != "waiting":
        time = f"{duration(status.seconds)} so far"
        if seconds_left is not None:
            time = f"about {duration(seconds_left)} left"
        progress = f"{100 * done:.0f} % · {time}"
    if waiting:
        progress += f" · {count(len(waiting))} waiting"
    name = panel.find_job_name(job)
    return markup.Strip(job.spec.declaration.about, name, progress, done, tuple(waiting))


def _find_alive(workspace: Workspace) -> frozenset[str]:
    """Return the ids of the running and waiting jobs."""
    return frozenset(job.id for job in queue.list_living_jobs(workspace))


def _draw_strip(workspace: Workspace, was_alive: frozenset[str]) -> None:
    """Draw the running job, or the first waiting one; draw an empty strip if there is none, because
    the page must not move.
    """
    found = queue.list_living_jobs(workspace)
    statuses = {job.id: job.status() for job in found}
    alive = [job for job in sort_by_urgency(found, statuses) if statuses[job.id].alive]
    # If a job has ended, rerun the page, which selects its result.
    if was_alive - {job.id for job in alive}:
        st.rerun()
    with st.container(key=STRIP_KEY, horizontal=True, vertical_alignment="center"):
        if not alive:
            markup.draw_strip(None)
            return
        first, *others = alive
        left = estimate_seconds_left(first, statuses[first.id])
        names = panel.find_job_names(others)
        waiting = [f"{job.spec.declaration.about}: {names[job.id]}" for job in others]
        markup.draw_strip(build_strip(first, statuses[first.id], left, waiting))
        page, parameters = find_link("jobs", **{panel.JOB: first.id}, **address.here())
        st.page_link(page, label="Details", query_params=parameters, width="content")


def _draw_sidebar_jobs(workspace: Workspace) -> None:
    found = queue.list_jobs(workspace, panel.MAX_JOBS)
    statuses = {job.id: job.status() for job in found}
    ordered = sort_by_urgency(found, statuses)
    alive = [job for job in ordered if statuses[job.id].alive]
    ended = [job for job in ordered if _has_just_ended(statuses[job.id])][:MAX_ENDED]
    names = panel.find_job_names([*alive, *ended])
    for job in alive:
        _draw_alive_job(job, statuses[job.id], names[job.id])
    for job in ended:
        _draw_ended_job(job, statuses[job.id], names[job.id])


def _has_just_ended(status: Status) -> bool:
    return not status.alive and time.time() - status.updated < LISTED_SECONDS


def _draw_alive_job(job: queue.Job, status: Status, name: str) -> None:
    """Draw a job with its Cancel button; a running one with its progress."""
    with st.container(border=True, gap="xsmall"):
        icon = panel.ICONS[status.state]
        st.markdown(f"{icon} {panel.format_title(job, name)}")
        if status.state == "running":
            panel.draw_progress(status)
        with st.container(horizontal=True, vertical_alignment="center"):
            panel.draw_cancel_button(job, "stop", "content")
            panel.draw_link(job, "Details")


def _draw_ended_job(job: queue.Job, status: Status, name: str) -> None:
    """Draw a link: to the result of a job that is done, else to the job."""
    label = f"{status.title} · {plain(shorten_name(name))}"
    icon = panel.find_icon(status)
    if status.state == "done" and job.finished:
        results.draw_result_link(job, label, icon)
    else:
        panel.draw_link(job, label, icon)
