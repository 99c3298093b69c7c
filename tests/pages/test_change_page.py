"""The neighborhood change page: empty, full, with a noise baseline, words from input and
address, hostile words, contextual vectors."""

import shutil
from dataclasses import replace

import pytest

from tests.material.workspaces import HOSTILE
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.noise_baselines import rebuild_spec, resample_lines, use_next_seed
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.workspace.slices import list_slices
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.neighbors.change import ChangeSettings, measure_neighborhood_change
from vocadapt.ui.change import view
from vocadapt.ui.change.view import build_three_cards, format_word_list, select_rows

PAGE = "change"
SAME = {"change_before": "word vectors · trials-vectors", "change_after": "model · trials-model"}


def markup(app):
    return "".join(element.proto.body for element in app.get("html"))


def texts(app):
    return [
        element.value
        for kind in ("markdown", "error", "warning", "text")
        for element in app.get(kind)
    ]


def figures(app):
    return {metric.label: metric.value for metric in app.metric}


@pytest.fixture
def workspace(seeded, tmp_path):
    """A copy of the seeded workspace to write into."""
    shutil.copytree(seeded.root, tmp_path / "copy")
    return Workspace(tmp_path / "copy")


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
    assert any("No noise baseline: overlap cannot be called change" in text for text in texts(app))
    assert figures(app)["Words compared"] == "39" and figures(app)["Changed"] == "–"
    assert {"null_seed", "null_lines"} <= {button.key for button in app.button}
    assert "Only before" in markup(app) and "In both" in markup(app) and "Only after" in markup(app)
    assert any("change --before" in block.value and "-k 5" in block.value for block in app.code)


def test_a_noise_baseline_is_trained_by_a_job(open_page, workspace, monkeypatch):
    started = []
    monkeypatch.setattr(queue, "start", lambda workspace, spec, name: started.append((spec, name)))
    app = open_page(PAGE, workspace, **SAME)
    app.button(key="null_seed").click().run()
    app.button(key="null_lines").click().run()
    assert not app.exception
    first, *drawn = started
    assert first[0].settings.word2vec.seed == 2 and first[1] == "trials-vectors-seed"
    assert sorted(spec.settings.resample for spec, _ in drawn) == [
        1,
        2,
    ]  # one press makes both draws
    assert all(
        spec.settings.word2vec.seed == 1 and name == "trials-vectors-lines" for spec, name in drawn
    )


def test_a_draw_that_was_made_already_is_not_made_again(
    open_page, with_nulls, tmp_path, monkeypatch
):
    root = tmp_path / "copy"
    shutil.copytree(with_nulls.root, root)
    shutil.rmtree(root / "vectors" / "seed")
    shutil.rmtree(root / "vectors" / "lines")
    started = []
    monkeypatch.setattr(
        queue, "start", lambda workspace, spec, name: started.append(spec.settings.resample)
    )
    app = open_page(PAGE, Workspace(root), **SAME)
    app.button(key="null_lines").click().run()
    assert not app.exception and started == [1]  # beside the second draw, which is there


def test_a_noise_baseline_of_the_workspace_is_found_and_used(open_page, with_nulls):
    app = open_page(PAGE, with_nulls, **SAME, change_k="5")
    assert not app.exception and not app.error
    picker = app.selectbox(key="change_null")
    assert (
        len(picker.options) == 3
        and picker.options[0] == "two seeds · trials-vectors, seed" == picker.value
    )
    assert figures(app)["Changed"] != "–"
    assert any("the noise baseline" in text and "quantile" in text for text in texts(app))
    assert any("--noise-baseline" in block.value for block in app.code)
    assert {"noise baseline", "quantile", "changed"} <= set(app.dataframe[0].value)
    picker.select("none").run()
    assert figures(app)["Changed"] == "–" and any(
        "cannot be called change" in text for text in texts(app)
    )
    app.selectbox(key="change_null").select(picker.options[1]).run()
    assert not app.exception and picker.options[1].startswith("bootstrap resamples · ")


def test_all_of_it_stands_in_the_address(open_page, seeded):
    app = open_page(
        PAGE,
        seeded,
        **SAME,
        change_k="4",
        change_word="heart",
        change_kept="[0,1]",
        change_among="all",
    )
    assert not app.exception and not app.error
    assert (
        app.text_input(key="change_word").value == "heart"
        and app.number_input(key="change_k").value == 4
    )
    assert any("**heart** keeps" in text and "of 4" in text for text in texts(app))
    assert any("available only if the candidates" in text for text in texts(app))


def test_the_brush_chooses_the_words_of_the_list(open_page, seeded):
    app = open_page(PAGE, seeded, **SAME, change_k="4")
    assert len(app.dataframe[0].value) == 39
    app.slider(key="change_kept").set_value((4, 4)).run()
    assert not app.exception and len(app.dataframe[0].value) < 39
    assert set(app.dataframe[0].value["overlap"]) <= {1.0}
    app.number_input(key="change_k").set_value(3).run()
    assert not app.exception and app.slider(key="change_kept").value == (0, 3)


def test_the_words_of_the_list_are_kept_as_a_slice(open_page, workspace):
    app = open_page(PAGE, workspace, **SAME)
    app.text_input(key="slice_name").set_value("moved <b>").run()
    app.button(key="save_slice").click().run()
    assert not app.exception and not app.error
    [kept] = list_slices(workspace)
    assert kept.name == "moved <b>" and len(kept.tokens) == int(figures(app)["Words compared"])
    assert kept.source["neighbors kept"] == "0 to 10"


def test_too_many_neighbors_and_unknown_words_are_messages(open_page, seeded):
    app = open_page(PAGE, seeded, **SAME, change_k="38")
    assert not app.exception and any(
        "neighbors need at least 40 words" in text for text in texts(app)
    )
    app = open_page(PAGE, seeded, **SAME, change_word="nosuchword")
    assert not app.exception and any(
        "nosuchword" in text and "not among" in text for text in texts(app)
    )
    app = open_page(
        PAGE, seeded, change_before="nothing/at-all", change_after="model · trials-model"
    )
    assert not app.exception and app.error


@pytest.mark.parametrize("word", [*HOSTILE[:4], "\u202eabc", "x" * 500])
def test_hostile_words_are_shown_as_they_are(open_page, hostile, word):
    both = {"change_before": "word vectors · hostile", "change_after": "word vectors · hostile"}
    app = open_page(PAGE, hostile, **both, change_word=word)
    assert not app.exception and "<img" not in markup(app) and "\u202e" not in markup(app)
    if word in HOSTILE:
        assert not app.error and any("keeps **10 of 10**" in text for text in texts(app))
    assert any("Neither space can be retrained" in text for text in texts(app))


def test_what_is_costly_waits_for_a_click(open_page, seeded, monkeypatch):
    monkeypatch.setattr("vocadapt.ui.change.view.AT_ONCE", 0.0)
    app = open_page(PAGE, seeded, **SAME)
    assert not app.metric and any(
        "Compares every word with every other" in text for text in texts(app)
    )
    app.button(key="compare").click().run()
    assert not app.exception and figures(app)["Words compared"] == "39"
    app.run()
    assert figures(app)["Words compared"] == "39"


def test_vectors_in_context_are_made_as_a_job(open_page, seeded, tiny_bert, monkeypatch):
    started = []
    monkeypatch.setattr(queue, "start", lambda workspace, spec, name: started.append((spec, name)))
    app = open_page(PAGE, seeded, **SAME)
    assert any("39** words" in text and "of 2 layers" in text for text in texts(app))
    app.button(key="make_contextual").click().run()
    assert not app.exception
    ((spec, name),) = started
    assert (
        spec.step == "contextual"
        and spec.settings.contextual.layer == 2
        and name == "tiny-bert-layer-2"
    )
    assert spec.inputs["text"] == (str(seeded.root / "corpora" / "trials"),)


def test_the_parts_by_hand():
    from tests.spaces.test_change import AFTER, BEFORE

    change = measure_neighborhood_change(BEFORE, AFTER, ChangeSettings(k=2))
    assert [change.words[row] for row in select_rows(change, (0, 0))] == ["a"]
    assert [change.words[row] for row in select_rows(change, (1, 2))] == ["b", "c", "d", "e"]
    cards = build_three_cards(change.word("d"), ("<b>", "b"))
    assert [[word for word, _ in card.rows] for card in cards] == [["c"], ["e"], ["a"]]
    lines = format_word_list(change, None).splitlines()
    assert lines[0].split("\t") == ["word", "overlap", "only before", "both", "only after"]
    assert lines[1].split("\t")[0] == "a" and len(lines) == 6
    assert replace(change, words=("<i>", "b", "c", "d", "e")).word("<i>").word == "<i>"


def test_a_selected_row_becomes_the_word_in_the_query(monkeypatch):
    state = {"ranked_0_5": {"selection": {"rows": [1]}}, "change_word": "aspirin"}
    monkeypatch.setattr(view.st, "session_state", state)
    view._take_selected("ranked_0_5", ["aspirin", "lidocaine"])
    assert state["change_word"] == "lidocaine"
