"""The initialisers page: empty, by word vectors and by a model, the leaderboard, one token, hostile tokens."""

import pytest

from vocadapt.lab.workspace import Workspace

PAGE = "pages/vocabulary/initialisers.py"


def markup(app):
    return "".join(element.proto.body for element in app.get("html"))


def texts(app):
    return [element.value for kind in ("markdown", "error", "warning") for element in app.get(kind)]


def test_an_empty_workspace_says_what_to_do(open_page):
    app = open_page(PAGE)
    assert not app.exception and any("nothing to transfer" in text for text in texts(app))


def test_a_token_is_shown_under_each_initialiser_and_nothing_is_compared_on_load(open_page, seeded, tiny_bert):
    app = open_page(PAGE, seeded)
    assert not app.exception and not app.error
    app.text_input(key="token").set_value("aspirin").run()
    assert not app.exception and "aspirin = 1/3 " in markup(app) and "In the target space" in markup(app)
    assert not app.dataframe
    app.text_input(key="token").set_value("heart").run()
    assert "In the model" in markup(app) and "heart = heart" not in markup(app).replace("its word vector", "")


def test_the_comparison_comes_with_its_verdict_n_and_command(open_page, seeded):
    app = open_page(PAGE, seeded, hidden="8")
    app.button(key="compare").click().run()
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    assert {"semantic", "focus", "omp", "global-mean (floor)"} <= set(table["initialiser"])
    assert any("8 of" in text and "chance P@1" in text for text in texts(app))
    assert any(("Best on 8" in text or "None beats" in text) for text in texts(app))
    assert any("vocadapt initialisers --model" in block.value and "--held-out 8" in block.value for block in app.code)


@pytest.mark.parametrize("token", ["<img src=x onerror=alert(1)>", "\u202eab", ":red[x]", "[MASK]"])
def test_a_hostile_token_is_a_message(open_page, seeded, token):
    app = open_page(PAGE, seeded)
    app.text_input(key="token").set_value(token).run()
    assert not app.exception and "<img" not in markup(app) and "\u202e" not in markup(app)


def test_hostile_words_are_no_markup(open_page, tmp_path, tiny_bert):
    from tests.walk_material import HOSTILE, seed_hostile

    workspace: Workspace = seed_hostile(tmp_path / "w", tiny_bert)
    app = open_page(PAGE, workspace)
    app.text_input(key="token").set_value(HOSTILE[0]).run()
    assert not app.exception and "<img" not in markup(app)


def test_a_model_of_the_workspace_is_a_target(open_page, seeded):
    app = open_page(PAGE, seeded, target="model · trials-model")
    assert not app.exception
    assert [metric.label for metric in app.metric][:2] == ["New tokens", "Common tokens"]
