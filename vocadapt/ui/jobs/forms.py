"""End of the form of a step: the name of its result, its time and guards, the button that starts
its job, the jobs that run before it, and the command that does the same in a terminal.

Its settings are drawn by `setting_inputs.draw_settings`.
"""

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import streamlit as st

from vocadapt.lab.jobs.queue import list_living_jobs
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, check_name
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_command
from vocadapt.ui.jobs import guards, panel
from vocadapt.ui.text.number_formats import count_noun


def draw_start(
    workspace: Workspace,
    spec: Spec | None,
    wish: str,
    label: str,
    key: str,
    name_key: str = "",
    kind: panel.ButtonKind = "primary",
    start: Callable[[Workspace, Spec, str], None] | None = None,
) -> None:
    """Draw the end of a form; a press of its button starts the job. While a job with the same
    settings lives, draw that instead.

    The button is secondary if the step takes very long, or if there is such a result. Raises
    InputError for what cannot be a name.

    spec: None while inputs are missing: then there is only the button, disabled. wish: the name if
    it is free. name_key: key of the field of the name; a button without one stands alone: without
    field and command. start: starts the job; `panel.start` by default.
    """
    if spec is None:
        draw_button(workspace, label, key, kind, disabled=True)
        return
    if panel.draw_if_running(workspace, spec):
        return
    name = pickers.find_default_name(workspace, spec.kind, wish)
    if name_key:
        name = pickers.draw_name_input(workspace, spec.kind, wish, name_key)
    guards.draw_forecast(workspace, spec)
    if guards.draw_guards(workspace, spec):
        kind = "secondary"
    if kind == "primary" and panel.draw_if_made(workspace, spec):
        kind = "secondary"
    if draw_button(workspace, label, key, kind):
        (start or panel.start)(workspace, spec, check_name(name))
    if name_key:
        draw_commands(workspace, [(spec, name)])


def draw_button(
    workspace: Workspace, label: str, key: str, kind: panel.ButtonKind, disabled: bool = False
) -> bool:
    """Draw the button that starts a job, and the jobs that would run before it; return whether it
    was pressed.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        icon = ":material/play_arrow:"
        pressed = st.button(label, type=kind, icon=icon, key=key, disabled=disabled)
        n_before = len(list_living_jobs(workspace))
        if n_before and not disabled:
            st.markdown(f":gray[A new job would wait for {count_noun(n_before, 'job')}.]")
    return pressed


def draw_commands(workspace: Workspace, jobs: Iterable[tuple[Spec, str]]) -> None:
    """Draw the commands that do the same as these jobs; nothing for steps without one.

    jobs: what each does, and the name of its result.
    """
    commands = [_find_command(spec, workspace.folder(spec.kind, name)) for spec, name in jobs]
    if any(commands):
        with st.expander("The same in a terminal", icon=":material/terminal:"):
            for command in filter(None, commands):
                draw_command(command)


def _find_command(spec: Spec, folder: Path) -> str:
    """Return the command line of a job; "" if there is none, or if it reads a file that only the
    job will write.
    """
    command = build_command(spec, folder)
    # The output folder is the last argument.
    before = command.removesuffix(shlex.quote(str(folder)))
    return "" if str(folder) in before else command
