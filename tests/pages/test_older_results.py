"""A result of a version with other settings is reported on its page in one sentence."""

import json

import pytest
from streamlit import error_util

from tests.material.apps import join_values, list_texts
from vocadapt.errors import InputError
from vocadapt.lab.inputs.alignments import TABLE, load_table
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes


@pytest.fixture
def old(seeded_copy) -> Workspace:
    """A workspace whose alignments were made with a setting that has another name now."""
    for made in seeded_copy.artifacts("alignments"):
        table = json.loads((made.folder / TABLE).read_text())
        for line in table["alignments"]:
            line["settings"]["centre"] = line["settings"].pop("center")
        (made.folder / TABLE).write_text(json.dumps(table))
    return seeded_copy


def test_an_alignment_with_unknown_settings_is_reported(old, open_page):
    app = open_page("alignment", old)
    shown = "\n".join([*list_texts(app), *(one.value for one in app.text)])
    assert not app.exception
    assert "Another version of vocadapt may have saved them" in shown
    assert "no setting 'centre'" in shown and "create it again" in shown


def test_the_page_adapt_does_without_its_scores(old, open_page):
    for made in old.artifacts("alignments"):
        with pytest.raises(InputError, match="cannot be read"):
            load_table(made.folder)
    app = open_page("adapt", old)
    assert not app.exception and not app.error


def test_a_page_that_cannot_show_figures_says_what_to_do(seeded_copy, open_page, monkeypatch):
    """Figures of another type, which vocadapt does not write, are not foreseen by the pages."""
    for made in seeded_copy.artifacts("vectors"):
        manifest = json.loads((made.folder / MANIFEST).read_text())
        manifest["numbers"]["words"] = ["many"]
        (made.folder / MANIFEST).write_text(json.dumps(manifest))
    assert open_page("vectors", seeded_copy).exception
    # In the server.
    shown = error_util.show_uncaught_app_exception
    monkeypatch.setattr(error_util, "show_uncaught_app_exception", shown)  # restored after the test
    mistakes.replace_error_message()
    app = open_page("vectors", seeded_copy)
    message = "An unexpected error stopped this part of the page."
    assert not app.exception and [one.value for one in app.error] == [message]
    assert "delete it on the page Workspace" in join_values(app.text)
    assert not open_page("storage", seeded_copy).exception
