"""Parts of the adapt page: the recipe to be followed, what it draws on, the plan it gives before
anything is made.
"""

from dataclasses import dataclass, replace

import streamlit as st

from vocadapt.lab.reports.pretraining import list_pretrained_models
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.recipe import PRESETS, Recipe
from vocadapt.settings import limits
from vocadapt.spaces.alignment.alignment import AlignmentSettings
from vocadapt.ui.adapt import extension
from vocadapt.ui.alignment import methods
from vocadapt.ui.components import pickers
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, megabytes
from vocadapt.ui.components.optional_input import optional_number
from vocadapt.ui.frame import cache, count_cache, mistakes
from vocadapt.ui.pretraining import view
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES

FLOAT32 = 4  # bytes


@dataclass(frozen=True)
class Chosen:
    """A recipe, the model it is for, and what it draws on."""

    recipe: Recipe
    model: str
    vectors: Artifact | None = None
    target: str | None = None
    corpus: Artifact | None = None

    @property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """The inputs of the step."""
        found: dict[str, tuple[str, ...]] = {"model": (str(cache.model_of(self.model).path),)}
        if self.vectors:
            found["vectors"] = (str(self.vectors.folder),)
        if self.target:
            found["target"] = (str(cache.model_of(self.target).path),)
        return found | ({"text": (str(self.corpus.folder),)} if self.corpus else {})

    @property
    def wish(self) -> str:
        """A name for what comes out."""
        made_with = self.vectors.name if self.vectors else self.recipe.name
        return f"{pickers.shown_model(self.model).rpartition('/')[2]}-{made_with}"


def recipe_form(workspace: Workspace) -> Chosen | None:
    """Widgets of a recipe and of what it draws on; None where something it needs is not there yet,
    and the page says so.
    """
    name = st.selectbox("Preset", list(PRESETS), key="adapt_preset", bind="query-params")
    recipe = PRESETS[name]
    st.markdown(f":small[{recipe.about}]")
    vectors, text = (
        _source(workspace, recipe, "vectors"),
        ("text" if "text" in recipe.needs else "counts"),
    )
    corpus = _source(workspace, recipe, text)
    if ("vectors" in recipe.needs and vectors is None) or (text in recipe.needs and corpus is None):
        return None
    model = pickers.pick_model(
        workspace,
        "adapt_model",
        default=pickers.model_behind(vectors, workspace) if vectors else None,
    )
    target = None
    if "target" in recipe.needs:
        target = pickers.pick_target(workspace, model, "adapt_target")
        if not target:
            pickers.nothing_yet(
                "No target is chosen yet.",
                "This preset takes over another model's vocabulary: name it above.",
            )
            return None
    recipe = _with_options(recipe, vectors, model) if vectors else extension.options(recipe, model)
    if recipe.further.stage:
        if view.headless(pickers.shown_model(model), cache.model_of(model)):
            return None
        training = view.fitted(recipe.further.training, cache.model_of(model))
        recipe = replace(recipe, further=replace(recipe.further, training=training))
    return Chosen(recipe, model, vectors, target, corpus)


NEEDED = {  # need → kind of artifact, its widget, and what to say where there is none
    "vectors": (
        "vectors",
        "Word vectors",
        "There are no word vectors to make new words from yet.",
        (
            "A new word gets its place in the model from its word vector: make some from a text of"
            " your domain first. Or choose a preset that needs none: `reduced-…`, `reinit-…`,"
            " `transfer-…`."
        ),
    ),
    "counts": (
        "corpora",
        "Text",
        "There is no text to count tokens in yet.",
        (
            "This preset looks at how often each token stands in a text of your domain: take one in"
            " first."
        ),
    ),
    "text": (
        "corpora",
        "Text",
        "There is no text to train on yet.",
        "This preset trains on a text of your domain: take one in first.",
    ),
}


def _source(workspace: Workspace, recipe: Recipe, need: str) -> Artifact | None:
    """Pick what a recipe needs of the workspace; where there is none, say what to do."""
    if need not in recipe.needs:
        return None
    kind, label, what, how = NEEDED[need]
    found = workspace.artifacts(kind)
    if found:
        return pickers.pick(label, found, f"adapt_{kind}")
    pickers.nothing_yet(what, how, "pages/words/vectors.py", "Make word vectors")
    return None


def _with_options(recipe: Recipe, vectors: Artifact, model: str) -> Recipe:
    """The recipe with the cap, the tokenizer mode and the map that are chosen, as word vectors
    leave them open.
    """
    bounds, help = (
        limits(recipe.vocabulary, "max_added"),
        "The most frequent ones; empty: all that the model lacks.",
    )
    cap = optional_number(
        "Words to add at most",
        bounds,
        0,
        "all",
        step=1000,
        key="adapt_cap",
        bind="query-params",
        help=help,
    )
    modes = {name: mode for name, mode in TOKENIZER_MODES.items() if not mode.rearranges}
    mode = st.radio(
        "Tokenizer", list(modes), key="adapt_mode", captions=[mode.about for mode in modes.values()]
    )
    recipe = replace(
        recipe, vocabulary=replace(recipe.vocabulary, max_added=int(cap)), tokenizer=str(mode)
    )
    return replace(recipe, alignment=_map_for(vectors, model)) if recipe.needs_alignment else recipe


def plan(workspace: Workspace, chosen: Chosen) -> None:
    """The plan of a chosen recipe: figures, then what comes in and what goes."""
    found = count_cache.plan_of(
        chosen.recipe, chosen.model, chosen.vectors, chosen.target, chosen.corpus, workspace.root
    )
    plan_figures(found, cache.model_of(chosen.model).dim)
    if chosen.corpus and chosen.recipe.vocabulary.kind == "extend":
        extension.curve(workspace, chosen.recipe, chosen.model, chosen.corpus)
    added_words(found)
    if found.dropped:
        with st.expander(f"{count(len(found.dropped))} tokens that go", expanded=not found.added):
            st.dataframe(
                {
                    "token": list(found.dropped),
                    "id until now": [found.base.ids[token] for token in found.dropped],
                },
                height=240,
                hide_index=True,
                key="dropped",
                column_config={"token": st.column_config.TextColumn()},
            )


def training_cost(workspace: Workspace, chosen: Chosen) -> None:
    """Of a recipe that ends in masked-word training, what that will take; the text as the model
    cuts it now.
    """
    if chosen.recipe.further.stage and chosen.corpus:
        label = pickers.shown_model(chosen.model)
        wanted = view.Wanted(label, chosen.model, chosen.corpus, chosen.recipe.further)
        view.cost(workspace, wanted, list_pretrained_models(workspace), "Then training, about")


def plan_figures(plan: VocabularyPlan, dim: int) -> None:
    """The plan in figures: what comes in, what goes, what is left out and why, what it costs."""
    columns = st.columns(4)
    before = f"{count(len(plan.base))} tokens before"
    columns[0].metric(
        "Tokens added", count(len(plan.added)), before, delta_color="off", delta_arrow="off"
    )
    if plan.dropped:
        columns[1].metric(
            "Tokens dropped",
            count(len(plan.dropped)),
            f"{count(len(plan.tokens))} tokens after",
            delta_color="off",
            delta_arrow="off",
        )
    else:
        left_out = sum(len(words) for words in plan.left_out.values())
        columns[1].metric(
            "Left out",
            count(left_out),
            help="Candidates that the model lacks, and still does not get.",
        )
    columns[2].metric(
        "Rows made anew",
        count(len(plan.replaced)),
        help="Old tokens that stay and get another row.",
    )
    parameters, size = growth(plan, dim)
    said = "Parameters added" if parameters >= 0 else "Parameters saved"
    columns[3].metric(
        said, count(abs(parameters)), megabytes(abs(size)), delta_color="off", delta_arrow="off"
    )
    for why, words in plan.left_out.items():
        st.markdown(f":small[:gray[{count(len(words))} left out: {why}]]")
    if plan.note:
        st.warning(plain(plan.note), icon=":material/info:")
    if plan.unreachable:
        st.markdown(
            f":small[:gray[{count(len(plan.unreachable))} of the new tokens can never fire: they come"
            " with the target]]"
        )


def growth(plan: VocabularyPlan, dim: int) -> tuple[int, int]:
    """Parameters and bytes (float32) that the new input rows bring, below 0 where more go; a tied
    output layer shares them.
    """
    parameters = (len(plan.tokens) - len(plan.base)) * dim
    return parameters, parameters * FLOAT32


def added_words(plan: VocabularyPlan) -> None:
    """The words that come in, with what they were cut into until now, and their counts where they
    are known.
    """
    if not plan.added:
        return
    known = any(word.count is not None for word in plan.added)
    occurrences = (
        "as a whole word" if plan.settings.kind == "extend" else "occurrences"
    )  # a wordpiece stands in other words, too
    st.dataframe(
        {
            "new token": [word.token for word in plan.added],
            "cut until now": [" ".join(word.pieces) for word in plan.added],
            "pieces": [len(word.pieces) for word in plan.added],
            **({occurrences: [word.count for word in plan.added]} if known else {}),
        },
        height=330,
        hide_index=True,
        key="added",
        column_config={
            "new token": st.column_config.TextColumn(),
            "cut until now": st.column_config.TextColumn(width="medium"),
        },
    )


def _map_for(vectors: Artifact, model: str) -> AlignmentSettings:
    """The map, of those that the anchors can carry; the paper's, with what is wrong, where there is
    no anchor at all.
    """
    offered = {methods.label(AlignmentSettings()): AlignmentSettings()}
    with mistakes.shown():
        offered = methods.offered(
            cache.space_of(vectors),
            cache.model_of(model).space,
            cache.anchors_of(vectors, model),
            {},
        )
    few = AlignmentSettings() not in offered.values()
    about = (
        "Too few anchors for the paper's map, Least squares."
        if few
        else "The default is the paper's."
    )
    return offered[
        pickers.pick_name("Method", list(offered), "adapt_method", next(iter(offered)), help=about)
    ]
