"""Leaderboards of runs: results worked by hand, significance, runs that cannot be paired, and
exports of hostile names."""

import csv
import io
import json

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.runs import write_run, write_runs
from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.comparison import BASELINE, COLLAPSED, OTHER_EXAMPLES, UNTESTED
from vocadapt.analysis.errors.confusion import Case, build_confusion_matrix
from vocadapt.analysis.figures.training import plot_losses, smooth_curve
from vocadapt.analysis.results.results import (
    Side,
    average_groups,
    benchmark_name,
    format_group_mean,
)
from vocadapt.analysis.results.setting_differences import build_setting_table, keep_differences
from vocadapt.lab.results.leaderboards import build_results
from vocadapt.lab.results.runs import list_runs, open_runs
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.latex import escape_latex, write_latex
from vocadapt.report.markdown import escape_markdown, write_markdown
from vocadapt.training.examples.examples import Sentence, Text, name_fold
from vocadapt.training.scoring.uncertainty import average_tallies, compare_tallies
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.kinds.judgment import NO_LABEL

GOLD = tuple(Sentence((f"w{place}", "fever", "."), ("O", "B-D", "O")) for place in range(10))


def said(right, wrong=()):
    """Predictions that find the entity of the first `right` sentences, and one that is none in the
    sentences of `wrong`.
    """
    return [
        ("B-D" if place in wrong else "O", "B-D" if place < right else "O", "O")
        for place in range(len(GOLD))
    ]


@pytest.fixture
def workspace(tmp_path):
    """A base that finds 4, 5 or 6 of 10, and a model that finds 8, 9 or 10 when pooled; nothing
    false.
    """
    found = Workspace(tmp_path / "w")
    write_runs(found, "base", GOLD, {seed: {"base": said(3 + seed)} for seed in (1, 2, 3)})
    three = {
        seed: {"base": said(5), "adapted": said(6), "pooled": said(7 + seed)} for seed in (1, 2, 3)
    }
    write_runs(found, "green", GOLD, three)
    return found


def f1(found, predicted=None):
    return 2 * found / (10 + (found if predicted is None else predicted))


def test_means_deviations_and_differences_by_hand(workspace):
    board = build_results(list_runs(workspace), Side("base", "")).tasks[0]
    lines = {(one.run, one.tokenization): one for one in board.standings}
    base, pooled = lines["base", "base"], lines["green", "pooled"]
    values = [f1(4), f1(5), f1(6)]
    mean = sum(values) / 3
    assert base.headline.values == pytest.approx(values)
    assert base.headline.mean == pytest.approx(mean)
    assert base.headline.sd == pytest.approx(
        (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    )
    assert base.figures["recall"].mean == pytest.approx(0.5)
    assert base.figures["precision"].mean == 1.0
    assert pooled.difference.value == pytest.approx((f1(8) + f1(9) + f1(10)) / 3 - mean)
    assert (base.difference, base.verdict) == (None, BASELINE)
    assert pooled.counts and base.counts and not lines["green", "base"].counts
    assert [one.headline.mean for one in board.standings] == sorted(
        (one.headline.mean for one in board.standings), reverse=True
    )
    assert board.scorer == "entity-strict"
    assert board.metric == "f1"
    assert board.units == 10
    assert board.baseline == Side("base", "base")
    assert lines["green", "base"].verdict == UNTESTED  # three seeds


def test_the_test_is_of_units_averaged_over_seeds():
    scorer = TASK_KINDS["ner"].scorer()
    gold = [example.gold for example in GOLD]
    one, other = scorer.tally(gold, said(4)), scorer.tally(gold, said(6))
    mean = average_tallies([one, other])
    assert mean.rows[:, 0, 2].tolist() == [1.0] * 4 + [0.5] * 2 + [0.0] * 4
    assert average_tallies([one]).rows.tolist() == one.rows.tolist()
    alone = compare_tallies(scorer, one, other)
    twice = compare_tallies(scorer, average_tallies([one, one]), average_tallies([other, other]))
    assert alone == twice  # the same runs twice are no more evidence


def test_means_over_seeds_have_no_mcnemar():
    accuracy = TASK_KINDS["classification"].scorer("accuracy")
    gold = [("a",), ("b",), ("a",)]
    one, other = (
        accuracy.tally(gold, own) for own in ([("a",), ("b",), ("b",)], [("a",), ("a",), ("a",)])
    )
    assert compare_tallies(accuracy, one, other).p_mcnemar == 1.0
    assert compare_tallies(accuracy, average_tallies([one, other]), other).p_mcnemar is None


def test_other_test_examples_are_not_paired(workspace):
    write_runs(workspace, "few", GOLD[:5], {1: {"base": said(5)[:5]}})
    board = build_results(list_runs(workspace), Side("base", "base")).tasks[0]
    few = next(one for one in board.standings if one.run == "few")
    assert (few.difference, few.verdict) == (None, OTHER_EXAMPLES)
    assert any(line.startswith("few and ") for line in board.findings)


def test_one_seed_has_a_mean_no_deviation_and_no_claim(tmp_path):
    workspace = Workspace(tmp_path / "w")
    write_runs(workspace, "a", GOLD, {1: {"base": said(2)}})
    write_runs(workspace, "b", GOLD, {1: {"base": said(10)}})
    first, last = build_results(list_runs(workspace), Side("a", "")).tasks[0].standings
    assert first.headline.sd is None
    assert first.verdict == UNTESTED
    assert first.difference.p_units < 0.05
    assert last.verdict == BASELINE
    rows = (
        write_markdown([build_results(list_runs(workspace)).tasks[0].build_table()])
        .split("\n\n")[1]
        .split("\n")[2:]
    )
    assert len(rows) == 2 and not any("±" in row for row in rows)


def test_a_collapsed_run_is_marked_and_shown_with_and_without(tmp_path):
    workspace = Workspace(tmp_path / "w")
    write_runs(workspace, "a", GOLD, {1: {"base": said(10)}, 2: {"base": said(10)}})
    folder = write_runs(workspace, "b", GOLD, {1: {"base": said(10)}, 2: {"base": said(0)}})
    record = json.loads((folder / "seed-2" / "run.json").read_text())
    (folder / "seed-2" / "run.json").write_text(json.dumps({**record, "collapsed": True}))
    line = next(
        one
        for one in build_results(list_runs(workspace), Side("a", "")).tasks[0].standings
        if one.run == "b"
    )
    assert (line.collapsed_seeds, line.headline.mean, line.mean_learned) == ((2,), 0.5, 1.0)
    assert line.verdict == COLLAPSED
    (board,) = build_results(list_runs(workspace)).tasks
    assert "2 collapsed, 1.000" in write_markdown([board.build_table()])


def test_runs_without_a_score_and_baselines_that_are_none_are_refused(workspace, tmp_path):
    other = Workspace(tmp_path / "other")
    write_runs(other, "bare", GOLD, {1: {"base": said(1)}}, scores={})
    with raises_input_error("no-scored-run"):
        build_results(list_runs(other))
    with raises_input_error("unknown-run"):
        build_results(list_runs(workspace), Side("nobody", ""))
    with raises_input_error("no-tokenization", "adapted"):
        build_results(list_runs(workspace), Side("base", "adapted"))


def test_group_means_count_what_they_lack():
    groups = {"PubMed": ("bio-lm/NCBI-disease", "bio-lm/GAD"), "clinical": ("bio-lm/MedNLI",)}
    scores, fallen = (
        {"mtl/NCBI-disease": 0.8, "bio-lm/GAD": 0.6, "mine": 0.1},
        {"mtl/NCBI-disease": 1, "mine": 2},
    )
    found = average_groups({"m": scores}, groups, {"m": fallen})["m"]
    assert found["PubMed"] == {"mean": pytest.approx(0.7), "scored": 2, "of": 2, "collapsed": 1}
    assert found["clinical"] == {"mean": None, "scored": 0, "of": 1, "collapsed": 0}
    assert found["all"] == {"mean": pytest.approx(0.5), "scored": 3, "of": 4, "collapsed": 3}
    pubmed, clinical = (format_group_mean(found[name]) for name in ("PubMed", "clinical"))
    assert pubmed.startswith(".700 ") and find_numbers(pubmed)[1:] == [2, 2, 1]
    assert clinical.startswith("– ") and find_numbers(clinical) == [0, 1]
    assert average_groups({"m": scores}, groups)["m"]["all"]["collapsed"] == 0
    assert benchmark_name(name_fold("bio-lm/GAD", 3)) == "gad"


def test_several_tasks_have_a_board_each_and_group_means(workspace):
    folds = [name_fold("bio-lm/GAD", fold) for fold in (1, 2)]
    for name, right, task in (("gad", 5, folds[0]), ("gad-2", 10, folds[1])):
        write_runs(workspace, name, GOLD, {1: {"base": said(right)}}, task=task, model="base")
    found = build_results(list_runs(workspace), Side("base", ""))
    assert {board.task for board in found.tasks} == {"toy", *folds}
    assert [board.baseline for board in found.tasks if board.task != "toy"] == [None, None]
    group = found.groups["base · base"]["classification"]
    assert (group["mean"], group["scored"]) == (pytest.approx((f1(5) + 1) / 2), 1)


def test_the_figure_of_a_seed_is_the_mean_over_its_folds_and_units_are_those_of_all(tmp_path):
    workspace = Workspace(tmp_path / "w")
    for name, found in (("a", (2, 3)), ("b", (4, 5))):
        folder = workspace.folder("runs", name)
        for seed in (1, 2):
            for fold, right in enumerate(found, start=1):
                examples = GOLD[:5] if fold == 1 else GOLD[5:]
                own = [("O", "B-D" if place < right else "O", "O") for place in range(5)]
                write_run(
                    folder / f"seed-{seed}-fold-{fold}", examples, {"base": own}, seed, fold=fold
                )
    runs = [open_runs(workspace.root / "runs" / name) for name in "ab"]
    assert (runs[0].seeds, runs[0].folds, len(runs[0].runs)) == ((1, 2), 2, 4)
    board = build_results(runs, Side("a", "")).tasks[0]
    b, a = board.standings
    assert a.headline.values == pytest.approx([(4 / 7 + 6 / 8) / 2] * 2) == runs[0].values()
    assert b.difference.value == pytest.approx((8 / 9 + 1) / 2 - (4 / 7 + 6 / 8) / 2)
    assert board.units == b.difference.units == 10  # those of all folds together
    assert [run.called for run in runs[0].runs[:2]] == [name_fold("seed 1", n) for n in (1, 2)]


HOSTILE = "=a|b & 5% _x_ $y$ {z} \\cmd <script> ~^#\n\u202e[l](u) `c` *d*"


def test_hostile_names_stay_names_in_every_export(tmp_path):
    workspace = Workspace(tmp_path / "w")
    write_runs(workspace, "a", GOLD, {1: {"base": said(5)}}, task=HOSTILE, model=HOSTILE)
    boards = build_results(list_runs(workspace)).tasks
    rows = list(csv.DictReader(io.StringIO(write_csv([board.build_table() for board in boards]))))
    assert len(rows) == 1 and rows[0]["model"].startswith("'=a|b") and "\n" not in rows[0]["task"]
    assert float(rows[0]["f1_mean"]) == pytest.approx(f1(5))
    assert rows[0]["f1_sd"] == ""
    assert rows[0]["n"] == "1"
    markdown = write_markdown([board.build_table() for board in boards])
    assert "<script>" not in markdown and "\u202e" not in markdown and "\\|b" in markdown
    assert escape_markdown("a|b\nc*") == "a\\|b c\\*"
    assert (
        escape_latex("5%&\\x_{}^~$#")
        == r"5\%\&\textbackslash{}x\_\{\}\textasciicircum{}\textasciitilde{}\$\#"
    )
    body = [
        line
        for line in write_latex([board.build_table() for board in boards]).split("\n")
        if not line.startswith("%")
    ]
    assert body[0] == r"\begin{tabular}{llrrr}"
    assert all(line.count(" & ") in (0, 4) for line in body)


def test_exports_name_score_metric_seeds_and_test(workspace):
    boards = build_results(list_runs(workspace), Side("base", "")).tasks
    tables = [board.build_table() for board in boards]
    for text in (write_markdown(tables).replace("\\", ""), write_latex(tables)):
        assert "of entity-strict" in text and "10 test" in text
        assert "approximate randomization" in text and "base (base)" in text
    assert "**" in write_markdown(tables) and write_latex(tables).count(r"\bfseries") > 1


def test_runs_that_cannot_be_read_are_named(workspace, ask, show):
    broken = write_runs(workspace, "broken", GOLD, {1: {"base": said(5)}}) / "run.json"
    broken.write_text("{", encoding="utf-8")
    line = f"results --workspace {workspace.root}"
    assert list(ask(line)["unreadable"]) == ["broken"]
    last = show(line).splitlines()[-1]
    assert find_numbers(last)[:2] == [1, 3] and "broken (" in last
    for name in ("base", "green"):
        for record in (workspace.root / "runs" / name).rglob("run.json"):
            record.write_text("{", encoding="utf-8")
    assert "3 runs" in ask(line, code=2)


def test_confusion_of_entities_by_hand():
    gold = [("B-D", "I-D", "O", "B-C"), ("O", "B-D")]
    predicted = [("B-D", "O", "O", "B-D"), ("O", "B-D")]
    found = build_confusion_matrix(TASK_KINDS["ner"], gold, predicted)
    assert found.unit == "entities" and found.gold == ("C", "D", NO_LABEL) == found.predicted
    assert found.counts.tolist() == [
        [0, 1, 0],
        [0, 1, 1],
        [0, 1, 0],
    ]  # a C taken for D; a D right, one missed; a D invented
    assert found.cases["C", "D"] == (Case(0, 3, 4),)
    assert found.cases["D", NO_LABEL] == (Case(0, 0, 2),)
    assert found.mistakes == [(NO_LABEL, "D"), ("C", "D"), ("D", NO_LABEL)]
    assert build_confusion_matrix(TASK_KINDS["ner"], [("B", "O")], [("B", "O")]).gold == (
        "(entity)",
    )
    one = build_confusion_matrix(TASK_KINDS["ner"], [("B-D", "O")], [("B-C", "O")], untyped=True)
    assert one.gold == one.predicted == ("(entity)",)
    assert one.counts.tolist() == [[1]]
    assert not one.mistakes


def test_confusion_of_texts_and_of_several_labels():
    found = build_confusion_matrix(
        TASK_KINDS["classification"], [("a",), ("b",), ("a",)], [("a",), ("a",), ("a",)]
    )
    assert found.counts.tolist() == [[2, 0], [1, 0]] and found.cases["b", "a"] == (Case(1),)
    several = build_confusion_matrix(TASK_KINDS["multilabel"], [("a", "b"), ()], [("b",), ("c",)])
    assert several.cases == {
        ("a", NO_LABEL): (Case(0),),
        ("b", "b"): (Case(0),),
        (NO_LABEL, "c"): (Case(1),),
    }
    with raises_input_error("no-classes"):
        build_confusion_matrix(TASK_KINDS["qa"], [("x",)], ["x"])
    with raises_input_error("other-length", "2"):
        build_confusion_matrix(TASK_KINDS["ner"], [("O",), ("O",)], [("O",)])
    assert build_confusion_matrix(TASK_KINDS["ner"], [("O",)], [("O",)]).counts.size == 0


def test_the_command_line_gives_the_same(workspace, ask, show):
    line = f"results --workspace {workspace.root} --baseline base --format"
    texts = {form: show(line, form) for form in ("table", "csv", "latex")}
    boards = build_results(list_runs(workspace), Side("base", "")).tasks
    assert texts["csv"].strip() == write_csv([board.build_table() for board in boards]).strip()
    assert texts["latex"].strip() == write_latex([board.build_table() for board in boards]).strip()
    assert "Δ points" in texts["table"] and "baseline" in texts["table"]
    folders = [str(workspace.root / "runs" / name) for name in ("base", "green")]
    answer = ask("results --baseline base", *folders)
    assert answer["tasks"][0]["baseline"] == {"run": "base", "tokenization": "base"}
    assert answer["groups"] == {}
    top = answer["tasks"][0]["standings"][0]
    assert top["run"] == "green"
    assert top["tokenization"] == "pooled"
    assert top["verdict"]["code"] == UNTESTED.code
    twin = write_run(workspace.root / "elsewhere" / "base", GOLD, {"base": said(10)})
    two = ask("results", *folders, twin, "--baseline", twin)  # two are called base
    assert two["tasks"][0]["baseline"] == {"run": "elsewhere/base", "tokenization": "base"}
    assert top["difference"]["rounds"] == 1000
    assert top["figures"]["f1"]["values"] == pytest.approx([f1(8), f1(9), 1.0])


def test_one_set_of_runs_alone_and_other_scores(workspace, ask):
    line = f"results green --workspace {workspace.root} --scorer"
    board = ask(line, "token")["tasks"][0]
    assert board["scorer"] == "token" and {one["run"] for one in board["standings"]} == {"green"}
    assert "nosuch" in ask(line, "nosuch", code=2)


def test_texts_have_boards_too(tmp_path):
    workspace = Workspace(tmp_path / "w")
    texts = tuple(Text(str(place), f"text {place}", ("ab"[place % 2],)) for place in range(6))
    write_runs(workspace, "a", texts, {1: {"base": [("a",)] * 6}}, kind="classification")
    board = build_results(list_runs(workspace)).tasks[0]
    assert (board.scorer, board.metric) == ("macro-f1", "f1")
    assert board.standings[0].headline.mean == pytest.approx(1 / 3)


def test_settings_side_by_side_and_their_differences():
    table = build_setting_table(
        {"a": {"lr": 2e-5, "epochs": 3, "patience": None}, "b": {"lr": 1e-3, "epochs": 3}}
    )
    assert table == {"lr": ("2e-05", "0.001"), "epochs": ("3", "3"), "patience": ("–", "–")}
    assert keep_differences(table) == {"lr": ("2e-05", "0.001")}
    assert build_setting_table({}) == {}


def test_a_smoothed_curve_by_hand():
    points = [(1.0, 1.0), (2.0, 2.0), (3.0, 2.0)]
    assert smooth_curve(points, 0.0) == points
    # means .5, 1.25, 1.625; sums of weights .5, .75, .875
    expected = [1.0, 1.25 / 0.75, 1.625 / 0.875]
    assert [y for _, y in smooth_curve(points, 0.5)] == pytest.approx(expected)
    assert smooth_curve([(1.0, 3.0)] * 5, 0.9) == [(1.0, pytest.approx(3.0))] * 5
    assert smooth_curve([], 0.5) == []


def test_the_unsmoothed_curve_stays_visible():
    figure = plot_losses({"a": [(1.0, 1.0), (2.0, 3.0)]}, smoothing=0.5)
    assert [len(trace.x) for trace in figure.data] == [2, 2]
    raw, smoothed = figure.data
    assert raw.opacity < 1 and list(raw.y) == [1.0, 3.0] and not raw.showlegend
    assert smoothed.y[1] == pytest.approx((0.25 * 1 + 0.5 * 3) / 0.75)
    assert len(plot_losses({"a": [(1.0, 1.0)]}).data) == 1
