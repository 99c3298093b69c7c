"""adapt, certify, presets."""

from argparse import BooleanOptionalAction, Namespace
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    add_casing,
    add_checkpoints,
    add_model,
    add_offline,
    add_out,
    add_text,
    build_answer,
    write,
)
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.setting_options import add_setting, add_settings, read_given, read_settings
from vocadapt.cli.tables import format_table
from vocadapt.cli.training.pretrain import BUDGET, check_budget
from vocadapt.cli.vocabulary.initializer_options import (
    add_initializer_settings,
    read_initializer_settings,
)
from vocadapt.errors import InputError
from vocadapt.lab.reports.pretraining import has_mlm_head
from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.models.card import NOT_COUNTED
from vocadapt.models.certificate.certificate import certify
from vocadapt.models.extension_size import SIZES, ModuleSettings
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.presets import PRESETS as RECIPES
from vocadapt.presets import get_preset
from vocadapt.progress import Progress
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
    "Without a masked-word head the extension cannot be pretrained, and what it adds is random"
    " until it is. Begin with a model that has one (BertForMaskedLM)."
)
REMOVED_ALONE = (
    "--removed is the fraction that --remove-by removes.",
    "Name a heuristic: --remove-by last.",
)


def _add_adapt_options(parser: Parser) -> None:
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="built-in recipe (default green-bert); the command presets lists them",
    )
    parser.add_argument(
        "--recipe",
        metavar="FILE",
        help="recipe file in TOML; presets --toml NAME prints one to start from",
    )
    add_model(parser, help="hub name or model folder")
    parser.add_argument(
        "--target",
        metavar="B",
        help="model, or vocab.txt, whose vocabulary is taken over (transfer, combined)",
    )
    parser.add_argument("--vectors", metavar="DIR", help="word vectors of the domain …")
    parser.add_argument(
        "--corpus", metavar="TEXT", nargs="+", help="… or text of the domain to train them on"
    )
    recipe = "the recipe's"
    add_settings(parser, PlanSettings, "cut", "removed", "refill", default=recipe)
    add_settings(parser, InitializerSettings, "method", default=recipe)
    add_setting(parser, PlanSettings, "count_marks", action=BooleanOptionalAction)
    add_settings(parser, PlanSettings, "max_added", default=recipe)
    add_settings(parser, ModuleSettings, "gate", default=recipe)
    add_settings(parser, AlignmentSettings, "method", "unit", "center", default=recipe)
    add_initializer_settings(parser)
    _add_pretraining_options(parser)
    add_settings(parser, ModelStep, "certify")
    add_casing(parser)
    add_text(parser)
    add_checkpoints(parser)
    add_out(parser)


def _add_pretraining_options(parser: Parser) -> None:
    about = "continue pretraining on --corpus afterwards, like the presets …+mlm"
    group = parser.add_argument_group("continued pretraining", about)
    add_settings(group, ContinuedSettings, "stage", default="the recipe's")
    budget = group.add_mutually_exclusive_group()
    add_settings(budget, MaskedSettings, *BUDGET, default="the recipe's")
    add_settings(group, MaskedSettings, "length", "batch", "lr", default="the recipe's")


def _adapt(options: Namespace, progress: Progress) -> Answer:
    recipe = _choose_recipe(options)
    given = {
        "model": options.model,
        "vectors": options.vectors,
        "text": options.corpus,
        "target": options.target,
    }
    settings = read_settings(options, ModelStep, ModelStep(recipe))
    inputs = {role: value for role, value in given.items() if value}
    spec = Spec("model", settings, inputs, options.offline, options.casing)
    artifact = write(spec, options, progress)
    numbers = artifact.manifest.numbers
    answer = build_answer(artifact, exit=int(numbers.get("certificate") is False))
    notes = [CHANCE] if numbers.get("verdict") == "chance" else []
    if recipe.module.size and not has_mlm_head(open_model(artifact.folder)):
        notes.append(UNTRAINABLE)
    return replace(answer, text="\n\n".join([answer.text, *notes]))


def _choose_recipe(options: Namespace) -> Recipe:
    """Load the recipe that the options name, and change it as they request."""
    if options.preset and options.recipe:
        raise InputError("Give either --preset or --recipe, not both.")
    if options.recipe:
        recipe = read_recipe(Path(options.recipe))
    elif options.preset:
        recipe = get_preset(options.preset)
    elif options.remove_by or options.add_by:
        recipe = get_preset("combined-last-25")
    else:
        recipe = get_preset("green-bert")
    if options.remove_by or options.add_by:
        recipe = _change_heuristics(recipe, options)
    elif options.removed is not None:
        raise InputError(*REMOVED_ALONE)
    recipe = _change_plan(recipe, options)
    recipe = _change_embeddings(recipe, options)
    return _change_pretraining(recipe, options)


def _change_heuristics(recipe: Recipe, options: Namespace) -> Recipe:
    """Return the recipe with the heuristics --remove-by and --add-by.

    Both together keep the size of the vocabulary, either alone changes it.
    """
    if "vectors" in recipe.kind.needs or recipe.vocabulary.kind == "transfer":
        raise InputError(
            f"The recipe {recipe.name} does not choose its tokens by --remove-by and --add-by.",
            "Leave --preset out.",
        )
    # 1. The heuristics of a named recipe complete those of the options.
    named = bool(options.preset or options.recipe)
    remove_by, add_by = options.remove_by, options.add_by
    if named and recipe.vocabulary.kind in ("reduce", "combined"):
        remove_by = remove_by or recipe.vocabulary.cut
    if named and recipe.vocabulary.kind in ("extend", "combined"):
        add_by = add_by or recipe.vocabulary.refill

    # 2. They determine the kind of plan and the fraction of tokens to remove.
    if not remove_by:
        if options.removed is not None:
            raise InputError(*REMOVED_ALONE)
        kind, removed, mode = "extend", 0.0, "insertion"
    else:
        kind, mode = ("combined" if add_by else "reduce"), "replacement"
        removed = recipe.vocabulary.removed if options.removed is None else options.removed

    # 3. Build the recipe; a reduction has no initializer of its own.
    plan = replace(
        recipe.vocabulary,
        kind=kind,
        cut=remove_by or "last",
        refill=add_by or "target",
        removed=removed,
        count_marks=recipe.vocabulary.count_marks and named,
    )
    percentage = f"{100 * removed:g}" if removed else ""
    return replace(
        recipe,
        name="-".join(filter(None, (remove_by, percentage, add_by))),
        about=KINDS[kind].about,
        vocabulary=plan,
        rows=recipe.rows if recipe.makes_embeddings else InitializerSettings("syntactic"),
        tokenizer=mode,
    )


def _change_plan(recipe: Recipe, options: Namespace) -> Recipe:
    """Return the recipe with --count-marks and --max-added."""
    plan = recipe.vocabulary
    if options.count_marks is not None:
        if plan.kind not in ("reduce", "combined"):
            raise InputError(
                f"The recipe {recipe.name} removes no tokens: --count-marks applies to --remove-by.",
                "Leave it out.",
            )
        plan = replace(plan, count_marks=options.count_marks)
    if options.max_added is not None:
        if plan.kind not in ("append", "replace", "extend"):
            raise InputError(
                f"The size of the recipe {recipe.name} determines how many tokens are added.",
                "Leave --max-added out.",
            )
        plan = replace(plan, max_added=options.max_added)
    return replace(recipe, vocabulary=plan)


def _change_embeddings(recipe: Recipe, options: Namespace) -> Recipe:
    """Return the recipe with --initializer, --method, --normalize, --center and --gate."""
    if options.initializer:
        if not recipe.makes_embeddings:
            raise InputError(
                f"The recipe {recipe.name} adds no tokens.", "Leave --initializer out."
            )
        recipe = replace(recipe, rows=replace(recipe.rows, method=options.initializer))
    used = [recipe.rows.method] if recipe.makes_embeddings else []
    recipe = replace(recipe, rows=read_initializer_settings(options, recipe.rows, used))
    alignment = read_given(options, AlignmentSettings)
    if alignment and not options.method:
        raise InputError(
            "--normalize and --center apply to an alignment.",
            "Name its method: --method least-squares.",
        )
    if options.method:
        if not recipe.needs_alignment:
            raise InputError(
                f"The recipe {recipe.name} initializes embeddings without an alignment.",
                "Leave --method out.",
            )
        recipe = replace(recipe, alignment=AlignmentSettings(**alignment))
    if options.gate is not None:
        if not recipe.module.size:
            raise InputError(
                f"The recipe {recipe.name} has no module with a gate.", "Leave --gate out."
            )
        recipe = replace(recipe, module=replace(recipe.module, gate=options.gate))
    return recipe


def _change_pretraining(recipe: Recipe, options: Namespace) -> Recipe:
    """Return the recipe with the continued pretraining that the options request."""
    check_budget(options)
    given = read_given(options, MaskedSettings)
    stage = options.stage or recipe.further.stage
    if given and not stage:
        raise InputError(
            "The setting applies to continued pretraining, which was not requested.",
            "Give --stage.",
            next(iter(given)),
        )
    if not given and stage == recipe.further.stage:
        return recipe
    training = recipe.further.training.with_changes(**given)
    return replace(recipe, further=replace(recipe.further, stage=stage, training=training))


def _add_certify_options(parser: Parser) -> None:
    parser.add_argument(
        "--before", metavar="M", required=True, help="original model: hub name or folder"
    )
    parser.add_argument("--after", metavar="DIR", required=True, help="adapted model folder")
    parser.add_argument(
        "--text",
        metavar="FILE",
        help="lines to compare outputs on (default: four built-in sentences)",
    )
    parser.add_argument(
        "--lines",
        type=whole(1, MAX_COUNT),
        default=200,
        help="number of lines of --text to use (default 200)",
    )
    add_offline(parser)


def _certify(options: Namespace, progress: Progress) -> Answer:
    before, after = (
        open_model(name, options.offline or None) for name in (options.before, options.after)
    )
    text = iter(open_corpus([options.text])) if options.text else iter(())
    lines = list(islice(text, options.lines))
    of = len(lines) + sum(1 for _ in text)
    progress(None, "checking")
    certificate = certify(before, after, lines or None)
    departed = _count_departures(before, after, options.text)
    rows = [
        ("passed" if check.passed else "FAILED", check.name, check.detail)
        for check in certificate.checks
    ]
    verdict = "The certificate passes." if certificate.passed else "The certificate FAILS."
    used = (
        f"Outputs were compared on the first {len(lines)} of {of} lines of {options.text}.\n"
        if options.text
        else ""
    )
    answer = {
        **certificate.to_dict(),
        **({"lines": len(lines), "of": of} if options.text else {}),
        **departed,
    }
    departures = f"{_describe_departures(departed)}\n" if departed else ""
    return Answer(
        answer,
        f"{format_table(('', 'check', 'detail'), rows)}\n\n{used}{departures}{verdict}",
        0 if certificate.passed else 1,
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


def _describe_departures(departed: Mapping[str, Any]) -> str:
    """Describe the result of `_count_departures` in a sentence."""
    if NOT_COUNTED in departed:
        return f"Departures from the exact-word rule were not counted: {departed[NOT_COUNTED]}."
    return (
        f"The exact-word rule: {departed['departures']:,} departures against"
        f" {departed['added_occurrences']:,} occurrences of added words in the text."
    )


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


def _add_presets_options(parser: Parser) -> None:
    parser.add_argument(
        "--toml",
        metavar="NAME",
        help="print a recipe as TOML, to edit and pass to adapt --recipe",
    )


def _list_presets(options: Namespace, progress: Progress) -> Answer:
    if options.toml is not None:
        recipe = get_preset(options.toml)
        return Answer(recipe.to_dict(), format_toml(recipe).rstrip())
    tables = []
    for kind, registry in REGISTRIES.items():
        lines = [(name, entry.about) for name, entry in registry.items()]
        tables.append(format_table((kind, "what it does"), lines))
    return Answer(
        {name: recipe.to_dict() for name, recipe in RECIPES.items()},
        "\n\n".join([*tables, SOURCES]),
    )


ADAPT = Command(_add_adapt_options, _adapt)
CERTIFY = Command(_add_certify_options, _certify)
PRESETS = Command(_add_presets_options, _list_presets)
