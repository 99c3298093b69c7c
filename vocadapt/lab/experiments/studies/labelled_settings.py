"""The settings of cells and adapted models, by the labels under which the pages show them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vocadapt.given_settings import get_key
from vocadapt.lab.steps.adapt import NAMES, AdaptStep
from vocadapt.lab.steps.step import Spec
from vocadapt.presets import format_recipe_name
from vocadapt.recipe import Recipe
from vocadapt.settings import Setting, get_setting_groups, get_settings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

STAGES = {  # group of settings of an adaptation → its name before the labels of its settings
    "vectors": "Word vectors",
    "vocabulary": "Vocabulary",
    "alignment": "Alignment",
    "initializer": "New embeddings",
    "module": "Extension module",
    "pretraining": "Continued pretraining",
    "corpus": "Text",
}
MODEL, RECIPE = "Model", "Recipe"
NO_RECIPE = "none"  # of a model that is taken as it is
SOURCES = {role: f"Adapted with the {name}" for role, name in NAMES.items()}  # role → label
Labelled = dict[str, Any]  # label → value


def list_training(settings: Any, prefix: str = "") -> Labelled:
    """Return the settings of a fine-tuning, or of a stage of an adaptation, by their labels.

    A label that several settings have is followed by the key of each in the file of a study.
    prefix: the name of the stage.
    """
    labels = [declared.label for declared, _ in _walk(settings, with_unused=True)]
    found: Labelled = {}
    for declared, value in _walk(settings):
        label = f"{prefix}: {declared.noun}" if prefix else declared.label
        if labels.count(declared.label) > 1:
            label += f" ({get_key(declared.flag or declared.name)})"
        found[label] = _describe(declared, value)
    return found


def list_adaptation(spec: Spec) -> Labelled:
    """Return the sources of an adaptation, and the settings of those stages that it has."""
    step = spec.settings
    recipe = step.recipe
    # The number of threads, which a study sets, does not make it another recipe.
    threads = Word2VecSettings().workers
    named = replace(recipe, vectors=replace(recipe.vectors, workers=threads))
    found: Labelled = {RECIPE: format_recipe_name(named)}
    found |= {label: spec.inputs[role] for role, label in SOURCES.items() if role in spec.inputs}
    for stage in _find_stages(step, spec.inputs):
        group = getattr(recipe, stage, None)
        if stage == "corpus":
            group = step.corpus
        found |= list_training(group, STAGES[stage])
    declared = get_settings(Recipe)["tokenizer"]
    return found | {declared.label: recipe.tokenizer}


def _find_stages(step: AdaptStep, inputs: Mapping[str, Any]) -> list[str]:
    """Return the stages that an adaptation has: only their settings change its result."""
    recipe = step.recipe
    has = {
        "vectors": "vectors" in recipe.needs and "vectors" not in inputs,
        "vocabulary": True,
        "alignment": recipe.needs_alignment,
        "initializer": recipe.makes_embeddings,
        "module": bool(recipe.module.size),
        "pretraining": bool(recipe.pretraining.stage),
        "corpus": "text" in inputs,
    }
    return [stage for stage, there in has.items() if there]


def _walk(settings: Any, with_unused: bool = False) -> Iterator[tuple[Setting, Any]]:
    """Yield the settings of an instance with their values, those of nested ones included.

    with_unused: also those that the instance does not use.
    """
    declared = get_settings(settings)
    groups = get_setting_groups(settings)
    unused = () if with_unused else getattr(settings, "unused_settings", ())
    for one in fields(settings):
        value = getattr(settings, one.name)
        if one.name in unused:
            continue
        if one.name in declared:
            yield declared[one.name], value
        elif one.name in groups:
            yield from _walk(value, with_unused)
        elif isinstance(value, Mapping):  # settings by the name of what they belong to
            for own in value.values():
                yield from _walk(own, with_unused)


def _describe(declared: Setting, value: object) -> object:
    """Return a value, or what it means if it is empty or has a word."""
    if declared.empty and value in (0, "") and value is not False:
        return declared.empty
    for word, number in declared.words.items():
        if value == number:
            return word
    return value


def shorten_paths(columns: dict[str, Labelled], labels: Collection[str]) -> dict[str, Labelled]:
    """Return settings with the names of files and folders instead of their paths, for each of the
    labels under which the names alone tell them apart.
    """
    short = {column: dict(own) for column, own in columns.items()}
    for label in labels:
        given = {own[label] for own in columns.values() if label in own}
        names = {paths: tuple(_find_name(path) for path in paths) for paths in given}
        if len(set(names.values())) == len(given):
            for own in short.values():
                if label in own:
                    own[label] = names[own[label]]
    return short


def _find_name(path: str) -> str:
    """Return the name of a file or folder; the name of a model on the hub is kept whole."""
    if Path(path).is_absolute():
        return Path(path).name
    return path
