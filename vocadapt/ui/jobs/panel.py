"""Job panel of a page: the progress of a running job, or why it failed. Pages never wait for a job.

A panel is a fragment that reruns every second while its job is alive, and reruns the page once when
the job has ended. The strip in Streamlit's header shows the running job on every page; the page
does not move when a job starts or ends.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Literal

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import intake, markup
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import duration
from vocadapt.ui.frame import address, mistakes
from vocadapt.ui.frame.pages import find_link
from vocadapt.ui.serving import paths

UPDATE_SECONDS = 1.0  # seconds between two updates of a running job
MAX_JOBS = 12  # number of newest jobs that are read
LISTED_SECONDS = 300.0  # time for which the sidebar lists an ended job
FORCE_AFTER = 10.0  # seconds after a request to cancel until a stop by force is offered
DISMISSED = "dismissed_job"
JOB = "jobs_job"  # query parameter: the job that the page shows
STRIP_KEY = "job_strip"  # markup_style positions this container
ICONS = {
    "waiting": ":material/hourglass_empty:",
    "running": ":material/play_circle:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "canceled": ":material/cancel:",
    "interrupted": ":material/power_off:",
}
COLORS = {"running": "blue", "done": "green", "failed": "violet", "interrupted": "violet"}
CHIPS = {
    state: f":{COLORS.get(state, 'gray')}-badge[{icon} {state}]" for state, icon in ICONS.items()
}

DrawJob = Callable[[queue.Job, Status], None]  # draws a running job


def start(workspace: Workspace, spec: Spec, name: str, form: str = "") -> None:
    """Start a job and rerun the page, which then shows its panel; the job takes over the uploads of
    `form`.
    """
    launch(workspace, spec, name)
    intake.clear_uploads(form)
    st.rerun()


def launch(workspace: Workspace, spec: Spec, name: str) -> queue.Job:
    """Start a job; raise InputError if it would read a path that pages may not open."""
    paths.check_inputs(spec)
    return queue.start(workspace, spec, name)


def draw_job_panel(workspace: Workspace, steps: Collection[str]) -> None:
    """Draw the newest job of these steps, unless it is done or was dismissed."""
    jobs = (job for job in queue.list_jobs(workspace, MAX_JOBS) if job.spec.step in steps)
    job = next(jobs, None)
    if job is None or st.session_state.get(DISMISSED) == job.id:
        return
    status = job.status()
    if status.alive:
        st.fragment(_draw_queue, run_every=UPDATE_SECONDS)([job], "job_panel", _draw_job)
    elif status.state != "done":
        draw_ended_job(workspace, job, status)


def draw_running(workspace: Workspace, step: str, key: str, draw: DrawJob) -> None:
    """Draw the running job of a step with `draw`, in a container with this key, and the waiting jobs
    below it; then the newest ended job if it is unfinished.
    """
    found = [
        (job, job.status()) for job in queue.list_jobs(workspace, MAX_JOBS) if job.spec.step == step
    ]
    # 1. The jobs that run or wait, oldest first.
    alive = sorted((job for job, status in found if status.alive), key=lambda job: job.id)
    if alive:
        st.fragment(_draw_queue, run_every=UPDATE_SECONDS)(alive, key, draw)
    # 2. The newest ended job, if it can be resumed.
    last = next(((job, status) for job, status in found if not status.alive), None)
    if last and last[1].state != "done" and st.session_state.get(DISMISSED) != last[0].id:
        draw_ended_job(workspace, *last)


def describe_queue(workspace: Workspace) -> str:
    """Describe the jobs that would run before a new one; "" if there are none."""
    alive = [job for job in queue.list_jobs(workspace, MAX_JOBS) if job.status().alive]
    if not alive:
        return ""
    names = ", ".join(plain(job.target.name) for job in alive[:3])
    return f"A new job would wait for {len(alive)} job{'s' * (len(alive) > 1)} ({names})."


def draw_sidebar_jobs(workspace: Workspace) -> None:
    """Draw the running and waiting jobs and those that ended within the last minutes in the sidebar."""
    shown = [job for job in queue.list_jobs(workspace, MAX_JOBS) if _is_recent(job.status())]
    alive = {job.id for job in shown if job.status().alive}
    if shown:
        st.fragment(_draw_sidebar_jobs, run_every=UPDATE_SECONDS if alive else None)(shown, alive)


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


def format_title(job: queue.Job) -> str:
    """Format what a job does and the name of its result as one line of Markdown."""
    return f"**{job.spec.declaration.about}** · {plain(job.target.name)}"


def describe_pace(job: queue.Job, status: Status) -> str:
    """Describe the elapsed time, and the remaining time if the step has a steady pace; for a waiting
    job, name the job before it.
    """
    if status.state == "waiting":
        before = job.waits_for()
        return f"waiting for {format_title(before)}" if before else "about to start"
    time = duration(status.seconds)
    # The pace of a training is not steady: its own page shows a better estimate.
    if job.spec.declaration.steady and status.seconds_left is not None:
        time += f", about {duration(status.seconds_left)} left"
    return time


def draw_progress(status: Status) -> None:
    """Draw the progress bar of a running or waiting job."""
    default = "in the queue" if status.state == "waiting" else "starting …"
    st.progress(
        status.fraction or 0.0, text=plain(mistakes.format_message(status.message)) or default
    )


def draw_running_job(job: queue.Job, status: Status, line: str) -> None:
    """Draw a line of Markdown about a running job, its cancel button, and its progress bar."""
    words, button = st.columns([5, 1], vertical_alignment="center")
    words.markdown(line)
    with button:
        draw_cancel_button(job, "cancel")
    draw_progress(status)


def draw_cancel_button(
    job: queue.Job, key: str, width: Literal["stretch", "content"] = "stretch"
) -> None:
    """Draw the button that cancels a job, or stops it by force if it has not reacted for a while."""
    seconds, label = job.seconds_since_cancel_request, "Cancel"
    if seconds is not None:
        label = "Canceling …" if seconds < FORCE_AFTER else "Stop by force"
    st.button(
        label,
        key=f"{key}_{job.id}",
        width=width,
        disabled=label == "Canceling …",
        on_click=_request_cancel,
        args=(job,),
    )


def _request_cancel(job: queue.Job) -> None:
    try:
        job.cancel(grace=0)
    except InputError as error:  # a callback cannot draw a message on the page
        st.toast(plain(mistakes.format_in_one_line(error)), icon=":material/error:")


def draw_resume_button(workspace: Workspace, job: queue.Job, key: str) -> None:
    """Draw the button that resumes an unfinished job."""
    help = "Starts from the beginning: the step left no checkpoint."
    if job.has_checkpoint:
        help = "Continues from the last checkpoint."
    if st.button("Resume", key=f"{key}_{job.id}", icon=":material/play_arrow:", help=help):
        with mistakes.show_errors():
            queue.resume(workspace, job)
            st.rerun()


def draw_link(job: queue.Job, label: str, icon: str | None = None) -> None:
    """Draw a link to a job on the page Jobs."""
    page, parameters = find_link("jobs", **{JOB: job.id}, **address.here())
    st.page_link(page, label=label, icon=icon, query_params=parameters)


def _draw_job(job: queue.Job, status: Status) -> None:
    draw_running_job(job, status, f"{format_title(job)} · {describe_pace(job, status)}")


def _draw_queue(alive: list[queue.Job], key: str, draw: DrawJob) -> None:
    """Draw the running job with `draw`, and the waiting ones below it, with their cancel buttons."""
    # If a job has ended, rerun the whole page to show its result.
    statuses = {job.id: job.status() for job in alive}
    if not all(status.alive for status in statuses.values()):
        st.rerun()
    # The running job comes first; the sort is stable, so the others keep the order of the queue.
    first, *others = sorted(alive, key=lambda job: statuses[job.id].state != "running")
    with st.container(border=True, key=key):
        draw(first, statuses[first.id])
        for job in others:
            line, button = st.columns([5, 1], vertical_alignment="center")
            line.markdown(f"{CHIPS[statuses[job.id].state]} {format_title(job)}")
            with button:
                draw_cancel_button(job, "cancel")


def _is_recent(status: Status) -> bool:
    return status.alive or time.time() - status.updated < LISTED_SECONDS


def _draw_sidebar_jobs(shown: list[queue.Job], alive: set[str]) -> None:
    statuses = {job.id: job.status() for job in shown}
    # If a job has ended, rerun the whole page.
    if any(not statuses[id].alive for id in alive):
        st.rerun()
    for job in sort_by_urgency(shown, statuses):
        status = statuses[job.id]
        if not status.alive:
            draw_link(job, f"{status.state} · {plain(job.target.name)}", ICONS[status.state])
            continue
        with st.container(border=True, gap="xsmall"):
            st.markdown(f"{CHIPS[status.state]}  \n{format_title(job)}")
            draw_progress(status)
            with st.container(horizontal=True, vertical_alignment="center"):
                draw_cancel_button(job, "stop", "content")
                draw_link(job, "Details")


def draw_ended_job(workspace: Workspace, job: queue.Job, status: Status) -> None:
    """Draw a job that failed, was canceled or was interrupted, with buttons to resume or dismiss it."""
    with st.container(border=True, key="job_panel"):
        draw_message = st.info if status.state == "canceled" else st.error
        draw_message(
            f"{job.spec.declaration.about} · {plain(job.target.name)} · {status.state}",
            icon=":material/info:",
        )
        for line in filter(None, (status.error, status.remedy)):
            st.text(mistakes.format_message(line))  # no Markdown: the message may quote a file
        with st.container(horizontal=True, vertical_alignment="center"):
            draw_resume_button(workspace, job, "resume")
            if st.button("Dismiss", key=f"dismiss_{job.id}"):
                st.session_state[DISMISSED] = job.id
                st.rerun()
            draw_link(job, "Log and settings")


def draw_header_strip(workspace: Workspace) -> None:
    """Draw the status of the running job in the header of a page, updated every second."""
    alive = any(job.status().alive for job in queue.list_jobs(workspace, MAX_JOBS))
    st.fragment(_draw_strip, run_every=UPDATE_SECONDS if alive else None)(workspace)


def build_strip(job: queue.Job, status: Status, waiting: int) -> markup.Strip:
    """Build the strip of a job: step, name of the result, progress, time and number of waiting jobs."""
    done = min(max(status.fraction or 0.0, 0.0), 1.0)
    progress = "waiting"
    if status.state != "waiting":
        time = f"{duration(status.seconds)} so far"
        # The pace of a step that is not steady varies too much for an estimate.
        if job.spec.declaration.steady and status.seconds_left is not None:
            time = f"about {duration(status.seconds_left)} left"
        progress = f"{100 * done:.0f} % · {time}"
    if waiting:
        progress += f" · {waiting} waiting"
    return markup.Strip(job.spec.declaration.about, job.target.name, progress, done)


def _draw_strip(workspace: Workspace) -> None:
    """Draw the running job, or the first waiting one; draw an empty strip if there is none, because
    the page must not move.
    """
    found = queue.list_jobs(workspace, MAX_JOBS)
    statuses = {job.id: job.status() for job in found}
    alive = [job for job in sort_by_urgency(found, statuses) if statuses[job.id].alive]
    with st.container(key=STRIP_KEY, horizontal=True, vertical_alignment="center"):
        if not alive:
            markup.draw_strip(None)
            return
        first = alive[0]
        markup.draw_strip(build_strip(first, statuses[first.id], len(alive) - 1))
        page, parameters = find_link("jobs", **{JOB: first.id}, **address.here())
        st.page_link(page, label="Details", query_params=parameters, width="content")
