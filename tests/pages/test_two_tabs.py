"""Two tabs of one workspace: what one renames, deletes or adds, the other meets without an exception,
and says what happened."""

import shutil

import pytest

from tests.material.apps import read_page
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.housekeeping.trash import delete_artifact
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.state.pages import PARTS

ITEMS = (("vectors", "trials-vectors"), ("models", "trials-model"), ("alignments", "trials-map"))


@pytest.fixture
def workspace(seeded_copy):
    return seeded_copy


def rename_all(workspace: Workspace) -> None:
    for kind, name in ITEMS:
        rename_artifact(workspace, workspace.artifact(kind, name), f"{name}-new")


def delete_all(workspace: Workspace) -> None:
    for kind, name in ITEMS:
        delete_artifact(workspace, workspace.artifact(kind, name))


def check_calm(app) -> None:
    assert not app.exception
    assert "Traceback" not in read_page(app)


# The others take a minute together.
QUICK = ("home", "vectors")
CASES = [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in PARTS]


@pytest.mark.parametrize("part", CASES)
@pytest.mark.parametrize("change", [rename_all, delete_all], ids=["renamed", "deleted"])
def test_a_tab_meets_what_another_one_changed(open_page, workspace, part, change):
    first = open_page(part, workspace)
    check_calm(first)
    change(workspace)
    check_calm(first.run())


def test_a_tab_shows_what_another_one_added(open_page, workspace):
    first = open_page("storage", workspace)
    shutil.copytree(
        workspace.folder("models", "trials-model"), workspace.folder("models", "another")
    )
    first.run()
    check_calm(first)
    assert "another" in set(first.dataframe[0].value["Folder"])
    picker = open_page("adapt", workspace)
    check_calm(picker)


def test_a_link_to_what_another_tab_deleted_says_so(open_page, workspace):
    delete_all(workspace)
    app = open_page("vectors", workspace, vectors_shown="trials-vectors")
    check_calm(app)
    app = open_page("projection", workspace, projection_space="word vectors · trials-vectors")
    check_calm(app)
    toasts = [toast.value.replace("\\", "") for toast in app.toast]
    assert any("trials-vectors" in toast and "not in this workspace" in toast for toast in toasts)
