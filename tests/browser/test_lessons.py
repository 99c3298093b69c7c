"""Lessons in a real browser, in a workspace other than the first: from the guess, over the pages that
the steps open, back to the sentence to remember."""

import re
import shutil
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tests.material.browser import drawn
from vocadapt.lab.demo import open_demo, run_demo
from vocadapt.lab.steps.projection import load_projection
from vocadapt.lab.workspace.lesson_progress import LessonProgress, load_progress
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.ui.parts.lessons.content import load_lessons
from vocadapt.ui.parts.lessons.page import build_code
from vocadapt.ui.state.names import display_name

pytestmark = pytest.mark.browser
LESSONS = load_lessons()
WIDTHS = (1440, 1152)


@pytest.fixture(scope="module")
def whole_demo(tmp_path_factory):
    """The demo with what its jobs make; read only."""
    workspace = Workspace(tmp_path_factory.mktemp("whole") / "demo")
    list(run_demo(workspace))
    return workspace


@pytest.fixture
def classroom(serve, page, tmp_path):
    """The demo in a workspace next to the first one, opened at the page Lessons."""
    workspace = Workspace(tmp_path / "class")
    open_demo(workspace)
    page.goto(f"{serve(tmp_path / 'first')}/lessons?workspace=class")
    page.get_by_role("heading", level=1, name="Lessons").wait_for()
    return workspace


def walk(page, lesson, is_whole=False):
    """Take a lesson from the list to its end.

    is_whole: every artifact that it needs must be there.
    """
    # 1. Open it and guess.
    main = page.get_by_test_id("stMain")
    main.get_by_role("link", name=f"{lesson.number} · {lesson.title}").click()
    main.get_by_role("heading", level=2, name=f"{lesson.number} · {lesson.title}").wait_for()
    drawn(page)
    choose(main, 0, 0)
    # 2. Follow the first step, and from the bar of each page the next one.
    main.get_by_role("link", name="Open ").first.click()
    for number, step in enumerate(lesson.steps, start=1):
        follow_step(page, lesson, number, step)
        if is_whole:
            assert page.get_by_text("This step needs").count() == 0
            assert page.get_by_text("This step is about the demo").count() == 0
            assert page.get_by_text("This did not work").count() == 0
        label = f"Step {number + 1}"
        if number == len(lesson.steps):
            label = "Back to the lesson"
        main.get_by_role("link", name=label).click()
    # 3. Read what was seen, and answer the check, first wrongly.
    main.get_by_text("What you have seen").wait_for()
    drawn(page)
    right = lesson.check.right
    wrong = next(number for number in range(3) if number != right)
    for number in (wrong, right):
        choose(main, 1, number)
        shown = re.sub(r"[*`]", "", lesson.check.choices[number].feedback)
        begins = re.compile(f"^{re.escape(shown)}")  # "Right." is in "Not right.", too
        main.get_by_text(begins).wait_for()
        drawn(page)
    main.get_by_text("Remember:").wait_for()


def choose(main, question, number):
    """Choose an answer to the first or second question of the lesson."""
    group = main.get_by_role("radiogroup").nth(question)
    group.locator("label").nth(number).click()


def follow_step(page, lesson, number, step):
    """Check the page that a step opens: its bar, its address, and that nothing failed."""
    bar = page.locator(".st-key-lesson_bar")
    place = f"Lesson {lesson.number} · step {number} of {len(lesson.steps)}"
    bar.get_by_text(place).wait_for()
    bar.get_by_text(re.sub(r"[*`]", "", step.task)).wait_for()
    drawn(page)
    assert page.get_by_test_id("stException").count() == 0
    assert "workspace=class" in page.url
    assert f"lesson={lesson.name}" in page.url and f"lesson_step={number}" in page.url
    # The address leaves out what is the default, and names the kind of a space: model · demo-bert.
    found = parse_qs(urlsplit(page.url).query)
    for key, wanted in step.set.items():
        assert shorten(found.get(key, wanted)) == shorten(wanted), key


def shorten(values):
    """Return the last part of each value, its own name."""
    return [value.split(" · ")[-1] for value in values]


@pytest.mark.slow
def test_a_lesson_is_walked_to_its_end_and_stays_done(classroom, page):
    lesson = LESSONS[0]
    walk(page, lesson)
    assert load_progress(classroom)[lesson.name] == LessonProgress(
        0, len(lesson.steps), lesson.check.right
    )
    page.get_by_role("link", name="All lessons").click()
    page.get_by_text("1 of 8").wait_for()
    page.reload()
    page.get_by_text("1 of 8").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_all_lessons_are_walked_to_their_end(width, whole_demo, serve, page, tmp_path):
    workspace = Workspace(tmp_path / "class")
    shutil.copytree(whole_demo.root, workspace.root)
    page.set_viewport_size({"width": width, "height": 980})
    page.goto(f"{serve(tmp_path / 'first')}/lessons?workspace=class")
    for lesson in LESSONS:
        walk(page, lesson, is_whole=True)
        page.get_by_role("link", name="All lessons").click()
        page.get_by_text(f"{lesson.number} of 8").wait_for()
        drawn(page)
    assert len(load_progress(workspace)) == 8


@pytest.mark.slow
def test_the_code_of_every_step_runs_in_the_demo(whole_demo, capsys):
    for lesson in LESSONS:
        for step in lesson.steps:
            exec(compile(build_code(step, whole_demo.root), lesson.name, "exec"), {})
            assert capsys.readouterr().out.strip(), step.task


@pytest.mark.slow
def test_neighbors_of_cancer_are_far_apart_in_the_projection_of_the_lesson(whole_demo):
    lesson = LESSONS[2]
    drawn = load_projection(whole_demo.folder("projections", "demo-cancer"))
    quality, words = drawn.first.quality, drawn.words
    assert abs(quality.preservation - 0.417) < 0.03 and "(.417; by chance .050" in lesson.reveal
    assert round(quality.chance, 3) == 0.05
    space = open_model(whole_demo.folder("models", "demo-adapted")).word_space
    near = [word for word, _ in list_neighbors(space, space["cancer"], 10, "cosine", "cancer")]
    assert set(near) <= set(words) and "all ten are in" in lesson.steps[1].say
    places = drawn.first.projection.xy
    distances = np.linalg.norm(places - places[words.index("cancer")], axis=1)
    rank = int((distances < distances[words.index("cancers")]).sum())
    assert near[0] == "cancers" and rank > len(words) / 2


@pytest.mark.slow
def test_the_lessons_call_the_adapted_model_by_its_name_on_the_pages(whole_demo):
    name = display_name(whole_demo, "models", "demo-adapted")
    assert name in LESSONS[0].steps[1].say and name in LESSONS[5].steps[0].say
