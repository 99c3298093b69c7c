"""Form and results of the steps without a page of their own, drawn from their declarations."""

import streamlit as st

from vocadapt.lab.steps.step import STEPS, Role, Spec, Step
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_artifact_details
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.ui.frame import mistakes
from vocadapt.ui.jobs import panel

STEP, RESULT = "jobs_step", "jobs_result"  # query parameters


def draw_more_steps(workspace: Workspace) -> None:
    """Draw a picker of the steps without a page, the form of the selected one, and the figures and
    files of a result.
    """
    offered = {step.about: step for step in STEPS.values() if not step.page}
    if not offered:
        return
    st.subheader("More steps", anchor=False)
    step = pickers.pick_named("Step", STEP, offered, help="Selects a step to run as a job.")
    if step is None:
        return
    with mistakes.show_errors():
        _draw_form(workspace, step)
    made = workspace.artifacts(step.makes)
    if made:
        artifact = pickers.pick("Result", made, RESULT, newest=True)
        pickers.stale_note(artifact, workspace)
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
        given = {role.name: _pick_input(workspace, role, key, step) for role in step.roles.values()}
        settings = draw_settings(st, step.settings(), key)
    with right:
        name = pickers.name_for(workspace, step.makes, step.name, f"{key}_name")
        is_complete = all(given[role.name] for role in step.needs)
        if st.button(
            "Start",
            key=f"{key}_start",
            type="primary",
            icon=":material/play_arrow:",
            disabled=not is_complete,
        ):
            panel.start(workspace, Spec(step.name, settings, given), name)


def _pick_input(workspace: Workspace, role: Role, key: str, step: Step) -> tuple[str, ...]:
    """Draw the input of a role; return the paths, () for none."""
    key, kinds = f"{key}_{role.name}", (role.kind,)
    if not role.kind:
        path = st.text_input(role.label, key=key, help="Path of a file on this machine.").strip()
        return (path,) if path else ()
    offered = {made.name: str(made.folder) for made in workspace.artifacts(role.kind)}
    if role.kind == "models":
        offered = pickers.models_of(workspace)
    help = "Selects from this workspace; or type a path on this machine."
    first = next(iter(offered), "") if role in step.needs else ""
    if role.several:
        chosen = pickers.pick_several(
            workspace, role.label, offered, key, lambda: list(filter(None, [first])), kinds
        )
        return tuple(chosen.values())
    path = pickers.pick_open(workspace, role.label, offered, key, first, help=help, kinds=kinds)
    return (path,) if path else ()
