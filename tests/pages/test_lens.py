"""The tokenizer lens page: its states, hostile text, and models of every kind."""

import io
import re
import shutil

import pytest

from tests.material.apps import list_button_keys, markup, read_page
from tests.material.hostile import HOSTILE_TEXTS
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.errors import InputError
from vocadapt.lab.demo import DEMO, MODEL
from vocadapt.lab.workspace.manifest import Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.table import Table
from vocadapt.ui.components import intake, pickers
from vocadapt.ui.parts.lens import view
from vocadapt.vocabulary.lens import CHANGES, TERMS, Change

LENS = "lens"
CHIP = "va-token va-chip"
BEFORE_AND_AFTER = ["trials-model · before", "trials-model"]


@pytest.fixture
def vocab(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*TINY_TOKENS, "Patient"]) + "\n", encoding="utf-8")
    return path


def list_toggles(app):
    """The switch of the ids, if the tokens of the text are drawn."""
    return [one for one in app.toggle if one.key == "lens_ids"]


def test_an_adapted_model_is_shown_before_and_after(open_page, seeded):
    app = open_page(LENS, seeded)
    assert app.multiselect(key="lens_models").value == BEFORE_AND_AFTER
    text = "aspirin for the heart"
    app.text_area(key="lens_text").set_value(text).run()
    assert not app.exception
    body = markup(app)
    assert 'title="aspirin ' in body and "characters 0–7" in body and "va-new" in body
    assert app.query_params["lens_text"] == text
    assert [metric.value for metric in app.metric] == ["2.50", "75 %", "1.00", "100 %"]


def test_a_default_selection_follows_a_new_adapted_model(open_page, seeded, make_workspace):
    workspace, made = make_workspace("class"), seeded.folder("models", "trials-model")
    for kind in ("corpora", "vectors"):
        shutil.copytree(seeded.root / kind, workspace.root / kind)
    shown = {}
    for case in ("default", "selected"):
        app = open_page(LENS, workspace)
        picker = app.multiselect(key="lens_models")
        assert len(picker.value) == 1
        if case == "selected":
            picker.set_value([]).run()
        shutil.copytree(made, workspace.folder("models", "trials-model"))
        shown[case] = app.run().multiselect(key="lens_models").value
        assert not app.exception
        shutil.rmtree(workspace.folder("models", "trials-model"))
    assert shown == {"default": BEFORE_AND_AFTER, "selected": []}


def test_examples_fill_the_text(open_page, seeded):
    app = open_page(LENS, seeded)
    app.get("button_group")[0].set_value("17 biomedical terms").run()
    assert not app.exception and app.text_area(key="lens_text").value == " ".join(TERMS)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_is_shown_and_never_read(open_page, seeded, text):
    app = open_page(LENS, seeded)
    app.text_area(key="lens_text").set_value(text).run()
    assert not app.exception and not app.error
    assert "<img" not in markup(app) and "\u202e" not in markup(app)
    assert text not in read_page(app)


def test_a_text_without_words_is_a_message_and_an_empty_one_an_invitation(open_page, seeded):
    app = open_page(LENS, seeded)
    app.text_area(key="lens_text").set_value("\u200b").run()
    assert not app.exception and "no words" in read_page(app)
    app.text_area(key="lens_text").set_value("").run()
    assert not app.exception and not app.error and not list_toggles(app)
    assert "lens_text" not in app.query_params


def test_a_long_text_has_figures_and_is_neither_drawn_nor_in_the_address(open_page, seeded):
    app = open_page(LENS, seeded)
    app.text_area(key="lens_text").set_value("heart " * 5000).run()
    assert not app.exception and "lens_text" not in app.query_params
    assert not list_toggles(app) and app.metric[0].value == "1.00"


def test_a_cased_vocabulary_waits_for_a_count_of_its_own(open_page, seeded, vocab):
    app = open_page(LENS, seeded)
    app.multiselect(key="lens_models").set_value(["trials-model", str(vocab)]).run()
    assert not app.exception and not app.error
    assert "count" in list_button_keys(app)
    assert "<small>cased" in markup(app)


@pytest.mark.parametrize("part", [LENS, "text"])
def test_a_model_that_does_not_state_its_casing_says_how_it_is_read(
    open_page, make_workspace, tiny_bert, vocab, part
):
    workspace = make_workspace("cased")
    folder = workspace.folder("models", "plain")
    folder.mkdir(parents=True)
    for file in (tiny_bert / "config.json", vocab):
        shutil.copy(file, folder)
    Manifest("models", "plain", {}).save(folder)
    app = open_page(part, workspace)
    assert not app.exception
    [warning] = [one.value for one in app.warning if "casing" in one.value]
    assert f"{len(TINY_TOKENS) + 1} tokens" in warning and "**plain**" in warning


def test_a_model_that_is_not_there_is_a_message_and_the_others_stay(open_page, seeded):
    app = open_page(LENS, seeded)
    app.multiselect(key="lens_models").set_value(["trials-model", "/no/such"]).run()
    assert not app.exception and "/no/such" in read_page(app)
    assert CHIP in markup(app)


def test_a_vocabulary_alone_is_enough(open_page, vocab):
    app = open_page(LENS)
    app.multiselect(key="lens_models").set_value([str(vocab)]).run()
    assert not app.exception and CHIP in markup(app)


def keep(content, workspace):
    file = io.BytesIO(content)
    file.name = "mine.txt"
    return intake.keep_upload(file, workspace, intake.VOCABULARIES, view.read_vocabulary)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x1f binary", b"This is a contract.\n" * 9])
def test_an_uploaded_file_without_a_vocabulary_is_not_kept(tmp_path, content):
    workspace = Workspace(tmp_path / "w")
    with pytest.raises(InputError):
        keep(content, workspace)
    assert not list((workspace.root / "uploads").rglob("*.txt"))


def test_an_uploaded_vocabulary_is_kept_and_offered(tmp_path, vocab):
    workspace = Workspace(tmp_path / "w")
    kept = keep(vocab.read_bytes(), workspace)
    assert kept.name == "mine.txt" and kept.read_bytes() == vocab.read_bytes()
    assert view.list_offered_models(workspace)["mine.txt"] == str(kept)


def test_the_csv_keeps_every_word_whole():
    rows = write_csv(
        [Table("", CHANGES, [Change('a,"b', 2, ("a", "##,"), ("x",), 2)])]
    ).splitlines()
    assert rows == ["word,count,before,after,saved", '"a,""b",2,"a ##,",x,2']


def test_the_zip_and_its_size_are_offered(open_page, seeded):
    app = open_page("adapt", seeded)
    (button,) = [
        button for button in app.get("download_button") if "Download as zip" in button.label
    ]
    assert not app.exception and ("MB" in button.label or "kB" in button.label)


def test_the_first_text_is_a_line_of_the_workspace_s_text(open_page, seeded):
    app = open_page(LENS, seeded)
    text = app.text_area(key="lens_text").value
    assert text in (seeded.root.parent / "trials.txt").read_text(encoding="utf-8").splitlines()


def test_ids_are_shown_on_request(open_page, seeded):
    app = open_page(LENS, seeded, lens_text="aspirin heart")
    assert "<small>" not in re.sub(r'<div class="va-name">.*?</div>', "", markup(app))
    app.toggle(key="lens_ids").set_value(True).run()
    chips = re.findall(r'title="(\S+) · id (\d+) [^"]*">[^/]*?<small>(\d+)</small>', markup(app))
    assert chips and all(given == shown for _, given, shown in chips)


def test_the_models_are_listed_a_few_times_however_many_were_adapted(tmp_path, monkeypatch):
    workspace, calls = Workspace(tmp_path), []
    base = {"model": Input(("models/base",), "")}
    for number in range(20):
        folder = workspace.folder("models", f"base-{number}" if number else "base")
        folder.mkdir(parents=True)
        numbers = {"added": 1} if number else {}
        Manifest("models", folder.name, {}, base if number else {}, numbers).save(folder)
    listed = Workspace.artifacts
    monkeypatch.setattr(
        Workspace, "artifacts", lambda self, kind: [calls.append(kind), listed(self, kind)][1]
    )
    offered = view.list_offered_models(workspace)
    assert offered["base"] == str(workspace.folder("models", "base")) and len(offered) >= 20
    assert calls.count("models") < 10


@pytest.mark.parametrize(
    "part, key", [("lens", "lens_models"), ("vocabulary", "vocabulary_models")]
)
def test_a_workspace_without_models_offers_what_other_pages_offer(open_page, part, key):
    app, other = open_page(part), open_page("text")
    assert not app.exception
    picker = app.multiselect(key=key)
    assert picker.value == [other.selectbox(key="text_model").value] == ["demo-bert"]
    # Without a selection, the page asks for one; it does not deny that there are models.
    picker.set_value([]).run()
    assert "**Select a" in read_page(app)


def test_an_own_vocabulary_is_selected_before_the_model_of_the_demo(open_page, tmp_path, vocab):
    folder = tmp_path / "own" / intake.VOCABULARIES
    folder.mkdir(parents=True)
    shutil.copy(vocab, folder / "mine.txt")
    picker = open_page(LENS, tmp_path / "own").multiselect(key="lens_models")
    assert picker.value == ["mine.txt"] and "demo-bert" in picker.options


def test_the_model_of_the_demo_is_listed_once_if_a_text_was_imported_with_it(make_workspace):
    workspace, folder = make_workspace("field"), str(DEMO.joinpath(*MODEL))
    corpus = workspace.folder("corpora", "news")
    corpus.mkdir(parents=True)
    Manifest("corpora", "news", {}, {"model": Input((folder,), "")}).save(corpus)
    for offered in (view.list_offered_models(workspace), pickers.list_models_to_train(workspace)):
        assert list(offered.values()).count(folder) == 1
