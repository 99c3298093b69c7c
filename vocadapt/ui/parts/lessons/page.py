"""The part Lessons: the list of lessons, or the lesson named in the address."""

import streamlit as st

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.parts.lessons import content, view
from vocadapt.ui.parts.lessons.progress import find_problem, read_progress
from vocadapt.ui.state.pages import NextPart
from vocadapt.ui.text.markup import plain


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the list of lessons, or the open lesson, which leads back to the list."""
    lessons = content.load_lessons(content.choose_language(st.context.locale))
    progress = read_progress(workspace)
    problem = find_problem(workspace)
    if problem:
        st.warning(
            "Your progress is kept until you close this browser tab, because it cannot be saved:"
            f" {plain(problem)}",
            icon=":material/lock:",
        )
    lesson = content.find_lesson(lessons, st.query_params.get(view.OPEN, ""))
    if lesson is None:
        view.draw_list(lessons, progress)
        return None
    view.draw_lesson(workspace, lessons, lesson, progress)
    return NextPart("lessons", "See all lessons and your progress.")
