"""The page Advise: before and after counting, with advice to try a run, with a task file, and
with hostile words."""

import shutil

import pytest

from tests.material.workspaces import HOSTILE
from tests.pages.test_pages import ADVISE, markup, texts
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text import words as counting
from vocadapt.vocabulary.advice import rules


@pytest.fixture
def workspace(tmp_path, seeded, tiny_bert):
    """A workspace of its own with vectors, in which nothing was counted for the model, and where
    little is enough.
    """
    shutil.copytree(seeded.root, tmp_path / "trials")
    shutil.rmtree(tmp_path / "trials" / "counts")
    return Workspace(tmp_path / "trials")


@pytest.fixture
def lenient(monkeypatch):
    """Rules that an invented text of ten thousand words passes."""
    monkeypatch.setattr(rules, "RULES", [rule for rule in rules.RULES if not rule.stops])
    monkeypatch.setattr("vocadapt.vocabulary.advice.advice.RULES", rules.RULES)
    monkeypatch.setattr("vocadapt.vocabulary.advice.advice.MIN_ADDED", 1)


def test_nothing_is_counted_on_load_only_by_the_button(open_page, workspace, monkeypatch):
    counted = []
    fold = counting.count_words
    monkeypatch.setattr(
        "vocadapt.lab.artifacts.corpora.count_words",
        lambda *given: counted.append(1) or fold(*given),
    )
    app = open_page(ADVISE, workspace)
    assert not app.exception and not app.error and not app.metric
    assert any("has no word counts for" in text for text in texts(app))
    assert not counted
    app.button(key="count").click().run()
    assert not app.exception and not app.error and counted == [1]
    assert len(app.metric) == 5 and (workspace.root / "counts").is_dir()
    app.run()
    assert counted == [1]


def test_the_verdict_stands_first_with_its_reasons(open_page, seeded):
    app = open_page(ADVISE, seeded)
    assert app.warning[0].value.startswith("**Do not change the vocabulary")
    assert sum(":material/block:" in text for text in texts(app)) >= 2
    assert [metric.label for metric in app.metric] == [
        "Split words",
        "Split entity words",
        "Anchors",
        "Expected held-out P@5",
        "Tokens saved",
    ]
    assert app.metric[1].value == "–" and "chance" in app.metric[3].delta


def test_recipes_lead_to_the_adapt_page_with_everything_filled_in(
    open_page, seeded, lenient, tmp_path
):
    root = tmp_path / "lenient"
    shutil.copytree(seeded.root, root)
    app = open_page(ADVISE, root)
    assert not app.exception and app.success[0].value.startswith("**Worth a run")
    assert "Recommended recipes" in [heading.value for heading in app.subheader]
    links = [link.proto for link in app.get("page_link")]
    queries = [
        link.query_string for link in links if "adapt" in link.page.lower() and link.query_string
    ]
    assert queries and all(
        "vectors=trials-vectors" in query and "cap=5" in query for query in queries
    )
    assert any("preset=green-bert-random" in query for query in queries)
    assert any("--max-added 5" in block.value for block in app.code)


def test_without_vectors_the_way_leads_to_them(open_page, seeded, lenient, tmp_path):
    root = tmp_path / "bare"
    shutil.copytree(seeded.root, root)
    shutil.rmtree(root / "vectors")
    app = open_page(ADVISE, root)
    assert not app.exception
    assert any("need word vectors of this text" in text for text in texts(app))


def test_a_task_file_by_path(open_page, seeded, tmp_path):
    (tmp_path / "task.tsv").write_text("aspirin\tB\nis\tO\n", encoding="utf-8")
    app = open_page(ADVISE, seeded)
    app.text_input(key="task_path").set_value(str(tmp_path / "task.tsv")).run()
    assert not app.exception and not app.error
    assert (app.metric[1].value, app.metric[1].delta) == ("1.000", "n = 1, distinct 1.000")
    assert "in entities" in app.dataframe[0].value.columns
    app.button(key="no_task").click().run()
    assert not app.exception and app.metric[1].value == "–"


@pytest.mark.parametrize("content", ["aspirin B\n", "aspirin\tO\n", None])
def test_a_bad_task_file_is_a_message(open_page, seeded, tmp_path, content):
    if content:
        (tmp_path / "task.tsv").write_text(content, encoding="utf-8")
    app = open_page(ADVISE, seeded)
    app.text_input(key="task_path").set_value(str(tmp_path / "task.tsv")).run()
    assert not app.exception and app.error and not app.metric


def test_hostile_words_stay_words(open_page, tiny_bert, tmp_path):
    text = tmp_path / "hostile.txt"
    text.write_text(" ".join(HOSTILE * 30) + "\n", encoding="utf-8")
    workspace = Workspace(tmp_path / "w")
    spec = Spec("corpus", CorpusStep(), {"text": (str(text),), "model": (str(tiny_bert),)})
    run_step(spec, workspace.folder("corpora", "hostile"))
    app = open_page(ADVISE, workspace)
    assert not app.exception and "<img" not in markup(app)
    assert not any(word in text for text in texts(app) for word in HOSTILE[:3])


def test_text_that_is_gone_is_a_message(open_page, seeded, tmp_path):
    root = tmp_path / "gone"
    shutil.copytree(seeded.root, root)
    record = root / "corpora" / "trials" / "corpus.json"
    record.write_text(
        record.read_text(encoding="utf-8").replace("trials.txt", "no-such.txt"), encoding="utf-8"
    )
    app = open_page(ADVISE, root)
    assert not app.exception and app.error
