"""A recipe by its name, with the changes that a user gives: the options of the command adapt, or
the keys of a variant in a study.
"""

from dataclasses import replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.given_settings import Values, read_given, read_own_settings
from vocadapt.models.extension_size import ModuleSettings
from vocadapt.presets import NEW_WORDS, build_title, get_preset
from vocadapt.recipe import Recipe, read_recipe
from vocadapt.settings import read_options
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS
from vocadapt.vocabulary.plan.plan import KINDS, PlanSettings

# Settings of the plan that no other setting depends on.
PLAN = ("count_marks", "max_added", "min_count")
REMOVED_ALONE = (
    "A fraction of tokens to remove was given, but no heuristic that removes them.",
    "Name a heuristic, for example last.",
    "removed",
)
BUDGET = ("epochs", "tokens", "hours")  # settings of pretraining of which one is given
PRETRAINING = (*BUDGET, "length", "batch", "lr")
CHANGED: tuple[tuple[type, tuple[str, ...] | None], ...] = (  # settings (None: all) that are read
    (Recipe, ("tokenizer",)),
    (PlanSettings, ("remove_by", "removed", "add_by", *PLAN)),
    (InitializerSettings, ("method",)),
    (ModuleSettings, ("gate",)),
    (AlignmentSettings, None),
    (ContinuedSettings, ("stage", "trained")),
    (MaskedSettings, PRETRAINING),
)


def choose_recipe(given: Values) -> Recipe:
    """Return the recipe that is named, with the other changes applied to it.

    Raises InputError for changes that would have no effect.
    """
    if given.get("preset") and given.get("recipe"):
        raise InputError("Give either a preset or a recipe file, not both.")
    preset = DEFAULT_PRESET
    if given.get("method") and not given.get("initializer"):
        preset = "green-bert"  # an alignment was named: the recipe whose embeddings are aligned
    chooses_tokens = given.get("remove_by") or given.get("add_by")
    if chooses_tokens:
        preset = "combined-last-25"
    if given.get("recipe"):
        recipe = read_recipe(Path(given.get("recipe")))
    else:
        recipe = get_preset(given.get("preset") or preset)
    if chooses_tokens:
        recipe = _change_heuristics(recipe, given)
    elif given.get("removed") is not None:
        raise InputError(*REMOVED_ALONE)
    recipe = replace(recipe, **read_given(given, Recipe, ("tokenizer",)))
    return _change_pretraining(_change_settings(recipe, given), given)


def _change_heuristics(recipe: Recipe, given: Values) -> Recipe:
    """Return the recipe with the heuristics that remove and add tokens.

    With both, the vocabulary keeps its size. Added whole words are exact words by default.
    """
    remove_by, add_by, count_marks = _find_heuristics(recipe, given)
    is_named = given.get("preset") or given.get("recipe")

    # 1. They determine the kind of plan, the tokenizer mode, and the fraction of tokens to remove.
    kind = "combined"
    mode = "replacement"
    removed = given.get("removed")
    if not remove_by:
        kind = "extend"
        mode = find_mode_of_heuristic(add_by)
        removed = 0.0
        if is_named and recipe.vocabulary.kind == kind and add_by == recipe.vocabulary.add_by:
            mode = recipe.tokenizer
    elif not add_by:
        kind = "reduce"
    if removed is None:
        removed = recipe.vocabulary.removed

    # 2. Build the recipe; a reduction has no initializer of its own.
    if not recipe.makes_embeddings:
        recipe = replace(recipe, initializer=InitializerSettings("syntactic"))
    if not is_named and mode == "exact-word":  # words of a text: as the default recipe makes them
        recipe = replace(recipe, initializer=NEW_WORDS.initializer, vectors=NEW_WORDS.vectors)
    percentage = f"{100 * removed:g}" if removed else ""
    plan = replace(
        recipe.vocabulary.choose(kind),
        remove_by=remove_by or "last",
        add_by=add_by or "target",
        removed=removed,
        count_marks=count_marks,
    )
    return replace(
        recipe,
        name="-".join(filter(None, (remove_by, percentage, add_by))),
        about=KINDS[kind].about,
        title=build_title(plan) + ", and an extension module" * bool(recipe.module.size),
        vocabulary=plan,
        tokenizer=mode,
    )


def find_mode_of_heuristic(add_by: str | None) -> str:
    """Return the tokenizer mode of a heuristic: exact-word for whole words, insertion for parts of
    words.
    """
    if add_by is not None and AUGMENTATIONS[add_by].makes_words:
        return "exact-word"
    return "insertion"


def change_heuristic(recipe: Recipe, add_by: str) -> Recipe:
    """Return a recipe that appends tokens with another heuristic, and with its tokenizer mode."""
    if add_by == recipe.vocabulary.add_by:
        return recipe
    plan = replace(recipe.vocabulary, add_by=add_by)
    return replace(recipe, vocabulary=plan, tokenizer=find_mode_of_heuristic(add_by))


def _find_heuristics(recipe: Recipe, given: Values) -> tuple[str | None, str | None, bool]:
    """Return the heuristics that remove and add tokens, and whether lengths count marks.

    A named recipe supplies what the options omit. Raises InputError for a recipe that does not
    choose its tokens by heuristics, and for a fraction to remove without a heuristic.
    """
    if recipe.kind.needs:  # words of vectors, a text or another vocabulary decide
        raise InputError(
            f"The recipe {recipe.name} does not choose its tokens by heuristics.",
            "Leave the preset out.",
        )
    plan = recipe.vocabulary
    is_named = given.get("preset") or given.get("recipe")
    remove_by = given.get("remove_by")
    add_by = given.get("add_by")
    if is_named and "remove_by" in recipe.kind.settings:
        remove_by = remove_by or plan.remove_by
    if is_named and "add_by" in recipe.kind.settings:
        add_by = add_by or plan.add_by
    if not remove_by and given.get("removed") is not None:
        raise InputError(*REMOVED_ALONE)
    return remove_by, add_by, bool(is_named and plan.count_marks)


def _change_settings(recipe: Recipe, given: Values) -> Recipe:
    """Return the recipe with the options that change single settings of its plan, its initializer,
    its alignment and its module; raise InputError for those that it does not use.
    """
    # 1. The settings that were given.
    plan = replace(recipe.vocabulary, **read_given(given, PlanSettings, PLAN))
    initializer = recipe.initializer.choose(given.get("initializer") or recipe.initializer.method)
    module = replace(recipe.module, **read_given(given, ModuleSettings, ("gate",)))
    recipe = replace(recipe, vocabulary=plan, initializer=initializer, module=module)

    # 2. Refuse settings that would have no effect.
    for setting, was_given, is_used, problem in (
        ("initializer", given.get("initializer"), recipe.makes_embeddings, "adds no tokens."),
        (
            "",  # two settings have the name "method"
            given.get("method"),
            recipe.needs_alignment,
            "initializes embeddings without an alignment, and a method was given.",
        ),
        ("gate", given.get("gate"), recipe.module.size, "has no module with a gate."),
    ):
        if was_given is not None and not is_used:
            raise InputError(
                f"The recipe {recipe.name} {problem}", "Leave this setting out.", setting
            )

    # 3. The own settings of the initializer, and the alignment.
    used = [initializer.method] if recipe.makes_embeddings else []
    own = read_own_settings(given, INITIALIZERS, initializer.options)
    own = read_options(own, INITIALIZERS, used, "initializer")
    return _change_alignment(replace(recipe, initializer=replace(initializer, options=own)), given)


def _change_alignment(recipe: Recipe, given: Values) -> Recipe:
    """Return the recipe with the alignment that the options request."""
    alignment = read_given(given, AlignmentSettings)
    if aligned_by := read_own_settings(given, METHODS, {}):
        alignment["options"] = aligned_by
    if alignment and not given.get("method"):
        raise InputError(
            "Normalizing and centering apply to an alignment.",
            "Name its method, for example least-squares.",
        )
    if not alignment:
        return recipe
    length = {"vector_length": recipe.alignment.vector_length}
    return replace(recipe, alignment=AlignmentSettings(**length | alignment))


def _change_pretraining(recipe: Recipe, given: Values) -> Recipe:
    """Return the recipe with the continued pretraining that the options request."""
    check_budget(given)
    # Settings without a stage are refused, because they would have no effect.
    changes = read_given(given, MaskedSettings, PRETRAINING)
    own = read_given(given, ContinuedSettings, ("trained",))
    stage = given.get("stage") or recipe.pretraining.stage
    if (changes or own) and not stage:
        raise InputError(
            "This setting applies to continued pretraining, which was not requested.",
            "Give its stage.",
            next(iter([*changes, *own])),
            "no-pretraining",
        )
    if not changes and not own and stage == recipe.pretraining.stage:
        return recipe
    training = recipe.pretraining.training.with_changes(**changes)
    return replace(
        recipe, pretraining=replace(recipe.pretraining, stage=stage, training=training, **own)
    )


def check_budget(given: Values) -> None:
    """Raise InputError for a budget that is not above 0."""
    for name, value in read_given(given, MaskedSettings, BUDGET).items():
        if not value > 0:
            raise InputError(
                f"A budget must be above 0, got {value}.",
                "Leave it out for the default, or give a budget.",
                name,
                "out-of-range",
            )
