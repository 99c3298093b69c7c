"""Form that computes the cells of a published table: the inputs, the estimate, and Start.

Cells without training are computed on click; trainings run as a job, which fills the study that all
tables share.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from vocadapt.lab.experiments.published.imports import FOLDER as IMPORTED
from vocadapt.lab.experiments.published.materials import Materials
from vocadapt.lab.experiments.published.measures import Place
from vocadapt.lab.experiments.published.plan import PlannedTable, plan_table
from vocadapt.lab.experiments.published.reproduce import read_trained, reproduce
from vocadapt.lab.experiments.published.trainings import (
    METHOD,
    SCALES,
    STUDY,
    plan_trainings,
    write_file,
)
from vocadapt.lab.experiments.studies.saved import KIND, find_running_job
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.published.comparison import Comparison
from vocadapt.published.coverage import compute_gaps
from vocadapt.published.reader import find_table
from vocadapt.published.tables import PublishedTable
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_link, draw_note
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.published.figures import draw_chosen_gap
from vocadapt.ui.parts.published.view import draw_compared
from vocadapt.ui.state import paths
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, format_forecast

STAND_IN = "another model"  # what the chosen model is, unless the user says otherwise


def draw_form(table: PublishedTable, workspace: Workspace) -> None:
    """Draw the inputs, what can be computed from them and how long it takes, and the results.

    table: one that has a method.
    """
    # 1. The inputs, and the amount of training.
    materials = draw_materials(table, workspace)
    scale = "tiny"
    if table.method == METHOD:
        scale = str(
            st.segmented_control(
                "Scale",
                list(SCALES),
                default=scale,
                required=True,
                key="published_scale",
                help="Selects the amount of training. "
                + "; ".join(f"{name}: {one.about}" for name, one in SCALES.items()),
            )
        )
    # 2. What can be computed.
    root = workspace.folder(KIND, STUDY)
    plan = _plan(table.id, scale, describe(materials, root), materials, root)
    _draw_plan(plan)
    # 3. Start, and the results.
    if table.method == METHOD:
        _draw_trainings(table, workspace, materials, scale, plan)
    elif plan.computable:
        _draw_measures(table, materials, root)


def draw_materials(table: PublishedTable, workspace: Workspace) -> Materials:
    """Draw the pickers of model, word vectors and data; return the materials."""
    # Models of the hub are found by the names that the table gives them.
    adapted = {str(one.folder) for one in list_adapted_models(workspace)}
    models = {"none": ""} | {
        name: place
        for name, place in pickers.list_models_to_train(workspace).items()
        if place not in adapted and os.path.isdir(place)
    }
    vectors = {"none": ""} | {one.name: str(one.folder) for one in workspace.artifacts("vectors")}
    names = dict.fromkeys(cell.facts.base_model for cell in table.cells)
    named = [name for name in names if name != "none" and ";" not in name]
    left, middle, right = st.columns(3, gap="medium")
    label = left.selectbox(
        "Model",
        list(models),
        index=min(1, len(models) - 1),
        key="published_base",
        help="Selects the base model to compute the cells with.",
    )
    says = middle.selectbox(
        "This model is",
        [STAND_IN, *named],
        key=f"published_says_{table.id}",
        help="States which model it is. Another model stands in for the first base model of the"
        " table, and its values are not compared.",
    )
    chosen = right.selectbox(
        "Word vectors",
        list(vectors),
        index=min(1, len(vectors) - 1),
        key="published_vectors",
        help="Selects the word vectors for recipes that need them.",
    )
    typed = st.text_input(
        "Folder of data",
        key="published_data",
        help="A folder with vocab/, text/, models/, or benchmarks in folders of their names. Data"
        " of the workspace is found without it.",
    ).strip()
    data = (paths.resolve_allowed_path(typed),) if typed else ()
    folder = models[label]
    if folder:
        paths.check_allowed(folder)
    stated = {says: folder} if folder and says != STAND_IN else {}
    stand_in = "" if stated else folder
    return Materials(workspace, data, stated, stand_in, vectors=vectors[chosen])


def describe(materials: Materials, root: Path) -> str:
    """Return the key of a cached plan: the inputs, and the state of the folders that it reads."""
    given = (*map(str, materials.data), *materials.models.items(), materials.stand_in)
    places = [root / "runs"]
    if materials.workspace is not None:
        kinds = ("tasks", "models", "corpora", IMPORTED)
        places += [materials.workspace.root / kind for kind in kinds]
    times = [place.stat().st_mtime_ns for place in places if os.path.exists(place)]
    return repr((given, materials.vectors, times, str(root)))


@st.cache_data(max_entries=64, show_spinner="Checking which cells can be computed …")
def _plan(table: str, scale: str, given: str, _materials: Materials, _root: Path) -> PlannedTable:
    return plan_table(find_table(table), _materials, SCALES[scale], _root)


def _draw_plan(plan: PlannedTable) -> None:
    """Draw how many cells can be computed, how, and what the others need."""
    st.markdown(
        f"**{count(plan.computable)} of {count(plan.cells)}** cells can be computed here:"
        f" {plain(plan.method)}."
    )
    if plan.refusal:
        text = plan.refusal
        st.info(f"{plain(text[:1].upper() + text[1:])}.", icon=":material/info:")
    elif plan.needs:
        draw_note(f"Why the other cells are not computed: {plain('; '.join(plan.needs))}.")


def _draw_measures(table: PublishedTable, materials: Materials, root: Path) -> None:
    """Draw the button that computes the cells without training, and the results."""
    pressed = st.button("Compute", key="published_compute", icon=":material/calculate:")
    key = f"{table.id} {describe(materials, root)}"
    if pressed:
        st.session_state["published_computed"] = key
    if st.session_state.get("published_computed") == key:
        draw_results(table, _compute(key, table, materials, root))


@st.cache_data(max_entries=16, show_spinner="Computing the cells …")
def _compute(
    key: str, _table: PublishedTable, _materials: Materials, _root: Path
) -> Mapping[Place, Comparison]:
    return reproduce(_table, _materials, SCALES["tiny"], _root).comparisons


def _draw_trainings(
    table: PublishedTable,
    workspace: Workspace,
    materials: Materials,
    scale: str,
    plan: PlannedTable,
) -> None:
    """Draw the estimate of the trainings with the button that starts them, and the results."""
    root = workspace.folder(KIND, STUDY)
    if find_running_job(workspace, STUDY):
        draw_note("Trainings of published tables are running.")
        draw_link("studies", "Watch them", studies_study=STUDY)
    elif plan.trainings and not plan.refusal:
        st.markdown(
            f"**{count(plan.trainings)}** trainings left · about"
            f" **{format_forecast(plan.forecast)}**"
        )
        if st.button("Start", key="published_start", type="primary", icon=":material/play_arrow:"):
            study = plan_trainings(table, materials, SCALES[scale]).study
            assert study is not None
            file = write_file(study, root)
            panel.start(workspace, Spec(StudyStep(), {"file": (str(file),)}), STUDY)
    if plan.computable:
        draw_results(table, read_trained(table, materials, SCALES[scale], root))


def draw_results(table: PublishedTable, compared: Mapping[Place, Comparison]) -> None:
    """Draw the cells that have a value of ours, beside the published ones."""
    own = [(table.grid[place], "", one) for place, one in compared.items() if one.ours is not None]
    if own:
        draw_compared(own)
    if gaps := compute_gaps(table, compared):
        draw_chosen_gap(gaps, "published_own_gap")
