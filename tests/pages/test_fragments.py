"""Sliders, numbers and switches rerun a part of a page, never the whole page."""

import pytest
from streamlit.testing.v1 import app_test

from tests.material.fragments import FragmentRunner
from vocadapt.ui.state.pages import PARTS

KINDS = ("slider", "select_slider", "number_input", "toggle", "checkbox")
WITHOUT = ("home", "lessons", "teacher", "jobs")  # parts that are not slow to draw


@pytest.mark.parametrize("part", [name for name in PARTS if name not in WITHOUT])
def test_a_moved_slider_reruns_a_fragment(part, open_page, seeded, monkeypatch):
    monkeypatch.setattr(app_test, "LocalScriptRunner", FragmentRunner)
    app = open_page(part, seeded)
    assert not app.exception
    widgets = [widget for kind in KINDS for widget in app.main.get(kind)]
    whole = [widget.key for widget in widgets if not FragmentRunner.fragments[widget.id]]
    assert whole == []
