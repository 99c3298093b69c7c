"""Recipes: presets, TOML, and refused values."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.models.extension_size import SIZES
from vocadapt.presets import PRESETS, format_recipe_name, get_preset
from vocadapt.recipe import Recipe, read_recipe, write_recipe
from vocadapt.recipe_changes import choose_recipe
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.alignment import METHODS, AlignmentSettings
from vocadapt.spaces.projection.methods import METHODS as PROJECTIONS
from vocadapt.training.finetune.settings import FINETUNING_PRESETS
from vocadapt.training.finetune.tokenizations import TOKENIZATIONS
from vocadapt.training.masked.settings import PRETRAINING_PRESETS, STAGES
from vocadapt.training.scoring.scorers import SCORERS
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.vocabulary.families.wordpiece_training import TRAINERS
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS
from vocadapt.vocabulary.plan.plan import KINDS
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_toml(name: str, tmp_path: Path) -> None:
    write_recipe(get_preset(name), tmp_path / "recipe.toml")
    assert read_recipe(tmp_path / "recipe.toml") == get_preset(name)


def test_the_default_is_the_papers() -> None:
    green = get_preset("green-bert")
    assert green == Recipe(about=green.about)
    assert green.vectors.skip_gram is False
    assert green.vectors.window == 5
    assert green.vectors.negative == 5
    assert green.vectors.min_count == 5
    assert green.alignment.method == "least-squares"
    assert green.alignment.unit is False
    assert green.alignment.center is False
    assert green.vocabulary.kind == "append"
    assert green.vocabulary.max_added == 0
    assert green.tokenizer == "exact-word"
    assert get_preset("green-bert-replace").vocabulary.kind == "replace"
    assert not get_preset("green-bert-random").needs_alignment


def test_another_alignment_keeps_the_norms_of_the_recipe() -> None:
    given = {"initializer": "aligned", "method": "least-squares"}
    assert choose_recipe(given).alignment.vector_length == "frequency"
    assert choose_recipe({"method": "least-squares"}) == get_preset("green-bert")


def test_a_short_recipe_keeps_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[alignment]\nmethod = "ridge"\nridge = 1\n[vocabulary]\nmax_added = 500\n'
    )
    recipe = read_recipe(tmp_path / "mine.toml")
    assert recipe.name == "mine"
    assert recipe.alignment == AlignmentSettings(method="ridge", ridge=1.0)
    assert recipe.vocabulary.max_added == 500


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("[alignment]\nmethode = 'ridge'", "unknown-setting", "'methode'"),
        ("[alignment]\nmethod = 'magic'", "unknown-choice", "'magic'"),
        ("[vocabulary]\nmax_added = 'many'", "wrong-type", "'many'"),
        ("vocabulary = 3", "wrong-type", "3"),
        ("tokenizer = 'suffix'", "unknown-choice", "'suffix'"),
        ("not toml at all", "invalid-toml", "line 1"),
    ],
)
def test_bad_recipes(tmp_path: Path, text: str, code: str, value: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with raises_input_error(code, value):
        read_recipe(tmp_path / "bad.toml")


def test_missing_recipe_and_unknown_preset(tmp_path: Path) -> None:
    with raises_input_error("not-a-file"):
        read_recipe(tmp_path)
    with raises_input_error("missing-file"):
        read_recipe(tmp_path / "absent.toml")
    with raises_input_error("unknown-preset", "green-bert"):
        get_preset("green-brt")


def test_a_bool_is_no_number() -> None:
    with raises_input_error("wrong-type", "float", "True"):
        build_settings(AlignmentSettings, {"ridge": True})


@pytest.mark.parametrize(
    "registry",
    [
        PRESETS,
        METHODS,
        PROJECTIONS,
        INITIALIZERS,
        REDUCTIONS,
        AUGMENTATIONS,
        TRAINERS,
        KINDS,
        TOKENIZER_MODES,
        SIZES,
        TASK_KINDS,
        FINETUNING_PRESETS,
        STAGES,
        PRETRAINING_PRESETS,
        TOKENIZATIONS,
        SLICES,
        SCORERS,
    ],
)
def test_every_entry_of_a_registry_has_a_sentence(registry: Mapping[str, Any]) -> None:
    assert registry
    for entry in registry.values():
        about = entry if isinstance(entry, str) else entry.about
        assert len(about) > 15


def test_a_changed_preset_is_not_called_by_its_bare_name():
    plain = get_preset("green-bert")
    changed = replace(plain, initializer=replace(plain.initializer, method="semantic"))
    assert format_recipe_name(plain) == "green-bert"
    assert format_recipe_name(changed) == "green-bert, changed"
    assert format_recipe_name(get_preset("reduced-freq-33")) == "reduced-freq-33"
    assert format_recipe_name(replace(changed, name="mine")) == "mine"
