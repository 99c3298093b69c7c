"""A new workspace is made by the button below the picker."""

import pytest

from vocadapt.lab.workspace.workspace import Workspace


def create(app, name):
    field = next(one for one in app.sidebar.text_input if one.label == "Name of the workspace")
    field.set_value(name)
    next(one for one in app.sidebar.button if one.label == "Create").click().run()
    return app


def test_a_new_workspace_is_opened(open_page, tmp_path):
    app = create(open_page("vectors", Workspace(tmp_path / "first")), "class-1")
    assert not app.exception and not app.error
    assert app.session_state["workspace"] == "class-1"
    assert not (tmp_path / "class-1").exists()  # made when something is written into it


@pytest.mark.parametrize("name", ["../up", "", "a b", "first", "x" * 100])
def test_a_name_that_cannot_be_is_explained(open_page, tmp_path, name):
    app = create(open_page("vectors", Workspace(tmp_path / "first")), name)
    assert not app.exception and app.error
    assert app.session_state["workspace"] == "first"
