"""Form of a new study: models, adaptations, tasks, seeds, a few settings; or its file as text."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.given_settings import Given, declare_keys
from vocadapt.lab.experiments.studies.saved import (
    KIND,
    format_study,
    point_to,
    register_study,
    save_study,
)
from vocadapt.lab.experiments.studies.study_file import Study, StudyTask, Variant
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.presets import PRESETS, format_recipe_title
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.components.text_file import draw_text_file
from vocadapt.ui.state import address, paths
from vocadapt.ui.state.names import build_labels, name_adaptation
from vocadapt.ui.state.paths import resolve_allowed_path

FORM, TEXT, PATH = "Form", "File", "Path"
SHOWN = ((FinetuneSettings, "epochs"), (FinetuneSettings, "lr"), (FinetuneStep, "limit"))
SOURCES = {  # of adaptations that the form offers → kind of artifact, key of the file, label
    "text": ("corpora", "corpus", "Text"),
    "vectors": ("vectors", "vectors", "Word vectors"),
}
HELP = {
    "models": "Selects the models that are fine-tuned as they are. The first one is the baseline.",
    "adapted": "Selects how the first model is adapted. Each adaptation is a variant.",
    "seeds": "Sets the number of seeds: 3 means the seeds 1, 2 and 3. A significance test needs three.",
}
EXAMPLE = """name = "my-study"
seeds = [1, 2, 3]

[settings]
num_epochs = 5

[[variants]]
name = "original"
model = "../../models/MODEL"

[[tasks]]
name = "task"
task = "../../tasks/TASK"
"""


def start_editing(text: str) -> None:
    """Open the file of a study as text in the form: rerun the page."""
    st.session_state["studies_text"] = text
    st.session_state["studies_how"] = TEXT
    st.rerun()


def is_editing() -> bool:
    """Return whether the form shows the file of a study as text."""
    return st.session_state.get("studies_how") == TEXT


@st.fragment
@mistakes.show_errors()
def draw_form(workspace: Workspace) -> None:
    """Draw the form or the text field, and the button that saves the file of the study; a setting
    reruns only this fragment.
    """
    how = st.segmented_control(
        "Define by",
        [FORM, TEXT, PATH],
        default=FORM,
        required=True,
        key="studies_how",
        help=(
            "Selects the form; or the file of a study as text, to upload or to edit it; or the path"
            " of such a file on this machine."
        ),
    )
    if how == PATH:
        file = draw_path()
        if file is not None and _draw_save():
            _open(register_study(file, workspace, paths.check_model))
        return
    if how == FORM:
        text = draw_fields(workspace)
    else:
        text = draw_text_file(
            "studies_text",
            "File of the study",
            EXAMPLE,
            "Describes variants, tasks, seeds and settings in TOML. Paths are relative to the"
            " folder of the study: ../../models/NAME is a model of this workspace.",
        )
    if not text:
        return
    if _draw_save():
        # A file that is edited replaces that of the selected study; a form describes a new one.
        replaced = "" if how == FORM else str(st.session_state.get("studies_study", ""))
        _open(save_study(text, workspace, paths.check_model, replaced))
    if how == FORM:
        with st.expander("File of this study", icon=":material/description:"):
            st.code(text, language="toml")


def _draw_save() -> bool:
    """Draw the button that saves the study; return whether it was pressed."""
    pressed = st.button("Save the study", key="studies_save", icon=":material/save:")
    draw_note("Saving does not start the study: the estimate and the button Start appear above.")
    return pressed


def _open(saved: Artifact) -> None:
    address.show_next("studies_study", saved.name)
    address.mark_new("studies_study", saved.name)
    st.rerun()


def draw_path() -> Path | None:
    """Draw the field for the path of a study's file; return it, None if it is empty."""
    typed = st.text_input(
        "File of the study",
        key="studies_path",
        placeholder="/home/me/study.toml",
        help=(
            "Reads the file of a study on this machine, where it stays: paths in it are relative to"
            " its own folder, and a change of it is seen here."
        ),
    ).strip()
    return resolve_allowed_path(typed) if typed else None


def draw_fields(workspace: Workspace) -> str:
    """Draw the fields; return the file of the study that they describe, "" if one is missing."""
    tasks = {one.name: str(one.folder) for one in workspace.artifacts("tasks")}
    if not tasks:
        pickers.draw_empty_state(
            "There is no task in this workspace yet.",
            "A study needs labeled examples: download a benchmark or import your own files.",
            "finetune",
            "Add a task",
        )
        return ""
    # 1. Name, tasks and seeds.
    left, middle, right = st.columns([1.2, 1.5, 0.7], gap="medium")
    with left:
        name = pickers.draw_name_input(workspace, KIND, "study", "studies_name")
    chosen = middle.multiselect(
        "Tasks", list(tasks), list(tasks)[:1], key="studies_tasks", help=explain("Tasks")
    )
    n_seeds = right.number_input(
        "Seeds", 1, 50, 3, key="studies_seeds", help=explain("Seeds", HELP["seeds"])
    )
    # 2. The variants: models as they are, and the first one adapted.
    models = draw_models(workspace)
    adapted = draw_adaptations(workspace)
    # 3. The settings of fine-tuning, for every cell.
    settings = draw_training()
    if not chosen or not models:
        draw_note("Select at least one model and one task.")
        return ""
    study = Study(
        name,
        build_variants(models, adapted),
        tuple(StudyTask(one, {"task": tasks[one]}) for one in chosen),
        tuple(range(1, int(n_seeds) + 1)),
        settings,
    )
    return format_study(study, partial(point_to, workspace=workspace))


def draw_models(workspace: Workspace) -> dict[str, str]:
    """Draw the picker of models; return label → folder or hub name. The first one that is not
    adapted is selected at first.
    """
    models = pickers.list_models_to_train(workspace)
    names = build_labels(workspace, models)
    adapted = {str(one.folder) for one in list_adapted_models(workspace)}
    kept = st.multiselect(
        "Models",
        list(models),
        sorted(models, key=lambda label: models[label] in adapted)[:1],
        key="studies_models",
        format_func=lambda label: names.get(label, label),
        help=explain("Models", HELP["models"]),
    )
    return {label: models[label] for label in kept}


def draw_adaptations(workspace: Workspace) -> Sequence[Given]:
    """Draw the picker of presets and of what they need; return each as the keys of a variant."""
    available = {name for name, (kind, _, _) in SOURCES.items() if workspace.artifacts(kind)}
    presets = [
        name for name, recipe in PRESETS.items() if recipe.needs and recipe.needs <= available
    ]
    if not presets:
        draw_note("Add word vectors to this workspace to compare adapted models, too.")
        return []
    picked = st.multiselect(
        "First model adapted by",
        presets,
        presets[:1],
        key="studies_presets",
        format_func=lambda name: format_recipe_title(PRESETS[name]),
        help=explain("preset", HELP["adapted"]),
    )
    adapted: list[dict[str, Any]] = [{"preset": name} for name in picked]
    for source, (kind, key, label) in SOURCES.items():
        needing = [one for one in adapted if source in PRESETS[one["preset"]].needs]
        if not needing:
            continue
        offered = {one.name: str(one.folder) for one in workspace.artifacts(kind)}
        chosen = st.selectbox(label, list(offered), key=f"studies_{source}", help=explain(label))
        for one in needing:
            one[key] = (offered[chosen],) if source == "text" else offered[chosen]
    return adapted


def draw_training() -> dict[str, Any]:
    """Draw the common settings of fine-tuning; return them by their keys in the file."""
    given = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for settings, name in SHOWN:
            value = draw_setting(st, settings, name, f"studies_{name}", width=180)
            key = next(iter(declare_keys(settings, (name,))))
            if value != getattr(settings(), name):
                given[key] = value
    return given


def build_variants(models: Mapping[str, str], adapted: Sequence[Given]) -> tuple[Variant, ...]:
    """Return the variants of a study: the models as they are, then the first one adapted."""
    variants = [Variant(label[:60], place) for label, place in models.items()]
    first = variants[0]
    for given in adapted:
        origin = Path(given.get("vectors") or given["corpus"][0]).name
        name = name_adaptation(Path(first.model).name, origin)
        if name in {one.name for one in variants}:
            name = f"{name} · {given['preset']}"
        variants.append(Variant(name, first.model, given))
    return tuple(variants)
