"""The default comparison: worked examples of which runs are compared if nobody has chosen."""

from dataclasses import replace

import pytest

from vocadapt.analysis.results.fair_pairs import (
    MODEL,
    SEEDS,
    TOKENIZATION,
    TRAINED_ON,
    FairPair,
    RunDescription,
    choose_fair_pair,
    list_differences,
)

THREE = (1, 2, 3)
POOLED = ("base", "adapted", "pooled")


def describe(name, model="plain", seeds=THREE, collapsed=(), task="t", **settings):
    """Describe runs of a base model, or of an adapted one unless the model is "plain"."""
    tokenizations, trained_on = POOLED, "mixed"
    if model == "plain":
        tokenizations, trained_on = ("base",), "base"
    flags = tuple(seed in collapsed for seed in seeds)
    values = {"epochs": 4, "limit": 0} | settings
    return RunDescription(name, task, model, trained_on, tokenizations, values, seeds, flags)


BASE, ADAPTED = describe("base"), describe("adapted", "green")
QUICK = describe("quick", "green", (1,), epochs=2)


def choose_sides(*runs, compared=None):
    """Return baseline and compared side of the default comparison of runs, newest first."""
    pair = choose_fair_pair(runs, compared)
    return pair.baseline, pair.compared


@pytest.mark.parametrize("runs", [(QUICK, ADAPTED, BASE), (QUICK, BASE, ADAPTED)])
def test_the_newest_run_is_not_compared_if_its_settings_differ(runs):
    """A base model is the baseline whatever was made first; runs with other settings are named."""
    expected = FairPair(
        "t", ("adapted", "pooled"), ("base", "base"), (MODEL,), THREE, False, ("quick",)
    )
    assert choose_fair_pair(runs) == expected
    assert expected.is_fair


def test_most_seeds_in_common_win_over_the_newest():
    """Seeds 2 and 3 in common are more than seed 1, of however many each run has."""
    newest = describe("newest", "green", (1, 7, 8, 9))
    older = describe("older", "green", (2, 3))
    assert choose_sides(newest, older, BASE) == (("base", "base"), ("older", "pooled"))
    assert choose_fair_pair([newest, older, BASE]).seeds == (2, 3)


def test_a_base_model_is_a_better_baseline_than_another_adapted_model():
    """Of pairs with equally many seeds, base against adapted comes first, then the newest."""
    other = describe("other", "exbert")
    assert choose_sides(other, ADAPTED, BASE) == (("base", "base"), ("other", "pooled"))
    assert choose_sides(other, ADAPTED) == (("adapted", "pooled"), ("other", "pooled"))
    trained_on_base = replace(ADAPTED, name="on base", trained_on="base")
    pair = choose_fair_pair([trained_on_base, ADAPTED])
    assert (pair.baseline, pair.differences) == (("adapted", "pooled"), (TRAINED_ON,))


def test_collapsed_runs_are_compared_only_if_no_run_learned():
    """One collapsed seed of three is left out of the comparison; three of three leave the run out."""
    collapsed = describe("failed", "green", collapsed=THREE)
    assert choose_sides(collapsed, ADAPTED, BASE) == (("base", "base"), ("adapted", "pooled"))
    assert choose_sides(collapsed, BASE) == (None, ("base", "base"))
    assert not choose_fair_pair([collapsed, BASE]).collapsed
    nothing_learned = choose_fair_pair([collapsed, replace(BASE, collapsed=(True,) * 3)])
    assert nothing_learned.collapsed
    assert nothing_learned.compared == ("failed", "pooled")
    partly = describe("partly", "green", collapsed=(2,))
    assert choose_fair_pair([partly, BASE]).seeds == (1, 3)
    assert choose_sides(partly, ADAPTED, BASE)[1] == ("adapted", "pooled")


def test_without_a_fair_partner_the_tokenizations_of_one_run_are_compared():
    """Other settings, or no seed in common, are no fair partner."""
    pair = choose_fair_pair([QUICK, BASE])
    assert (pair.baseline, pair.compared) == (("quick", "base"), ("quick", "pooled"))
    assert (pair.differences, pair.other_settings) == ((TOKENIZATION,), ("base",))
    unpaired = describe("unpaired", "green", (9,))
    assert choose_sides(unpaired, BASE) == (("unpaired", "base"), ("unpaired", "pooled"))


def test_without_any_fair_comparison_the_fewest_differences_are_named():
    """Two base models of other settings: every difference is named, and the pair is not fair."""
    longer, shorter = describe("longer", epochs=9), describe("shorter", epochs=2, limit=50)
    pair = choose_fair_pair([shorter, longer, BASE])
    assert (pair.baseline, pair.compared) == (("base", "base"), ("longer", "base"))
    assert (pair.differences, pair.is_fair) == (("epochs",), True)
    two = choose_fair_pair([shorter, BASE])
    assert (two.differences, two.is_fair) == (("epochs", "limit"), False)
    # Nothing differs but seeds: there is nothing to compare.
    again = describe("again", seeds=(3, 4))
    assert choose_sides(again, BASE) == (None, ("base", "base"))
    assert choose_fair_pair([]) is None


def test_the_newest_task_with_a_fair_pair_is_chosen():
    """A single run on a newer task does not displace a comparison."""
    alone = describe("alone", task="new")
    assert choose_fair_pair([alone, ADAPTED, BASE]).task == "t"
    pair = choose_fair_pair([describe("its pair", "green", (1,), task="new"), alone, ADAPTED, BASE])
    assert pair.task == "new"
    assert pair.other_settings == ()


def test_a_chosen_side_gets_the_fairest_baseline():
    """The chosen run is the compared one, also if it is a base model, or collapsed."""
    runs = (QUICK, ADAPTED, BASE)
    assert choose_sides(*runs, compared=("quick", "pooled"))[0] == ("quick", "base")
    assert choose_sides(*runs, compared=("base", "base"))[0] == ("adapted", "pooled")
    assert choose_sides(*runs, compared=("adapted", "base"))[0] == ("base", "base")
    collapsed = describe("failed", "green", collapsed=THREE)
    assert choose_sides(collapsed, BASE, compared=("failed", "pooled"))[0] == ("base", "base")
    # An equal run that is newer stands for the chosen one nowhere.
    newer = replace(ADAPTED, name="newer")
    assert choose_sides(newer, *runs, compared=("adapted", "pooled"))[1] == ("adapted", "pooled")


def test_differences_are_named_each_once():
    """The tokenization trained on comes with the model; one seed in common suffices."""
    assert list_differences(BASE, ADAPTED) == (MODEL,)
    assert list_differences(BASE, QUICK) == (MODEL, "epochs")
    assert list_differences(BASE, replace(BASE, seeds=(3, 4))) == ()
    assert list_differences(BASE, replace(BASE, seeds=(4,))) == (SEEDS,)


@pytest.mark.parametrize(("model", "baseline"), [("plain", None), ("green", ("newer", "base"))])
def test_runs_without_a_seed_in_common_are_no_pair(model, baseline):
    """The pages open on the run of the first common seed, which there is not."""
    pair = choose_fair_pair([describe("newer", model, (2,)), describe("older", "plain", (1,))])
    assert pair.seeds == (2,) and pair.compared[0] == "newer"
    assert pair.baseline == baseline
