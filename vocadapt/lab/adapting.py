"""The step that makes an adapted model: which sources its recipe draws on, what is reported of it, its certificate."""

from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.corpora import kept_counts, read_corpus, text_behind
from vocadapt.lab.manifest import Input
from vocadapt.lab.spec import ModelStep
from vocadapt.lab.task import Numbers, Task, size_of
from vocadapt.models.adapt import AdaptedModel, add_to_record
from vocadapt.models.extending import check_extendable
from vocadapt.models.in_context import layers_of
from vocadapt.models.language_model import open_model
from vocadapt.models.loading import network_class
from vocadapt.pipeline import Sources, adapt, departures_on, domain_space
from vocadapt.progress import part
from vocadapt.recipe import Recipe, called, write_recipe
from vocadapt.spaces.heldout import held_out
from vocadapt.spaces.maps import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import Corpus

FOLDS = 3  # a quick look; `align` judges by ten, of which each map has seen more
OPTIONS = {"vectors": "--vectors DIR", "text": "--corpus TEXT", "target": "--target B"}
NAMES = {"vectors": "word vectors", "text": "text of the domain", "target": "target model"}


def model(task: Task, settings: ModelStep) -> Numbers:
    """A model + what its recipe draws on → the model with its new vocabulary, its recipe and certificate."""
    recipe = settings.recipe
    _check_sources(task, recipe)
    kind = network_class(task.model)  # known to be loadable before anything long begins
    if recipe.module.size:
        check_extendable(kind.__name__)
    text = _text_of(task, settings)
    domain = None
    if "vectors" in recipe.needs:
        given = Sources(vectors=task.space) if "vectors" in task.spec.inputs else Sources(corpus=text)
        domain = domain_space(given, task.model, recipe.vectors, part(task.progress, 0.0, 0.7), task.draft)
    adapted = adapt(recipe, task.model, _sources(task, recipe, text, domain), part(task.progress, 0.7, 0.85), task.draft)
    adapted.save(task.draft, recipe.to_dict())
    write_recipe(recipe, task.draft / "recipe.toml")
    numbers: Numbers = {"preset": called(recipe), **adapted.plan.summary()}
    if adapted.module is not None:
        numbers["module"] = adapted.module.to_dict(layers_of(task.model))
    if adapted.rows.fallbacks:
        numbers["rows_made_otherwise"] = adapted.rows.fallbacks
    if domain is not None and "vectors" not in task.spec.inputs:
        numbers["workers"] = recipe.vectors.threads
    if text is not None and adapted.mode == "exact-word":
        numbers |= _departures(task, text, adapted)
    if recipe.needs_alignment and domain is not None:
        numbers |= _quality(task, domain, recipe.alignment)
    add_to_record(task.draft, data=_data(task), **_facts(numbers))
    return numbers | (_certified(task) if settings.certify else {})


def _check_sources(task: Task, recipe: Recipe) -> None:
    """Raises InputError where a source of the recipe lacks, and where one is given that it does not use."""
    given, needs = {role for role in OPTIONS if role in task.spec.inputs}, recipe.needs
    if "vectors" in needs and not given & {"vectors", "text"}:
        raise InputError(f"Recipe {recipe.name} needs word vectors or a text, and got neither.", "Give --vectors or --corpus.")
    if "vectors" in needs and {"vectors", "text"} <= given and "counts" not in needs:
        raise InputError("Adapting needs word vectors or a text of the domain, and got both.", "Give --vectors or --corpus.")
    for need, role in (("target", "target"), ("counts", "text")):
        if need in needs and role not in given:
            raise InputError(f"The recipe {recipe.name} needs a {NAMES[role]}.", f"Give it: {OPTIONS[role]}.")
    unused = given - _usable(task, needs)
    if unused:
        role = sorted(unused)[0]
        raise InputError(f"The recipe {recipe.name} has no use for {NAMES[role]}.", f"Leave {OPTIONS[role]} out.")


def _usable(task: Task, needs: frozenset[str]) -> set[str]:
    """The roles that a recipe with these needs may be given."""
    roles = {"vectors": {"vectors", "text"}, "counts": {"text"}, "target": {"target"}}
    usable = set[str]().union(*(roles[need] for need in needs))
    bare = "target" in needs and Path(task.spec.inputs["target"][0]).is_file()
    return usable | {"text"} if bare else usable  # vectors of a bare vocabulary's tokens are trained on a text


def _sources(task: Task, recipe: Recipe, text: Corpus | None, domain: EmbeddingSpace | None) -> Sources:
    counts = None
    if "counts" in recipe.needs and text is not None:
        counts = kept_counts(task.root, text, task.model.splitter, task.progress).counts
    return Sources(text, domain, task.target, counts)


def _data(task: Task) -> Numbers:
    """What the new tokens came from, for the model's card."""
    role = next((role for role in ("vectors", "target", "text") if role in task.spec.inputs), None)
    if role is None:
        return {}
    said = {"role": NAMES[role].replace("text of the domain", "text"), "name": Input(task.spec.inputs[role], "").name}
    return said | (size_of(task.space) if role == "vectors" else {})


def _facts(numbers: Numbers) -> dict[str, Numbers]:
    """The figures of an adapted model that its card tells: how good the map is, how often the tokenizer departs from its rule."""
    groups = {"quality": ("verdict", "p@5", "chance@5"), "departures": ("departures", "added_occurrences")}
    found = {name: {key: numbers[key] for key in keys if key in numbers} for name, keys in groups.items()}
    return {name: facts for name, facts in found.items() if facts}


def _quality(task: Task, domain: EmbeddingSpace, settings: AlignmentSettings) -> Numbers:
    """Whether the map behind the rows does better than chance, by FOLDS folds; nothing where they are too small for it."""
    try:
        judged = held_out(
            domain, task.model.space, settings, FOLDS, 1, task.model.vocabulary.special, part(task.progress, 0.9, 0.92)
        )
    except InputError:
        return {"verdict": "not judged: too few anchors"}
    return {"verdict": judged.verdict, "p@5": judged.precision(5), "chance@5": judged.chance(5), "folds": FOLDS}


def _text_of(task: Task, settings: ModelStep) -> Corpus | None:
    """The text of the domain: the one given, or the one the vectors were trained on, where it is still the same."""
    if "text" in task.spec.inputs:
        return read_corpus(task.spec.inputs["text"], settings.corpus)
    return text_behind(Path(task.spec.inputs["vectors"][0])) if "vectors" in task.spec.inputs else None


def _departures(task: Task, text: Corpus, adapted: AdaptedModel) -> Numbers:
    """How often the tokenizer departs from the exact-word rule; nothing where the text can no longer be read."""
    try:
        found = departures_on(text, task.model, adapted.tokenizer, part(task.progress, 0.85, 0.9))
    except (InputError, OSError):
        return {}
    return {"added_occurrences": found.added_words, "departures": found.missed + found.other}


def _certified(task: Task) -> Numbers:
    """Certify the draft and add the certificate to its record."""
    from vocadapt.models.certificate import certify

    task.progress(0.92, "checking that everything else was kept")
    certificate = certify(task.model, open_model(task.draft))
    add_to_record(task.draft, certificate=certificate.to_dict())
    return {"certificate": certificate.passed}
