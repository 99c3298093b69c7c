"""The page Advise: before and after counting, with advice to try a run, with a task file, and
with hostile words."""

import shutil

import pytest

from tests.material.apps import join_values, list_button_keys, list_texts, markup
from tests.material.workspaces import HOSTILE
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.advice import advise_on
from vocadapt.lab.reports.recommendation import find_best_alignment, recommend_recipe
from vocadapt.lab.workspace import strict_json
from vocadapt.models.language_model import open_model
from vocadapt.text import words as counting
from vocadapt.ui.parts.advise.recommendation import describe_alignment
from vocadapt.ui.text.number_formats import count, fraction
from vocadapt.vocabulary.advice import rules
from vocadapt.vocabulary.advice.rules import MIN_WORDS


@pytest.fixture
def workspace(seeded_copy):
    """A workspace of its own with vectors, in which nothing was counted for the model."""
    shutil.rmtree(seeded_copy.root / "counts")
    return seeded_copy


@pytest.fixture
def lenient(monkeypatch):
    """Rules that an invented text of ten thousand words passes."""
    monkeypatch.setattr(rules, "RULES", [rule for rule in rules.RULES if not rule.stops])
    monkeypatch.setattr("vocadapt.vocabulary.advice.advice.RULES", rules.RULES)
    monkeypatch.setattr("vocadapt.vocabulary.advice.advice.MIN_ADDED", 1)


def find_next_page(app):
    """The page that the link at the foot leads to."""
    return next(
        link.proto.page for link in reversed(app.get("page_link")) if "Next:" in link.proto.label
    )


def test_nothing_is_counted_on_load_only_by_the_button(open_page, workspace, monkeypatch):
    counted = []
    fold = counting.count_words
    monkeypatch.setattr(
        "vocadapt.lab.inputs.corpora.count_words",
        lambda *given: counted.append(1) or fold(*given),
    )
    app = open_page("advise", workspace)
    assert not app.exception and not app.error and not app.metric
    assert not counted
    app.button(key="count").click().run()
    assert not app.exception and not app.error and counted == [1]
    assert len(app.metric) == 4 and (workspace.root / "counts").is_dir()
    app.run()
    assert counted == [1]


def test_the_verdict_stands_first_with_its_reasons(open_page, seeded, tiny_bert):
    app = open_page("advise", seeded)
    assert app.warning and not app.success
    assert sum(":material/block:" in text for text in list_texts(app)) == 1
    assert sum(":material/info:" in text for text in list_texts(app)) >= 1
    assert [metric.label for metric in app.metric] == [
        "Split words",
        "New words",
        "Expected P@5",
        "Tokens saved",
    ]
    assert "chance 1 in " in app.metric[2].delta
    # Every count of words says what it counts.
    said = next(text for text in list_texts(app) if "Counts: " in text)
    corpus = read_corpus([seeded.artifact("corpora", "trials").folder])
    report = advise_on(corpus, open_model(tiny_bert), seeded.root)
    for number in (report.corpus.words, report.expected.words, report.expected.candidates):
        assert count(number) in said


def test_recipes_lead_to_the_adapt_page_with_everything_filled_in(open_page, seeded_copy, lenient):
    app = open_page("advise", seeded_copy)
    assert not app.exception and app.success
    links = [link.proto for link in app.get("page_link")]
    queries = [link.query_string for link in links if "adapt_preset=" in link.query_string]
    assert queries
    for part in ("vectors=trials-vectors", "cap=5", "occurrences=50"):
        assert all(part in query for query in queries)
    assert any("preset=green-bert-random" in query for query in queries)
    assert "--max-added 5" in join_values(app.code)
    assert "--recipe recommended.toml" in join_values(app.code)


def test_one_click_opens_adapt_with_the_recommended_recipe(open_page, seeded_copy, lenient):
    app = open_page("advise", seeded_copy)
    button = app.button(key="advise_adapt")
    assert button.label.startswith("Adapt: ") and "fewer tokens" in button.label
    assert "about " in button.label and button.proto.type == "primary"
    assert "adapt" in find_next_page(app)
    button.click().run()
    assert not app.exception and not app.error
    assert app.selectbox(key="adapt_preset").value == "recommended"
    assert app.success


def test_do_not_change_is_said_on_adapt_too(open_page, seeded):
    app = open_page("advise", seeded)
    button = app.button(key="advise_adapt")
    assert button.label.startswith("Adapt anyway: ")
    # Without a task, the next part shows the words that would be added.
    assert "adapt" in find_next_page(app)
    button.click().run()
    assert not app.exception and not app.error
    assert app.selectbox(key="adapt_preset").value == "recommended"
    assert app.warning and app.button(key="adapt")


def test_the_values_of_the_advice_are_those_of_adapt_and_of_its_recipe(open_page, seeded, started):
    app = open_page("adapt", seeded, adapt_preset="recommended")
    assert not app.exception and not app.error
    assert app.number_input(key="adapt_cap").value == 5
    assert app.number_input(key="adapt_occurrences").value == 20
    app.button(key="adapt").click().run()
    recipe = started[-1][0].settings.recipe
    model = open_model(started[-1][0].inputs["model"][0])
    report = advise_on(read_corpus([seeded.folder("corpora", "trials")]), model, seeded.root)
    assert recipe == recommend_recipe(report)
    # An edited value stays visible, and the recipe says so.
    app.number_input(key="adapt_cap").set_value(3).run()
    app.button(key="adapt").click().run()
    changed = started[-1][0].settings.recipe
    assert (changed.name, changed.vocabulary.max_added) == ("recommended-changed", 3)
    # Another preset has its own values.
    app.selectbox(key="adapt_preset").set_value("green-bert").run()
    assert app.number_input(key="adapt_cap").value is None
    app.selectbox(key="adapt_preset").set_value("recommended").run()
    assert app.number_input(key="adapt_cap").value == 5


def test_the_score_of_the_best_alignment_is_the_one_that_selected_it(seeded, tiny_bert):
    vectors = seeded.artifact("vectors", "trials-vectors")
    best = find_best_alignment(seeded, vectors, open_model(tiny_bert))
    table = strict_json.read(seeded.folder("alignments", "trials-map") / "heldout.json")
    csls = [line["held_out"]["csls"]["p@5"] for line in table["alignments"]]
    assert best is not None and best.compared == len(csls) > 1 and best.csls_p5 == max(csls)
    assert fraction(max(csls)) in describe_alignment(best)


def test_word_vectors_of_the_text_are_trained_from_here(
    open_page, seeded_copy, lenient, monkeypatch
):
    shutil.rmtree(seeded_copy.root / "vectors")
    started = []
    monkeypatch.setattr(
        "vocadapt.ui.parts.vectors.page.start_training",
        lambda workspace, spec, name: started.append((spec, name)),
    )
    app = open_page("advise", seeded_copy)
    assert "vectors" in find_next_page(app)
    app.button(key="advise_train").click().run()
    assert not app.exception
    [(spec, name)] = started
    assert (spec.step, name) == ("vectors", "trials")
    assert spec.inputs["text"] == (str(seeded_copy.root / "corpora" / "trials"),)


def test_a_task_file_by_path(open_page, seeded, tmp_path):
    (tmp_path / "task.tsv").write_text("aspirin\tB\nis\tO\n", encoding="utf-8")
    app = open_page("advise", seeded)
    app.text_input(key="task_path").set_value(str(tmp_path / "task.tsv")).run()
    assert not app.exception and not app.error
    assert (app.metric[1].value, app.metric[1].delta) == ("100 %", "n = 1, distinct 100 %")
    assert "In entities" in app.dataframe[0].value.columns
    app.button(key="no_task").click().run()
    assert not app.exception and app.metric[1].label == "New words"


@pytest.mark.parametrize("content", ["aspirin\tO\n", None])
def test_a_bad_task_file_is_a_message(open_page, seeded, tmp_path, content):
    if content:
        (tmp_path / "task.tsv").write_text(content, encoding="utf-8")
    app = open_page("advise", seeded)
    app.text_input(key="task_path").set_value(str(tmp_path / "task.tsv")).run()
    assert not app.exception and app.error and not app.metric


def test_hostile_words_stay_words(open_page, hostile_text):
    app = open_page("advise", hostile_text)
    assert not app.exception and "<img" not in markup(app)
    assert not any(word in text for text in list_texts(app) for word in HOSTILE[:3])


def test_text_that_is_gone_is_a_message(open_page, seeded_copy):
    record = seeded_copy.root / "corpora" / "trials" / "corpus.json"
    record.write_text(
        record.read_text(encoding="utf-8").replace("trials.txt", "no-such.txt"), encoding="utf-8"
    )
    app = open_page("advise", seeded_copy)
    assert not app.exception and app.error


def test_the_pages_name_the_size_that_the_advice_requires(open_page, tmp_path):
    needed = f"{count(MIN_WORDS)} words"
    for part in ("home", "text", "vectors"):
        shown = " ".join(list_texts(open_page(part, tmp_path / "empty")))
        assert needed in shown, part


def test_what_the_action_cannot_read_is_a_note_and_the_figures_stay(open_page, seeded, monkeypatch):
    def fail(*given):
        raise InputError("vectors.npy is **cut**.", "Train them again.")

    monkeypatch.setattr("vocadapt.ui.parts.advise.page.count_cache.plan_of", fail)
    app = open_page("advise", seeded)
    assert not app.exception and not app.error
    assert any(r"\*\*cut\*\*" in text for text in list_texts(app))
    assert len(app.metric) == 4
    assert "advise_adapt" not in list_button_keys(app)
