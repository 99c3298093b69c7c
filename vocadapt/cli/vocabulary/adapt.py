"""adapt, certify, presets."""

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    exclusive,
    group,
    option,
    read_given,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CASING,
    CHECKPOINTS,
    CORPUS_SETTINGS,
    OFFLINE,
    WITH_WEIGHTS,
    build_answer,
    destination_options,
    model_options,
    write_artifact,
)
from vocadapt.cli.tables import format_table
from vocadapt.cli.training.pretrain import BUDGET, check_budget
from vocadapt.cli.vocabulary.initializers import (
    add_initializer_settings,
    read_initializer_settings,
)
from vocadapt.errors import InputError
from vocadapt.lab.reports.pretraining import has_mlm_head
from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.step import Spec
from vocadapt.models.card import NOT_COUNTED
from vocadapt.models.certificate.certificate import certify
from vocadapt.models.extension_size import SIZES, ModuleSettings
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.presets import PRESETS as RECIPES
from vocadapt.presets import get_preset
from vocadapt.recipe import Recipe, format_toml, read_recipe
from vocadapt.settings import MAX_COUNT
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.spaces.projection.methods import METHODS as PROJECTIONS
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.vocabulary.families.wordpiece_training import TRAINERS
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS
from vocadapt.vocabulary.plan.plan import KINDS, PlanSettings
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES, count_departures

CHANCE = (
    "Chance: the alignment behind the new embeddings is no better than chance. Give more text, or"
    " text of the model's language."
)
UNTRAINABLE = (
    "The extension modules are random until they are pretrained, which needs a"
    " masked-language-model head. Start from a model that has one (BertForMaskedLM)."
)
OF_RECIPE = "the recipe's"  # shown in place of the default values of settings
PLAN = (
    "count_marks",
    "max_added",
    "min_count",
)  # settings of the plan that no other setting depends on
REMOVING = ("reduce", "combined")  # kinds of plans that remove tokens by a heuristic
RESULTS = {True: "passed", False: "FAILED"}
VERDICTS = {True: "The certificate passes.", False: "The certificate FAILS."}
REMOVED_ALONE = (
    "--removed is the fraction that --remove-by removes.",
    "Name a heuristic: --remove-by last.",
)


def _adapt(options: Options) -> Answer:
    recipe = _choose_recipe(options)
    inputs = {
        "model": options.model,
        "vectors": options.vectors,
        "text": options.corpus,
        "target": options.target,
    }
    settings = read_settings(options, ModelStep, ModelStep(recipe))
    artifact = write_artifact(
        Spec("model", settings, inputs, options.offline, options.casing), options
    )
    answer = build_answer(artifact)
    notes = [answer.text]
    if artifact.manifest.numbers.get("verdict") == "chance":
        notes.append(CHANCE)
    if recipe.module.size and not has_mlm_head(open_model(artifact.folder)):
        notes.append(UNTRAINABLE)
    return replace(answer, text="\n\n".join(notes))


def _choose_recipe(options: Options) -> Recipe:
    """Load the recipe that the options name, and apply the other options to it."""
    if options.preset and options.recipe:
        raise InputError("Give either --preset or --recipe, not both.")
    preset = "green-bert"
    chooses_tokens = options.remove_by or options.add_by
    if chooses_tokens:
        preset = "combined-last-25"
    if options.recipe:
        recipe = read_recipe(Path(options.recipe))
    else:
        recipe = get_preset(options.preset or preset)
    if chooses_tokens:
        recipe = _change_heuristics(recipe, options)
    elif options.removed is not None:
        raise InputError(*REMOVED_ALONE)
    return _change_pretraining(_change_settings(recipe, options), options)


def _change_heuristics(recipe: Recipe, options: Options) -> Recipe:
    """Return the recipe with the heuristics of --remove-by and --add-by.

    With both, the size of the vocabulary stays the same.
    """
    remove_by, add_by, count_marks = _find_heuristics(recipe, options)

    # 1. They determine the kind of plan and the fraction of tokens to remove.
    kind, mode, removed = "combined", "replacement", options.removed
    if not remove_by:
        if removed is not None:
            raise InputError(*REMOVED_ALONE)
        kind, mode, removed = "extend", "insertion", 0.0
    elif not add_by:
        kind = "reduce"
    if removed is None:
        removed = recipe.vocabulary.removed

    # 2. Build the recipe; a reduction has no initializer of its own.
    percentage = f"{100 * removed:g}" if removed else ""
    rows = recipe.rows if recipe.makes_embeddings else InitializerSettings("syntactic")
    plan = replace(
        recipe.vocabulary,
        kind=kind,
        cut=remove_by or "last",
        refill=add_by or "target",
        removed=removed,
        count_marks=count_marks,
    )
    return replace(
        recipe,
        name="-".join(filter(None, (remove_by, percentage, add_by))),
        about=KINDS[kind].about,
        vocabulary=plan,
        rows=rows,
        tokenizer=mode,
    )


def _find_heuristics(recipe: Recipe, options: Options) -> tuple[str | None, str | None, bool]:
    """Return the heuristics that remove and add tokens, and whether lengths count marks.

    A named recipe supplies what the options omit. Raises InputError for a recipe that does not
    choose its tokens by heuristics.
    """
    plan, remove_by, add_by = recipe.vocabulary, options.remove_by, options.add_by
    if "vectors" in recipe.kind.needs or plan.kind == "transfer":
        raise InputError(
            f"The recipe {recipe.name} does not choose its tokens by --remove-by and --add-by.",
            "Leave --preset out.",
        )
    if not (options.preset or options.recipe):
        return remove_by, add_by, False
    if plan.kind in REMOVING:
        remove_by = remove_by or plan.cut
    if plan.kind in ("extend", "combined"):
        add_by = add_by or plan.refill
    return remove_by, add_by, plan.count_marks


def _change_settings(recipe: Recipe, options: Options) -> Recipe:
    """Return the recipe with the options that change single settings of its plan, its initializer,
    its alignment and its module; raise InputError for those that it does not use.
    """
    # 1. The settings that were given.
    plan = replace(recipe.vocabulary, **read_given(options, PlanSettings, PLAN))
    rows = replace(recipe.rows, **read_given(options, InitializerSettings, ("method",)))
    module = replace(recipe.module, **read_given(options, ModuleSettings, ("gate",)))
    recipe = replace(recipe, vocabulary=plan, rows=rows, module=module)

    # 2. Refuse settings that would have no effect.
    named = f"The recipe {recipe.name}"
    for given, is_used, problem, remedy in (
        (
            options.count_marks,
            plan.kind in REMOVING,
            f"{named} removes no tokens: --count-marks applies to --remove-by.",
            "Leave it out.",
        ),
        (
            options.max_added,
            plan.kind in ("append", "replace", "extend"),
            f"The size of the recipe {recipe.name} determines how many tokens are added.",
            "Leave --max-added out.",
        ),
        (
            options.min_count,
            plan.kind in ("append", "replace"),
            f"The recipe {recipe.name} adds no words of word vectors.",
            "Leave --min-count out.",
        ),
        (
            options.initializer,
            recipe.makes_embeddings,
            f"{named} adds no tokens.",
            "Leave --initializer out.",
        ),
        (
            options.method,
            recipe.needs_alignment,
            f"{named} initializes embeddings without an alignment.",
            "Leave --method out.",
        ),
        (
            options.gate,
            recipe.module.size,
            f"{named} has no module with a gate.",
            "Leave --gate out.",
        ),
    ):
        if given is not None and not is_used:
            raise InputError(problem, remedy)

    # 3. Settings of the initializer and of the alignment.
    used = [rows.method] if recipe.makes_embeddings else []
    recipe = replace(recipe, rows=read_initializer_settings(options, rows, used))
    alignment = read_given(options, AlignmentSettings)
    if alignment and not options.method:
        raise InputError(
            "--normalize and --center apply to an alignment.",
            "Name its method: --method least-squares.",
        )
    if not alignment:
        return recipe
    return replace(recipe, alignment=AlignmentSettings(**alignment))


def _change_pretraining(recipe: Recipe, options: Options) -> Recipe:
    """Return the recipe with the continued pretraining that the options request."""
    check_budget(options)
    # Settings without a stage are refused, because they would have no effect.
    given = read_given(options, MaskedSettings)
    stage = options.stage or recipe.further.stage
    if given and not stage:
        raise InputError(
            "This setting applies to continued pretraining, which was not requested.",
            "Give --stage.",
            next(iter(given)),
        )
    if not given and stage == recipe.further.stage:
        return recipe
    training = recipe.further.training.with_changes(**given)
    return replace(recipe, further=replace(recipe.further, stage=stage, training=training))


def _certify(options: Options) -> Answer:
    before, after = (
        open_model(name, options.offline or None) for name in (options.before, options.after)
    )
    # 1. The lines on which outputs are compared.
    lines: list[str] = []
    answer = dict[str, Any]()
    notes = []
    if options.text:
        text = iter(open_corpus([options.text]))
        lines = list(islice(text, options.lines))
        answer = {"lines": len(lines), "of": len(lines) + sum(1 for _ in text)}
        notes.append(
            f"Outputs were compared on the first {answer['lines']} of {answer['of']} lines of"
            f" {options.text}."
        )
    # 2. The certificate, and how often the tokenizer violates the exact-word rule.
    options.progress(None, "checking")
    certificate = certify(before, after, lines or None)
    departures = _count_departures(before, after, options.text)
    if NOT_COUNTED in departures:
        notes.append(
            f"Departures from the exact-word rule were not counted: {departures[NOT_COUNTED]}."
        )
    elif departures:
        notes.append(
            f"The exact-word rule: {departures['departures']:,} departures against"
            f" {departures['added_occurrences']:,} occurrences of added words in the text."
        )
    # 3. The verdict. A failed certificate is exit code 1.
    rows = [(RESULTS[check.passed], check.name, check.detail) for check in certificate.checks]
    notes.append(VERDICTS[certificate.passed])
    return Answer(
        {**certificate.to_dict(), **answer, **departures},
        "\n".join([format_table(("", "check", "detail"), rows), "", *notes]),
        int(not certificate.passed),
    )


def _count_departures(
    before: LanguageModel, after: LanguageModel, text: str | None
) -> dict[str, Any]:
    """Count how often exact-word tokens violate their rule on a text; {} without such tokens.

    If counting is impossible, the only key is NOT_COUNTED, with the reason.
    """
    added = after.vocabulary.tokens[len(before.vocabulary) :]
    if not added or not after.vocabulary.whole.issuperset(added):
        return {}
    if not text:
        return {NOT_COUNTED: "no text was given"}
    found = count_departures(
        open_corpus([text]), before.vocabulary, after.fast_tokenizer, before.splitter
    )
    return {"departures": found.missed + found.other, "added_occurrences": found.added_words}


SOURCES = """Papers: Poerner et al. 2020, Inexpensive Domain Adaptation of Pretrained Language Models; Tai et al. 2020, exBERT;
Fast 2023, Domain Adaptation of Transformer-based Language Models via Low Layer Information Integration."""


REGISTRIES: dict[str, Mapping[str, Any]] = {  # what the command presets lists
    "preset": RECIPES,
    "alignment": METHODS,
    "projection": PROJECTIONS,
    "initializer": INITIALIZERS,
    "reduction": REDUCTIONS,
    "augmentation": AUGMENTATIONS,
    "trainer": TRAINERS,
    "plan": KINDS,
    "tokenizer": TOKENIZER_MODES,
    "module": SIZES,
    "slice": SLICES,
}


def _list_presets(options: Options) -> Answer:
    if options.toml is not None:
        recipe = get_preset(options.toml)
        return Answer(recipe.to_dict(), format_toml(recipe).rstrip())
    tables = []
    for kind, registry in REGISTRIES.items():
        tables.append(
            format_table(
                (kind, "what it does"), [(name, entry.about) for name, entry in registry.items()]
            )
        )
    return Answer(
        {name: recipe.to_dict() for name, recipe in RECIPES.items()},
        "\n\n".join([*tables, SOURCES]),
    )


ADAPT = Command(
    _adapt,
    (
        option(
            "--preset",
            metavar="NAME",
            help="built-in recipe (default green-bert); the command presets lists them",
        ),
        option(
            "--recipe",
            metavar="FILE",
            help="recipe file in TOML; presets --toml NAME prints one to start from",
        ),
        *model_options(help=WITH_WEIGHTS),
        option(
            "--target",
            metavar="B",
            help="model, or vocab.txt, whose vocabulary is taken over (transfer, combined)",
        ),
        option("--vectors", metavar="DIR", help="word vectors of the domain …"),
        option(
            "--corpus", metavar="TEXT", nargs="+", help="… or text of the domain to train them on"
        ),
        setting_options(PlanSettings, "cut", "removed", "refill", shown_default=OF_RECIPE),
        setting_options(InitializerSettings, "method", shown_default=OF_RECIPE),
        setting_options(PlanSettings, "count_marks", action=BooleanOptionalAction),
        setting_options(PlanSettings, "max_added", "min_count", shown_default=OF_RECIPE),
        setting_options(ModuleSettings, "gate", shown_default=OF_RECIPE),
        setting_options(AlignmentSettings, "method", "unit", "center", shown_default=OF_RECIPE),
        add_initializer_settings,
        group(
            "continued pretraining",
            setting_options(ContinuedSettings, "stage", shown_default=OF_RECIPE),
            exclusive(setting_options(MaskedSettings, *BUDGET, shown_default=OF_RECIPE)),
            setting_options(MaskedSettings, "length", "batch", "lr", shown_default=OF_RECIPE),
            about="continue pretraining on --corpus afterwards, like the presets …+mlm",
        ),
        setting_options(ModelStep, "certify"),
        CASING,
        CORPUS_SETTINGS,
        CHECKPOINTS,
        *destination_options(),
    ),
)
CERTIFY = Command(
    _certify,
    (
        option("--before", metavar="M", required=True, help="original model: hub name or folder"),
        option("--after", metavar="DIR", required=True, help="adapted model folder"),
        option(
            "--text",
            metavar="FILE",
            help="lines to compare outputs on (default: four built-in sentences)",
        ),
        option(
            "--lines",
            between=(1, MAX_COUNT),
            default=200,
            help="number of lines of --text to use (default 200)",
        ),
        OFFLINE,
    ),
)
PRESETS = Command(
    _list_presets,
    (
        option(
            "--toml",
            metavar="NAME",
            help="print a recipe as TOML, to edit and pass to adapt --recipe",
        ),
    ),
)
