"""The page Jobs makes, applies and removes vocabulary packs."""

import shutil
from pathlib import Path

import pytest

from tests.material.packs import MEDICAL, adapt_words, check_restored
from vocadapt.lab.jobs import queue
from vocadapt.lab.workspace.manifest import Input, Manifest

MAKE = "Make a vocabulary pack"


@pytest.fixture
def models(make_workspace):
    """A workspace with a base, the model adapted from it, and newer models that no pack can be made
    of: two trained further, one with a module, and one with another vocabulary. Their folders hold
    no weights.
    """
    workspace = make_workspace("trials")
    for name, base, numbers in (
        ("base", "", {}),
        ("adapted", "base", {"kind": "append", "added": 3}),
        ("continued", "adapted", {"stage": "continued"}),
        ("trained", "base", {"kind": "append", "added": 3, "pretraining": {"stage": "continued"}}),
        ("extended", "base", {"kind": "append", "added": 3, "module": {"gate": 1}}),
        ("replaced", "base", {"kind": "replace", "added": 3}),
    ):
        inputs = {}
        if base:
            inputs["model"] = Input((f"models/{base}",), "")
        folder = workspace.folder("models", name)
        folder.mkdir(parents=True)
        Manifest("models", name, {}, inputs, numbers).save(folder)
    return workspace


def pick_values(app) -> dict[str, str | None]:
    return {
        role: app.selectbox(key=f"jobs_make-pack_{role}").value for role in ("model", "adapted")
    }


def test_an_adapted_model_and_its_base_are_selected_first(open_page, models) -> None:
    app = open_page("jobs", models, jobs_step=MAKE)
    assert pick_values(app) == {"model": "base", "adapted": "adapted"}
    # The same model on both sides starts no job.
    app.selectbox(key="jobs_make-pack_model").set_value("adapted").run()
    app.button(key="jobs_make-pack_start").click().run()
    assert not app.exception and app.error and queue.list_jobs(models) == []
    # Without an adapted model, nothing is selected.
    shutil.rmtree(models.folder("models", "adapted"))
    app = open_page("jobs", models, jobs_step=MAKE)
    assert pick_values(app) == {"model": None, "adapted": None}
    assert app.button(key="jobs_make-pack_start").disabled


@pytest.mark.slow
def test_a_pack_is_made_applied_and_removed_on_the_page(
    make_workspace, open_page, tiny_bert: Path
) -> None:
    workspace = make_workspace("trials")
    base, adapted = (workspace.folder("models", name) for name in ("base", "adapted"))
    shutil.copytree(tiny_bert, base)
    adapt_words(base, MEDICAL, adapted)
    for folder in (base, adapted):
        Manifest("models", folder.name, {}, step="convert").save(folder)

    def start(title: str, step: str, **inputs: str) -> queue.Job:
        app = open_page("jobs", workspace, jobs_step=title)
        assert not app.exception
        for role, name in inputs.items():
            app.selectbox(key=f"jobs_{step}_{role}").set_value(name)
        app.run()
        app.button(key=f"jobs_{step}_start").click().run()
        assert not app.exception, app.exception
        job = queue.list_jobs(workspace)[0]
        assert job.wait(120).state == "done", job.log()
        return job

    # 1. Each step is a form, and its job writes its result into the workspace.
    made = start("Make a vocabulary pack", "make-pack", model="base", adapted="adapted")
    assert (made.target / "pack.safetensors").is_file()
    pack = made.target.name
    applied = start("Apply a vocabulary pack", "apply-pack", model="base", pack=pack)
    removed = start("Remove a vocabulary pack", "remove-pack", model=applied.target.name)
    check_restored(tiny_bert, removed.target)

    # 2. Home leads to the results, and the page Jobs shows them.
    assert not open_page("home", workspace).exception
    shown = open_page("jobs", workspace, jobs_step="Make a vocabulary pack")
    assert any("tokens: **3**" in line.value for line in shown.markdown)
