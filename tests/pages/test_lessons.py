"""The lessons: their files, their links, their code, what they state, and the page that draws
them."""

import ast
import importlib
import json
import re
import shutil
from itertools import chain
from math import comb
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.material.apps import join_values, list_button_keys, read_page
from tests.material.cases import check_each
from vocadapt.analysis.comparison import UNTESTED
from vocadapt.analysis.leaderboard.inputs import build_vector_materials
from vocadapt.analysis.leaderboard.leaderboard import initialize_token
from vocadapt.analysis.results.results import Side
from vocadapt.errors import InputError
from vocadapt.lab.demo import DEMO, EXAMPLES, SHIPPED, list_demo_jobs, open_demo
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.housekeeping.trash import delete_artifact, restore
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.advice import advise_on
from vocadapt.lab.reports.ledgers import PairSpec, open_pair
from vocadapt.lab.results.leaderboards import build_results
from vocadapt.lab.results.runs import open_runs
from vocadapt.lab.workspace.lesson_progress import FILE, LessonProgress, load_progress
from vocadapt.lab.workspace.manifest import read_manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.text.words import WordCounts
from vocadapt.ui.parts.lessons import content, page, teacher
from vocadapt.ui.parts.lessons.page import build_code
from vocadapt.ui.parts.results.page import select_headline_runs
from vocadapt.ui.shell.server import ROOT
from vocadapt.ui.state.pages import PAGE_OF_PART
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.sources import TITLES, find_sources
from vocadapt.vocabulary.growth.growth import Reducer
from vocadapt.vocabulary.initializers.initialize import InitializerSettings
from vocadapt.vocabulary.plan.reduction import ReductionSettings

LESSONS = content.load_lessons()
STEPS = [(lesson, number) for lesson in LESSONS for number in range(1, len(lesson.steps) + 1)]
IDS = [f"{lesson.name}-{number}" for lesson, number in STEPS]
FOLDERS = {"try": "try_it"}  # parts whose folder has another name
SECONDS = {"projections-1", "syntactic-semantic-1", "syntactic-semantic-2"}  # slow code


# The files


def test_there_are_eight_lessons_in_the_order_of_their_numbers():
    assert [lesson.number for lesson in LESSONS] == list(range(1, 9))
    assert len({lesson.name for lesson in LESSONS}) == 8


@check_each("lesson", LESSONS, lambda lesson: lesson.name)
def test_every_choice_differs_and_every_sentence_is_there(lesson):
    answers = [choice.answer for choice in lesson.check.choices]
    assert len(set(answers)) == len(answers) >= 3 and len(set(lesson.guesses)) >= 3
    assert all(choice.feedback for choice in lesson.check.choices)
    assert lesson.teacher.times and lesson.teacher.answer and lesson.teacher.ask
    assert len({step.task for step in lesson.steps}) == len(lesson.steps)
    # The sentence to remember is one sentence, and a task is shown in one line.
    assert lesson.remember.count(".") == 1 and lesson.remember.endswith(".")
    assert all(len(step.task) <= 110 for step in lesson.steps)
    assert 3 <= lesson.minutes <= 6 and lesson.steps
    assert 0 <= lesson.right < len(lesson.guesses) and 0 <= lesson.check.right < len(answers)


@check_each("lesson", LESSONS, lambda lesson: lesson.name)
def test_a_published_result_has_author_and_year(lesson):
    for claim in lesson.claims:
        (citation,) = find_sources([claim.source])
        assert re.search(r" (19|20)\d\d$", citation)
        assert f"*{TITLES[citation]}*" in page.format_claim(claim)


def test_the_plan_of_an_hour_is_an_hour_with_every_lesson():
    hour = content.load_hour()
    plan = teacher.plan_hour(LESSONS, hour)
    assert plan[-1][0] + plan[-1][1] == 60
    assert [item.lesson for item in hour.items if item.lesson] == [one.name for one in LESSONS]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title = ", "titel = "),
        ('title = "What is a wordpiece?"', ""),
        ('title = "What', "title = What"),
        ("[teacher]", "[[teacher]]"),
    ],
)
def test_an_invalid_file_is_named_in_the_error(old, new, tmp_path):
    text = content.list_files()[0].read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "1-broken.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=r"1-broken\.toml"):
        content.read_lesson(path)


@pytest.mark.parametrize(
    ("locale", "language"),
    [("en-US", "en"), ("de-CH", "en"), (None, "en"), ("../..", "en"), ("", "en"), ("xx", "xx")],
)
def test_the_language_follows_the_visitor_where_there_are_lessons(
    locale, language, monkeypatch, tmp_path
):
    for name in ("en", "xx"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1-a.toml").touch()
    (tmp_path / "de").mkdir()  # no lesson in it
    monkeypatch.setattr(content, "FOLDER", tmp_path)
    assert content.choose_language(locale) == language


# Their links and their code


def test_every_artifact_that_a_lesson_needs_is_one_of_the_demo(tmp_path):
    made = [job.place for job in list_demo_jobs(Workspace(tmp_path))]
    known = {f"{kind}/{name}" for kind, name in (*SHIPPED, *made)}
    for lesson, number in STEPS:
        step = lesson.steps[number - 1]
        assert step.needs and set(step.needs) <= known


@check_each("lesson, number", STEPS, lambda row: f"{row[0].name}-{row[1]}")
def test_every_link_sets_keys_that_its_part_reads(lesson, number):
    step = lesson.steps[number - 1]
    folder = ROOT / "vocadapt" / "ui" / "parts" / FOLDERS.get(step.part, step.part)
    source = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    assert PAGE_OF_PART[step.part]
    for key in step.set:
        assert f'"{key}"' in source and key.startswith(f"{step.part}_"), key


@check_each("lesson, number", STEPS, lambda row: f"{row[0].name}-{row[1]}")
def test_the_code_of_every_step_parses_and_its_imports_exist(lesson, number):
    tree = ast.parse(build_code(lesson.steps[number - 1], Path("/a 'quoted\" place")))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            assert all(importlib.import_module(name.name) for name in node.names)


def is_shipped(step):
    return all((DEMO / place / "manifest.json").is_file() for place in step.needs)


@pytest.mark.parametrize(
    ("lesson", "number"),
    [
        pytest.param(*one, id=id, marks=[pytest.mark.slow] * (id in SECONDS))
        for one, id in zip(STEPS, IDS, strict=True)
        if is_shipped(one[0].steps[one[1] - 1])
    ],
)
def test_the_code_of_a_step_runs_on_the_shipped_artifacts(lesson, number, capsys):
    code = build_code(lesson.steps[number - 1], DEMO)
    exec(compile(code, "step", "exec"), {})
    assert capsys.readouterr().out.strip()


# What they state


@pytest.fixture(scope="module")
def tokenize():
    return open_model(DEMO / "models" / "demo-bert").vocabulary.tokenize


def test_the_words_of_the_lessons_are_split_as_they_say(tokenize):
    assert len(tokenize("tachycardia")) > 1 and "##car" in tokenize("tachycardia")
    assert len(tokenize("fever")) == len(tokenize("surgery")) == 1
    assert len(tokenize("thrombocytopenia")) > 3 and len(tokenize("bradycardia")) > 1
    endings = {tokenize(word)[-2:] for word in ("hypoglycemia", "normoglycemia", "euthymia")}
    assert len(endings) == 1  # a disease and two that are none end in the same pieces


def test_the_wordpieces_that_words_share_are_those_of_the_lessons(tokenize):
    heart = set(tokenize("tachycardia")) & set(tokenize("bradycardia"))
    assert heart == set(find_wordpieces("*bradycardia* share `##car ##di ##a`", LESSONS[0].reveal))
    assert not heart & set(tokenize("pneumonia"))
    words = LESSONS[5].steps[0].set["lens_text"][0].split()
    split = {word: set(tokenize(word)) for word in words}
    shared = split["hypoglycemia"] & split["normoglycemia"]
    told = "*normoglycemia* share `##og ##ly ##ce ##mi ##a`"
    assert shared == set(find_wordpieces(told, LESSONS[5].reveal))
    assert set.intersection(*split.values()) == set(
        find_wordpieces("all four words only `##a`", LESSONS[5].reveal)
    )


def find_wordpieces(sentence, text):
    """Return the wordpieces in a part of a sentence, which must be in a text of a lesson."""
    assert sentence in text
    return sentence.split("`")[1].split()


@check_each("lesson", LESSONS, lambda lesson: lesson.name)
def test_a_lesson_calls_the_adapted_model_as_the_pages_do(lesson):
    prose = [lesson.question, lesson.reveal, lesson.remember, lesson.teacher.answer]
    prose += chain.from_iterable((step.say, step.task) for step in lesson.steps)
    for text in prose:
        assert "demo-adapted" not in text and "the adapted model" not in text


def test_two_seeds_of_one_model_differ_as_the_lesson_says(shipped):
    step = LESSONS[6].steps[1]
    seeds = [step.set[key][0] for key in ("errors_baseline", "errors_compared")]
    assert [seed.split(" · ")[1] for seed in seeds] == ["seed 2", "seed 3"]
    folder = shipped.folder("runs", "demo-diseases-base")
    pair = open_pair(PairSpec(str(folder / "seed-2"), str(folder / "seed-3")))
    found = pair.ledger.counts
    better = found["fixed"] + found["false alarm removed"]
    worse = found["broken"] + found["false alarm added"]
    points, p = 100 * pair.test.difference, pair.test.p_randomisation
    assert f"{better} answers got better and {worse} got worse" in LESSONS[6].reveal
    assert f"{points:.1f} points of F1, p = {p:.3f}".replace("0.", ".") in LESSONS[6].reveal
    assert p > 0.05  # no claim
    values = [f"{value:.3f}".lstrip("0") for value in open_runs(folder).values("base")]
    assert f"from {min(values)} to {max(values)}" in LESSONS[6].reveal


@pytest.mark.parametrize(
    ("seeds", "shown"),
    [((1, 5, 5), [5, 5]), ((1, 5), [1, 5]), ((3, 3), [3, 3]), ((5, 5, 1, 9), [5, 5, 9])],
)
def test_the_headline_leaves_out_runs_with_too_few_seeds_for_a_claim(seeds, shown):
    standings = [SimpleNamespace(seeds=tuple(range(n)), collapsed_seeds=()) for n in seeds]
    assert [len(one.seeds) for one in select_headline_runs(standings)] == shown


@pytest.mark.slow
def test_the_neighbors_of_the_initializers_are_those_of_the_lesson():
    model = open_model(DEMO / "models" / "demo-bert")
    materials = build_vector_materials(model, load_space(DEMO / "vectors" / "demo-biomedical"))

    def find(token, method, k):
        made = initialize_token(materials, token, InitializerSettings(method))
        rows = find_nearest(made.matrix, materials.model, k=k).rows[0]
        return {materials.model.words[row] for row in rows}

    assert find("hypertension", "semantic", 2) == {"diseases", "disease"}
    assert find("hypertension", "syntactic", 4) == {"##si", "##ten", "##on", "hyper"}
    assert find("tachycardia", "semantic", 3) == {"attack", "sudden", "shock"}


def test_euthymia_has_no_vector_and_the_others_have():
    words = (DEMO / "vectors" / "demo-biomedical" / "words.txt").read_text().split()
    assert "euthymia" not in words
    assert {"tachycardia", "hypoglycemia", "normoglycemia"} <= set(words)


@pytest.mark.parametrize("name", ["demo-map", "demo-best"])
def test_a_map_of_the_demo_is_right_for_one_word_in_three_to_five(name):
    numbers = read_manifest(DEMO / "alignments" / name).numbers
    assert 1 / 5 <= numbers["p@5"] <= 1 / 3
    assert numbers["p@5"] > 100 * numbers["chance@5"]


def test_a_coin_gives_twelve_heads_of_twenty_one_one_time_in_three():
    chance = sum(comb(21, heads) for heads in range(12, 22)) / 2**21
    assert chance == pytest.approx(1 / 3, abs=0.01)


def test_removing_rare_tokens_costs_little_and_random_ones_much():
    vocabulary = open_model(DEMO / "models" / "demo-bert").vocabulary
    counts = WordCounts.read(DEMO / "corpora" / "demo-biomedical" / "counts.tsv")
    assert counts.held_out_lines == 13_125
    reducer = Reducer(vocabulary, counts.in_sample, counts.held_out)
    growth = {
        heuristic: reducer.measure_growth(ReductionSettings(heuristic, keep=0.5)).growth
        for heuristic in ("freq", "random")
    }
    assert 0 < growth["freq"] < 0.05 and growth["random"] > 10 * growth["freq"]


def test_nothing_is_claimed_of_mixing_the_tokenizations_in_the_runs_of_the_demo():
    runs = [open_runs(DEMO / "runs" / f"demo-diseases-{name}") for name in ("base", "adapted")]
    baseline = Side(runs[1].name, "base")
    (board,) = build_results(runs, baseline).tasks
    found = {(one.run, one.tokenization): one for one in board.standings}
    pooled, base = found[runs[1].name, "pooled"], found[runs[1].name, "base"]
    assert pooled.headline.mean > base.headline.mean and len(pooled.seeds) == 3
    assert pooled.difference.p_units >= 0.05 and pooled.verdict == UNTESTED  # no claim


def test_the_advice_for_the_small_text_is_not_that_for_the_large_one():
    model = open_model(DEMO / "models" / "demo-bert")
    reports = {
        name: advise_on(read_corpus([DEMO / "corpora" / name]), model, DEMO)
        for name in ("demo-notes", "demo-biomedical")
    }
    assert reports["demo-notes"].verdict == "keep"
    assert any(one.code == "too few words" for one in reports["demo-notes"].reasons)
    assert reports["demo-biomedical"].verdict == "adapt"


def test_the_examples_of_the_alignment_are_right_and_wrong():
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))["examples"]
    found = {one["word"]: one["right"] for one in examples}
    assert found["medication"] and not found["tachycardia"]


# The page


@pytest.fixture
def demo(tmp_path):
    """A workspace with the shipped artifacts of the demo."""
    root = tmp_path / "class"
    for place in ("models/demo-bert", "vectors/demo-biomedical", "alignments/demo-map"):
        shutil.copytree(DEMO / place, root / place)
    return Workspace(root)


def radio(app, name):
    return next(one for one in app.radio if one.key.startswith(f"lessons_{name}"))


def open_lesson(open_page, workspace, name="wordpieces"):
    return open_page("lessons", workspace, lessons_lesson=name)


@pytest.mark.parametrize("name", ["", "nosuch", "../wordpieces", "<b>"])
def test_the_list_is_readable_in_an_empty_workspace(name, open_page):
    """An unknown lesson in the address shows the list, too."""
    app = open_page("lessons", lessons_lesson=name)
    assert not app.exception
    for lesson in LESSONS:
        assert lesson.question in read_page(app) and f"{lesson.minutes} min" in read_page(app)
    assert app.metric[0].value == "0 of 8"


def test_a_lesson_from_the_guess_to_the_sentence_to_remember(open_page, demo):
    app = open_lesson(open_page, demo)
    lesson = LESSONS[0]
    assert lesson.steps[0].say not in read_page(app)
    radio(app, "guess").set_value(0).run()
    assert lesson.steps[0].say in read_page(app) and lesson.reveal not in read_page(app)
    assert "AutoTokenizer" in join_values(app.code)
    app.button(key="lessons_skip").click().run()
    assert lesson.reveal in read_page(app) and lesson.guesses[lesson.right] in read_page(app)
    wrong = lesson.check.choices[1]
    radio(app, "answer").set_value(1).run()
    assert wrong.feedback in read_page(app) and lesson.remember not in read_page(app)
    radio(app, "answer").set_value(lesson.check.right).run()
    assert lesson.check.choices[lesson.check.right].feedback in read_page(app)
    assert lesson.remember in read_page(app)
    assert not app.exception
    assert load_progress(demo) == {"wordpieces": LessonProgress(0, 3, 0)}


def test_a_lesson_left_in_the_middle_continues(open_page, demo, tmp_path):
    app = open_lesson(open_page, demo)
    radio(app, "guess").set_value(1).run()
    assert "started" in read_page(open_page("lessons", demo))
    again = open_lesson(open_page, demo)
    assert radio(again, "guess").value == 1 and LESSONS[0].steps[0].say in read_page(again)
    # The progress of one workspace is not that of another.
    assert radio(open_lesson(open_page, tmp_path / "other"), "guess").value is None


def test_two_tabs_keep_the_further_progress(open_page, demo):
    first, second = open_lesson(open_page, demo), open_lesson(open_page, demo)
    other = open_lesson(open_page, demo, "luck")
    radio(first, "guess").set_value(0).run()
    radio(other, "guess").set_value(1).run()
    first.button(key="lessons_skip").click().run()
    radio(first, "answer").set_value(LESSONS[0].check.right).run()
    # The other tab still shows the question: a second guess loses neither the steps nor the answer.
    radio(second, "guess").set_value(1).run()
    assert not second.exception and LESSONS[0].remember in read_page(second)
    assert load_progress(demo) == {
        "wordpieces": LessonProgress(1, 3, LESSONS[0].check.right),
        "luck": LessonProgress(guess=1),
    }


def test_an_artifact_that_is_deleted_in_the_middle_of_a_lesson_is_named(open_page, demo):
    app = open_lesson(open_page, demo)
    radio(app, "guess").set_value(1).run()
    deleted = delete_artifact(demo, demo.artifact("models", "demo-bert"))
    app.run()
    assert not app.exception and "lessons_demo_1" in list_button_keys(app)
    assert radio(app, "guess").value == 1 and LESSONS[0].steps[0].say in read_page(app)
    page = open_page("lens", demo, lens_models="demo-bert", lesson="wordpieces", lesson_step="1")
    assert not page.exception and "lesson_bar_demo" in list_button_keys(page)
    assert f"lacks {plain('demo-bert')}" in read_page(page)
    restore(demo, deleted)
    app.run()
    assert "lessons_demo_1" not in list_button_keys(app)


def test_a_renamed_artifact_of_the_demo_is_not_missing_in_a_lesson(open_page, demo):
    rename_artifact(demo, demo.artifact("models", "demo-bert"), "mine")
    app = open_lesson(open_page, demo)
    radio(app, "guess").set_value(1).run()
    assert not app.exception and "lessons_demo_1" not in list_button_keys(app)
    assert '"models" / "mine"' in app.code[0].value and "demo-bert" not in app.code[0].value
    page = open_page("lens", demo, lens_models="demo-bert", lesson="wordpieces", lesson_step="1")
    assert not page.exception and "lesson_bar_demo" not in list_button_keys(page)
    assert page.session_state["lens_models"] == ["mine"]


@pytest.mark.parametrize("text", ["broken", '{"wordpieces": {"guess": 99, "seen": 99}}'])
def test_a_lesson_works_with_a_broken_or_odd_file(text, open_page, demo):
    (demo.root / FILE).write_text(text)
    app = open_lesson(open_page, demo)
    assert not app.exception and radio(app, "guess").value is None
    radio(app, "guess").set_value(2).run()
    assert LESSONS[0].steps[0].say in read_page(app)
    is_broken = text == "broken"
    assert bool(app.warning) == is_broken
    assert ((demo.root / FILE).read_text() == text) == is_broken  # what is there is kept


def test_a_lesson_works_where_nothing_can_be_written(open_page, demo, monkeypatch):
    def refuse(*given):
        raise InputError("w: cannot write there.", "Choose another workspace.")

    monkeypatch.setattr("vocadapt.ui.parts.lessons.progress.save_progress", refuse)
    app = open_lesson(open_page, demo)
    radio(app, "guess").set_value(2).run()
    app.button(key="lessons_skip").click().run()
    radio(app, "answer").set_value(0).run()
    assert LESSONS[0].remember in read_page(app) and app.warning
    assert not (demo.root / FILE).exists() and not app.exception


def test_the_teacher_sees_the_plan_and_the_progress_and_resets_it(open_page, demo):
    app = open_lesson(open_page, demo, "luck")
    radio(app, "guess").set_value(2).run()
    app = open_page("teacher", demo)
    assert not app.exception
    (plan,), (progress,) = app.dataframe, app.table
    assert len(plan.value) == len(content.load_hour().items)
    assert progress.value["guess"].tolist()[6] == LESSONS[6].guesses[2]
    for lesson in LESSONS:
        assert lesson.teacher.answer in read_page(app) and lesson.teacher.ask[0] in read_page(app)
    app.button(key="teacher_reset").click().run()
    assert load_progress(demo) == {} and not app.exception
    assert radio(open_lesson(open_page, demo, "luck"), "guess").value is None


# The pages that a step opens, and the bar on top of them


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A workspace with everything that the demo ships; read only."""
    workspace = Workspace(tmp_path_factory.mktemp("demo") / "class")
    open_demo(workspace)
    return workspace


@pytest.mark.parametrize(
    ("lesson", "number"),
    [one for one in STEPS if is_shipped(one[0].steps[one[1] - 1])],
    ids=[id for one, id in zip(STEPS, IDS, strict=True) if is_shipped(one[0].steps[one[1] - 1])],
)
def test_the_link_of_a_step_sets_the_state_of_its_page(lesson, number, open_page, shipped):
    step = lesson.steps[number - 1]
    query = {key: list(values) for key, values in step.set.items()}
    app = open_page(step.part, shipped, **query)
    assert not app.exception and not app.error
    for key, wanted in query.items():
        state = app.session_state[key]
        found = state if isinstance(state, list | tuple) else [state]
        assert list(map(str, found)) == wanted, key


def test_the_bar_leads_back_and_records_the_step(open_page, demo):
    def has_next(app):
        labels = [link.proto.label for link in app.get("page_link")]
        return any("Next: " in label for label in labels)

    app = open_page("lens", demo, lens_text="fever", lesson="wordpieces", lesson_step="1")
    assert not app.exception
    assert "step 1 of 3" in read_page(app) and LESSONS[0].steps[0].task in read_page(app)
    assert load_progress(demo)["wordpieces"].seen == 1
    # An open lesson has no other next part.
    assert not has_next(app) and has_next(open_page("lens", demo))
    # An address that names no step opens no lesson.
    assert has_next(open_page("lens", demo, lesson="wordpieces", lesson_step="9"))


def test_a_step_that_lacks_its_artifacts_is_not_shown_and_not_recorded(open_page, demo):
    app = open_page("lens", demo, lesson="wordpieces", lesson_step="2")
    assert not app.exception and not app.error
    assert f"lacks {plain('demo-adapted')}" in read_page(app)
    assert not app.multiselect and not load_progress(demo)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"lesson": "nosuch", "lesson_step": "1"},
        {"lesson": "wordpieces"},
        {"lesson": "wordpieces", "lesson_step": "0"},
        {"lesson": "wordpieces", "lesson_step": "9"},
        {"lesson": "wordpieces", "lesson_step": "²"},
        {"lesson": ["a", "b"], "lesson_step": ["1", "x"]},
    ],
)
def test_no_bar_without_a_step(query, open_page, demo):
    app = open_page("lens", demo, **query)
    assert not app.exception and "Lesson " not in read_page(app)
    assert not (demo.root / FILE).exists()


def test_a_missing_artifact_is_named_with_a_button_that_opens_the_demo(open_page, tmp_path):
    app = open_page("lens", tmp_path / "new", lesson="wordpieces", lesson_step="1")
    app.button(key="lesson_bar_demo").click().run()
    assert Workspace(tmp_path / "new").artifact("models", "demo-bert")
    assert "lesson_bar_demo" not in list_button_keys(app) and not app.exception
