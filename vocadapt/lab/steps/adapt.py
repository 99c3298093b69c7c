"""The step that adapts a model: its sources, its report and its certificate."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.alignments import find_saved_scores, find_saved_stacked
from vocadapt.lab.inputs.corpora import (
    estimate_text_bytes,
    find_training_text,
    load_or_count_words,
    read_corpus,
)
from vocadapt.lab.inputs.opened import OpenedInputs
from vocadapt.lab.steps.alignment import AlignmentStep, judge_stacked
from vocadapt.lab.steps.forecasts import find_minutes_guards
from vocadapt.lab.steps.step import (
    GLOSSARY,
    MODEL,
    TARGET,
    TEXT,
    VECTORS,
    Numbers,
    PlannedStep,
    Step,
    StepContext,
    measure_model,
    summarize_space,
)
from vocadapt.lab.steps.vectors import measure_vector_training
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.lab.workspace.manifest import Input
from vocadapt.models.adapted_model import AdaptedModel, add_to_record
from vocadapt.models.card import NOT_COUNTED
from vocadapt.models.contextual.word_vectors import check_state_layer, count_layers
from vocadapt.models.language_model import open_model
from vocadapt.models.trimmed_size import measure_trimmed_size
from vocadapt.pipeline import Sources, adapt, weigh_stages
from vocadapt.presets import PRESETS, format_recipe_name, is_preset
from vocadapt.progress import Progress, parts
from vocadapt.recipe import Recipe, write_recipe
from vocadapt.settings import setting, show_only
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.alignment.evaluation import StackedScores
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.forecasts import Work
from vocadapt.system.json_values import json_name, list_known_fields
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.training.estimates import measure_pretraining
from vocadapt.training.masked.continued_adaptation import ContinuedAdaptation, check_adaptable
from vocadapt.training.masked.report import TrainingReport
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET
from vocadapt.vocabulary.growth.plan_cost import PlanCost, measure_plan_cost
from vocadapt.vocabulary.initializers.materials import JoinSettings
from vocadapt.vocabulary.initializers.stacked import StackedSettings
from vocadapt.vocabulary.plan.plan import PlanNumbers
from vocadapt.vocabulary.plan.reduction import list_text_free
from vocadapt.vocabulary.plan.tokenizer import count_departures
from vocadapt.vocabulary.plan.trim_lines import count_changed_lines

# Relative costs for the progress bar, in the unit of `weigh_stages`: measured on the demo's model.
READING = 10.0
COUNTING = 10.0
LINES = 10.0
DEPARTURES = 5.0
QUALITY = 45.0
CERTIFICATE = 35.0
# Seconds to adapt a model with given word vectors: measured with 14,067 new words for 15 MB of
# weights and 10,474 for 88 MB, with one thread.
ADAPTING, ADAPTING_PER_MEGABYTE = 11.0, 0.14  # the second of weights
LINES_NOT_COUNTED = "lines_not_counted"  # key of the reason
FOLDS = AlignmentStep().folds  # as the step `alignment`: one evaluation has one result
NAMES = {
    "vectors": "word vectors",
    "text": "a text",
    "target": "a target model",
    "glossary": "a glossary",
}
USABLE = {  # need of a recipe: the inputs that can meet it
    "vectors": {"vectors", "text"},
    "counts": {"text"},
    "text": {"text"},
    "target": {"target"},
    "glossary": {"glossary"},
}
CARD_FIGURES = {  # group of figures on the model card: which figures
    "quality": ("verdict", "p@5", "chance@5"),
    "departures": ("departures", "added_occurrences", "within_words", NOT_COUNTED),
    "lines": ("lines", "changed_lines", LINES_NOT_COUNTED),
}


@dataclass(frozen=True)
class AdaptStep:
    """The recipe of an adapted model, which lines are read, and whether the model is certified."""

    recipe: Recipe = field(default_factory=lambda: PRESETS[DEFAULT_PRESET], metadata=show_only())
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    certify: bool = setting(
        True, "skip the certificate of the result", flag="--no-certificate", label="Certificate"
    )


@dataclass(frozen=True, kw_only=True)
class ModelNumbers(PlanNumbers):
    """Figures of an adapted model: its plan, the alignment behind its embeddings on held-out words
    (p@5, verdict), departures from the exact-word rule, what a trim saves, the certificate; None
    for what was not measured.

    dropped_ids: removed tokens that a config file named, by file and key. module: size of the
    extension modules, `share` of the model's hidden size. trainer, epochs, workers: of the word
    vectors. stacked: how precisely own words are placed, held out. cost: what the plan costs the
    text, or saves. failed_checks: of the certificate.
    """

    preset: str
    verdict: str | None = None
    p5: float | None = field(default=None, metadata=json_name("p@5"))
    chance5: float | None = field(default=None, metadata=json_name("chance@5"))
    anchors: int | None = None
    folds: int | None = None
    filled_rows: int | None = None
    dropped_ids: Mapping[str, list[str]] | None = None
    module: Mapping[str, float] | None = None
    rows_made_otherwise: int | None = None
    workers: int | None = None
    trainer: str | None = None
    epochs: int | None = None
    stacked: StackedScores | None = None
    parameters_before: int | None = None
    parameters_after: int | None = None
    parameters_saved: int | None = None
    bytes_saved: int | None = None
    lines: int | None = None
    changed_lines: int | None = None
    changed_lines_fraction: float | None = None
    lines_not_counted: str | None = None
    added_occurrences: int | None = None
    departures: int | None = None
    within_words: int | None = None
    departures_not_counted: str | None = None
    cost: PlanCost | None = None
    pretraining: TrainingReport | None = None
    certificate: bool | None = None
    failed_checks: tuple[str, ...] | None = None


def adapt_model(context: StepContext, settings: AdaptStep) -> ModelNumbers:
    """Adapt a model by a recipe: model and sources → adapted model, recipe, certificate.

    If the recipe has continued pretraining, the trained model is the result.
    """
    context.progress(0.0, "reading the model")
    # 1. Find the sources.
    check_model_step(context.inputs, settings)
    recipe = settings.recipe
    sources = _find_sources(context)
    text = sources.corpus

    # 2. Divide the progress, and count the words of the text; they are often counted already.
    stages = parts(context.progress, _weigh_stages(settings, sources))
    words = None
    if "counts" in recipe.needs and text is not None:
        words = load_or_count_words(
            context.root, text, context.inputs.model.splitter, stages["counts"]
        )
        sources = replace(sources, counts=words.in_sample, held_out=words.held_out)

    # 3. Adapt and save.
    adapted = adapt(recipe, context.inputs.model, sources, stages["adapting"], context.checkpoint)
    adapted.save(context.draft, recipe.to_dict())
    write_recipe(recipe, context.draft / "recipe.toml")

    # 4. Measure the result, for the manifest and the model card.
    numbers = _measure_result(context, recipe, text, adapted, stages)
    if words is not None:
        numbers["cost"] = measure_plan_cost(adapted.plan, words)
    figures = list_known_fields(ModelNumbers(**numbers))
    card = {}
    for group, names in CARD_FIGURES.items():
        if found := {name: figures[name] for name in names if name in figures}:
            card[group] = found
    add_to_record(context.draft, data=_describe_source(context), **card)
    if settings.certify:
        numbers |= _certify(context, adapted, stages["certificate"])
    return ModelNumbers(**numbers)


def _find_sources(context: StepContext) -> Sources:
    """Return the inputs of the recipe; the text may be that of the given vectors."""
    given = context.spec.inputs
    text = vectors = glossary = None
    if "vectors" in given:
        vectors = context.inputs.space
    if "text" in given:
        text = context.inputs.text
    elif "vectors" in given:
        text = find_training_text(Path(given["vectors"][0]))
    if "glossary" in given:
        glossary = read_corpus(given["glossary"])
    return Sources(text, vectors, context.inputs.target, glossary=glossary)


def _weigh_stages(settings: AdaptStep, sources: Sources) -> dict[str, float]:
    """Return the relative costs of the adaptation and of its measurement, for the progress bar."""
    recipe = settings.recipe
    adapting = weigh_stages(recipe, sources.vectors is not None, sources.has_bare_target)
    is_judged = recipe.needs_alignment or recipe.initializer.method == "stacked"
    return {
        "reading": READING,
        "counts": COUNTING * ("counts" in recipe.needs),
        "adapting": sum(adapting.values()),
        "lines": LINES * recipe.kind.keeps_text,
        "departures": DEPARTURES * (sources.corpus is not None),
        "quality": QUALITY * is_judged,
        "certificate": CERTIFICATE * settings.certify,
    }


def check_model_step(inputs: OpenedInputs, settings: AdaptStep) -> None:
    """Raise InputError, before any long work, for missing or unused sources and wrong models."""
    recipe, needs = settings.recipe, settings.recipe.needs
    given = set(NAMES) & set(inputs.paths)

    # 1. Sources that are missing, or given twice: word vectors are trained on a text, or given.
    for need in sorted(needs):
        if not given & USABLE[need]:
            names = " or ".join(NAMES[role] for role in sorted(USABLE[need]))
            remedy = "Give one."
            if need == "counts" and recipe.vocabulary.kind == "reduce":
                text_free = ", ".join(list_text_free())
                remedy = f"Give one, or choose a heuristic that needs none: {text_free}."
            raise InputError(
                f"The recipe {recipe.name} needs {names}, and got none.",
                remedy,
                code="missing-source",
            )
    if "vectors" in needs and USABLE["vectors"] <= given and not needs & {"counts", "text"}:
        raise InputError(
            "Adapting needs word vectors or a text, and got both.",
            "Give one of them.",
            code="two-sources",
        )

    # 2. Sources that the recipe does not use.
    for role in sorted(given - _find_usable_roles(inputs, needs)):
        raise InputError(
            f"The recipe {recipe.name} does not use {NAMES[role]}.",
            f"Leave out {NAMES[role]}.",
            code="unused-source",
        )
    check_adaptable(inputs.model, recipe.module, recipe.pretraining)

    # 3. A layer that the initializer reads.
    own = recipe.initializer.own
    if isinstance(own, StackedSettings):
        check_state_layer(inputs.model, own.state_layer, "state_layer")
    if isinstance(own, JoinSettings):
        check_state_layer(inputs.model, own.layer, "layer")


def _find_usable_roles(inputs: OpenedInputs, needs: frozenset[str]) -> set[str]:
    """Return the inputs that a recipe with these needs may use."""
    usable = set[str]().union(*(USABLE[need] for need in needs))
    if "target" in needs and os.path.isfile(inputs.paths["target"][0]):
        usable.add("text")  # a bare vocabulary: vectors of its tokens are trained on a text
    return usable


def _measure_result(
    context: StepContext,
    recipe: Recipe,
    text: Corpus | None,
    adapted: AdaptedModel,
    stages: Mapping[str, Progress],
) -> Numbers:
    """Return the figures of an adapted model for its manifest."""
    numbers: Numbers = {"preset": format_recipe_name(recipe), **vars(adapted.plan.summary())}
    if adapted.matrix_rows.free > 0:  # a padded matrix: new tokens take rows without a token first
        numbers["filled_rows"] = adapted.matrix_rows.filled
    if adapted.dropped_ids:
        numbers["dropped_ids"] = adapted.dropped_ids
    if adapted.module is not None:
        numbers["module"] = adapted.module.to_dict(count_layers(context.inputs.model))
    if adapted.embeddings.fallbacks:
        numbers["rows_made_otherwise"] = adapted.embeddings.fallbacks
    if adapted.trained is not None:
        numbers["workers"] = recipe.vectors.threads
        numbers["trainer"] = adapted.trained.settings.trainer
        numbers["epochs"] = adapted.trained.settings.epochs
    if adapted.plan.trim is not None:
        numbers |= _measure_trim(text, adapted, stages["lines"])
    if adapted.mode == "exact-word":
        numbers |= _count_departures(context, text, adapted, stages["departures"])
    numbers |= _measure_quality(context, recipe, adapted, stages["quality"])
    if isinstance(adapted, ContinuedAdaptation) and adapted.training is not None:
        # The losses of each training step are too long for a manifest.
        numbers["pretraining"] = replace(adapted.training.report, curve=None, next_curve=None)
    return numbers


def _measure_trim(text: Corpus | None, adapted: AdaptedModel, progress: Progress) -> Numbers:
    """Measure the size of a trimmed model, and count the lines of the text that it changes."""
    size: Numbers = dict(measure_trimmed_size(adapted))
    if text is None or text.counted_by is not None:
        return size | {LINES_NOT_COUNTED: "there are only word counts, no text"}
    before = adapted.base.fast_tokenizer
    lines = count_changed_lines(text, adapted.plan, before, adapted.tokenizer, progress)
    return size | lines.to_dict()


def _describe_source(context: StepContext) -> Numbers:
    """Return what the new tokens came from, for the model card."""
    given = context.spec.inputs
    role = next((one for one in ("vectors", "target", "text") if one in given), None)
    if role is None:
        return {}
    source: Numbers = {"role": NAMES[role].removeprefix("a "), "name": Input(given[role], "").name}
    if role == "vectors":
        source |= list_known_fields(summarize_space(context.inputs.space))
    return source


def _measure_quality(
    context: StepContext, recipe: Recipe, adapted: AdaptedModel, progress: Progress
) -> Numbers:
    """Return how precisely the method of the new embeddings places held-out words; {} if it is not
    computed from word vectors by a fitted map.
    """
    if adapted.domain is None:
        return {}
    if recipe.needs_alignment:
        return _evaluate_alignment(context, adapted.domain, recipe.alignment, progress)
    if not recipe.makes_embeddings or recipe.initializer.method != "stacked":
        return {}
    # The alignment of these vectors may have been evaluated with the same settings and new words.
    settings = recipe.initializer.own
    tokens = [word.token for word in adapted.plan.added]
    if "vectors" in context.spec.inputs and settings == StackedSettings():
        saved = find_saved_stacked(Path(context.spec.inputs["vectors"][0]), context.inputs.model)
        if saved is not None and saved.reweighted.new_words == len(tokens):
            return {"stacked": saved}
    found = judge_stacked(adapted.domain, context.inputs.model, progress, settings, tokens)
    return {} if found is None else {"stacked": found}


def _evaluate_alignment(
    context: StepContext, domain: EmbeddingSpace, settings: AlignmentSettings, progress: Progress
) -> Numbers:
    """Return the held-out quality of the alignment: its saved evaluation, which the page Alignment
    shows, or a new one with as many folds; only a verdict if there are too few anchors.
    """
    model, saved = context.inputs.model, None
    if "vectors" in context.spec.inputs:
        saved = find_saved_scores(Path(context.spec.inputs["vectors"][0]), model, settings)
    if saved is not None:
        held_out, anchors = saved.held_out, saved.anchors
    else:
        try:
            found = cross_validate(domain, model.word_space, settings, FOLDS, progress=progress)
        except InputError:
            return {"verdict": "not judged: too few anchors"}
        held_out = found.scores
        anchors = len(found.anchors)
    return {
        "verdict": held_out.verdict,
        "p5": held_out.p5,
        "chance5": held_out.chance5,
        "anchors": anchors,
        "folds": held_out.folds,
    }


def _count_departures(
    context: StepContext, text: Corpus | None, adapted: AdaptedModel, progress: Progress
) -> Numbers:
    """Count how often the tokenizer violates the exact-word rule on the text, if possible."""
    if text is None:
        return {
            NOT_COUNTED: "the training text of the word vectors is not known, or has changed since"
        }
    try:
        found = count_departures(
            text,
            context.inputs.model.vocabulary,
            adapted.tokenizer,
            context.inputs.model.splitter,
            progress,
        )
    except (InputError, OSError):
        return {NOT_COUNTED: "the training text of the word vectors can no longer be read"}
    return dict(found.to_dict())


def _certify(context: StepContext, adapted: AdaptedModel, progress: Progress) -> Numbers:
    """Certify the result and add the certificate to its record.

    The certificate covers what must not change: everything but the new embeddings. If the continued
    pretraining changed more, the model before it is certified.
    """
    from vocadapt.models.certificate.certificate import certify

    progress(0.0, "certificate: reading both models")
    result = open_model(context.draft)
    when = {}
    if isinstance(adapted, ContinuedAdaptation) and not adapted.keeps_old_weights:
        result = adapted.untrained
        when = {"certified": "before the training"}
    certificate = certify(context.inputs.model, result, progress=progress)
    add_to_record(context.draft, certificate=certificate.to_dict(), **when)
    failed = tuple(check.name for check in certificate.checks if not check.passed)
    return {"certificate": certificate.passed, "failed_checks": failed or None}


def name_recipe(settings: AdaptStep, folder: Path) -> list[str]:
    """Return the arguments that name the recipe: a preset, or the recipe file next to the model."""
    if is_preset(settings.recipe):
        return ["--preset", settings.recipe.name]
    return ["--recipe", str(folder / "recipe.toml")]


def measure_adaptation(planned: PlannedStep) -> Work:
    """Return the work of an adaptation: of the size of the model, and of what is trained on the
    text.
    """
    recipe, inputs = planned.spec.settings.recipe, planned.inputs
    size = measure_weights(inputs.paths["model"][0])
    seconds = ADAPTING + ADAPTING_PER_MEGABYTE * size / 1e6
    about = ""
    if "text" in inputs.paths and "vectors" in recipe.needs and "vectors" not in inputs.paths:
        seconds += measure_vector_training(planned, recipe.vectors).seconds
    if "text" in inputs.paths and recipe.pretraining.stage:
        training = measure_pretraining(
            estimate_text_bytes(inputs.text),
            recipe.pretraining.training,
            inputs.model.config,
            recipe.pretraining.stage,
            planned.threads,
        )
        seconds += training.seconds
        about = f"continued pretraining of {training.units:,.0f} wordpieces: {training.about}"
    return Work(1, "model", seconds, about)


STEP = Step(
    "adapt",
    "Adapt a model",
    AdaptStep,
    adapt_model,
    makes="models",
    needs=(MODEL,),
    takes=(VECTORS, TEXT, TARGET, GLOSSARY),
    writes=measure_model,
    libraries=("numpy", "scipy", "tokenizers", "gensim", "safetensors", "torch", "transformers"),
    command=("adapt",),
    own_arguments=name_recipe,
    resumes=True,
    seed="recipe.vectors.seed",
    guards=find_minutes_guards,
    work=measure_adaptation,
)
