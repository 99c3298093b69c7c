"""The pages Fine-tune and Results on runs built by hand, a synthetic task, and hostile names."""

import json
import shutil
import time
from dataclasses import asdict, replace
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest

from tests.material.apps import (
    join_values,
    list_plain_texts,
    list_texts,
    markup,
    read_metrics,
    read_page,
)
from tests.material.architectures import build_tiny_model
from tests.material.finetuning import sentences, write_conll
from tests.material.runs import write_runs
from vocadapt.analysis.comparison import UNTESTED
from vocadapt.analysis.figures.training import ScoreMark, plot_dev_scores, plot_losses, plot_scores
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.inputs.tasks import import_task
from vocadapt.lab.jobs.queue import list_jobs, start
from vocadapt.lab.results.runs import list_runs
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.run import CHECKPOINT
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.locks import hold_lock
from vocadapt.lab.workspace.manifest import Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models import language_model
from vocadapt.training.callbacks import read_live, write_curve
from vocadapt.training.estimates import (
    count_examples_per_epoch,
    estimate_finetuning_speed,
    measure_finetuning,
)
from vocadapt.training.examples.examples import Sentence, Split, Text
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task
from vocadapt.ui.components.pickers import list_runs_to_pick
from vocadapt.ui.parts.finetune.page import parse_seeds
from vocadapt.ui.parts.finetune.result import list_findings
from vocadapt.ui.parts.home.page import COLLAPSED, STATES, WALK, find_state

EVIL = "<img/src=x/onerror=alert(1)> **b** $x$"
GOLD = tuple(Sentence((f"w{place}", EVIL, "."), ("O", "B-D", "O")) for place in range(8))


def table(app, column):
    """The table that has a column of this name."""
    return next(frame.value for frame in app.dataframe if column in frame.value)


def said(right):
    return [("O", "B-D" if place < right else "O", "O") for place in range(len(GOLD))]


@pytest.fixture
def runs(tmp_path):
    """Two models with three seeds each on one task; the words are hostile, too."""
    workspace = Workspace(tmp_path / "runs-of-two")
    write_runs(workspace, "base", GOLD, {seed: {"base": said(2 + seed)} for seed in (1, 2, 3)})
    three = {
        seed: {"base": said(4), "adapted": said(5), "pooled": said(5 + seed)} for seed in (1, 2, 3)
    }
    write_runs(workspace, "green", GOLD, three, model=EVIL)
    return workspace


@pytest.fixture
def tasked(tmp_path, tiny_bert):
    """A workspace with a task, and nothing else."""
    workspace = Workspace(tmp_path / "tasked")
    files = {
        name: write_conll(tmp_path / f"{name}.txt", sentences(12, seed))
        for seed, name in enumerate(("train", "test"))
    }
    import_task(TASK_KINDS["ner"], files, workspace.folder("tasks", "toy"))
    return workspace


def test_the_results_of_a_renamed_task_keep_the_name_that_the_runs_recorded(open_page, runs):
    folder = runs.folder("tasks", "toy")
    folder.mkdir(parents=True)
    Manifest("tasks", "toy", {}).save(folder)
    rename_artifact(runs, runs.artifact("tasks", "toy"), "mine")
    app = open_page("results", runs, results_task="toy")
    assert not app.exception and not app.toast
    assert app.query_params["results_task"] in ("toy", ["toy"])


def test_results_show_the_best_the_table_and_the_test(open_page, runs):
    app = open_page("results", runs, results_baseline="base · base")
    assert not app.exception and not app.error
    shown = read_metrics(app)
    # green pooled finds 6, 7, 8 of 8: F1 12/14, 14/15, 1; base finds 3, 4, 5
    best, base = (12 / 14 + 14 / 15 + 1) / 3, (6 / 11 + 8 / 12 + 10 / 13) / 3
    assert shown["Best F1"] == f"{best:.3f}"[1:]
    assert shown["Difference"] == f"{100 * (best - base):+.1f}"
    board = table(app, "95 % interval")
    assert len(board) == 4
    assert board["Run"].iloc[0] == "green"
    assert board["Tokenization"].iloc[0] == "pooled"
    assert list(board["Verdict"]).count("baseline") == 1
    assert any("entity-strict" in text and "8 test" in text for text in list_plain_texts(app))
    command = next(code.value for code in app.code if "vocadapt results" in code.value)
    assert "--baseline base --baseline-tokenization base" in command and "--task toy" in command


def test_the_run_of_the_unadapted_model_is_the_baseline_by_itself(open_page, runs):
    app = open_page("results", runs)
    assert not app.exception and not app.error
    assert app.selectbox(key="results_baseline").value == "base · base"
    assert app.query_params["results_baseline"] == "base · base"
    verdicts = table(app, "95 % interval")["Verdict"]
    assert next(verdict for verdict in verdicts if verdict != "baseline") == UNTESTED.label
    assert any(UNTESTED.explanation in text for text in list_plain_texts(app))


def test_results_open_on_a_fair_pair_and_fold_runs_with_other_settings(open_page, runs):
    quick = asdict(replace(FinetuneSettings(), epochs=2))
    write_runs(runs, "quick", GOLD, {1: {"base": said(8)}}, model="base", settings=quick)
    write_runs(runs, "other", GOLD, {1: {"base": said(1)}}, task="newer")
    app = open_page("results", runs)
    assert not app.exception and not app.error
    assert app.selectbox(key="results_task").value == "toy"
    assert app.selectbox(key="results_baseline").value == "base · base"
    assert app.selectbox(key="results_confused").value == "green · seed 1 · pooled"
    boards = [frame.value for frame in app.dataframe if "95 % interval" in frame.value]
    assert [set(board["Run"]) for board in boards] == [{"base", "green"}, {"quick"}]
    assert "Other settings (1)" in [one.label for one in app.expander]
    assert not any("quick" in label for label in app.multiselect(key="curves").value)
    # With a quick run as the baseline, the others have other settings.
    app.selectbox(key="results_baseline").select("quick · base").run()
    assert "Other settings (2)" in [one.label for one in app.expander]


def test_home_shows_the_fair_pair_and_calls_collapsed_runs_so(open_page, runs, tmp_path):
    quick = asdict(replace(FinetuneSettings(), epochs=2))
    write_runs(runs, "quick", GOLD, {1: {"base": said(8)}}, model="base", settings=quick)
    app = open_page("home", runs)
    assert not app.exception
    shown = read_metrics(app)
    # By hand: green pooled finds 6, 7, 8 of 8; base finds 3, 4, 5.
    assert (shown["F1"], shown["Baseline"]) == (".930", ".660")
    assert find_state(WALK[-1], runs).state == "done"
    # Only collapsed runs: the step is not done.
    failed = Workspace(tmp_path / "failed")
    write_runs(failed, "all", GOLD, {1: {"base": said(0)}}, collapsed=True)
    write_runs(failed, "again", GOLD, {1: {"base": said(0)}}, collapsed=True)
    assert find_state(WALK[-1], failed).state == COLLAPSED
    app = open_page("home", failed)
    assert STATES[COLLAPSED] in read_page(app)
    assert {metric.value for metric in app.metric} == {".000 (collapsed)"}


def test_of_many_runs_the_newest_are_compared_and_all_on_request(open_page, runs, monkeypatch):
    monkeypatch.setattr("vocadapt.ui.parts.results.page.MOST_COMPARED", 1)
    write_runs(runs, "newest", GOLD, {seed: {"base": said(1)} for seed in (1, 2, 3)})
    app = open_page("results", runs)
    assert not app.exception and not app.error
    # Both sides of the fair pair are compared, although one of them is not among the newest.
    assert set(table(app, "95 % interval")["Run"]) == {"green", "newest"}
    assert "2 of 3" in read_page(app)
    app.toggle(key="results_all").set_value(True).run()
    assert set(table(app, "95 % interval")["Run"]) == {"base", "green", "newest"}


def test_a_single_run_has_no_baseline(open_page, tmp_path):
    workspace = Workspace(tmp_path / "single")
    write_runs(workspace, "a", GOLD, {1: {"base": said(4)}})
    app = open_page("results", workspace)
    assert not app.exception and not app.error
    assert "results_baseline" not in [box.key for box in app.selectbox]
    assert "verdict" not in table(app, "95 % interval")


def test_settings_are_compared_and_only_the_different_ones_shown(open_page, tmp_path):
    workspace = Workspace(tmp_path / "settings")
    usual = asdict(FinetuneSettings())
    write_runs(workspace, "a", GOLD, {1: {"base": said(4)}}, model="m", settings=usual)
    other = {**usual, "lr": 0.5}
    write_runs(workspace, "b", GOLD, {1: {"base": said(5)}}, model="m", settings=other)
    app = open_page("results", workspace)
    shown = table(app, "setting").set_index("setting")
    assert list(shown.index) == ["Learning rate"] and shown.loc["Learning rate", "b"] == "0.5"
    app.toggle(key="results_differences").set_value(False).run()
    every = table(app, "setting").set_index("setting")
    assert len(every) > 5 and every.loc["Model", "a"] == "m"


def test_a_cell_leads_to_its_entries_in_the_error_analysis(open_page, runs):
    app = open_page(
        "results",
        runs,
        results_confused="green · seed 1 · pooled",
        results_cell="D → (none)",
        results_smoothing="0.5",
    )
    assert not app.exception and not app.error
    assert app.slider(key="results_smoothing").value == 0.5
    assert 'data-va-field="results_cell"' in markup(app)
    (link,) = [one for one in app.get("page_link") if "Compare these" in one.proto.label]
    query = dict(parse_qsl(link.proto.query_string))
    assert query["errors_cell"] == "D → (none)"
    assert query["errors_baseline"] == "base · seed 1 · base"
    errors = open_page("errors", runs, **query)
    assert not errors.exception and not errors.error
    assert any(str(button.key) == "errors_clear_cell" for button in errors.button)


@pytest.mark.parametrize(
    "query",
    [
        {"baseline": "nobody · base"},
        {"task": "<script>"},
        {"confused": "x"},
        {"cell": "y"},
        {"score": "nosuch"},
    ],
)
def test_a_forged_address_is_no_crash(open_page, runs, query):
    assert not open_page("results", runs, **query).exception


def test_a_cell_of_the_confusion_gives_all_its_examples(open_page, runs):
    app = open_page(
        "results", runs, results_confused="base · seed 1 · base", results_cell="D → (none)"
    )
    assert not app.exception and not app.error
    assert ">62.5 %<" in markup(app)  # 5 of 8
    cases = table(app, "example")
    assert len(cases) == 5
    assert list(cases["example"]) == [4, 5, 6, 7, 8]
    assert set(cases["words"]) == {EVIL}
    app.selectbox(key="results_cell").select("D → D").run()
    assert list(table(app, "example")["example"]) == [1, 2, 3]


def test_hostile_words_and_models_stay_words(open_page, runs):
    for page in ("results", "finetune"):
        app = open_page(page, runs)
        assert not app.exception and "<img" not in markup(app)
        assert not any("**b**" in text and "\\*" not in text for text in list_texts(app))


def test_runs_on_other_examples_are_reported(open_page, runs):
    write_runs(runs, "few", GOLD[:4], {1: {"base": said(2)[:4]}})
    app = open_page("results", runs, results_baseline="base · base")
    assert not app.exception and "examples" in join_values(app.warning)


def test_questions_have_no_confusion_but_a_message(open_page, tmp_path):
    from vocadapt.training.examples.examples import Answer, Question

    workspace = Workspace(tmp_path / "qa")
    asked = (
        Question("1", "Who?", "Ann came.", (Answer("Ann", 0),)),
        Question("2", "What?", "A cat.", (Answer("cat", 2),)),
    )
    folder = workspace.folder("runs", "q")
    write_runs(workspace, "q", asked, {1: {"base": ["Ann", "dog"]}}, kind="qa")
    file = folder / "predictions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row, answer in zip(rows, ("Ann", "dog"), strict=True):
        row["said"] = {"base": answer}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    app = open_page("results", workspace)
    assert not app.exception and not app.error
    assert "results_cell" not in [box.key for box in app.selectbox]


@pytest.mark.parametrize("page", ["results", "errors", "try"])
def test_runs_that_cannot_be_read_are_named_once_wherever_runs_are_picked(page, open_page, runs):
    (runs.root / "runs" / "base" / "seed-2" / "run.json").write_text("{", encoding="utf-8")
    app = open_page(page, runs)
    told = [warning.value.replace("\\", "") for warning in app.warning]
    assert not app.exception and sum("1 of 2" in text and "base (" in text for text in told) == 1


def test_several_tasks_have_group_means(open_page, runs):
    write_runs(runs, "gad", GOLD, {1: {"base": said(4)}}, task="bio-lm/GAD")
    app = open_page("results", runs)
    assert not app.exception
    assert any("1 of 7" in cell for cell in table(app, "classification")["classification"])


def test_the_last_run_stands_on_fine_tune_at_once(open_page, runs):
    app = open_page("finetune", runs)
    assert not app.exception
    labels = read_metrics(app)
    assert labels["F1 · pooled"] == f"{(12 / 14 + 14 / 15 + 1) / 3:.3f}"[1:]
    assert set(labels) == {"F1 · base", "F1 · adapted", "F1 · pooled"}


def test_a_form_says_what_it_costs_and_starts_a_job_for_each_model(
    open_page, tasked, tiny_bert, started
):
    app = open_page("finetune", tasked)
    app.multiselect(key="finetune_models").set_value([str(tiny_bert)]).run()
    assert not app.exception and not app.error
    assert "12 × 5" in read_page(app)
    app.text_input(key="seeds_quick").set_value("1-3").run()
    app.number_input(key="finetune_limit").set_value(6).run()
    assert "6 × 5" in read_page(app) and "× 3" in read_page(app)
    app.button(key="start_finetune").click().run()
    ((spec, name),) = started
    assert (spec.step, spec.settings.seeds, spec.settings.limit) == ("finetune", (1, 2, 3), 6)
    assert spec.inputs["task"] == (str(tasked.folder("tasks", "toy")),) and name.startswith("toy-")


def test_a_model_that_is_not_there_cannot_be_started(open_page, tasked, tiny_bert):
    app = open_page("finetune", tasked)
    assert app.multiselect(key="finetune_models").value == ["demo-bert"]
    assert not app.button(key="start_finetune").disabled
    app.multiselect(key="finetune_models").set_value(["/no/such/model"]).run()
    assert not app.exception and app.button(key="start_finetune").disabled
    app.multiselect(key="finetune_models").set_value([str(tiny_bert)]).run()
    assert not app.exception and not app.button(key="start_finetune").disabled


def test_a_decoder_is_refused_in_the_form_with_the_reason(open_page, tasked, tmp_path):
    place = str(build_tiny_model("gpt2", tmp_path / "gpt"))
    app = open_page("finetune", tasked)
    app.multiselect(key="finetune_models").set_value([place]).run()
    assert not app.exception and "GPT2LMHeadModel" in read_page(app)
    assert "start_finetune" not in {one.key for one in app.button if not one.disabled}


def test_confusion_begins_with_a_gold_label(open_page, tmp_path):
    workspace = Workspace(tmp_path / "invented")
    write_runs(workspace, "a", GOLD, {1: {"base": [("B-D", "O", "B-D")] * 7 + [("O", "B-D", "O")]}})
    app = open_page("results", workspace)
    assert not app.exception and app.selectbox(key="results_cell").value == "D → (none)"
    assert app.selectbox(key="results_cell").options[0] == "(none) → D"  # the fullest


def test_presets_bring_their_settings(open_page, tasked, tiny_bert):
    app = open_page("finetune", tasked, finetune_preset="poerner")
    assert not app.exception and app.text_input(key="seeds_poerner").value == "1 2 3 4 5 6 7 8"
    assert app.number_input(key="epochs_finetune_poerner").value == 100
    assert app.checkbox(key="with_dev_finetune_poerner").value


@pytest.mark.parametrize(
    "typed", ["", "x", "1-", "-1", "5-1", "1-900", "1.5", "1 2 3 " * 40 + "٣" * 12]
)
def test_what_is_no_seed_is_a_message(typed):
    with pytest.raises(InputError):
        parse_seeds(typed)


def test_seeds():
    assert parse_seeds("1 2,3") == parse_seeds("1-3 2") == (1, 2, 3)
    assert parse_seeds("142") == (142,)


def test_a_broken_task_is_a_message(open_page, tmp_path):
    workspace = Workspace(tmp_path / "w")
    app = open_page("finetune", workspace, typed={"finetune_task": str(tmp_path / "missing.toml")})
    assert not app.exception and app.error


def test_files_of_the_user_become_a_task(tmp_path):
    made = import_task(
        TASK_KINDS["ner"],
        {"train": write_conll(tmp_path / "a.txt", sentences(4))},
        tmp_path / "w" / "tasks" / "mine",
    )
    assert made.manifest.numbers["examples"] == {"train": 4}
    assert (made.folder / "train.txt").is_file()
    (tmp_path / "bad.txt").write_text("a word\tand\ttoo\tmany\tcolumns\tx\n")
    for name in ("bad", "missing"):
        files = {"train": tmp_path / f"{name}.txt"}
        with pytest.raises(InputError):
            import_task(TASK_KINDS["ner"], files, tmp_path / "w" / "tasks" / name)
    assert [path.name for path in (tmp_path / "w" / "tasks").iterdir()] == ["mine"]


def test_an_estimate_by_hand():
    long = Sentence(("w",) * 70, ("O",) * 70)  # three chunks of at most 30 words
    task = Task(
        "t",
        TASK_KINDS["ner"],
        {"train": Split((long, GOLD[0])), "dev": Split(GOLD[:3]), "test": Split(GOLD[:6])},
        ("D",),
    )
    settings = FinetuneSettings(epochs=2)
    assert count_examples_per_epoch(task, settings, "mixed") == 4
    assert count_examples_per_epoch(task, settings, "both") == 8
    assert count_examples_per_epoch(task, FinetuneSettings(with_dev=True), "base") == 7
    small, large = ({"num_hidden_layers": n, "hidden_size": 384} for n in (6, 12))
    speed = estimate_finetuning_speed(task, settings, small)
    assert speed == pytest.approx(2 * estimate_finetuning_speed(task, settings, large))
    found = measure_finetuning(task, settings, "", 3, small, threads=1)
    assert (found.units, found.about) == (24, "4 × 2 epochs × 3 trainings")
    assert found.seconds == pytest.approx(3 * (8 + (2 * 3 + 6) / 3) / (speed / 2))
    beside = small | {
        "model_type": "vocadapt-exbert",
        "extension_hidden_size": 384,
        "extension_intermediate_size": 4 * 384,
    }
    # s5: a layer more.
    assert speed == pytest.approx(2 * estimate_finetuning_speed(task, settings, beside))
    splits = {"train": Split((Text("1", "a b", ("x",)),))}
    texts_task = Task("t", TASK_KINDS["classification"], splits, ("x",))
    assert estimate_finetuning_speed(texts_task, settings, small) > speed


def test_live_points_are_read_back_and_torn_ones_passed_over(tmp_path):
    assert read_live(tmp_path).curve == ()
    points = [{"step": 1, "loss": 0.5}, {"step": 2, "other": 1}, {"step": 3, "loss": 0.25}]
    write_curve(tmp_path, points, 2, 8)
    (tmp_path / "dev.json").write_text("[0.5")
    live = read_live(tmp_path)
    assert (live.curve, live.dev, live.epoch, live.steps) == (((1, 0.5), (3, 0.25)), (), 2, 8)


def test_runs_are_picked_by_seed_and_tokenization(runs):
    names = [one.name for one in list_runs_to_pick(runs, "toy", by_tokenization=True)]
    assert names[:3] == [
        "green · seed 1 · pooled",
        "green · seed 1 · base",
        "green · seed 1 · adapted",
    ]
    assert [one.name for one in list_runs_to_pick(runs)][-1] == "base · seed 3"
    assert len(list_runs(runs)) == 2


def test_a_fine_tuning_is_watched_while_it_runs_and_its_result_stands_there(
    open_page, tasked, tiny_bert
):
    app = open_page("finetune", tasked)
    app.multiselect(key="finetune_models").set_value([str(tiny_bert)]).run()
    app.button(key="start_finetune").click().run()
    assert not app.exception
    job = list_jobs(tasked)[0]
    end = time.monotonic() + 240
    while job.status().alive and time.monotonic() < end:
        time.sleep(1.0)
    assert job.status().state == "done", job.log()
    app = open_page("finetune", tasked)
    assert not app.exception and any(metric.label == "F1 · base" for metric in app.metric)


def test_a_run_keeps_its_color_in_both_charts_of_learning_curves():
    among = ["a · seed 1", "b · seed 1", "b · seed 2"]
    left = plot_losses({name: [(1, 0.5), (2, 0.25)] for name in among}, among=among)
    right = plot_dev_scores({"b · seed 2": [0.5, 0.75]}, "f1", among=among)
    drawn = {line.name: line.line for line in left.data}
    (only,) = right.data
    assert only.name == "b · seed 2" and only.line == drawn["b · seed 2"]
    assert only.line.color != drawn["a · seed 1"].color
    assert only.line.dash != drawn["b · seed 1"].dash


def test_a_run_has_the_same_color_in_the_scores_and_in_its_curves():
    marks = [
        ScoreMark("b", "base", (0.5, 0.6), 0.55, 0.05),
        ScoreMark("a", "base", (0.5,), 0.5, None),
    ]
    scores = plot_scores(marks, "F1", ["a", "b"])
    colors = {trace.text[0]: trace.marker.color for trace in scores.data if trace.text}
    curves = plot_losses({"b · seed 2": [(1, 0.5)]}, among=["a · seed 1", "b · seed 2"])
    assert colors["b"] == curves.data[0].line.color != colors["a"]
    # Scores of 0 have an axis from 0.
    zero = plot_scores([ScoreMark("a", "base", (0.0,), 0.0, None)], "F1")
    assert tuple(zero.layout.xaxis.range) == (0, 1)
    assert tuple(plot_dev_scores({"a": [0.0, 0.0]}, "F1").layout.yaxis.range) == (0, 1)
    # A newer run changes no color.
    assert plot_scores(marks, "F1", ["a", "b", "c"]).data == scores.data


def test_a_link_that_names_a_model_of_the_hub_downloads_nothing(open_page, tasked, monkeypatch):
    offline = []

    def refuse(name, is_offline=None, *_):
        offline.append(is_offline)
        raise InputError("not here")

    monkeypatch.setattr(language_model, "download_model", refuse)
    app = open_page("finetune", tasked, finetune_models="org/model")
    assert not app.exception and app.multiselect(key="finetune_models").value == ["org/model"]
    assert offline and all(offline)


def list_colors(chart):
    """The color of each curve of a chart, by its label."""
    return {line["name"]: line["line"]["color"] for line in json.loads(chart.proto.spec)["data"]}


def test_a_run_has_the_same_color_on_fine_tune_as_on_results(open_page, runs):
    losses, _ = [
        list_colors(chart)
        for chart in open_page("results", runs).get("plotly_chart")
        if "green \\u00b7 seed 1" in chart.proto.spec
    ]
    [newest] = map(list_colors, open_page("finetune", runs).get("plotly_chart"))
    assert len(newest) == 3 and newest.items() <= losses.items()
    assert len(set(losses.values())) == 2


def test_a_running_job_shows_a_curve_for_each_seed(open_page, tasked, tiny_bert):
    task = tasked.folder("tasks", "toy") / "task.toml"
    inputs = {"model": (str(tiny_bert),), "task": (str(task),)}
    (tasked.root / "jobs").mkdir()
    with hold_lock(tasked.root / "jobs"):  # the job waits
        job = start(tasked, Spec(FinetuneStep(seeds=(1, 2)), inputs), "new")
        for seed in (1, 2):
            folder = job.folder / CHECKPOINT / f"seed-{seed}"
            folder.mkdir(parents=True)
            write_curve(folder, [{"step": step, "loss": 1.0} for step in range(8)], 4, 8)
        [chart] = open_page("finetune", tasked).get("plotly_chart")
        job.cancel(grace=2)
    assert list(list_colors(chart)) == ["new · seed 1", "new · seed 2"]


def test_an_adapted_model_is_selected_together_with_its_base(open_page, tasked, tiny_bert):
    models = tasked.root / "models"
    shutil.copytree(tiny_bert, models / "plain")
    Manifest("models", "plain", {}).save(models / "plain")
    for name, numbers in (("green", {"added": 3}), ("converted", {})):
        shutil.copytree(tiny_bert, models / name)
        source = Input(("models/plain",), "", "")
        Manifest("models", name, {}, {"model": source}, numbers).save(models / name)
    app = open_page("finetune", tasked)
    assert not app.exception and not app.error
    assert app.multiselect(key="finetune_models").value == ["plain", "green"]
    app = open_page("finetune", tasked, finetune_models="converted")
    assert app.multiselect(key="finetune_models").value == ["converted"]


def test_a_constructed_task_and_the_baseline_are_said_where_a_score_stands(open_page, tmp_path):
    workspace = Workspace(tmp_path / "constructed")
    about = "constructed: shows the page"
    write_runs(workspace, "base", GOLD, {1: {"base": said(4)}}, about=about)
    three = {"base": said(2), "adapted": said(2), "pooled": said(3)}
    write_runs(workspace, "green", GOLD, {1: three}, about=about)
    for part in ("home", "results", "errors"):
        shown = list_plain_texts(open_page(part, workspace))
        remark = next(text for text in shown if f"{about}." in text)
        assert ":small" not in remark and "**" in remark
    shown = read_metrics(open_page("home", workspace))
    assert shown["Baseline"] == ".667"  # 4 of 8 found: F1 2·4 / (8 + 4)


def test_a_finding_of_one_seed_names_the_seed():
    record = {"findings": ["all alike", "only here"]}
    runs = [
        SimpleNamespace(seed=1, record=record),
        SimpleNamespace(seed=2, record={"findings": ["all alike"]}),
    ]
    assert list_findings(SimpleNamespace(runs=runs)) == ["all alike", "Seed 1: only here"]
