"""The jobs of the workspace, visible on every page at any height: the running one in the header,
all recent ones in the sidebar.

Both are fragments that rerun every two seconds while a job is alive. When a job has ended, they
rerun the page, which shows its result (`jobs.results`).
"""

import time

import streamlit as st

from vocadapt.lab.jobs import queue
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


def describe_progress(status: Status, seconds_left: float | None, n_waiting: int) -> str:
    """Describe the progress of a job and its time, and the number of waiting jobs."""
    progress = "waiting"
    if status.state != "waiting":
        time = f"{duration(status.seconds)} so far"
        if seconds_left is not None:
            time = f"about {duration(seconds_left)} left"
        progress = f"{100 * _find_fraction(status):.0f} % · {time}"
    if n_waiting:
        progress += f" · {count(n_waiting)} waiting"
    return progress


def _find_fraction(status: Status) -> float:
    return min(max(status.fraction or 0.0, 0.0), 1.0)


def _find_alive(workspace: Workspace) -> frozenset[str]:
    """Return the ids of the running and waiting jobs."""
    return frozenset(job.id for job in queue.list_living_jobs(workspace))


def _draw_strip(workspace: Workspace, was_alive: frozenset[str]) -> None:
    """Draw the running job, or the first waiting one; draw an empty strip if there is none, because
    the page must not move.
    """
    found = queue.list_living_jobs(workspace)
    statuses = {job.id: job.status() for job in found}
    alive = panel.sort_living(found, statuses)
    # If a job has ended, rerun the page, which selects its result.
    if was_alive - {job.id for job in alive}:
        st.rerun()
    with st.container(key=STRIP_KEY, horizontal=True, vertical_alignment="center"):
        if not alive:
            markup.draw_empty_strip()
            return
        first, *others = alive
        status = statuses[first.id]
        names = panel.find_job_names(alive)
        markup.draw_strip(
            first.spec.declaration.about,
            names[first.id],
            describe_progress(status, status.estimate_seconds_left(), len(others)),
            _find_fraction(status),
            [f"{job.spec.declaration.about}: {names[job.id]}" for job in others],
        )
        page, parameters = find_link("jobs", **{panel.JOB: first.id}, **address.here())
        st.page_link(page, label="Details", query_params=parameters, width="content")


def _draw_sidebar_jobs(workspace: Workspace) -> None:
    found = queue.list_jobs(workspace, panel.MAX_JOBS)
    statuses = {job.id: job.status() for job in found}
    alive = panel.sort_living(found, statuses)
    recent = [job for job in found if time.time() - statuses[job.id].updated < LISTED_SECONDS]
    ended = [job for job in recent if not statuses[job.id].alive][:MAX_ENDED]
    names = panel.find_job_names([*alive, *ended])
    for job in alive:
        status = statuses[job.id]
        with st.container(border=True, gap="xsmall"):
            st.markdown(f"{panel.ICONS[status.state]} {panel.format_title(job, names[job.id])}")
            if status.state == "running":
                panel.draw_progress(status)
            with st.container(horizontal=True, vertical_alignment="center"):
                panel.draw_cancel_button(job, "stop", "content")
                panel.draw_link(job, "Details")
    for job in ended:
        status = statuses[job.id]
        label = f"{status.title} · {plain(shorten_name(names[job.id]))}"
        if status.state == "done" and job.finished:
            results.draw_result_link(job, label, panel.find_icon(status))
        else:
            panel.draw_link(job, label, panel.find_icon(status))
