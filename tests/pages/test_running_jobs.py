"""A running job is the state of the page that it belongs to: it stands where the page would say that there
is nothing yet, and where a button would start the same again.
"""

import time

import pytest

from tests.material.apps import list_button_keys, press
from tests.material.lab import wait_for, write_text
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.locks import hold_lock
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

EMPTY = "no word vectors"


@pytest.fixture
def workspace(make_workspace, tmp_path, tiny_bert):
    """A workspace with a text; its jobs are canceled after the test."""
    found = make_workspace("trials")
    text = write_text(tmp_path / "long.txt", lines=400)
    spec = Spec(CorpusStep(), {"text": (str(text),), "model": (str(tiny_bert),)})
    run_step(spec, found.folder("corpora", "long"))
    return found


def list_buttons(app) -> list[str]:
    return [button.label for button in app.button]


def read_text(app) -> str:
    return " ".join(one.value for one in app.markdown)


def set_epochs(app, epochs: int):
    field = next(field for field in app.number_input if field.label == "Epochs")
    return field.set_value(epochs).run()


def test_a_page_shows_its_running_job_instead_of_an_empty_state_and_a_live_button(
    open_page, workspace
):
    app = open_page("vectors", workspace)
    assert EMPTY in read_text(app) and "Train word vectors" in list_buttons(app)
    set_epochs(app, 1000)
    press(app, "Train word vectors")
    assert not app.exception and not app.error
    job = next(job for job in queue.list_living_jobs(workspace) if job.spec.step == "vectors")
    assert EMPTY not in read_text(app) and "Train word vectors" not in list_buttons(app)
    assert f"cancel_{job.id}" in list_button_keys(app)
    assert "long-2" not in [field.value for field in app.text_input]
    # Other settings are another job, which gets another name.
    set_epochs(app, 999)
    assert "Train word vectors" in list_buttons(app)
    assert "long-2" in [field.value for field in app.text_input]


def test_a_form_without_its_inputs_is_a_disabled_button(open_page, make_workspace):
    app = open_page("text", make_workspace("empty"))
    assert app.button(key="take_text").disabled
    assert not [one for one in app.text_input if (one.key or "").startswith("corpus_name")]


def test_the_first_text_is_no_missing_text_while_it_is_imported(open_page, tmp_path):
    workspace = Workspace(tmp_path / "w")
    text = write_text(tmp_path / "long.txt", lines=40)
    (workspace.root / "jobs").mkdir(parents=True)
    with hold_lock(workspace.root / "jobs"):  # the job waits
        job = queue.start(workspace, Spec(CorpusStep(), {"text": (str(text),)}), "long")
        app = open_page("text", workspace)
        assert "There is no text" not in read_text(app)
        assert "Import and count" not in list_buttons(app)
        job.cancel(grace=2)
    app.run()
    assert "There is no text" in read_text(app) and "Import and count" in list_buttons(app)


def test_a_part_that_needs_what_a_job_is_making_says_so(open_page, workspace, tiny_bert):
    inputs = {"text": (str(workspace.folder("corpora", "long")),), "model": (str(tiny_bert),)}
    settings = VectorsStep(word2vec=Word2VecSettings(epochs=1000))
    queue.start(workspace, Spec(settings, inputs), "long")
    app = open_page("alignment", workspace)
    assert "There are no word vectors" not in read_text(app)
    assert "Train word vectors · long" in read_text(app)


def test_the_same_settings_twice_are_one_job_from_any_page(open_page, workspace):
    first, second = open_page("vectors", workspace), open_page("vectors", workspace)
    for app in (first, second):  # both tabs show the button
        set_epochs(app, 1000)
    press(first, "Train word vectors")
    press(second, "Train word vectors")
    assert not second.exception and not second.error
    assert sorted(job.spec.step for job in queue.list_jobs(workspace)) == ["alignment", "vectors"]


def test_what_is_made_already_is_no_longer_the_blue_button(open_page, workspace):
    app = open_page("vectors", workspace)
    set_epochs(app, 1)
    press(app, "Train word vectors")
    alignment, job = queue.list_jobs(workspace)
    alignment.cancel(grace=2)
    wait_for(job, "done")
    app = open_page("vectors", workspace)
    for epochs, kind in ((1, "secondary"), (2, "primary")):
        set_epochs(app, epochs)
        [button] = [one for one in app.button if one.label == "Train word vectors"]
        assert button.proto.type == kind
        assert ("**long**" in read_text(app)) is (epochs == 1)
    assert queue.find_same_result(workspace, job.spec).name == "long"
    # A damaged result can be made again.
    next(job.target.glob("*.safetensors")).unlink()
    (job.target / "manifest.json").touch()  # read anew
    assert queue.find_same_result(workspace, job.spec) is None
    app = open_page("vectors", workspace)
    set_epochs(app, 1)
    assert "Train word vectors" in list_buttons(app)


def test_two_orders_of_the_same_are_one_job(workspace, tiny_bert):
    inputs = {"text": (str(workspace.folder("corpora", "long")),), "model": (str(tiny_bert),)}
    spec = Spec(VectorsStep(word2vec=Word2VecSettings(epochs=1000)), inputs)
    job = queue.start(workspace, spec, "a")
    assert queue.start(workspace, spec, "b", once=True).id == job.id
    other = Spec(VectorsStep(word2vec=Word2VecSettings(epochs=999)), inputs)
    assert queue.start(workspace, other, "c", once=True).id != job.id
    job.cancel(grace=2)
    assert queue.start(workspace, spec, "b", once=True).id != job.id


def test_settings_with_several_values_are_compared_as_values(workspace, tiny_bert):
    """In the file of a job, a tuple is a list."""
    inputs = {"model": (str(tiny_bert),), "task": (str(workspace.root / "none"),)}
    spec = Spec(FinetuneStep(seeds=(1, 2)), inputs)
    (workspace.root / "jobs").mkdir(exist_ok=True)
    with hold_lock(workspace.root / "jobs"):  # it waits
        job = queue.start(workspace, spec, "a")
        assert queue.find_same_job(workspace, spec).id == job.id
        other = Spec(FinetuneStep(seeds=(1, 3)), inputs)
        assert queue.find_same_job(workspace, other) is None
        job.cancel(grace=2)


def test_living_jobs_are_found_without_a_look_at_ended_ones(workspace, tiny_bert, monkeypatch):
    inputs = {"text": (str(workspace.folder("corpora", "long")),), "model": (str(tiny_bert),)}
    job = queue.start(workspace, Spec(VectorsStep(), inputs), "a")
    assert [one.id for one in queue.list_living_jobs(workspace)] == [job.id]
    for number in range(20):
        (workspace.root / "jobs" / f"20200101-000000-0000{number:02}-corpus").mkdir()
    looks = []
    monkeypatch.setattr(
        "vocadapt.lab.jobs.living.is_locked", lambda folder: looks.append(folder.name) or False
    )
    job.waits_for()
    assert looks in ([job.id], [])
    monkeypatch.undo()
    job.wait(60)
    assert queue.list_living_jobs(workspace) == []
    end = time.monotonic() + 5
    while list((workspace.root / "jobs" / "living").iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert list((workspace.root / "jobs" / "living").iterdir()) == []


def test_a_name_that_is_none_is_refused_and_starts_nothing(open_page, workspace):
    app = open_page("vectors", workspace)
    field = next(one for one in app.text_input if one.label == "Name")
    field.set_value("").run()
    press(app, "Train word vectors")
    assert not app.exception
    assert any("cannot be a name" in one.value.replace("\\", "") for one in app.text)
    assert queue.list_jobs(workspace) == []
