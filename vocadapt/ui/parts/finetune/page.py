"""The part Fine-tune: fine-tune models on a task with several seeds as jobs, and show their
results.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.inputs.tasks import find_task
from vocadapt.lab.steps.finetune import ALL_FOLDS, FinetuneStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.models.abilities import check_ability
from vocadapt.training.finetune.settings import FINETUNING_PRESETS, FREEZE, FinetuneSettings
from vocadapt.training.finetune.tokenizations import TOKENIZATIONS
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import TASK as TASK_FILE
from vocadapt.training.tasks.task import Task, read_task_file
from vocadapt.training.trained_parameters import require_new_ids
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_heading, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_linked_setting, draw_preset, draw_settings
from vocadapt.ui.jobs import forms, guards, panel
from vocadapt.ui.parts.finetune import result, task_intake
from vocadapt.ui.parts.finetune.task_intake import TASK
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import display_model, find_model_stem, label_of, model_behind
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import count, count_noun, duration

HELP = {
    "models": (
        "Selects the models to fine-tune, one job each: models of this workspace, or others by"
        " folder or hub name."
    ),
    "task": "Selects a task of this workspace, or another one by the path of its .toml file.",
    "seeds": (
        "Sets the seeds, one run each: 1 2 3, or 1-8. A verdict on a difference needs at least"
        " five."
    ),
    "tokenization": (
        "Selects the tokenization of the training examples. Default: mixed for an adapted model."
        " The run is scored with every tokenization of the model, and pooled."
    ),
}
# Settings of the step with an input of their own, or for single files in place of a task.
DRAWN = ("finetune", "tokenization", "seeds", "fold", "limit", "kind", "scorer", "unit")
NUMBERS = re.compile(r"\d{1,9}")


def draw(workspace: Workspace) -> None:
    """Draw the headline result, and the forms of new runs and new tasks."""
    # 1. The running job, and the latest result.
    with st.container():
        panel.draw_running(
            workspace, ("finetune",), "finetune_live", result.draw_running_job, result.LIVE_HEIGHT
        )
    runs = cache.load_runs(workspace)
    if runs:
        result.draw_headline_result(workspace, runs)

    # 2. The forms of new runs and new tasks.
    _draw_forms(workspace, is_first=not runs)


@st.fragment
def _draw_forms(workspace: Workspace, is_first: bool) -> None:
    """Draw the forms of new runs and new tasks; a setting reruns only this fragment."""
    # 1. The form of new runs, with their cost.
    draw_heading("Fine-tune models" if is_first else "Fine-tune more models")
    if not workspace.artifacts("tasks"):
        pickers.draw_empty_state(
            "There is no task in this workspace yet.",
            "Fine-tuning needs labeled examples: download a benchmark or import your own files"
            " below, or choose a task's .toml by its path. Then select models and press Start.",
        )
    with mistakes.show_errors():
        request = draw_form(workspace)
        if request:
            describe_task(request)
            can_run = draw_cost(workspace, request)
            draw_start_button(workspace, request, can_run)
    # 2. The forms of new tasks.
    with st.expander(
        "Add a task", icon=":material/add:", expanded=not workspace.artifacts("tasks")
    ):
        task_intake.draw_task_forms(workspace)


@dataclass(frozen=True)
class FinetuneRequest:
    """The fine-tuning jobs that the form describes: the task, and what to run for each model, by
    its label.
    """

    task: Task
    specs: dict[str, Spec]

    def suggest_name(self, label: str) -> str:
        """Return the suggested name of the runs of one of the models."""
        return f"{self.task.name.rpartition('/')[2]}-{find_model_stem(label)}"


def draw_form(workspace: Workspace) -> FinetuneRequest | None:
    """Draw the form; return None as long as no task or no model is selected."""
    # 1. The models and the task.
    chosen, task, seeds = st.columns([1.5, 1, 0.8], gap="medium")
    with chosen:
        offered = pickers.list_models_to_train(workspace)
        first = partial(_choose_first_models, workspace, offered)
        models = pickers.pick_several(
            workspace, "Models", offered, "finetune_models", first, help=HELP["models"]
        )
    with task:
        task_path = choose_task(workspace)
    # 2. The settings: a preset, and changes to it.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        preset = draw_preset(FINETUNING_PRESETS, "finetune_preset")
        step = _choose_step(preset, task_path)
    about = FINETUNING_PRESETS[preset].about
    st.markdown(f":small[{about[0].upper()}{about[1:]}.]")
    usual = " ".join(map(str, FINETUNING_PRESETS[preset].seeds))
    typed = seeds.text_input("Seeds", usual, key=f"seeds_{preset}", help=HELP["seeds"])
    # 3. The step; with all folds, each seed is trained once per fold, and the first one is shown.
    if task_path is None or not models:
        return None
    for place in models.values():
        if os.path.isdir(place):  # a model of a hub is checked when the job has loaded it
            check_ability(cache.model_of(place), "finetune")
        if step.finetune.only_new_embeddings:
            require_new_ids(cache.model_of(place))
    step = replace(step, seeds=parse_seeds(typed))
    specs = {
        label: Spec(step, {"model": (model,), "task": (str(task_path),)})
        for label, model in models.items()
    }
    shown_fold = 1 if step.fold == ALL_FOLDS else step.fold
    return FinetuneRequest(cache.task_of(task_path, shown_fold), specs)


def _choose_step(preset: str, task_path: Path | None) -> FinetuneStep:
    """Draw the settings of the step, initially those of a preset; without its seeds."""
    tokenization = st.selectbox(
        "Tokenization",
        ["", *TOKENIZATIONS],
        key="finetune_tokenization",
        bind="query-params",
        format_func=lambda name: name or "default",
        width=170,
        help=explain("Tokenization", HELP["tokenization"]),
    )
    limit = draw_linked_setting(FinetuneStep, "limit", "finetune_limit", width=150)
    n_folds, with_word_rule = 0, False
    if task_path is not None:
        file = read_task_file(task_path / TASK_FILE if task_path.is_dir() else task_path)
        n_folds = file.folds
        with_word_rule = TASK_KINDS[file.kind].has_word_rule
    fold = _choose_fold(n_folds)
    with st.popover("More settings", icon=":material/tune:"):
        settings = choose_settings(preset, with_word_rule)
        step = FinetuneStep(settings, str(tokenization or ""), fold=fold, limit=limit)
        return draw_settings(step, "finetune", DRAWN)


def _choose_first_models(workspace: Workspace, offered: Mapping[str, str]) -> list[str]:
    """Return the models that are selected at first: the newest adapted model after the model that
    it was made from, to compare both; else the first one.
    """
    names: list[str | None] = []
    for adapted in list_adapted_models(workspace)[:1]:
        names = [model_behind(adapted, workspace), str(adapted.folder)]
    labels = [label_of(name, offered) for name in names if name]
    return [label for label in labels if label in offered] or [next(iter(offered))]


def choose_task(workspace: Workspace) -> Path | None:
    """Draw the picker of tasks; return the path of the selected one, None if none is selected."""
    names = [artifact.name for artifact in workspace.artifacts("tasks")]
    first = names[0] if names else ""
    address.restore_selection(TASK, address.Choice(names.__contains__, first, typed=True))
    empty = "Add one below, or pick a .toml"
    typed = pickers.draw_select_or_type("Task", names, TASK, placeholder=empty, help=HELP["task"])
    address.write(TASK, [typed], names.__contains__)
    return find_task(os.path.expanduser(typed), workspace) if typed else None


def _choose_fold(n_folds: int) -> int:
    """Draw the picker of a fold of a k-fold task; return it or ALL_FOLDS, 0 for other tasks."""
    if not n_folds:
        return 0
    folds = ["all", *map(str, range(1, n_folds + 1))]
    label = f"Fold, of {n_folds}"
    chosen = st.selectbox(label, folds, key="finetune_fold", bind="query-params", width=130)
    return ALL_FOLDS if chosen in ("all", None) else int(chosen)


def choose_settings(preset: str, with_word_rule: bool = False) -> FinetuneSettings:
    """Draw the inputs of all settings, initially with the preset's values; return the settings."""
    # Keys contain the preset: selecting another one resets the inputs to its values.
    usual = FINETUNING_PRESETS[preset].settings
    form = f"finetune_{preset}"
    drawn = ["freeze"]
    if not with_word_rule:
        drawn.append("word_rule")
    settings = draw_settings(replace(usual, freeze="all"), form, drawn)
    # If only new embeddings are trained, no layer is trained, so none can be selected.
    if settings.only_new_embeddings:
        return settings
    about = {name: f"{name}: {text}" for name, text in FREEZE.items() if name != "top-K"}
    for k in range(1, 25):
        about[f"top-{k}"] = f"top-{k}: {FREEZE['top-K'].replace('the K', f'the {k}')}"
    freeze = st.selectbox(
        "Trained layers",
        list(about),
        list(about).index(usual.freeze),
        format_func=about.__getitem__,
        key=f"freeze_{form}",
    )
    return replace(settings, freeze=freeze)


def parse_seeds(typed: str) -> tuple[int, ...]:
    """Parse seeds: 1 2 3, 1,2,3 or 1-8. Raises InputError if invalid or more than 50."""
    seeds: list[int] = []
    for part in typed.replace(",", " ").split():
        # "3" is the range from 3 to 3. Signs and ranges of three parts are invalid.
        ends = part.split("-")
        if len(ends) > 2 or not all(NUMBERS.fullmatch(end) for end in ends):
            raise InputError(f"{part[:40]!r} is not a seed.", "Type whole numbers: 1 2 3, or 1-8.")
        first = int(ends[0])
        last = int(ends[-1])
        if not 0 <= last - first < 50:
            raise InputError(
                f"{part[:40]!r} is not a range of at most 50 seeds.", "For example: 1-8."
            )
        seeds += range(first, last + 1)
    # Duplicates are removed: the same seed would only repeat the run.
    found = tuple(dict.fromkeys(seeds))
    if not 1 <= len(found) <= 50:
        raise InputError(f"Expected 1 to 50 seeds, got {count(len(found))}.", "For example: 1 2 3.")
    return found


def describe_task(request: FinetuneRequest) -> None:
    """Draw a line with the task's sizes, labels and score, and its findings."""
    task = request.task
    sizes = " · ".join(f"{name} **{count(len(split))}**" for name, split in task.splits.items())
    labels = ", ".join(plain(label) for label in task.labels[:6] if label)
    if len(task.labels) > 6:
        labels += f" and {count(len(task.labels) - 6)} more"
    parts = (plain(task.name), str(task.kind), sizes, labels, f"scored by {task.scorer.name}")
    st.markdown(" · ".join(filter(None, parts)))
    for finding in task.findings:
        draw_note(format_sentence(finding))


def draw_cost(workspace: Workspace, request: FinetuneRequest) -> bool:
    """Draw how long the job of each model takes, and the basis of the forecast, or why a job cannot
    run; return whether all can.
    """
    total, can_run = 0.0, True
    for label, spec in request.specs.items():
        shown = plain(display_model(workspace, label))
        try:
            cache.model_of(spec.inputs["model"][0])
            found = guards.forecast_job(workspace, spec)
        except InputError as error:
            # One missing model must not hide the times of the others.
            can_run = False
            st.markdown(f"**{shown}**: {plain(mistakes.format_in_one_line(error))}")
            continue
        if found is not None:
            total += found.seconds
            st.markdown(f"{shown}: about {guards.describe_forecast(found)}")
    if len(request.specs) > 1:
        st.markdown(f"About **{duration(total)}** in total: the jobs run one after another.")
    return can_run


def draw_start_button(workspace: Workspace, request: FinetuneRequest, can_run: bool) -> None:
    """Draw the button that starts one job per model, queued in order, and the equivalent commands."""
    specs = request.specs
    if panel.draw_if_running(workspace, *specs.values()):
        return
    is_long = guards.draw_guards(workspace, *specs.values())
    kind: panel.ButtonKind = "primary"
    if is_long or panel.draw_if_made(workspace, *specs.values()):
        kind = "secondary"
    start = f"Start {count_noun(len(specs), 'job')}"
    if forms.draw_button(workspace, start, "start_finetune", kind, disabled=not can_run):
        # The name of a job must differ from those of the jobs just queued.
        for label, spec in specs.items():
            name = pickers.find_default_name(workspace, spec.kind, request.suggest_name(label))
            panel.launch(workspace, spec, name)
        st.rerun()
    # 3. The commands.
    names = [workspace.find_free_name("runs", request.suggest_name(label)) for label in specs]
    forms.draw_commands(workspace, zip(specs.values(), names, strict=True))
