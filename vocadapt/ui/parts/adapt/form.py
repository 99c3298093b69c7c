"""The form of the part Model: model, recipe, inputs and settings of a new adapted model."""

from contextlib import suppress
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.reports.advice import AdviceReport
from vocadapt.lab.reports.recommendation import (
    AlignmentChoice,
    find_best_alignment,
    recommend_recipe,
)
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.abilities import check_ability, has_masked_head
from vocadapt.models.contextual.word_vectors import count_layers
from vocadapt.models.extension_size import ModuleSize
from vocadapt.presets import EXTENSION, PRESETS, format_recipe_title, get_preset
from vocadapt.recipe import Recipe
from vocadapt.recipe_changes import change_heuristic
from vocadapt.spaces.alignment.alignment import AlignmentSettings
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import draw_link, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_linked_setting, draw_setting, draw_settings
from vocadapt.ui.parts.advise.recommendation import (
    describe_alignment,
    draw_verdict_box,
    load_advice,
)
from vocadapt.ui.parts.alignment import methods
from vocadapt.ui.parts.initializers.view import draw_own_settings
from vocadapt.ui.parts.pretraining import page as pretraining_view
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import display_model, find_model_stem, model_behind
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, fraction, percent
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET, RECOMMENDED
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.augmentation import list_augmentations
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES

# Settings of the plan with an input of their own, or that the preset decides.
DRAWN = ("max_added", "min_count", "cover", "keep", "add_by", "remove_by", "removed")
MIN_COVER = 0.5  # smallest coverage of a text that the form offers for a trim
FILLED = "adapt_filled"  # session key: the recipe whose values the number fields were given
GATES = {
    0.5: "as published: half of each layer's output comes from the untrained module",
    0.98: "close to 1: the model starts almost unchanged",
}


@dataclass(frozen=True)
class ChosenRecipe:
    """A recipe, its model and its inputs.

    advice: the advice that the recipe follows; None if the recipe is not the recommended one.
    """

    recipe: Recipe
    model: str
    vectors: Artifact | None = None
    target: str | None = None
    corpus: Artifact | None = None
    advice: AdviceReport | None = None
    glossary: Artifact | None = None

    @property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """The inputs of the step."""
        found: dict[str, tuple[str, ...]] = {"model": (str(cache.model_of(self.model).path),)}
        if self.target:
            found["target"] = (str(cache.model_of(self.target).path),)
        sources = {"vectors": self.vectors, "text": self.corpus, "glossary": self.glossary}
        return found | {role: (str(one.folder),) for role, one in sources.items() if one}

    @property
    def suggested_name(self) -> str:
        """The suggested name of the result."""
        origin = self.vectors.name if self.vectors else self.recipe.name
        return f"{find_model_stem(self.model)}-{origin}"


def draw_recipe_form(workspace: Workspace) -> ChosenRecipe | None:
    """Draw the form of a recipe and its inputs; return None, with a message, if an input is
    missing.
    """
    # The frequent settings come first; the expert settings are folded.
    model_box = st.container()
    preset_box = st.container()
    inputs_box = st.container()
    more = st.container()
    # 1. The recipe, and the sources that it needs.
    with preset_box:
        recipe = _pick_preset(workspace)
    if recipe.makes_embeddings:  # what is folded are the settings of new embeddings
        more = more.expander("More settings", icon=":material/tune:")
    with more:
        recipe = _choose_initializer(recipe)
    with inputs_box:
        sources = _pick_sources(workspace, recipe)
    # 2. The model, and the target whose vocabulary it adopts.
    vectors = sources["vectors"]
    target = None
    default = model_behind(vectors, workspace) if vectors else None
    with model_box:
        model = pickers.pick_model(workspace, "adapt_model", default=default)
    # Checked only after both pickers, which report all missing inputs at once.
    if not sources.keys() & recipe.needs <= {name for name, one in sources.items() if one}:
        return None
    if "target" in recipe.needs:
        with inputs_box:
            target = pickers.pick_target(workspace, model, "adapt_target")
        if not target:
            pickers.draw_empty_state(
                "No target is selected yet.",
                "This preset adopts another model's vocabulary: select it above.",
            )
            return None
    # 3. What is recommended for the text of these vectors, and the options of the recipe.
    corpus = sources.get("text") or sources.get("counts")
    chosen = ChosenRecipe(recipe, model, vectors, target, corpus, glossary=sources["glossary"])
    if recipe.name == RECOMMENDED:
        with preset_box:
            found = _recommend(workspace, chosen)
        if found is None:
            return None
        chosen = found
    return _choose_options(workspace, chosen, inputs_box, more)


def _choose_options(
    workspace: Workspace, chosen: ChosenRecipe, main: DeltaGenerator, more: DeltaGenerator
) -> ChosenRecipe | None:
    """Draw the options that a recipe has, the frequent ones in `main` and the others in `more`;
    return the changed recipe, None if the model cannot be trained as it requires.
    """
    recipe, model = chosen.recipe, chosen.model
    if "min_count" in recipe.kind.settings:
        recipe = _choose_words(recipe, main)
    if not recipe.kind.rearranges and "vectors" in recipe.kind.needs:
        recipe = _choose_tokenizer(recipe, more)
    if recipe.needs_alignment and chosen.vectors:
        recipe = _choose_alignment(workspace, chosen, recipe, main, more)
    with main:
        recipe = _choose_extension_options(recipe, model)
    if recipe.makes_embeddings:
        with more:
            own = draw_own_settings(
                recipe.initializer.options, [recipe.initializer.method], "adapt"
            )
            others = [name for name in recipe.kind.settings if name not in DRAWN]
            plan = draw_settings(recipe.vocabulary, f"adapt_{recipe.name}", names=others)
        initializer = replace(recipe.initializer, options=own)
        recipe = replace(recipe, initializer=initializer, vocabulary=plan)
    if recipe.pretraining.stage:
        trained = cache.model_of(model)
        if not has_masked_head(trained):
            pretraining_view.explain_missing_head(display_model(workspace, model), trained)
            return None
        training = pretraining_view.fit_length(recipe.pretraining.training, trained)
        recipe = replace(recipe, pretraining=replace(recipe.pretraining, training=training))
    if chosen.advice and recipe != chosen.recipe:
        recipe = replace(recipe, name=f"{RECOMMENDED}-changed")
    return replace(chosen, recipe=recipe)


def _pick_preset(workspace: Workspace) -> Recipe:
    """Show the picker of presets; return the selected one. For "recommended", it still lacks the
    words and the alignment.
    """
    offered = dict(PRESETS)
    vectors = workspace.artifacts("vectors")
    first = DEFAULT_PRESET
    if vectors:
        title = "Recommended for this text"
        recommended = replace(PRESETS[DEFAULT_PRESET], name=RECOMMENDED, title=title)
        offered = {RECOMMENDED: recommended, **offered}
        model = model_behind(vectors[0], workspace)
        with suppress(InputError):  # the model may not be on this machine
            if model and load_advice(workspace, vectors[0], model):
                first = RECOMMENDED
    # A link may name a preset of a family that is not listed, such as reduced-last-33.
    linked = st.query_params.get("adapt_preset", "")
    with suppress(InputError):
        offered.setdefault(linked, get_preset(linked))
    offered.pop("", None)
    titles = {name: format_recipe_title(recipe) for name, recipe in offered.items()}
    if RECOMMENDED in offered:
        titles[RECOMMENDED] = offered[RECOMMENDED].title
    address.restore_selection("adapt_preset", address.Choice(offered.__contains__, first))
    name = st.selectbox(
        "Preset",
        list(offered),
        key="adapt_preset",
        persist_state="session",
        format_func=titles.__getitem__,
        help=explain("Preset", "Selects what is changed, and where the new embeddings come from."),
    )
    address.write("adapt_preset", [name or first], offered.__contains__)
    recipe = offered[name or first]
    if recipe.name != RECOMMENDED:
        about = recipe.about.removesuffix(".")
        draw_note(plain(f"{about[:1].upper()}{about[1:]}."))
    return recipe


def _recommend(workspace: Workspace, chosen: ChosenRecipe) -> ChosenRecipe | None:
    """Draw the advice on the text of the word vectors; return the recommended recipe, with the
    selected initializer, None if there is no advice or no word to add.
    """
    assert chosen.vectors is not None  # the recommended recipe needs word vectors
    report = load_advice(workspace, chosen.vectors, chosen.model)
    if report is None:
        pickers.draw_empty_state(
            "There is no advice for these word vectors.",
            "Their text is not in this workspace, or its words were not counted for this model."
            " Import the text, or select another preset.",
            "text",
        )
        return None
    found = recommend_recipe(report)
    draw_verdict_box(report)
    if found is None:
        st.markdown("No word of this text can be added to this model.")
        return None
    draw_link("advise", "Read the advice", icon=":material/menu_book:")
    recipe = replace(found, initializer=chosen.recipe.initializer)
    return replace(chosen, recipe=recipe, advice=report)


def _choose_initializer(recipe: Recipe) -> Recipe:
    """Show the picker of initializers, the preset's by default; return the recipe with the selected
    one. A reduction adds no embeddings, so no picker is shown.

    An initializer that needs a source that the preset does not need is not offered. A text and a
    glossary are the exceptions: they can be selected below.
    """
    if not recipe.makes_embeddings:
        return recipe
    offered = {}
    for name in INITIALIZERS:
        changed = replace(recipe, initializer=recipe.initializer.choose(name))
        if changed.needs <= {*recipe.needs, "text", "glossary"}:
            offered[name] = changed
    chosen = st.selectbox(
        "Initializer",
        list(offered),
        list(offered).index(recipe.initializer.method),
        key=f"initializer_{recipe.name}",
        help=explain("Initializer", "Selects how the embeddings of new tokens are initialized."),
    )
    draw_note(plain(INITIALIZERS[chosen].about))
    return offered[chosen]


GLOSSARY_FORMAT = "A glossary is a text with a word and its description on each line, separated by a colon or a tab."
REQUIRED_INPUTS = {  # need → kind of artifact, label, and the message if there is none
    "vectors": (
        "vectors",
        "Words from",
        "There are no word vectors for new words yet.",
        (
            "New words are initialized from their word vectors: make word vectors from a text of"
            " your domain first. Or choose a preset that needs none, such as a smaller vocabulary."
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
    "glossary": (
        "corpora",
        "Glossary",
        "There is no glossary yet.",
        f"Import one on the page Your text. {GLOSSARY_FORMAT}",
    ),
}


def _pick_sources(workspace: Workspace, recipe: Recipe) -> dict[str, Artifact | None]:
    """Show the pickers of the sources that a recipe needs, each with a message if there is none;
    return the selected ones by need. A text to train on need not be counted.
    """
    needs = ("vectors", "text" if "text" in recipe.needs else "counts", "glossary")
    return {need: _pick_input(workspace, recipe, need) for need in needs}


def _pick_input(workspace: Workspace, recipe: Recipe, need: str) -> Artifact | None:
    """Show the picker of an input, or a message if there is none."""
    if need not in recipe.needs:
        return None
    kind, label, problem, remedy = REQUIRED_INPUTS[need]
    found = workspace.artifacts(kind)
    key = f"adapt_{kind}"
    if need in ("text", "glossary"):  # nothing can be trained on word counts alone
        found = list_texts(workspace)
    if need == "glossary":  # another text than the one of the domain
        key = "adapt_glossary"
    if found:
        picked = pickers.pick(label, found, key)
        if need == "glossary":
            draw_note(GLOSSARY_FORMAT)
        return picked
    pickers.draw_empty_state(problem, remedy, "vectors" if kind == "vectors" else "text")
    return None


def _choose_words(recipe: Recipe, place: DeltaGenerator) -> Recipe:
    """Draw the number of words to add and their minimum number of occurrences; return the recipe
    with them.
    """
    plan = recipe.vocabulary
    _fill_in(recipe)
    left, right = place.columns(2)
    # The fields begin empty; `_fill_in` sets the recipe's values.
    max_added = draw_linked_setting(
        PlanSettings, "max_added", "adapt_cap", left, bounded=False, step=1000
    )
    min_count = draw_linked_setting(
        PlanSettings, "min_count", "adapt_occurrences", right, bounded=False, step=1
    )
    return replace(recipe, vocabulary=replace(plan, max_added=max_added, min_count=min_count))


def _fill_in(recipe: Recipe) -> None:
    """Fill the number fields with the recipe's values when another recipe is selected; the values
    of a link stay.
    """
    plan = recipe.vocabulary
    filled = (recipe.name, plan.max_added, plan.min_count)
    visit = st.session_state.get(address.VISIT)
    last_filled, last_visit = st.session_state.get(FILLED, (None, None))
    st.session_state[FILLED] = (filled, visit)
    for key, value in (("adapt_cap", plan.max_added), ("adapt_occurrences", plan.min_count)):
        was_linked = visit != last_visit and key in st.query_params
        if filled != last_filled and not was_linked:
            st.session_state[key] = value or None


def _choose_tokenizer(recipe: Recipe, place: DeltaGenerator) -> Recipe:
    """Draw the tokenizer modes that keep all tokens; return the recipe with the selected one."""
    modes = {name: mode for name, mode in TOKENIZER_MODES.items() if not mode.rearranges}
    mode = place.radio(
        "Tokenizer", list(modes), key="adapt_mode", captions=[mode.about for mode in modes.values()]
    )
    return replace(recipe, tokenizer=str(mode))


def _choose_alignment(
    workspace: Workspace,
    chosen: ChosenRecipe,
    recipe: Recipe,
    main: DeltaGenerator,
    more: DeltaGenerator,
) -> Recipe:
    """Draw the picker of alignments in `more` and what is selected, and why, in `main`; return the
    recipe with the selected one.

    The default is the best evaluated alignment; if none was evaluated, that of the recipe.
    """
    assert chosen.vectors is not None
    best = find_best_alignment(workspace, chosen.vectors, cache.model_of(chosen.model))
    wanted = best or AlignmentChoice(recipe.alignment)
    with more:
        alignment = _pick_alignment(chosen.vectors, chosen.model, wanted.settings)
    reason = f"**{plain(describe_method(alignment))}**."
    if alignment == wanted.settings:
        reason = f"{describe_alignment(wanted)}."
    with main:
        st.markdown(f":small[Alignment: {reason}]")
        if best is None:
            draw_link("alignment", "Compare alignments", alignment_vectors=chosen.vectors.name)
    # The evaluation compares directions only, so the vector length stays that of the recipe.
    length = recipe.alignment.vector_length
    return replace(recipe, alignment=replace(alignment, vector_length=length))


def _pick_alignment(vectors: Artifact, model: str, wanted: AlignmentSettings) -> AlignmentSettings:
    """Show the picker of alignment methods that the number of anchors allows, with `wanted` as the
    default if it is one of them.
    """
    # If an error is shown below, `wanted` is still offered, and the page is still drawn.
    offered, first = {wanted.digest: wanted}, wanted.digest
    with mistakes.show_errors():
        offered = methods.list_methods(
            cache.space_of(vectors),
            cache.model_of(model).space,
            cache.anchors_of(vectors, cache.model_of(model)),
            {},
        )
        feasible = {settings.method for settings in offered.values()}
        if wanted.method in feasible:
            offered.setdefault(first, wanted)
    if first not in offered:
        first = next(iter(offered))
    return offered[
        pickers.pick_name(
            "Alignment",
            list(offered),
            "adapt_method",
            first,
            help="Selects how word vectors are mapped to the embeddings of the model.",
            labels=methods.label_methods(offered),
        )
    ]


def _choose_extension_options(recipe: Recipe, model: str) -> Recipe:
    """Draw the inputs that the recipe has: coverage of a trim; heuristic, size and initial gate of
    an extension. Return the changed recipe.
    """
    if "cover" in recipe.kind.settings and recipe.vocabulary.cover:
        key = f"adapt_cover_{recipe.name}"
        cover = draw_setting(
            st, recipe.vocabulary, "cover", key, least=MIN_COVER, step=0.0001, format="%.4f"
        )
        recipe = replace(recipe, vocabulary=replace(recipe.vocabulary, cover=cover))
    if {"add_by", "max_added"} <= set(recipe.kind.settings):
        recipe = _choose_heuristic(recipe, cache.model_of(model).vocabulary.family)
        options = {"label": "Extension size", "least": 1, "step": 1000}
        plan = PlanSettings(max_added=EXTENSION)
        size = draw_linked_setting(plan, "max_added", "adapt_extension", **options)
        recipe = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=size))
    if recipe.module.size:
        base = cache.model_of(model)
        check_ability(base, "extend")
        gate = st.radio(
            "Initial gate",
            list(GATES),
            key="adapt_gate",
            captions=list(GATES.values()),
            format_func=fraction,
        )
        recipe = replace(recipe, module=replace(recipe.module, gate=float(gate)))
        module = ModuleSize.from_settings(recipe.module, base.config)
        parameters = module.to_dict(count_layers(base))["parameters"]
        st.markdown(
            f":small[Each layer gets a module with {count(module.hidden)} hidden and"
            f" {count(module.intermediate)} intermediate units: **{percent(module.share)}** of"
            f" the layer, {count(parameters)} parameters in total.]"
        )
    return recipe


def _choose_heuristic(recipe: Recipe, family: str) -> Recipe:
    """Draw the heuristics that can add tokens to models of a tokenizer family; return the recipe
    with the selected one. The default is the heuristic of the recipe, or else the trainer of the
    family.
    """
    offered = list_augmentations(family, recipe.needs)
    usual = recipe.vocabulary.add_by
    if usual not in offered:
        usual = next(iter(offered))
    add_by = draw_setting(
        st,
        replace(recipe.vocabulary, add_by=usual),
        "add_by",
        f"adapt_add_by_{recipe.name}_{family}",
        label="Tokens added by",
        choices=offered,
    )
    return change_heuristic(recipe, add_by)
