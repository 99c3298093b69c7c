"""Form for t-SNE and UMAP projections: parameters, time estimate, and the start of the job."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.errors import InputError
from vocadapt.lab.jobs.estimates import estimate_job_seconds
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.projection.projection import (
    METHODS,
    ProjectionSettings,
    estimate_projection_seconds,
)
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.ui.components import pickers
from vocadapt.ui.components.number_formats import count, format_estimate_bold
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.jobs import panel
from vocadapt.ui.projection.sources import Named, Shown

SLOW = tuple(name for name, method in METHODS.items() if not method.quick)
LABELS = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
STANDARD = ProjectionSettings()
BEGUN = "projection_begun"  # in the session: the form has just started a job


def draw_form(
    workspace: Workspace, spaces: tuple[Named, ...], choice: TokenChoice, tokens: int
) -> None:
    """Draw the form that projects the selected tokens by t-SNE or UMAP; tokens: their number."""
    method = st.segmented_control(
        "Method",
        SLOW,
        default=SLOW[0],
        required=True,
        key="projection_method",
        bind="query-params",
        format_func=LABELS.__getitem__,
    )
    st.markdown(f":small[{METHODS[method].about.capitalize()} ({METHODS[method].source}).]")
    settings = _choose_parameters(method, tokens)
    width = spaces[0].opened.space.dim
    seconds = estimate_job_seconds(
        workspace, "projection", len(spaces) * estimate_projection_seconds(tokens, width, settings)
    )
    about = f"**{count(tokens)}** tokens"
    if len(spaces) > 1:
        about += f", {len(spaces)} spaces"
    about += f" · about {format_estimate_bold(seconds)}."
    if method == "umap":
        about += " The first UMAP on a machine takes about 15 s longer, for compilation."
    st.markdown(about)
    name = pickers.name_for(
        workspace, "projections", f"{_stem(spaces)}-{method}", "projection_name"
    )
    if st.button("Create projection", type="primary", icon=":material/play_arrow:", key="make_map"):
        inputs = dict(zip(("space", "other"), ((one.name,) for one in spaces), strict=False))
        _start(workspace, Spec("projection", ProjectionStep(choice, settings), inputs), name)


def popover() -> DeltaGenerator:
    """Return the popover of the form; it closes when its job has started."""
    if st.session_state.pop(BEGUN, False):
        st.session_state["making"] = False
    return st.popover("New projection", icon=":material/add:", key="making", on_change="rerun")


def _start(workspace: Workspace, spec: Spec, name: str) -> None:
    st.session_state[BEGUN] = True
    try:
        panel.start(workspace, spec, name)
    except InputError:  # shown in the form
        del st.session_state[BEGUN]
        raise


def command(shown: Shown) -> str:
    """Return the command line that creates the same projection."""
    if shown.kept and shown.kept.manifest.command:
        return shown.kept.manifest.command
    inputs = dict(zip(("space", "other"), ((one.name,) for one in shown.spaces), strict=False))
    return build_command(Spec("projection", shown.map.settings, inputs), Path("map.html"))


def _choose_parameters(method: str, tokens: int) -> ProjectionSettings:
    """Draw the parameters of a method; all but the main one are folded."""
    if method == "tsne":
        most = float((tokens - 1) // 3)
        perplexity = draw_setting(st, STANDARD, "perplexity", most=most, step=0.01)
        settings = replace(STANDARD, method=method, perplexity=perplexity)
    else:
        neighbors = draw_setting(st, STANDARD, "neighbors", most=tokens - 1)
        settings = replace(STANDARD, method=method, neighbors=neighbors)
    with st.expander("All parameters"):
        if method == "tsne":
            settings = replace(
                settings,
                exaggeration=draw_setting(st, STANDARD, "exaggeration"),
                learning_rate=_draw("learning_rate"),
            )
        else:
            settings = replace(settings, min_dist=draw_setting(st, STANDARD, "min_dist"))
        return replace(
            settings,
            iterations=_draw("iterations"),
            metric=_draw("metric"),
            pca=_draw("pca"),
            seed=_draw("seed"),
        )


def _draw(name: str) -> Any:
    """Draw the input of a setting of projections that keeps its value across methods."""
    return draw_setting(st, STANDARD, name, f"projection_{name}")


def _stem(spaces: tuple[Named, ...]) -> str:
    return "-to-".join(one.label.split(" · ")[-1].split("/")[-1] for one in spaces)
