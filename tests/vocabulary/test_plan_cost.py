"""What a plan costs: chosen by some lines, measured on held-out ones."""

import numpy as np
import pytest

from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.growth.growth import Reducer, measure_growth_curves, study
from vocadapt.vocabulary.growth.plan_cost import measure_plan_cost, measure_savings
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import OVER_LIMIT, PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import REDUCTIONS, ReductionSettings

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = tuple("acehirst")
VOCABULARY = WordPieceVocabulary(
    (*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), "heart", "chair", "stair"),
    frozenset(SPECIAL),
)
# chair is rare in the lines that tokens are chosen by, and frequent in those that are held out.
CHOOSING = {"heart": 9, "stair": 5, "chair": 1}
HELD_OUT = {"chair": 3, "heart": 1}
WHOLE = {"heart": 10, "stair": 5, "chair": 4}
ONE_LESS = 1 - 1 / len(VOCABULARY)


def test_the_cost_of_a_reduction_is_measured_on_held_out_lines():
    reducer = Reducer(VOCABULARY, CHOOSING, HELD_OUT)
    found = reducer.measure_growth(ReductionSettings(keep=ONE_LESS))
    # freq removes chair: c ##h ##a ##i ##r are four tokens more. Held out: 4 → 16; else 15 → 19.
    assert (reducer.tokens, found.tokens, found.growth) == (4, 16, 3.0)
    assert found.growth_in_sample == pytest.approx(4 / 15)
    assert reducer.token_counts[VOCABULARY.ids["chair"]] == 4  # of the whole text
    alone = Reducer(VOCABULARY, CHOOSING).measure_growth(ReductionSettings(keep=ONE_LESS))
    assert alone.growth == alone.growth_in_sample == pytest.approx(4 / 15)


def test_a_random_reduction_has_the_mean_of_both():
    reducer = Reducer(VOCABULARY, CHOOSING, HELD_OUT)
    [cell] = study(reducer, ["random"], [ONE_LESS], seeds=(1, 2, 3, 4)).rows
    runs = [
        reducer.measure_growth(ReductionSettings("random", ONE_LESS, seed)) for seed in (1, 2, 3, 4)
    ]
    assert cell.growth == pytest.approx(np.mean([run.growth for run in runs]))
    assert cell.growth_in_sample == pytest.approx(np.mean([run.growth_in_sample for run in runs]))


def test_curves_begin_at_the_whole_vocabulary():
    curves = measure_growth_curves(Reducer(VOCABULARY, CHOOSING, HELD_OUT), seeds=(1,))
    assert set(curves) == set(REDUCTIONS)
    for sizes in curves.values():
        assert (sizes[0].keep, sizes[0].growth, sizes[0].growth_in_sample) == (1.0, 0.0, 0.0)


def test_every_removal_heuristic_has_a_title():
    titles = [reduction.title for reduction in REDUCTIONS.values()]
    assert all(titles) and len(set(titles)) == len(titles)
    assert ReductionSettings().heuristic == "freq"


def plan(kind, **settings):
    sources = PlanSources(counts=CHOOSING, held_out=HELD_OUT)
    return plan_vocabulary(
        VOCABULARY, Splitter.bert(), sources, PlanSettings(kind=kind, **settings)
    )


def test_the_plan_of_a_reduction_is_chosen_by_the_first_table():
    made = plan("reduce", remove_by="freq", removed=1 / len(VOCABULARY))
    assert made.removed_tokens == ("chair",)
    cost = measure_plan_cost(made, WordCounts(WHOLE, 9, 99, held_out=HELD_OUT, held_out_lines=7))
    assert (cost.tokens_before, cost.tokens_after, cost.growth) == (4, 16, 3.0)
    assert cost.growth_in_sample == pytest.approx(4 / 15)
    assert cost.held_out_lines == 7
    alone = measure_plan_cost(made, WordCounts(CHOOSING, 9, 99))
    assert (alone.growth, alone.held_out_lines) == (pytest.approx(4 / 15), 0)


def test_a_trim_keeps_the_whole_text_and_its_cost_is_that_without_the_held_out_lines():
    sources = PlanSources(counts={"heart": 9}, held_out={"chair": 3, "heart": 1})
    settings = PlanSettings(kind="trim", cover=1.0)
    made = plan_vocabulary(VOCABULARY, Splitter.bert(), sources, settings)
    # The text keeps its tokens, all of it; other text would not: chair would be unknown.
    assert {"chair", "heart"} <= set(made.tokens) and "stair" not in made.tokens
    assert made.trim is not None and made.trim.coverage == 1.0 and made.trim.tokens == 13
    held_out = made.trim.held_out
    assert held_out is not None and (held_out.tokens, held_out.kept_tokens) == (4, 1)
    assert held_out.unknown_after == 3
    assert held_out.coverage == 0.25
    counts = WordCounts(
        {"heart": 10, "chair": 3}, 9, 99, held_out=sources.held_out, held_out_lines=1
    )
    cost = measure_plan_cost(made, counts)
    assert (cost.growth_in_sample, cost.unknown, cost.held_out_lines) == (0.0, 3, 1)


def test_words_of_vectors_are_chosen_again_without_the_held_out_lines():
    # Two candidates, one of them added. Without the held-out lines the other one is more frequent.
    held_out = {"hat": 9, "tea": 1, "heart": 2}
    counts = WordCounts({"hat": 11, "tea": 6, "heart": 2}, 9, 99, held_out=held_out)
    added = (AddedWord("hat", ("h", "##a", "##t"), 11),)
    made = VocabularyPlan(VOCABULARY, added, left_out={OVER_LIMIT: ("tea",)})
    cost = measure_savings(made, Splitter.bert(), counts)
    # Held out: 3 · 10 + 2 = 32 tokens, of which tea saves 2; else 21, of which it saves 10.
    assert (cost.tokens_before, cost.tokens_after) == (32, 30)
    assert cost.growth_in_sample == pytest.approx(-10 / 21)
