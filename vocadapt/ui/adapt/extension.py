"""Parts of the page Adapt for exBERT: extension size, module, frequency curve, and next step."""

import shlex
from dataclasses import replace

import streamlit as st

from vocadapt.analysis.figures.extension import plot_token_frequency, plot_wordpieces_by_size
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.contextual.word_vectors import count_layers
from vocadapt.models.extension_size import ModuleSize
from vocadapt.presets import EXTENSION
from vocadapt.recipe import Recipe
from vocadapt.ui.components.blocks import draw_command, draw_figure, draw_note
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import cache, count_cache
from vocadapt.ui.frame.address import here
from vocadapt.vocabulary.growth.extension_size import SELDOM
from vocadapt.vocabulary.plan.plan import PlanSettings

PRETRAINING = "pages/train/pretraining.py"
GATES = {
    0.5: "as published: each layer starts as half untrained module",
    0.98: "near one: the model starts almost unchanged",
}


def choose_options(recipe: Recipe, model: str) -> Recipe:
    """Draw the extension size and initial gate if the recipe has them; return the changed recipe."""
    if recipe.vocabulary.kind == "extend":
        size = draw_setting(
            st,
            PlanSettings(max_added=EXTENSION),
            "max_added",
            "adapt_extension",
            label="Extension size",
            least=1,
            step=1000,
            bind="query-params",
            help=(
                "Number of wordpieces to train on the text and add. Published (Tai et al."
                " 2020): 17 748."
            ),
        )
        recipe = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=size))
    if recipe.module.size:
        gate = st.radio(
            "Initial gate",
            list(GATES),
            key="adapt_gate",
            captions=list(GATES.values()),
            format_func=fraction,
        )
        recipe = replace(recipe, module=replace(recipe.module, gate=float(gate)))
        draw_module_line(recipe, model)
    return recipe


def draw_module_line(recipe: Recipe, model: str) -> None:
    """Show the size of the module of each layer."""
    found = cache.model_of(model)
    size = ModuleSize.of(recipe.module, found.config)
    parameters = size.to_dict(count_layers(found))["parameters"]
    st.markdown(
        f":small[Each layer gets a module with {count(size.hidden)} hidden and"
        f" {count(size.intermediate)} intermediate units: **{100 * size.share:.1f} %** of the"
        f" layer, {count(parameters)} parameters in all.]"
    )


def curve(workspace: Workspace, recipe: Recipe, model: str, corpus: Artifact) -> None:
    """Draw, on click, the frequency curve for choosing the extension size."""
    size = recipe.vocabulary.max_added
    largest = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=max(size, EXTENSION)))
    key = (model, corpus.stamp, largest.vocabulary.max_added)
    if st.button("Draw frequency curve", icon=":material/show_chart:", key="draw_extension"):
        st.session_state["extension_curve"] = key
    if st.session_state.get("extension_curve") != key:
        return
    found = count_cache.extension_of(largest, model, corpus, workspace.root)
    left, right = st.columns(2)
    with left:
        draw_figure(plot_token_frequency(found, size), "token_frequency")
    with right:
        draw_figure(plot_wordpieces_by_size(found, size), "pieces_by_size")
    last = found.sizes[-1]
    legend = "Dashed: the selected size. " if size <= last.size else ""
    draw_note(
        f"{legend}With all"
        f" {count(last.size)}, {count(last.seldom)} occur in the text fewer than {SELDOM}"
        f" times, and the text gets {100 * found.shorter(last):.1f} % shorter. Embeddings of"
        " rare tokens are hardly trained."
    )
    arguments = ["vocabulary", "extension", "--model", model, "--corpus", str(corpus.folder)]
    draw_command(shlex.join([*PROGRAM, *arguments]))


def next_step(artifact: Artifact) -> None:
    """Link to the pretraining stage that a new exBERT needs."""
    numbers = artifact.manifest.numbers
    if not str(numbers.get("preset", "")).startswith("exbert-") or "further" in numbers:
        return
    stage, modules = "continued", ""
    if numbers.get("module"):
        stage = "extension"
        modules = f", modules of {100 * numbers['module']['share']:.1f} % of a layer"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**Next: pretrain it, stage *{stage}*.** Its new parts are still random{modules}.",
            width="stretch",
        )
        address = {"pretraining_model": artifact.name, "pretraining_stage": stage, **here()}
        st.page_link(
            PRETRAINING, label="Pretraining", icon=":material/arrow_forward:", query_params=address
        )
