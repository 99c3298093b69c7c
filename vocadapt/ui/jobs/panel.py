"""Blocks about jobs on any part: start one, show its progress, cancel or resume it, say why it
failed.

Pages never wait for a job. A running job is the state of its page: `draw_job_panel` shows it at the
top of each part whose steps it belongs to, `forms.draw_start` shows it instead of the button that
would do the same again, and `pickers.draw_empty_state` is silent. On other pages it is in the
header and in the sidebar (`jobs.overview`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.renames import find_id
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.shared_queue import count_jobs_before
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.notes import find_name
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import intake, mistakes
from vocadapt.ui.state import address, paths
from vocadapt.ui.state.names import display_name, list_display_names
from vocadapt.ui.state.pages import Part, find_link
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count_noun, duration

UPDATE_SECONDS = 2.0  # seconds between two updates of a running job
MAX_JOBS = 12  # number of newest jobs that are read
FORCE_AFTER = 10.0  # seconds after a request to cancel until a stop by force is offered
DISMISSED = "dismissed_job"  # session key: id of a failed job that is no longer shown
WATCHED = "watched_jobs"  # session key: id of a job -> part whose form started it, "" if none
JOB = "jobs_job"  # query parameter: the job that the page shows
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


def format_chip(status: Status) -> str:
    """Format the state of a job as a badge; of one that is done, what its result came to."""
    if status.outcome:
        return f":violet-badge[{find_icon(status)} {status.title}]"
    return CHIPS[status.state]


def find_icon(status: Status) -> str:
    """Return the icon of the state of a job."""
    return ":material/warning:" if status.outcome else ICONS[status.state]


ButtonKind = Literal["primary", "secondary"]
DrawJob = Callable[[queue.Job, Status], None]  # draws a running job


def start(workspace: Workspace, spec: Spec, name: str, form: str = "") -> None:
    """Start a job and rerun the page; the job takes over the uploads of `form`."""
    launch(workspace, spec, name)
    intake.clear_uploads(form)
    st.rerun()


def launch(workspace: Workspace, spec: Spec, name: str) -> queue.Job:
    """Start a job, as `start` does, without a rerun; the same settings twice are one job.

    Raises InputError if it would read a path that pages may not open.
    """
    paths.check_inputs(spec)
    job = queue.start(workspace, spec, name, once=True)
    # When it has ended, the part that started it shows its result (`jobs.results`).
    st.session_state.setdefault(WATCHED, {})[job.id] = address.find_open_part()
    return job


def draw_if_running(workspace: Workspace, *specs: Spec) -> bool:
    """Return whether living jobs do all of this already; if so, draw their names, with links."""
    same = [queue.find_same_job(workspace, spec) for spec in specs]
    jobs = [job for job in same if job]
    if not specs or len(jobs) < len(specs):
        return False
    for job in jobs:
        with st.container(horizontal=True, vertical_alignment="center"):
            # Not its state: this block is not drawn again when a waiting job starts.
            st.markdown(
                f":blue-badge[:material/sync: in progress] {format_title(job)}", width="content"
            )
            draw_link(job, "Details")
    return True


def draw_if_made(workspace: Workspace, *specs: Spec) -> bool:
    """Return whether jobs have made all of this already; if so, draw the names of the results."""
    made = [queue.find_same_result(workspace, spec) for spec in specs]
    names = [f"**{plain(display_name(workspace, one.kind, one.name))}**" for one in made if one]
    if not specs or len(names) < len(specs):
        return False
    st.markdown(f":material/info: Already made: {', '.join(names)}.")
    return True


def draw_job_panel(workspace: Workspace, part: Part) -> None:
    """Draw the living jobs of the steps of a part, unless it draws them itself; else the newest job
    if it has failed or was stopped, until it is dismissed.

    A study or search that was stopped is continued on its own page, so only its failure is drawn.
    """
    steps = part.steps
    if part.shows_running:
        draw_running(workspace, steps, "running_jobs", draw_running_job, "content")
    jobs = (job for job in queue.list_jobs(workspace, MAX_JOBS) if job.spec.step in steps)
    job = next(jobs, None)
    if job is None or st.session_state.get(DISMISSED) == job.id:
        return
    status = job.status()
    if job.spec.declaration.grows and status.state != "failed":
        return
    if not status.alive and status.state != "done":
        draw_ended_job(workspace, job, status)


def draw_running(
    workspace: Workspace,
    steps: Collection[str],
    key: str,
    draw: DrawJob,
    height: int | Literal["content"],
) -> None:
    """Draw the running job of these steps with `draw`, in a container with this key, and the
    waiting jobs below it.

    height: fixed height of the running job in pixels, so that the form below does not move.
    """
    alive = [job for job in queue.list_living_jobs(workspace) if job.spec.step in steps]
    if alive:
        st.fragment(_draw_queue, run_every=UPDATE_SECONDS)(alive, key, draw, height)


def format_title(job: queue.Job, name: str = "") -> str:
    """Format what a job does and its name as one line of Markdown; the name is looked up if it is
    not given.
    """
    return f"**{job.spec.declaration.about}** · {plain(name or find_job_name(job))}"


def find_job_name(job: queue.Job) -> str:
    """Return the display name of a job: its own, or else that of its result."""
    return find_job_names([job])[job.id]


def find_job_names(jobs: Iterable[queue.Job]) -> dict[str, str]:
    """Return the display names of jobs by the ids of the jobs, each its own, or else that of its
    result; the artifacts of a kind are listed once.
    """
    listed: dict[str, dict[str, str]] = {}
    found = {}
    for job in jobs:
        kind, name = job.spec.kind, job.target.name
        if kind not in listed:
            listed[kind] = list_display_names(job.workspace, kind)
        own = find_name(job.workspace, find_id(job))
        found[job.id] = own or listed[kind].get(name, name)
    return found


def sort_living(jobs: Iterable[queue.Job], statuses: Mapping[str, Status]) -> list[queue.Job]:
    """Return the running job, then the waiting jobs in the order of the queue."""
    living = [job for job in jobs if statuses[job.id].alive]
    # Ids begin with the start time, so their order is that of the queue.
    return sorted(living, key=lambda job: (statuses[job.id].state != "running", job.id))


def describe_pace(job: queue.Job, status: Status) -> str:
    """Describe the elapsed and the remaining time; for a waiting job, name the job before it."""
    if status.state == "waiting":
        before = job.waits_for()
        if before:
            return f"waiting for {format_title(before)}"
        others = count_jobs_before(job.folder)
        if others:
            return f"waiting for {count_noun(others, 'job')} of other visitors"
        return "about to start"
    time = duration(status.seconds)
    left = status.estimate_seconds_left()
    if left is not None:
        time += f", about {duration(left)} left"
    return time


def draw_progress(status: Status) -> None:
    """Draw the progress bar of a running or waiting job."""
    default = "in the queue" if status.state == "waiting" else "starting …"
    st.progress(
        status.fraction or 0.0, text=plain(mistakes.format_message(status.message)) or default
    )


def draw_framed_job(job: queue.Job) -> None:
    """Draw the progress of a running job in a frame, and the button that cancels it."""
    with st.container(border=True):
        draw_running_job(job, job.status())


def draw_running_job(job: queue.Job, status: Status, line: str = "") -> None:
    """Draw a line of Markdown about a running job, its cancel button, and its progress bar.

    line: by default, the state, the title and the time of the job.
    """
    pace = f":small[:gray[· {describe_pace(job, status)}]]"
    words, button = st.columns([5, 1], vertical_alignment="center")
    words.markdown(line or f"{CHIPS[status.state]} {format_title(job)} {pace}")
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
    """Draw the button that resumes an unfinished job, unless it would fail again."""
    if not job.may_succeed:
        return
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


def _draw_queue(
    alive: list[queue.Job], key: str, draw: DrawJob, height: int | Literal["content"]
) -> None:
    """Draw the running job with `draw`, and the waiting ones below it, with their cancel buttons."""
    # If a job has ended, rerun the whole page to show its result.
    statuses = {job.id: job.status() for job in alive}
    if not all(status.alive for status in statuses.values()):
        st.rerun()
    first, *others = sort_living(alive, statuses)
    names = find_job_names(others)
    # A waiting job has no curves yet: no room is kept for them.
    room = height if statuses[first.id].state == "running" else "content"
    with st.container(border=True, key=key):
        with st.container(height=room, border=False):
            draw(first, statuses[first.id])
        for job in others:
            line, button = st.columns([5, 1], vertical_alignment="center")
            line.markdown(f"{CHIPS[statuses[job.id].state]} {format_title(job, names[job.id])}")
            with button:
                draw_cancel_button(job, "cancel")


def draw_ended_job(workspace: Workspace, job: queue.Job, status: Status) -> None:
    """Draw a job that failed, was canceled or was interrupted, with buttons to resume or dismiss
    it.
    """
    with st.container(border=True, key="job_panel"):
        draw_message = st.info if status.state == "canceled" else st.error
        draw_message(
            f"{job.spec.declaration.about} · {plain(find_job_name(job))} · {status.state}",
            icon=":material/info:",
        )
        for line in filter(None, (status.error, status.remedy)):
            st.text(mistakes.format_message(line))  # no Markdown: the message may quote a file
        with st.container(horizontal=True, vertical_alignment="center"):
            if not job.spec.declaration.grows:
                draw_resume_button(workspace, job, "resume")
            if st.button("Dismiss", key=f"dismiss_{job.id}"):
                st.session_state[DISMISSED] = job.id
                st.rerun()
            draw_link(job, "Log and settings")
