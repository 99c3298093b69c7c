"""The part Pretraining: continued pretraining by stages, the held-out loss, and the gates of an
exBERT.
"""

from dataclasses import replace
from typing import Any

import streamlit as st

from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.reports.pretraining import list_pretrained_models, list_stages
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.abilities import has_masked_head
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.language_model import LanguageModel
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import PRETRAINING_PRESETS, MaskedSettings
from vocadapt.training.trained_parameters import ALL
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_artifact_details, draw_heading, tsv
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_preset, draw_setting, draw_settings
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.parts.pretraining import result
from vocadapt.ui.state import cache
from vocadapt.ui.state.names import display_model, find_model_stem, label_of, list_display_names
from vocadapt.ui.text.markup import plain

BUDGETS: dict[str, tuple[float, dict[str, Any]]] = {  # initial value (0: the preset's), options
    "epochs": (0, {"least": 0.01, "step": 0.5}),
    "tokens": (5_000_000, {"least": 1_000, "step": 1_000_000}),
    "hours": (1.0, {"least": 0.01, "step": 0.5}),
}
HELP = {
    "model": "Selects a model of this workspace, or another one by its folder or hub name.",
    "stage": "Selects the parameters to train. Only stages that apply to this model are listed.",
    "budget": "Limits training by epochs, number of wordpieces, or hours.",
}


def draw(workspace: Workspace) -> None:
    """Draw the loss curves and gates of a pretrained model, and the form of a new one."""
    # 1. The running job, and the selected result: its curves and gates.
    with st.container():
        panel.draw_running(
            workspace,
            "continue-pretraining",
            "pretraining_live",
            result.draw_running_job,
            result.LIVE_HEIGHT,
        )
    pretrained = list_pretrained_models(workspace)
    corpora = list_texts(workspace)
    selected = result.choose_result(workspace, pretrained) if pretrained else None
    if selected:
        result.draw_curves(pretrained, selected, list_display_names(workspace))
    with mistakes.show_errors():
        result.draw_gate_section(workspace, corpora, selected.name if selected else "")
    if selected:
        header = ("step", "wordpieces", "seconds", "held-out loss per character")
        rows = [(one.step, one.tokens, one.seconds, one.loss) for one in selected.curve.points]
        draw_artifact_details(
            selected.artifact, {"held-out-loss.tsv": lambda: tsv(header, list(rows))}
        )

    # 2. The form of a new one.
    draw_heading("Pretrain a model" if not pretrained else "Pretrain another")
    if not corpora:
        pickers.draw_empty_state(
            "There is no text to pretrain on yet.",
            "Import a text of your domain first. For an exBERT, first adapt a model with an"
            " exBERT preset: then the stage *extension* is available here.",
            "text",
        )
        return
    _draw_form(workspace, corpora)


@st.fragment
@mistakes.show_errors()
def _draw_form(workspace: Workspace, corpora: list[Artifact]) -> None:
    """Draw the form of a new pretraining; a setting reruns only this fragment."""
    # 1. The model and the text.
    left, right = st.columns([1, 1.25], gap="large")
    with left:
        offered = pickers.list_models_to_train(workspace)
        first = next(iter(offered))
        place = pickers.pick_or_type(
            workspace, "Model", offered, "pretraining_model", first, help=HELP["model"]
        )
        corpus = pickers.pick("Text", corpora, "pretraining_corpus")
    # 2. The stages that apply to the model.
    model = cache.model_of(place)
    if not has_masked_head(model):
        explain_missing_head(display_model(workspace, place), model)
        return
    stages = list_stages(model)
    stage = str(
        right.radio(
            "Stage",
            list(stages),
            key="pretraining_stage",
            bind="query-params",
            captions=[f"{about[0].upper()}{about[1:]}." for about in stages.values()],
            help=explain("Stage", HELP["stage"]),
        )
    )
    # 3. The settings, and the end of the form.
    step = ContinuePretrainingStep(pretraining=choose_settings(stage, model))
    spec = Spec(step, {"model": (str(model.path),), "text": (str(corpus.folder),)})
    wish = f"{find_model_stem(label_of(place, offered))}-{stage}"
    forms.draw_start(workspace, spec, wish, "Start", "start_pretraining", "pretrained_name")


def explain_missing_head(label: str, model: LanguageModel) -> None:
    """State that a model lacks the head that pretraining needs, and the remedy."""
    pickers.draw_empty_state(
        f"{plain(label)} has no masked-language-model head, which pretraining needs.",
        f"It was saved as {plain(model.architecture or 'no model class')}. Select a model that was"
        " saved with its head (BertForMaskedLM): a random head would have to be trained first.",
    )


def fit_length(usual: MaskedSettings, model: LanguageModel) -> MaskedSettings:
    """Return the settings with blocks no longer than the model's maximum length."""
    return replace(usual, length=min(usual.length, count_positions(model.config) or usual.length))


def choose_settings(stage: str, model: LanguageModel) -> ContinuedSettings:
    """Draw the widgets of the budget and of all settings, filled with those of the preset; return
    the settings.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        preset = draw_preset(PRETRAINING_PRESETS, "pretraining_preset")
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
        name = str(budget)
        initial, options = BUDGETS[name]
        start: dict[str, Any] = {name: initial or usual.epochs}
        shown = replace(usual, **start)
        value = draw_setting(st, shown, name, f"{name}_{form}", width=180, **options)
        usual = usual.with_changes(**{name: value})
        with st.popover("More settings", icon=":material/tune:"):
            limits = {"length": {"most": count_positions(model.config)}}
            training = draw_settings(usual, form, (*BUDGETS, "weight_decay"), limits)
            # Draw each setting only if it applies: for an adapted model, for a model with a
            # next-sentence head, and for the stage `extension`.
            drawn = ["stage", "train_heads", "training"]
            if open_base_model(model) is None:
                drawn.append("trained")
            if not model.architecture.endswith("ForPreTraining"):
                drawn.append("nsp")
            settings = draw_settings(
                ContinuedSettings(stage, training=training), "pretraining", drawn
            )
            if stage == "extension" and settings.trained == ALL:
                heads = draw_setting(st, settings, "train_heads", "train_heads_pretraining")
                settings = replace(settings, train_heads=heads)
    st.markdown(f":small[{PRETRAINING_PRESETS[preset].about}]")
    return settings
