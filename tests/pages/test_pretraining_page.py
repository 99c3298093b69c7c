"""The page Pretraining on briefly trained models: stages that fit, curves, gates, and a job that
resumes after a cancel."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.material.apps import (
    go_to,
    join_values,
    list_button_keys,
    list_plain_texts,
    list_texts,
    markup,
    read_metrics,
    read_page,
)
from tests.material.exbert import made
from tests.material.finetuning import one_thread
from tests.material.lab import LONG, wait_for, write_text
from vocadapt.lab.jobs.queue import list_jobs
from vocadapt.lab.reports.pretraining import (
    have_same_masked_tokens,
    list_pretrained_models,
    list_stages,
)
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.pretraining_guards import build_large_batch_guard
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.abilities import has_masked_head
from vocadapt.models.language_model import open_model
from vocadapt.system import forecasts
from vocadapt.system.cores import count_cores
from vocadapt.training.estimates import (
    count_blocks,
    estimate_pretraining_speed,
    measure_pretraining,
)
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import PRETRAINING_PRESETS, MaskedSettings
from vocadapt.ui.parts.pretraining import result
from vocadapt.ui.text.number_formats import NARROW

QUICK = MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 6)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory, tiny_bert):
    """An exBERT after the stage extension, its base continued, and a model without a head; read
    only.
    """
    workspace = Workspace(tmp_path_factory.mktemp("pretrained") / "w")
    text = write_text(workspace.root.parent / "text.txt", lines=600)
    corpus = workspace.folder("corpora", "trials")
    with one_thread():
        run_step(
            Spec(CorpusStep(copy=True), {"text": str(text), "model": str(tiny_bert)}),
            corpus,
        )
        exbert = made("exbert-s3", workspace.folder("models", "exbert"), tiny_bert, corpus)
        for name, model, stage in (
            ("x-ext", exbert, "extension"),
            ("x-cont", tiny_bert, "continued"),
        ):
            settings = ContinuedSettings(stage, training=QUICK, keep_minutes=1e-6)
            inputs = {"model": str(model), "text": str(corpus)}
            spec = Spec(ContinuePretrainingStep(pretraining=settings), inputs)
            run_step(spec, workspace.folder("models", name))
    return workspace


@pytest.fixture
def copy(pretrained, tmp_path):
    """A copy of this workspace that may be changed."""
    return Workspace(shutil.copytree(pretrained.root, tmp_path / "copy"))


def change_manifest(workspace, name, change):
    """Change the manifest of a model by a function."""
    file = workspace.folder("models", name) / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    change(manifest)
    file.write_text(json.dumps(manifest), encoding="utf-8")


def test_the_stages_that_fit(pretrained, tiny_bert, make_bert):
    assert list(list_stages(open_model(tiny_bert))) == ["continued", "embeddings"]
    extended = open_model(pretrained.folder("models", "x-ext"))
    assert list(list_stages(extended)) == ["extension", "whole", "embeddings"]
    assert has_masked_head(open_model(tiny_bert))
    assert not has_masked_head(open_model(make_bert(head="BertModel")))


def test_the_result_the_curves_and_the_table(open_page, pretrained):
    app = open_page("pretraining", pretrained, pretraining_pretrained="x-ext")
    assert not app.exception and not app.error
    one = next(one for one in list_pretrained_models(pretrained) if one.name == "x-ext")
    shown = read_metrics(app)
    moved = shown["Trained parameters"].replace("\u202f", "")
    assert shown["Stage"] == "extension" and moved == str(one.report.trainable)
    assert len(app.get("plotly_chart")) == 1
    board = next(frame.value for frame in app.dataframe if "before" in frame.value)
    assert list(board["model"]) == ["x-cont", "x-ext"]
    assert list(board["stage"]) == ["continued", "extension"]
    assert any("6 models" in expander.label for expander in app.expander)
    commands = [code.value for code in app.code if "pretrain --model" in code.value]
    assert any("--stage extension" in command for command in commands)


def test_the_figures_of_one_step_are_in_the_singular(pretrained, monkeypatch):
    shown = []
    monkeypatch.setattr(result, "draw_metrics", lambda *rows, **places: shown.extend(rows))
    one = next(one for one in list_pretrained_models(pretrained) if one.name == "x-ext")
    figures = replace(one)
    figures.__dict__["report"] = replace(one.report, steps=1, tokens=2048)
    result.draw_figures(figures, "x")
    assert ("Wordpieces", "2\u202f048", "1 step") in shown


def test_a_model_that_was_adapted_and_trained_at_once_is_one_of_them(open_page, pretrained, copy):
    def merge(manifest):
        numbers, settings = manifest["numbers"], manifest["settings"]
        manifest["numbers"] = {"preset": "exbert-s3+mlm", "added": 5, "pretraining": numbers}
        recipe = {"pretraining": settings["pretraining"]}
        manifest["settings"] = {"corpus": settings["corpus"], "recipe": recipe}

    change_manifest(copy, "x-ext", merge)
    before = {one.name: one for one in list_pretrained_models(pretrained)}
    found = {one.name: one for one in list_pretrained_models(copy)}
    assert list(found) == list(before)
    assert found["x-ext"].curve == before["x-ext"].curve and found["x-ext"].curve.points
    app = open_page("pretraining", copy, pretraining_pretrained="x-ext")
    assert not app.exception and not app.error


def test_what_is_looked_at_stands_in_the_address(open_page, pretrained):
    link = {"model": "exbert", "stage": "whole", "budget": "hours", "against": "seconds"}
    app = open_page(
        "pretraining", pretrained, **{f"pretraining_{name}": value for name, value in link.items()}
    )
    assert not app.exception and app.radio(key="pretraining_stage").value == "whole"
    assert app.number_input(key="hours_pretraining_quick").value == 1.0
    chart = app.get("plotly_chart")[0].proto.spec
    assert "seconds" in chart and "wordpieces read" not in chart
    # A model without a stage "whole".
    app.selectbox(key="pretraining_model").set_value("x-cont").run()
    assert not app.exception and not app.error
    assert app.radio(key="pretraining_stage").value == "continued"


def test_a_model_whose_inputs_were_not_kept_is_shown(open_page, copy):
    """Such as the demo's: it was made on another machine."""
    for name in ("x-ext", "x-cont"):
        change_manifest(copy, name, lambda one: one.update(inputs={}, command=""))
    app = open_page("pretraining", copy)
    assert not app.exception and not app.error
    assert [one.model for one in list_pretrained_models(copy)] == ["", ""]


def test_models_evaluated_on_other_words_are_marked(open_page, copy):
    """A text given as a file and the same taken into the workspace have other stamps and the same
    held-out words.
    """

    def is_marked():
        return "different words" in join_values(open_page("pretraining", copy).warning)

    change_manifest(copy, "x-cont", lambda one: one["inputs"]["text"].update(stamp="another"))
    models = {one.name: one for one in list_pretrained_models(copy)}
    assert have_same_masked_tokens([models["x-ext"], models["x-cont"]]) and not is_marked()
    # A digest of the masked words that was not kept, or another one.
    for digest in ("", "0" * 64):
        change_manifest(copy, "x-cont", lambda one: one["numbers"].update(held_out_asked=digest))  # noqa: B023
        assert is_marked()


def test_gates_are_read_on_the_press(open_page, pretrained):
    app = open_page("pretraining", pretrained, pretraining_gates_model="x-ext")
    charts = len(app.get("plotly_chart"))
    app.button(key="read_gates").click().run()
    assert not app.exception and len(app.get("plotly_chart")) == charts + 1
    assert "40 of 600" in read_page(app)
    assert "vocadapt gates --model" in join_values(app.code)


def test_a_model_without_a_head_is_refused_before_anything_begins(open_page, pretrained, make_bert):
    bare = make_bert(head="BertModel")
    app = open_page("pretraining", pretrained, typed={"pretraining_model": str(bare)})
    assert not app.exception and "start_pretraining" not in list_button_keys(app)


@pytest.mark.parametrize(
    "query",
    [
        {"model": "<script>"},
        {"model": "no/pe"},
        {"pretrained": "x"},
        {"stage": "half"},
        {"curves": "y"},
        {"against": "z"},
        {"gates_model": "../.."},
        {"budget": "money"},
        {"preset": "?"},
    ],
)
def test_a_forged_address_is_no_crash(open_page, pretrained, query):
    app = open_page("pretraining", pretrained, **query)
    assert not app.exception and "<script" not in markup(app)


def fill_in(open_page, workspace):
    """The page, with the form of a training of 30 epochs filled in."""
    query = {"model": "exbert", "stage": "extension", "budget": "epochs"}
    query = {f"pretraining_{name}": value for name, value in query.items()}
    app = open_page("pretraining", workspace, **query)
    app.number_input(key="length_pretraining_quick").set_value(16).run()
    app.number_input(key="epochs_pretraining_quick").set_value(30.0).run()
    app.number_input(key="save_minutes_pretraining_quick").set_value(0.1).run()
    told = next(text for text in list_plain_texts(app) if "epochs" in text)
    assert float(told.split(" epochs")[0].split()[-1]) == pytest.approx(30, abs=0.2)
    return app


def test_the_settings_are_not_those_of_the_page_fine_tune(open_page, pretrained):
    """Both have a preset "quick", with 5 epochs there: here the inputs showed 1 epoch, and the plan
    was that of 5.
    """
    app = go_to(open_page("finetune", pretrained), "pretraining")
    quick = PRETRAINING_PRESETS["quick"].settings
    for name in ("epochs", "batch", "lr", "warm_up"):
        field = app.number_input(key=f"{name}_pretraining_quick")
        assert field.value == getattr(quick, name)


def test_the_form_starts_the_job_that_it_describes(open_page, pretrained, started):
    fill_in(open_page, pretrained).button(key="start_pretraining").click().run()
    ((spec, _),) = started
    further = spec.settings.pretraining
    assert further.training.epochs == 30 and further.stage == "extension"


@pytest.mark.slow  # in the gate: the form, and jobs that are canceled on the page Jobs
def test_a_job_is_started_canceled_and_resumed_from_the_page(
    open_page, pretrained, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    root = tmp_path / "jobs"
    shutil.copytree(pretrained.root, root)
    workspace = Workspace(root)
    app = fill_in(open_page, workspace)
    app.button(key="start_pretraining").click().run()
    job = list_jobs(workspace)[0]
    try:
        assert job.spec.settings.pretraining.training.epochs == 30
        assert job.spec.settings.pretraining.stage == "extension"
        wait_for(job, "running", LONG)
        job.cancel(grace=LONG)
        wait_for(job, "canceled", LONG)
        app = open_page("pretraining", workspace)
        assert not app.exception and any(button.label == "Resume" for button in app.button)
    finally:
        job.cancel(grace=2)


def test_the_work_by_hand():
    settings = MaskedSettings(length=12, batch=5, epochs=2.0)
    # 1 000 wordpieces, 990 of them to train on: 99 blocks of 10 and two specials; 198 blocks in 2
    # passes: 39.6 steps
    config = {"num_hidden_layers": 2, "hidden_size": 64}
    assert count_blocks(5000, settings) == 99
    found = measure_pretraining(5000, settings, config, "continued")
    assert found.units == 40 * 60
    assert found.about == "40 steps, 2.02 epochs; the text has about 1,000 wordpieces"
    speed = estimate_pretraining_speed(config, "continued", settings)
    assert found.seconds == pytest.approx(2400 / speed)
    tokens = replace(settings, tokens=600)
    assert measure_pretraining(5000, tokens, config, "continued").units == 600
    one_thread = measure_pretraining(5000, settings, config, "continued", threads=1)
    assert one_thread.seconds == pytest.approx(2 * found.seconds)
    timed = measure_pretraining(5000, replace(settings, hours=0.1), config, "continued")
    assert timed.is_timed and timed.seconds == 360


def test_a_batch_that_is_larger_than_the_text_is_reported():
    """The demo's text, 1 489 wordpieces: an epoch is 11 blocks, a step trains on 16."""
    guard = build_large_batch_guard(
        11, MaskedSettings(length=128, batch=16), "pretraining.training"
    )
    assert guard.numbers == {"batch": 16, "blocks": 11, "epochs_per_step": 1.45}
    assert guard.change == {"pretraining.training.batch": 11}


def test_the_plan_says_that_a_batch_is_larger_than_the_text(open_page, pretrained):
    app = open_page("pretraining", pretrained)
    assert not any(key.endswith("large-batch") for key in list_button_keys(app))
    app.number_input(key="batch_pretraining_quick").set_value(4096).run()
    assert any(key.endswith("large-batch") for key in list_button_keys(app))


def test_an_hour_on_a_busy_machine_is_an_hour_with_fewer_wordpieces(
    open_page, pretrained, monkeypatch
):
    monkeypatch.setattr(forecasts, "_read_load_average", lambda: (load - 1) * count_cores())
    shown = {}
    for load in (1.0, 4.0):
        app = open_page("pretraining", pretrained, pretraining_budget="hours")
        cost = next(text for text in list_texts(app) if text.startswith("About **"))
        shown[load] = int(re.search(r"· ([\d\s]+) wordpieces", cost)[1].replace(NARROW, ""))
        assert "About **60 min**" in cost
    assert shown[1.0] == pytest.approx(4 * shown[4.0], rel=0.01)


def test_the_modeled_speed_accounts_for_frozen_parts_and_extensions():
    config = {
        "num_hidden_layers": 4,
        "hidden_size": 256,
        "intermediate_size": 1024,
        "vocab_size": 16000,
    }
    extended = config | {"extension_hidden_size": 84, "extension_intermediate_size": 341}
    settings = MaskedSettings()
    plain, rows = (
        estimate_pretraining_speed(config, stage, settings) for stage in ("continued", "embeddings")
    )
    stage_1, whole = (
        estimate_pretraining_speed(extended, stage, settings) for stage in ("extension", "whole")
    )
    assert rows > plain > whole and stage_1 > whole
    # 3 layers of 12 · 256² at 6 operations, of the last a sixth and .225 of the rest, the head at
    # .15 of the wordpieces
    operations = (3 + 1 / 6 + 5 / 6 * 0.225) * 12 * 256**2 * 6 + 0.15 * 6 * (256**2 + 256 * 16000)
    assert plain == pytest.approx(1 / (operations / 1e11 + 0.02 / (16 * 128)))


def test_adapt_offers_the_sizes_and_says_what_is_next(open_page, pretrained):
    app = open_page("adapt", pretrained, adapt_preset="exbert-s3", adapt_adapted="exbert")
    assert not app.exception and not app.error and "*extension*" in read_page(app)
    app.selectbox(key="adapt_preset").set_value("exbert-s3").run()
    app.number_input(key="adapt_extension").set_value(7).run()
    figures = read_metrics(app)
    assert not app.exception and figures["Tokens added"] == "7"
    app.button(key="draw_extension").click().run()
    assert not app.exception and len(app.get("plotly_chart")) >= 2
    assert "vocabulary extension" in join_values(app.code)
