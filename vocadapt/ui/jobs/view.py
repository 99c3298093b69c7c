"""Blocks of the part Jobs: the list of jobs and the selected job, the links to the pages of their
results, and the forms of steps without a page of their own.

The list and the selected job are a fragment that reruns every second while a job runs or waits.
"""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from itertools import groupby
from typing import Literal

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import METRICS, Status, read_metrics
from vocadapt.lab.steps.step import STEPS, Role, Spec, Step
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_command,
    draw_downloads,
    draw_figure,
    draw_heading,
    draw_json,
    draw_metrics,
    open_details,
)
from vocadapt.ui.components.markup import escape_invisible, plain
from vocadapt.ui.components.number_formats import count, duration
from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.ui.frame import mistakes
from vocadapt.ui.frame.names import icon_of, label_of, shown_model
from vocadapt.ui.jobs import overview, panel, results
from vocadapt.ui.jobs.results import RESULT, STEP
from vocadapt.ui.storage.view import draw_rename_form

FIRST = 15  # jobs listed by default
REDRAW = 20  # lines of metrics.jsonl after which the progress of a running job is drawn again
MAX_ID_LENGTH = 80  # characters of an id in a message
LOG_LINES, LOG_HEIGHT = 200, 300  # number of lines, pixels


def draw_jobs(workspace: Workspace) -> None:
    """Draw the list of jobs, running and waiting ones first, and the job in the address, or else the
    first of the list.
    """
    found = queue.list_jobs(workspace)
    if not found:
        pickers.draw_empty_state(
            "There are no jobs in this workspace yet.",
            (
                "Long steps run as jobs: they continue when this page is closed, and are listed"
                " here. To start one, import a text."
            ),
            "text",
            "Start with a text",
        )
        return
    # The fragment reruns by itself only while a job is alive.
    alive = any(job.status().alive for job in found)
    st.fragment(_draw_board, run_every=panel.UPDATE_SECONDS if alive else None)(workspace, alive)


def _draw_board(workspace: Workspace, was_alive: bool) -> None:
    jobs = queue.list_jobs(workspace)
    statuses = {job.id: job.status() for job in jobs}
    if was_alive != any(status.alive for status in statuses.values()):
        st.rerun()  # start or stop updating every second
    # 1. How many there are, and the list: the running one, waiting ones, then the newest.
    found = overview.sort_by_urgency(jobs, statuses)
    _draw_counts(statuses.values())
    selected = _find_selected_job(found)
    listed = found
    if not st.session_state.get("all_jobs"):
        listed = found[:FIRST]
    names = panel.find_job_names([*listed, selected])
    with st.container(key="va_stacked_jobs"):
        left, right = st.columns([1, 1.5], gap="large")
    with left:
        for job in listed:
            _draw_line(job, statuses[job.id], names[job.id], job.id == selected.id)
        if len(found) > FIRST:
            st.toggle(
                f"All {count(len(found))} jobs",
                key="all_jobs",
                help=f"Shows all jobs instead of the first {FIRST}.",
            )
    with right:
        _draw_job(workspace, selected, statuses[selected.id], names[selected.id])


def _draw_counts(statuses: Collection[Status]) -> None:
    """Draw how many jobs run, wait and have ended."""
    counts = Counter(status.state for status in statuses)
    shown = ("running", "waiting", "done")
    others = counts.total() - sum(counts[state] for state in shown)
    draw_metrics(
        *((state.capitalize(), count(counts[state]), None, None) for state in shown),
        ("Failed or canceled", count(others), None, None),
    )


def _find_selected_job(found: list[queue.Job]) -> queue.Job:
    """Return the job in the address, or else the first of the list."""
    requested = st.query_params.get(panel.JOB)
    job = next((job for job in found if job.id == requested), None)
    if requested and job is None:
        st.warning(
            f"There is no job {plain(requested[:MAX_ID_LENGTH])} in this workspace. Another one is shown.",
            icon=":material/info:",
        )
    return job or found[0]


def _draw_line(job: queue.Job, status: Status, name: str, selected: bool) -> None:
    with st.container(border=True, gap="xsmall"):
        words, button = st.columns([2, 1], vertical_alignment="center")
        words.markdown(
            f"{panel.format_chip(status)} **{job.spec.declaration.about}**  \n"
            f"{icon_of(job.spec.kind)} {plain(name)}"
            f" :small[:gray[· {_describe_when(job, status)}]]"
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
    st.query_params[panel.JOB] = job_id


def _describe_when(job: queue.Job, status: Status) -> str:
    """Describe when a job ran, and for how long."""
    if status.alive:
        return panel.describe_pace(job, status)
    how_long = duration(status.seconds) if status.started else "never ran"
    return f"{datetime.fromtimestamp(status.updated):%d %b %H:%M} · {how_long}"


def _draw_job(workspace: Workspace, job: queue.Job, status: Status, name: str) -> None:
    """Draw one job: its step, progress, actions, log, and details."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        draw_heading(f"{job.spec.declaration.about} · {plain(name)}", anchor=False)
        st.markdown(panel.format_chip(status), width="content")
    # 1. Its state, its earlier runs, and why it failed.
    runs = [f"{state} {datetime.fromtimestamp(when):%d %b %H:%M}" for state, when in status.past]
    earlier = f"earlier: {', '.join(runs)} · " if runs else ""
    st.markdown(f":gray[{earlier}{_describe_when(job, status)}]")
    if status.alive:
        panel.draw_progress(status)
    if status.error:
        st.error(plain(mistakes.format_message(status.error)), icon=":material/error:")
    if status.remedy:
        st.text(mistakes.format_message(status.remedy))
    # 2. What can be done, and the progress over time.
    _draw_actions(workspace, job, status)
    _draw_progress_curve(job, status.alive)
    # 3. The end of the log; a short one has no scroll bar.
    log = job.log(LOG_LINES)
    title = "Log"
    if len(log.splitlines()) >= LOG_LINES:
        title = f"The last {LOG_LINES} lines of the log"
    st.markdown(title)
    height: int | Literal["content"] = "content"
    if len(log) > 800:
        height = LOG_HEIGHT
    with st.container(height=height, border=False, autoscroll=True):
        st.code(
            "\n".join(map(escape_invisible, log.split("\n"))) or "The log is empty.",
            language=None,
            wrap_lines=True,
        )
    _draw_details(job)


def _draw_actions(workspace: Workspace, job: queue.Job, status: Status) -> None:
    """Draw the button to cancel or resume a job, or the link to the page of its result, and the form
    that renames it.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        if status.alive:
            panel.draw_cancel_button(job, "end", "content")
        elif status.state != "done":
            panel.draw_resume_button(workspace, job, "again")
        elif job.finished:
            results.draw_result_link(job, "Show result")
        with st.popover("Rename …", icon=":material/edit:"), mistakes.show_errors():
            if draw_rename_form(workspace, job):
                st.rerun()


def _draw_progress_curve(job: queue.Job, alive: bool) -> None:
    """Draw the progress over time, with one curve for each run of the job.

    The curve of a running job is updated only every few lines, to prevent flicker.
    """
    lines = [line for line in read_metrics(job.folder) if line["fraction"] is not None]
    if alive:
        lines = lines[: len(lines) // REDRAW * REDRAW]
    # Fewer than three points are not worth a curve.
    if len(lines) < 3:
        return
    curves = []
    # A resumed job starts a new curve: in a joined one, the pause would look like slow progress.
    for _, group in groupby(lines, key=lambda line: line["run"]):
        run = list(group)
        curves.append(([line["seconds"] for line in run], [line["fraction"] for line in run]))
    last = lines[-1]
    alt = (
        f"Progress of the job by time: {100 * last['fraction']:.0f} % after"
        f" {duration(last['seconds'])}."
    )
    draw_figure(figures.plot_progress(curves), f"progress_{job.id}", alt)


def _draw_details(job: queue.Job) -> None:
    with open_details():
        if job.command:
            draw_command(job.command, "The same step in a terminal")
        draw_command(
            f"python -m vocadapt jobs show {job.id} --workspace {job.folder.parents[1]}",
            "The job in a terminal",
        )
        st.markdown("Job folder and result folder")
        st.code(f"{job.folder}\n{job.target}", language=None, wrap_lines=True)
        draw_json(job.order["spec"], "Settings")
        files = {
            name: job.folder / name for name in ("spec.json", "status.json", METRICS, "log.txt")
        }
        draw_downloads(
            {name: path.read_bytes for name, path in files.items() if path.is_file()}, f"_{job.id}"
        )


def draw_more_steps(workspace: Workspace) -> None:
    """Draw a picker of the steps without a page, the form of the selected step, and the figures and
    files of a result.
    """
    # 1. The steps without a page: those of vocabulary packs, and of extensions.
    offered = {step.about: step for step in STEPS.values() if not step.part}
    if not offered:
        return
    draw_heading("More steps", anchor=False)
    step = pickers.pick_named("Step", STEP, offered, help="Selects a step to run as a job.")
    if step is None:
        return
    with mistakes.show_errors():
        _draw_form(workspace, step)
    # 2. The figures and files of a result.
    made = workspace.artifacts(step.makes)
    if made:
        artifact = pickers.pick("Result", made, RESULT, newest=True)
        pickers.warn_if_stale(artifact, workspace)
        figures = artifact.manifest.numbers.items()
        st.markdown(
            " · ".join(f"{plain(name)}: **{plain(str(value))}**" for name, value in figures)
        )
        files = {name: (artifact.folder / name).read_bytes for name in artifact.manifest.files}
        draw_artifact_details(artifact, files)


def _draw_form(workspace: Workspace, step: Step) -> None:
    key = f"jobs_{step.name}"
    if step.description:
        st.markdown(plain(step.description))
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        first = _choose_first_inputs(workspace, step)
        inputs = {
            role.name: _pick_input(workspace, role, key, first.get(role.name, ""))
            for role in step.roles.values()
        }
        settings = draw_settings(st, step.settings(), key)
    with right:
        spec = None
        if all(inputs[role.name] for role in step.needs):
            spec = Spec(step.name, settings, inputs)
        name = panel.draw_start(
            workspace, step.makes, spec, step.name, "Start", f"{key}_start", f"{key}_name"
        )
        if spec and name:
            panel.start(workspace, spec, name)


def _choose_first_inputs(workspace: Workspace, step: Step) -> dict[str, str]:
    """Return the folder or hub name that is selected first for each required role, "" for none.

    The first one that is offered; for a role with a source role, the newest suitable artifact, and
    what it was made from.
    """
    first = {
        role.name: next(iter(_list_offered(workspace, role).values()), "")
        for role in step.needs
        if role.kind
    }
    for role in step.needs:
        if not role.source_role:
            continue
        first[role.name] = first[role.source_role] = ""
        for one in workspace.artifacts(role.kind):
            source = one.manifest.inputs.get(role.source_role)
            if source is not None and role.is_suitable(one):
                first[role.name] = str(one.folder)
                first[role.source_role] = str(workspace.root / source.paths[0])
                break
    return first


def _list_offered(workspace: Workspace, role: Role) -> dict[str, str]:
    """Return the artifacts that are offered for a role, display name → folder or hub name."""
    if role.kind == "models":
        return pickers.models_of(workspace)
    return {one.name: str(one.folder) for one in workspace.artifacts(role.kind)}


def _pick_input(workspace: Workspace, role: Role, key: str, first: str) -> tuple[str, ...]:
    """Draw the input of a role; return its paths, () if there are none.

    first: folder or hub name that is selected first, "" for none.
    """
    key, kinds = f"{key}_{role.name}", (role.kind,)
    # The input of a role without a kind of artifact is a file.
    if not role.kind:
        path = st.text_input(role.label, key=key, help="Path of a file on this machine.").strip()
        return (path,) if path else ()
    offered = _list_offered(workspace, role)
    if first and label_of(first, offered) not in offered:
        offered[shown_model(first)] = first
    shown = label_of(first, offered) if first else ""
    help = "Selects from this workspace; or type a path on this machine."
    if role.several:
        chosen = pickers.pick_several(
            workspace, role.label, offered, key, lambda: list(filter(None, [shown])), kinds
        )
        return tuple(chosen.values())
    path = pickers.pick_or_type(workspace, role.label, offered, key, shown, help=help, kinds=kinds)
    return (path,) if path else ()
