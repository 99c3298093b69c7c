"""Parts of the adapt page: the recipe to be followed, the plan it gives, before anything is made."""

from dataclasses import replace

import streamlit as st

from vocadapt.lab.workspace import Artefact
from vocadapt.recipe import PRESETS, Recipe
from vocadapt.spaces.alignment import AlignmentSettings
from vocadapt.ui import cache, maps, mistakes
from vocadapt.ui.numbers import count, megabytes
from vocadapt.vocabulary.plan import VocabularyPlan
from vocadapt.vocabulary.tokenizer import TOKENIZER_MODES

FLOAT32 = 4  # bytes


def recipe_form(vectors: Artefact, model: str) -> Recipe:
    """Widgets of a recipe: preset, cap, tokenizer mode, map."""
    name = st.selectbox("Preset", list(PRESETS), key="preset", bind="query-params")
    st.markdown(f":small[{PRESETS[name].about}]")
    cap = int(st.number_input("Words to add at most", 0, 1_000_000, 0, step=1000, key="cap", bind="query-params",
                              help="The most frequent ones; 0: all that the model lacks."))  # fmt: skip
    mode = st.radio("Tokenizer", list(TOKENIZER_MODES), key="mode", captions=[mode.about for mode in TOKENIZER_MODES.values()])
    recipe = replace(PRESETS[name], vocabulary=replace(PRESETS[name].vocabulary, max_added=cap), tokenizer=str(mode))
    return replace(recipe, alignment=_map_for(vectors, model)) if recipe.needs_alignment else recipe


def plan_figures(plan: VocabularyPlan, dim: int) -> None:
    """The plan in figures: what comes in, what is left out and why, what it costs."""
    columns = st.columns(4)
    before = f"{count(len(plan.base))} tokens before"
    columns[0].metric("Words added", count(len(plan.added)), before, delta_color="off", delta_arrow="off")
    left_out = sum(len(words) for words in plan.left_out.values())
    columns[1].metric("Left out", count(left_out), help="Words with a vector that the model lacks, and still does not get.")
    columns[2].metric("Rows replaced", count(len(plan.replaced)), help="Old tokens that take the row of their word vector.")
    parameters, size = growth(plan, dim)
    columns[3].metric("Parameters added", count(parameters), megabytes(size), delta_color="off", delta_arrow="off")
    for why, words in plan.left_out.items():
        st.markdown(f":small[:gray[{count(len(words))} left out: {why}]]")


def growth(plan: VocabularyPlan, dim: int) -> tuple[int, int]:
    """Parameters and bytes (float32) that the added input rows bring; a tied output layer shares them."""
    parameters = len(plan.added) * dim
    return parameters, parameters * FLOAT32


def added_words(plan: VocabularyPlan) -> None:
    """The words that come in, with what they were cut into until now."""
    st.dataframe(
        {
            "new word": [word.token for word in plan.added],
            "cut until now": [" ".join(word.pieces) for word in plan.added],
            "pieces": [len(word.pieces) for word in plan.added],
            "occurrences": [word.count for word in plan.added],
        },
        height=330, hide_index=True, key="added",
        column_config={"new word": st.column_config.TextColumn(), "cut until now": st.column_config.TextColumn(width="medium")},
    )  # fmt: skip


def _map_for(vectors: Artefact, model: str) -> AlignmentSettings:
    """The map, of those that the anchors can carry; the paper's, with what is wrong, where there is no anchor at all."""
    offered = {maps.label(AlignmentSettings()): AlignmentSettings()}
    with mistakes.shown():
        offered = maps.offered(cache.space_of(vectors), cache.model_of(model).space, cache.anchors_of(vectors, model), {})
    few = AlignmentSettings() not in offered.values()
    about = "Too few anchors for the paper's map, Least squares." if few else "The default is the paper's."
    return offered[st.selectbox("Map", list(offered), key="map", bind="query-params", help=about)]
