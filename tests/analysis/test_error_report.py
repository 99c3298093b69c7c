"""The error report as HTML, CSV and JSON is complete, escaped and self-contained."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from vocadapt.analysis.errors.ledger import ADDED, BROKEN, FIXED, REMOVED, Side, build_ledger
from vocadapt.analysis.errors.report import (
    LISTED_OUTCOMES,
    Report,
    find_alarms,
    summarize_comparison,
)
from vocadapt.analysis.errors.slicing import Slicing
from vocadapt.analysis.errors.word_tokenizations import WordIndex
from vocadapt.lab.workspace.strict_json import dumps
from vocadapt.report.formats import format_points
from vocadapt.training.examples.examples import Sentence, Split
from vocadapt.training.scoring.counts import DEFAULT_RULES
from vocadapt.training.scoring.uncertainty import Draws, compare
from vocadapt.training.tasks.kinds import TASK_KINDS

HOSTILE = "<script>alert(1)</script>"
BIDI = "\u202eevil\u2066"
LONG = "x" * 3000
SPLIT = Split(
    (
        Sentence((HOSTILE, "fever"), ("B-D", "O"), "<img/src=x>"),
        Sentence((BIDI, "[a](b)", "$x$"), ("O", "B-D", "O")),
        Sentence((LONG, "=1+1"), ("O", "B-D")),
        Sentence(("all", "well"), ("B-D", "O")),
    )
)
FIRST = [("O", "O"), ("O", "B-D", "O"), ("O", "O"), ("B-D", "O")]
SECOND = [("B-D", "B-D"), ("B-D", "O", "O"), ("B-D", "O"), ("B-D", "O")]


@pytest.fixture(scope="module")
def report():
    scorer = TASK_KINDS["ner"].scorer()
    book = build_ledger(SPLIT, Side("a", FIRST), Side("b", SECOND), TASK_KINDS["ner"])
    test = compare(scorer, SPLIT.gold, FIRST, SECOND, draws=Draws(100))
    notes = {entry.id: ("<b>note</b>", ("tag",)) for entry in book.entries}
    slicing = Slicing(book, WordIndex(), scorer, DEFAULT_RULES)
    return Report(slicing, ("<run>", "b"), test, notes, command="compare '<x>'")


def test_the_page_stands_alone_and_everything_in_it_is_escaped(report):
    page = report.html()
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>note" not in page
    assert "<run>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "&lt;b&gt;note&lt;/b&gt;" in page
    assert "\u202e" not in page and "‹U+202E›" in page
    assert not re.search(
        r"(?:src|href)\s*=|https?:|@import|url\(", page.replace("&lt;img/src=x&gt;", "")
    )
    assert "color-scheme" in page and "light-dark(" in page
    assert page.count('<article class="ve-card">') == len(report.entries) == 6
    assert "listed: 1" in page  # one unit is right on both sides


def test_tags_of_the_page_are_balanced(report):
    page = report.html()
    for name in ("article", "div", "span", "table", "mark", "details", "bdi"):
        assert len(re.findall(rf"<{name}[ >]", page)) == page.count(f"</{name}>"), name


def test_csv_holds_every_entry_and_no_formula(report):
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert len(rows) == 6 and {row["outcome"] for row in rows} <= set(LISTED_OUTCOMES)
    assert [row["gold"] for row in rows if row["outcome"] == "both wrong"] == ["'=1+1"]
    assert all(row["note"] == "<b>note</b>" and row["tags"] == "tag" for row in rows)
    assert next(row for row in rows if row["outcome"] == "fixed")["second"] == f"{HOSTILE} (D)"


def test_json_holds_counts_slices_and_entries(report):
    found = json.loads(dumps(report.build_analysis()))
    assert found["counts"]["fixed"] == 1 and found["entries_left_out"] == {"both right": 1}
    assert len(found["entries"]) == 6
    assert {one["name"] for one in found["slices"]} == {"suffix", "rest"}
    fixed = found["entries"][0]
    assert fixed["first"] == {"predicted": "", "error": "missed"}
    assert fixed["event"] == report.entries[0].event
    assert fixed["vote"] is None
    assert fixed["example"] == 1 and fixed["where"].startswith("<img/src=x> ")


def test_a_difference_is_reported_in_points_and_a_test_without_a_claim_where_chance_would_do():
    assert [format_points(value) for value in (0.024, -0.003, 0.0, None)] == [
        "+2.4",
        "−0.3",
        "+0.0",
        "",
    ]
    scorer, gold = TASK_KINDS["ner"].scorer(), [("B-D",)] * 40
    same = compare(scorer, gold, gold, gold, draws=Draws(50))
    scores, difference = summarize_comparison(same, "F1")
    assert scores.startswith("F1 ") and scores.count("1.000") == 2
    assert (
        difference.startswith("+0.0 points")
        and difference.endswith("no claim")
        and "1.000" in difference
    )
    sure = compare(scorer, gold, [("O",)] * 40, gold, draws=Draws(1000))
    assert summarize_comparison(sure, "F1")[1].endswith(" < .001")  # 1 of 1,001
    unsure = replace(sure, p_randomisation=0.05)
    assert summarize_comparison(unsure, "F1")[1].endswith("no claim")


def test_the_page_says_both_scores_their_difference_and_its_interval(report):
    page = report.html()  # of 4 entities both find 2, the first says 2, the second 5: 4/6 and 4/9
    assert "<b>F1 .667" in page and ".444</b>, −22.2" in page and "no claim" in page


def test_false_alarms_explain_a_score_that_rises_although_more_entities_are_broken():
    counts = {FIXED: 0, BROKEN: 54, REMOVED: 153, ADDED: 20}
    (finding,) = find_alarms(counts, 0.006)
    assert finding.code == "fewer-alarms"
    assert all(number in finding.sentence for number in (" 54 broken", "153 removed", "20 added"))
    # Not against the entries, or not by false alarms: nothing to explain.
    assert find_alarms(counts, -0.006) == find_alarms({**counts, REMOVED: 20}, 0.006) == ()
    (finding,) = find_alarms({FIXED: 9, BROKEN: 2, REMOVED: 0, ADDED: 30}, -0.01)
    assert finding.code == "more-alarms"
