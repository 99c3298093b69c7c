"""The picker of the page Try it: fine-tuned runs and models in one menu, or any folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.results.runs import find_fair_pair, find_trained_model
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.address import Choice
from vocadapt.ui.state.names import build_labels, display_model, display_name, models_of
from vocadapt.ui.text.markup import plain

RUN, MODEL = "try_run", "try_model"  # query parameters; RUN is also the key of the picker
HELP = (
    "Selects the model that reads your sentence: a run (fine-tuned on a task with one seed), or a"
    " model that was not fine-tuned, which fills in masked words."
)


@dataclass(frozen=True)
class Chosen:
    """The selected run or model: the folder of a run, or the folder or hub name of a model."""

    run: str = ""
    model: str = ""


def choose(workspace: Workspace) -> Chosen | None:
    """Show the picker of runs and models, and a field for any folder; None if there are none."""
    runs = pickers.list_runs_to_pick(workspace)
    with_weights = [one for one in runs if one.run.has_weights]
    options = {one.name: Chosen(run=str(one.run.folder)) for one in with_weights}
    folders: dict[str, str] = {}
    if workspace.artifacts("models"):
        folders = models_of(workspace, common=())
    models = {f"model · {name}": name for name in folders}
    for label, name in models.items():
        options.setdefault(label, Chosen(model=folders[name]))
    shown = pickers.label_runs(workspace, {one.name: one for one in with_weights})
    first = find_default(workspace, options)
    chosen = _pick(options, models, shown | build_labels(workspace, models), first)
    other = _draw_folder_input(workspace)
    without = {one.run_set.name for one in runs if not one.run.has_weights}
    if without:
        names = [display_name(workspace, "runs", name) for name in sorted(without)]
        draw_note(
            f"Not offered: {plain(', '.join(names))}. These runs were saved without weights: they"
            " have predictions, but cannot read a new sentence."
        )
    if other:
        return _open_folder(other)
    return chosen


def find_default(workspace: Workspace, options: Mapping[str, Chosen]) -> str:
    """Return the option that is selected at first: the compared run of the fair pair, or else the
    model that it was trained from; without a run that is compared, the newest adapted model.
    """
    # The folders of runs and models, the most wanted one first.
    wanted = [one.folder for one in list_adapted_models(workspace)]
    runs = cache.load_runs(workspace)
    pair = find_fair_pair(runs)
    compared = pickers.find_run_of_side(runs, pair.compared, pair.seeds) if pair else None
    if compared is not None:
        model = find_trained_model(compared.run.folder)
        wanted = [compared.run.folder, *filter(None, [model]), *wanted]
    offered = {option.run or option.model: name for name, option in options.items()}
    found = (offered[str(folder)] for folder in wanted if str(folder) in offered)
    return next(found, next(iter(options), ""))


def _pick(
    options: Mapping[str, Chosen], models: Mapping[str, str], shown: Mapping[str, str], first: str
) -> Chosen | None:
    """Show the picker; a link may select a run by `try_run`, or a model by `try_model`.

    models: option -> name in the address. shown: option -> what the menu shows. first: the option
    that is selected at first.
    """
    labels = {name: label for label, name in models.items()}
    linked = labels.get(address.read_link(MODEL))
    if linked and RUN not in st.query_params:
        address.show_next(RUN, linked)
    names = list(options)
    address.restore_selection(RUN, Choice(frozenset(names).__contains__, first))
    chosen = st.selectbox(
        "Model or run",
        names,
        index=0 if first else None,
        key=RUN,
        persist_state="session",
        placeholder="There is no run or model yet",
        format_func=lambda option: shown.get(option, option),
        help=explain("Model or run", HELP),
    )
    label = str(chosen or first)
    is_model = label in models
    address.write(RUN, [] if is_model else [label])
    address.write(MODEL, [models[label]] if is_model else [])
    return options.get(label)


def _draw_folder_input(workspace: Workspace) -> str:
    """Draw the field for the folder of any run or model; return what was typed."""
    with st.popover("Another folder", icon=":material/folder_open:"):
        typed = st.text_input(
            "Model or run folder",
            key="try_folder",
            persist_state="session",
            help=explain(
                "Model or run folder",
                "Selects a folder instead of the choice above; for example, a question-answering"
                " model before adaptation.",
            ),
        )
    if typed:
        draw_note(f"Shown: {plain(display_model(workspace, typed)[:200])}")
    return str(typed or "").strip()


def _open_folder(folder: str) -> Chosen:
    """Return the run in a typed folder, or the model if it is one without a task head."""
    try:
        cache.run_of(folder)
    except InputError:
        # Neither a run nor a model: the error is that of the run, and is raised again later.
        if os.path.isfile(Path(folder) / "config.json"):
            return Chosen(model=folder)
    return Chosen(run=folder)
