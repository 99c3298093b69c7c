"""The page Jobs makes, applies and removes vocabulary packs."""

import shutil
from pathlib import Path

import pytest

from tests.material.packs import MEDICAL, adapt_words, hash_folder
from tests.pages.test_pages import JOBS
from vocadapt.lab.jobs import queue
from vocadapt.lab.workspace.manifest import Manifest


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
        app = open_page(JOBS, workspace, jobs_step=title)
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
    restored = hash_folder(removed.target)
    del restored["manifest.json"]
    assert restored == hash_folder(tiny_bert)

    # 2. Home leads to the results, and the page Jobs shows them.
    assert not open_page("home", workspace).exception
    shown = open_page(JOBS, workspace, jobs_step="Make a vocabulary pack")
    assert any("tokens: **3**" in line.value for line in shown.markdown)
