import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from tests.material.apps import go_to
from tests.material.workspaces import HOSTILE, seed_hostile
from vocadapt.lab.demo import DEMO, MODEL, TASK
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.shell.server import ROOT, WORKSPACE_VARIABLE

Open = Callable[..., AppTest]

# Streamlit reads its settings once, from the current folder: now, before a test changes the folder.
st.get_option("server.address")


@pytest.fixture(scope="session", autouse=True)
def skip_component_discovery():
    """Streamlit's test class reads the metadata of every installed package for each new app, to find
    components. No page uses one of another package.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BidiComponentManager, "discover_and_register_components", lambda *a, **b: None
        )
        yield


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """Estimates are multiplied by the load: here the machine counts as idle, whatever else it
    does.
    """
    monkeypatch.setattr("vocadapt.system.forecasts._read_load_average", lambda: 0.0)


@pytest.fixture
def started(monkeypatch) -> list[tuple[Spec, str]]:
    """The jobs that a page starts and the names of their results; none of them runs."""
    jobs: list[tuple[Spec, str]] = []
    monkeypatch.setattr(
        "vocadapt.ui.jobs.panel.launch", lambda _, spec, name: jobs.append((spec, name))
    )
    return jobs


@pytest.fixture(scope="session")
def hostile(tmp_path_factory, tiny_bert) -> Workspace:
    """A workspace whose words are also markup; read only."""
    return seed_hostile(tmp_path_factory.mktemp("hostile") / "hostile", tiny_bert)


@pytest.fixture
def hostile_text(make_workspace, tmp_path, tiny_bert) -> Workspace:
    """A workspace with a text whose words are also markup."""
    text = tmp_path / "hostile.txt"
    text.write_text(" ".join(HOSTILE * 30) + "\n", encoding="utf-8")
    workspace = make_workspace("hostile")
    spec = Spec(CorpusStep(), {"text": (str(text),), "model": (str(tiny_bert),)})
    run_step(spec, workspace.folder("corpora", "hostile"))
    return workspace


@pytest.fixture
def own(tmp_path) -> Workspace:
    """A workspace with the model and the task of the demo."""
    workspace = Workspace(tmp_path / "own")
    for place in (MODEL, TASK):
        shutil.copytree(DEMO.joinpath(*place), workspace.folder(*place))
    return workspace


@pytest.fixture
def open_page(monkeypatch, tmp_path) -> Open:
    """Open a part of the app on a workspace by its address, as a bookmark does."""

    def visit(
        part: str,
        workspace: Workspace | Path | None = None,
        /,
        *,
        typed: dict[str, str] | None = None,
        **query: str,
    ) -> AppTest:
        root = (
            workspace.root if isinstance(workspace, Workspace) else workspace or tmp_path / "empty"
        )
        monkeypatch.setenv(WORKSPACE_VARIABLE, str(root))
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        for key, value in (
            typed or {}
        ).items():  # as typed by hand before: the test driver knows the options of a picker alone
            app.session_state[key] = value
        if part == "home":
            return app.run()
        return go_to(app, part)

    return visit
