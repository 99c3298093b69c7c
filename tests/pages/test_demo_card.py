"""The first screen of the demo."""

import json

import pytest

from tests.material.apps import read_page
from vocadapt.analysis.comparison import LEVEL
from vocadapt.lab import demo
from vocadapt.lab.demo import open_demo
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.parts.lens import demo_card
from vocadapt.ui.text.number_formats import fraction


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("demo"))
    open_demo(workspace)
    return workspace


def test_the_first_screen_says_what_new_words_do(open_page, opened):
    app = open_page("lens", opened, lens_demo="opened")
    assert not app.exception and not app.error
    said = read_page(app)
    headline = json.loads(demo.HEADLINE.read_text(encoding="utf-8"))
    assert "fewer)" in said
    for one in headline["words"]:
        assert f"**{one['word']}**" in said and one["neighbors"][0] in said
    assert headline["masked"]["with"][0][0] in said
    # The scores of both tasks.
    assert fraction(headline["task"]["f1"][demo_card.ADAPTED]) in said
    for variant in ("context", "stacked"):
        assert fraction(headline["real"]["variants"][variant]["f1"]["pooled"]) in said


def test_other_visits_do_not_show_it(open_page, opened, tmp_path):
    assert "The demo:" not in read_page(open_page("lens", opened))
    empty = open_page("lens", tmp_path / "empty", lens_demo="opened")
    assert not empty.exception and "The demo:" not in read_page(empty)


def test_the_headline_is_what_the_models_do():
    """The neighbors, and the masked word, are those of the shipped models."""
    from vocadapt.models.language_model import open_model
    from vocadapt.training.finetune.tokenizations import ADAPTED
    from vocadapt.training.prediction.fill_mask import fill_mask

    headline = json.loads(demo.HEADLINE.read_text(encoding="utf-8"))
    model = open_model(demo.DEMO.joinpath(*demo.WORDS_MODEL))
    masked = headline["masked"]
    found = fill_mask(model, masked["text"], 1)[ADAPTED].tokens[0][0]
    assert found == masked["with"][0][0] == masked["word"]
    assert masked["word"] not in {token for token, _ in masked["without"]}
    assert 0 < masked["first"] <= masked["among_five"] <= masked["of"]
    # The card states a gain: there is one.
    base, adapted = headline["task"]["f1"]["demo-bert"], headline["task"]["f1"][demo_card.ADAPTED]
    assert base < adapted and headline["task"]["p"][demo_card.ADAPTED] < LEVEL
