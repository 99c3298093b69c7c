"""Presets: recipes of published methods, by name.

In addition to those in PRESETS there are `reduced-HEURISTIC-PERCENT` and
`combined-HEURISTIC-PERCENT` with any removal heuristic and percentage.
"""

import re
from dataclasses import replace

from vocadapt.errors import InputError
from vocadapt.models.extension_size import SIZES, ModuleSettings
from vocadapt.recipe import Recipe
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET
from vocadapt.vocabulary.initializers.initialize import InitializerSettings
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.reduction import ReductionSettings


def _build_transfer(how: str, method: str, title: str, about: str, renew: bool = False) -> Recipe:
    return Recipe(
        f"transfer-{how}",
        f"{about} (Fast 2023, section 4.4.5)",
        title=f"Another model's vocabulary, {title}",
        vocabulary=PlanSettings("transfer", renew=renew),
        initializer=InitializerSettings(method),
        tokenizer="replacement",
    )


def build_title(plan: PlanSettings) -> str:
    """Return the title of a recipe that removes or adds tokens by heuristics."""
    percent = f"{100 * plan.removed:g} %"
    if plan.kind == "reduce":
        return f"Smaller vocabulary: {percent} removed by {plan.remove_by}"
    if plan.kind == "extend":
        return f"Larger vocabulary: tokens added by {plan.add_by}"
    return f"{percent} of the vocabulary exchanged, removed by {plan.remove_by}, added by {plan.add_by}"


def build_reduction_preset(heuristic: str, percent: float) -> Recipe:
    """Return the preset of a reduction: `reduced-last-25` removes a quarter of the vocabulary, the
    tokens that were added last (Fast 2023, section 4.4.4).

    The ## of a continuation counts as part of its length, as in Fast 2023, section 3.3.3. That
    decides which tokens are "shorter than four characters" and always kept: 6,414 of PubMedBERT's
    30,522 tokens with ##, 8,512 without. Table 6.10 removes 75 %, which keeps 7,630 tokens:
    possible only with ##. Without a preset, ## does not count.
    """
    plan = PlanSettings("reduce", remove_by=heuristic, removed=percent / 100, count_marks=True)
    return Recipe(
        f"reduced-{heuristic}-{percent:g}",
        f"removes {percent:g} % of the vocabulary by the heuristic {heuristic}; the remaining"
        " embeddings are unchanged (Fast 2023, section 4.4.4); lengths include the marks of"
        " continuations (section 3.3.3)",
        title=build_title(plan),
        vocabulary=plan,
        tokenizer="replacement",
    )


def build_reduction(settings: ReductionSettings) -> Recipe:
    """Return the recipe of a reduction; a preset if one has the same settings."""
    # Rounded: 1 - 0.7 is 0.30000000000000004, which no preset has.
    percent = round(100 * (1 - settings.keep), 6)
    removed = round(1 - settings.keep, 12)
    named = build_reduction_preset(settings.heuristic, percent)
    if not settings.count_marks:
        about = (
            f"removes {percent:g} % of the vocabulary by the heuristic {settings.heuristic}; the"
            " remaining embeddings are unchanged"
        )
        named = replace(named, name=f"{settings.heuristic}-{percent:g}", about=about)
    plan = replace(
        named.vocabulary, removed=removed, seed=settings.seed, count_marks=settings.count_marks
    )
    return replace(named, vocabulary=plan)


def build_trim(cover: float = 0.0, keep: int = 0, characters: str = "text") -> Recipe:
    """Return the recipe of a trim to the tokens that cover a fraction of a text, or to a number of
    tokens.

    Two of these are presets: `trim` keeps all tokens of the text, `trim-99.99` those of 99.99 % of
    it.
    """
    percent = f"{100 * cover:g}"
    if keep:
        name = f"trim-to-{keep}"
        kept = f"{keep:,} tokens, the most frequent ones of a text first"
    elif cover == 1:
        name, kept = "trim", "only the tokens of a text"
    else:
        name = f"trim-{percent}"
        kept = f"the most frequent tokens that cover {percent} % of a text"
    if characters == "all":
        name = f"{name}-all-characters"
    return Recipe(
        name,
        f"keeps {kept}, and the tokens that they are made from; other tokens are removed, and the"
        " remaining embeddings are unchanged",
        title=f"Smaller vocabulary: {kept}",
        vocabulary=PlanSettings("trim", cover=cover, keep=keep, characters=characters),
        tokenizer="replacement",
    )


def build_combination_preset(heuristic: str, percent: int) -> Recipe:
    """Return the preset of a reduction with refill: `combined-last-50` removes half of the
    vocabulary and adds the target's first tokens (Fast 2023, section 4.4.6).

    Lengths include the ##, as in `build_reduction_preset`.
    """
    plan = PlanSettings("combined", remove_by=heuristic, removed=percent / 100, count_marks=True)
    return Recipe(
        f"combined-{heuristic}-{percent}",
        f"replaces {percent} % of the vocabulary, removed by the heuristic {heuristic}, by the"
        " target's first tokens; a new token's embedding is the mean of its pieces' embeddings"
        " (Fast 2023, section 4.4.6)",
        title=build_title(plan),
        vocabulary=plan,
        initializer=InitializerSettings("syntactic"),
        tokenizer="replacement",
    )


def _add_pretraining(recipe: Recipe) -> Recipe:
    """Return a recipe with continued pretraining on the text: `new-words+mlm`.

    Fast 2023 has no such step.
    """
    return replace(
        recipe,
        name=f"{recipe.name}+mlm",
        about=f"{recipe.about}; then continued pretraining on the text: of the new embeddings, or"
        " of all parameters (stage continued)",
        pretraining=ContinuedSettings("embeddings"),
        title=f"{recipe.title}, then pretraining",
    )


def _build_exbert(
    name: str, title: str, about: str, vocabulary: PlanSettings | None = None, size: str = "s3"
) -> Recipe:
    """Return an exBERT preset: `exbert-s3` appends wordpieces trained on the text, with random
    embeddings, and adds an extension module to every layer.
    """
    plan = vocabulary or PlanSettings("extend", add_by="bpe-merges", max_added=EXTENSION)
    mode = "insertion" if plan.kind == "extend" else "exact-word"
    return Recipe(
        f"exbert-{name}",
        f"{about} (Tai et al. 2020)",
        title=title,
        vocabulary=plan,
        initializer=InitializerSettings("random-normal"),
        tokenizer=mode,
        module=ModuleSettings(size),
    )


NEW_WORDS = Recipe(
    DEFAULT_PRESET,
    "adds the words of the domain; their embeddings come from their contexts in the text and from"
    " their pieces (stacked), by word vectors whose trainer fits the size of the text",
    title="New words from context and form",
    vectors=Word2VecSettings(),
    initializer=InitializerSettings("stacked"),
    # Of the initializer aligned, if that is chosen instead.
    alignment=AlignmentSettings(
        "ridge", unit=True, center=True, ridge=1.0, vector_length="frequency"
    ),
)
EXTENSION = 17_748  # tokens that exBERT added as published
PUBLISHED_HEURISTICS = ("last", "longest", "freq", "random")
# Presets with a variant …+mlm, which adds continued pretraining.
WITH_PRETRAINING = (DEFAULT_PRESET, "green-bert", "transfer-syntactic", "transfer-semantic")
PRESETS: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        NEW_WORDS,
        Recipe(
            "green-bert",
            "adds the words of the domain; their embeddings are word vectors, aligned by least"
            " squares (Poerner et al. 2020)",
            title="New words from word vectors",
        ),
        Recipe(
            "green-bert-identity",
            "green-bert without an alignment, W = I (an ablation of Poerner et al. 2020)",
            initializer=InitializerSettings("identity"),
            title="New words from word vectors, without an alignment",
        ),
        Recipe(
            "green-bert-random",
            "green-bert with random embeddings (an ablation of Poerner et al. 2020)",
            initializer=InitializerSettings("random-normal"),
            title="New words with random embeddings",
        ),
        Recipe(
            "green-bert-replace",
            "green-bert that also replaces the embedding of every original token with a word"
            " vector (a variant of Poerner et al. 2020)",
            vocabulary=PlanSettings("replace"),
            title="New words, and known words replaced",
        ),
        Recipe(
            "reinit-normal",
            "the same vocabulary, every embedding drawn from a normal distribution (Fast 2023,"
            " section 4.4.3)",
            vocabulary=PlanSettings("same", renew=True),
            initializer=InitializerSettings("random-normal"),
            title="Same vocabulary, random embeddings (normal)",
        ),
        Recipe(
            "reinit-uniform",
            "the same vocabulary, every embedding drawn from a uniform distribution (Fast 2023,"
            " section 4.4.3)",
            vocabulary=PlanSettings("same", renew=True),
            initializer=InitializerSettings("random-uniform"),
            title="Same vocabulary, random embeddings (uniform)",
        ),
        _build_transfer(
            "target",
            "target",
            "its embeddings",
            "the target's vocabulary with the target's own embeddings: the naive way",
            renew=True,
        ),
        _build_transfer(
            "random",
            "random-normal",
            "random embeddings",
            "the target's vocabulary with random embeddings",
            renew=True,
        ),
        _build_transfer(
            "syntactic",
            "syntactic",
            "means of wordpieces",
            "the target's vocabulary; a new token's embedding is the mean of its pieces'"
            " embeddings",
        ),
        _build_transfer(
            "semantic",
            "semantic",
            "means of neighbors",
            "the target's vocabulary; a new token's embedding is the mean of its nearest common"
            " tokens'",
        ),
        *(
            build_reduction_preset(heuristic, percent)
            for heuristic in PUBLISHED_HEURISTICS
            for percent in (25, 50, 75)
        ),
        *(build_trim(cover) for cover in (1.0, 0.9999)),
        *(build_combination_preset("last", percent) for percent in (25, 50, 75, 100)),
        *(
            _build_exbert(
                name,
                f"New wordpieces and an extension module, size {name}",
                "adds wordpieces of the domain and an extension module in every layer,"
                f" {size.about}",
                size=name,
            )
            for name, size in SIZES.items()
        ),
        _build_exbert(
            "no-vocabulary",
            "An extension module without new wordpieces",
            "the module of s3 without new tokens",
            PlanSettings("same"),
        ),
        _build_exbert(
            "no-module",
            "New wordpieces without an extension module",
            "the new tokens without a module: all parameters are trained, as published",
            size="",
        ),
    )
}
PRESETS |= {
    recipe.name: recipe for recipe in (_add_pretraining(PRESETS[name]) for name in WITH_PRETRAINING)
}
# Presets with the names <family>-<removal heuristic>-<percent removed>.
FAMILIES = {"reduced": build_reduction_preset, "combined": build_combination_preset}
FAMILY = re.compile(rf"({'|'.join(FAMILIES)})-([a-z-]+)-(\d{{1,3}})")


def get_preset(name: str) -> Recipe:
    """Return the preset of this name; raises InputError with similar names if there is none."""
    if name in PRESETS:
        return PRESETS[name]
    # A member of a family that is not listed, such as reduced-last-33.
    found = FAMILY.fullmatch(name)
    if found and 0 < int(found[3]) <= 100:
        return FAMILIES[found[1]](found[2], int(found[3]))
    from difflib import get_close_matches

    near = get_close_matches(name, PRESETS, n=2)
    raise InputError(
        f"Unknown preset {name!r}.",
        f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(PRESETS)}.",
        code="unknown-preset",
    )


def format_recipe_title(recipe: Recipe) -> str:
    """Return the title of a recipe followed by its name, or the name alone if it has no title."""
    return " · ".join(filter(None, (recipe.title, recipe.name)))


def is_preset(recipe: Recipe) -> bool:
    """Return whether a recipe equals the preset of its name."""
    try:
        return get_preset(recipe.name) == recipe
    except InputError:
        return False


def format_recipe_name(recipe: Recipe) -> str:
    """Return the name of a recipe for display, marked if it differs from the preset of that name."""
    # A recipe with another name has no preset to differ from.
    named = recipe.name in PRESETS or FAMILY.fullmatch(recipe.name)
    if named and not is_preset(recipe):
        return f"{recipe.name}, changed"
    return recipe.name
