"""A method owns its settings: what the chosen one does not use is refused, for all families of
methods.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from vocadapt.errors import InputError
from vocadapt.recipe import Recipe
from vocadapt.settings import (
    ExtensibleSettings,
    MethodSettings,
    Setting,
    get_setting_groups,
    get_settings,
)
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings, AnchorPairs
from vocadapt.spaces.projection import methods as projections
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.word2vec.trainer import AUTO, TRAINERS, Word2VecSettings
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings
from vocadapt.vocabulary.plan.plan import KINDS, PlanSettings

FAMILIES: dict[type[MethodSettings], Any] = {
    AlignmentSettings: METHODS,
    InitializerSettings: INITIALIZERS,
    PlanSettings: KINDS,
    ProjectionSettings: projections.METHODS,
    Word2VecSettings: TRAINERS,
}
PAIRS = [(family, method) for family, registry in FAMILIES.items() for method in registry]
each_method = pytest.mark.parametrize(
    ("family", "method"), PAIRS, ids=[f"{family.__name__}-{method}" for family, method in PAIRS]
)


def build(family: type[MethodSettings], method: str, **changes: Any) -> Any:
    """Build settings; a trim also needs a size."""
    if method == "trim" and not changes.keys() & {"cover", "keep"}:
        changes["cover"] = 0.5
    return family(**{family.chooser: method, **changes})


def find_other_value(declared: Setting) -> Any:
    """Return an allowed value that is not the default."""
    if declared.kind is bool:
        return not declared.default
    if declared.is_number:
        bounds = declared.bounds
        return bounds.lowest if bounds.lowest != declared.default else bounds.highest
    return next(name for name in declared.choices if name != declared.default)


def find_named(family: type[MethodSettings]) -> set[str]:
    return {name for method in FAMILIES[family].values() for name in method.settings}


def test_all_families_are_tested():
    classes = {*MethodSettings.__subclasses__(), *ExtensibleSettings.__subclasses__()}
    assert classes - {ExtensibleSettings} == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_method_names_settings_of_its_family(family):
    assert find_named(family) <= set(get_settings(family))


@each_method
def test_a_setting_is_accepted_where_it_is_used_and_refused_elsewhere(family, method):
    unused = find_named(family) - set(FAMILIES[family][method].settings)
    for name, declared in get_settings(family).items():
        if name == family.chooser:
            continue
        value = find_other_value(declared)
        if name not in unused:
            assert getattr(build(family, method, **{name: value}), name) == value
            continue
        with pytest.raises(InputError) as refused:
            build(family, method, **{name: value})
        users = [one for one, own in FAMILIES[family].items() if name in own.settings]
        assert refused.value.setting == name
        assert all(user in refused.value.remedy for user in users)


@each_method
def test_another_method_is_chosen_without_the_settings_of_the_former(family, method):
    for former, own in FAMILIES[family].items():
        if "trim" in (former, method):
            continue
        declared = get_settings(family)
        changes = {name: find_other_value(declared[name]) for name in own.settings}
        chosen = build(family, former, **changes).choose(method)
        kept = set(own.settings) & set(FAMILIES[family][method].settings)
        assert chosen == build(family, method, **{name: changes[name] for name in kept})


@pytest.mark.parametrize("name", [name for name, one in INITIALIZERS.items() if one.own])
def test_settings_that_one_initializer_has_are_refused_by_the_others(name):
    kind = INITIALIZERS[name].own
    other, declared = next(iter(get_settings(kind).items()))
    options = {name: kind(**{other: find_other_value(declared)})}
    assert InitializerSettings(name, options=options).own == options[name]
    with pytest.raises(InputError, match=name):
        InitializerSettings("aligned", options=options)
    assert InitializerSettings("aligned", options={name: kind()}) == InitializerSettings("aligned")
    assert InitializerSettings(name, options=options).choose("aligned") == InitializerSettings()


def test_auto_leaves_all_settings_of_the_trainers_open():
    for name in find_named(Word2VecSettings):
        value = find_other_value(get_settings(Word2VecSettings)[name])
        assert getattr(Word2VecSettings(trainer=AUTO, **{name: value}), name) == value


@pytest.mark.parametrize("method", METHODS)
def test_an_alignment_method_reads_the_settings_that_it_names(method):
    class Recorded:
        """Settings that record which of them are read."""

        read: ClassVar[set[str]] = set()

        def __getattr__(self, name: str) -> Any:
            self.read.add(name)
            return getattr(settings, name)

    settings = build(AlignmentSettings, method)
    if "mlp_epochs" in METHODS[method].settings:
        settings = replace(settings, mlp_epochs=1)
    rng = np.random.default_rng(0)
    x, y, others = rng.normal(size=(9, 3)), rng.normal(size=(9, 3)), np.ones((4, 3), np.float32)
    pairs = AnchorPairs(x, y, np.ones(9), np.ones(9), others, others)
    METHODS[method].fit(pairs, Recorded())  # type: ignore[arg-type]
    # Weights and the other words are prepared by the caller.
    own = set(METHODS[method].settings) - {"weights", "induction_cutoff"}
    assert own <= Recorded.read

    # A method names the weights if they change its result.
    weighted = replace(pairs, weights=np.linspace(0.1, 1.9, 9))
    one, other = (METHODS[method].fit(each, settings) for each in (pairs, weighted))
    if not isinstance(one, np.ndarray):
        one, other = one["matrix"], other["matrix"]
    assert (one == other).all() == ("weights" not in METHODS[method].settings)


def test_equal_alignments_have_the_same_digest_and_others_have_another():
    settings = [
        AlignmentSettings(),
        AlignmentSettings("ridge"),
        AlignmentSettings("ridge", ridge=1.0),
        AlignmentSettings("ridge", unit=True),
        AlignmentSettings("ridge", anchors=AnchorFilter(digits=True)),
        AlignmentSettings("ridge", anchors=AnchorFilter(min_count=2)),
    ]
    assert len({one.digest for one in settings}) == len(settings)
    assert AlignmentSettings("ridge", ridge=1).digest == settings[2].digest
    assert settings[1].digest == settings[2].choose("procrustes").choose("ridge").digest


def test_every_family_of_a_recipe_is_known_to_be_one():
    groups = {kind for kind, _ in get_setting_groups(Recipe).values()}
    assert groups >= set(FAMILIES) - {ProjectionSettings}
