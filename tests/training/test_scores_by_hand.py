"""Counts, figures and refusals of scores, each worked by hand: what mutation tests found unchecked."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.errors import InputError
from vocadapt.training.examples.tags import (
    Span,
    check_tag,
    choose_type_reader,
    count_stray_insides,
    decode_spans,
    detect_scheme,
    encode_spans,
)
from vocadapt.training.scoring import counts, uncertainty
from vocadapt.training.scoring.counts import Rules, Tally, check_cells, count_items, safe_divide
from vocadapt.training.scoring.scorers import SCORERS, overlap, register_scorer
from vocadapt.training.scoring.summary import (
    Baseline,
    SeedSummary,
    compute_group_means,
    is_collapsed,
    summarize_seeds,
)
from vocadapt.training.scoring.uncertainty import (
    Comparison,
    Draws,
    Interval,
    align_labels,
    average_tallies,
    bootstrap,
    compare,
    compare_tallies,
    mcnemar_test,
)

# One text is right (A), one A is taken for B, one B is right.
GOLD, PREDICTED = [["A"], ["A"], ["B"]], [["A"], ["B"], ["B"]]


def test_a_score_as_json_values() -> None:
    score = SCORERS["macro-f1"].score(GOLD, PREDICTED)
    assert score.to_dict() == {
        "precision": 0.75,  # A 1/1, B 1/2
        "recall": 0.75,  # A 1/2, B 1/1
        "f1": 2 / 3,  # both 2/3
        "scorer": "macro-f1",
        "definition": f"{SCORERS['macro-f1'].about}; here {score.classes}",
        "rules": {},
        "metric": "f1",
        "classes": score.classes,
        "units": 3,
        "by_label": {
            "A": {
                "precision": 1,
                "recall": 0.5,
                "f1": 2 / 3,
                "gold": 2,
                "predicted": 1,
                "right": 1,
            },
            "B": {
                "precision": 0.5,
                "recall": 1,
                "f1": 2 / 3,
                "gold": 1,
                "predicted": 2,
                "right": 1,
            },
        },
    }
    assert "'A'" in score.classes and "'B'" in score.classes
    assert score.value == 2 / 3
    assert {type(score.by_label["A"][name]) for name in ("gold", "predicted", "right")} == {int}


def test_a_score_without_classes_or_labels_names_neither() -> None:
    told = SCORERS["accuracy"].score(GOLD, PREDICTED).to_dict()
    assert "classes" not in told
    assert (told["accuracy"], told["by_label"], told["metric"]) == (2 / 3, {}, "accuracy")


@pytest.mark.parametrize(
    ("scorer", "labels", "rules", "classes"),
    [
        ("binary-f1", ("0", "1"), Rules(), "of the class '1'"),
        ("binary-f1", ("0", "2"), Rules(), "of the class '1', which no example has"),
        ("macro-f1", ("A", "B", "C"), Rules(), ""),
        ("macro-f1", ("A",), Rules(), ""),
        ("accuracy", ("A", "B"), Rules(), ""),  # no figures of each label
        ("entity-strict", ("A", "B"), Rules(), ""),  # no labeled texts
        ("macro-f1", ("A", "false"), Rules(), "over both classes, 'A' and 'false'"),
        ("macro-f1-positive", ("A", "false"), Rules(), "of the class 'A'"),
        ("macro-f1-positive", ("A", "B"), Rules(), "over both classes, 'A' and 'B'"),
        ("macro-f1-positive", ("A", "B"), Rules(negative=("A",)), "of the class 'B'"),
    ],
)
def test_the_scored_classes(
    scorer: str, labels: tuple[str, ...], rules: Rules, classes: str
) -> None:
    found = SCORERS[scorer]
    assert found.classes(labels, rules) == classes
    assert found.defined(labels, rules) == found.about + (f"; here {classes}" if classes else "")


def test_rules_that_a_score_depends_on_are_named() -> None:
    rules = Rules(negative=("B",), positive="A")
    positive = SCORERS["binary-f1"].score(GOLD, PREDICTED, rules)
    assert positive.rules == {"positive": "A"}
    assert positive.values == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
    without = SCORERS["micro-f1-positive"].score(GOLD, PREDICTED, rules)
    assert without.rules == {"negative": ("B",)}
    assert without.values == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}


def test_a_positive_class_that_no_example_has_scores_zero() -> None:
    score = SCORERS["binary-f1"].score(GOLD, PREDICTED)
    assert score.values == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_lists_of_different_lengths_and_empty_ones_are_refused() -> None:
    with raises_input_error("other-length", " 3 ", " 2."):
        SCORERS["accuracy"].tally(GOLD, PREDICTED[:2])
    with raises_input_error("nothing-to-score"):
        SCORERS["accuracy"].tally([], [])


def test_items_are_counted_by_unit_and_label() -> None:
    gold = [frozenset({("B", 1), ("B", 2), ("A", 1)}), frozenset()]
    predicted = [frozenset({("B", 2), ("B", 3)}), frozenset({("C", 1)})]
    tally = count_items(gold, predicted)
    assert tally.labels == ("A", "B", "C")
    assert tally.rows.tolist() == [
        [[1, 0, 0], [2, 2, 1], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 1, 0]],
    ]
    assert tally.totals.tolist() == [[1, 0, 0], [2, 2, 1], [0, 1, 0]]
    with pytest.raises(ValueError, match="zip"):
        count_items(gold, predicted[:1])


def test_counts_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MAX_CELLS", 1_200)
    check_cells(400, 3)
    with raises_input_error("too-many-counts") as refused:
        check_cells(1_201, 1)
    assert find_numbers(refused.value.problem) == [1_201, 1, 1_201, 1_200]
    monkeypatch.setattr(counts, "MAX_CELLS", 5)
    with raises_input_error("too-many-counts") as refused:
        SCORERS["macro-f1"].score(GOLD, PREDICTED)
    assert find_numbers(refused.value.problem) == [3, 2, 6, 5]


def test_units_of_a_group_are_summed_in_order_of_first_occurrence() -> None:
    tally = Tally(np.array([[[1.0, 2.0]], [[10.0, 20.0]], [[100.0, 200.0]]]), ("x",))
    grouped = tally.grouped(["late", "early", "late"])
    assert grouped.rows.tolist() == [[[101.0, 202.0]], [[10.0, 20.0]]]
    assert grouped.labels == ("x",)
    with pytest.raises(ValueError, match=r"2\D+3"):
        tally.grouped(["a", "b"])


def test_a_quotient_by_zero_is_zero() -> None:
    part, whole = np.array([[3.0], [1.0]]), np.array([2.0, 0.0])
    assert safe_divide(part, whole).tolist() == [[1.5, 0.0], [0.5, 0.0]]


def test_figures_of_many_sums_at_once() -> None:
    sums = np.array([[[2.0, 1.0, 1.0], [1.0, 2.0, 1.0]], [[4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    # Macro averages leave out a label that neither side has: the second has one label, F1 0.
    macro = SCORERS["macro-f1"].headlines(sums, ("A", "B"))
    assert macro.tolist() == [2 / 3, 0.0]
    micro = SCORERS["micro-f1"].compute(sums, ("A", "B"), Rules())
    assert {name: values.tolist() for name, values in micro.items()} == {
        "precision": [2 / 3, 0.0],
        "recall": [2 / 3, 0.0],
        "f1": [2 / 3, 0.0],
    }


@pytest.mark.parametrize(
    ("gold", "predicted", "score"),
    [
        ("", "", 1.0),
        ("the", "", 1.0),  # an article is nothing
        ("cat", "", 0.0),
        ("", "cat", 0.0),
        ("a cat sat", "cat", 2 / 3),  # 2 · 1 / (2 + 1)
        ("cat cat", "cat cat cat", 0.8),  # 2 · 2 / (2 + 3)
    ],
)
def test_overlap_of_answers(gold: str, predicted: str, score: float) -> None:
    assert overlap(gold, predicted) == score


def test_answers_are_counted_by_question() -> None:
    tally = SCORERS["squad"].tally([["a cat", "the big cat"], []], ["big", "cat"])
    assert tally.rows.tolist() == [[[0.0, 2 / 3, 1.0, 1.0]], [[0.0, 0.0, 0.0, 1.0]]]
    assert SCORERS["squad"].score_tally(tally).values == {
        "exact": 0.0,
        "f1": 1 / 3,
        "substring": 0.5,
    }
    with pytest.raises(ValueError, match="zip"):
        SCORERS["squad"].count([["a"]], ["a", "b"], Rules())


def test_examples_with_and_without_labels() -> None:
    gold, predicted = [["A", "B"], ["A"], [], []], [["A"], [], [], ["B"]]
    tally = SCORERS["example-f1"].tally(gold, predicted)
    assert tally.rows[:, 0].tolist() == [
        [1.0, 0.5, 2 / 3, 1.0],
        [0.0, 0.0, 0.0, 1.0],
        [1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
    values = SCORERS["example-f1"].score_tally(tally).values
    assert values == {
        "precision": 0.5,
        "recall": 0.375,
        "f1": pytest.approx(2 * 0.5 * 0.375 / 0.875),
        "mean_f1": pytest.approx(5 / 12),
    }


def test_bare_tags_against_typed_ones_are_refused_from_both_sides() -> None:
    typed, bare = [["B-X", "I-X", "O"]], [["B", "I", "O"]]
    strict = SCORERS["entity-strict"]
    with raises_input_error("bare-and-typed-tags") as refused:
        strict.score(typed, bare)
    assert refused.value.setting == "untyped"
    with raises_input_error("bare-and-typed-tags"):
        strict.score(bare, typed)
    assert strict.score(typed, bare, Rules(untyped=True)).value == 1.0
    assert strict.score(typed, [["O", "O", "O"]]).value == 0.0
    assert list(strict.score(bare, bare).by_label) == ["entity"]
    with raises_input_error("other-sentence-length", "Sentence 2"):
        strict.score([["O"], ["O"]], [["O"], ["O", "O"]])


def test_the_last_part_of_a_type_is_what_the_old_release_reads() -> None:
    score = SCORERS["legacy-seqeval"].score([["B-a-X", "B"]], [["B-b-X", "I"]])
    assert {label: values["right"] for label, values in score.by_label.items()} == {
        "X": 1,
        "B": 0,
        "I": 0,
    }


def test_token_and_wordpiece_scores_differ_in_the_outside_tag() -> None:
    gold, predicted = [["O", "B-X", "I-X"]], [["O", "B-X", "B-X"]]
    assert set(SCORERS["token"].score(gold, predicted).by_label) == {"B-X", "I-X"}
    assert SCORERS["wordpiece-macro"].score(gold, predicted).value == pytest.approx(5 / 9)


def test_a_name_of_a_scorer_is_given_once() -> None:
    with pytest.raises(InputError, match="a scorer"):
        register_scorer(SCORERS["token"])


# Summaries


def test_seeds_by_hand() -> None:
    assert summarize_seeds([1.0, 3.0, 0.0], [False, False, True]) == SeedSummary(
        (1.0, 3.0, 0.0), 4 / 3, pytest.approx(np.sqrt(7 / 3)), 1, 2.0, np.sqrt(2)
    )
    assert summarize_seeds([5.0]) == SeedSummary((5.0,), 5.0, None, 0, 5.0, None)
    assert summarize_seeds([5.0], [True]) == SeedSummary((5.0,), 5.0, None, 1, None, None)
    with pytest.raises(ValueError, match="no value"):
        summarize_seeds([])
    with pytest.raises(ValueError, match="zip"):
        summarize_seeds([1.0, 2.0], [True])


@pytest.mark.parametrize(
    ("scores", "collapsed"),
    [
        ([], False),
        ([0.5], True),
        ([0.5, 0.4], True),
        ([0.500002], False),
        ([0.5000005], True),  # within the tolerance
        ([0.6], True),  # a constant answer
        ([0.6, 0.61], False),
        ([0.599], False),
    ],
)
def test_a_run_that_never_left_the_baseline(scores: list[float], collapsed: bool) -> None:
    assert is_collapsed(scores, Baseline(0.5, (0.3, 0.6))) is collapsed


def test_means_of_groups_by_hand() -> None:
    means = compute_group_means(
        {"a": 1.0, "b": 3.0, "d": 5.0}, {"one": ["a", "b", "c"], "none": ["e"]}, {"b": 2, "c": 4}
    )
    assert means == {
        "one": {"mean": 2.0, "scored": 2, "of": 3, "collapsed": 2},
        "none": {"mean": None, "scored": 0, "of": 1, "collapsed": 0},
        "all": {"mean": 3.0, "scored": 3, "of": 5, "collapsed": 2},
    }
    assert compute_group_means({"a": 1.0}, {})["all"]["collapsed"] == 0


# Uncertainty


def test_the_example_of_resampled_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the module: a resample with the weights 2 0 1 has an F1 of .8."""
    tally = Tally(np.array([[[1.0, 1.0, 1.0]], [[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]]))
    weights = [np.array([[2.0, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0]])]
    monkeypatch.setattr(uncertainty, "_draw_weights", lambda units, draws: iter(weights))
    found = bootstrap(SCORERS["micro-f1"], tally, draws=Draws(rounds=2, level=0.5))
    # F1 of the second: 2 · 1 / (3 + 2) = .4; quartiles of .4 and .8.
    assert found == Interval(pytest.approx(0.5), pytest.approx(0.7), 0.5)


def test_a_comparison_by_hand() -> None:
    """Both have the first text right, B alone the second: an exchange changes the sign, or nothing."""
    gold = [["A"], ["A"]]
    found = compare(
        SCORERS["accuracy"], gold, [["A"], ["B"]], [["A"], ["A"]], draws=Draws(rounds=99)
    )
    assert found == Comparison(
        scorer="accuracy",
        a=0.5,
        b=1.0,
        difference=0.5,
        interval=Interval(0.0, 1.0, 0.95),
        better_share=found.better_share,
        p_randomisation=1.0,
        p_mcnemar=1.0,
        units=2,
        rounds=99,
        seed=0,
    )
    # B is better unless the first text is drawn twice: a quarter of the resamples.
    assert 0.6 < found.better_share < 0.9


def test_every_exchange_as_large_as_the_difference_counts() -> None:
    """Ten texts that only B has right: 2 of the 1,024 exchanges are as large."""
    gold, wrong = [["A"]] * 10, [["B"]] * 10
    found = compare(SCORERS["accuracy"], gold, wrong, gold, draws=Draws(rounds=2_000))
    assert found.p_mcnemar == pytest.approx(2 / 1024)
    assert 1 / 2_001 <= found.p_randomisation < 0.006
    assert found.better_share == 1.0


def test_mcnemar_needs_units_of_one_example() -> None:
    accuracy = SCORERS["accuracy"]
    tally = accuracy.tally(GOLD, PREDICTED)
    of_documents = tally.grouped(["x", "x", "y"])
    halves = Tally(tally.rows * np.array([0.5, 1.0]))
    assert compare_tallies(accuracy, tally, tally).p_mcnemar == 1.0
    assert compare_tallies(accuracy, of_documents, of_documents).p_mcnemar is None
    assert compare_tallies(accuracy, tally, halves).p_mcnemar is None
    assert compare_tallies(accuracy, halves, tally).p_mcnemar is None
    f1 = SCORERS["micro-f1"]
    of_f1 = f1.tally(GOLD, PREDICTED)
    assert compare_tallies(f1, of_f1, of_f1).p_mcnemar is None


def test_mcnemar_counts_what_one_side_alone_has_right() -> None:
    a, b = np.array([1, 1, 1, 1, 0, 1]), np.array([0, 0, 0, 0, 1, 1])
    assert mcnemar_test(a, b) == mcnemar_test(b, a) == pytest.approx(12 / 32)
    assert mcnemar_test(a, a) == 1.0
    assert mcnemar_test(a[:1], b[:1]) == 1.0


def test_tallies_of_other_labels_are_aligned_and_averaged() -> None:
    one = Tally(np.array([[[2.0, 0.0, 0.0]]]), ("B",))
    other = Tally(np.array([[[4.0, 2.0, 2.0]]]), ("A",))
    aligned = align_labels([one, other])
    assert [tally.labels for tally in aligned] == [("A", "B")] * 2
    assert aligned[0].rows.tolist() == [[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]]
    mean = average_tallies([one, other])
    assert mean.labels == ("A", "B")
    assert mean.rows.tolist() == [[[2.0, 1.0, 1.0], [1.0, 0.0, 0.0]]]


def test_resamples_draw_as_many_units_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(uncertainty._draw_weights(4, Draws(rounds=10))))
    assert whole.shape == (10, 4) and whole.dtype == np.float64
    assert (whole.sum(axis=1) == 4).all() and len({tuple(row) for row in whole}) > 3
    monkeypatch.setattr(uncertainty, "BLOCK", 12)
    assert list(uncertainty._blocks(4, Draws(rounds=10))) == [3, 3, 3, 1]
    assert list(uncertainty._blocks(13, Draws(rounds=2))) == [1, 1]
    in_blocks = np.concatenate(list(uncertainty._draw_weights(4, Draws(rounds=10))))
    assert (in_blocks == whole).all()


def test_exchanges_move_each_unit_or_not() -> None:
    difference = np.array([[1.0], [10.0], [100.0]])
    moves = np.concatenate(list(uncertainty._draw_moves(difference, Draws(rounds=200))))
    digits = {f"{int(value):03}" for value in moves.ravel()}
    assert digits == {a + b + c for a in "01" for b in "01" for c in "01"}
    # Their random numbers are not those of the resamples, which have the seed itself.
    drawn = np.random.default_rng(1).integers(0, 2, size=(200, 3)) @ difference
    assert (moves == drawn).all()


# Tags


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-X I-X O I", [(0, 2, "X"), (3, 4, "")]),
        ("B-X B-X", [(0, 1, "X"), (1, 2, "X")]),
        ("I-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
        ("B-X E-X I-X", [(0, 2, "X"), (2, 3, "X")]),
        ("S-X I-X E-X", [(0, 1, "X"), (1, 3, "X")]),
        ("O I-X E-X O", [(1, 3, "X")]),
        ("", []),
    ],
)
def test_spans_by_hand(tags: str, spans: list[tuple[int, int, str]]) -> None:
    found = decode_spans(tags.split())
    assert found == tuple(Span(*span) for span in spans)


def test_tags_of_spans() -> None:
    spans = [Span(0, 1, "X"), Span(2, 5, ""), Span(5, 6, "Y")]
    assert encode_spans(spans, 7) == ("B-X", "O", "B", "I", "I", "B-Y", "O")


@pytest.mark.parametrize(
    ("tags", "scheme", "stray"),
    [
        (["B-X I-X O B-X"], "IOB2", 0),
        (["I-X I-X O I-X B-X"], "IOB1", 2),
        (["I-X O B-X"], "IOB2", 1),  # as many of each
        (["I-X I-Y O B-X"], "IOB1", 2),
        (["B-X E-X O S-X"], "BIOES", 0),
        (["O E-X"], "BIOES", 1),
        (["B-X E-X I-X S-X E-X"], "BIOES", 2),
        (["O", "I-X"], "IOB1", 1),
        (["B-X", "I-X", "I-X"], "IOB1", 2),  # a sentence begins after an O
        ([], "IOB2", 0),
    ],
)
def test_schemes_and_stray_insides(tags: list[str], scheme: str, stray: int) -> None:
    sentences = [line.split() for line in tags]
    assert detect_scheme(sentences) == scheme
    assert count_stray_insides(sentences) == stray


def test_a_wrong_tag_is_refused_with_its_place() -> None:
    assert [check_tag(tag, "Line 3") for tag in ("O", "B", "S-a-b")] == ["O", "B", "S-a-b"]
    for wrong in ("o", "B-", "X-Y", "OO", "B-a b", ""):
        with raises_input_error("invalid-tag", "Line 3"):
            check_tag(wrong, "Line 3")
    with raises_input_error("invalid-tag", "Line 3", repr("Z" * 40)):
        check_tag("Z" * 50, "Line 3")


def test_bare_tags_begin_a_span_at_the_start_of_a_sentence() -> None:
    assert detect_scheme([["I", "O"]]) == "IOB1"
    assert count_stray_insides([["I", "I"], ["I"]]) == 2
    assert choose_type_reader(True)("B-X") == ""
    assert choose_type_reader(False)("B-X") == "X"
    assert is_collapsed([0.5], Baseline(0.5, ()), tolerance=0.0)  # equal is not above
