"""The step that adapts a model: its sources, its report and its certificate."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.artifacts.corpora import find_training_text, load_or_count_words, read_corpus
from vocadapt.lab.steps.context import StepContext, summarize_space
from vocadapt.lab.steps.spec import measure_model
from vocadapt.lab.steps.step import MODEL, TARGET, TEXT, VECTORS, Numbers, Step
from vocadapt.lab.workspace.manifest import Input
from vocadapt.models.adapted_model import AdaptedModel, add_to_record
from vocadapt.models.card import NOT_COUNTED
from vocadapt.models.contextual.word_vectors import count_layers
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import PRESETS, format_recipe_name, is_preset
from vocadapt.progress import Progress, parts
from vocadapt.recipe import Recipe, write_recipe
from vocadapt.settings import setting, show_only
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.stage_weights import weigh_stages
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.training.masked.continued_adaptation import ContinuedAdaptation, check_adaptable
from vocadapt.vocabulary.plan.tokenizer import count_departures

FOLDS = 3  # a quick look; `align` judges by ten, of which each map has seen more
LOSSES = (
    "curve",
    "next_curve",
)  # of the training, step by step: in no manifest of an adapted model
NAMES = {"vectors": "word vectors", "text": "text", "target": "target model"}


@dataclass(frozen=True)
class ModelStep:
    """The recipe of an adapted model, which lines are read, and whether the model is certified."""

    recipe: Recipe = field(default_factory=lambda: PRESETS["green-bert"], metadata=show_only())
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    certify: bool = setting(
        True, "skip the certificate of the result", flag="--no-certificate", label="Certificate"
    )


def adapt_model(context: StepContext, settings: ModelStep) -> Numbers:
    """Adapt a model by a recipe: model and sources → adapted model, recipe, certificate.

    If the recipe has continued pretraining, the trained model is the result.
    """
    recipe = settings.recipe
    check_model_step(context, settings)

    # 1. Find the sources; the words of a text are often counted already.
    text = _find_text(context, settings)
    vectors = context.space if "vectors" in context.spec.inputs else None
    sources = Sources(text, vectors, context.target)
    stages = parts(context.progress, _weigh_stages(recipe, sources))
    if "counts" in recipe.needs and text is not None:
        words = load_or_count_words(context.root, text, context.model.splitter, stages["counts"])
        sources = replace(sources, counts=words.counts)

    # 2. Adapt and save.
    adapted = adapt(recipe, context.model, sources, stages["adapting"], context.checkpoint)
    adapted.save(context.draft, recipe.to_dict())
    write_recipe(recipe, context.draft / "recipe.toml")

    # 3. Measure the result, for the manifest and the model card.
    numbers: Numbers = {"preset": format_recipe_name(recipe), **adapted.plan.summary()}
    if adapted.module is not None:
        numbers["module"] = adapted.module.to_dict(count_layers(context.model))
    if adapted.rows.fallbacks:
        numbers["rows_made_otherwise"] = adapted.rows.fallbacks
    if adapted.domain is not None and vectors is None:
        numbers["workers"] = recipe.vectors.threads
    if adapted.mode == "exact-word":
        numbers |= _count_departures(context, text, adapted, stages["departures"])
    if recipe.needs_alignment and adapted.domain is not None:
        numbers |= _evaluate_alignment(context, adapted.domain, recipe.alignment, stages["quality"])
    add_to_record(context.draft, data=_describe_source(context), **_select_card_figures(numbers))
    if isinstance(adapted, ContinuedAdaptation) and adapted.training is not None:
        figures = adapted.training.to_dict()
        numbers["further"] = {key: figures[key] for key in figures if key not in LOSSES}
    if settings.certify:
        numbers |= _certify(context, adapted, stages["certificate"])
    return numbers


def _weigh_stages(recipe: Recipe, sources: Sources) -> dict[str, float]:
    """Return the relative cost of each stage, for the progress bar."""
    adapting = weigh_stages(recipe, sources.vectors is not None, sources.has_bare_target)
    return {
        "counts": 10.0 if "counts" in recipe.needs else 0.0,
        "adapting": sum(adapting.values()),
        "departures": 5.0,
        "quality": 2.0,
        "certificate": 8.0,
    }


def check_model_step(context: StepContext, settings: ModelStep) -> None:
    """Raise InputError, before any long work, for missing or unused sources and unsuitable models."""
    recipe = settings.recipe
    _check_sources(context, recipe)
    check_adaptable(context.model, recipe.module, recipe.further)


def _check_sources(context: StepContext, recipe: Recipe) -> None:
    """Raise InputError if the recipe lacks a source, or does not use one that is given."""
    given, needs = {role for role in NAMES if role in context.spec.inputs}, recipe.needs
    if "vectors" in needs and not given & {"vectors", "text"}:
        raise InputError(
            f"Recipe {recipe.name} needs word vectors or a text, and got neither.",
            "Give one of them.",
        )
    if "vectors" in needs and {"vectors", "text"} <= given and not needs & {"counts", "text"}:
        raise InputError(
            "Adapting needs word vectors or a text, and got both.",
            "Give one of them.",
        )
    for need, role in (("target", "target"), ("counts", "text"), ("text", "text")):
        if need in needs and role not in given:
            raise InputError(f"The recipe {recipe.name} needs a {NAMES[role]}.", "Give one.")
    unused = given - _usable_roles(context, needs)
    if unused:
        role = sorted(unused)[0]
        raise InputError(
            f"The recipe {recipe.name} does not use {NAMES[role]}.", f"Leave out the {NAMES[role]}."
        )


def _usable_roles(context: StepContext, needs: frozenset[str]) -> set[str]:
    """Return the inputs that a recipe with these needs may use."""
    roles = {
        "vectors": {"vectors", "text"},
        "counts": {"text"},
        "text": {"text"},
        "target": {"target"},
    }
    usable = set[str]().union(*(roles[need] for need in needs))
    bare = "target" in needs and Path(context.spec.inputs["target"][0]).is_file()
    return (
        usable | {"text"} if bare else usable
    )  # vectors of a bare vocabulary's tokens are trained on a text


def _describe_source(context: StepContext) -> Numbers:
    """Return what the new tokens came from, for the model card."""
    role = next(
        (role for role in ("vectors", "target", "text") if role in context.spec.inputs), None
    )
    if role is None:
        return {}
    source = {
        "role": NAMES[role],
        "name": Input(context.spec.inputs[role], "").name,
    }
    return source | (summarize_space(context.space) if role == "vectors" else {})


def _select_card_figures(numbers: Numbers) -> dict[str, Numbers]:
    """Select the figures for the model card: quality of the alignment, departures of the tokenizer."""
    groups = {
        "quality": ("verdict", "p@5", "chance@5"),
        "departures": ("departures", "added_occurrences", NOT_COUNTED),
    }
    found = {
        name: {key: numbers[key] for key in keys if key in numbers} for name, keys in groups.items()
    }
    return {name: facts for name, facts in found.items() if facts}


def _evaluate_alignment(
    context: StepContext, domain: EmbeddingSpace, settings: AlignmentSettings, progress: Progress
) -> Numbers:
    """Cross-validate the alignment with FOLDS folds; only a verdict if there are too few anchors."""
    try:
        judged = cross_validate(domain, context.model.word_space, settings, FOLDS, 1, progress)
    except InputError:
        return {"verdict": "not judged: too few anchors"}
    return {
        "verdict": judged.verdict,
        "p@5": judged.precision(5),
        "chance@5": judged.chance(5),
        "folds": FOLDS,
    }


def _find_text(context: StepContext, settings: ModelStep) -> Corpus | None:
    """Return the domain text: the given one, or the unchanged training text of the vectors."""
    if "text" in context.spec.inputs:
        return read_corpus(context.spec.inputs["text"], settings.corpus)
    return (
        find_training_text(Path(context.spec.inputs["vectors"][0]))
        if "vectors" in context.spec.inputs
        else None
    )


def _count_departures(
    context: StepContext, text: Corpus | None, adapted: AdaptedModel, progress: Progress
) -> Numbers:
    """Count how often the tokenizer violates the exact-word rule on the text, or return why that
    was impossible.
    """
    if text is None:
        return {
            NOT_COUNTED: "the training text of the word vectors is not known, or has changed since"
        }
    try:
        found = count_departures(
            text, context.model.vocabulary, adapted.tokenizer, context.model.splitter, progress
        )
    except (InputError, OSError):
        return {NOT_COUNTED: "the training text of the word vectors can no longer be read"}
    return {"added_occurrences": found.added_words, "departures": found.missed + found.other}


def _certify(context: StepContext, adapted: AdaptedModel, progress: Progress) -> Numbers:
    """Certify the result and add the certificate to its record.

    The certificate covers what must not change: everything but the new embeddings. If the continued
    pretraining changed more, the model before it is certified.
    """
    from vocadapt.models.certificate.certificate import certify

    progress(0.0, "checking that everything else was kept")
    result, when = open_model(context.draft), {}
    if isinstance(adapted, ContinuedAdaptation) and not adapted.keeps_old_weights:
        result, when = adapted.untrained, {"certified": "before the training"}
    certificate = certify(context.model, result)
    add_to_record(context.draft, certificate=certificate.to_dict(), **when)
    return {"certificate": certificate.passed}


def name_recipe(settings: ModelStep, folder: Path) -> list[str]:
    """Return the arguments that name the recipe: a preset, or the recipe file next to the model."""
    if is_preset(settings.recipe):
        return ["--preset", settings.recipe.name]
    return ["--recipe", str(folder / "recipe.toml")]


STEP = Step(
    "model",
    "Adapt a model",
    ModelStep,
    adapt_model,
    makes="models",
    needs=(MODEL,),
    takes=(VECTORS, TEXT, TARGET),
    writes=measure_model,
    libraries=("numpy", "scipy", "tokenizers", "gensim", "safetensors", "torch", "transformers"),
    command=("adapt",),
    page="pages/vocabulary/adapt.py",
    selected_by="adapt_adapted",
    own_arguments=name_recipe,
    resumes=True,
    seed="recipe.vectors.seed",
)
