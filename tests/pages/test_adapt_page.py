"""The Adapt page by each kind of recipe: it asks for what the recipe draws on, and shows the plan before anything is made."""

import pytest

from tests.conftest import TINY_TOKENS
from vocadapt.lab.workspace import Workspace
from vocadapt.ui.numbers import count

ADAPT = "pages/vocabulary/adapt.py"
WORDS = [f"word{i}" for i in range(500)]


@pytest.fixture
def pair(make_bert, monkeypatch):
    """A model and a target of the same size with other tokens at the end, both known to the workspace."""
    found = make_bert("a", tokens=[*TINY_TOKENS, *WORDS]), make_bert("b", tokens=[*TINY_TOKENS, *(f"x{word}" for word in WORDS)])
    monkeypatch.setattr("vocadapt.ui.choose.models_in_use", lambda workspace: [str(folder) for folder in found])
    return found


def metrics(app):
    return {metric.label: metric.value for metric in app.metric}


def test_a_reduction_needs_a_model_only(open_page, tmp_path, pair):
    app = open_page(ADAPT, tmp_path / "empty", preset="reduced-last-25")
    assert not app.exception and not app.error
    assert metrics(app)["Tokens dropped"] == "163" and metrics(app)["Parameters saved"] == count(163 * 16)
    assert any(button.key == "adapt" for button in app.button)


def test_a_transfer_asks_for_the_target(open_page, tmp_path, pair):
    app = open_page(ADAPT, tmp_path / "empty", preset="transfer-syntactic")
    app.selectbox(key="target").set_value(str(pair[1])).run()
    assert not app.exception and not app.error
    assert (metrics(app)["Tokens added"], metrics(app)["Tokens dropped"]) == ("500", "500")
    tables = [table for table in app.dataframe if "new token" in table.value.columns]
    assert tables[0].value["new token"][0] == "xword0" and "occurrences" not in tables[0].value.columns


def test_a_heuristic_that_counts_needs_counted_text(open_page, seeded: Workspace, tmp_path):
    app = open_page(ADAPT, tmp_path / "empty", preset="reduced-freq-25")
    assert any("There is no text to count tokens in yet." in markdown.value for markdown in app.markdown)
    app = open_page(ADAPT, seeded, preset="reduced-freq-25")
    assert not app.exception  # its tiny model has hardly a token that may go: that is said, and nothing can be started
    assert any("must stay" in text.value for text in app.text)
    assert not any(button.key == "adapt" for button in app.button)
