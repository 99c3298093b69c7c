"""The first screen of the demo."""

import json

import pytest

from tests.material.apps import list_texts, read_page
from vocadapt.lab import demo
from vocadapt.lab.demo import open_demo
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.parts.lens import demo_card


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("demo"))
    open_demo(workspace)
    return workspace


def test_the_first_screen_says_what_new_words_do(open_page, opened):
    app = open_page("lens", opened, lens_demo="opened")
    assert not app.exception and not app.error
    said = " ".join(list_texts(app))
    headline = json.loads(demo.HEADLINE.read_text(encoding="utf-8"))
    assert "The demo: one sentence takes " in said and "fewer)" in said
    for one in headline["words"]:
        assert f"**{one['word']}**" in said and one["neighbors"][0] in said
    assert headline["masked"]["with"][0][0] in said and "nats per character" in said
    assert "labels depend on single words" in said


def test_other_visits_do_not_show_it(open_page, opened, tmp_path):
    assert "The demo: one sentence" not in " ".join(list_texts(open_page("lens", opened)))
    empty = open_page("lens", tmp_path / "empty", lens_demo="opened")
    assert not empty.exception and "The demo: one sentence" not in read_page(empty)


def test_a_task_that_is_not_won_is_not_shown(open_page, opened, tmp_path, monkeypatch):
    headline = json.loads(demo.HEADLINE.read_text(encoding="utf-8"))
    headline["task"]["p"][demo_card.ADAPTED] = 0.06
    file = tmp_path / "headline.json"
    file.write_text(json.dumps(headline), encoding="utf-8")
    monkeypatch.setattr(demo, "HEADLINE", file)
    said = " ".join(list_texts(open_page("lens", opened, lens_demo="opened")))
    assert "The demo: one sentence" in said and "labels depend on single words" not in said


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


def test_a_real_task_is_shown_once_it_has_three_seeds(open_page, opened, tmp_path, monkeypatch):
    headline = json.loads(demo.HEADLINE.read_text(encoding="utf-8"))

    def measured(f1, low, high):
        return {"seeds": [1, 2, 3], "f1": f1, "difference to": {"none": [0.0, low, high]}}

    headline["real"] = {
        "task": "Names",
        "variants": {
            "none": measured({"base": 0.82}, 0, 0),
            "context": measured({"base": 0.8, "adapted": 0.81, "pooled": 0.84}, 0.01, 0.03),
            "stacked": measured({"base": 0.8, "adapted": 0.81, "pooled": 0.83}, -0.01, 0.02),
        },
    }
    file = tmp_path / "headline.json"
    monkeypatch.setattr(demo, "HEADLINE", file)
    file.write_text(json.dumps(headline), encoding="utf-8")
    said = " ".join(list_texts(open_page("lens", opened, lens_demo="opened")))
    assert "A real task, Names" in said and "mean F1 .820 without new words" in said
    assert (
        "new words from context, **.840**; 95 % interval of the difference +.010 to +.030" in said
    )
    assert "-.010 to +.020" in said
    headline["real"]["variants"]["stacked"]["seeds"] = [1]
    file.write_text(json.dumps(headline), encoding="utf-8")
    said = " ".join(list_texts(open_page("lens", opened, lens_demo="opened")))
    assert "A real task, Names" not in said and "Whether a real task gains" in said
