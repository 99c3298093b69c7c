"""The projection page: points, neighbors, two spaces, saved projections, slices and colors, all
by link."""

import json

import numpy as np
import pytest

from tests.material.apps import join_values, list_button_keys, list_texts, markup, read_page
from tests.material.workspaces import HOSTILE
from vocadapt.lab.steps.import_layout import ImportLayoutStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.slices import list_slices, load_slice, save_slice
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.ui.parts.projection.sources import TABLES, UNSAVED_PCA
from vocadapt.ui.state import cache

PROJECTION = "projection"
VECTORS = "word vectors · trials-vectors"
ADAPTED = "model · trials-model"
EVERY_TOKEN = {
    "projection_space": VECTORS,
    "projection_tokens": "first",
    "projection_shortest": "0",
}


@pytest.fixture
def own(seeded_copy):
    return seeded_copy


def test_colors_are_listed_without_reading_the_counts_of_each_text(own, open_page, monkeypatch):
    read = []
    monkeypatch.setattr(
        "vocadapt.ui.state.count_cache.WordCounts.read", lambda path: read.append(path)
    )
    app = open_page(PROJECTION, own, projection_space=ADAPTED, projection_tokens="first")
    assert not app.exception and not app.error
    counted = [one for one in app.selectbox(key="projection_color").options if "frequency" in one]
    assert counted[-1].endswith("trials") and not read


def charts(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def drawn_ids(spec):
    """The ids of every trace of a figure, the rings included."""
    return [decoded(trace["customdata"]) for trace in spec["data"]]


def marks(app):
    """What is marked on each chart, as it travels to the browser."""
    (found,) = (
        one
        for one in app.get("bidi_component")
        if one.proto.component_name == "vocadapt_projection_marks"
    )
    return json.loads(found.proto.json)


def selected_rows(app):
    """The rows that are selected in the table when it is drawn."""
    return json.loads(app.dataframe[0].proto.selection_default)["selection"]["rows"]


def decoded(array):
    import base64

    return np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"]).tolist()


def test_the_last_space_is_drawn_at_once_with_how_far_to_trust_it(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_space=VECTORS)
    assert not app.exception and not app.error
    (spec,) = charts(app)
    page = read_page(app)
    assert f"{len(drawn_ids(spec)[0])} of " in page and "3 characters" in page
    assert "trustworthiness **" in page and "preservation **" in page and "chance" in page
    assert spec["layout"]["dragmode"] == "pan"  # with a lasso in hand a click would do nothing
    figures = [json.loads(code.value) for code in app.code if "versions" in code.value]
    assert figures[0]["figures"]["trustworthiness"] > 0


def test_a_word_is_ringed_and_its_neighbors_are_those_of_the_space(open_page, seeded):
    query = {"projection_word": "aspirin", "projection_near": "5"}
    app = open_page(PROJECTION, seeded, **query, **EVERY_TOKEN)
    assert not app.exception and not app.error
    assert "to aspirin" in markup(app) and "5 of" in markup(app)
    (on_map,) = marks(app)
    drawn = set(drawn_ids(charts(app)[0])[0])
    assert len(on_map["near"]) == 5
    assert on_map["word"] not in on_map["near"]
    assert set(on_map["near"]) < drawn
    assert on_map["names"][str(on_map["word"])] == "aspirin" and len(on_map["named"]) == 6
    # In a small projection all other tokens have names, too, where there is room.
    assert set(on_map["others"]) == drawn - {on_map["word"], *on_map["near"]}


def test_the_measure_of_neighbors_and_of_the_projection(open_page, seeded):
    around = {"projection_tokens": "around a word", "projection_around": "aspirin"}
    app = open_page(PROJECTION, seeded, projection_space=VECTORS, **around)
    by_cosine = drawn_ids(charts(app)[0])
    app.button_group(key="projection_measure").set_value("euclidean").run()
    assert "Euclidean distance" in markup(app)
    assert drawn_ids(charts(app)[0]) == by_cosine
    # The neighborhood is projected by the measure of the list that the button is below.
    app.text_input(key="projection_word").set_value("heart").run()
    next(one for one in app.button if one.key == "project_neighborhood").click().run()
    assert app.button_group(key="projection_metric").value == "euclidean"
    assert not app.exception and "Euclidean distance" in read_page(app)
    assert "--metric euclidean" in join_values(app.code)


def test_the_neighbors_of_a_formula_are_marked(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_word="heart + aspirin", **EVERY_TOKEN)
    assert not app.exception and not app.error
    assert "+ aspirin" in markup(app) and "the sum" in markup(app)
    (on_map,) = marks(app)
    assert on_map["word"] is None and len(on_map["near"]) == 10
    app.text_input(key="projection_word").set_value("heart - heart").run()
    assert not app.exception and "cancel out" in read_page(app)
    assert marks(app)[0]["near"] == []


def test_all_words_that_match_an_expression_can_be_selected(open_page, own):
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_word="/^aspirin$/")
    next(one for one in app.button if one.key == "matches").click().run()
    assert not app.exception and app.query_params["projection_picked"]
    assert app.header[0].value.endswith("· 1")


def test_a_word_leaves_the_picture_as_it_is(open_page, seeded):
    app = open_page(PROJECTION, seeded, **EVERY_TOKEN)
    before = app.get("plotly_chart")[0].proto
    app.text_input(key="projection_word").set_value("aspirin").run()
    after = app.get("plotly_chart")[0].proto
    assert after.id == before.id
    assert after.spec == before.spec  # another id, and the browser would draw 20 000 points anew
    assert marks(app)[0]["word"] is not None


def test_a_word_out_of_sight_moves_a_map_that_is_zoomed(open_page, seeded):
    query = {"projection_word": "aspirin", "projection_zoom": "16×"}
    app = open_page(PROJECTION, seeded, **query, **EVERY_TOKEN)
    before = charts(app)[0]["layout"]["xaxis"]["range"]
    app.text_input(key="projection_word").set_value("sepsis").run()
    assert not app.exception and charts(app)[0]["layout"]["xaxis"]["range"] != before


def test_regions_are_named_on_both_maps(open_page, seeded):
    query = {"projection_other": ADAPTED, "projection_labels": "true"}
    app = open_page(PROJECTION, seeded, **query, **EVERY_TOKEN)
    first, second = (one["regions"] for one in marks(app))
    assert first
    assert [name for _, _, name in first] == [name for _, _, name in second]
    assert first != second


def test_a_misspelled_word_gets_suggestions(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_space=VECTORS, projection_word="aspirn")
    assert not app.exception and "**aspirn** is" in read_page(app)
    assert 'data-va-word="aspirin"' in markup(app)
    assert marks(app)[0]["word"] is None


def test_two_spaces_side_by_side_and_laid_over_each_other(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_other=ADAPTED, **EVERY_TOKEN)
    assert not app.exception and not app.error
    first, second = charts(app)
    assert drawn_ids(first) == drawn_ids(second)
    assert sum("trustworthiness" in text for text in list_texts(app)) == 2
    app.button_group(key="projection_pair").set_value("overlaid").run()
    (start,) = charts(app)
    app.slider(key="projection_move").set_value(1.0).run()
    (end,) = charts(app)
    assert start["data"][0]["x"] == first["data"][0]["x"]
    assert end["data"][0]["x"] == second["data"][0]["x"]


def test_a_finished_map_is_shown_at_once_and_pca_stays_a_click_away(open_page, own):
    settings = ProjectionStep(
        TokenChoice(first=60), ProjectionSettings("tsne", perplexity=5, iterations=250)
    )
    run_step(
        Spec(settings, {"space": str(own.folder("vectors", "trials-vectors"))}),
        own.folder("projections", "mine"),
    )
    app = open_page(PROJECTION, own, projection_space=VECTORS)
    assert not app.exception and not app.error
    assert app.selectbox(key="projection_view").value == "mine"
    assert len(drawn_ids(charts(app)[0])[0]) <= 60
    assert "--perplexity 5" in join_values(app.code)
    app.selectbox(key="projection_view").select(UNSAVED_PCA).run()
    assert not app.exception and app.selectbox(key="projection_view").value == UNSAVED_PCA
    (command,) = [code.value for code in app.code if "map.html" in code.value]
    assert "tsne" not in command


@pytest.mark.parametrize("others", [False, True])
def test_a_visit_begins_with_the_newest_map(others, open_page, own):
    """…whatever its space: not with the newest model."""
    model = own.artifacts("models")[0].name
    given = {"space": str(own.folder("vectors", "trials-vectors"))}
    if others:
        given["other"] = str(own.folder("models", model))
    settings = ProjectionStep(TokenChoice(first=60), ProjectionSettings("pca"))
    run_step(Spec(settings, given), own.folder("projections", "mine"))
    app = open_page(PROJECTION, own)
    assert not app.exception and not app.error
    assert app.selectbox(key="projection_space").value == VECTORS
    assert app.selectbox(key="projection_view").value == "mine"
    assert app.selectbox(key="projection_other").value == (f"model · {model}" if others else "none")
    app.selectbox(key="projection_other").select("none").run()
    assert app.selectbox(key="projection_other").value == "none"
    assert app.selectbox(key="projection_space").value == VECTORS


def test_tsne_is_estimated_before_it_is_started(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_space=VECTORS)
    assert "About **" in read_page(app) and "make_map" in list_button_keys(app)


def test_a_slice_is_a_link(open_page, own):
    words = ("aspirin", "sepsis", "not-a-token")
    saved = save_slice(own, "My <b>slice</b>", words, {"space": "here"})
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_slice=saved.id)
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    assert table["token"].tolist()[:2] == ["aspirin", "sepsis"]
    assert {"id", "length"} <= set(table.columns)
    assert app.header[0].value.endswith("· 2")
    assert "of 3" in read_page(app) and "<b>" not in read_page(app)
    app.button(key="remove_slice").click().run()
    assert not app.exception and list_slices(own) == []


def test_picked_ids_are_a_link_and_become_a_slice(open_page, own):
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_picked="3,5,x,99999999")
    assert app.dataframe[0].value["id"].tolist()[:2] == [3, 5]
    assert selected_rows(app) == [0, 1]
    (on_map,) = marks(app)
    assert {3, 5} <= set(on_map["named"]) and on_map["names"]["3"]  # a selection has its names
    app.text_input(key="slice_name").set_value("Two of them").run()
    app.button(key="save_slice").click().run()
    assert not app.exception and not app.error
    assert len(load_slice(own, "two-of-them").tokens) == 2
    assert app.selectbox(key="projection_slice").value == "two-of-them"


@pytest.mark.parametrize(
    "color", ["length", "id", "region", "frequency", "slice · mine", "table · mine.csv"]
)
def test_colors(color, open_page, own):
    save_slice(own, "mine", ["aspirin"])
    (own.root / TABLES).mkdir(parents=True)
    (own.root / TABLES / "mine.csv").write_text(
        "token,value\naspirin,drug\nsepsis,disease\n", encoding="utf-8"
    )
    app = open_page(PROJECTION, own, projection_color=color, **EVERY_TOKEN)
    assert not app.exception and not app.error
    assert app.selectbox(key="projection_color").value == color
    assert ("a value" in read_page(app)) is color.startswith("table")


def test_origin_colors_the_adapted_model(open_page, seeded):
    query = EVERY_TOKEN | {"projection_space": ADAPTED, "projection_pieces": "true"}
    app = open_page(PROJECTION, seeded, projection_color="origin · trials-model", **query)
    assert not app.exception and not app.error
    names = [trace["name"].split(" · ")[0] for trace in charts(app)[0]["data"]]
    assert names == ["source", "added"]


def test_a_torn_table_is_a_message_and_the_map_stays(open_page, own):
    (own.root / TABLES).mkdir(parents=True)
    (own.root / TABLES / "torn.csv").write_bytes(b"\xff\xfe")
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_color="table · torn.csv")
    assert not app.exception and app.error and len(charts(app)) == 1


@pytest.mark.parametrize(
    "query",
    [
        {"projection_zoom": "<script>"},
        {"projection_color": "nothing"},
        {"projection_view": "../../etc"},
        {"projection_slice": "../../etc/passwd"},
        {"projection_tokens": "around a word", "projection_around": "<script>alert(1)</script>"},
        {"projection_tokens": "search", "projection_holding": "$x$"},
        {"projection_first": "2", "projection_tokens": "first"},
        {"projection_other": "nowhere"},
        {"projection_near": "1e9"},
        {"projection_move": "7", "projection_pair": "overlaid"},
    ],
)
def test_a_forged_link_is_a_message_or_passed_over(query, open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_space=VECTORS, **query)
    assert not app.exception
    assert "<script" not in markup(app)
    assert not any("<script" in code for code in list_texts(app) if not code.startswith("'"))


def test_hostile_tokens_are_literal_in_the_figure_the_cards_and_the_table(open_page, hostile):
    view = EVERY_TOKEN | {
        "projection_space": "word vectors · hostile",
        "projection_specials": "true",
        "projection_labels": "true",
    }
    app = open_page(
        PROJECTION, hostile, **view, projection_word=HOSTILE[0], projection_picked="0,1,2,3,4"
    )
    assert not app.exception and not app.error
    spec = json.dumps(charts(app)[0], ensure_ascii=False)
    assert "<img" not in spec and "$x$" not in spec and "<img/src" not in markup(app)
    assert marks(app)[0]["names"]["0"] == HOSTILE[0]  # drawn on a canvas, which reads no markup
    assert app.dataframe[0].value["token"].tolist()[:5] == HOSTILE


def test_the_first_view_is_the_neighborhood_of_an_added_token(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_space=ADAPTED)
    assert not app.exception and not app.error
    added = cache.open_named_space(str(seeded.folder("models", "trials-model"))).added
    center = app.text_input(key="projection_word").value
    assert center in added and app.text_input(key="projection_around").value == center
    # Added tokens are marked by shape and color, with a legend; regions have names.
    traces = charts(app)[0]["data"]
    looks = {trace["name"].split(" · ")[0]: trace["marker"] for trace in traces}
    assert looks["added"]["symbol"] == "diamond" and all(t.get("showlegend", True) for t in traces)
    (on_map,) = marks(app)
    assert on_map["regions"] and on_map["names"][str(on_map["word"])] == center
    # One sentence with numbers is its text alternative.
    (chart,) = app.get("plotly_chart")
    n_added = sum(trace["name"].startswith("added") * len(decoded(trace["x"])) for trace in traces)
    n = sum(len(decoded(trace["x"])) for trace in traces)
    sentence = f"PCA of {n} tokens around {center} in trials-model; {n_added} of them added;"
    assert chart.proto.alt.startswith(sentence) and "nearest: " in chart.proto.alt
    # Two groups of controls are visible; the others are in the tabs of Set up.
    kinds = ("selectbox", "text_input", "number_input", "slider")
    visible = {one.key for kind in kinds for one in app.main.get(kind)}
    hidden = {one.key for kind in kinds for tab in app.tabs for one in tab.get(kind)}
    shown = ("space", "view", "color", "word", "near", "slice")
    assert visible - hidden == {f"projection_{name}" for name in shown}


def test_a_selection_is_isolated_and_all_tokens_come_back(open_page, own):
    query = {"projection_picked": "3,5,8,9", "projection_tokens": "first"}
    app = open_page(PROJECTION, own, projection_space=VECTORS, **query)
    before = drawn_ids(charts(app)[0])[0]
    app.button(key="isolate").click().run()
    assert not app.exception and not app.error
    assert drawn_ids(charts(app)[0])[0] == [3, 5, 8, 9]
    assert "of 4" in read_page(app)
    assert "--tokens" in join_values(app.code)
    app.button(key="show_all").click().run()
    assert drawn_ids(charts(app)[0])[0] == before
    assert not [button for button in app.button if button.key == "show_all"]


@pytest.mark.parametrize(
    ("link", "shown"), [("3,5,8", [3, 5, 8]), ("3,5", None), ("slice:gone", None), ("<b>", None)]
)
def test_isolated_tokens_are_a_link(link, shown, open_page, own):
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_only=link)
    assert not app.exception
    if shown:
        assert drawn_ids(charts(app)[0])[0] == shown
    elif link == "3,5":  # too few to project: a sentence, and the way back
        assert app.error and app.button(key="show_all")
    else:
        assert not app.error and len(drawn_ids(charts(app)[0])[0]) > 3


def test_an_isolated_slice_is_a_link(open_page, own):
    save_slice(own, "three", ["aspirin", "sepsis", "heart"])
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_slice="three")
    app.button(key="isolate").click().run()
    assert not app.exception and not app.error and len(drawn_ids(charts(app)[0])[0]) == 3
    # Two tokens are too few.
    app = open_page(PROJECTION, own, projection_space=VECTORS, projection_picked="3,5")
    assert app.button(key="isolate").disabled


def test_another_word_can_be_the_center(open_page, seeded):
    app = open_page(PROJECTION, seeded, projection_space=VECTORS, projection_word="aspirin")
    assert app.text_input(key="projection_around").value != "aspirin"
    app.button(key="project_neighborhood").click().run()
    assert not app.exception and not app.error
    assert app.text_input(key="projection_around").value == "aspirin"
    assert not [button for button in app.button if button.key == "project_neighborhood"]


LAYOUT = "token,x,y\naspirin,0,1\nsepsis,1,0\nheart,1,1\nnosuch,2,2\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (LAYOUT, "of 4"),
        ("token,x,y\naspirin,0,inf\nsepsis,1,0\nheart,1,1\n", "at least"),
        ("word;a;b\naspirin;0;1\n", "no x"),
    ],
)
def test_a_layout_is_read_before_it_is_imported(text, part, open_page, own):
    path = own.root / "points.csv"
    path.write_text(text, encoding="utf-8")
    app = open_page(PROJECTION, own, projection_space=VECTORS)
    app.text_input(key="projection_layout_path").set_value(str(path)).run()
    assert not app.exception and len(charts(app)) == 1  # the picture stays
    assert part in read_page(app)
    assert ("import_layout" in list_button_keys(app)) is (text == LAYOUT)


def test_an_imported_layout_is_shown_with_where_it_comes_from(open_page, own):
    path = own.root / "points.csv"
    path.write_text(LAYOUT, encoding="utf-8")
    inputs = {"space": str(own.folder("vectors", "trials-vectors")), "layout": str(path)}
    run_step(Spec(ImportLayoutStep(), inputs), own.folder("projections", "mine"))
    app = open_page(PROJECTION, own, projection_space=VECTORS)
    assert not app.exception and not app.error
    assert app.selectbox(key="projection_view").value == "mine"
    assert decoded(charts(app)[0]["data"][0]["x"]) == [0, 1, 1]
    assert "of 4" in read_page(app)
    assert "--layout" in join_values(app.code)
