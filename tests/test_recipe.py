"""Recipes: presets, TOML, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.catalog import catalog
from vocadapt.errors import InputError
from vocadapt.models.extension_size import SIZES
from vocadapt.recipe import (
    PRESETS,
    Recipe,
    called,
    preset,
    read_recipe,
    write_recipe,
)
from vocadapt.settings import settings_from
from vocadapt.spaces.alignment.alignment import METHODS, AlignmentSettings
from vocadapt.spaces.projection.methods import METHODS as PROJECTIONS
from vocadapt.training.finetune.mixture import TOKENIZATIONS
from vocadapt.training.finetune.settings import FINETUNING_PRESETS
from vocadapt.training.masked.stages import PRETRAINING_PRESETS, STAGES
from vocadapt.training.scoring.registry import SCORERS
from vocadapt.training.tasks.task import KINDS as TASKS
from vocadapt.vocabulary.families.wordpiece_training import TRAINERS
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS
from vocadapt.vocabulary.plan.plan import KINDS
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_toml(name: str, tmp_path: Path) -> None:
    write_recipe(preset(name), tmp_path / "recipe.toml")
    assert read_recipe(tmp_path / "recipe.toml") == preset(name)


def test_the_default_is_the_papers() -> None:
    green = preset("green-bert")
    assert green == Recipe(about=green.about)
    assert (
        green.vectors.skip_gram,
        green.vectors.window,
        green.vectors.negative,
        green.vectors.min_count,
    ) == (False, 5, 5, 5)
    assert (green.alignment.method, green.alignment.unit, green.alignment.center) == (
        "least-squares",
        False,
        False,
    )
    assert (green.vocabulary.kind, green.vocabulary.max_added, green.tokenizer) == (
        "append",
        0,
        "exact-word",
    )
    assert preset("green-bert-replace").vocabulary.kind == "replace"
    assert not preset("green-bert-random").needs_alignment


def test_a_short_recipe_keeps_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[alignment]\nmethod = "ridge"\nridge = 1\n[vocabulary]\nmax_added = 500\n'
    )
    recipe = read_recipe(tmp_path / "mine.toml")
    assert recipe.name == "mine"
    assert recipe.alignment == AlignmentSettings(method="ridge", ridge=1.0)
    assert recipe.vocabulary.max_added == 500


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[alignment]\nmethode = 'ridge'", "no setting 'methode'"),
        ("[alignment]\nmethod = 'magic'", "magic"),
        ("[vocabulary]\nmax_added = 'many'", "expected int, came 'many'"),
        ("vocabulary = 3", "expected a group of settings"),
        ("tokenizer = 'suffix'", "Unknown tokenizer mode"),
        ("not toml at all", "not valid TOML"),
    ],
)
def test_bad_recipes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        read_recipe(tmp_path / "bad.toml")


def test_missing_recipe_and_unknown_preset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found a folder"):
        read_recipe(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_recipe(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="Did you mean green-bert"):
        preset("green-brt")


def test_a_bool_is_no_number() -> None:
    with pytest.raises(InputError, match="expected float, came True"):
        settings_from(AlignmentSettings, {"ridge": True})


def test_the_catalog_holds_a_sentence_for_everything() -> None:
    groups = catalog()
    of_recipes = (
        "preset alignment projection initializer reduction augmentation trainer plan tokenizer"
        " module"
    )
    assert list(groups) == [
        *of_recipes.split(),
        "task",
        "training",
        "stage",
        "pretraining",
        "tokenization",
        "slice",
        "scorer",
    ]
    registries = (
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
        TASKS,
        FINETUNING_PRESETS,
        STAGES,
        PRETRAINING_PRESETS,
        TOKENIZATIONS,
        SLICES,
        SCORERS,
    )
    assert [set(group) for group in groups.values()] == [set(registry) for registry in registries]
    assert all(len(about) > 15 for group in groups.values() for about in group.values())


def test_a_changed_preset_is_not_called_by_its_bare_name():
    plain = preset("green-bert")
    changed = replace(plain, rows=replace(plain.rows, method="semantic"))
    assert (called(plain), called(changed)) == ("green-bert", "green-bert, changed")
    assert (
        called(preset("reduced-freq-33")) == "reduced-freq-33"
        and called(replace(changed, name="mine")) == "mine"
    )
