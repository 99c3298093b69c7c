"""Settings of a study's models and cells by the labels of the pages."""

from dataclasses import replace

from vocadapt.lab.experiments.studies.labelled_settings import (
    STAGES,
    list_adaptation,
    list_training,
    shorten_paths,
)
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import Spec
from vocadapt.presets import get_preset
from vocadapt.recipe import Recipe
from vocadapt.recipe_changes import choose_recipe
from vocadapt.settings import get_setting_groups


def adapt(recipe, **inputs):
    return list_adaptation(Spec(AdaptStep(recipe), {"model": "m", **inputs}))


def test_every_stage_of_a_recipe_has_a_name():
    assert set(STAGES) == {*get_setting_groups(Recipe), "corpus"}


def test_only_the_stages_that_an_adaptation_has_are_listed():
    given = adapt(get_preset("green-bert"), vectors="v")
    assert given["Recipe"] == "green-bert"
    assert given["New embeddings: initializer"] == "aligned"
    assert given["Alignment: anchor weights"] == "none"
    assert "Alignment: ridge penalty" not in given  # least squares does not use it
    begins = {label.partition(":")[0] for label in given}
    assert not begins & {"Word vectors", "Continued pretraining", "Extension module", "Text"}
    trained = adapt(get_preset("green-bert"), text="t.txt")
    assert trained["Word vectors: window"] == 5
    assert trained["Text: fraction of lines"] == 1


def test_the_threads_of_a_study_do_not_change_a_recipe_but_an_initializer_does():
    recipe = get_preset("green-bert")
    one = replace(recipe, vectors=replace(recipe.vectors, workers=1))
    assert adapt(one, vectors="v")["Recipe"] == "green-bert"
    other = choose_recipe({"preset": "green-bert", "initializer": "syntactic"})
    assert adapt(other, vectors="v")["Recipe"] == "green-bert, changed"


def test_only_the_budget_of_pretraining_that_is_in_effect_is_listed():
    further = adapt(get_preset("green-bert+mlm"), vectors="v", text="t")
    assert further["Continued pretraining: epochs"] == 1
    assert "Continued pretraining: hours" not in further


def test_equal_labels_are_told_apart_by_their_keys():
    given = adapt(get_preset("combined-last-25"), target="b")
    assert given["Vocabulary: heuristic (remove_by)"] == "last"
    assert given["Vocabulary: heuristic (add_by)"] == "target"


def test_an_empty_value_is_shown_by_its_meaning_and_a_switch_stays_one():
    given = list_training(FinetuneStep(weights=False, fold=-1))
    assert (given["Limit"], given["Keep the network"], given["Fold"]) == ("all", False, "all")


def test_paths_are_shortened_where_their_names_tell_them_apart():
    columns = {
        "a": {"Model": ("/x/bert",), "Text": ("/x/t", "/x/u")},
        "b": {"Model": ("/y/bert",), "Text": ("hub/name",)},
        "c": {"Model": ("/y/bert",)},
    }
    short = shorten_paths(columns, ("Model", "Text"))
    assert [own["Model"] for own in short.values()] == [("/x/bert",), ("/y/bert",), ("/y/bert",)]
    assert (short["a"]["Text"], short["b"]["Text"]) == (("t", "u"), ("hub/name",))
