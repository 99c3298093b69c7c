"""Controls of the page Projection: the pickers of spaces, tokens and a saved projection, which are
kept in the address; and the form that starts a t-SNE or UMAP projection.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.errors import InputError
from vocadapt.lab.jobs.estimates import estimate_job_seconds
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.projection.methods import METHODS, ProjectionSettings
from vocadapt.spaces.projection.projection import estimate_projection_seconds
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.ui.components import pickers
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, format_estimate_bold
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import address
from vocadapt.ui.frame.address import Choice
from vocadapt.ui.jobs import panel
from vocadapt.ui.projection import sources
from vocadapt.ui.projection.sources import NamedSpace

UNSAVED_PCA = "PCA (not saved)"
NONE = "none"
SLOW = tuple(name for name, method in METHODS.items() if not method.quick)
LABELS = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
DEFAULT_SETTINGS = ProjectionSettings()
JOB_STARTED = "projection_begun"  # session key: set if the form has just started a job
PUBLISHED = TokenChoice()
CHOICES = ("first", "frequency", "search", "around a word")
EXAMPLE = "cancer"  # Fast 2023, figure 3.6
HELP = {
    "view": (
        "Selects the projection. PCA is computed immediately; t-SNE and UMAP projections are"
        " created once and listed here."
    ),
    "other": "Selects a second space with the same tokens, to compare their positions.",
    "example": "Shows the neighborhood of *cancer*, as in Fast 2023, figure 3.6.",
}


def pick_spaces(workspace: Workspace) -> tuple[NamedSpace, ...]:
    """Draw the pickers of a space and an optional second one; return an empty tuple if no space is
    selected.

    The default is the spaces of the newest projection; without a projection, the newest model.
    """
    # 1. The default spaces.
    known = pickers.spaces_of(workspace)
    newest = _find_newest_spaces(workspace, known)
    model = next((place for place, label in enumerate(known) if label.startswith("model")), 0)
    # The second space has a default only if the user or the address selected no space.
    requested = {"projection_space", "projection_other"} & {*st.query_params, *st.session_state}
    default, default_other = model, NONE
    if newest:
        default = list(known).index(newest[0])
    if len(newest) > 1 and not requested:
        default_other = newest[1]
    # 2. The pickers; the second space must differ from the first.
    first = pickers.pick_space(workspace, "Space", "projection_space", default)
    if not first:
        return ()
    others = {NONE: "", **{label: name for label, name in known.items() if name != first}}
    other = pickers.pick_or_type(
        workspace,
        "Compare with",
        others,
        "projection_other",
        default_other,
        help=HELP["other"],
        kinds=("vectors", "models"),
    )
    chosen = list(filter(None, (first, other)))
    # 3. The display names: a typed path or hub name has no label in the workspace.
    shown = {name: label for label, name in known.items()}
    return tuple(NamedSpace(shown.get(name, pickers.shown_model(name)), name) for name in chosen)


def _find_newest_spaces(workspace: Workspace, known: Mapping[str, str]) -> list[str]:
    """Return the display names of the spaces of the newest projection; empty if one is unknown."""
    folders = {Path(name).resolve(): label for label, name in known.items()}
    newest = workspace.artifacts("projections")
    if not newest:
        return []
    found = [folders.get(folder, "") for folder in sources.list_folders(workspace, newest[0])]
    if not all(found):
        return []
    return found


def pick_projection(made: list[Artifact]) -> Artifact | None:
    """Show the picker of projections: the newest by default; None is PCA, computed immediately.

    A projection that a job has just created, and the newest one of newly selected spaces, are
    selected automatically.
    """
    names = {UNSAVED_PCA: None, **{artifact.name: artifact for artifact in made}}
    last = made[0].name if made else UNSAVED_PCA
    address.restore_selection("projection_view", Choice(names.__contains__, last, last))
    chosen = st.selectbox(
        "Projection", list(names), key="projection_view", persist_state="session", help=HELP["view"]
    )
    address.write("projection_view", [str(chosen or last)])
    if address.is_new("projection_view", str(chosen)):
        st.markdown(pickers.NEW_BADGE)
    return names.get(str(chosen or last))


def pick_tokens(saved: Artifact | None = None) -> TokenChoice:
    """Draw the token filter with the defaults of Fast 2023; raise InputError if the choice is
    invalid.

    saved: the saved projection that is shown, which has its own tokens.
    """
    if saved:
        st.markdown(
            f":small[{plain(saved.name)} has its own tokens. This selection applies only to PCA and"
            " to new projections.]"
        )
    # 1. How tokens are chosen.
    mode = st.segmented_control(
        "Tokens",
        CHOICES,
        default=CHOICES[0],
        required=True,
        key="projection_tokens",
        bind="query-params",
        label_visibility="collapsed",
    )
    # 2. The settings of this choice; a neighborhood has its own size instead of a limit.
    values: dict[str, Any] = {}
    if mode == "around a word":
        left, right = st.columns(2)
        word = replace(PUBLISHED, around=EXAMPLE)
        values["around"] = _draw(left, "around", "around", word)
        values["nearest"] = _draw(right, "nearest")
    else:
        if mode == "search":
            values["search"] = _draw(st, "search", "holding")
        if mode == "frequency":
            left, middle, right = st.columns(3)
            values["band"] = _draw(left, "band")
            values["low"] = _draw(middle, "low", "from")
            values["high"] = _draw(right, "high", "to")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            every = st.toggle("All tokens", key="projection_all", bind="query-params")
            most = draw_setting(
                st,
                PUBLISHED,
                "first",
                "projection_first",
                least=1,
                step=1000,
                bind="query-params",
                disabled=every,
            )
        values["first"] = 0 if every else most
    # 3. The filters of every choice.
    values["min_length"] = _draw(st, "min_length", "shortest")
    with st.container(horizontal=True):
        values["continuations"] = _draw(st, "continuations", "pieces", toggle=True)
        values["specials"] = _draw(st, "specials", toggle=True)
        values["unused"] = _draw(st, "unused", toggle=True)
    return TokenChoice(**values)


def show_example() -> None:
    """Callback: show the neighborhood of the example word."""
    st.session_state.update(
        {
            "projection_view": UNSAVED_PCA,
            "projection_tokens": CHOICES[3],
            "projection_around": EXAMPLE,
            "projection_nearest": PUBLISHED.nearest,
            "projection_word": EXAMPLE,
        }
    )


def _draw(
    place: Any, name: str, key: str = "", settings: TokenChoice = PUBLISHED, toggle: bool = False
) -> Any:
    """Draw the input of a setting of the token filter; its value is kept in the address."""
    return draw_setting(
        place, settings, name, f"projection_{key or name}", toggle=toggle, bind="query-params"
    )


def draw_form(
    workspace: Workspace, spaces: tuple[NamedSpace, ...], choice: TokenChoice, tokens: int
) -> None:
    """Draw the form of a job that projects the selected tokens by t-SNE or UMAP.

    tokens: number of selected tokens.
    """
    # 1. The method and its parameters.
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
    # 2. The estimated time; spaces are projected one after the other.
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
    # 3. The name and the button. The popover closes on the rerun after the start.
    suggested_name = "-to-".join(one.label.split(" · ")[-1].split("/")[-1] for one in spaces)
    name = pickers.draw_name_input(
        workspace, "projections", f"{suggested_name}-{method}", "projection_name"
    )
    if st.button("Create projection", type="primary", icon=":material/play_arrow:", key="make_map"):
        inputs = {role: (one.name,) for role, one in zip(("space", "other"), spaces, strict=False)}
        # Set before the start, which ends this run of the page.
        st.session_state[JOB_STARTED] = True
        try:
            panel.start(
                workspace, Spec("projection", ProjectionStep(choice, settings), inputs), name
            )
        except InputError:  # the form stays open and shows it
            del st.session_state[JOB_STARTED]
            raise


def open_form_popover() -> DeltaGenerator:
    """Return the popover of the form; it closes when its job has started."""
    # A widget can be closed only before it is drawn, not in the run that starts the job.
    if st.session_state.pop(JOB_STARTED, False):
        st.session_state["making"] = False
    return st.popover("New projection", icon=":material/add:", key="making", on_change="rerun")


def _choose_parameters(method: str, tokens: int) -> ProjectionSettings:
    """Draw the parameters of a method, all but the main one in an expander."""
    values: dict[str, Any] = {"method": method}
    if method == "tsne":
        most = float((tokens - 1) // 3)
        values["perplexity"] = draw_setting(
            st, DEFAULT_SETTINGS, "perplexity", most=most, step=0.01
        )
    else:
        values["neighbors"] = draw_setting(st, DEFAULT_SETTINGS, "neighbors", most=tokens - 1)
    with st.expander("All parameters"):
        shared = ["iterations", "metric", "pca", "seed"]
        if method == "tsne":
            values["exaggeration"] = draw_setting(st, DEFAULT_SETTINGS, "exaggeration")
            shared = ["learning_rate", *shared]
        else:
            values["min_dist"] = draw_setting(st, DEFAULT_SETTINGS, "min_dist")
        for name in shared:  # a key keeps the value across methods
            values[name] = draw_setting(st, DEFAULT_SETTINGS, name, f"projection_{name}")
    return replace(DEFAULT_SETTINGS, **values)
