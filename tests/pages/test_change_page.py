"""The neighborhood change page: empty, full, with a noise baseline, finished comparisons and jobs,
the brush, words from input and address, hostile words, contextual vectors."""

import json
import re
import shlex
import shutil
from dataclasses import replace

import numpy as np
import pytest
from streamlit.elements.lib import policies

from tests.material.apps import (
    join_values,
    list_button_keys,
    list_texts,
    markup,
    read_metrics,
    read_page,
)
from tests.material.workspaces import HOSTILE
from vocadapt.analysis.figures.figures import plot_overlap_histogram
from vocadapt.cli import main
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.change import ChangeStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.noise_baselines import rebuild_spec, resample_lines, use_next_seed
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.locks import hold_lock
from vocadapt.lab.workspace.slices import list_slices
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.change import (
    WEIGHTED,
    WHOLE_WORDS,
    ChangeSettings,
    measure_neighborhood_change,
)
from vocadapt.spaces.neighbors.change_report import build_neighbor_table, describe_histogram
from vocadapt.ui.parts.change import comparisons, word_list
from vocadapt.ui.parts.change.neighbors import build_three_cards
from vocadapt.ui.parts.change.word_list import read_range, select_rows

PAGE = "change"
SAME = {"change_before": "word vectors · trials-vectors", "change_after": "model · trials-model"}


@pytest.fixture
def workspace(seeded_copy):
    return seeded_copy


def compare(workspace, name, k=5, without=(), **more):
    """Make a finished comparison of the seeded vectors and model."""
    vectors, model = (
        workspace.artifact("vectors", "trials-vectors"),
        workspace.artifact("models", "trials-model"),
    )
    inputs = {"before": vectors.folder, "after": model.folder, **more}
    return run_step(
        Spec(ChangeStep(ChangeSettings(k, without=without)), inputs),
        workspace.folder("changes", name),
    )


@pytest.fixture(scope="module")
def with_nulls(seeded, tmp_path_factory):
    """The seeded workspace with a second seed of its vectors and two draws of their lines."""
    root = tmp_path_factory.mktemp("nulls") / "copy"
    shutil.copytree(seeded.root, root)
    workspace = Workspace(root)
    spec = rebuild_spec(workspace.artifact("vectors", "trials-vectors"))
    again = {
        "seed": use_next_seed(spec),
        "lines": resample_lines(spec, 1),
        "lines-2": resample_lines(spec, 2),
    }
    for name, one in again.items():
        run_step(one, workspace.folder("vectors", name))
    return workspace


def test_without_a_noise_baseline_the_page_says_so_and_offers_one(open_page, seeded):
    app = open_page(PAGE, seeded, **SAME, change_k="5")
    assert not app.exception and not app.error
    metrics = read_metrics(app)
    assert metrics["Words compared"] == "38"  # 39 without the full stop
    assert "Changed" not in metrics and metrics["Different neighbors"] != "–"
    assert {"null_seed", "null_lines"} <= set(list_button_keys(app))
    assert all(title in markup(app) for title in ("Only before", "In both", "Only after"))
    assert any("change --before" in block.value and "-k 5" in block.value for block in app.code)
    assert "--noise" not in read_page(app)


def test_a_noise_baseline_is_made_in_one_press(open_page, workspace, started):
    app = open_page(PAGE, workspace, **SAME)
    app.button(key="null_seed").click().run()
    app.button(key="null_lines").click().run()
    assert not app.exception
    assert [(spec.step, spec.settings.train_noise) for spec, _ in started] == [
        ("change", "seed"),
        ("change", "bootstrap"),
    ]
    spec, name = started[0]
    assert spec.inputs["before"] == (str(workspace.root / "vectors" / "trials-vectors"),)
    assert spec.settings.neighborhoods.k == 10 and name == "trials-vectors-to-trials-model"


def test_a_noise_baseline_of_the_workspace_is_found_and_used(open_page, with_nulls):
    app = open_page(PAGE, with_nulls, **SAME, change_k="5")
    assert not app.exception and not app.error
    picker = app.selectbox(key="change_null")
    seeds, lines, none = picker.options
    assert seeds.endswith("trials-vectors, seed") and picker.value == seeds and none == "none"
    assert read_metrics(app)["Changed"] != "–"
    assert "quantile" in read_page(app)
    assert "--noise-baseline" in join_values(app.code)
    assert {"Noise baseline", "Quantile", "Changed"} <= set(app.dataframe[0].value)
    picker.select("none").run()
    assert "Changed" not in read_metrics(app) and "null_seed" in list_button_keys(app)
    app.selectbox(key="change_null").select(lines).run()
    assert not app.exception and lines.startswith("bootstrap")


def test_the_first_pair_is_a_model_and_its_base(open_page, seeded, tiny_bert, capsys):
    app = open_page(PAGE, seeded)
    assert not app.exception and not app.error
    assert app.selectbox(key="change_after").value == SAME["change_after"]
    before = app.selectbox(key="change_before").value
    assert tiny_bert.name in before and before != SAME["change_after"]
    # its words have the same vectors in both: only the added words can be new neighbors
    (command,) = [block.value for block in app.code if "--among all" in block.value]
    # The command that the page shows says the same.
    assert main([*shlex.split(command)[3:], "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    sentences = {one["code"]: one["sentence"] for one in answer["findings"]}
    assert sentences["no_baseline_needed"] in read_page(app)


def test_all_of_it_stands_in_the_address(open_page, seeded):
    app = open_page(
        PAGE,
        seeded,
        **SAME,
        change_k="4",
        change_word="heart",
        change_kept="[0,1]",
        change_among="all",
        change_whole="false",
        change_order="frequency",
    )
    assert not app.exception and not app.error
    assert app.text_input(key="change_word").value == "heart"
    assert app.number_input(key="change_k").value == 4
    assert app.selectbox(key="change_order").value == "frequency"
    assert read_metrics(app)["Words compared"] == "39"
    assert any("**heart** keeps" in text and "of 4" in text for text in list_texts(app))
    assert "null_seed" not in list_button_keys(app)  # a baseline needs the same candidates


def test_a_linked_range_is_no_warning_on_the_console(open_page, seeded, monkeypatch):
    warned = []
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    monkeypatch.setattr(policies._LOGGER, "warning", lambda *about, **_: warned.append(about))
    app = open_page(PAGE, seeded, **SAME, change_k="4", change_kept="[0,1]")
    assert app.slider(key="change_kept_4").value == (0, 1)
    assert not [about for about in warned if "change_kept" in about]


def test_the_brush_chooses_the_words_of_the_list(open_page, seeded):
    app = open_page(PAGE, seeded, **SAME, change_k="4")
    assert len(app.dataframe[0].value) == 38
    app.slider(key="change_kept_4").set_value((4, 4)).run()
    assert app.query_params["change_kept"] == "[4,4]"
    assert not app.exception and len(app.dataframe[0].value) < 38
    assert set(app.dataframe[0].value["Overlap"]) <= {1.0}
    listed = len(app.dataframe[0].value)
    assert f"**{listed} of" in read_page(app)
    app.number_input(key="change_k").set_value(3).run()
    assert not app.exception and app.slider(key="change_kept_3").value == (0, 3)


def test_selected_bars_are_the_range_of_the_list(monkeypatch):
    state = {"overlaps": {"selection": {"points": [{"x": 7}, {"x": 5.0}, {"x": 6}]}}}
    monkeypatch.setattr(word_list.st, "session_state", state)
    word_list._select_bars("overlaps", 10)
    assert state["change_kept_10"] == (5, 7)
    word_list._select_bars("overlaps", 10)  # again: all
    assert state["change_kept_10"] == (0, 10)
    word_list._select_bars("overlaps", 10)
    assert state["change_kept_10"] == (5, 7)
    state["overlaps"]["selection"]["points"] = []  # the selection was cleared
    word_list._select_bars("overlaps", 10)
    assert state["change_kept_10"] == (0, 10)
    bad = [{"x": 11}, {"x": -1}, {"x": "3"}, {"x": True}, {}, 5, None, {"x": float("nan")}]
    assert read_range(bad, 10) is None  # the browser may send anything
    assert read_range([*bad, {"x": 0}], 10) == (0, 0)


def test_the_range_of_an_address_is_within_that_of_the_slider():
    assert word_list.parse_range("[0,3]", 10) == (0, 3)
    for hostile in ("", "[3,0]", "[0,11]", "[-1,2]", "[0,99999]", "3", "[٢,٣]", "[0,3]x"):
        assert word_list.parse_range(hostile, 10) is None


def test_a_clicked_point_and_a_selected_row_become_the_word_in_the_query(monkeypatch):
    state = {"dots": {"selection": {"points": [{"customdata": [1]}]}}, "change_word": "aspirin"}
    monkeypatch.setattr(word_list.st, "session_state", state)
    word_list._take_point("dots", ["aspirin", "heart"])
    assert state["change_word"] == "heart"
    for bad in ([], [{"customdata": 7}], [{"customdata": "0"}], [{}], [{"customdata": []}]):
        state["dots"] = {"selection": {"points": bad}}
        word_list._take_point("dots", ["aspirin", "heart"])
        assert state["change_word"] == "heart"
    state["ranked"] = {"selection": {"rows": [1]}}
    word_list._take_selected("ranked", ["aspirin", "lidocaine"])
    assert state["change_word"] == "lidocaine"


def test_the_words_of_the_list_are_kept_as_a_slice(open_page, workspace):
    app = open_page(PAGE, workspace, **SAME)
    app.text_input(key="slice_name").set_value("moved <b>").run()
    app.button(key="save_slice").click().run()
    assert not app.exception and not app.error
    [kept] = list_slices(workspace)
    assert kept.name == "moved <b>" and len(kept.tokens) == int(read_metrics(app)["Words compared"])
    assert kept.source["neighbors kept"].split() == ["0", "to", "10"]


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({"change_k": "38"}, "neighbors need"),
        ({"change_word": "nosuchword"}, "**nosuchword** is"),
        ({"change_before": "nothing/at-all"}, "nothing/at-all"),
        ({"change_before": SAME["change_after"]}, "same space"),
    ],
)
def test_what_cannot_be_compared_is_a_message(query, part, open_page, seeded):
    app = open_page(PAGE, seeded, **SAME | query)
    assert not app.exception and part in read_page(app)


def test_spaces_without_common_words_are_a_message(open_page, workspace, tmp_path):
    (tmp_path / "other.vec").write_text("qqq 1 2\nrrr 2 1\n")
    spec = Spec(ImportVectorsStep(), {"file": (str(tmp_path / "other.vec"),)})
    run_step(spec, workspace.folder("vectors", "other"))
    both = {"change_before": "word vectors · other", "change_after": "model · trials-model"}
    app = open_page(PAGE, workspace, **both)
    assert not app.exception and app.error and "in common" in read_page(app)


@pytest.mark.parametrize("word", [*HOSTILE[:4], "\u202eabc", "x" * 500])
def test_hostile_words_are_shown_as_they_are(open_page, hostile, word, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(hostile.root, root)
    shutil.copytree(root / "vectors" / "hostile", root / "vectors" / "twin")
    both = {"change_before": "word vectors · hostile", "change_after": "word vectors · twin"}
    app = open_page(PAGE, root, **both, change_word=word, change_whole="false")
    assert not app.exception and "<img" not in markup(app) and "\u202e" not in markup(app)
    if word in HOSTILE:
        assert not app.error and "**10 of" in read_page(app)
    # both have the same words and vectors: there is nothing that noise could change
    assert "null_seed" not in list_button_keys(app)


def test_spaces_that_cannot_be_trained_again_say_what_would_do(open_page, workspace, tmp_path):
    words = [f"w{i}" for i in range(30)]
    for name, seed in (("one", 1), ("two", 2)):
        rows = np.random.default_rng(seed).normal(size=(30, 4))
        lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True)]
        (tmp_path / f"{name}.vec").write_text("\n".join(lines))
        spec = Spec(ImportVectorsStep(), {"file": (str(tmp_path / f"{name}.vec"),)})
        run_step(spec, workspace.folder("vectors", name))
    both = {"change_before": "word vectors · one", "change_after": "word vectors · two"}
    app = open_page(PAGE, workspace, **both)
    assert not app.exception and not app.error
    assert not {"null_seed", "null_lines"} & set(list_button_keys(app))


def test_what_is_costly_is_a_job(open_page, seeded, monkeypatch, started):
    monkeypatch.setattr(comparisons, "AT_ONCE", 0.0)
    app = open_page(PAGE, seeded, **SAME, change_k="6")
    assert not app.metric
    app.button(key="change_start").click().run()
    assert not app.exception
    ((spec, name),) = started
    assert (spec.step, name) == ("change", "trials-vectors-to-trials-model")
    assert spec.settings.neighborhoods.k == 6
    assert "punctuation" in spec.settings.neighborhoods.without


def test_a_running_comparison_is_not_started_again(open_page, workspace, monkeypatch):
    monkeypatch.setattr(comparisons, "AT_ONCE", 0.0)
    vectors, model = (
        workspace.root / "vectors" / "trials-vectors",
        workspace.root / "models" / "trials-model",
    )
    settings = ChangeStep(ChangeSettings(without=WHOLE_WORDS))
    running = Spec(settings, {"before": vectors, "after": model}, offline=True)
    (workspace.root / "jobs").mkdir(exist_ok=True)
    with hold_lock(workspace.root / "jobs"):  # it waits
        job = queue.start(workspace, running, "compared")
        app = open_page(PAGE, workspace, **SAME)
        assert not app.exception
        assert f"cancel_{job.id}" in list_button_keys(app)
        assert "change_start" not in list_button_keys(app)
        job.cancel(grace=2)


def test_a_finished_comparison_is_listed_and_opened(open_page, workspace, monkeypatch):
    monkeypatch.setattr(comparisons, "compare_cached", lambda *arguments: 1 / 0)
    compare(workspace, "older")
    compare(workspace, "newer", 4)
    app = open_page(PAGE, workspace)
    assert not app.exception and not app.error
    picker = app.selectbox(key="change_comparison")
    assert picker.options == ["newer", "older", "New comparison"] and picker.value == "newer"
    assert "Mean overlap@4" in read_metrics(app)
    picker.select("older").run()
    assert not app.exception and "Mean overlap@5" in read_metrics(app)
    app = open_page(PAGE, workspace, change_comparison="older", change_word="heart")
    assert any("**heart** keeps" in text and "of 5" in text for text in list_texts(app))


def test_a_new_comparison_that_was_made_before_is_not_made_again(open_page, workspace, monkeypatch):
    monkeypatch.setattr(comparisons, "compare_cached", lambda *arguments: 1 / 0)
    compare(workspace, "made", 6, WHOLE_WORDS)
    app = open_page(PAGE, workspace, **SAME, change_k="6")
    assert app.selectbox(key="change_comparison").value == "New comparison"
    assert not app.exception and read_metrics(app)["Words compared"] == "38"
    assert "before: made" in read_page(app)


def test_a_comparison_outlives_its_spaces(open_page, workspace):
    compare(workspace, "kept")
    shutil.rmtree(workspace.root / "models" / "trials-model")
    app = open_page(PAGE, workspace, change_comparison="kept", change_word="heart")
    assert not app.exception and not app.error
    assert "is gone" in read_page(app)
    assert read_metrics(app)["Words compared"] == "39"
    assert "**heart** keeps" in read_page(app)


def test_a_damaged_comparison_is_a_message(open_page, workspace):
    made = compare(workspace, "kept")
    (made.folder / "change.json").write_text("{")
    app = open_page(PAGE, workspace, change_comparison="kept")
    assert not app.exception and app.error


def test_an_added_word_has_neighbors_after_only(open_page, seeded):
    app = open_page(PAGE, seeded, change_word="aspirin")
    assert not app.exception and not [error.value for error in app.error]
    assert "**aspirin** is" in read_page(app) and ">Only after<" in markup(app)
    # its neighbors are links that select themselves
    assert 'data-va-field="change_word"' in markup(app)


def test_vectors_in_context_are_made_as_a_job(open_page, seeded, started):
    app = open_page(PAGE, seeded, **SAME)
    assert any("39** words" in text and "2 layers" in text for text in list_texts(app))
    app.button(key="make_contextual").click().run()
    assert not app.exception
    ((spec, name),) = started
    assert spec.step == "contextual"
    assert spec.settings.contextual.layer == 2
    assert name == "tiny-bert-layer-2"
    assert spec.inputs["text"] == (str(seeded.root / "corpora" / "trials"),)


def test_the_parts_by_hand():
    from tests.material.spaces import AFTER, BEFORE

    change = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2))
    assert [change.words[row] for row in select_rows(change, (0, 0))] == ["a"]
    assert [change.words[row] for row in select_rows(change, (1, 2))] == ["b", "c", "d", "e"]
    # by id: a comes first, and b, c, d and e change alike
    assert [change.words[row] for row in select_rows(change, (1, 2), WEIGHTED)] == list("bcde")
    found = describe_histogram(change)
    assert found.code == "half_keep_few"
    # It keeps at most 1 of 2; 1 of 5 keep none, 0 keep all.
    assert re.findall(r"\d+", found.sentence)[:5] == ["1", "2", "1", "5", "0"]
    # "At most 2 of 2" would say nothing; the words that keep all are not in the figure.
    unchanged = measure_neighborhood_change(BEFORE, BEFORE, ChangeSettings(k=2))
    assert describe_histogram(unchanged).code == "half_keep_all"
    (bars,) = plot_overlap_histogram(change.histogram).data
    assert (list(bars.x), list(bars.y)) == ([0, 1], [0.2, 0.8])
    cards = build_three_cards(change.word("d"), ("<b>", "b"), frozenset("bc"))
    assert [[word for word, _ in card.rows] for card in cards] == [["c"], ["e"], ["a"]]
    assert cards[2].shared == {"a"}  # it is not one of the candidates before
    rows = build_neighbor_table(change, None).list_records()
    assert list(rows[0]) == ["word", "overlap", "only_before", "both", "only_after"]
    assert rows[0]["word"] == "a" and len(rows) == 5
    assert replace(change, words=("<i>", "b", "c", "d", "e")).word("<i>").word == "<i>"
