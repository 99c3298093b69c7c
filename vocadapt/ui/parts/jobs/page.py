"""The part Jobs: progress, logs and results of the long steps of a workspace."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime

import streamlit as st

from vocadapt.lab.experiments import STEPS
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.listing import NAME, RAN, STATE
from vocadapt.lab.jobs.status import METRICS, Status
from vocadapt.lab.steps.step import Role, Spec, Step
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.table import Column, Table
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_code,
    draw_command,
    draw_downloads,
    draw_heading,
    draw_json,
    draw_metrics,
    open_details,
)
from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.ui.components.tables import draw_row_picker
from vocadapt.ui.jobs import forms, panel, results
from vocadapt.ui.jobs.results import RESULT, STEP
from vocadapt.ui.parts.storage.page import draw_rename_form
from vocadapt.ui.state.names import icon_of, label_of, models_of, shown_model
from vocadapt.ui.text.markup import escape_invisible, plain
from vocadapt.ui.text.number_formats import count, duration

FIRST = 8  # jobs with a line of their own
MAX_ID_LENGTH = 80  # characters of an id in a message
LOG_LINES, LOG_HEIGHT = 200, 300  # number of lines, pixels


def draw(workspace: Workspace) -> None:
    """Draw the list of jobs, and the results of steps that have no page."""
    draw_jobs(workspace)
    draw_more_steps(workspace)


def draw_jobs(workspace: Workspace) -> None:
    """Draw the newest jobs, running and waiting ones first, the job in the address, or else the
    first of them, and a table of all jobs if there are more.
    """
    jobs = queue.list_jobs(workspace)
    if not jobs:
        pickers.draw_empty_state(
            "There are no jobs in this workspace yet.",
            "Long steps run as jobs: they continue when this page is closed, and are listed here."
            " To start one, import a text.",
            "text",
        )
        return
    statuses = {job.id: job.status() for job in jobs}
    ended = [job for job in jobs if not statuses[job.id].alive]
    found = [*panel.sort_living(jobs, statuses), *ended]
    _draw_counts(statuses.values())
    selected = _find_selected_job(found)
    names = panel.find_job_names(found)
    with st.container(key="va_stacked_jobs"):
        left, right = st.columns([1, 1.5], gap="large")
    # Only what can change is updated: the lines while a job lives, and the selected job while it
    # does.
    living = [job.id for job in found if statuses[job.id].alive]
    with left:
        every = panel.UPDATE_SECONDS if living else None
        draw_lines = st.fragment(_draw_lines, run_every=every)
        draw_lines(workspace, found[:FIRST], names, selected.id, living)
    with right:
        is_alive = statuses[selected.id].alive
        every = panel.UPDATE_SECONDS if is_alive else None
        st.fragment(_draw_state, run_every=every)(workspace, selected, names[selected.id], is_alive)
        _draw_details(selected)
    if len(found) > FIRST:
        _draw_table(found, statuses, names)


def _draw_lines(
    workspace: Workspace,
    jobs: list[queue.Job],
    names: Mapping[str, str],
    selected: str,
    living: list[str],
) -> None:
    """Draw a line for each job; rerun the page if a job has started or ended."""
    if living and {job.id for job in queue.list_living_jobs(workspace)} != set(living):
        st.rerun()
    for job in jobs:
        _draw_line(job, job.status(), names[job.id], job.id == selected)


def _draw_table(
    jobs: list[queue.Job], statuses: Mapping[str, Status], names: Mapping[str, str]
) -> None:
    """Draw all jobs as a table that can be searched and sorted; a selected row is shown above."""
    draw_heading(f"All {count(len(jobs))} jobs", anchor=False)
    ids = [job.id for job in jobs]
    rows = []
    for job in jobs:
        status = statuses[job.id]
        rows.append(
            {
                "title": status.title,
                "about": job.spec.declaration.about,
                "name": names[job.id],
                "updated": status.updated,
                "seconds": status.seconds if status.started else None,
            }
        )
    updated = Column("updated", "Updated", format="time")
    table = Table("", (STATE, Column("about", "Step"), NAME, updated, RAN), rows)
    draw_row_picker(table, ids, "jobs_table", "show it above", lambda place: _select(ids[place]))


def _draw_counts(statuses: Collection[Status]) -> None:
    """Draw how many jobs run, wait and have ended; those with collapsed runs are not "done"."""
    counts = Counter(status.state for status in statuses if not status.outcome)
    shown = ("running", "waiting", "done")
    figures = {state.capitalize(): counts[state] for state in shown}
    figures["With collapsed runs"] = len(statuses) - counts.total()
    figures["Failed or canceled"] = counts.total() - sum(counts[state] for state in shown)
    draw_metrics(*((label, count(number)) for label, number in figures.items()))


def _find_selected_job(found: list[queue.Job]) -> queue.Job:
    """Return the job in the address, or else the first of the list."""
    requested = st.query_params.get(panel.JOB)
    job = next((job for job in found if job.id == requested), None)
    if requested and job is None:
        st.warning(
            f"There is no job {plain(requested[:MAX_ID_LENGTH])} in this workspace. Another one is"
            " shown.",
            icon=":material/info:",
        )
    return job or found[0]


def _draw_line(job: queue.Job, status: Status, name: str, selected: bool) -> None:
    with st.container(border=True, gap="xsmall"):
        words, button = st.columns([2, 1], vertical_alignment="center")
        words.markdown(
            f"{panel.format_chip(status)} **{job.spec.declaration.about}**  \n"
            f"{icon_of(job.spec.kind)} {plain(name)} :small[:gray[· {_describe_when(job, status)}]]"
        )
        label = "Shown" if selected else "Show"
        key = f"look_{job.id}"
        if button.button(label, key=key, disabled=selected, width="stretch"):
            _select(job.id)
            st.rerun()  # the page: the lines are a fragment, the job is beside it
        if status.state == "running":
            st.progress(status.fraction or 0.0)


def _select(job_id: str) -> None:
    st.query_params[panel.JOB] = job_id


def _describe_when(job: queue.Job, status: Status) -> str:
    if status.alive:
        return panel.describe_pace(job, status)
    how_long = duration(status.seconds) if status.started else "never ran"
    return f"{datetime.fromtimestamp(status.updated):%d %b %H:%M} · {how_long}"


def _draw_state(workspace: Workspace, job: queue.Job, name: str, was_alive: bool) -> None:
    """Draw the state of a job, what can be done, and the end of its log; rerun the page if it
    ended.
    """
    status = job.status()
    if was_alive and not status.alive:
        st.rerun()
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
    # 2. What can be done.
    _draw_actions(workspace, job, status)
    # 3. The end of the log.
    log = job.log(LOG_LINES)
    st.markdown(f"Log, at most the last {LOG_LINES} lines")
    with st.container(height=LOG_HEIGHT, border=False, autoscroll=True):
        st.code(
            "\n".join(map(escape_invisible, log.split("\n"))) or "The log is empty.",
            language=None,
            wrap_lines=True,
        )


def _draw_actions(workspace: Workspace, job: queue.Job, status: Status) -> None:
    """Draw the button to cancel or resume a job, or the link to the page of its result, and the
    form that renames it.
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


def _draw_details(job: queue.Job) -> None:
    with open_details():
        if job.command:
            draw_command(job.command, "The same step in a terminal")
        draw_command(
            f"python -m vocadapt jobs show {job.id} --workspace {job.folder.parents[1]}",
            "The job in a terminal",
        )
        st.markdown("Job folder and result folder")
        draw_code(f"{job.folder}\n{job.target}")
        draw_json(job.order["spec"], "Settings")
        files = [job.folder / name for name in ("spec.json", "status.json", METRICS, "log.txt")]
        draw_downloads({one.name: one.read_bytes for one in files if one.is_file()}, f"_{job.id}")


def draw_more_steps(workspace: Workspace) -> None:
    """Draw a picker of the steps without a page, the form of the selected step, and the figures and
    files of a result.
    """
    # 1. The steps without a page: those of vocabulary packs, and of extensions.
    offered = {step.about: step for step in STEPS.values() if step.name not in results.PLACES}
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
        texts = [f"{plain(name)}: **{plain(str(value))}**" for name, value in figures]
        st.markdown(" · ".join(texts))
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
        settings = draw_settings(step.settings(), key)
    with right:
        spec = None
        if all(inputs[role.name] for role in step.needs):
            spec = Spec(settings, inputs)
        forms.draw_start(workspace, spec, step.name, "Start", f"{key}_start", f"{key}_name")


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
        return models_of(workspace)
    return {one.name: str(one.folder) for one in workspace.artifacts(role.kind)}


def _pick_input(workspace: Workspace, role: Role, key: str, first: str) -> tuple[str, ...]:
    """Draw the input of a role; return its paths, () if there are none.

    first: folder or hub name that is selected first, "" for none.
    """
    key = f"{key}_{role.name}"
    kinds = (role.kind,)
    # The input of a role without a kind of artifact is a file.
    if not role.kind:
        path = st.text_input(role.label, key=key, help="Path of a file on this machine.").strip()
        return (path,) if path else ()
    offered = _list_offered(workspace, role)
    if first and label_of(first, offered) not in offered:
        offered[shown_model(first)] = first
    shown = label_of(first, offered) if first else ""
    help = "Selects from this workspace; the last option takes a path on this machine."
    if role.several:
        chosen = pickers.pick_several(
            workspace, role.label, offered, key, lambda: list(filter(None, [shown])), kinds
        )
        return tuple(chosen.values())
    path = pickers.pick_or_type(workspace, role.label, offered, key, shown, help=help, kinds=kinds)
    return (path,) if path else ()
