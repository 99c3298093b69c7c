"""Growth of a text under reduced vocabularies: totals against real tokenization, the order of
table 6.10, the values of figure 3.1."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.reductions import COUNTS, OWN
from tests.material.stated_numbers import list_numbers
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary, build_tokenizer
from vocadapt.vocabulary.growth.growth import (
    Reducer,
    compute_parameter_fraction,
    measure_growth_over_seeds,
    study,
)
from vocadapt.vocabulary.lens import count_text
from vocadapt.vocabulary.plan.reduction import (
    NEEDED,
    PUBLISHED,
    REDUCTIONS,
    ReductionSettings,
    select_removed_tokens,
)


@pytest.mark.parametrize(("keep", "percent"), [(0.75, 5.35), (0.5, 10.71), (0.25, 16.06)])
def test_model_size_against_vocabulary_size(keep: float, percent: float) -> None:
    """Figure 3.1, from BERT-base: 109 482 240 parameters, 30 522 rows of 768."""
    assert round(
        100 * compute_parameter_fraction(109_482_240, 30_522, 768, keep), 2
    ) == pytest.approx(percent, abs=0.011)


def test_a_study_worked_by_hand() -> None:
    """last at 30 of 31 loses ##shed: nothing; at 29 traits too: nine times trait ##s for traits."""
    reducer = Reducer(OWN, COUNTS)
    assert reducer.tokens == 50 + 1 + 2 * 4 + 4 + 9  # tard: t ##a ##r ##d
    found = study(reducer, ["last"], [30 / 31, 29 / 31, 1.0])
    assert [(row.vocabulary, row.tokens) for row in found.rows] == [(30, 72), (29, 81), (31, 72)]
    assert [row.growth for row in found.rows] == [0.0, 9 / 72, 0.0]
    assert found.left_out == {}


def test_totals_equal_real_tokenization_of_the_text() -> None:
    words = [word for word, count in COUNTS.items() for _ in range(count)]
    np.random.default_rng(0).shuffle(words)
    text = " ".join(words) + ", a-b hearts! ##x"
    reducer = Reducer(OWN, count_text(text, Splitter.bert()))
    for heuristic in REDUCTIONS:
        for keep in (0.78, 0.85, 0.95):
            settings = ReductionSettings(heuristic, keep)
            gone = set(select_removed_tokens(OWN, settings, reducer.counts))
            reduced = build_tokenizer(tuple(token for token in OWN.tokens if token not in gone))
            assert reducer.measure_growth(settings).tokens == len(
                reduced.encode(text, add_special_tokens=False).ids
            )


def test_random_is_a_mean_and_its_deviation() -> None:
    reducer = Reducer(OWN, COUNTS)
    seeds = [1, 2, 3, 4]
    growths = [
        reducer.measure_growth(ReductionSettings("random", 0.85, seed)).growth for seed in seeds
    ]
    found = measure_growth_over_seeds(reducer, ReductionSettings("random", 0.85), seeds)
    assert found.growth == pytest.approx(np.mean(growths))
    assert found.sd == pytest.approx(np.std(growths, ddof=1)) and found.sd > 0
    assert measure_growth_over_seeds(reducer, ReductionSettings("random", 0.85), [1]).sd is None
    assert measure_growth_over_seeds(reducer, ReductionSettings("last", 0.85), seeds).sd is None


def test_words_that_become_unknown_are_counted() -> None:
    """ab is spelled by whole tokens only; the reader may still ask what would be without one of
    them.
    """
    own = WordPieceVocabulary(("[UNK]", "abcd", "##efgh", "x"), frozenset({"[UNK]"}))
    reducer = Reducer(own, {"abcdefgh": 3, "x": 1})
    with raises_input_error("too-few-tokens", NEEDED):
        reducer.measure_growth(ReductionSettings("last", 0.5))
    assert reducer.table.tokenize(np.array([False, False, True, False])).unknown.tolist() == [
        True,
        False,
    ]


def test_fractions_that_cannot_be_kept_are_reported() -> None:
    found = study(Reducer(OWN, COUNTS), ["last", "freq"], [0.9, 0.5])
    assert {row.keep for row in found.rows} == {0.9}
    assert "24" in list_numbers(found.left_out[0.5])
    with raises_input_error("too-few-tokens", "24"):
        study(Reducer(OWN, COUNTS), ["last"], [0.5])
    with raises_input_error("out-of-range", "1.5"):
        study(Reducer(OWN, COUNTS), ["last"], [1.5])
    with raises_input_error("empty-study"):
        study(Reducer(OWN, COUNTS), [], [0.5])


@pytest.mark.parametrize("name", ["bert-base-uncased", "pubmedbert-abstract-fulltext"])
def test_the_order_of_table_610_on_real_text(shared: Path, name: str) -> None:
    """freq < last < min(longest, random), on megabytes of biomedical text;
    experiments/reduction.py takes all of it.
    """
    with gzip.open(shared / "data/text/biomedical-fulltext.txt.gz", "rt", encoding="utf-8") as file:
        counts = count_text(file.read(1_500_000), Splitter.bert())
    reducer = Reducer(vocabulary_of(read_tokenizer(shared / f"data/vocab/{name}.txt")), counts)
    growth = {
        (row.heuristic, row.keep): row.growth for row in study(reducer, PUBLISHED, [0.75, 0.5]).rows
    }
    for keep in (0.75, 0.5):
        rival = min(growth["longest", keep], growth["random", keep])
        assert growth["freq", keep] < growth["last", keep] < rival
