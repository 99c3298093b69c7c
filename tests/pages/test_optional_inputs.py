"""Optional fields, suggested model names of the hub, and the job strip."""

import re
from pathlib import Path
from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from tests.material.sources import check_files, list_modules, list_strings
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models import language_model as cache
from vocadapt.settings import get_settings
from vocadapt.system import forecasts
from vocadapt.system.forecasts import Rate, Work
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.ui.components import pickers
from vocadapt.ui.jobs import overview, panel
from vocadapt.ui.parts.results.compared_settings import describe_empty_value
from vocadapt.ui.state.names import models_of
from vocadapt.ui.text import markup, number_formats


def form():
    from dataclasses import dataclass

    import streamlit as st

    from vocadapt.settings import setting
    from vocadapt.ui.components.setting_inputs import draw_setting

    @dataclass(frozen=True)
    class Settings:
        cap: int = setting(0, "cap", empty="all")
        chunk: int = setting(30, "chunk", empty="as many as fit")
        rate: float = setting(0.0, "rate", empty="by size")

    for name in ("cap", "chunk", "rate"):
        st.text(str(draw_setting(st, Settings, name, name)))


def test_an_empty_field_is_the_settings_0():
    app = AppTest.from_function(form).run()
    assert not app.exception and [text.value for text in app.text] == ["0", "30", "0.0"]
    assert [field.placeholder for field in app.number_input] == ["all", "as many as fit", "by size"]
    assert [field.value for field in app.number_input] == [None, 30, None]
    app.number_input(key="cap").set_value(7).run()
    app.number_input(key="chunk").set_value(None).run()
    assert [text.value for text in app.text] == ["7", "0", "0.0"]
    assert app.number_input(key="chunk").value is None


ZERO = re.compile(
    r"(?<![\w.,])0(:| means| stands for| =) "
    r"(all|none|never|no limit|unlimited|off|any|every|automatic|default|the default)(?=[.,;)]|$)"
)


def test_no_field_says_that_0_stands_for_something():
    """An empty field does, in every setting and on every page."""
    check_files(
        lambda source: [text for _, text in list_strings(source) if ZERO.search(text)],
        [path for path in list_modules("vocadapt") if "cli" not in path.parts],
    )


def test_a_planted_zero_is_found_and_a_score_of_0_is_not():
    assert ZERO.search("Words to add at most; 0: all.")
    assert not ZERO.search("1: same direction; 0: orthogonal. Near 0: no hubs")


def test_compared_settings_say_what_an_empty_value_means():
    declared = get_settings(FinetuneSettings)["patience"]
    assert declared.empty and describe_empty_value(declared, 0) == declared.empty
    assert describe_empty_value(declared, 3) == 3 and describe_empty_value(None, 0) == 0


def test_hub_names_are_offered_from_the_cache_alone(monkeypatch, tmp_path):
    """bert-base-uncased was offered offline and failed."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert not cache.is_cached("bert-base-uncased") and not cache.is_cached("no/such/name?")
    workspace = Workspace(tmp_path / "empty")
    assert not models_of(workspace)
    monkeypatch.setattr(cache, "is_cached", lambda name: name.endswith("-cased"))
    assert models_of(workspace) == {"bert-base-cased": "bert-base-cased"}


def test_with_nothing_in_the_cache_the_demos_model_is_offered(open_page, monkeypatch):
    monkeypatch.setattr(cache, "is_cached", lambda name: False)
    app = open_page("vectors")
    (picker,) = (box for box in app.main.selectbox if box.label == "Language model")
    assert not app.exception and picker.options[0] == pickers.demo.MODEL[1]


def test_every_estimate_says_what_it_is_of(monkeypatch):
    found = Rate(start_up=20.0).forecast(Work(1, "model", 40.0))
    assert number_formats.format_forecast(found) == "60 s"
    monkeypatch.setattr(forecasts, "_read_load_average", lambda: 4.0)
    monkeypatch.setattr(forecasts, "count_cores", lambda: 2)
    busy = "(this machine is busy: 3 × longer than when idle)"
    assert number_formats.format_forecast(found) == f"3 min {busy}"
    assert number_formats.format_forecast(found, with_start_up=False) == f"2 min {busy}"


class Step:
    step = "corpus"
    declaration = STEPS["corpus"]
    kind = "corpora"


class Made:
    id = "1"
    spec = Step
    workspace = Workspace(Path("/no/such/workspace"))
    folder = Path("/no/such/workspace/jobs/1")

    class target:  # noqa: N801
        name = "<b>mine</b>"


def test_the_strip_tells_how_far_a_job_is_and_escapes_its_name(monkeypatch):
    written = []
    monkeypatch.setattr(markup.st, "html", written.append)
    monkeypatch.setattr("time.time", lambda: 1000.0)
    running = Status("running", fraction=0.25, started=980.0, updated=1000.0)
    progress = overview.describe_progress(running, 60.0, 2)
    assert progress == "25 % · about 60 s left · 2 waiting"
    assert overview.describe_progress(Status("waiting"), None, 0) == "waiting"
    markup.draw_strip("Step", "<b>mine</b>", progress, 0.25, ("one", "<b>two"))
    drawn = written[0].removeprefix(markup.STYLE)
    assert "&lt;b&gt;mine" in drawn and "<b>mine" not in drawn
    assert progress in drawn and "width:25%" in drawn and 'title="one · &lt;b&gt;two"' in drawn


def test_the_names_of_many_jobs_list_the_artifacts_of_a_kind_once(monkeypatch):
    class Model:
        def __init__(self, id, kind, name):
            self.id, self.workspace, self.target = id, None, Path(f"/w/{kind}/{name}")
            self.spec = SimpleNamespace(kind=kind)

    listed = []

    def list_names(workspace, kind):
        listed.append(kind)
        return {"m-1": "bert + words"} if kind == "models" else {}

    monkeypatch.setattr(panel, "list_display_names", list_names)
    monkeypatch.setattr(panel, "find_id", lambda job: job.id)
    monkeypatch.setattr(panel, "find_name", lambda workspace, id: "mine" if id == "4" else "")
    places = (("models", "m-1"), ("models", "m-2"), ("corpora", "m-1"), ("models", "m-1"))
    jobs = [Model(str(number), *place) for number, place in enumerate(places, start=1)]
    assert panel.find_job_names(jobs) == {"1": "bert + words", "2": "m-2", "3": "m-1", "4": "mine"}
    assert listed == ["models", "corpora"]


def test_the_running_job_is_before_those_that_wait():
    class One:
        def __init__(self, id):
            self.id = id

    found = [One("5"), One("4"), One("3"), One("2"), One("1")]
    states = {"5": "waiting", "4": "running", "3": "waiting", "2": "done", "1": "failed"}
    stands = {id: Status(state) for id, state in states.items()}
    assert [job.id for job in panel.sort_living(found, stands)] == ["4", "3", "5"]


def test_the_link_of_the_strip_names_the_job_as_the_page_of_jobs_reads_it(monkeypatch, tmp_path):
    class Running(Made):
        id = "20260101-000000-0-corpus"

        @staticmethod
        def status():
            return Status("running", fraction=0.25, started=0.0, updated=1.0)

    links = []
    monkeypatch.setattr(overview.queue, "list_living_jobs", lambda *_: [Running()])
    monkeypatch.setattr(Status, "estimate_seconds_left", lambda status: None)
    monkeypatch.setattr(
        overview.st, "page_link", lambda page, **given: links.append(given["query_params"])
    )
    overview._draw_strip(tmp_path, frozenset())
    assert [link[panel.JOB] for link in links] == [Running.id]
