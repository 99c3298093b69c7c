"""Properties of scores: bounds, independent oracles, and what must not change them."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocadapt.spaces.diagnostics.statistics import compute_mean_ranks, compute_spearman
from vocadapt.training.examples.tags import decode_spans, encode_spans
from vocadapt.training.scoring.counts import Tally
from vocadapt.training.scoring.scorers import SCORERS, normalize_answer
from vocadapt.training.scoring.uncertainty import Draws, bootstrap, compare, mcnemar_test

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-Y"]
IOB2 = ["O", "B-X", "I-X", "B-Y", "I-Y"]
LABELS = ["a", "b", "c", "d"]
DRAWS = Draws(rounds=50)


def tagged_pairs(tags: list[str]) -> st.SearchStrategy[tuple[list[list[str]], list[list[str]]]]:
    """Return gold and predicted tags of the same sentences."""
    word = st.tuples(st.sampled_from(tags), st.sampled_from(tags))
    sentences = st.lists(st.lists(word, min_size=1, max_size=8), min_size=1, max_size=6)
    return sentences.map(
        lambda found: tuple([[pair[side] for pair in one] for one in found] for side in (0, 1))
    )


labels = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=20
)


@given(tagged_pairs(IOB2))
def test_entity_scores_equal_those_of_seqeval(pair) -> None:
    seqeval = pytest.importorskip("seqeval.metrics")
    gold, predicted = pair
    score = SCORERS["entity-strict"].score(gold, predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert score.value == pytest.approx(seqeval.f1_score(gold, predicted))
        precision, recall = (
            seqeval.precision_score(gold, predicted),
            seqeval.recall_score(gold, predicted),
        )
    assert score.values["precision"] == pytest.approx(precision)
    assert score.values["recall"] == pytest.approx(recall)


@given(labels)
def test_label_scores_equal_those_of_scikit_learn(pairs) -> None:
    from sklearn.metrics import accuracy_score, f1_score

    gold, predicted = zip(*pairs, strict=True)
    sets = [[{label} for label in side] for side in (gold, predicted)]
    for name, average in (("macro-f1", "macro"), ("micro-f1", "micro")):
        expected = f1_score(gold, predicted, average=average, zero_division=0)
        assert SCORERS[name].score(*sets).value == pytest.approx(expected)
    assert SCORERS["accuracy"].score(*sets).value == pytest.approx(accuracy_score(gold, predicted))


@given(tagged_pairs(TAGS), st.randoms(use_true_random=False))
@pytest.mark.parametrize("name", ["entity-strict", "token", "wordpiece-macro", "legacy-seqeval"])
def test_tag_scores_are_bounded_symmetric_and_independent_of_the_order(name, pair, random) -> None:
    gold, predicted = pair
    scorer = SCORERS[name]
    score = scorer.score(gold, predicted)
    assert all(0 <= value <= 1 for value in score.values.values())
    swapped = scorer.score(predicted, gold)
    assert swapped.values["precision"] == pytest.approx(score.values["recall"])
    assert swapped.values["f1"] == pytest.approx(score.values["f1"])
    order = list(range(len(gold)))
    random.shuffle(order)
    shuffled = scorer.score([gold[i] for i in order], [predicted[i] for i in order])
    assert shuffled.values == pytest.approx(score.values)
    perfect = scorer.score(gold, gold)
    assert perfect.value == (1 if scorer.tally(gold, gold).totals.sum() else 0)


@given(labels, st.data())
def test_a_paired_comparison_changes_its_sign_when_the_sides_are_exchanged(pairs, data) -> None:
    gold, a = ([{label} for label in side] for side in zip(*pairs, strict=True))
    drawn = data.draw(st.lists(st.sampled_from(LABELS), min_size=len(gold), max_size=len(gold)))
    b = [{label} for label in drawn]
    for name in ("accuracy", "macro-f1"):
        one, other = (
            compare(SCORERS[name], gold, *sides, draws=DRAWS) for sides in ((a, b), (b, a))
        )
        assert one.difference == pytest.approx(-other.difference)
        assert one.p_randomisation == other.p_randomisation
        assert one.p_mcnemar == other.p_mcnemar
        assert 1 / (DRAWS.rounds + 1) <= one.p_randomisation <= 1
        has_limits = len(gold) > 1  # a single unit has no interval
        assert (one.interval.low is not None) == has_limits
        if has_limits:
            assert one.interval.low == pytest.approx(-other.interval.high)
        assert one.better_share + other.better_share <= 1
        same = compare(SCORERS[name], gold, a, a, draws=DRAWS)
        assert (same.difference, same.p_randomisation, same.better_share) == (0, 1, 0)
        interval = bootstrap(SCORERS[name], SCORERS[name].tally(gold, a), draws=DRAWS)
        assert not has_limits or 0 <= interval.low <= interval.high <= 1


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_mcnemar_is_a_symmetric_probability(pairs) -> None:
    one, other = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    assert 0 < mcnemar_test(one, other) <= 1
    assert mcnemar_test(one, other) == mcnemar_test(other, one)
    assert mcnemar_test(one, one) == 1


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=30), st.data())
def test_ranks_equal_those_of_scipy(values, data) -> None:
    from scipy.stats import rankdata, spearmanr

    one = np.array(values)
    size = len(values)
    other = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=size, max_size=size)))
    assert compute_mean_ranks(one).tolist() == rankdata(one).tolist()
    found = compute_spearman(one, other)
    if found is None:
        assert np.ptp(one) == 0 or np.ptp(other) == 0
        return
    assert found == pytest.approx(spearmanr(one, other).statistic)
    assert compute_spearman(other, one) == pytest.approx(found)
    assert compute_spearman(-one, other) == pytest.approx(-found)


@given(st.lists(st.sampled_from(TAGS), max_size=12))
def test_spans_survive_their_encoding(tags) -> None:
    spans = decode_spans(tags)
    assert decode_spans(encode_spans(spans, len(tags))) == spans
    assert all(span.start < span.end for span in spans)
    assert all(one.end <= two.start for one, two in pairwise(spans))


@given(st.text(max_size=30), st.text(max_size=30))
def test_answers_are_scored_within_bounds(gold, predicted) -> None:
    score = SCORERS["squad"].score([[gold]], [predicted])
    assert all(0 <= value <= 1 for value in score.values.values())
    assert SCORERS["squad"].score([[gold]], [gold]).value == 1
    if score.values["exact"]:
        assert score.values["f1"] == 1
    assert normalize_answer(normalize_answer(gold)) == normalize_answer(gold)


@given(labels, st.data())
def test_grouped_counts_keep_their_totals(pairs, data) -> None:
    gold, a = ([{label} for label in side] for side in zip(*pairs, strict=True))
    tally: Tally = SCORERS["micro-f1"].tally(gold, a)
    size = len(gold)
    groups = data.draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=size, max_size=size))
    grouped = tally.grouped(groups)
    assert len(grouped.rows) == len(set(groups))
    assert grouped.totals.tolist() == tally.totals.tolist()
