"""Bar on top of a page that a lesson has opened: what to do here, and the way back."""

import streamlit as st

from vocadapt.lab.workspace.lesson_progress import LessonProgress
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components.blocks import draw_link
from vocadapt.ui.parts.lessons import content, page
from vocadapt.ui.parts.lessons.content import Lesson
from vocadapt.ui.parts.lessons.progress import read_progress, record_progress


def draw_lesson_bar(workspace: Workspace) -> bool:
    """Draw the bar, and record that the step was opened; nothing if no lesson has opened the page.

    Returns whether the workspace has what the step shows; if not, the bar says what it lacks.
    """
    opened = find_step()
    if opened is None:
        return True
    lesson, number = opened
    step = lesson.steps[number - 1]
    n_steps = len(lesson.steps)
    with st.container(border=True, key="lesson_bar"):
        with st.container(horizontal=True, vertical_alignment="center"):
            place = f":material/school: **Lesson {lesson.number} · step {number} of {n_steps}**"
            st.markdown(f"{place} · {step.task}", width="stretch")
            with st.container(horizontal=True, width="content"):
                icon = ":material/arrow_back:"
                draw_link("lessons", "Back to the lesson", icon=icon, lessons_lesson=lesson.name)
                if number < n_steps:
                    page.draw_step_link(lesson, number + 1, f"Step {number + 1}")
        missing = page.list_missing(workspace, step)
        if missing:
            page.draw_missing(workspace, missing, "lesson_bar_demo")
            return False
    if read_progress(workspace).get(lesson.name, LessonProgress()).seen < number:
        record_progress(workspace, lesson.name, LessonProgress(seen=number))
    return True


def find_step() -> tuple[Lesson, int] | None:
    """Return the lesson and the number of the step, from 1, that the address names; None if there
    is no such step.
    """
    name = st.query_params.get(page.LESSON, "")
    step = st.query_params.get(page.STEP, "")
    if not name:
        return None
    lessons = content.load_lessons(content.choose_language(st.context.locale))
    lesson = content.find_lesson(lessons, name)
    if lesson is None or step not in map(str, range(1, len(lesson.steps) + 1)):
        return None
    return lesson, int(step)
