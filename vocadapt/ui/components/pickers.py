"""Pickers that several pages share, and their default selections."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

import streamlit as st

from vocadapt.analysis.results.fair_pairs import Side
from vocadapt.errors import InputError
from vocadapt.lab import demo
from vocadapt.lab.jobs.queue import list_living_jobs, list_promised_names
from vocadapt.lab.results.runs import RunSet, describe_unreadable
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.settings import get_settings
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.kinds import TASK_KINDS, TaskKind
from vocadapt.ui.components.blocks import draw_link, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import (
    build_address_filter,
    build_labels,
    display_model,
    label_of,
    list_display_names,
    models_in_use,
    models_of,
    resolve,
    spaces_of,
)
from vocadapt.ui.state.pages import PARTS
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import fraction

CROWDED = 0.8  # mean cosine of two random tokens above which neighbors mean little
NEW_BADGE = ":green-badge[:material/new_releases: new]"  # next to a result that a job has just made
MODEL_HELP = (
    "Selects a model; the last option takes a folder on this machine or a hub name. A hub model"
    " that is not"
    " on this machine yet, such as bert-base-uncased, is downloaded when it is first used."
)
SPACE_HELP = (
    "Selects word vectors or a model of this workspace; the last option takes the folder or hub"
    " name of a model on this machine."
)
LINKS = {"text": "Import a text", "vectors": "Make word vectors", "adapt": "Adapt a model"}
NONE = "none"  # the option of a picker that selects nothing
TYPE = "Another: type a path or name …"  # the last option of a picker
PATH_HELP = "Opens a folder or file by its path, or a model by its name on the Hugging Face hub."
T = TypeVar("T")
TARGET_HELP = (
    "Selects the model whose vocabulary is adopted: a folder, a hub name that was used here"
    " before, or a bare vocab.txt."
)


def pick(label: str, found: Sequence[Artifact], key: str, newest: bool = False) -> Artifact:
    """Show a picker of artifacts by name, the newest by default; return the selected one.

    newest: select and mark an artifact that a job has just created.
    """
    names = [artifact.name for artifact in found]
    labels = list_display_names(address.workspace(), found[0].kind)
    chosen = pick_name(label, names, key, names[0], newest=newest, labels=labels)
    return found[names.index(chosen)] if chosen in names else found[0]


def pick_name(
    label: str,
    names: Sequence[str],
    key: str,
    first: str = "",
    newest: bool = False,
    placeholder: str = "",
    help: str | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Show a picker of names; return the selected one, "" if there are none.

    The selected name is always in the address. labels: name -> what the menu shows instead.
    """
    # The address may name a deleted artifact: accept only names that are offered.
    allowed = frozenset(names).__contains__
    address.restore_selection(
        key, address.Choice(allowed, first, names[0] if newest and names else "")
    )
    chosen = st.selectbox(
        label,
        list(names),
        index=0 if first else None,
        key=key,
        persist_state="session",
        placeholder=placeholder or None,
        help=explain(label, help),
        format_func=lambda name: labels.get(name, name),
    )
    address.write(key, [chosen or first], allowed)
    if address.is_new(key, str(chosen)):
        st.markdown(NEW_BADGE)
    return str(chosen or first)


def pick_or_type(
    workspace: Workspace,
    label: str,
    offered: Mapping[str, str],
    key: str,
    first: str = "",
    placeholder: str = "",
    help: str | None = None,
    kinds: tuple[str, ...] = ("models",),
) -> str:
    """Show a picker whose last option opens a field for a path or name; return the folder, file or
    hub name, "" if none is selected.

    offered: display name -> folder, file or hub name. Typed paths are not written to the address,
    and paths in an address are not opened, because a link must not make the page open any folder.
    """
    choice = _open_choice(workspace, offered, kinds, first)
    labels = build_labels(workspace, offered)
    address.restore_selection(key, choice)
    chosen = draw_select_or_type(label, list(offered), key, first, placeholder, help, labels)
    shown = chosen or first
    address.write(key, [shown], lambda value: bool(value) and choice.allowed(value))
    found = resolve(workspace, shown, offered, kinds)
    _warn_of_casing(found)
    return found


def pick_several(
    workspace: Workspace,
    label: str,
    offered: Mapping[str, str],
    key: str,
    first: Callable[[], Sequence[str]],
    kinds: tuple[str, ...] = ("models",),
    **options: Any,
) -> dict[str, str]:
    """Show a multiselect whose last option opens a field for a path or name, as in `pick_or_type`;
    return display name -> folder or name.

    options: other arguments of `st.multiselect`, such as `help`.
    """
    choice = _open_choice(workspace, offered, kinds)
    adapted = list_adapted_models(workspace)
    if adapted:
        choice = replace(choice, newest=adapted[0].name)
    labels = build_labels(workspace, offered)
    address.restore_selections(key, choice, first)
    selected: list[str] = st.multiselect(
        label,
        _list_options(list(offered), st.session_state.get(key) or []),
        key=key,
        persist_state="session",
        format_func=lambda option: labels.get(option, option),
        **options | {"help": explain(label, options.get("help"))},
    )
    chosen = [value for value in selected if value != TYPE]
    if TYPE in selected:
        _draw_path_field(key, lambda typed: [*chosen, typed])
    address.write(key, chosen, choice.allowed)
    found = {shown: resolve(workspace, shown, offered, kinds) for shown in chosen}
    _warn_of_casing(*found.values())
    return found


def draw_select_or_type(
    label: str,
    options: Sequence[str],
    key: str,
    first: str = "",
    placeholder: str = "",
    help: str | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Draw a select whose last option opens a field for a path or name; return the selected or
    typed value, "" for none, and the one before while nothing is typed yet.

    Typing into the select itself only searches, so that the best match comes first.
    """
    selected = st.session_state.get(key)
    chosen = st.selectbox(
        label,
        _list_options(options, [selected] if selected else []),
        index=0 if first else None,
        key=key,
        persist_state="session",
        placeholder=placeholder or None,
        help=explain(label, help),
        format_func=lambda option: labels.get(option, option),
    )
    before = f"{key}_before"
    if chosen == TYPE:
        _draw_path_field(key, str)
        return str(st.session_state.get(before, first))
    st.session_state[before] = str(chosen or "")
    return str(chosen or "")


def _list_options(options: Sequence[str], selected: Sequence[str]) -> list[str]:
    """List the options of a picker: the offered ones, what was typed, and the one to type."""
    found = dict.fromkeys([*options, *selected])
    found.pop(TYPE, None)
    return [*found, TYPE]


def _draw_path_field(key: str, select: Callable[[str], object]) -> None:
    """Draw the field for a path or name; what is typed becomes the value of the picker.

    select: the typed text -> the new value of the picker.
    """
    field = f"{key}_path"

    def take() -> None:
        typed = str(st.session_state[field]).strip()
        if typed:
            st.session_state[key] = select(typed)

    st.text_input("Path or name", key=field, on_change=take, help=PATH_HELP)


def _open_choice(
    workspace: Workspace, offered: Mapping[str, str], kinds: tuple[str, ...], first: str = ""
) -> address.Choice:
    allowed = build_address_filter(workspace, offered, kinds)
    # A typed folder of the workspace is shown by its display name, as if it had been picked.
    display_name = lambda typed: label_of(resolve(workspace, typed, offered, kinds), offered)  # noqa: E731
    return address.Choice(allowed, first, display_name=display_name, typed=True)


def pick_model(workspace: Workspace, key: str, default: str | None = None) -> str:
    """Show a picker of models that also accepts a folder or hub name; return the folder or hub
    name.

    default: the initial selection; None: the most recently used model, or else the first one.
    """
    offered = models_of(workspace) or list_demo_model(workspace)
    first = next(filter(None, [default, *models_in_use(workspace)]), "")
    shown = next(iter(offered), "")
    if first:
        shown = label_of(first, offered)
    return pick_or_type(workspace, "Language model", offered, key, shown, help=MODEL_HELP)


def pick_target(workspace: Workspace, model: str, key: str) -> str:
    """Show a picker of the model or bare vocabulary to adopt; return "" if none is selected.

    `model` itself is not offered.
    """
    offered = {shown: name for shown, name in models_of(workspace, ()).items() if name != model}
    return pick_or_type(
        workspace,
        "Target",
        offered,
        key,
        placeholder="Pick a model, a folder or a vocab.txt",
        help=TARGET_HELP,
    )


def pick_space(workspace: Workspace, label: str, key: str, first: str) -> str:
    """Show a picker of word vectors and models; return the folder or hub name, "" if none is
    selected.

    first: display name of the initial selection. The address contains the display name, which stays
    valid in a copy of the workspace.
    """
    return pick_or_type(
        workspace,
        label,
        spaces_of(workspace),
        key,
        first,
        "Model or word vectors",
        SPACE_HELP,
        ("vectors", "models"),
    )


@dataclass(frozen=True, eq=False)
class ChosenRun:
    """One seed of a set of runs, and its tokenization ("" if not requested)."""

    run_set: RunSet
    run: SavedRun
    tokenization: str

    @property
    def name(self) -> str:
        """Name in the address: ncbi-green · seed 1 · pooled."""
        return self.describe(self.run_set.name)

    def describe(self, name: str) -> str:
        """Return the name or display name of its set of runs with its seed and tokenization."""
        return " · ".join(filter(None, (name, self.run.called, self.tokenization)))


def find_run_of_side(
    runs: Sequence[RunSet], side: Side | None, seeds: Sequence[int]
) -> ChosenRun | None:
    """Return the run of a side of a comparison with the first of some seeds; None if there is none."""
    for one in runs:
        if side is not None and one.name == side[0]:
            return next((ChosenRun(one, run, side[1]) for run in one.of_seed(seeds[0])), None)
    return None


def label_difference(name: str) -> str:
    """Return what a difference of two runs is called on the pages: the label of a setting, or a
    code of `fair_pairs` itself.
    """
    setting = get_settings(FinetuneSettings).get(name) or get_settings(FinetuneStep).get(name)
    if setting is None:
        return name
    return setting.noun


def label_runs(workspace: Workspace, offered: Mapping[str, ChosenRun]) -> dict[str, str]:
    """Return the labels of runs in a menu: display name, seed and tokenization."""
    names = list_display_names(workspace, "runs")
    return {
        name: one.describe(names.get(one.run_set.name, one.run_set.name))
        for name, one in offered.items()
    }


def pick_named(
    label: str, key: str, offered: Mapping[str, T], first: str = "", **options: Any
) -> T | None:
    """Show a picker of options by name; return the selected one, None if there are none.

    first: the one that is selected at first, if it is offered. options: those of `pick_name`.
    """
    default = first if first in offered else next(iter(offered), "")
    return offered.get(pick_name(label, list(offered), key, default, **options))


def list_runs_to_pick(
    workspace: Workspace, task: str = "", by_tokenization: bool = False
) -> list[ChosenRun]:
    """Return every run of a workspace, newest first.

    by_tokenization: one entry per tokenization, the main one first. Runs that cannot be read are
    left out; `warn_of_unreadable_runs` names them, once per page.
    """
    found = []
    for run_set in cache.load_runs(workspace, task):
        # Without tokenizations, a run is listed once.
        tokenizations = [""]
        if by_tokenization:
            # False sorts before True: the main tokenization comes first.
            tokenizations = sorted(run_set.tokenizations, key=run_set.main_tokenization.__ne__)
        for run in run_set.runs:
            found += [ChosenRun(run_set, run, name) for name in tokenizations]
    return found


def warn_of_unreadable_runs(workspace: Workspace) -> None:
    """Warn if runs of a workspace cannot be read, and name them."""
    runs, unreadable = cache.runs_and_unreadable(workspace)
    message = describe_unreadable(unreadable, len(runs) + len(unreadable))
    if message:
        st.warning(plain(message), icon=":material/warning:")


def warn_if_crowded(*names: str) -> None:
    """Warn if all vectors of a space point in nearly the same direction."""
    for name in dict.fromkeys(names):
        mean = cache.random_cosine_of(cache.open_named_space(name).space)
        if mean is not None and mean > CROWDED:
            shown = plain(display_model(address.workspace(), name))
            st.warning(
                f"In **{shown}** two random tokens have a cosine of {fraction(mean)}: all vectors"
                " point in nearly the same direction, so neighbors mean little. A common cause is"
                " too little training text.",
                icon=":material/compress:",
            )


def _warn_of_casing(*names: str) -> None:
    """Warn if a model does not state its casing, and what another reading would change.

    names: folders or hub names; whatever cannot be opened is reported by the page that opens it.
    """
    for name in filter(None, names):
        with suppress(InputError):
            note = cache.model_of(name).casing_note
            if note:
                shown = plain(display_model(address.workspace(), name))
                st.warning(f"**{shown}**: {format_sentence(note)}", icon=":material/match_case:")


def draw_demo_note(model: str) -> None:
    """Say that a model is the small one of the demo, so that its figures are not taken for
    another's.
    """
    with suppress(InputError):
        if cache.model_of(model).path.name == demo.MODEL[1]:
            draw_note(
                f"{demo.MODEL[1]} is the small model of the demo. For the figures of your own"
                " model,"
                " choose it under *Language model*; the last option there takes a path or name."
            )


def list_demo_model(workspace: Workspace) -> dict[str, str]:
    """Return the model of the demo, display name → folder, for a workspace without a model; empty
    if the workspace has one, if `models_of` lists it, or if the demo is not installed.
    """
    if workspace.artifacts("models") or not demo.is_demo_installed():
        return {}
    folder = str(demo.DEMO.joinpath(*demo.MODEL))
    if os.path.realpath(folder) in map(os.path.realpath, models_in_use(workspace)):
        return {}
    return {demo.MODEL[1]: folder}


def list_models_to_train(workspace: Workspace) -> dict[str, str]:
    """Return the models that can be trained, by display name, in the order of `models_of`.

    If the workspace has no model yet, the demo's comes first.
    """
    return list_demo_model(workspace) | models_of(workspace)


def draw_name_input(
    workspace: Workspace, kind: str, wish: str, key: str, taken: Collection[str] = ()
) -> str:
    """Show the name field of a new artifact; the default is neither taken nor reserved by a job."""
    free = find_default_name(workspace, kind, wish, taken)
    # A new default needs a new widget: the old one keeps its value.
    return st.text_input("Name", value=free, key=f"{key}_{free}").strip()


def find_default_name(
    workspace: Workspace, kind: str, wish: str, taken: Collection[str] = ()
) -> str:
    """Return a name that is neither taken nor reserved by a job."""
    return workspace.find_free_name(kind, wish, {*list_promised_names(workspace, kind), *taken})


def warn_if_stale(artifact: Artifact, workspace: Workspace) -> None:
    """Warn if the inputs of an artifact have changed."""
    reasons = artifact.explain_staleness(workspace)
    if reasons:
        st.warning(
            f"Out of date: {plain('; '.join(reasons))}. Create it again to include the change.",
            icon=":material/update:",
        )


def has_living_job() -> bool:
    """Return whether a job of the open part runs or waits: it is drawn at the top of the part."""
    here = PARTS.get(address.find_open_part())
    living = list_living_jobs(address.workspace())
    return here is not None and any(job.spec.step in here.steps for job in living)


def draw_empty_state(what: str, how: str, part: str = "", link: str = "") -> None:
    """Show why a part is empty, what to do, a link to the part where one does it, and to the demo.

    link: the label of the link; by default that of LINKS. While a job of the open part lives, draw
    nothing: the job is drawn at the top of the part. A job of the other part is shown instead of
    what to do.
    """
    if has_living_job():
        return
    living = list_living_jobs(address.workspace())
    there = PARTS[part].steps if part else ()
    making = next((job for job in living if job.spec.step in there), None)
    if making:
        what = f"{making.spec.declaration.about} · {plain(making.target.name)}"
        how = "This job runs or waits; the page continues when it is done."
        link = "See its progress"
    with st.container(border=True):
        st.markdown(f"**{what}**")
        st.markdown(how)
        with st.container(horizontal=True):
            if part:
                draw_link(part, link or LINKS[part])
            if not making and not demo.has_demo(address.workspace()):
                draw_link("home", "Or open the demo", icon=":material/explore:")


def pick_task_kind(key: str, place: Any = st) -> TaskKind:
    """Show a picker of the task kind of the user's own files."""
    name = place.selectbox(
        "Task kind",
        list(TASK_KINDS),
        format_func=lambda name: f"{name}: {TASK_KINDS[name].about}",
        key=key,
        help=explain("Task kind"),
    )
    return TASK_KINDS[name]
