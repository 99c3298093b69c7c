"""The Adapt page for each kind of recipe: it shows the inputs that the recipe uses, and the plan
before running it."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.material.apps import join_values, list_button_keys, list_texts, read_metrics
from tests.material.lab import write_text
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.lab.inputs.alignments import find_saved_scores, load_table
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.system.footprint import Footprint, format_energy
from vocadapt.ui.parts.adapt import plan
from vocadapt.ui.parts.adapt.model import describe_quality, describe_size
from vocadapt.ui.state import names
from vocadapt.ui.state.names import shown_model
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import chance, count, fraction
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

ADAPT = "adapt"
WORDS = [f"word{i}" for i in range(500)]


@pytest.fixture
def pair(make_bert, monkeypatch):
    """A model and a target of the same size with other tokens at the end, both known to the
    workspace.
    """
    found = (
        make_bert("a", tokens=[*TINY_TOKENS, *WORDS]),
        make_bert("b", tokens=[*TINY_TOKENS, *(f"x{word}" for word in WORDS)]),
    )
    in_use(monkeypatch, [str(folder) for folder in found])
    return found


def in_use(monkeypatch, names):
    """Let these be the models that the workspace has used."""
    for module in ("state.names", "components.pickers"):
        monkeypatch.setattr(f"vocadapt.ui.{module}.models_in_use", lambda workspace: names)


def test_a_reduction_needs_a_model_only(open_page, tmp_path, pair):
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="reduced-last-25")
    assert not app.exception and not app.error
    assert read_metrics(app)["Tokens removed"] == "163"
    assert read_metrics(app)["Parameters saved"] == count(163 * 16)
    assert "adapt" in list_button_keys(app)


def test_a_transfer_asks_for_the_target(open_page, tmp_path, pair):
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="transfer-syntactic")
    app.selectbox(key="adapt_target").set_value(shown_model(str(pair[1]))).run()
    assert not app.exception and not app.error
    assert read_metrics(app)["Tokens added"] == "500"
    assert read_metrics(app)["Tokens removed"] == "500"
    tables = [table for table in app.dataframe if "new token" in table.value.columns]
    assert tables[0].value["new token"][0] == "xword0"
    assert "occurrences" not in tables[0].value.columns


def test_a_heuristic_that_counts_needs_counted_text(open_page, seeded: Workspace, tmp_path):
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="reduced-freq-25")
    assert not app.exception and "adapt" not in list_button_keys(app)
    # Its tiny model has hardly a token that may go: that is said, and nothing can be started.
    app = open_page(ADAPT, seeded, adapt_preset="reduced-freq-25")
    assert not app.exception and "must stay" in join_values(app.text)
    assert "adapt" not in list_button_keys(app)


@pytest.fixture
def uncounted(tmp_path):
    """A workspace with a text whose words were never counted."""
    workspace = Workspace(tmp_path / "w")
    spec = Spec(CorpusStep(copy=True), {"text": str(write_text(tmp_path / "text.txt"))})
    run_step(spec, workspace.folder("corpora", "trials"))
    return workspace


def cost_of(app):
    """What a page says of a training before it begins."""
    return next(text.replace("\\", "") for text in list_texts(app) if " epochs; " in text)


def test_a_preset_that_trains_says_what_that_takes_as_the_page_pretraining_does(
    open_page, uncounted, pair
):
    app = open_page(ADAPT, uncounted, adapt_preset="transfer-syntactic+mlm")
    app.selectbox(key="adapt_target").set_value(shown_model(str(pair[1]))).run()
    assert not app.exception and not app.error
    assert read_metrics(app)["Tokens added"] == "500"  # a text to train on need not be counted
    assert "adapt" in list_button_keys(app)
    said = cost_of(app)
    other = open_page(
        "pretraining",
        uncounted,
        pretraining_model=shown_model(str(pair[0])),
        pretraining_stage="embeddings",
    )
    work = cost_of(other).partition(" :small[:gray[")[2].partition(";")[0]
    assert "epochs" in work and work in said
    app = open_page(ADAPT, uncounted, adapt_preset="transfer-syntactic")
    app.selectbox(key="adapt_target").set_value(shown_model(str(pair[1]))).run()
    assert not any(" epochs; " in text for text in list_texts(app))


@pytest.mark.parametrize("counted", [True, False])
def test_word_vectors_and_a_text_to_train_on(counted, open_page, seeded: Workspace, tmp_path):
    workspace = Workspace(shutil.copytree(seeded.root, tmp_path / "copy"))
    if not counted:
        shutil.rmtree(workspace.root / "counts")
    app = open_page(ADAPT, workspace, adapt_preset="green-bert+mlm")
    assert not app.exception and not app.error and "adapt" in list_button_keys(app)
    assert cost_of(app)


def test_a_model_that_cannot_be_trained_is_refused_before_it_is_adapted(
    open_page, uncounted, make_bert, monkeypatch
):
    bare = str(make_bert("bare", head="BertModel"))
    in_use(monkeypatch, [bare, str(make_bert("b"))])
    app = open_page(ADAPT, uncounted, adapt_preset="transfer-syntactic+mlm")
    app.selectbox(key="adapt_target").set_value(
        shown_model(names.models_in_use(uncounted)[1])
    ).run()
    assert not app.exception and "adapt" not in list_button_keys(app)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ({"departures": 2, "added_occurrences": 900}, ("2,", "900", "(0.22 %)")),
        ({"departures": 9, "added_occurrences": 900, "within_words": 7}, ("9,", "(1 %)", "7.")),
        ({"departures": 0, "added_occurrences": 900}, ("0,", "900")),
        ({"departures_not_counted": "why"}, ("why",)),
        ({}, ()),
    ],
)
def test_departures_from_the_exact_word_rule_are_counted_or_said_not_to_be(numbers, shown):
    def page() -> None:
        import streamlit as st

        from vocadapt.ui.parts.adapt.model import draw_deviations
        from vocadapt.vocabulary.families import FAMILIES

        draw_deviations(st.session_state["numbers"], FAMILIES["wordpiece"])

    app = AppTest.from_function(page)
    app.session_state["numbers"] = numbers
    app.run()
    assert not app.exception
    text = " ".join(list_texts(app))
    assert all(one in text for one in shown) and bool(text) == bool(shown)


def test_the_measured_quality_and_the_cost_of_a_model_are_shown(open_page, seeded: Workspace):
    manifest = seeded.artifact("models", "trials-model").manifest
    numbers, footprint = manifest.numbers, Footprint.from_dict(manifest.footprint)
    assert footprint is not None
    app = open_page(ADAPT, seeded)
    assert not app.exception
    shown = next(metric for metric in app.metric if metric.label == "Held-out P@5")
    assert shown.value == fraction(numbers["p@5"])
    assert shown.delta == f"chance {chance(numbers['chance@5'])}, n = {count(numbers['anchors'])}"
    said = next(one for one in app.markdown if format_energy(footprint.kwh) in one.value)
    assert plain("PUE 1.58") in said.value and plain("(world)") in said.value


def test_words_with_several_forms_are_counted_once():
    numbers = {"added": 736, "tokens_after": 50997}
    assert describe_size(numbers) == ("Tokens added", "736", f"{count(50997)} in total")
    numbers["forms"] = 436
    assert describe_size(numbers)[:2] == ("Words added", "300")
    assert describe_size(numbers)[2].startswith("in 736 tokens; ")


def test_a_model_without_an_alignment_has_no_score():
    assert describe_quality({})[1] == "–"
    assert describe_quality({"verdict": "too few"})[1:] == ("–", "too few")


def test_a_number_out_of_range_is_a_message_and_nothing_can_be_started(open_page, seeded):
    app = open_page(ADAPT, seeded, adapt_preset="green-bert")
    assert "adapt" in list_button_keys(app)
    app.number_input(key="adapt_cap").set_value(99_999_999_999).run()
    assert not app.exception
    assert any("Max added words" in text.value and "expected" in text.value for text in app.text)
    assert "adapt" not in list_button_keys(app)
    app.number_input(key="adapt_cap").set_value(3).run()
    assert "adapt" in list_button_keys(app) and not app.error


def choose_initializer(app, preset, name):
    """Select an initializer in the menu of a preset."""
    app.selectbox(key=f"initializer_{preset}").set_value(name).run()
    return app


def test_the_initializer_of_a_preset_can_be_changed(open_page, tmp_path, pair, started):
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="transfer-syntactic")
    menu = app.selectbox(key="initializer_transfer-syntactic")
    assert menu.value == "syntactic"
    assert INITIALIZERS["syntactic"].about in " ".join(list_texts(app))
    of_word_vectors = {name for name, one in INITIALIZERS.items() if one.needs == "words"}
    assert set(menu.options) == {*INITIALIZERS} - of_word_vectors
    choose_initializer(app, "transfer-syntactic", "global-mean")
    app.selectbox(key="adapt_target").set_value(shown_model(str(pair[1]))).run()
    app.button(key="adapt").click().run()
    assert not app.exception and not app.error
    assert started[0][0].settings.recipe.initializer.method == "global-mean"
    # Another preset keeps its own initializer, and a reduction has none.
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="transfer-semantic")
    assert app.selectbox(key="initializer_transfer-semantic").value == "semantic"
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="reduced-last-25")
    assert not [box for box in app.selectbox if str(box.key).startswith("initializer_")]


def test_an_alignment_of_the_default_recipe_keeps_its_norms(open_page, seeded, started):
    app = open_page(ADAPT, seeded, adapt_preset="new-words")
    choose_initializer(app, "new-words", "aligned")
    app.button(key="adapt").click().run()
    assert not app.exception and not app.error
    # The best evaluated method, with the vector length of the recipe.
    assert started[0][0].settings.recipe.alignment.vector_length == "frequency"


def test_an_initializer_that_trains_asks_for_a_text(open_page, tmp_path, pair, uncounted):
    trained = next(name for name, one in INITIALIZERS.items() if one.needs == "text")
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="transfer-syntactic")
    choose_initializer(app, "transfer-syntactic", trained)
    assert not app.exception and "adapt_corpora" not in {box.key for box in app.selectbox}
    app = open_page(ADAPT, uncounted, adapt_preset="transfer-syntactic")
    choose_initializer(app, "transfer-syntactic", trained)
    assert not app.exception and app.selectbox(key="adapt_corpora").value == "trials"


def test_an_initializer_that_is_grounded_asks_for_a_glossary(
    open_page, tmp_path, pair, uncounted, started
):
    app = open_page(ADAPT, tmp_path / "empty", adapt_preset="transfer-syntactic")
    choose_initializer(app, "transfer-syntactic", "grounded")
    assert not app.exception and "adapt_glossary" not in {box.key for box in app.selectbox}
    app = open_page(ADAPT, uncounted, adapt_preset="transfer-syntactic")
    choose_initializer(app, "transfer-syntactic", "grounded")
    assert app.selectbox(key="adapt_glossary").value == "trials"
    app.selectbox(key="adapt_target").set_value(shown_model(str(pair[1]))).run()
    app.button(key="adapt").click().run()
    assert not app.exception and not app.error
    assert Path(started[0][0].inputs["glossary"][0]).name == "trials"
    assert "text" not in started[0][0].inputs


def test_the_model_has_the_evaluation_of_its_alignment(seeded):
    """One evaluation, reused: Adapt and Alignment show the same number, from the same folds."""
    [alignment] = seeded.artifacts("alignments")
    numbers = open_artifact(seeded.folder("models", "trials-model")).manifest.numbers
    table = load_table(alignment.folder)
    lines = [line for line in table if line.settings == AlignmentSettings()]
    held_out = lines[0].held_out
    assert (numbers["p@5"], numbers["chance@5"]) == (held_out.p5, held_out.chance5)
    assert numbers["folds"] == held_out.folds
    assert numbers["folds"] == 3
    # Only directions are evaluated: another vector length finds the same evaluation.
    [vectors] = seeded.artifacts("vectors")
    model = open_model(str(seeded.root / alignment.manifest.inputs["model"].paths[0]))
    settings = AlignmentSettings(vector_length="frequency")
    assert find_saved_scores(vectors.folder, model, settings) == lines[0]
    assert find_saved_scores(vectors.folder, model, AlignmentSettings("ridge", ridge=7.0)) is None


def test_the_quality_of_stacked_embeddings_is_that_expected_of_new_words():
    stacked = {"p@5": 0.6, "reweighted": {"p@5": 0.512}, "anchors": 99, "candidates": 400}
    label, value, basis, _ = describe_quality({"stacked": stacked})
    assert (label, value) == ("Expected P@5", ".512") and ".600" in basis and "99" in basis


def test_the_added_words_are_listed_before_numbers_and_remnants(monkeypatch):
    base = WordPieceVocabulary(("[UNK]", "a"), frozenset(["[UNK]"]))
    added = [AddedWord(token, ("a",), 9) for token in ("001", "sd", "fever", "##itis", "x-ray")]
    tables = []
    monkeypatch.setattr(plan, "draw_table", lambda table, **_: tables.append(table))
    plan.draw_added_words(VocabularyPlan(base, tuple(added)))
    assert tables[0]["new token"] == ["fever", "##itis", "001", "sd", "x-ray"]
