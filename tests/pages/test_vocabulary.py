"""The vocabulary page: slider, tokens, comparison, and its message for models that it cannot
inspect."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from tests.material.apps import list_button_keys, list_texts, read_metrics, read_page
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.analysis.figures import figures
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.ui.parts.vocabulary.page import TRIM_TITLE
from vocadapt.ui.state.names import shown_model
from vocadapt.ui.text.number_formats import count
from vocadapt.vocabulary.plan.reduction import name_heuristic

VOCABULARY = "vocabulary"


@pytest.fixture
def shown(tiny_bert):
    """The tiny model as an address names it."""
    return shown_model(str(tiny_bert))


def test_the_slider_says_what_goes_and_what_the_text_pays(open_page, seeded, shown):
    app = open_page(VOCABULARY, seeded, vocabulary_models=shown)
    assert not app.exception and not app.error
    menu = app.selectbox(key="vocabulary_heuristic")
    names = [name_heuristic(name) for name in ("freq", "cost", "last", "longest", "random")]
    assert menu.value == "freq" and menu.options == [*names, TRIM_TITLE]
    assert any("held out" in text for text in list_texts(app))
    app.slider(key="vocabulary_keep").set_value(95).run()
    assert not app.exception and not app.error
    shown = read_metrics(app)
    kept = round(0.95 * len(TINY_TOKENS))
    assert shown["Tokens kept"] == count(kept)
    assert shown["Tokens removed"] == count(len(TINY_TOKENS) - kept)
    assert shown["Parameters saved"] == count((len(TINY_TOKENS) - kept) * 16)
    assert shown["Text growth"].endswith(" %")
    app.selectbox(key="vocabulary_heuristic").set_value("random").run()
    assert not app.exception and "±" in read_metrics(app)["Text growth"]


def test_a_trim_is_one_of_the_choices(open_page, seeded, shown, started):
    app = open_page(VOCABULARY, seeded, vocabulary_models=shown, vocabulary_heuristic="trim")
    assert not app.exception and not app.error
    assert 0 < int(read_metrics(app)["Tokens removed"]) < len(TINY_TOKENS)
    app.button(key="vocabulary_make").click().run()
    [(spec, name)] = started
    assert (name, spec.settings.recipe.name) == ("tiny-bert-trim", "trim")
    assert set(spec.inputs) == {"model", "text"}
    removed = int(read_metrics(app)["Tokens removed"])
    app.number_input(key="vocabulary_cover").set_value(80.0).run()
    assert int(read_metrics(app)["Tokens removed"]) > removed


def test_the_comparison_is_computed_when_it_is_opened(open_page, seeded, tiny_bert, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "vocadapt.ui.parts.vocabulary.profiles.compare", lambda *given: drawn.append(given)
    )
    app = open_page(VOCABULARY, seeded)
    assert not app.exception and not drawn
    open_page(VOCABULARY, seeded, vocabulary_compare="true")
    assert drawn


def test_a_button_makes_the_model_of_the_reduction_that_is_shown(open_page, seeded, shown, started):
    query = {"vocabulary_models": shown, "vocabulary_keep": "95"}
    app = open_page(VOCABULARY, seeded, vocabulary_heuristic="last", **query)
    removed = read_metrics(app)["Tokens removed"]
    app.button(key="vocabulary_make").click().run()
    assert not app.exception and not app.error
    [(spec, name)] = started
    recipe = spec.settings.recipe
    assert (spec.step, name) == ("adapt", "tiny-bert-last-5") and set(spec.inputs) == {"model"}
    model = open_model(spec.inputs["model"][0])
    plan = plan_adaptation(recipe, model, Sources(), None)
    assert count(len(plan.removed_tokens)) == removed
    # A heuristic that counts gets the text; the whole vocabulary has no button.
    app.selectbox(key="vocabulary_heuristic").set_value("freq").run()
    app.button(key="vocabulary_make").click().run()
    assert set(started[-1][0].inputs) == {"model", "text"}
    app.slider(key="vocabulary_keep").set_value(100).run()
    assert "vocabulary_make" not in list_button_keys(app)
    assert read_metrics(app)["Text growth"] == "0 %" and read_metrics(app)["Tokens removed"] == "0"


def test_a_bare_vocabulary_beside_a_model(open_page, seeded, tiny_bert, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("\n".join([*TINY_TOKENS, "<img/src=x>", "aspirin"]) + "\n", encoding="utf-8")
    app = open_page(VOCABULARY, seeded, vocabulary_compare="true")
    app.multiselect(key="vocabulary_models").set_value([str(path), str(tiny_bert)]).run()
    assert not app.exception and not app.error
    assert read_metrics(app)["Parameters saved"] == "–"
    (table,) = [frame.value for frame in app.dataframe if "Tokens of" in frame.value.columns]
    assert table.iloc[1, 1].startswith("100 %")
    # The token that is never reached is escaped.
    assert any("<img/src" not in text and "img" in text for text in list_texts(app))


def test_faulty_and_foreign_vocabularies_are_messages(open_page, seeded, tiny_bert, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("\n".join([*TINY_TOKENS, "", "heart"]), encoding="utf-8")
    app = open_page(VOCABULARY, seeded)
    app.multiselect(key="vocabulary_models").set_value([str(path), str(tiny_bert)]).run()
    assert not app.exception
    assert "repeats" in read_page(app) and "Tokens kept" in read_metrics(app)


def test_a_cased_vocabulary_waits_for_a_count(open_page, seeded, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("\n".join([*TINY_TOKENS, "Patient"]) + "\n", encoding="utf-8")
    app = open_page(VOCABULARY, seeded)
    app.multiselect(key="vocabulary_models").set_value([str(path)]).run()
    assert not app.exception and "count" in list_button_keys(app)


def test_frequencies_are_a_grid_of_texts_and_models(open_page, seeded, shown, tmp_path):
    """A row a text, a column a model; a text that was not counted in a model's words is said."""
    root = tmp_path / "grid"
    shutil.copytree(seeded.root, root)
    shutil.copytree(root / "corpora" / "trials", root / "corpora" / "again")
    app = open_page(
        VOCABULARY,
        root,
        vocabulary_models=shown,
        vocabulary_corpus="trials",
        vocabulary_texts="again",
        vocabulary_compare="true",
    )
    assert not app.exception and not app.error
    assert app.multiselect(key="vocabulary_texts").value == ["again"]
    layouts = [json.loads(chart.proto.spec)["layout"] for chart in app.get("plotly_chart")]
    titles = [note["text"] for layout in layouts for note in layout.get("annotations", [])]
    assert any("· trials<br>" in title for title in titles)
    assert any("· again<br>" in title for title in titles)


def test_a_grid_of_panels_has_its_rows_and_lines():
    unmarked = np.zeros(8, dtype=bool)
    panels = [figures.Dots(f"panel {i}", np.arange(1, 9), unmarked) for i in range(4)]
    lined = [dataclasses.replace(panel, lines=[2, 4]) for panel in panels]
    row = figures.plot_against_id(panels, "n")
    grid = figures.plot_against_id(lined, "n", True, across=2)
    assert len(grid.layout.shapes) == 8 and not row.layout.shapes
    assert grid.layout.height > row.layout.height
    # Four axes, two by two.
    assert {trace.yaxis for trace in grid.data} == {trace.yaxis for trace in row.data}
    assert grid.layout.yaxis.domain != grid.layout.yaxis3.domain
    assert row.layout.yaxis.domain == row.layout.yaxis3.domain
