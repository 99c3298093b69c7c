"""Form for contextual vectors: model, text, layer, and start."""

from contextlib import suppress
from typing import Any

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.steps.contextual import ContextualStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.contextual.occurrences import ContextualSettings, VectorTargets, find_targets
from vocadapt.models.contextual.word_vectors import check_layer, count_layers
from vocadapt.models.language_model import LanguageModel
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.ui.jobs import forms
from vocadapt.ui.state import cache, count_cache
from vocadapt.ui.state.names import shown_model
from vocadapt.ui.text.number_formats import count
from vocadapt.vocabulary.lens import Counts

MAIN = ("layer", "occurrences", "min_count", "unit")  # settings that are always visible


@st.fragment
def draw_form(workspace: Workspace) -> None:
    """Draw an expander with the form; the resulting vectors are listed as word vectors. A setting
    reruns only this fragment.
    """
    with st.expander("Make contextual vectors", icon=":material/notes:"):
        st.markdown(
            "Computes the mean output of a layer over each word's occurrences in a text: a"
            " space to compare, project and diagnose like word vectors. (A model's *input"
            " embeddings* need no text: select the model itself above.)"
        )
        corpora = list_texts(workspace)
        if not corpora:
            pickers.draw_empty_state(
                "There is no text in this workspace yet.",
                "Contextual vectors are computed on a text: import one first.",
                "text",
            )
            return
        with mistakes.show_errors():
            _draw_form_content(workspace, corpora)


def _draw_form_content(workspace: Workspace, corpora: list[Artifact]) -> None:
    left, right = st.columns([1.4, 1], gap="large")
    with left, st.container(horizontal=True):
        name = pickers.pick_model(workspace, "change_contextual_model")
        corpus = pickers.pick("Text", corpora, "change_contextual_corpus")
    model = cache.model_of(name)
    with left:
        settings = _draw_settings(model)
    with right:
        words = count_cache.words_of(corpus, model.splitter, workspace.root)
        counts = words.counts if words else None
        st.markdown(_describe_vectors(corpus, model, settings, counts))
        wish = f"{shown_model(name).split('/')[-1]}-layer-{check_layer(model, settings)}"
        inputs = {"text": (str(corpus.folder),), "model": (name,)}
        spec = Spec(ContextualStep(contextual=settings), inputs)
        label, key = "Make contextual vectors", "make_contextual"
        forms.draw_start(workspace, spec, wish, label, key, "contextual_name")


def _draw_settings(model: LanguageModel) -> ContextualSettings:
    layers = count_layers(model)
    options: dict[str, dict[str, Any]] = {
        "layer": {"label": f"Layer, 0 to {layers}", "least": 0, "most": layers},
        "first": {"step": 1000},
        "length": {"most": count_positions(model.config)},
    }
    settings = ContextualSettings(layer=layers)
    settings = draw_settings(settings, "contextual", options=options, names=MAIN)
    with st.popover("More settings", icon=":material/tune:"):
        return draw_settings(settings, "contextual", MAIN, options)


def _describe_vectors(
    corpus: Artifact, model: LanguageModel, settings: ContextualSettings, counts: Counts | None
) -> str:
    """Describe the vectors to compute, if the text has word counts."""
    if counts is None:
        return "This text has no word counts for this model yet."
    targets = _find_targets(corpus, model, settings, counts)
    if targets is None:
        return "No word of this text would get a vector: lower *Min count*."
    return (
        f"**{count(len(targets.names))}** {settings.unit} ·"
        f" {count(int(targets.taken(settings.occurrences).sum()))} occurrences ·"
        f" {max(settings.layer, 1)} of {count_layers(model)} layers"
    )


@st.cache_data(max_entries=16, show_spinner="Looking up the words …", hash_funcs=cache.STAMPS)
def _find_targets(
    corpus: Artifact, model: LanguageModel, settings: ContextualSettings, _counts: Counts
) -> VectorTargets | None:
    with suppress(InputError):
        return find_targets(_counts, model.vocabulary, settings, splitter=model.splitter)
    return None
