"""Form of the page Pretraining: model, text, stage, budget, cost estimate, and start."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.jobs.estimates import MIN_SECONDS, estimate_job_seconds, measure_speed
from vocadapt.lab.jobs.load import estimate_slowdown
from vocadapt.lab.reports.pretraining import PretrainedModel, has_mlm_head, list_stages
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models import config_sizes
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.extension_size import ModuleSize, is_extended
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_folder import name_of
from vocadapt.training.estimates import (
    BYTES_PER_WORDPIECE,
    estimate_pretraining_cost,
    estimate_pretraining_speed,
)
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import PRETRAINING_PRESETS, MaskedSettings
from vocadapt.training.trained_parameters import ALL
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import draw_command, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_in_columns, draw_setting
from vocadapt.ui.jobs import panel
from vocadapt.ui.state import cache, count_cache
from vocadapt.ui.state.names import find_model_stem, label_of
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import (
    count,
    count_noun,
    duration,
    format_estimate_bold,
    percent,
)

BUDGETS: dict[str, tuple[float, dict[str, Any]]] = {  # initial value (0: the preset's), options
    "epochs": (0, {"least": 0.01, "step": 0.5}),
    "tokens": (5_000_000, {"least": 1_000, "step": 1_000_000}),
    "hours": (1.0, {"least": 0.01, "step": 0.5}),
}
IN_COLUMNS = (
    "length",
    "batch",
    "lr",
    "parts",
    "warm_up",
    "share",
    "dropout",
    "seed",
    "save_minutes",
)
HELP = {
    "model": "Selects a model of this workspace, or another one by its folder or hub name.",
    "stage": "Selects the parameters to train. Only stages that apply to this model are listed.",
    "budget": "Limits training by epochs, number of wordpieces, or hours.",
}


@dataclass(frozen=True)
class PretrainingRequest:
    """The pretraining job that the form describes: the model's label, its folder or hub name, the
    text, and the settings.
    """

    label: str
    model: str
    corpus: Artifact
    pretraining: ContinuedSettings

    @property
    def suggested_name(self) -> str:
        """The suggested name of the result."""
        return f"{find_model_stem(self.label)}-{self.pretraining.stage}"

    @property
    def spec(self) -> Spec:
        """The step and its inputs."""
        return Spec(
            ContinuePretrainingStep(pretraining=self.pretraining),
            {
                "model": (str(cache.model_of(self.model).path),),
                "text": (str(self.corpus.folder),),
            },
        )


def draw_form(workspace: Workspace, corpora: list[Artifact]) -> PretrainingRequest | None:
    """Draw the form; return None, with a message, for a model that cannot be pretrained."""
    # 1. The model and the text.
    left, right = st.columns([1, 1.25], gap="large")
    with left:
        offered = pickers.list_models_to_train(workspace)
        place = pickers.pick_or_type(
            workspace,
            "Model",
            offered,
            "pretraining_model",
            next(iter(offered)),
            help=HELP["model"],
        )
        corpus = pickers.pick("Text", corpora, "pretraining_corpus")
    # 2. A description of the model, and the stages that apply to it.
    label, model = label_of(place, offered), cache.model_of(place)
    shown = pickers.display_model(workspace, place)
    describe_model(model, shown)
    if not has_mlm_head(model):
        explain_missing_head(shown, model)
        return None
    stages = list_stages(model)
    with right:
        stage = str(
            st.radio(
                "Stage",
                list(stages),
                key="pretraining_stage",
                bind="query-params",
                captions=[f"{about[0].upper()}{about[1:]}." for about in stages.values()],
                help=explain("Stage", HELP["stage"]),
            )
        )
    return PretrainingRequest(label, place, corpus, choose_settings(stage, model))


def explain_missing_head(label: str, model: LanguageModel) -> None:
    """State that a model lacks the head that pretraining needs, and the remedy."""
    pickers.draw_empty_state(
        f"{plain(label)} has no masked-language-model head, which pretraining needs.",
        f"It was saved as {plain(model.architecture or 'no model class')}. Select a model that was"
        " saved with its head (BertForMaskedLM): a random head would have to be trained first.",
    )


def describe_model(model: LanguageModel, name: str) -> None:
    """Draw a line that describes a model: with or without extension modules, and its layers.

    name: its display name.
    """
    size = ModuleSize.from_config(model.config)
    layers = model.config.get("num_hidden_layers", "?")
    kind = "a model without extension modules"
    if is_extended(model.config):
        added = count(int(model.config.get("extension_vocab_size", 0)))
        kind = f"an exBERT: modules of {percent(size.share)} of a layer, {added} added tokens"
    draw_note(f"{plain(name)}: {kind}; {layers} layers with hidden size {size.layer_hidden}")


def fit_length(usual: MaskedSettings, model: LanguageModel) -> MaskedSettings:
    """Return the settings with blocks no longer than the model's maximum length."""
    return replace(usual, length=min(usual.length, count_positions(model)))


def count_positions(model: LanguageModel) -> int:
    """Return the maximum number of tokens that a model reads."""
    return config_sizes.count_positions(model.config) or 512


def choose_settings(stage: str, model: LanguageModel) -> ContinuedSettings:
    """Draw the widgets of the budget and of all settings, filled with those of the preset; return
    the settings.
    """
    nsp = model.architecture.endswith("ForPreTraining")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        preset = str(
            st.selectbox(
                "Settings",
                list(PRETRAINING_PRESETS),
                key="pretraining_preset",
                bind="query-params",
                width=150,
            )
        )
        # The preset's block length may exceed the maximum length of the model.
        usual = fit_length(PRETRAINING_PRESETS[preset].settings, model)
        form = f"pretraining_{preset}"
        budget = st.segmented_control(
            "Budget",
            list(BUDGETS),
            key="pretraining_budget",
            default="epochs",
            required=True,
            bind="query-params",
            help=HELP["budget"],
        )
        given = choose_budget(str(budget), usual, form)
        with st.popover("More settings", icon=":material/tune:"):
            options: dict[str, dict[str, Any]] = {
                "length": {"most": count_positions(model)},
                "lr": {"format": "%.1e"},
            }
            given |= draw_in_columns(usual, IN_COLUMNS, form, options)
            given["schedule"] = draw_setting(st, usual, "schedule", f"schedule_{form}")
            training = usual.with_changes(**given)
            keep = draw_setting(st, ContinuedSettings, "keep_minutes")
            # Draw each setting only if it applies: for an adapted model, for the stage `extension`,
            # and for a model with a next-sentence head.
            trained = ALL
            if open_base_model(model) is not None:
                trained = draw_setting(st, ContinuedSettings, "trained")
            with_heads = stage == "extension" and trained == ALL
            heads = with_heads and draw_setting(st, ContinuedSettings, "train_heads")
            pairs = nsp and draw_setting(st, ContinuedSettings, "nsp")
    st.markdown(f":small[{PRETRAINING_PRESETS[preset].about}]")
    return ContinuedSettings(
        stage,
        train_heads=heads,
        nsp=pairs,
        keep_minutes=keep,
        training=training,
        trained=trained,
    )


def choose_budget(name: str, usual: MaskedSettings, form: str) -> dict[str, Any]:
    """Draw the widget of a budget; return its value, which overrides the preset's.

    form: as in `draw_in_columns`.
    """
    initial, options = BUDGETS[name]
    start: dict[str, Any] = {name: initial or usual.epochs}
    usual = replace(usual, **start)
    value = draw_setting(st, usual, name, f"{name}_{form}", width=180, **options)
    return {name: value}


def draw_cost(
    workspace: Workspace,
    request: PretrainingRequest,
    made: Sequence[PretrainedModel],
    what: str = "About",
) -> None:
    """Draw the estimated number of wordpieces and duration, and the basis of the estimate."""
    training = request.pretraining.training
    wordpieces, known = estimate_wordpieces(request, workspace)
    per_second, pace = estimate_pace(workspace, request, made)
    basis = f"at {count(round(per_second))} per second on an idle machine, {pace}"
    slowdown = estimate_slowdown()
    if training.budget == "hours" and slowdown > 1:
        # The time is fixed: a busy machine trains on fewer wordpieces in it.
        per_second /= slowdown
        basis += f", {slowdown:g} × fewer now because this machine is busy"
    found = estimate_pretraining_cost(wordpieces, training, per_second, pace)
    seconds = estimate_job_seconds(workspace, "continue-pretraining", found.seconds)
    time = format_estimate_bold(seconds)
    if training.budget == "hours":
        time = f"**{duration(seconds)}**"
    st.markdown(
        f"{what} {time} · {count(found.tokens)} wordpieces in"
        f" {count_noun(found.steps, 'step')}, {found.epochs:.2f} epochs :small[:gray[{basis};"
        f" the text has {known} wordpieces]]"
    )


def estimate_wordpieces(request: PretrainingRequest, workspace: Workspace) -> tuple[int, str]:
    """Return the number of wordpieces of the text, exact if its words were counted, else estimated
    from its size; and a description of the number.
    """
    counted = count_cache.figures_of(request.corpus, request.model, request.label, workspace.root)
    if counted:
        return counted.pieces, count(counted.pieces)
    estimated = int(request.corpus.manifest.numbers.get("bytes", 0)) // BYTES_PER_WORDPIECE
    return (
        estimated,
        f"about {count(estimated)}, estimated by its size: its words were not counted",
    )


def estimate_pace(
    workspace: Workspace, request: PretrainingRequest, made: Sequence[PretrainedModel]
) -> tuple[float, str]:
    """Return wordpieces per second on an idle machine and their source: the speed of the latest
    pretrainings of this model in this stage by jobs of this workspace, else estimated from the size
    of the model.
    """
    config = cache.model_of(request.model).config
    pretraining = request.pretraining
    modeled = estimate_pretraining_speed(config, pretraining.cost_stage, pretraining.training)
    found = measure_speed(workspace, compute_speed_ratios(request, made, config))
    if found:
        return modeled * found.ratio, found.describe("pretraining")
    return modeled, "estimated for two cores from its layers and hidden size"


def compute_speed_ratios(
    request: PretrainingRequest, made: Sequence[PretrainedModel], config: Mapping[str, Any]
) -> Iterator[tuple[Artifact, float]]:
    """Yield the pretrainings of this model in this stage, each with its measured speed divided by
    its modeled speed, 0 if unknown.
    """
    pretraining = request.pretraining
    for one in made:
        numbers = one.numbers
        trained = (numbers["stage"], numbers.get("trained", ALL))
        same_stage = trained == (pretraining.stage, pretraining.trained)
        same_model = one.model in (request.label, name_of(Path(request.model)))
        # Short trainings do not show the speed, and the time of a single step includes the setup.
        is_long = numbers.get("seconds", 0) >= MIN_SECONDS and numbers.get("steps", 0) > 1
        if not (same_stage and same_model and is_long):
            continue
        with suppress(InputError):  # settings of another version
            settings = one.pretraining
            modeled = estimate_pretraining_speed(config, settings.cost_stage, settings.training)
            yield one.artifact, float(numbers.get("tokens_per_second", 0)) / modeled


def draw_start_button(workspace: Workspace, request: PretrainingRequest) -> None:
    """Draw the name, the start button, the queue, and the command."""
    wish, name_key = request.suggested_name, "pretrained_name"
    target = panel.draw_start(
        workspace,
        request.spec,
        wish,
        "Start",
        "start_pretraining",
        name_key,
        has_estimate=True,
    )
    queued = panel.describe_queue(workspace)
    if queued:
        st.markdown(f":gray[{queued}]")
    if target:
        panel.start(workspace, request.spec, target)
    with st.expander("The same in a terminal", icon=":material/terminal:"):
        name = pickers.read_name_input(workspace, "models", wish, name_key)
        draw_command(build_command(request.spec, workspace.folder("models", name)))
