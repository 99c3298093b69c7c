"""The part Text: the form of an empty workspace, what was read of a text, and the words that the model
splits worst, with links to the lens."""

import shutil

import pytest

from tests.material.apps import join_values, list_button_keys, markup, read_metrics, read_page
from tests.material.lab import NEW
from tests.material.tiny_bert import TINY_TOKENS
from tests.material.workspaces import HOSTILE
from vocadapt.lab.inputs.corpora import load_or_count_words, read_corpus, write_counts
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.word_counts import WordCountsStep
from vocadapt.lab.workspace.locks import hold_lock
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.text.splitter import Splitter
from vocadapt.ui.jobs.results import find_result_part
from vocadapt.ui.state.names import model_behind
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.lens import WordTokenizer, list_worst_split_words

TEXT = "text"


@pytest.fixture
def uncounted(seeded, tmp_path) -> Workspace:
    """A copy of the seeded workspace in which no words were counted."""
    root = shutil.copytree(seeded.root, tmp_path / "uncounted")
    shutil.rmtree(root / "counts")
    return Workspace(root)


def test_without_a_text_the_form_comes_first_and_news_are_offered(open_page, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(
        "vocadapt.ui.parts.text.intake_form.queue.start",
        lambda *given, once: started.append(given),
    )
    app = open_page(TEXT)
    assert not app.exception and not app.metric
    assert app.button(key="take_text").disabled
    app.button(key="take_news").click().run()
    assert not app.exception and not app.error
    [(_, spec, name)] = started
    assert (spec.step, name) == ("corpus", "demo-news") and spec.settings.copy
    assert spec.inputs["text"][0].endswith("lee_background.cor") and spec.inputs["model"][0]


def test_what_was_read_and_how_the_model_reads_it(open_page, seeded):
    app = open_page(TEXT, seeded)
    assert not app.exception and not app.error
    figures = {metric.label: (metric.value, metric.delta) for metric in app.metric}
    assert figures["Files"][0] == "1"
    assert figures["Lines"] == ("1 000".replace(" ", "\u202f"), "of 1\u202f000 read")
    assert {"Words", "Distinct words", "Wordpieces per word", "Whole words"} <= set(figures)
    assert "Split into 4 or more" in figures
    written = (seeded.root.parent / "trials.txt").read_text(encoding="utf-8")
    assert written[:20] in join_values(app.text)
    shown = markup(app)
    assert all(f'data-va-word="{word}"' in shown for word in NEW)
    assert "text_word=" in shown  # an address of its own, for another tab


def test_a_word_leads_to_the_lens(open_page, seeded):
    app = open_page(TEXT, seeded, text_word=NEW[0])
    assert not app.exception and app.text_area(key="lens_text").value == NEW[0]


def test_a_text_without_counts_is_counted_on_request(open_page, uncounted):
    app = open_page(TEXT, uncounted)
    assert not app.exception and not app.error and len(app.metric) == 4
    app.button(key="count").click().run()
    assert not app.exception and len(app.metric) == 7


def test_a_long_text_is_counted_by_a_job(open_page, uncounted, monkeypatch):
    monkeypatch.setattr("vocadapt.ui.parts.text.counting.PAGE_SECONDS", 0.0)
    app = open_page(TEXT, uncounted)
    app.button(key="count").click().run()
    assert not app.exception and not app.error
    [job] = queue.list_jobs(uncounted)
    assert (job.spec.step, job.target.parent.name) == ("word-counts", "word-counts")
    assert job.wait(60).state == "done", job.status()
    # The text itself is counted: there is no second one, and the page shows how it is read.
    part, query = find_result_part(job)
    assert (part, query["text_corpus"]) == (TEXT, "trials") and query["text_model"]
    assert [one.name for one in uncounted.artifacts("corpora")] == ["trials"]
    app = open_page(TEXT, uncounted)
    assert not app.exception and len(app.metric) == 7


def test_while_a_job_counts_the_words_the_page_says_so(open_page, uncounted):
    (uncounted.root / "jobs").mkdir(exist_ok=True)
    app = open_page(TEXT, uncounted)
    assert "count" in list_button_keys(app)
    [corpus] = uncounted.artifacts("corpora")
    inputs = {"text": (str(corpus.folder),), "model": (model_behind(corpus, uncounted),)}
    with hold_lock(uncounted.root / "jobs"):  # it waits
        job = queue.start(uncounted, Spec(WordCountsStep(), inputs), "counted")
        app.run()
        assert not app.exception and "waiting" in read_page(app)
        assert "count" not in list_button_keys(app)
        job.cancel(grace=2)


def test_counts_that_cannot_be_saved_are_a_message(open_page, uncounted):
    (uncounted.root / "counts").write_text("in the way")
    app = open_page(TEXT, uncounted)
    app.button(key="count").click().run()
    assert not app.exception and app.error and str(uncounted.root) in join_values(app.text)


def test_word_counts_without_a_text_are_said_to_have_no_sentences(
    open_page, seeded, tiny_bert, tmp_path
):
    workspace = Workspace(tmp_path / "counts")
    splitter = open_model(tiny_bert).splitter
    counts = load_or_count_words(
        seeded.root, read_corpus([seeded.folder("corpora", "trials")]), splitter
    )
    folder = workspace.folder("corpora", "counted")
    folder.mkdir(parents=True)
    write_counts(counts, splitter, folder)
    manifest = Manifest("corpora", "counted", {}, numbers={"words": counts.words})
    manifest.save(folder)
    app = open_page(TEXT, workspace, typed={"text_model": str(tiny_bert)})
    assert not app.exception and not app.error
    figures = read_metrics(app)
    assert figures["Files"] == "–" and "Whole words" in figures
    # Its counts cannot be had for a model that splits text into other words.
    other = tmp_path / "vocab.txt"
    other.write_text("\n".join([*TINY_TOKENS, "Patient"]) + "\n", encoding="utf-8")
    app = open_page(TEXT, workspace, typed={"text_model": str(other)})
    assert not app.exception and not app.error
    assert "count" not in list_button_keys(app)
    # No word vectors can be trained on it.
    app = open_page("advise", workspace, typed={"advise_model": str(tiny_bert)})
    assert not app.exception and not app.error
    assert "advise_train" not in list_button_keys(app)


def test_hostile_lines_and_words_stay_text(open_page, hostile_text):
    app = open_page(TEXT, hostile_text)
    assert not app.exception and "<img" not in markup(app)
    marked = [block.value for block in app.markdown]
    assert not any(word in text for text in marked for word in HOSTILE[:3])


def test_the_words_split_worst_by_hand():
    vocabulary = WordPieceVocabulary(
        ("[UNK]", "a", "##b", "##c", "##d", "##e", "1", "##2"), frozenset({"[UNK]"})
    )
    tokenizer = WordTokenizer("", vocabulary, Splitter.bert())
    counts = {"ab": 90, "abcd": 2, "abcde": 7, "abc": 50, "a": 99, "12": 80, "ж": 70}
    found = list_worst_split_words(counts, tokenizer.splitter, tokenizer, 4)
    # Four or more wordpieces come first, whichever number; numbers and unknown words are left out.
    assert [(one.word, one.count, len(one.pieces)) for one in found] == [
        ("abcde", 7, 5),
        ("abcd", 2, 4),
        ("abc", 50, 3),
        ("ab", 90, 2),
    ]
    assert list_worst_split_words(counts, tokenizer.splitter, tokenizer, 1) == found[:1]


def test_copies_are_counted_and_can_be_left_out(
    open_page, make_workspace, tiny_bert, tmp_path, started
):
    text = tmp_path / "copies.txt"
    text.write_text("the <b>heart</b>\n\nanother line\nthe <b>heart</b>\nthe <b>heart</b>\n")
    workspace = make_workspace("copies")
    inputs = {"text": (str(text),), "model": (str(tiny_bert),)}
    run_step(Spec(CorpusStep(), inputs), workspace.folder("corpora", "copies"))
    app = open_page(TEXT, workspace, typed={"text_model": str(tiny_bert)})
    assert not app.exception and not app.error
    [sentence] = [block.value for block in app.markdown if "2 of 5" in block.value]
    assert "3 times" in sentence and "<b>" not in sentence
    app.button(key="drop_copies").click().run()
    [(spec, name)] = started
    assert (spec.step, name) == ("corpus", "copies-distinct")
    assert spec.settings.corpus.drop_copies is True
    run_step(spec, workspace.folder("corpora", name))
    app = open_page(TEXT, workspace, typed={"text_model": str(tiny_bert)}, text_corpus=name)
    assert read_metrics(app)["Lines"] == "3"
    assert "drop_copies" not in list_button_keys(app)


def test_counts_without_lines_offer_no_import_without_copies(open_page, tmp_path):
    from vocadapt.lab.demo import open_demo

    workspace = Workspace(tmp_path / "demo")
    open_demo(workspace)
    app = open_page(TEXT, workspace, text_corpus="demo-biomedical")
    assert not app.exception and not app.error
    assert any("are copies" in block.value for block in app.markdown)
    assert "drop_copies" not in list_button_keys(app)
