"""Forms: a setting that is added to a class is on its page, and a form ends with its command."""

from dataclasses import make_dataclass

import pytest

from tests.material.apps import join_values, list_button_keys
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.lab.jobs.queue import list_living_jobs
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.models.contextual.occurrences import ContextualSettings
from vocadapt.settings import setting
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings
from vocadapt.training.finetune.settings import FinetuneSettings, Training
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings, Pretraining
from vocadapt.ui.jobs.forms import _find_command

PARTS = "vocadapt.ui.parts"


def add_setting(kind: type) -> type:
    """A copy of a settings class with one more setting."""
    added = setting(3, "an added setting", high=9)
    return make_dataclass(
        f"More{kind.__name__}", [("added", int, added)], bases=(kind,), frozen=True
    )


@pytest.fixture
def no_commands(monkeypatch):
    """The class of the step itself lacks the added setting, so no command line can be built."""
    monkeypatch.setattr("vocadapt.ui.jobs.forms.draw_commands", lambda *given: None)


@pytest.mark.usefixtures("no_commands")
@pytest.mark.parametrize(
    ("part", "kind", "module", "form"),
    [
        ("text", CorpusSettings, "text.intake_form", "text"),
        ("vectors", Word2VecSettings, "vectors.page", "vectors"),
        ("change", ContextualSettings, "vectors.contextual", "contextual"),
        ("pretraining", ContinuedSettings, "pretraining.page", "pretraining"),
        ("initializers", LeaderboardSettings, "initializers.leaderboard", "initializers"),
    ],
)
def test_a_setting_that_is_added_is_on_its_page(
    open_page, seeded, monkeypatch, part, kind, module, form
):
    monkeypatch.setattr(f"{PARTS}.{module}.{kind.__name__}", add_setting(kind))
    app = open_page(part, seeded)
    assert not app.exception and not app.error
    assert app.number_input(key=f"added_{form}").value == 3


@pytest.mark.usefixtures("no_commands")
def test_a_setting_of_a_preset_that_is_added_is_on_its_page_and_in_its_job(
    open_page, seeded, monkeypatch, started
):
    presets = {"quick": Pretraining("a preset", add_setting(MaskedSettings)())}
    monkeypatch.setattr(f"{PARTS}.pretraining.page.PRETRAINING_PRESETS", presets)
    app = open_page("pretraining", seeded)
    app.number_input(key="added_pretraining_quick").set_value(5).run()
    app.button(key="start_pretraining").click().run()
    assert not app.exception and not app.error
    assert started[0][0].settings.pretraining.training.added == 5


@pytest.mark.usefixtures("no_commands")
def test_a_setting_of_fine_tuning_that_is_added_is_on_its_page(open_page, seeded, monkeypatch):
    presets = {"quick": Training("a preset", add_setting(FinetuneSettings)())}
    monkeypatch.setattr(f"{PARTS}.finetune.page.FINETUNING_PRESETS", presets)
    app = open_page("finetune", seeded)
    assert not app.exception
    assert app.number_input(key="added_finetune_quick").value == 3


def test_a_form_ends_with_its_command(open_page, seeded):
    app = open_page("vectors", seeded)
    assert list_living_jobs(seeded) == [] and "train" in list_button_keys(app)
    field = next(one for one in app.text_input if (one.key or "").startswith("vectors_name"))
    folder = seeded.folder("vectors", field.value)
    assert f"--out {folder}" in join_values(app.code)
    field.set_value("mine").run()
    assert f"--out {seeded.folder('vectors', 'mine')}" in join_values(app.code)


def test_a_command_that_reads_what_only_its_job_writes_is_none(seeded, tiny_bert):
    folder = seeded.folder("corpora", "new")
    inputs = {"text": (str(seeded.root / "text.txt"),), "model": (str(tiny_bert),)}
    assert "words count" in _find_command(Spec(CorpusStep(), inputs), folder)
    assert _find_command(Spec(CorpusStep(copy=True), inputs), folder) == ""
