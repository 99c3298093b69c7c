"""Parts of the page Jobs: the list, and the selected job; a fragment that reruns every second while
a job runs or waits.
"""

import json
from datetime import datetime
from itertools import groupby
from typing import Literal

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.queue import Job
from vocadapt.lab.jobs.status import METRICS, Status, read_metrics
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_command, draw_downloads, draw_figure, open_details
from vocadapt.ui.components.markup import escape_invisible, plain
from vocadapt.ui.components.number_formats import duration
from vocadapt.ui.frame import mistakes, result_pages
from vocadapt.ui.frame.address import here
from vocadapt.ui.jobs import panel
from vocadapt.ui.jobs.panel import CHIPS, EVERY, JOB

FIRST = 15  # jobs listed by default
REDRAW = 20  # lines of metrics.jsonl between two drawings of a running job's progress
MAX_ID_LENGTH = 80  # characters of an id in a message
LINES, HEIGHT = 200, 300  # of the log; pixels


def draw_jobs(workspace: Workspace) -> None:
    """Draw the list of jobs, newest first, and the one in the address, else the newest."""
    found = queue.list_jobs(workspace)
    if not found:
        pickers.draw_empty_state(
            "There are no jobs in this workspace yet.",
            (
                "Long steps run as jobs: they continue when this page is closed, and are listed"
                " here. To start one, import a text."
            ),
            "pages/words/vectors.py",
            "Start with a text",
        )
        return
    alive = any(job.status().alive for job in found)
    st.fragment(_board, run_every=EVERY if alive else None)(workspace, alive)


def _board(workspace: Workspace, was_alive: bool) -> None:
    found = queue.list_jobs(workspace)
    stands = {job.id: job.status() for job in found}
    if was_alive != any(status.alive for status in stands.values()):
        st.rerun()  # the fragment starts or stops to update every second
    selected = _selected_job(found)
    left, right = st.columns([1, 1.5], gap="large")
    with left:
        _list(found, stands, selected)
    with right:
        _draw_job(workspace, selected, stands[selected.id])


def _selected_job(found: list[Job]) -> Job:
    """Return the job in the address; the newest if there is none."""
    requested = st.query_params.get(JOB)
    job = next((job for job in found if job.id == requested), None)
    if requested and job is None:
        st.warning(
            f"There is no job {plain(requested[:MAX_ID_LENGTH])} in this workspace. This is the newest.",
            icon=":material/info:",
        )
    return job or found[0]


def _list(found: list[Job], stands: dict[str, Status], selected: Job) -> None:
    listed = found[:FIRST]
    if st.session_state.get("all_jobs"):
        listed = found
    for job in listed:
        _line(job, stands[job.id], job.id == selected.id)
    if len(found) > FIRST:
        st.toggle(
            f"All {len(found)} jobs",
            key="all_jobs",
            help=f"Shows all jobs instead of the newest {FIRST}.",
        )


def _line(job: Job, status: Status, selected: bool) -> None:
    with st.container(border=True, gap="xsmall"):
        words, button = st.columns([3.4, 1], vertical_alignment="center")
        about, name = panel.titles(job)
        words.markdown(
            f"{CHIPS[status.state]} **{about}**  \n{name} :small[:gray[· {_when(job, status)}]]"
        )
        button.button(
            "Shown" if selected else "Show",
            key=f"look_{job.id}",
            disabled=selected,
            width="stretch",
            on_click=_select,
            args=(job.id,),
        )
        if status.state == "running":
            st.progress(status.fraction or 0.0)


def _select(job_id: str) -> None:
    st.query_params[JOB] = job_id


def _when(job: Job, status: Status) -> str:
    """Describe when a job ran, and for how long."""
    if status.alive:
        return panel.pace(job, status)
    how_long = duration(status.seconds) if status.started else "never ran"
    return f"{datetime.fromtimestamp(status.updated):%d %b %H:%M} · {how_long}"


def _draw_job(workspace: Workspace, job: Job, status: Status) -> None:
    """Draw one job: its step, progress, actions, log, and the folded block."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.subheader(" · ".join(panel.titles(job)), anchor=False)
        st.markdown(CHIPS[status.state], width="content")
    st.markdown(f":gray[{_story(job, status)}]")
    if status.alive:
        panel.draw_progress(status)
    if status.error:
        st.error(plain(mistakes.format_message(status.error)), icon=":material/error:")
    if status.remedy:
        st.text(mistakes.format_message(status.remedy))
    _actions(workspace, job, status)
    _draw_picture(job, status.alive)
    log = job.log(LINES)
    title = "Log"
    if len(log.splitlines()) >= LINES:
        title = f"The last {LINES} lines of the log"
    st.markdown(title)
    height: int | Literal["content"] = "content"
    if len(log) > 800:
        height = HEIGHT
    with st.container(height=height, border=False, autoscroll=True):
        st.code(
            "\n".join(map(escape_invisible, log.split("\n"))) or "The log is empty.",
            language=None,
            wrap_lines=True,
        )
    _details(job)


def _story(job: Job, status: Status) -> str:
    """Describe the earlier runs of a job, and the current or last one."""
    current = panel.pace(job, status) if status.alive else _when(job, status)
    if not status.past:
        return current
    runs = [f"{state} {datetime.fromtimestamp(when):%d %b %H:%M}" for state, when in status.past]
    return f"earlier: {', '.join(runs)} · {current}"


def _actions(workspace: Workspace, job: Job, status: Status) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if status.alive:
            panel.cancel_button(job, "end", "content")
        elif status.state != "done":
            panel.resume_button(workspace, job, "again")
        elif job.finished:
            _see(job)


def _see(job: Job) -> None:
    """Link to the page of a job's result."""
    page, address = result_pages.find_result_page(job)
    st.page_link(
        page,
        label="Show result",
        icon=":material/arrow_forward:",
        query_params={**address, **here()},
    )


def _draw_picture(job: Job, alive: bool) -> None:
    """Draw the progress over time, one line per run; of a running job only every few lines, so that
    it does not flicker.
    """
    lines = [line for line in read_metrics(job.folder) if line["fraction"] is not None]
    if alive:
        lines = lines[: len(lines) // REDRAW * REDRAW]
    if len(lines) < 3:
        return
    curves = []
    for _, group in groupby(lines, key=lambda line: line["run"]):
        run = list(group)
        curves.append(([line["seconds"] for line in run], [line["fraction"] for line in run]))
    draw_figure(figures.plot_progress(curves), f"progress_{job.id}")


def _details(job: Job) -> None:
    with open_details():
        if job.command:
            st.markdown("The same step in a terminal")
            draw_command(job.command)
        st.markdown("The job in a terminal")
        draw_command(f"python -m vocadapt jobs show {job.id} --workspace {job.folder.parents[1]}")
        st.markdown("Job folder and result folder")
        st.code(f"{job.folder}\n{job.target}", language=None, wrap_lines=True)
        st.markdown("Settings")
        st.code(json.dumps(job.order["spec"], indent=1, ensure_ascii=False), language="json")
        names = ("spec.json", "status.json", METRICS, "log.txt")
        files = {name: job.folder / name for name in names}
        draw_downloads(
            {name: path.read_bytes for name, path in files.items() if path.is_file()}, f"_{job.id}"
        )
