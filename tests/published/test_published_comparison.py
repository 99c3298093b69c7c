"""A published cell and our score: a difference only where all that defines a score matches."""

from dataclasses import replace

import pytest

from vocadapt.published.comparison import Score, compare
from vocadapt.published.reader import find_table

DDI = find_table("fast-6.2").find_cell("DDI-2013", "BERT")
OURS = Score(
    0.79,
    n=3,
    data="bio-lm/DDI-2013",
    split="test",
    scorer="micro-f1-positive",
    base_model="bert-base-uncased",
    sd=0.004,
)


def test_a_difference_in_the_unit_of_the_cell() -> None:
    result = compare(DDI, OURS)
    assert result.is_comparable
    assert (result.published, result.ours) == (78.79, 79.0)
    assert result.difference == 0.21
    assert result.sd == pytest.approx(0.4)
    assert result.n == 3


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"data": "other/DDI"}, "data version: bio-lm/DDI-2013 published, other/DDI ours"),
        ({"split": "dev"}, "split: test published, dev ours"),
        ({"scorer": "macro-f1-positive"}, "scorer: micro-f1-positive published"),
        ({"figure": "precision"}, "figure of the score: f1 published, precision ours"),
        ({"base_model": "MiniLM"}, "base model: bert-base-uncased published, MiniLM ours"),
        ({"base_model": ""}, "base model: bert-base-uncased published, unknown ours"),
        ({"is_change": True}, "one of the values is a change"),
        ({"value": "high"}, "one of the values is text"),
    ],
)
def test_one_thing_that_differs_makes_it_not_comparable(changed: dict, why: str) -> None:
    result = compare(DDI, replace(OURS, **changed))
    assert result.why.startswith(f"not comparable: {why}")
    assert result.difference is None
    assert not result.is_comparable


def test_what_the_publication_leaves_open_is_not_comparable() -> None:
    ner = find_table("fast-6.2").find_cell("NCBI-disease", "BERT")
    ours = replace(OURS, data="bio-lm/NCBI-disease", scorer="entity-strict")
    assert compare(ner, ours).why == "not comparable: the scorer is not stated by Fast 2023"
    hoc = find_table("fast-6.2").find_cell("HOC", "BERT")
    ours = replace(OURS, data="bio-lm/HoC", scorer="example-f1")
    assert compare(hoc, ours).why == "not comparable: the split is not stated by Fast 2023"
    exbert = find_table("exbert-1").find_cell("BERT", "no module")
    assert "data version is not stated by Tai et al. 2020" in compare(exbert, OURS).why


def test_the_two_versions_of_covid_qa_are_not_comparable() -> None:
    cell = find_table("poerner-covid-qa").find_cell("2,019 questions, SQuADBERT", "EM")
    ours = Score(
        0.3304,
        n=1,
        data="qa/Covid-QA-final",
        split="test",
        scorer="squad",
        figure="exact",
        base_model="bert-large-uncased-whole-word-masking-finetuned-squad",
    )
    assert compare(cell, ours).difference == 0.0
    assert "data version" in compare(cell, replace(ours, data="qa/Covid-QA")).why


def test_changes_are_compared_with_changes() -> None:
    cell = find_table("fast-6.4").find_cell("DDI-2013", "last 25 %")
    result = compare(cell, replace(OURS, value=0.0123, sd=None, is_change=True))
    assert result.difference == 0.2
    assert result.sd is None


def test_an_empty_cell_a_failed_run_and_a_missing_score() -> None:
    empty = find_table("poerner-ner").find_cell("LINNAEUS", "GreenBioBERT, F1")
    ours = replace(
        OURS, data="biobert/LINNAEUS", scorer="entity-strict", base_model="bert-base-cased"
    )
    assert compare(empty, ours).why == (
        "not comparable: the published value is not at hand (the table is not in the text at hand)"
    )
    failed = find_table("fast-6.6").find_cell("LINNAEUS", "+ semantic WE")
    assert "the published run failed" in compare(failed, replace(OURS, is_change=True)).why
    missing = compare(DDI, None, "the data is given out under an agreement")
    assert missing.why == "not available: the data is given out under an agreement"
    assert (missing.published, missing.ours) == (78.79, None)
    assert compare(DDI, None).why == "not available"


def test_texts_are_equal_or_not() -> None:
    cell = find_table("fast-2.1").find_cell("hypertension", "BERT")
    ours = Score(
        "hyper-tension",
        n=1,
        data="17 biomedical terms",
        split="all",
        scorer="tokenization",
        base_model="bert-base-uncased",
    )
    assert compare(cell, ours).equal is True
    assert compare(cell, replace(ours, value="hyp-ertension")).equal is False
    assert compare(cell, ours).difference is None


def test_values_that_are_no_scores_keep_their_unit() -> None:
    cell = find_table("exbert-prose").find_cell("parameters of exBERT", "printed")
    ours = Score(
        137.7,
        n=1,
        data="weights of the model",
        split="all",
        scorer="parameters",
        base_model="bert-base-uncased",
    )
    assert compare(cell, ours).difference == -0.3
