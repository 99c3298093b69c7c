"""The step that adapts a model: its sources, its report and its certificate."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import read_json_object
from vocadapt.lab.artifacts.corpora import find_training_text, load_or_count_words, read_corpus
from vocadapt.lab.steps.context import Task, summarize_space
from vocadapt.lab.steps.step import MODEL, TARGET, TEXT, VECTORS, Numbers, Step
from vocadapt.lab.workspace.manifest import Input
from vocadapt.models.adapted_model import RECORD, AdaptedModel, add_to_record
from vocadapt.models.add_extension import check_extendable
from vocadapt.models.card import NOT_COUNTED
from vocadapt.models.contextual.masked_loss import head_on
from vocadapt.models.contextual.word_vectors import layers_of
from vocadapt.models.extension_size import is_extended
from vocadapt.models.language_model import open_model
from vocadapt.models.loading import network_class
from vocadapt.pipeline import Sources, adapt, count_departures, domain_space, shares
from vocadapt.progress import Progress, parts
from vocadapt.recipe import PRESETS, Recipe, called, is_preset, write_recipe
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.training.masked.continued import check_continued, continue_and_save
from vocadapt.training.masked.losses import find_next_sentence_head
from vocadapt.training.masked.stages import new_ids

FOLDS = 3  # a quick look; `align` judges by ten, of which each map has seen more
ADAPTED = ".adapted"  # in the draft, where training follows: the model before it
LOSSES = (
    "curve",
    "next_curve",
)  # of the training, step by step: in no manifest of an adapted model
NAMES = {"vectors": "word vectors", "text": "text", "target": "target model"}


@dataclass(frozen=True)
class ModelStep:
    """The recipe of an adapted model, which lines are read, and whether the model is certified."""

    recipe: Recipe = field(default_factory=lambda: PRESETS["green-bert"])
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    certify: bool = True


def adapt_model(task: Task, settings: ModelStep) -> Numbers:
    """Adapt a model by a recipe: model and sources → adapted model, recipe, certificate.

    If the recipe has continued pretraining, the trained model is the result.
    """
    recipe = settings.recipe
    check_model_step(task, settings)
    trains = bool(recipe.further.stage)
    draft, text = task.draft / ADAPTED if trains else task.draft, _find_text(task, settings)
    given = Sources(text, task.space if "vectors" in task.spec.inputs else None, task.target)
    whole = parts(task.progress, _overall_stage_weights(recipe))
    stages = parts(whole["adapting"], _adapting_stage_weights(recipe, given))
    domain = None
    if "vectors" in recipe.needs:
        domain = domain_space(given, task.model, recipe.vectors, stages["vectors"], task.draft)
    sources = _count_words(task, recipe, text, domain, stages["counts"])
    adapted = adapt(recipe.untrained, task.model, sources, stages["rows"], task.draft)
    adapted.save(draft, recipe.to_dict())
    write_recipe(recipe, task.draft / "recipe.toml")
    numbers: Numbers = {"preset": called(recipe), **adapted.plan.summary()}
    if adapted.module is not None:
        numbers["module"] = adapted.module.to_dict(layers_of(task.model))
    if adapted.rows.fallbacks:
        numbers["rows_made_otherwise"] = adapted.rows.fallbacks
    if domain is not None and "vectors" not in task.spec.inputs:
        numbers["workers"] = recipe.vectors.threads
    if adapted.mode == "exact-word":
        numbers |= _count_departures(task, text, adapted, stages["departures"])
    if recipe.needs_alignment and domain is not None:
        numbers |= _evaluate_alignment(task, domain, recipe.alignment, stages["quality"])
    add_to_record(draft, data=_describe_source(task), **_select_card_figures(numbers))
    if trains and text is not None:
        return numbers | _continue_pretraining(
            task, settings, draft, text, stages["certificate"], whole
        )
    return numbers | (_certify(task, draft, stages["certificate"]) if settings.certify else {})


def _overall_stage_weights(recipe: Recipe) -> dict[str, float]:
    """Return the relative cost of adapting, training and certifying, for the progress bar."""
    if not recipe.further.stage:
        return {"adapting": 1.0}
    return {"adapting": 150.0 if recipe.distils else 20.0, "training": 72.0, "certificate": 8.0}


def _adapting_stage_weights(recipe: Recipe, given: Sources) -> dict[str, float]:
    """Return the relative cost of each stage of adapting, for the progress bar."""
    own = shares(recipe, given)
    counts, rest = (
        10.0 if "counts" in recipe.needs else 0.0,
        {
            "departures": 5.0,
            "quality": 2.0,
            "certificate": 8.0,
        },
    )
    return {"vectors": own.pop("vectors"), "counts": counts, "rows": sum(own.values()), **rest}


def _continue_pretraining(
    task: Task,
    settings: ModelStep,
    adapted: Path,
    text: Corpus,
    before_it: Progress,
    stages: Mapping[str, Progress],
) -> Numbers:
    """Continue pretraining the adapted model and save it in the draft.

    The certificate covers what must not change: everything but the new embeddings. If training
    changes more, the model is certified before the training. `before_it`: progress of that
    certificate; `stages`: progress of the training and of the certificate after it.
    """
    further, before = settings.recipe.further, open_model(adapted)
    rows_alone = further.stage == "embeddings" and bool(new_ids(before))
    kept = rows_alone or (further.stage == "extension" and not further.train_heads)
    certified = _certify(task, adapted, before_it) if settings.certify and not kept else {}
    made = read_json_object(adapted / RECORD).get("certificate")
    done = continue_and_save(
        before, text, further, task.draft, task.checkpoint, stages["training"]
    ).to_dict()
    shutil.rmtree(adapted)
    if certified:
        add_to_record(task.draft, certificate=made, certified="before the training")
    elif settings.certify:
        certified = _certify(task, task.draft, stages["certificate"])
    return {
        "further": {name: value for name, value in done.items() if name not in LOSSES}
    } | certified


def check_model_step(task: Task, settings: ModelStep) -> None:
    """Raise InputError, before any long work, for missing or unused sources and unsuitable models."""
    recipe = settings.recipe
    _check_sources(task, recipe)
    kind = network_class(task.model)  # known to be loadable before anything long begins
    if recipe.module.size:
        check_extendable(kind.__name__)
    if recipe.further.stage:
        check_continued(
            task.model, recipe.further, is_extended(task.model.config) or bool(recipe.module.size)
        )
        head_on(task.model.network)
        if recipe.further.nsp:
            find_next_sentence_head(task.model.network)


def _check_sources(task: Task, recipe: Recipe) -> None:
    """Raise InputError if the recipe lacks a source, or does not use one that is given."""
    given, needs = {role for role in NAMES if role in task.spec.inputs}, recipe.needs
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
    unused = given - _usable_roles(task, needs)
    if unused:
        role = sorted(unused)[0]
        raise InputError(
            f"The recipe {recipe.name} does not use {NAMES[role]}.", f"Leave out the {NAMES[role]}."
        )


def _usable_roles(task: Task, needs: frozenset[str]) -> set[str]:
    """Return the inputs that a recipe with these needs may use."""
    roles = {
        "vectors": {"vectors", "text"},
        "counts": {"text"},
        "text": {"text"},
        "target": {"target"},
    }
    usable = set[str]().union(*(roles[need] for need in needs))
    bare = "target" in needs and Path(task.spec.inputs["target"][0]).is_file()
    return (
        usable | {"text"} if bare else usable
    )  # vectors of a bare vocabulary's tokens are trained on a text


def _count_words(
    task: Task,
    recipe: Recipe,
    text: Corpus | None,
    domain: EmbeddingSpace | None,
    progress: Progress,
) -> Sources:
    counts = None
    if "counts" in recipe.needs and text is not None:
        counts = load_or_count_words(task.root, text, task.model.splitter, progress).counts
    return Sources(text, domain, task.target, counts)


def _describe_source(task: Task) -> Numbers:
    """Return what the new tokens came from, for the model card."""
    role = next((role for role in ("vectors", "target", "text") if role in task.spec.inputs), None)
    if role is None:
        return {}
    source = {
        "role": NAMES[role],
        "name": Input(task.spec.inputs[role], "").name,
    }
    return source | (summarize_space(task.space) if role == "vectors" else {})


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
    task: Task, domain: EmbeddingSpace, settings: AlignmentSettings, progress: Progress
) -> Numbers:
    """Cross-validate the alignment with FOLDS folds; only a verdict if there are too few anchors."""
    try:
        judged = cross_validate(
            domain, task.model.space, settings, FOLDS, 1, task.model.vocabulary.special, progress
        )
    except InputError:
        return {"verdict": "not judged: too few anchors"}
    return {
        "verdict": judged.verdict,
        "p@5": judged.precision(5),
        "chance@5": judged.chance(5),
        "folds": FOLDS,
    }


def _find_text(task: Task, settings: ModelStep) -> Corpus | None:
    """Return the domain text: the given one, or the unchanged training text of the vectors."""
    if "text" in task.spec.inputs:
        return read_corpus(task.spec.inputs["text"], settings.corpus)
    return (
        find_training_text(Path(task.spec.inputs["vectors"][0]))
        if "vectors" in task.spec.inputs
        else None
    )


def _count_departures(
    task: Task, text: Corpus | None, adapted: AdaptedModel, progress: Progress
) -> Numbers:
    """Count how often the tokenizer violates the exact-word rule on the text, or return why that
    was impossible.
    """
    if text is None:
        return {
            NOT_COUNTED: "the training text of the word vectors is not known, or has changed since"
        }
    try:
        found = count_departures(text, task.model, adapted.tokenizer, progress)
    except (InputError, OSError):
        return {NOT_COUNTED: "the training text of the word vectors can no longer be read"}
    return {"added_occurrences": found.added_words, "departures": found.missed + found.other}


def _certify(task: Task, draft: Path, progress: Progress) -> Numbers:
    """Certify a draft and add the certificate to its record."""
    from vocadapt.models.certificate.certificate import certify

    progress(0.0, "checking that everything else was kept")
    certificate = certify(task.model, open_model(draft))
    add_to_record(draft, certificate=certificate.to_dict())
    return {"certificate": certificate.passed}


def name_recipe(settings: ModelStep, folder: Path) -> list[str]:
    """Return the arguments that name the recipe: a preset, or the recipe file next to the model."""
    certify = [] if settings.certify else ["--no-certificate"]
    if is_preset(settings.recipe):
        return ["--preset", settings.recipe.name, *certify]
    return ["--recipe", str(folder / "recipe.toml"), *certify]


STEP = Step(
    "model",
    "Adapt a model",
    ModelStep,
    adapt_model,
    makes="models",
    needs=(MODEL,),
    takes=(VECTORS, TEXT, TARGET),
    libraries=("numpy", "scipy", "tokenizers", "gensim", "safetensors", "torch", "transformers"),
    command=("adapt",),
    own_arguments=name_recipe,
    resumes=True,
    seed="recipe.vectors.seed",
)
