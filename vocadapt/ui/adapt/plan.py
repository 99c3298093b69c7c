"""Parts of the page Adapt: the recipe form, its inputs, the plan, and the size of an extension."""

from dataclasses import dataclass, replace

import streamlit as st

from vocadapt.analysis.figures.training import plot_token_frequency, plot_wordpieces_by_size
from vocadapt.lab.reports.pretraining import has_mlm_head, list_pretrained_models
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.contextual.word_vectors import count_layers
from vocadapt.models.extension_size import ModuleSize
from vocadapt.presets import EXTENSION, PRESETS
from vocadapt.recipe import Recipe
from vocadapt.spaces.alignment.alignment import AlignmentSettings
from vocadapt.ui.alignment import methods
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_figure,
    draw_metrics,
    draw_note,
    draw_table,
)
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction, megabytes
from vocadapt.ui.components.setting_inputs import draw_setting
from vocadapt.ui.frame import cache, count_cache, mistakes
from vocadapt.ui.initializers.view import draw_own_settings
from vocadapt.ui.pretraining import view
from vocadapt.vocabulary.growth.growth import RARE
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES

FLOAT32 = 4  # bytes
GATES = {
    0.5: "as published: half of each layer's output comes from the untrained module",
    0.98: "close to 1: the model starts almost unchanged",
}
HELP = {
    "excluded": "Number of candidates that are missing in the model but are not added.",
    "replaced": "Number of old tokens that are kept and get a new embedding.",
}


@dataclass(frozen=True)
class ChosenRecipe:
    """A recipe, its model and its inputs."""

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
        if self.corpus:
            found["text"] = (str(self.corpus.folder),)
        return found

    @property
    def suggested_name(self) -> str:
        """The suggested name of the result."""
        origin = self.vectors.name if self.vectors else self.recipe.name
        return f"{pickers.shown_model(self.model).rpartition('/')[2]}-{origin}"


def draw_recipe_form(workspace: Workspace) -> ChosenRecipe | None:
    """Draw the form of a recipe and its inputs; return None, with a message, if an input is
    missing.
    """
    # 1. The recipe and the sources that it needs.
    name = st.selectbox("Preset", list(PRESETS), key="adapt_preset", bind="query-params")
    st.markdown(f":small[{PRESETS[name].about}]")
    recipe = _choose_initializer(PRESETS[name])
    text = "text" if "text" in recipe.needs else "counts"
    vectors = _pick_input(workspace, recipe, "vectors")
    corpus = _pick_input(workspace, recipe, text)
    given = {name for name, one in (("vectors", vectors), (text, corpus)) if one}
    # Checked only after both pickers, which report all missing inputs at once.
    if not {"vectors", text} & {*recipe.needs} <= given:
        return None
    # 2. The model, and the target whose vocabulary it adopts.
    default, target = None, None
    if vectors:
        default = pickers.model_behind(vectors, workspace)
    model = pickers.pick_model(workspace, "adapt_model", default=default)
    if "target" in recipe.needs:
        target = pickers.pick_target(workspace, model, "adapt_target")
        if not target:
            pickers.draw_empty_state(
                "No target is selected yet.",
                "This preset adopts another model's vocabulary: select it above.",
            )
            return None
    # 3. The options of the recipe.
    if vectors:
        recipe = _choose_vector_options(recipe, vectors, model)
    else:
        recipe = _choose_extension_options(recipe, model)
    if recipe.makes_embeddings:
        rows = draw_own_settings(recipe.rows, [recipe.rows.method], "adapt")
        recipe = replace(recipe, rows=rows)
    if recipe.further.stage:
        trained = cache.model_of(model)
        if not has_mlm_head(trained):
            view.explain_missing_head(pickers.shown_model(model), trained)
            return None
        training = view.fit_length(recipe.further.training, trained)
        recipe = replace(recipe, further=replace(recipe.further, training=training))
    return ChosenRecipe(recipe, model, vectors, target, corpus)


def _choose_initializer(recipe: Recipe) -> Recipe:
    """Show the picker of initializers, the preset's by default; return the recipe with the selected
    one. A reduction adds no embeddings, so no picker is shown.

    An initializer that needs a source that the preset does not need is not offered. A text is the
    exception: it can be selected below.
    """
    if not recipe.makes_embeddings:
        return recipe
    offered = {}
    for name in INITIALIZERS:
        changed = replace(recipe, rows=replace(recipe.rows, method=name))
        if changed.needs <= {*recipe.needs, "text"}:
            offered[name] = changed
    chosen = st.selectbox(
        "Initializer",
        list(offered),
        list(offered).index(recipe.rows.method),
        key=f"initializer_{recipe.name}",
        help="Selects how the embeddings of new tokens are initialized.",
    )
    draw_note(plain(INITIALIZERS[chosen].about))
    return offered[chosen]


REQUIRED_INPUTS = {  # need → kind of artifact, label, and the message if there is none
    "vectors": (
        "vectors",
        "Word vectors",
        "There are no word vectors for new words yet.",
        (
            "New words are initialized from their word vectors: make word vectors from a text of"
            " your domain first. Or choose a preset that needs none: `reduced-…`, `reinit-…`,"
            " `transfer-…`."
        ),
    ),
    "counts": (
        "corpora",
        "Text",
        "There is no text to count tokens in yet.",
        "This preset uses token frequencies in a text of your domain: import one first.",
    ),
    "text": (
        "corpora",
        "Text",
        "There is no text to train on yet.",
        "This preset trains on a text of your domain: import one first.",
    ),
}


def _pick_input(workspace: Workspace, recipe: Recipe, need: str) -> Artifact | None:
    """Show the picker of an input, or a message if there is none."""
    if need not in recipe.needs:
        return None
    kind, label, problem, remedy = REQUIRED_INPUTS[need]
    found = workspace.artifacts(kind)
    if found:
        return pickers.pick(label, found, f"adapt_{kind}")
    pickers.draw_empty_state(problem, remedy, "vectors", "Make word vectors")
    return None


def _choose_vector_options(recipe: Recipe, vectors: Artifact, model: str) -> Recipe:
    """Draw the options for word vectors: maximum number of words, tokenizer mode and alignment;
    return the recipe.
    """
    cap = draw_setting(st, PlanSettings, "max_added", "adapt_cap", step=1000, bind="query-params")
    modes = {name: mode for name, mode in TOKENIZER_MODES.items() if not mode.rearranges}
    mode = st.radio(
        "Tokenizer", list(modes), key="adapt_mode", captions=[mode.about for mode in modes.values()]
    )
    recipe = replace(
        recipe, vocabulary=replace(recipe.vocabulary, max_added=cap), tokenizer=str(mode)
    )
    if recipe.needs_alignment:
        recipe = replace(recipe, alignment=_pick_alignment(vectors, model))
    return recipe


def _choose_extension_options(recipe: Recipe, model: str) -> Recipe:
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
        base = cache.model_of(model)
        module = ModuleSize.from_settings(recipe.module, base.config)
        parameters = module.to_dict(count_layers(base))["parameters"]
        st.markdown(
            f":small[Each layer gets a module with {count(module.hidden)} hidden and"
            f" {count(module.intermediate)} intermediate units: **{100 * module.share:.1f} %** of"
            f" the layer, {count(parameters)} parameters in total.]"
        )
    return recipe


def draw_plan(workspace: Workspace, chosen: ChosenRecipe) -> None:
    """Draw the plan of a recipe: figures, added and removed tokens, and the cost of continued
    pretraining, if the recipe includes it.
    """
    # 1. The figures, and for an extension the curve for choosing its size.
    found = count_cache.plan_of(
        chosen.recipe, chosen.model, chosen.vectors, chosen.target, chosen.corpus, workspace.root
    )
    draw_plan_metrics(found, cache.model_of(chosen.model).dim)
    if chosen.corpus and chosen.recipe.vocabulary.kind == "extend":
        _draw_extension_curve(workspace, chosen.recipe, chosen.model, chosen.corpus)
    # 2. The tokens themselves.
    draw_added_words(found)
    if found.removed_tokens:
        with st.expander(
            f"{count(len(found.removed_tokens))} removed tokens", expanded=not found.added
        ):
            draw_table(
                {
                    "token": list(found.removed_tokens),
                    "old id": [found.base.ids[token] for token in found.removed_tokens],
                },
                height=240,
                key="dropped",
                column_config={"token": st.column_config.TextColumn()},
            )
    # 3. The cost of continued pretraining.
    if chosen.recipe.further.stage and chosen.corpus:
        request = view.PretrainingRequest(
            pickers.shown_model(chosen.model), chosen.model, chosen.corpus, chosen.recipe.further
        )
        view.draw_cost(
            workspace, request, list_pretrained_models(workspace), "Continued pretraining, about"
        )


def _draw_extension_curve(
    workspace: Workspace, recipe: Recipe, model: str, corpus: Artifact
) -> None:
    """Draw, on click, the frequency curve for choosing the extension size."""
    # 1. The curve is drawn on click and remains until the model, the text or the size changes.
    size = recipe.vocabulary.max_added
    largest = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=max(size, EXTENSION)))
    key = (model, corpus.stamp, largest.vocabulary.max_added)
    if st.button("Draw frequency curve", icon=":material/show_chart:", key="draw_extension"):
        st.session_state["extension_curve"] = key
    if st.session_state.get("extension_curve") != key:
        return
    # 2. The frequency of the last added tokens, and how much they shorten the text.
    found = count_cache.extension_of(largest, model, corpus, workspace.root)
    left, right = st.columns(2)
    with left:
        draw_figure(plot_token_frequency(found, size), "token_frequency")
    with right:
        draw_figure(plot_wordpieces_by_size(found, size), "pieces_by_size")
    last = found.sizes[-1]
    legend = "Dashed: the selected size. " if size <= last.size else ""
    draw_note(
        f"{legend}Of all"
        f" {count(last.size)} tokens, {count(last.seldom)} occur fewer than {RARE} times in the"
        f" text. Together they make its tokenization {100 * found.shorter(last):.1f} % shorter."
        " Embeddings of rare tokens are hardly trained."
    )
    draw_command(["vocabulary", "extension", "--model", model, "--corpus", str(corpus.folder)])


def draw_plan_metrics(plan: VocabularyPlan, dim: int) -> None:
    """Draw the numbers of added, removed and excluded tokens, and the parameters."""
    # The second figure: removed tokens, or excluded words if no token is removed.
    changed: tuple[str | None, ...] = (
        "Tokens removed",
        count(len(plan.removed_tokens)),
        f"{count(len(plan.tokens))} tokens after",
    )
    if not plan.removed_tokens:
        excluded = sum(len(words) for words in plan.left_out.values())
        changed = ("Excluded", count(excluded), None, HELP["excluded"])
    parameters, size = count_added_parameters(plan, dim)
    label = "Parameters added" if parameters >= 0 else "Parameters saved"
    draw_metrics(
        ("Tokens added", count(len(plan.added)), f"{count(len(plan.base))} tokens before"),
        changed,
        ("Embeddings replaced", count(len(plan.replaced)), None, HELP["replaced"]),
        (label, count(abs(parameters)), megabytes(abs(size))),
    )
    for why, words in plan.left_out.items():
        draw_note(f"{count(len(words))} excluded: {why}")
    if plan.note:
        st.warning(plain(plan.note), icon=":material/info:")
    if plan.unreachable:
        draw_note(
            f"{count(len(plan.unreachable))} of the new tokens can never be"
            " produced by the tokenizer (inherited from the target)"
        )


def count_added_parameters(plan: VocabularyPlan, dim: int) -> tuple[int, int]:
    """Return the number of parameters and bytes (float32) of the added input embeddings; negative if
    more embeddings are removed than added.
    """
    parameters = (len(plan.tokens) - len(plan.base)) * dim
    return parameters, parameters * FLOAT32


def draw_added_words(plan: VocabularyPlan) -> None:
    """Draw the added words, their wordpieces before, and their counts if known."""
    if not plan.added:
        return
    table: dict[str, list[object]] = {
        "new token": [word.token for word in plan.added],
        "wordpieces before": [" ".join(word.pieces) for word in plan.added],
        "tokens before": [len(word.pieces) for word in plan.added],
    }
    if any(word.count is not None for word in plan.added):
        # The plan `extend` counts whole words: a wordpiece also occurs inside other words.
        header = "as a whole word" if plan.settings.kind == "extend" else "occurrences"
        table[header] = [word.count for word in plan.added]
    draw_table(
        table,
        height=330,
        key="added",
        column_config={
            "new token": st.column_config.TextColumn(),
            "wordpieces before": st.column_config.TextColumn(width="medium"),
        },
    )


def _pick_alignment(vectors: Artifact, model: str) -> AlignmentSettings:
    """Show the picker of alignment methods that the number of anchors allows."""
    # If an error is shown below, the default is still offered, and the page is still drawn.
    offered = {methods.describe_method(AlignmentSettings()): AlignmentSettings()}
    with mistakes.show_errors():
        offered = methods.list_methods(
            cache.space_of(vectors),
            cache.model_of(model).space,
            cache.anchors_of(vectors, cache.model_of(model)),
            {},
        )
    help = "Selects the alignment method. The default is that of Poerner et al. 2020."
    if AlignmentSettings() not in offered.values():
        help = (
            "Selects the alignment method. There are too few anchors for the default, least"
            " squares (Poerner et al. 2020)."
        )
    first = next(iter(offered))
    return offered[pickers.pick_name("Method", list(offered), "adapt_method", first, help=help)]
