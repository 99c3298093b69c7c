"""Controls of the page Projection: the pickers of spaces, tokens and a saved projection, which are
kept in the address; and the form that starts a t-SNE or UMAP projection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.pickers import NONE
from vocadapt.ui.components.setting_inputs import draw_linked_setting, draw_setting, draw_settings
from vocadapt.ui.components.word_query import draw_word_input
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.parts.projection import sources
from vocadapt.ui.parts.projection.chart import LABELS
from vocadapt.ui.parts.projection.sources import UNSAVED_PCA, NamedSpace
from vocadapt.ui.parts.projection.table import ISOLATED, IsolatedTokens
from vocadapt.ui.state.names import (
    build_labels,
    display_model,
    find_model_stem,
    label_of,
    spaces_of,
)
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
HELP = {
    "view": (
        "Selects the projection. PCA is computed immediately; t-SNE and UMAP projections are"
        " created once and listed here."
    ),
    "layout": (
        "Shows a layout that another program computed: a CSV or TSV file whose first line names the"
        " columns token, x and y. Other columns are ignored."
    ),
}


def open_set_up() -> Sequence[DeltaGenerator]:
    """Draw the popover Set up; return its tabs: tokens, view, new projection, files."""
    # A widget can be closed only before it is drawn, not in the run that starts the job.
    if st.session_state.pop(JOB_STARTED, False):
        st.session_state["set_up"] = False
    with st.popover("Set up", icon=":material/tune:", key="set_up", on_change="rerun"):
        return st.tabs(["Tokens", "View", "New projection", "Your files"])


def pick_first_space(workspace: Workspace) -> tuple[str, str]:
    """Draw the picker of a space; return its folder or hub name, "" if none is selected, and the
    display name of the second space to begin with.

    The default is the spaces of the newest projection; without one, the newest adapted model, or
    else the newest model.
    """
    known = spaces_of(workspace)
    models = [*list_adapted_models(workspace), *workspace.artifacts("models")]
    first = next((label_of(str(one.folder), known) for one in models), next(iter(known), ""))
    newest = _find_newest_spaces(workspace, known) or [first]
    # The second space has a default only if the user or the address selected no space.
    requested = {"projection_space", "projection_other"} & {*st.query_params, *st.session_state}
    default_other = NONE
    if not requested:
        default_other = [*newest, NONE][1]
    return pickers.pick_space(workspace, "Space", "projection_space", newest[0]), default_other


def pick_spaces(
    workspace: Workspace, first: str, default_other: str, place: DeltaGenerator
) -> tuple[NamedSpace, ...]:
    """Draw the picker of an optional second space in the tab View, `place`; return the spaces.

    first: folder or hub name of the first space. default_other: display name of the second one.
    """
    known = spaces_of(workspace)
    # The second space must differ from the first.
    others = {NONE: "", **{label: name for label, name in known.items() if name != first}}
    with place:
        other = pickers.pick_or_type(
            workspace,
            "Compare with",
            others,
            "projection_other",
            default_other,
            kinds=("vectors", "models"),
        )
    # The display names: a typed path or hub name has no label in the workspace.
    labels = build_labels(workspace, known)
    shown = {name: labels[label] for label, name in known.items()}
    return tuple(
        NamedSpace(shown.get(name) or display_model(workspace, name), name)
        for name in filter(None, (first, other))
    )


def _find_newest_spaces(workspace: Workspace, known: Mapping[str, str]) -> list[str]:
    """Return the display names of the spaces of the newest projection; empty if one is unknown."""
    folders = {Path(name).resolve(): label for label, name in known.items()}
    newest = workspace.artifacts("projections")
    if not newest:
        return []
    found = [folders.get(folder, "") for folder in sources.list_folders(workspace, newest[0])]
    return found if all(found) else []


def pick_projection(made: Sequence[Artifact]) -> Artifact | None:
    """Show the picker of projections: the newest by default; None is PCA, computed immediately.

    A projection that a job has just created, and the newest one of newly selected spaces, are
    selected automatically.
    """
    names = {artifact.name: artifact for artifact in made} | {UNSAVED_PCA: None}
    chosen = pickers.pick_name(
        "Projection",
        list(names),
        "projection_view",
        next(iter(names)),
        newest=True,
        help=HELP["view"],
    )
    return names[chosen]


def pick_settings(
    workspace: Workspace, space: NamedSpace, isolated: IsolatedTokens | None
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
        examples = sources.choose_example_words(workspace, space)
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
    # 3. The distance measure.
    metric = draw_linked_setting(DEFAULT_SETTINGS, "metric", "projection_metric", buttons=True)
    choice = TokenChoice(tokens=isolated.tokens) if isolated else TokenChoice(**values)
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
    workspace: Workspace, spaces: tuple[NamedSpace, ...], selected: ProjectionStep
) -> None:
    """Draw the form of a job that projects the selected tokens by t-SNE or UMAP.

    selected: the tokens, and the distance measure. Raises InputError if the library of the method
    is not installed.
    """
    tokens = sources.count_tokens(spaces, selected)
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
    # 2. The name and the button. The popover closes on the rerun after the start.
    suggested_name = "-to-".join(find_model_stem(one.name) for one in spaces)
    inputs = {role: (one.name,) for role, one in zip(("space", "other"), spaces, strict=False)}
    spec = Spec(ProjectionStep(selected.choice, settings), inputs)
    wish = f"{suggested_name}-{method}"
    forms.draw_start(
        workspace, spec, wish, "Create projection", "make_map", "projection_name", start=_start
    )


def _start(workspace: Workspace, spec: Spec, name: str, form: str = "") -> None:
    """Start a job, and close the popover of the form in the next run of the page."""
    # Set before the start, which ends this run of the page.
    st.session_state[JOB_STARTED] = True
    try:
        panel.start(workspace, spec, name, form)
    except InputError:  # the form stays open and shows it
        del st.session_state[JOB_STARTED]
        raise


@mistakes.show_errors()
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
    forms.draw_start(
        workspace,
        spec,
        wish,
        "Import layout",
        "import_layout",
        "projection_layout_name",
        start=partial(_start, form=LAYOUT_FORM),
    )


@st.cache_data(max_entries=2, show_spinner="Reading the layout …", hash_funcs=sources.STAMPS)
def _match_layout(path: Path, space: NamedSpace) -> MatchedLayout:
    return match_layout(read_layout(path), space.opened.space)


def _choose_parameters(method: str, tokens: int, base: ProjectionSettings) -> ProjectionSettings:
    """Draw the parameters of a method, all but the main one in an expander, and return them.

    base: the values of the settings that are not drawn.
    """
    main = "neighbors"
    most = tokens - 1
    if method == "tsne":
        main = "perplexity"
        most = (tokens - 1) // 3
    settings = base.choose(method)
    value = draw_setting(st, settings, main, f"projection_{main}", most=most)
    settings = replace(settings, **{main: value})
    with st.expander("All parameters"):
        drawn = ("method", "metric", main, *settings.unused_settings)
        return draw_settings(settings, "projection", drawn)
