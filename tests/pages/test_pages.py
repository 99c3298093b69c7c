"""Every page, empty, full, broken and with hostile words: no exception, and the expected texts."""

import html
import json
import re
import shutil
from urllib.parse import parse_qs

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest, app_test

from tests.material.apps import (
    join_values,
    list_button_keys,
    list_texts,
    markup,
    read_metrics,
    read_page,
)
from tests.material.fragments import FragmentRunner
from tests.material.lab import KNOWN, NEW
from tests.material.workspaces import HOSTILE
from vocadapt.lab.demo import open_demo
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.ui.components.glossary import MAX_EXPLAINED, TERMS, find_terms
from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS
from vocadapt.ui.text.number_formats import signed

LINKED = re.compile(r'data-va-word="([^"]*)"')
PROCRUSTES, KERNEL_RIDGE, RIDGE = (
    AlignmentSettings(method).digest for method in ("procrustes", "kernel-ridge", "ridge")
)
FULL = {  # number of headings on each part of a full workspace; studies and search have own tests
    "adapt": 1,
    "advise": 4,
    "alignment": 3,
    "change": 2,
    "diagnostics": 1,
    "finetune": 1,
    "home": 1,
    "initializers": 2,
    "jobs": 1,
    "lens": 2,
    "pretraining": 1,
    "projection": 1,
    "published": 3,
    "storage": 2,
    "teacher": 3,
    "text": 3,
    "try": 2,
    "vectors": 2,
}
WITHOUT_TASK = ("published", "lessons", "teacher")  # they are full in an empty workspace, too

QUICK = ("home", "lessons", "teacher", "jobs")  # parts without fragments
MOVED = ("slider", "select_slider", "number_input", "toggle", "checkbox")
# Elements with a label and a help.
LABELED = (
    "metric",
    "selectbox",
    "multiselect",
    "number_input",
    "text_input",
    "checkbox",
    "radio",
    "slider",
    "button_group",
)


def title_of(part):
    """The title above a part: its own, or that of the page whose tab it is."""
    page = PAGE_OF_PART[part]
    return page.title if len(page.parts) > 1 else page.parts[0].title


def list_unexplained_terms(app, part):
    """Terms of a part in the labels and headings that it draws, without their sentence as help."""
    elements = [(one.proto.label, one.proto.help) for kind in LABELED for one in app.main.get(kind)]
    elements += [(one.value, one.proto.help) for one in app.header]
    return [
        (label, term)
        for label, help in elements
        for term in find_terms(label, PARTS[part].terms)[:MAX_EXPLAINED]
        if f"**{term}**: {TERMS[term]}" not in help
    ]


@pytest.mark.parametrize("page", PARTS)
def test_an_empty_workspace_says_what_to_do_first(page, open_page):
    app = open_page(page)
    assert not app.exception
    assert app.title[0].value == title_of(page)
    links = [one.proto.label for one in app.main.get("page_link")]
    assert page in WITHOUT_TASK or app.main.button or [one for one in links if "Next:" not in one]


@pytest.mark.parametrize("page", PARTS)
def test_a_full_workspace_shows_its_last_results_at_once(page, open_page, seeded, monkeypatch):
    """Sliders, numbers and switches rerun a fragment, except on pages that are drawn quickly."""
    monkeypatch.setattr(app_test, "LocalScriptRunner", FragmentRunner)
    app = open_page(page, seeded)
    assert not app.exception and not app.error
    assert app.title[0].value == title_of(page)
    assert len(app.header) == FULL.get(page, 0)
    assert not list_unexplained_terms(app, page)
    assert all(len(chart.proto.alt) > 20 for chart in app.get("plotly_chart"))
    moved = [widget for kind in MOVED for widget in app.main.get(kind)]
    whole = [widget.key for widget in moved if not FragmentRunner.fragments[widget.id]]
    assert whole == [] or page in QUICK


@pytest.mark.parametrize("page", ["vectors", "alignment", "adapt", "projection", "change"])
def test_broken_vectors_are_a_message(page, open_page, seeded_copy):
    vectors = seeded_copy.folder("vectors", "trials-vectors")
    (vectors / "vectors.safetensors").write_bytes(b"not a tensor")
    app = open_page(
        page,
        seeded_copy,
        **({"projection_space": "word vectors · trials-vectors"} if page == "projection" else {}),
    )
    assert not app.exception
    assert "did not work" in join_values(app.error)


def test_a_torn_judgment_is_a_message(open_page, seeded_copy):
    (seeded_copy.folder("alignments", "trials-map") / "heldout.json").write_text("{")
    app = open_page("alignment", seeded_copy)
    assert not app.exception and app.error


def test_an_artifact_that_is_not_ours_is_passed_over(open_page, tmp_path):
    folder = tmp_path / "odd" / "vectors" / "x"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("[]", encoding="utf-8")
    app = open_page("vectors", tmp_path / "odd")
    assert not app.exception and not app.error


@pytest.mark.parametrize("page", ["vectors", "alignment", "adapt", "projection", "change"])
def test_hostile_words_stay_words(page, open_page, hostile):
    app = open_page(page, hostile)
    assert not app.exception
    assert "<img/src" not in markup(app)
    assert not any(word in text for text in list_texts(app) for word in HOSTILE[:3])


def test_a_hostile_word_can_be_queried(open_page, hostile):
    app = open_page("vectors", hostile, vectors_word=HOSTILE[0])
    app.text_input(key="vectors_word").set_value(HOSTILE[0]).run()
    assert not app.exception and not app.error
    assert "Nearest to &lt;img/src=x/onerror=alert(1)&gt;" in markup(app)


def test_the_four_lists_of_a_word(open_page, seeded):
    app = open_page("alignment", seeded)
    app.text_input(key="alignment_word").set_value("aspirin").run()
    assert not app.exception
    first = markup(app)
    for one in ("Words", "Wordpieces"):
        assert [first.count(f">{one} → {other}<") for other in ("words", "wordpieces")] == [1, 1]
    assert "mean of a ##s ##p ##i ##r ##i ##n" in first
    # Another alignment is fitted when it is chosen.
    app.selectbox(key="alignment_method").select(PROCRUSTES).run()
    assert not app.exception and markup(app) != first
    assert any(button.label.startswith("Evaluate Procrustes") for button in app.button)
    # By distance, and for what is no word.
    app.button_group(key="alignment_metric").set_value("euclidean").run()
    assert not app.exception and not app.error and app.toggle(key="alignment_csls").disabled
    app.text_input(key="alignment_word").set_value("two words").run()
    assert not app.exception and "one word" in read_page(app)


def test_the_nearest_words_by_euclidean_distance(open_page, seeded):
    settings = {"vectors_metric": "Euclidean", "vectors_k": "3"}
    app = open_page("vectors", seeded, vectors_word="aspirin", **settings)
    assert not app.exception and not app.error
    assert "Euclidean distance, 3 of " in markup(app)


SEARCHES = [  # typed, and the words that are offered as links: None for many
    ("asprin", ["aspirin"]),
    ("aspir", ["aspirin"]),
    ("^asp.*n$", ["aspirin"]),
    (".*", None),
    ("zzz$", []),
    ("(a", []),
]


@pytest.mark.parametrize("page", ["vectors", "alignment"])
def test_what_is_typed_is_found_or_explained(page, open_page, seeded):
    app = open_page(page, seeded, workspace=seeded.root.name)
    # 1. A neighbor is a link to itself, in the same workspace and tab.
    links = re.findall(r'<a [^>]*href="\?([^"]*)"[^>]*data-va-word="([^"]*)"', markup(app))
    assert links
    for address, word in links:
        query = parse_qs(html.unescape(address))
        assert query[f"{page}_word"] == [html.unescape(word)]
        assert query[f"{page}_vectors"] == ["trials-vectors"]
    # 2. A word in its text.
    key = f"{page}_word"
    app.text_input(key=key).set_value("aspirin").run()
    assert not app.exception and not app.error
    assert markup(app).count('<span class="va-match"><bdi>aspirin</bdi>') == 12
    of = (seeded.root.parent / "trials.txt").read_text(encoding="utf-8").split().count("aspirin")
    assert of > 100 and f"12 of {of}" in read_page(app)
    assert "in-context.tsv" in [one.proto.label for one in app.get("download_button")]
    # 3. A formula has neighbors, but not its own words.
    app.text_input(key=key).set_value("aspirin - heart + sepsis").run()
    assert not app.exception and not app.error
    body = markup(app)
    assert "Nearest to aspirin − heart + sepsis" in body
    first = LINKED.findall(body.split("its own words are left out")[1].split("va-card")[0])
    assert len(first) > 3 and not {"aspirin", "heart", "sepsis"} & set(first)
    # 4. Other texts get suggestions.
    for typed, offered in SEARCHES:
        app.text_input(key=key).set_value(typed).run()
        assert not app.exception and bool(app.error) is (typed == "(a")
        links = re.findall(r'data-testid="word-links">.*?</div>', markup(app))
        found = [html.unescape(word) for one in links for word in LINKED.findall(one)]
        assert found == offered or (offered is None and len(found) > 20), typed
    # 5. A hostile text does no harm.
    for word in ("<script>", "x" * 500):
        app.text_input(key=key).set_value(word).run()
        assert not app.exception and 'va-line"' not in markup(app) and "<script>" not in markup(app)


def test_a_text_that_was_changed_since_is_not_shown(open_page, seeded_copy):
    manifest = seeded_copy.root / "corpora" / "trials" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    app = open_page("vectors", seeded_copy)
    app.text_input(key="vectors_word").set_value("aspirin").run()
    assert not app.exception and 'va-line"' not in markup(app)


def test_lines_of_a_long_text_wait_for_a_click_and_of_a_longer_one_for_the_command_line(
    open_page, seeded, monkeypatch
):
    monkeypatch.setattr("vocadapt.text.keyword_in_context.SPEED", 1000.0)
    app = open_page("vectors", seeded, vectors_word="aspirin")
    assert 'va-line"' not in markup(app)
    app.button(key="context_show").click().run()
    assert not app.exception and 'va-line"' in markup(app)
    monkeypatch.setattr("vocadapt.text.keyword_in_context.SPEED", 1.0)
    app.text_input(key="vectors_word").set_value("sepsis").run()
    command = next(code.value for code in app.code if "vocadapt context" in code.value)
    assert command.startswith("python -m vocadapt context --corpus ")
    assert command.endswith("-- sepsis")


def test_a_kernel_alignment_is_fitted_by_a_job_and_read_from_it(
    open_page, seeded, tiny_bert, tmp_path
):
    app = open_page("alignment", seeded)
    assert 'data-testid="neighbors"' in markup(app)
    app.selectbox(key="alignment_method").select(KERNEL_RIDGE).run()
    assert not app.exception and not app.error
    assert "Kernel ridge** is not fitted yet" in read_page(app)
    assert [button.label for button in app.button if button.key == "judge_one"] == [
        "Evaluate Kernel ridge in detail"
    ]
    # Neither lists nor figures: those of another map stood here under this one's name.
    assert 'data-testid="neighbors"' not in markup(app)
    assert [metric.value for metric in app.metric][1:] == ["–", "–", "–"]

    root = Workspace(tmp_path / "kernel").root
    shutil.copytree(seeded.root, root)
    step = AlignmentStep(AlignmentSettings("kernel-ridge"), folds=3)
    given = {"vectors": (str(root / "vectors" / "trials-vectors"),), "model": (str(tiny_bert),)}
    run_step(Spec(step, given), root / "alignments" / "kernel")
    app = open_page("alignment", root)
    app.selectbox(key="alignment_method").select(KERNEL_RIDGE).run()
    assert not app.exception and "is not fitted yet" not in read_page(app)
    assert 'data-testid="neighbors"' in markup(app)
    assert all(metric.value != "–" for metric in app.metric)


def test_each_score_is_compared_with_the_same_score_of_the_default_alignment(open_page, seeded):
    """A difference of .091 against least squares stood beside least squares itself: its CSLS score
    less its plain one.
    """
    app = open_page("alignment", seeded)
    own = {metric.label: metric for metric in app.metric}
    assert not own["Held-out P@5"].delta and not own["With CSLS"].delta
    table = json.loads(
        (seeded.root / "alignments" / "trials-map" / "heldout.json").read_text(encoding="utf-8")
    )["alignments"]
    judged = {
        row["method"]: row["held_out"]
        for row in table
        if not (row["settings"]["unit"] or row["settings"]["center"])
    }
    app.selectbox(key="alignment_method").select(PROCRUSTES).run()
    for label, score in (
        ("Held-out P@5", lambda held: held["p@5"]),
        ("With CSLS", lambda held: held["csls"]["p@5"]),
    ):
        (metric,) = (metric for metric in app.metric if metric.label == label)
        assert (
            metric.delta
            == f"{signed(score(judged['procrustes']) - score(judged['least-squares']))} vs least"
            " squares"
        )


def test_alignments_at_chance_are_marked(open_page, seeded_copy):
    file = seeded_copy.root / "alignments" / "trials-map" / "heldout.json"
    table = json.loads(file.read_text(encoding="utf-8"))
    table["alignments"][0]["held_out"]["verdict"] = "chance"
    file.write_text(json.dumps(table), encoding="utf-8")
    app = open_page("alignment", seeded_copy)
    assert "At chance" in join_values(app.warning)


def test_the_plan_and_the_cap(open_page, seeded):
    app = open_page("adapt", seeded)
    app.number_input(key="adapt_cap").set_value(3).run()
    figures = read_metrics(app)
    assert not app.exception
    assert (figures["Excluded"], figures["Parameters added"]) == (str(len(NEW) - 3), "48")


def test_the_certificate_is_shown_line_by_line(open_page, seeded):
    shown = list_texts(open_page("adapt", seeded))
    assert any("Certificate passed" in text for text in shown)
    assert sum(":material/check:" in text for text in shown) > 5


def test_a_model_outlives_its_base_and_a_converted_one_is_no_adapted_one(open_page, seeded_copy):
    models = seeded_copy.root / "models"
    shutil.copytree(models / "trials-model", models / "converted")
    for name, numbers in (("trials-model", {}), ("converted", {"numbers": {"tensors": 5}})):
        file = models / name / "manifest.json"
        manifest = json.loads(file.read_text(encoding="utf-8"))
        manifest["inputs"]["model"]["paths"] = ["/nowhere/gone"]
        file.write_text(json.dumps({**manifest, **numbers}), encoding="utf-8")
    app = open_page("adapt", seeded_copy)
    assert not app.exception and not app.error
    assert "before<small>" in markup(app) and "gone" in markup(app) and "va-word" in markup(app)


def test_a_stale_step_is_reported(open_page, seeded_copy):
    manifest = seeded_copy.root / "corpora" / "trials" / "manifest.json"
    text = manifest.read_text(encoding="utf-8").replace('"seconds": ', '"seconds": 1')
    manifest.write_text(text, encoding="utf-8")
    assert "out of date" in read_page(open_page("home", seeded_copy))
    assert "Out of date" in join_values(open_page("vectors", seeded_copy).warning)


def test_the_workspace_of_the_address_is_opened(open_page, seeded):
    empty = Workspace(seeded.root.parent / "other")
    app = open_page("home", empty, workspace=seeded.root.name)
    assert not app.exception
    assert str(seeded.root) in read_page(app)


def test_a_workspace_may_not_lead_elsewhere(open_page, seeded):
    app = open_page("home", seeded, workspace="../../etc")
    assert not app.exception
    assert "cannot be a name" in read_page(app)
    assert app.sidebar.selectbox(key="workspace")


def test_with_fewer_anchors_than_dimensions_the_page_opens_on_a_map_that_can_be_fitted(
    open_page, tiny_bert, tmp_path
):
    workspace = few_anchors(tmp_path / "few", tiny_bert, words=[*KNOWN[:10], *NEW])
    app = open_page("alignment", workspace)
    assert not app.exception and not app.error
    picker = app.selectbox(key="alignment_method")
    assert picker.value == RIDGE and "Least squares" not in picker.options
    assert "va-cards" in markup(app)
    assert "Not in the table: least-squares" in read_page(app)
    app = open_page("adapt", workspace, adapt_preset="green-bert")
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="adapt_method").value == RIDGE


def test_without_an_anchor_the_pages_say_so_and_other_recipes_stay_open(
    open_page, tiny_bert, tmp_path
):
    workspace = few_anchors(tmp_path / "few", tiny_bert, words=NEW)
    app = open_page("adapt", workspace, adapt_preset="green-bert")
    assert not app.exception and "share no word" in read_page(app)
    app.selectbox(key="adapt_preset").select("green-bert-random").run()
    assert not app.exception and not app.error and "adapt" in list_button_keys(app)


def few_anchors(root, model, words):
    file = root.parent / "few.vec"
    rng = np.random.default_rng(4)
    file.write_text(
        "".join(f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=16))}\n" for word in words)
    )
    spec = Spec(ImportVectorsStep(), {"file": (str(file),), "model": (str(model),)})
    run_step(spec, Workspace(root).folder("vectors", "few"))
    return Workspace(root)


def test_home_of_an_empty_workspace_offers_the_demo_first_and_writes_nothing(open_page, tmp_path):
    app = open_page("home", tmp_path / "new")
    assert not app.exception and [one.label for one in app.main.button] == ["Open the demo"]
    assert not (tmp_path / "new").exists()


def test_home_of_the_demo_shows_figures_and_the_next_step(open_page, tmp_path):

    workspace = Workspace(tmp_path / "demo")
    open_demo(workspace)
    app = open_page("home", workspace)
    assert not app.exception
    assert {one.label for one in app.metric} >= {
        "Words of text",
        "Held-out P@5",
    }
    assert list_button_keys(app.main) == ["walk_next", "open_demo"], "no job has run"
    assert app.button(key="walk_next").label == "Adapt", "a job makes the adapted model"


def ask_in_two_spaces():
    import streamlit as st

    from vocadapt.ui.components import word_query

    words = {
        "medical": ["baseline", "placebo", "outcomes"],
        "news": ["arafat", "taliban", "outcomes"],
    }
    space = words[st.selectbox("Space", list(words), key="space")]
    word_query.draw_word_input("vectors_word", "Type a word", space[:2], space)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (None, "arafat"),
        ("placebo", "arafat"),
        ("outcomes", "outcomes"),
        ("nosuchword", "nosuchword"),
    ],
)
def test_an_example_that_another_space_lacks_gives_way_to_one_of_its_own(typed, kept):
    app = AppTest.from_function(ask_in_two_spaces).run()
    if typed:
        app.text_input(key="vectors_word").set_value(typed).run()
    app.selectbox(key="space").set_value("news").run()
    assert app.text_input(key="vectors_word").value == kept
    assert not app.exception


@pytest.fixture(scope="module")
def opened_demo(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("opened") / "demo")
    open_demo(workspace)
    return workspace


@pytest.mark.parametrize("part", ["vectors", "alignment", "results", "pretraining", "text"])
def test_the_records_of_the_demo_are_shown(open_page, opened_demo, part):
    """They are older than some settings."""
    app = open_page(part, opened_demo)
    assert not app.exception and not app.error
