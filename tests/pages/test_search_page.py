"""The part Search: searches of settings, and comparisons of seeds."""

from dataclasses import asdict, replace

import pytest

from tests.material.apps import join_values, list_button_keys, list_texts, read_page
from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.demo import MODEL, TASK
from vocadapt.lab.experiments.search.estimates import draw_settings, estimate_search
from vocadapt.lab.experiments.search.saved import read_spec, save_search
from vocadapt.lab.experiments.search.space import Range, Space, find_published_choices, parse_space
from vocadapt.lab.experiments.search.step import SearchStep, SeedsStep
from vocadapt.lab.experiments.search.trials import prepare_trials
from vocadapt.lab.experiments.studies.estimates import START_UP
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.ui.parts.search import form
from vocadapt.ui.parts.search.form import format_values

SPACE = "seeds = [1, 2]\nnum_epochs = [1, 3]\n"
ROWS = [
    {"trial": 1, "state": "done", "settings": {"learning_rate": 2e-5, "num_epochs": 3}, "n": 2}
    | {"mean": 0.5, "sd": 0.02, "problem": ""},
    {"trial": 2, "state": "pruned", "settings": {"learning_rate": 1e-3, "num_epochs": 3}, "n": 2}
    | {"mean": 0.9, "sd": 0.1, "problem": ""},
    {"trial": 3, "state": "done", "settings": {"learning_rate": 1e-4, "num_epochs": 1}, "n": 2}
    | {"mean": 0.6, "sd": 0.01, "problem": ""},
    {"trial": 4, "state": "failed", "settings": {"learning_rate": 1e-6, "num_epochs": 1}, "n": 0}
    | {"mean": None, "sd": None, "problem": "no <b>memory</b>"},
]


def make_spec(workspace: Workspace, settings=None) -> Spec:
    inputs = {"model": (str(workspace.folder(*MODEL)),), "task": (str(workspace.folder(*TASK)),)}
    settings = settings or SearchStep(trials=4, seeds=(1, 2))
    return Spec(settings, inputs)


def finish(workspace: Workspace, spec: Spec, numbers: dict) -> None:
    """Save a search with its results."""
    save_search(spec, "s", workspace)
    folder = workspace.folder("searches", "s")
    manifest = replace(Manifest.load(folder), numbers=numbers)
    manifest.save(folder, lists_files=False)


def test_the_form_estimates_and_starts_a_search(open_page, own, started):
    app = open_page("search", own)
    assert not app.exception and not app.error
    values = next(one.value for one in app.dataframe if "values" in one.value)
    assert [*values["chosen by Fast 2023 (table 6.1)"]] == [*find_published_choices().values()]
    assert "**6** runs (6 trials × 1 seed)" in read_page(app)
    app.number_input(key="search_trials").set_value(3)
    app.segmented_control(key="search_space").set_value("Your own").run()
    app.text_area(key="search_text").set_value(SPACE).run()
    assert "**6** runs (3 trials × 2 seeds)" in read_page(app)
    app.button(key="search_start").click().run()
    assert not app.exception and not app.error
    ((spec, name),) = started
    assert spec.settings.trials == 3 and spec.settings.seeds == (1, 2)
    (listed,) = own.artifacts("searches")
    assert listed.name == name and (listed.folder / "space.toml").read_text() == SPACE
    assert read_spec(listed, own) == spec.absolute()


def test_a_mistake_in_a_space_is_told_with_the_nearest_name(open_page, own):
    app = open_page("search", own)
    app.segmented_control(key="search_space").set_value("Your own").run()
    app.text_area(key="search_text").set_value("batch_sise = [1]").run()
    assert not app.exception and len(app.error) == 1 and "batch_size?" in join_values(app.text)


def test_without_optuna_the_page_says_what_to_install(open_page, own, monkeypatch):
    monkeypatch.setattr(form, "is_optuna_installed", lambda: False)
    app = open_page("search", own)
    assert not app.exception and "vocadapt[search]" in join_values(app.code)
    assert "search_start" not in list_button_keys(app)
    app.segmented_control(key="search_what").set_value("Seeds").run()
    assert not app.exception and app.button(key="search_start")


def test_a_finished_search_shows_its_best_trial_and_is_continued(open_page, own, started):
    numbers = {"metric": "f1", "trials": 4, "rows": ROWS, "best": {}, "thesis": "Fast 2023 chose."}
    numbers["importance"] = {"learning_rate": 0.75, "num_epochs": 0.25}
    finish(own, make_spec(own), numbers)
    app = open_page("search", own)
    assert not app.exception and not app.error
    assert "2 done, 1 pruned, 1 failed" in read_page(app)
    assert [(one.label, one.value) for one in app.metric] == [("F1 on dev", ".600")]
    best = next(one.value for one in app.dataframe if "best" in one.value)
    assert list(best["best"]) == ["1e-4", "1"]
    assert list(best["chosen by Fast 2023"]) == ["2e-5", "10"]
    trials = next(one.value for one in app.dataframe if "Trial" in one.value)
    assert list(trials["Trial"]) == [3, 1, 2, 4]
    assert any("no &lt;b&gt;memory" in t or "no \\<b\\>memory" in t for t in list_texts(app))
    assert len(app.get("plotly_chart")) == 2
    assert app.number_input(key="search_more").value == 10
    app.number_input(key="search_more").set_value(2).run()
    app.button(key="search_continue").click().run()
    assert [(spec.settings.trials, name) for spec, name in started] == [(6, "s")]


def test_seeds_are_compared_by_epoch(open_page, own):
    rows = [
        {"epoch": 1, "scores": [0.2, 0.4], "n": 2, "mean": 0.3, "sd": 0.14},
        {"epoch": 2, "scores": [0.6, None], "n": 1, "mean": 0.6, "sd": None},
    ]
    numbers = {"metric": "f1", "rows": rows, "seeds": [1, 2], "collapsed": [2]}
    numbers |= {"best_epoch": [2, 1], "failures": []}
    finish(own, make_spec(own, SeedsStep((1, 2))), numbers)
    app = open_page("search", own)
    assert not app.exception and not app.error
    table = next(one.value for one in app.dataframe if "Epoch" in one.value)
    assert table["Seed 2"][0] == 0.4 and table["Seed 2"].isna()[1]
    assert list(table["Mean ± sd"])[1] == ".600"
    assert "**Seed 2 collapsed**" in read_page(app)
    assert "search_continue" not in list_button_keys(app)


def test_a_taken_name_and_a_bad_space_leave_nothing(own):
    with raises_input_error("unknown-name", "num_epochs?"):
        save_search(make_spec(own), "s", own, "num_epoch = [1]")
    assert not own.folder("searches", "s").exists()
    save_search(make_spec(own), "s", own)
    with pytest.raises(InputError, match="already exists"):
        save_search(make_spec(own), "s", own)


def test_an_estimate_is_that_of_all_trials_and_seeds(own):
    base = FinetuneStep(FinetuneSettings(epochs=2), limit=20)
    maker = prepare_trials(make_spec(own).inputs, base, (1, 2, 3))
    one = estimate_search(maker, None, 1, 1)
    assert one.cells == 3 and one.forecast.seconds == one.seconds_alone > START_UP
    # One value that is that of the base settings: the cost of a trial is that of the base.
    same = estimate_search(maker, Space({"num_epochs": (2,)}, (1, 2, 3), "s"), 4, 2)
    assert same.cells == 12
    assert same.seconds_alone - START_UP == pytest.approx(4 * one.forecast.idle_seconds)
    assert same.forecast.idle_seconds == pytest.approx(2 * one.forecast.idle_seconds)


def test_drawn_settings_are_in_the_space():
    from random import Random

    space = parse_space(
        "batch_size = [4, 8]\nlearning_rate = { low = 1e-5, high = 1e-3, log = true }\n"
        "num_epochs = { low = 1, high = 9, step = 4 }\nwarmup_ratio = { low = 0.1, high = 0.2 }\n"
    )
    drawn = [draw_settings(space, Random(seed)) for seed in range(50)]
    assert {one["batch_size"] for one in drawn} == {4, 8}
    assert {one["num_epochs"] for one in drawn} == {1, 5, 9}
    assert all(1e-5 <= one["learning_rate"] <= 1e-3 for one in drawn)
    assert sum(one["learning_rate"] < 1e-4 for one in drawn) in range(15, 36)
    assert all(0.1 <= one["warmup_ratio"] <= 0.2 for one in drawn)
    assert format_values(Range(1e-5, 1e-3, True)) == "1e-5 to 1e-3 (logarithmic)"
    assert asdict(space.axes["num_epochs"])["step"] == 4
