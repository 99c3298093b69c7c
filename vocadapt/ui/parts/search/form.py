"""Form of a new search: what is compared, model, task, space, trials, seeds, estimate, Start."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.lab.experiments.search.estimates import estimate_search
from vocadapt.lab.experiments.search.saved import save_search
from vocadapt.lab.experiments.search.space import (
    Range,
    Space,
    build_thesis_space,
    declare_searched,
    find_published_choices,
    parse_space,
)
from vocadapt.lab.experiments.search.step import SearchStep, SeedsStep
from vocadapt.lab.experiments.search.tables import format_value
from vocadapt.lab.experiments.search.trials import TrialMaker, prepare_trials
from vocadapt.lab.experiments.studies.estimates import GridEstimate
from vocadapt.lab.experiments.studies.places import count_workers
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.guards import LONG
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import compute_seen_stamp
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.task import list_task_files
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_command, draw_note, draw_table
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_setting, register_input
from vocadapt.ui.components.text_file import draw_text_file
from vocadapt.ui.jobs import guards, panel
from vocadapt.ui.parts.finetune.page import parse_seeds
from vocadapt.ui.parts.studies.view import draw_energy
from vocadapt.ui.state import paths
from vocadapt.ui.state.names import build_labels
from vocadapt.ui.text.number_formats import count, count_noun, format_forecast

SETTINGS, SEEDS = "Settings", "Seeds"
THESIS, OWN = "Fast 2023, table 5.1", "Your own"
SHOWN = ("epochs", "batch", "lr", "length")  # settings that are drawn if they are not searched
HELP = {
    "what": (
        "Selects what differs between the runs: their settings, of which the best are found, or"
        " only their random seeds, to see how much chance there is in a score."
    ),
    "model": "Selects the model that is fine-tuned.",
    "task": "Selects the task; it needs a dev split, whose scores are compared.",
    "space": "Selects which settings are tried, and with which values.",
    "searched": "Selects the settings that are tried; the others have one value in all trials.",
    "seeds": (
        "Sets the random seeds of each trial: 1 2 3, or 1-8. The score of a trial is their mean; no"
        " seed is chosen."
    ),
}
EXAMPLE = """# Keys are called as the settings of fine-tuning.
seeds = [1, 2, 3]                                         # averaged over, never chosen
batch_size = [8, 16]                                      # one of a list
learning_rate = { low = 1e-5, high = 1e-3, log = true }   # any number of a range
num_epochs = [2, 4]
"""


@dataclass(frozen=True)
class SearchRequest:
    """What the form describes. space: None for a comparison of seeds; text: of an own space."""

    name: str
    spec: Spec
    seeds: tuple[int, ...]
    space: Space | None = None
    text: str = ""

    @property
    def training(self) -> FinetuneStep:
        """The settings that hold for all runs."""
        found: FinetuneStep = self.spec.settings.training
        return found

    @property
    def spec_of_guards(self) -> Spec:
        """The step whose guards are drawn: for a space that is not saved yet, and so cannot be
        read, a comparison of seeds, which has the same training settings.
        """
        if not self.text:
            return self.spec
        settings = SeedsStep(self.seeds, self.training, self.spec.settings.place)
        return Spec(settings, dict(self.spec.inputs))

    @property
    def trials(self) -> int:
        """Number of trials; 1 for a comparison of seeds."""
        return 1 if self.space is None else int(self.spec.settings.trials)


def is_optuna_installed() -> bool:
    """Return whether Optuna, which proposes the settings of a search, is installed."""
    return find_spec("optuna") is not None


@st.fragment
@mistakes.show_errors()
def draw_form(workspace: Workspace) -> None:
    """Draw the form, the estimate, and the button that starts the search; a setting reruns only
    this fragment.
    """
    if not workspace.artifacts("tasks"):
        pickers.draw_empty_state(
            "There is no task in this workspace yet.",
            "A search needs labeled examples with a dev split: download a benchmark or import"
            " files.",
            "finetune",
            "Add a task",
        )
        return
    what = st.segmented_control(
        "What to compare",
        [SETTINGS, SEEDS],
        default=SETTINGS,
        required=True,
        key="search_what",
        help=HELP["what"],
    )
    if what == SETTINGS and not is_optuna_installed():
        st.info(
            "A search of settings needs Optuna, which is not installed. Install the extra `search`"
            " and start the lab again; seeds can be compared without it.",
            icon=":material/info:",
        )
        draw_command("pip install 'vocadapt[search]'")
        return
    request = draw_fields(workspace, what == SETTINGS)
    maker = _prepare(request)
    cost = draw_estimate(workspace, request, maker)
    guards.draw_guards(workspace, request.spec_of_guards)
    kind: panel.ButtonKind = "primary"
    if cost.forecast.total_idle_seconds > LONG:
        kind = "secondary"
    if st.button("Start", key="search_start", type=kind, icon=":material/play_arrow:"):
        paths.check_inputs(request.spec)
        spec = save_search(request.spec, request.name, workspace, request.text)
        panel.start(workspace, spec, request.name)


def draw_fields(workspace: Workspace, is_search: bool) -> SearchRequest:
    """Draw name, model and task, and the fields of a search or of a comparison of seeds; return
    what they describe.
    """
    tasks = {one.name: str(one.folder) for one in workspace.artifacts("tasks")}
    models = pickers.list_models_to_train(workspace)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        wish = "search" if is_search else "seeds"
        name = pickers.draw_name_input(workspace, "searches", wish, f"search_name_{wish}")
    labels = build_labels(workspace, models)
    adapted = {str(one.folder) for one in list_adapted_models(workspace)}
    model = middle.selectbox(
        "Model",
        sorted(models, key=lambda label: models[label] in adapted),
        key="search_model",
        format_func=lambda label: labels.get(label, label),
        help=explain("Model", HELP["model"]),
    )
    task = right.selectbox(
        "Task", list(tasks), key="search_task", help=explain("Task", HELP["task"])
    )
    inputs = {"model": (models[model],), "task": (tasks[task],)}
    if is_search:
        return _draw_search_fields(name, inputs)
    return _draw_seed_fields(name, inputs)


def _draw_search_fields(name: str, inputs: Mapping[str, tuple[str, ...]]) -> SearchRequest:
    """Draw what is tried, and the settings that hold for all trials."""
    space, text = _draw_space()
    # Another space has other defaults, which need other widgets: the old ones keep their values.
    key = f"{list(space.axes)}_{space.seeds}"
    left, right = st.columns(2, gap="medium")
    trials = draw_setting(left, SearchStep, "trials", "search_trials", least=1)
    seeds_key = f"search_seeds_{key}"
    usual = " ".join(map(str, space.seeds if text else space.seeds[:1]))
    seeds = parse_seeds(right.text_input("Seeds", usual, key=seeds_key, help=HELP["seeds"]))
    register_input(SearchStep, "seeds", seeds_key)
    searched = st.multiselect(
        "Searched settings",
        list(space.axes),
        list(space.axes),
        key=f"search_searched_{key}",
        format_func=lambda name: declare_searched()[name].label,
        help=HELP["searched"],
    )
    fixed = tuple(key for key in space.axes if key not in searched)
    space = space.without(fixed)
    training, place = _draw_common(space.axes)
    settings = SearchStep(trials, seeds, fixed, training=training, place=place)
    return SearchRequest(name, Spec(settings, inputs), seeds, space, text)


def _draw_seed_fields(name: str, inputs: Mapping[str, tuple[str, ...]]) -> SearchRequest:
    usual = " ".join(map(str, SeedsStep().seeds))
    seeds = parse_seeds(
        st.text_input("Seeds", usual, key="search_own_seeds", help="Sets the seeds, one run each.")
    )
    training, place = _draw_common(())
    settings = SeedsStep(seeds, training, place)
    return SearchRequest(name, Spec(settings, inputs), seeds)


def _draw_space() -> tuple[Space, str]:
    """Draw the choice of a space; return it, and its text if it is an own one."""
    which = st.segmented_control(
        "Space",
        [THESIS, OWN],
        default=THESIS,
        required=True,
        key="search_space",
        help=HELP["space"],
    )
    if which == OWN:
        text = draw_text_file(
            "search_text",
            "File of the space",
            EXAMPLE,
            "Describes the settings to try in TOML: a list of values, or a range, for each.",
            200,
        )
        return parse_space(text), text
    space = build_thesis_space()
    chosen = find_published_choices()
    declared = declare_searched()
    values = {key: space.axes.get(key, space.seeds) for key in chosen}
    draw_table(
        {
            "setting": [declared[key].label for key in values],
            "values": [format_values(one) for one in values.values()],
            "chosen by Fast 2023 (table 6.1)": list(chosen.values()),
        },
        key="search_values",
    )
    draw_note("Fast 2023 searched the seed, too; here each trial is averaged over its seeds.")
    return space, ""


def format_values(values: tuple[Any, ...] | Range) -> str:
    """Format the values of a setting: 1, 2, 4; 1e-05 to 0.001 (logarithmic)."""
    if isinstance(values, Range):
        scale = " (logarithmic)" if values.log else ""
        return f"{format_value(values.low)} to {format_value(values.high)}{scale}"
    return ", ".join(map(format_value, values))


def _draw_common(searched: Collection[str]) -> tuple[FinetuneStep, StudyStep]:
    """Draw the settings that hold for all trials, and where these run.

    searched: keys of the settings that are tried, which are left out.
    """
    declared = declare_searched()
    taken = {declared[key].name for key in searched}
    changed = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in SHOWN:
            if name not in taken:
                changed[name] = draw_setting(
                    st, FinetuneSettings, name, f"search_{name}", width=170
                )
        limit = draw_setting(st, FinetuneStep, "limit", "search_limit", width=170)
        workers = draw_setting(st, StudyStep, "workers", "search_workers", width=190)
    training = FinetuneStep(FinetuneSettings(**changed), limit=limit)
    return training, StudyStep(workers=workers)


def draw_estimate(workspace: Workspace, request: SearchRequest, maker: TrialMaker) -> GridEstimate:
    """Draw the number of runs, the time on the workers, and the energy; return the estimate."""
    workers = count_workers(request.spec.settings.place.workers, maker.study)
    space = request.space
    described = str(space.to_dict()) if space else ""
    root = str(workspace.root)
    cost = _estimate(request.spec.to_json(), described, workers, root, request, maker)
    runs = f"**{count(cost.cells)}** run{'s' * (cost.cells != 1)}"
    if space:
        seeds = count_noun(len(request.seeds), "seed")
        runs += f" ({count_noun(request.trials, 'trial')} × {seeds})"
    on = count_noun(workers, "worker")
    if space and space.combinations:
        runs += f" of {count(space.combinations)} combinations of settings"
    st.markdown(f"{runs} · at most about **{format_forecast(cost.forecast)}** on {on}")
    draw_energy(cost, maker.study.threads, workspace.root)
    return cost


@st.cache_data(max_entries=32, show_spinner="Estimating the time …")
def _estimate(
    spec: str,
    space: str,
    workers: int,
    root: str,
    _request: SearchRequest,
    _maker: TrialMaker,
) -> GridEstimate:
    return estimate_search(_maker, _request.space, _request.trials, workers, Path(root))


def _prepare(request: SearchRequest) -> TrialMaker:
    """Check model and task; return what makes the runs. Cached while the task is unchanged."""
    spec = request.spec
    paths.check_inputs(spec)
    base = Spec(replace(request.training, seeds=request.seeds), dict(spec.inputs))
    stamp = compute_seen_stamp(list_task_files(Path(spec.inputs["task"][0])))
    return _prepare_cached(base.to_json(), stamp, request)


@st.cache_resource(max_entries=8, show_spinner="Reading the task …")
def _prepare_cached(spec: str, stamp: str, _request: SearchRequest) -> TrialMaker:
    return prepare_trials(_request.spec.inputs, _request.training, _request.seeds, offline=True)
