"""Typing into a picker searches it: Enter takes the best match, not what was typed."""

import re
import shutil

import pytest

from tests.material.browser import drawn
from tests.material.nightly import mark_slow
from vocadapt.lab.demo import open_demo
from vocadapt.lab.workspace.workspace import Workspace

pytestmark = pytest.mark.browser

FINETUNE = ("train", "finetune_models")
INITIALIZERS = ("adapt?adapt_tab=Initializers", "initializers_model")
PROJECTION = ("projection", "projection_space")


@pytest.mark.parametrize(("place", "key"), [FINETUNE, *mark_slow([INITIALIZERS, PROJECTION])])
def test_enter_takes_the_best_match(page, serve, tmp_path, place, key):
    workspace = Workspace(tmp_path / "demo")
    open_demo(workspace)
    shutil.copytree(workspace.folder("models", "demo-bert"), workspace.folder("models", "other"))
    page.goto(f"{serve(workspace.root)}/{place}{'&' if '?' in place else '?'}{key}=other")
    box = page.locator(f".st-key-{key}").get_by_role("combobox")
    box.wait_for()
    drawn(page)
    box.fill("dem")
    box.press("Enter")
    page.wait_for_url(re.compile(rf"{key}=[^&]*demo-bert"))
