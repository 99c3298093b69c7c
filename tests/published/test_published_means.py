"""Published means, recomputed from the cells they are means of."""

import pytest

from tests.material.cases import check_each
from tests.material.printed_means import check_means
from vocadapt.published.reader import find_table
from vocadapt.training.scoring.summary import compute_group_means

SCORED = [f"fast-6.{number}" for number in range(2, 10)]

# Printed means whose last decimal is not that of the mean of the printed cells: by rounding alone.
LAST_DECIMAL = {
    "fast-6.3": [
        ("Mean (Seq. Lab.)", "BERT, uniform", "-37.63", "-37.624"),
        ("Mean (PubMed)", "BERT, normal", "-15.59", "-15.585"),
        ("Mean (Clinical)", "BERT, normal", "-11.76", "-11.754"),
    ],
    "fast-6.4": [
        ("Mean (Seq. Lab.)", "last 50 %", "-0.66", "-0.655"),
        ("Mean (Clinical)", "last 25 %", "0.0", "-0.006"),
    ],
    "fast-6.5": [
        ("Mean (Classif.)", "last 50 %", "1.0", "1.006"),
        ("Mean (Classif.)", "random 25 %", "-0.69", "-0.696"),
        ("Mean (PubMed)", "freq 50 %", "-0.03", "-0.035"),
        ("Mean (Clinical)", "freq 25 %", "-0.63", "-0.624"),
        ("Mean (all)", "freq 50 %", "-0.35", "-0.356"),
    ],
    "fast-6.6": [
        ("Mean (Seq. Lab.)", "+ syntactic WE", "-1.6", "-1.595"),
        ("Mean (Classif.)", "+ syntactic WE", "-4.01", "-4.016"),
        ("Mean (Clinical)", "+ random WE", "-11.28", "-11.286"),
    ],
    "fast-6.7": [
        ("Mean (Seq. Lab.)", "100 %", "-1.6", "-1.595"),
        ("Mean (Clinical)", "25 %", "-0.87", "-0.876"),
    ],
    "fast-6.8": [
        ("Mean (Classif.)", "25 %", "0.75", "0.755"),
        ("Mean (Clinical)", "75 %", "-0.49", "-0.484"),
        ("Mean (all)", "50 %", "-1.22", "-1.214"),
    ],
    "fast-6.9": [
        ("Mean (Seq. Lab.)", "transfer", "80.37", "80.376"),
        ("Mean (PubMed)", "transfer", "79.38", "79.386"),
    ],
}


@check_each("name", SCORED)
def test_published_means_are_those_of_the_cells_up_to_rounding(name: str) -> None:
    checks = check_means(find_table(name))
    assert len(checks) == 5 * len(find_table(name).columns)
    assert all(check.agrees for check in checks)
    differing = [
        (check.row, check.column, str(check.printed), str(round(check.recomputed, 3)))
        for check in checks
        if not check.is_exact
    ]
    assert differing == LAST_DECIMAL.get(name, [])


@pytest.mark.parametrize("name", ["fast-6.7", "fast-6.8"])
def test_hoc_is_left_out_of_two_means_of_the_combined_models(name: str) -> None:
    checks = check_means(find_table(name), with_left_out=True)
    assert {(check.row, check.column) for check in checks if not check.agrees} == {
        (row, column)
        for row in ("Mean (Classif.)", "Mean (all)")
        for column in ("25 %", "50 %", "75 %", "100 %")
    }
    left = [check for check in check_means(find_table(name)) if check.left_out]
    assert len(left) == 8
    assert {check.left_out for check in left} == {("HOC",)}


def test_table_6_6_averages_the_run_that_scored_zero() -> None:
    checks = check_means(find_table("fast-6.6"), without_collapsed=True)
    without = {check.row: round(float(check.recomputed), 2) for check in checks if not check.agrees}
    assert without == {
        "Mean (Seq. Lab.)": -6.84,  # -14.74 printed
        "Mean (PubMed)": -16.76,  # -22.67 printed
        "Mean (all)": -17.74,  # -21.95 printed
    }


def test_groups_have_the_published_numbers_of_tasks() -> None:
    groups = find_table("fast-6.2").groups
    assert {name: len(rows) for name, rows in groups.items()} == {
        "sequence labeling": 11,
        "classification": 7,
        "PubMed": 13,
        "clinical": 5,
        "all": 18,
    }
    assert groups["clinical"] == (
        "I2B2-2010-NER",
        "I2B2-2012-NER",
        "I2B2-2014-NER",
        "I2B2-2010-RE",
        "MedNLI",
    )
    assert find_table("exbert-1").groups == {}


def test_our_scores_are_averaged_over_the_tasks_that_have_one() -> None:
    groups = find_table("fast-6.2").groups
    means = compute_group_means({"HOC": 0.9, "MedNLI": 0.7}, groups, {"HOC": 1})
    assert means["classification"] == {
        "mean": pytest.approx(0.8),
        "scored": 2,
        "of": 7,
        "collapsed": 1,
    }
    assert means["clinical"]["mean"] == pytest.approx(0.7)
    assert means["sequence labeling"] == {"mean": None, "scored": 0, "of": 11, "collapsed": 0}
    assert means["all"]["of"] == 18


def test_the_published_means_are_recomputed_by_the_function_for_our_scores() -> None:
    table = find_table("fast-6.2")
    scores = {
        row.name: table.grid[row.name, "BlueBERT"].number for row in table.rows if not row.mean_of
    }
    means = compute_group_means(scores, table.groups)
    for row in table.rows:
        if row.mean_of:
            printed = table.grid[row.name, "BlueBERT"].number
            assert round(means[row.mean_of]["mean"], 2) == printed
