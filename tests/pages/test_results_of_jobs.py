"""What one makes is what one sees: every step has a way to its result, by its name, and a job that
ends while its page is open selects it there."""

import json
import shutil
from types import SimpleNamespace

import pytest

from tests.material.address_keys import SOURCES, keys_of
from tests.material.apps import read_page
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.ui.components import pickers
from vocadapt.ui.jobs import results
from vocadapt.ui.jobs.results import PLACES
from vocadapt.ui.state.pages import PARTS


def order(workspace, spec, name):
    """A finished job, as its folder describes it."""
    folder = workspace.root / "jobs" / f"20260101-000000-000000-{spec.step}"
    folder.mkdir(parents=True)
    target = f"{spec.kind}/{name}"
    (folder / "spec.json").write_text(
        json.dumps({"spec": spec.to_dict(), "target": target, "overwrite": False})
    )
    write_status(folder, Status("done", started=1.0, updated=2.0))
    return Job(folder)


def spec_of(step, **inputs):
    return Spec(step.settings(), {role.name: ("x",) for role in step.needs} | inputs)


def find_job_of(workspace, part):
    """The newest job whose result belongs to a part."""
    return next(
        job for job in queue.list_jobs(workspace) if results.PLACES[job.spec.step].part == part
    )


@pytest.fixture
def a_run(monkeypatch):
    """The only run of a workspace: the task has one, named as the result of the job."""
    run_set = SimpleNamespace(name="mine", task="ner")
    run = SimpleNamespace(run_set=run_set, name="mine · seed 1 · base")
    monkeypatch.setattr(pickers, "list_runs_to_pick", lambda *_, **__: [run])


@pytest.mark.usefixtures("a_run")
@pytest.mark.parametrize("name", list(STEPS))
def test_every_step_has_a_way_to_its_result(tmp_path, name):
    """No step of the registry may be forgotten: its part, and a picker there that names it."""
    step, keys = STEPS[name], {key for path in SOURCES for key in keys_of(path)}
    part, query = results.find_result_part(order(Workspace(tmp_path), spec_of(step), "mine"))
    assert part in PARTS
    own = [key for key in query if key.startswith(f"{part}_")]
    assert own and len(own) == len(query)
    assert set(own) <= keys or part == "jobs"
    place = PLACES.get(step.name)
    if place is not None and place.selected_by:
        assert query[place.selected_by] == "mine" and place.selected_by.startswith(f"{part}_")
    elif place is not None:
        assert place.select_more is not None and all(query.values())


@pytest.fixture
def doubled(seeded_copy):
    """The seeded workspace, with a newer copy of each artifact."""
    for kind in ("corpora", "vectors", "models"):
        for artifact in seeded_copy.artifacts(kind):
            copy = artifact.folder.with_name(f"{artifact.name}-newer")
            shutil.copytree(artifact.folder, copy)
            path = copy / "manifest.json"
            changed = json.loads(path.read_text()) | {
                "name": copy.name,
                "created": "2999-01-01T00:00:00+00:00",
            }
            path.write_text(json.dumps(changed))
    return seeded_copy


MADE = {  # step -> its result, and the label of the picker that shows it
    "corpus": ("trials", "Text"),
    "vectors": ("trials-vectors", "Word vectors"),
    "adapt": ("trials-model", "Adapted model"),
}


def test_the_result_is_shown_although_there_are_newer_ones(open_page, doubled):
    for name, (made, label) in MADE.items():
        assert doubled.artifacts(STEPS[name].makes)[0].name == f"{made}-newer"
        job = order(doubled, spec_of(STEPS[name]), made)
        part, query = results.find_result_part(job)
        app = open_page(part, doubled, **query)
        shown = next(box.value for box in app.main.selectbox if box.label == label)
        assert not app.exception and shown == made


def test_the_result_of_an_alignment_is_shown(open_page, seeded, seeded_copy):
    manifest = Manifest.load(seeded.folder("alignments", "trials-map"))
    inputs = {role: manifest.inputs[role].paths for role in ("vectors", "model")}
    model = str((seeded.root / inputs["model"][0]).resolve())
    spec = spec_of(
        STEPS["alignment"], vectors=(f"{seeded_copy.root}/{inputs['vectors'][0]}",), model=(model,)
    )
    part, query = results.find_result_part(order(seeded_copy, spec, "trials-map"))
    app = open_page(part, seeded_copy, **query)
    assert not app.exception
    assert {box.key: box.value for box in app.main.selectbox}["alignment_method"] == (
        AlignmentSettings().digest
    )
    assert query["alignment_vectors"] == "trials-vectors"


@pytest.mark.parametrize(
    ("part", "button", "picker"),
    [
        ("vectors", "train", "vectors_vectors"),
        pytest.param("adapt", "adapt", "adapt_adapted", marks=pytest.mark.slow),
    ],
)
def test_a_job_that_ends_selects_its_result_and_says_that_it_is_new(
    open_page, seeded_copy, part, button, picker
):
    workspace = seeded_copy
    app = open_page(part, workspace)
    before = app.session_state[picker]
    assert "new_releases" not in read_page(app)
    app.button(key=button).click().run()
    job = find_job_of(workspace, part)
    assert job.wait(100).state == "done", job.log()
    app.run()
    assert not app.exception and app.session_state[picker] == job.target.name != before
    assert "new_releases" in read_page(app)
    assert app.session_state["scroll_to_top"] == job.id
    app.run()
    assert app.session_state[picker] == job.target.name


def test_a_training_is_followed_by_the_choice_of_an_alignment(open_page, seeded_copy):
    """The same press: a second job waits for the vectors of the first."""
    workspace = seeded_copy
    app = open_page("vectors", workspace)
    app.button(key="train").click().run()
    assert not app.exception
    vectors, alignment = (find_job_of(workspace, part) for part in ("vectors", "alignment"))
    assert alignment.spec.inputs["vectors"] == (str(vectors.target),)
    assert alignment.wait(100).state == "done", alignment.log()
    made = open_artifact(alignment.target)
    assert made.manifest.settings["choose"] and made.name == f"{vectors.target.name}-alignment"
    assert not open_page("alignment", workspace).exception


def test_a_job_of_another_page_does_not_change_this_one(open_page, seeded_copy):
    workspace = seeded_copy
    app = open_page("vectors", workspace)
    app.button(key="train").click().run()
    job = find_job_of(workspace, "vectors")
    app.switch_page("pages/build/adapt.py").run()
    before = app.session_state["adapt_adapted"]
    told = [toast.value for toast in app.toast]  # the job may be done before the page is drawn
    assert job.wait(100).state == "done"
    app.run()
    assert not app.exception and app.session_state["adapt_adapted"] == before
    told += [toast.value for toast in app.toast]
    assert told and "scroll_to_top" not in app.session_state
    links = [link.proto for link in app.sidebar.get("page_link")]
    assert any(f"vectors_vectors={job.target.name}" in link.query_string for link in links)
