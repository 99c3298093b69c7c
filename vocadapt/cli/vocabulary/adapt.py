"""adapt, certify, presets."""

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    exclusive,
    group,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CASING,
    CHECKPOINTS,
    CORPUS_SETTINGS,
    OFFLINE,
    WITH_WEIGHTS,
    ArtifactAnswer,
    build_answer,
    destination_options,
    model_options,
    write_artifact,
)
from vocadapt.cli.tables import format_table
from vocadapt.cli.vocabulary.initializers import GLOSSARY
from vocadapt.lab.steps.adapt import AdaptStep, ModelNumbers
from vocadapt.lab.steps.step import Spec
from vocadapt.models.abilities import has_masked_head
from vocadapt.models.card import NOT_COUNTED
from vocadapt.models.certificate.certificate import CHECK_COLUMNS, Check, certify
from vocadapt.models.extension_size import SIZES, ModuleSettings
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.loaders.loader import LOADS_COLUMNS, LoadResult
from vocadapt.models.loaders.registry import LoaderSettings
from vocadapt.presets import PRESETS as RECIPES
from vocadapt.presets import get_preset
from vocadapt.recipe import Recipe, format_toml
from vocadapt.recipe_changes import BUDGET, PRETRAINING, choose_recipe
from vocadapt.report.table import Finding, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import MAX_COUNT
from vocadapt.spaces.alignment import evaluation
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.spaces.projection.methods import METHODS as PROJECTIONS
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET
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
VERDICTS = {True: "The certificate passes.", False: "The certificate FAILS."}


def _adapt(options: Options) -> Answer[ArtifactAnswer[ModelNumbers]]:
    recipe = choose_recipe(options)
    inputs = {
        "model": options.model,
        "vectors": options.vectors,
        "text": options.corpus,
        "target": options.target,
        "glossary": options.glossary,
    }
    settings = read_settings(options, AdaptStep, AdaptStep(recipe))
    artifact = write_artifact(Spec(settings, inputs, options.offline, options.casing), options)
    answer = build_answer(artifact)
    notes = [answer.text]
    numbers: ModelNumbers = answer.json["numbers"]
    if numbers.stacked is not None:
        notes.append(str(numbers.stacked.finding))
    if numbers.verdict == evaluation.CHANCE:
        notes.append(CHANCE)
    if recipe.module.size and not has_masked_head(open_model(artifact.folder)):
        notes.append(UNTRAINABLE)
    return replace(answer, text="\n\n".join(notes))


@dataclass(frozen=True, kw_only=True)
class CertifyAnswer:
    """The certificate: every check, the programs that load the model, and how often added words are
    not one token (departures) in the text.

    lines: the outputs were compared on the first of `of` lines.
    """

    passed: bool
    checks: tuple[Check, ...]
    loads: tuple[LoadResult, ...]
    lines: int | None = None
    of: int | None = None
    added_occurrences: int | None = None
    departures: int | None = None
    within_words: int | None = None
    departures_not_counted: str | None = None
    findings: tuple[Finding, ...] = ()


def _certify(options: Options) -> Answer[CertifyAnswer]:
    before, after = (
        open_model(name, options.offline or None) for name in (options.before, options.after)
    )
    # 1. The lines on which outputs are compared.
    lines: list[str] = []
    findings: list[Finding] = []
    of = None
    if options.text:
        text = iter(open_corpus([options.text]))
        lines = list(islice(text, options.lines))
        of = len(lines) + sum(1 for _ in text)
        sentence = (
            f"Outputs were compared on the first {len(lines)} of {of} lines of {options.text}."
        )
        findings.append(Finding("compared_lines", sentence))

    # 2. The certificate, and how often the tokenizer violates the exact-word rule.
    options.progress(None, "checking")
    loaders = read_settings(options, LoaderSettings)
    certificate = certify(before, after, lines or None, loaders=loaders)
    departures = _count_departures(before, after, options.text)
    if departures:
        findings.append(_describe_departures(departures))

    # 3. The verdict. A failed certificate is exit code 1.
    passed = certificate.passed
    findings.append(Finding("verdict", VERDICTS[passed]))
    answer = CertifyAnswer(
        passed=passed,
        checks=certificate.checks,
        loads=certificate.loads,
        lines=None if of is None else len(lines),
        of=of,
        **departures,
        findings=tuple(findings),
    )
    tables = [Table("", CHECK_COLUMNS, answer.checks), Table("", LOADS_COLUMNS, answer.loads)]
    parts = [*map(write_terminal, tables), "\n".join(map(str, findings))]
    return Answer(answer, "\n\n".join(parts), int(not passed))


def _count_departures(
    before: LanguageModel, after: LanguageModel, text: str | None
) -> dict[str, Any]:
    """Count how often exact-word tokens violate their rule on a text; {} without such tokens.

    If counting is impossible, the only key is NOT_COUNTED, with the reason.
    """
    added = after.vocabulary.tokens[len(before.vocabulary) :]
    if not added or not after.vocabulary.are_exact_words(added):
        return {}
    if not text:
        return {NOT_COUNTED: "no text was given"}
    found = count_departures(
        open_corpus([text]), before.vocabulary, after.fast_tokenizer, before.splitter
    )
    return dict(found.to_dict())


def _describe_departures(departures: Mapping[str, Any]) -> Finding:
    if NOT_COUNTED in departures:
        reason = departures[NOT_COUNTED]
        sentence = f"Departures from the exact-word rule were not counted: {reason}."
        return Finding("departures_not_counted", sentence)
    sentence = (
        f"The exact-word rule: {departures['departures']:,} departures against"
        f" {departures['added_occurrences']:,} occurrences of added words in the text."
    )
    if "within_words" in departures:
        sentence += (
            f" In {departures['within_words']:,} of them, an added word is read as a part of a"
            " longer one."
        )
    return Finding("departures", sentence)


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


def _list_presets(options: Options) -> Answer[dict[str, Any]]:
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
            help=(
                f"built-in recipe (default {DEFAULT_PRESET}, with --method green-bert); the command"
                " presets lists them"
            ),
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
        GLOSSARY,
        setting_options(PlanSettings, "remove_by", "removed", "add_by", shown_default=OF_RECIPE),
        setting_options(Recipe, "tokenizer", shown_default=OF_RECIPE),
        setting_options(InitializerSettings, "method", shown_default=OF_RECIPE),
        setting_options(PlanSettings, "count_marks", action=BooleanOptionalAction),
        setting_options(PlanSettings, "max_added", "min_count", shown_default=OF_RECIPE),
        setting_options(ModuleSettings, "gate", shown_default=OF_RECIPE),
        setting_options(AlignmentSettings, "method", "unit", "center", shown_default=OF_RECIPE),
        group(
            "continued pretraining",
            setting_options(ContinuedSettings, "stage", "trained", shown_default=OF_RECIPE),
            exclusive(setting_options(MaskedSettings, *BUDGET, shown_default=OF_RECIPE)),
            setting_options(MaskedSettings, *PRETRAINING[len(BUDGET) :], shown_default=OF_RECIPE),
            about="continue pretraining on --corpus afterwards, like the presets …+mlm",
        ),
        setting_options(AdaptStep, "certify"),
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
        setting_options(LoaderSettings),
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
