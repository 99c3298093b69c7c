"""Controls of the page Projection: the pickers of spaces, tokens and a saved projection, which are
kept in the address; and the form that starts a t-SNE or UMAP projection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.errors import InputError
from vocadapt.lab.steps.import_layout import ImportLayoutStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.spaces.projection.layout_file import MatchedLayout, match_layout, read_layout
from vocadapt.spaces.projection.methods import METHODS, ProjectionSettings, check_installed
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.ui.components import intake, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.pickers import NONE
from vocadapt.ui.components.setting_inputs import draw_linked_setting, draw_setting, draw_settings
from vocadapt.ui.components.word_query import draw_word_input
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.parts.projection import sources
from vocadapt.ui.parts.projection.chart import LABELS
from vocadapt.ui.parts.projection.isolation import ISOLATED, Isolated
from vocadapt.ui.parts.projection.sources import UNSAVED_PCA, NamedSpace
from vocadapt.ui.state import address
from vocadapt.ui.state.address import Choice
from vocadapt.ui.state.names import build_labels, display_model, spaces_of
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import count

SLOW = tuple(name for name, method in METHODS.items() if not method.quick)
DEFAULT_SETTINGS = ProjectionSettings()
LAYOUT_FORM = "projection_layout"
MIN_TOKENS_OF_JOB = 7  # fewer allow no perplexity of at least 2
JOB_STARTED = "projection_begun"  # session key: set if the form has just started a job
PUBLISHED = TokenChoice()
NEIGHBORHOOD = "around a word"
CHOICES = (NEIGHBORHOOD, "first", "frequency", "search")
EXAMPLE = "cancer"  # Fast 2023, figure 3.6
HELP = {
    "view": (
        "Selects the projection. PCA is computed immediately; t-SNE and UMAP projections are"
        " created once and listed here."
    ),
    "other": "Selects a second space with the same tokens, to compare their positions.",
    "example": f"Shows *{EXAMPLE}* and its nearest tokens, an example of Fast 2023.",
    "layout": (
        "Shows a layout that another program computed: a CSV or TSV file whose first line names the"
        " columns token, x and y. Other columns are ignored."
    ),
}


@dataclass(frozen=True)
class SetUp:
    """The tabs of the popover Set up."""

    tokens: DeltaGenerator
    view: DeltaGenerator
    new: DeltaGenerator
    files: DeltaGenerator


def open_set_up() -> SetUp:
    """Draw the popover Set up and its tabs; it closes when a job has started."""
    # A widget can be closed only before it is drawn, not in the run that starts the job.
    if st.session_state.pop(JOB_STARTED, False):
        st.session_state["set_up"] = False
    with st.popover("Set up", icon=":material/tune:", key="set_up", on_change="rerun"):
        return SetUp(*st.tabs(["Tokens", "View", "New projection", "Your files"]))


def pick_first_space(workspace: Workspace) -> tuple[str, str]:
    """Draw the picker of a space; return its folder or hub name, "" if none is selected, and the
    display name of the second space to begin with.

    The default is the spaces of the newest projection; without one, the newest adapted model, or
    else the newest model.
    """
    known = spaces_of(workspace)
    newest = _find_newest_spaces(workspace, known)
    # The second space has a default only if the user or the address selected no space.
    requested = {"projection_space", "projection_other"} & {*st.query_params, *st.session_state}
    first, default_other = newest[0] if newest else _find_default_model(workspace, known), NONE
    if len(newest) > 1 and not requested:
        default_other = newest[1]
    return pickers.pick_space(workspace, "Space", "projection_space", first), default_other


def _find_default_model(workspace: Workspace, known: Mapping[str, str]) -> str:
    """Return the newest adapted model among the spaces, else the newest model, else the first one."""
    adapted = {model.folder.resolve() for model in list_adapted_models(workspace)}
    models = [label for label in known if label.startswith("model")]
    found = [label for label in models if Path(known[label]).resolve() in adapted]
    return next(iter([*found, *models, *known]), "")


def pick_spaces(
    workspace: Workspace, first: str, default_other: str, set_up: SetUp
) -> tuple[NamedSpace, ...]:
    """Draw the picker of an optional second space, in the tab View; return the spaces.

    first: folder or hub name of the first space. default_other: display name of the second one.
    """
    known = spaces_of(workspace)
    # The second space must differ from the first.
    others = {NONE: "", **{label: name for label, name in known.items() if name != first}}
    with set_up.view:
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
    # The display names: a typed path or hub name has no label in the workspace.
    labels = build_labels(workspace, known)
    shown = {name: labels[label] for label, name in known.items()}
    return tuple(
        NamedSpace(shown.get(name, display_model(workspace, name)), name) for name in chosen
    )


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
        "Projection",
        list(names),
        key="projection_view",
        persist_state="session",
        help=explain("Projection", HELP["view"]),
    )
    address.write("projection_view", [str(chosen or last)])
    if address.is_new("projection_view", str(chosen)):
        st.markdown(pickers.NEW_BADGE)
    return names.get(str(chosen or last))


def explain_tokens(saved: Artifact | None, isolated: Isolated | None) -> None:
    """State why the token filter does not apply to the shown projection, if it does not.

    saved: the saved projection that is shown, which has its own tokens. isolated: a selection that
    takes the place of the filter.
    """
    if saved:
        draw_note(
            f"{plain(saved.name)} has its own tokens. This choice applies to PCA and to new"
            " projections."
        )
    elif isolated:
        draw_note(
            f"Only the {count(len(isolated.tokens))} selected tokens are shown: show all again to"
            " choose others."
        )


def pick_settings(
    examples: Sequence[str], space: NamedSpace, isolated: Isolated | None = None
) -> ProjectionStep:
    """Draw the token filter, with the defaults of Fast 2023, and the distance measure; return the
    settings of a PCA. Raises InputError if the choice is invalid.
    """
    # 1. The neighborhood of a word, or a sample of the tokens.
    mode = st.segmented_control(
        "Tokens",
        CHOICES,
        default=CHOICES[0],
        required=True,
        key="projection_tokens",
        bind="query-params",
        label_visibility="collapsed",
    )
    if mode == NEIGHBORHOOD:
        word = draw_word_input("projection_around", "Word", examples, space.opened.space.index)
        values = {"around": word, "nearest": _draw("nearest")}
    else:
        values = _pick_sample(mode)
    # 2. The filters of every choice.
    values["min_length"] = _draw("min_length", "shortest")
    with st.container(horizontal=True):
        values["continuations"] = _draw("continuations", "pieces", toggle=True)
        values["specials"] = _draw("specials", toggle=True)
        values["unused"] = _draw("unused", toggle=True)
    # 3. The distance measure, and an example.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        metric = draw_linked_setting(DEFAULT_SETTINGS, "metric", "projection_metric", buttons=True)
        st.button(
            f"Example: {EXAMPLE}",
            icon=":material/travel_explore:",
            on_click=show_example,
            help=HELP["example"],
            key="example",
        )
    choice = TokenChoice(**values)
    if isolated:
        choice = TokenChoice(tokens=isolated.tokens)
    return ProjectionStep(choice, ProjectionSettings(metric=metric))


def _pick_sample(mode: str) -> dict[str, Any]:
    """Draw the settings of a sample: its size, and its frequency band or the text in its tokens."""
    values: dict[str, Any] = {}
    if mode == "search":
        values["search"] = _draw("search", "holding")
    if mode == "frequency":
        left, middle, right = st.columns(3)
        values["band"] = _draw("band", place=left)
        values["low"] = _draw("low", "from", middle)
        values["high"] = _draw("high", "to", right)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        every = st.toggle("All tokens", key="projection_all", bind="query-params")
        options = {"least": 1, "step": 1000, "disabled": every}
        most = draw_linked_setting(PUBLISHED, "first", "projection_first", **options)
    values["first"] = 0 if every else most
    return values


def show_example() -> None:
    """Callback: show the neighborhood of the example word."""
    st.session_state["projection_nearest"] = PUBLISHED.nearest
    show_neighborhood(EXAMPLE, DEFAULT_SETTINGS.metric)


def show_neighborhood(word: str, metric: str) -> None:
    """Callback: project a word and its neighbors by a metric, instead of other tokens."""
    st.session_state.pop(ISOLATED, None)
    st.session_state.update(
        {
            "projection_view": UNSAVED_PCA,
            "projection_tokens": NEIGHBORHOOD,
            "projection_around": word,
            "projection_word": word,
            "projection_metric": metric,
        }
    )


def _draw(name: str, key: str = "", place: Any = st, toggle: bool = False) -> Any:
    """Draw the input of a setting of the token filter."""
    return draw_linked_setting(PUBLISHED, name, f"projection_{key or name}", place, toggle=toggle)


def draw_form(
    workspace: Workspace, spaces: tuple[NamedSpace, ...], selected: ProjectionStep, tokens: int
) -> None:
    """Draw the form of a job that projects the selected tokens by t-SNE or UMAP.

    selected: the tokens, and the distance measure. tokens: number of selected tokens. Raises
    InputError if the library of the method is not installed.
    """
    if tokens < MIN_TOKENS_OF_JOB:
        draw_note(
            f"t-SNE and UMAP need at least {MIN_TOKENS_OF_JOB} tokens, {count(tokens)} are chosen:"
            " choose more."
        )
        return
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
    check_installed(method)
    settings = _choose_parameters(method, tokens, selected.projection)
    if method == "umap":
        draw_note("The first UMAP on a machine takes about 15 s longer, for compilation.")
    # 2. The name and the button. The popover closes on the rerun after the start.
    suggested_name = "-to-".join(one.label.split(" · ")[-1].split("/")[-1] for one in spaces)
    inputs = {role: (one.name,) for role, one in zip(("space", "other"), spaces, strict=False)}
    spec = Spec(ProjectionStep(selected.choice, settings), inputs)
    wish, label = f"{suggested_name}-{method}", "Create projection"
    forms.draw_start(workspace, spec, wish, label, "make_map", "projection_name", start=_start)


def _start(workspace: Workspace, spec: Spec, name: str, form: str = "") -> None:
    """Start a job, and close the popover of the form in the next run of the page."""
    # Set before the start, which ends this run of the page.
    st.session_state[JOB_STARTED] = True
    try:
        panel.start(workspace, spec, name, form)
    except InputError:  # the form stays open and shows it
        del st.session_state[JOB_STARTED]
        raise


def draw_layout_form(workspace: Workspace, space: NamedSpace) -> None:
    """Draw the form that imports a layout of another program."""
    st.markdown("**Your layout**", help=HELP["layout"])
    draw_note("A table with the columns token, x and y, computed by another program.")
    files = intake.choose_files(workspace, LAYOUT_FORM, ("csv", "tsv", "txt"), several=False)
    if not files:
        return
    # 1. Read the file now: its mistakes are shown here, not in a failed job.
    matched = _match_layout(files[0], space)
    draw_note(f"{count(len(matched.rows))} tokens can be drawn in {plain(space.label)}.")
    for note in matched.notes:
        st.warning(format_sentence(note), icon=":material/rule:")
    # 2. The name and the button.
    wish = intake.suggest_name(files)
    inputs = {"space": (space.name,), "layout": (str(files[0]),)}
    spec = Spec(ImportLayoutStep(), inputs)
    key, name_key = "import_layout", "projection_layout_name"
    start = partial(_start, form=LAYOUT_FORM)
    forms.draw_start(workspace, spec, wish, "Import layout", key, name_key, start=start)


@st.cache_data(max_entries=2, show_spinner="Reading the layout …", hash_funcs=sources.STAMPS)
def _match_layout(path: Path, space: NamedSpace) -> MatchedLayout:
    return match_layout(read_layout(path), space.opened.space)


def _choose_parameters(method: str, tokens: int, base: ProjectionSettings) -> ProjectionSettings:
    """Draw the parameters of a method, all but the main one in an expander, and return them.

    base: the values of the settings that are not drawn.
    """
    main, most = "neighbors", tokens - 1
    if method == "tsne":
        main, most = "perplexity", (tokens - 1) // 3
    settings = base.choose(method)
    value = draw_setting(st, settings, main, f"projection_{main}", most=most)
    settings = replace(settings, **{main: value})
    with st.expander("All parameters"):
        drawn = ("method", "metric", main, *settings.unused_settings)
        return draw_settings(settings, "projection", drawn)
