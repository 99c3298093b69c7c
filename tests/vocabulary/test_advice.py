"""Advice from counts: figures worked by hand on a vocabulary of a dozen tokens, every rule on
both sides of its threshold."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.material.stated_numbers import list_numbers
from vocadapt.lab.demo import HEADLINE
from vocadapt.lab.workspace.strict_json import dumps
from vocadapt.presets import PRESETS
from vocadapt.report.formats import format_precise
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.vocabulary.advice import rules
from vocadapt.vocabulary.advice.advice import (
    DEFAULT_PRESET,
    NO_PROMISE,
    advise,
    apply_rules,
    recommend,
    suggest_recipes,
)
from vocadapt.vocabulary.advice.measured_gains import (
    FULL_TASK,
    MEASURED_GAINS,
    MeasuredGain,
    summarize_gains,
)
from vocadapt.vocabulary.advice.rules import INTERCEPT, MAX_WORDS, MIN_WORDS, SLOPE, forecast
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.growth.word_tokenizations import (
    Gain,
    ModelSize,
    TokenizationStatistics,
    tokenize_pretokens,
)

SPECIAL = ("[UNK]", "[CLS]")
VOCABULARY = WordPieceVocabulary(
    (*SPECIAL, "the", "of", "drug", "##s", "hyper", "##tension", "##t", ".", "1", "##2"),
    frozenset(SPECIAL),
)
COUNTS = {"the": 60, ".": 30, "hypertension": 25, "drugs": 10, "12": 4, "hypert": 4, "ж": 2}
TASK = {"drugs": 3, "hypertension": 1, "drug": 4}


def counted(counts, lines=10, read=10):
    return WordCounts(dict(sorted(counts.items(), key=lambda item: -item[1])), lines, 100, read)


def advice_on(counts=COUNTS, task=None, **options):
    return advise(
        counted(counts),
        VOCABULARY,
        Splitter.bert(),
        ModelSize(width=2, parameters=100),
        task,
        **options,
    )


def test_tokenization_statistics_by_hand():
    cuts = tokenize_pretokens(VOCABULARY, COUNTS).statistics
    assert (cuts.words, cuts.distinct) == (60 + 25 + 10 + 4 + 2, 5)  # with a letter
    assert cuts.split_words == 25 + 10 + 4
    assert cuts.pieces == (62 / 101, 39 / 101, 0, 0, 0, 0)
    assert (cuts.running, cuts.tokens) == (135, 60 + 30 + 50 + 20 + 8 + 8 + 2)
    assert (cuts.split, cuts.split_distinct, cuts.unknown) == (39 / 101, 3 / 5, 2 / 101)
    assert cuts.fertility == 178 / 135


def test_no_words_at_all_are_no_division_by_zero():
    cuts = tokenize_pretokens(VOCABULARY, {}).statistics
    assert (cuts.split, cuts.split_distinct, cuts.unknown, cuts.fertility) == (0, 0, 0, 0)


def test_figures_by_hand():
    figures = advice_on(task=TASK)
    assert (
        figures.anchors == 2
    )  # the, "." : drug is no word of the text, 12 and hypert are too rare
    assert figures.expected.words == 60 + 30 + 25 + 10
    assert [gain.min_count for gain in figures.added] == [5, 20, 50]
    assert [gain.words for gain in figures.added] == [2, 1, 0]
    all_words, frequent, none = figures.added
    assert (all_words.parameters, all_words.bytes, all_words.model_share) == (4, 16, 0.04)
    assert (all_words.saved, frequent.saved, none.saved) == (35 / 178, 25 / 178, 0)
    assert frequent.fertility == (178 - 25) / 135
    assert (all_words.mended, frequent.mended) == (35 / 39, 25 / 39)
    assert all_words.mended_task == 1.0
    assert frequent.mended_task == 1 / 4  # of 3 drugs and 1 hypertension, which are cut
    assert (all_words.under_few, all_words.under_enough, all_words.median) == (0.5, 1.0, 17.5)
    assert (none.under_few, none.median) == (0.0, None)
    assert figures.top_saved == 35 / 178
    assert figures.task and figures.task.split == 4 / 8


def test_special_tokens_are_no_anchors():
    assert advice_on({"[CLS]": 99, "the": 99}).anchors == 1


def test_a_bare_vocabulary_has_no_parameters():
    gain = advise(counted(COUNTS), VOCABULARY, Splitter.bert()).added[0]
    assert (gain.words, gain.parameters, gain.bytes, gain.model_share) == (2, None, None, None)


def test_a_higher_floor_takes_the_place_of_lower_ones():
    figures = advice_on(min_count=30)
    assert [gain.min_count for gain in figures.added] == [30, 50] and figures.gain(
        20
    ).min_count == 30
    assert [gain.min_count for gain in advice_on(min_count=60).added] == [60]


def test_the_most_frequent_split_words():
    cut = advice_on(task=TASK).split_words
    shown = [(word.word, word.count, word.task_count) for word in cut]
    assert shown == [("hypertension", 25, 1), ("drugs", 10, 3), ("hypert", 4, 0)]
    assert cut[0].pieces == ("hyper", "##tension")
    assert advice_on().split_words[0].task_count is None


def test_the_forecast_is_its_formula_and_never_below_chance():
    said = forecast(1_000_000, 10_000, 384)
    assert said.value == pytest.approx(1 / (1 + math.exp(-(INTERCEPT + 6 * SLOPE))))
    assert said.low < said.value < said.high and said.chance == 0.0005 and said.outside == ()
    few = forecast(0, 10, 384)
    assert few.value == few.low == few.chance == 0.5
    assert forecast(0, 0, None).value == 1.0


def test_the_forecast_says_where_nothing_was_measured():
    asked = ((10**6, 384), (10**8, 384), (10**6, 768), (10**3, None))
    assert [len(forecast(words, 5000, width).outside) for words, width in asked] == [0, 1, 1, 1]


def test_the_forecast_rises_with_the_words():
    qualities = [forecast(words, 5000, 384).value for words in range(MIN_WORDS, MAX_WORDS, 500_000)]
    assert qualities == sorted(qualities) and 0.3 < qualities[0] < qualities[-1] < 0.8


def test_the_forecast_agrees_with_what_it_was_fitted_on():
    file = Path(__file__).parents[2] / "experiments" / "advise.json"
    runs = json.loads(file.read_text(encoding="utf-8"))["cells"]
    within = []
    for run in runs:
        if run["words"] >= MIN_WORDS:
            said = forecast(run["words"], 30_522, 384)
            within.append(said.low <= run["p@5"] <= said.high)
    assert len(within) > 15 and sum(within) >= 0.95 * len(within)


GOOD_CUTS = TokenizationStatistics(
    1000, 100, 120, 0.12, 0.5, 0.0, (0.88, 0.12, 0, 0, 0, 0), 1200, 1400, 1400 / 1200
)


def gain(floor, words, mended_task=None, under_few=0.0):
    return Gain(floor, words, 10, 40, 0.1, 0.07, 1.1, 0.5, mended_task, under_few, 0.4, 60.0, 0.07)


def good(**changes):
    """Figures to which no rule applies, with some of them changed."""
    figures = rules.Figures(
        corpus=GOOD_CUTS,
        task=None,
        lines=10,
        lines_read=10,
        min_count=5,
        width=384,
        anchors=9000,
        expected=forecast(6_000_000, 30_522, 384),
        added=(gain(5, 3000), gain(20, 1500), gain(50, 400)),
        top_saved=0.06,
    )
    return replace(figures, **changes)


def cuts(**changes):
    return replace(GOOD_CUTS, **changes)


def few(words):
    return {"added": (gain(5, 300), gain(20, words), gain(50, 9))}


def with_task(share, mended=0.5):
    return {
        "task": cuts(split=share, split_words=round(1000 * share)),
        "added": (gain(5, 3000, 1.0), gain(20, 1500, mended), gain(50, 400, 0.0)),
    }


@pytest.mark.parametrize(
    ("rule", "applies", "not_yet"),
    [
        ("unknown script", {"corpus": cuts(unknown=0.02)}, {"corpus": cuts(unknown=0.019)}),
        ("other language", {"corpus": cuts(split=0.3)}, {"corpus": cuts(split=0.299)}),
        (
            "little text",
            {"expected": forecast(74_999, 30_522, 384)},
            {"expected": forecast(75_000, 30_522, 384)},
        ),
        ("too few words", few(99), few(100)),
        ("hardly split", {"top_saved": 0.0299}, {"top_saved": 0.03}),
        (
            "hardly split",
            {"top_saved": 0.01, **with_task(0.24)},
            {"top_saved": 0.01, **with_task(0.25)},
        ),
        (
            "hardly split",
            {"top_saved": 0.01, **with_task(0.5, mended=0.09)},
            {"top_saved": 0.01, **with_task(0.5, mended=0.1)},
        ),
        ("rare words", {"added": (gain(5, 3000, under_few=0.5), *good().added[1:])}, {}),
        ("task elsewhere", with_task(0.5, mended=0.09), with_task(0.5, mended=0.1)),
        ("task hardly split", with_task(0.11), with_task(0.12)),
        ("not measured", {"width": 384, "expected": forecast(20_000_000, 9000, 384)}, {}),
        ("sample", {"lines": 9}, {"lines": 10}),
    ],
)
def test_every_rule_on_both_sides_of_its_threshold(rule, applies, not_yet):
    found = {finding.code: finding for finding in apply_rules(good(**applies))}
    assert rule in found
    assert found[rule].sentence and found[rule].why
    assert rule not in {finding.code for finding in apply_rules(good(**not_yet))}


def test_no_rule_applies_to_good_figures_and_each_is_tested():
    assert apply_rules(good()) == ()
    [mark] = test_every_rule_on_both_sides_of_its_threshold.pytestmark
    tested = {case[0] for case in mark.args[1]}
    assert tested == {rule.name for rule in rules.RULES}


def test_a_width_that_is_not_known_is_no_reason():
    assert not any(finding.stops for finding in apply_rules(good(width=None, anchors=100)))


def test_recipes_are_presets_with_a_cap_and_a_control():
    made = suggest_recipes(good())
    asked = [(DEFAULT_PRESET, 400), (DEFAULT_PRESET, 1500), ("green-bert-random", 400)]
    assert [(recipe.preset, recipe.max_added) for recipe in made] == asked
    assert all(
        recipe.preset in PRESETS and not PRESETS[recipe.preset].needs_alignment for recipe in made
    )


def test_the_recommended_words_occur_twenty_times_whatever_the_verdict():
    made = recommend(good())
    assert made and (made.max_added, made.min_count) == (1500, 20)
    assert made.preset in PRESETS
    # Without such words, all that get a vector; without any, nothing.
    rare = recommend(good(added=(gain(5, 3000), gain(20, 0), gain(50, 0))))
    assert rare and (rare.max_added, rare.min_count) == (3000, 5)
    assert recommend(good(added=(gain(5, 0), gain(20, 0), gain(50, 0)))) is None
    kept = advice_on()
    assert kept.verdict == "keep" and kept.recommended and kept.recommended.max_added == 1


@pytest.mark.parametrize("frequent", [99, 1500])
def test_caps_that_are_too_small_or_the_same_are_one(frequent):
    made = suggest_recipes(good(added=(gain(5, 3000), gain(20, 1500), gain(50, frequent))))
    assert [recipe.max_added for recipe in made] == [1500, 1500] and made[1].name == "control"


def domain_counts(anchors=400, new=150, count=1500):
    """A made text of words that a made vocabulary knows, and of others that it cuts."""
    known = [
        f"w{letter}{other}{third}"
        for letter in "abcdefgh"
        for other in "abcdefgh"
        for third in "abcdefgh"
    ][:anchors]
    added = [f"{word}z" for word in known[:new]]
    vocabulary = WordPieceVocabulary((*SPECIAL, *known, "##z"), frozenset(SPECIAL))
    return vocabulary, counted(dict.fromkeys(known, count * 4) | dict.fromkeys(added, count))


def test_a_domain_with_many_split_words_is_worth_a_run():
    vocabulary, counts = domain_counts()
    advice = advise(counts, vocabulary, Splitter.bert(), ModelSize(384, 10**6))
    assert advice.verdict == "adapt" and "150" in list_numbers(advice.sentence)
    assert advice.recipes and not any(finding.stops for finding in advice.reasons)
    assert advice.top_saved == pytest.approx(150 * 1500 / (400 * 6000 + 150 * 3000))


def test_a_little_text_is_a_warning_and_no_reason_against_a_run():
    vocabulary, counts = domain_counts(count=30)
    advice = advise(counts, vocabulary, Splitter.bert(), ModelSize(384, 10**6))
    assert advice.verdict == "adapt" and advice.recipes
    found = {finding.code: finding.stops for finding in advice.reasons}
    assert found["little text"] is False


def test_precision_is_told_apart_from_what_is_saved_and_from_what_a_task_gains():
    vocabulary, counts = domain_counts()
    advice = advise(counts, vocabulary, Splitter.bert(), ModelSize(384, 10**6))
    found = {finding.code: finding.sentence for finding in advice.findings}
    assert "P@5" not in advice.sentence and "P@5" not in found["shorter input"]
    assert f"{len(vocabulary):,}" in found["precision"]
    assert not any("P@5" in finding.sentence for finding in advice.reasons)
    assert NO_PROMISE in advice.findings


def test_words_are_chosen_by_some_lines_and_measured_on_the_held_out_ones():
    # In sample: hypertension 22 times (2 pieces); drugs only 4 times, below the floor
    # of 5, though 9 in all. Held out: "the" 5, hypertension 3 and drugs 5 of 5 + 2 · 3 + 2 · 5 tokens.
    whole = counted({"the": 45, "hypertension": 25, "drugs": 9})
    held_out = {"hypertension": 3, "the": 5, "drugs": 5}
    counts = replace(whole, held_out=held_out, held_out_lines=1)
    figures = advise(counts, VOCABULARY, Splitter.bert(), ModelSize(width=2))
    first = figures.added[0]
    assert (first.min_count, first.words) == (5, 1)
    assert first.saved == pytest.approx(3 / 21)
    assert first.saved_in_sample == pytest.approx(22 / (40 + 2 * 22 + 2 * 4))
    assert first.mended == pytest.approx(3 / 8)
    assert figures.top_saved == pytest.approx(3 / 21)
    assert figures.held_out_lines == 1
    # What describes the text is that of all lines.
    assert figures.corpus.words == 79


def test_two_lines_say_what_a_run_is_worth_and_what_it_does_not_promise():
    advice = advice_on({"hypertension": 400, "the": 600, "drug": 500})
    worth = advice.findings[0].sentence
    assert "21.1" in list_numbers(worth)  # 400 of 2 · 400 + 600 + 500
    assert FULL_TASK in NO_PROMISE.sentence and summarize_gains() in NO_PROMISE.sentence


def test_the_first_reason_is_the_verdict_and_all_are_listed():
    advice = advice_on({"ж": 50, "the": 50})
    stops = [finding.code for finding in advice.reasons if finding.stops]
    stopping = [rule for rule in rules.RULES if rule.stops and rule.name != "other language"]
    assert stops == [rule.name for rule in stopping]
    assert stopping[0].stops in advice.sentence
    assert list_numbers(advice.reasons[0].sentence)[0] == "50"


def test_the_answer_is_strict_json_of_fractions():
    answer = json.loads(dumps(advice_on(task=TASK)))
    assert answer["corpus"]["split"] == 39 / 101
    assert sum(answer["corpus"]["pieces"]) == pytest.approx(1)
    assert answer["task"]["split"] == 0.5 and answer["expected"]["words"] == 125
    assert set(answer["reasons"][0]) == {"code", "sentence", "stops", "why"}
    assert advice_on().task is None


def test_scores_are_written_without_their_zero_and_small_ones_with_two_digits():
    shown = [format_precise(value) for value in (0.0951, 0.00051, 0.5, 1.0, 0.0, None)]
    assert shown == [".095", ".00051", ".500", "1.000", ".000", "–"]


def test_the_measured_gains_are_those_of_the_docs():
    text = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text(encoding="utf-8")
    for one in MEASURED_GAINS:
        row = f"| {one.words} M | {one.embeddings} | {one.p1:.3f} | {one.gain:+.3f} |"
        row += f" {one.low:+.3f} to {one.high:+.3f} |"
        assert (
            row.replace("-", "−").replace("0.", ".").replace("least−squares", "least-squares")
            in text
        )


def test_the_interval_of_a_measured_gain_contains_it():
    assert len({(one.words, one.embeddings) for one in MEASURED_GAINS}) == len(MEASURED_GAINS)
    for one in MEASURED_GAINS:
        assert one.low <= one.gain <= one.high and 0 <= one.p1 <= 1


def test_the_gain_on_a_full_task_is_that_of_its_benchmark():
    real = json.loads(HEADLINE.read_text(encoding="utf-8"))["real"]
    difference = real["variants"]["stacked"]["difference to"]["none"]
    gain, low, high = (f"{value:.3f}".removeprefix("0") for value in difference)
    assert f"by {gain} " in FULL_TASK and f"{low} to {high}" in FULL_TASK


def test_the_measured_gains_in_a_sentence():
    gains = [
        MeasuredGain(1, "random", 0.0, -0.02, -0.04, -0.01),
        MeasuredGain(1, "ensemble", 0.1, 0.01, -0.01, 0.02),
        MeasuredGain(9, "ensemble", 0.3, 0.03, 0.01, 0.05),
    ]
    assert list_numbers(summarize_gains(gains)) == ["1", "2", "3", "95", "1", "1"]


def test_fewer_words_than_the_most_frequent_ones_are_counted():
    reasons = advice_on({"the": 9_000, "hypertension": 25}).reasons
    assert any(list_numbers(reason.sentence)[:1] == ["1"] for reason in reasons)
